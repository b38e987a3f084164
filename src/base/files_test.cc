#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "base/file_lock.h"
#include "base/inputs_in_use.h"
#include "base/output_folder.h"
#include "base/owned_file.h"
#include "testing/temporary_folder.h"

namespace pantoum::base {
namespace {

class Outputs : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(victim_) << "whole";
    std::filesystem::create_symlink(victim_, path_);
  }
  void expect_replaced() const {
    EXPECT_FALSE(std::filesystem::is_symlink(path_));
    EXPECT_EQ(read_file(path_).value(), "new");
    EXPECT_EQ(read_file(victim_).value(), "whole");
  }
  TemporaryFolder folder_;
  std::string path_ = folder_.file("out"), victim_ = folder_.file("victim");
};

TEST_F(Outputs, TakeThePlaceOfALink) {
  ASSERT_TRUE(write_file_atomically(path_, "new"));
  expect_replaced();
}

TEST_F(Outputs, WrittenInPiecesTakeThePlaceOfALink) {
  auto file = AtomicFile::create(path_, 0644);
  ASSERT_TRUE(file && file->append(std::as_bytes(std::span("new", 3))) && file->commit());
  expect_replaced();
}

TEST_F(Outputs, AreNotWrittenToADeviceBehindALink) {
  std::filesystem::remove(path_);
  std::filesystem::create_symlink("/dev/null", path_);
  ASSERT_TRUE(write_file_atomically(path_, "new"));
  expect_replaced();
  EXPECT_TRUE(is_special_file("/dev/null"));
  EXPECT_TRUE(is_special_file("/dev/stdout"));
}

TEST_F(Outputs, AreRewrittenBeforeTheyAppear) {
  auto file = AtomicFile::create(path_, 0644);
  ASSERT_TRUE(file && file->append(std::as_bytes(std::span("old", 3))));
  ASSERT_TRUE(file->rewrite(0, std::as_bytes(std::span("new", 3))) && file->commit(folder_.file("kept")));
  expect_replaced();
  EXPECT_FALSE(std::filesystem::exists(folder_.file("kept"))) << "a link is nothing to keep";
}

// What may stand in the place of a file that the program makes for itself.
class NoRegularFiles : public Outputs, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {}
  void TearDown() override {
    if (server_ >= 0) ::close(server_);
  }
  void stand_at(const std::string& path) {
    const std::string_view kind = GetParam();
    if (kind == "named pipe") {
      ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    } else if (kind == "folder") {
      ASSERT_TRUE(std::filesystem::create_directory(path));
    }
    if (kind != "socket") return;
    sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
    ASSERT_LT(path.size(), sizeof name.sun_path);
    path.copy(name.sun_path, path.size());
    server_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::bind(server_, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  }
  // The write is refused, and what stood there stands there.
  template <typename Write>
  void expect_refused(const std::string& at, const Write& write) {
    stand_at(at);
    const auto before = identity_of_file(at);
    const auto done = write();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, "E0901");
    EXPECT_EQ(identity_of_file(at), before);
  }
  int server_ = -1;
};

TEST_P(NoRegularFiles, AreRefusedAsAtomicFile) {
  expect_refused(path_ + ".part", [&] { return AtomicFile::create(path_, 0644); });
}

TEST_P(NoRegularFiles, AreRefusedAsLock) {
  expect_refused(path_ + ".lock", [&] { return FileLock::acquire(path_); });
}

TEST_P(NoRegularFiles, AreRefusedWhereTheOldFileIsKept) {
  for (const std::string& kept : {folder_.file("kept"), folder_.file("kept2.part")}) {
    if (GetParam() == std::string_view("folder") && kept.ends_with(".part")) continue;  // the old file is moved then, and not linked
    std::ofstream(path_) << "old";
    auto file = AtomicFile::create(path_, 0644);
    ASSERT_TRUE(file && file->append(std::as_bytes(std::span("new", 3))));
    expect_refused(kept, [&] { return file->commit(kept.substr(0, kept.rfind(".part"))); });
    EXPECT_EQ(read_file(path_).value(), "old");
    if (server_ >= 0) ::close(std::exchange(server_, -1));
  }
}

TEST_P(NoRegularFiles, AreRefusedAsFilesOfAFolder) {
  const auto folder = OutputFolder::open(folder_.file("project"));
  expect_refused(folder_.file("project/x"), [&] { return folder->write("x", "new"); });
}

INSTANTIATE_TEST_SUITE_P(Kinds, NoRegularFiles, ::testing::Values("named pipe", "socket", "folder"),
                         [](const auto& kind) { return kind.param == std::string_view("named pipe") ? "pipe" : kind.param; });

}  // namespace
}  // namespace pantoum::base
