#include "base/system_calls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "base/files.h"
#include "testing/temporary_folder.h"

namespace pantoum::base {
namespace {

TEST(SystemCalls, AreMadeAgainWhereASignalInterruptedThem) {
  int calls = 0;
  const auto interrupted_twice = [&] {
    errno = EINTR;
    return ++calls < 3 ? -1 : 7;
  };
  EXPECT_EQ(uninterrupted(interrupted_twice), 7);
  const auto failing = [&] {
    errno = EIO;
    return -1;
  };
  EXPECT_EQ(uninterrupted(failing), -1);
}

TEST(SystemCalls, WaitForAPipeThatDoesNotBlock) {
  int pipe[2] = {};
  ASSERT_EQ(::pipe2(pipe, O_NONBLOCK), 0);
  const std::string text(1 << 20, 'x');  // more than a pipe holds
  size_t read = 0;
  std::thread reader([&] {
    char piece[4096];
    while (read < text.size()) {
      const ssize_t got = ::read(pipe[0], piece, sizeof piece);
      if (got > 0) read += static_cast<size_t>(got);
    }
  });
  EXPECT_TRUE(write_all(pipe[1], text));
  reader.join();
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST(SystemCalls, SayWhyTheyFailed) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  EXPECT_FALSE(write_all(full, "x"));
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_TRUE(write_all(full, ""));
  ::close(full);
  EXPECT_FALSE(write_all(-1, "x"));
}

TEST(SystemCalls, WriteAtAPlace) {
  const TemporaryFolder folder;
  const int file = ::open(folder.file("f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  EXPECT_TRUE(write_all(file, "abcdef") && write_all_at(file, 2, "XY"));
  ::close(file);
  EXPECT_EQ(read_file(folder.file("f")).value(), "abXYef");
}

TEST(SystemCalls, DrawOtherNumbersEachTime) {
  uint64_t one = 0, two = 0;
  ASSERT_TRUE(draw_random(one) && draw_random(two));
  EXPECT_NE(one, two);
}

}  // namespace
}  // namespace pantoum::base
