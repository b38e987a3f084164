#include "cli/last_words.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <new>
#include <nlohmann/json.hpp>

#include "base/out_of_memory.h"
#include "cli/output.h"

namespace pantoum::cli {
namespace {

[[noreturn]] void find_no_memory() {
  throw std::bad_alloc();
}

void find_none_where_nothing_may_be_thrown() noexcept {
  find_no_memory();
}

// Whether printing is told as lost, and no file takes the place of the closed outputs.
[[noreturn]] void print_without_outputs() {
  ::close(0);
  ::close(1);
  keep_standard_files();
  const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  print_result("lost");
  const Result<void> printed = check_printed();
  _exit(next > 2 && !printed && printed.error().code == "E0901" ? 0 : 1);
}

TEST(LastWords, TellOfMissingMemoryInPlaceOfASignal) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        end_without_memory();
        find_none_where_nothing_may_be_thrown();
      },
      testing::ExitedWithCode(9), "error\\[E0910\\]: out of memory");
}

[[noreturn]] void store_nowhere(int error) {
  end_without_memory();
  auto* const nowhere = reinterpret_cast<volatile char*>(uintptr_t{8});
  errno = error;
  *nowhere = 1;
  _exit(0);
}

TEST(LastWords, ANullPointerIsAboutMemoryOnlyWhereItWasJustRefused) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(store_nowhere(ENOMEM), testing::ExitedWithCode(9), "error\\[E0910\\]");
  EXPECT_EXIT(store_nowhere(0), testing::KilledBySignal(SIGSEGV), "");
}

TEST(LastWords, AreTheErrorsOwn) {
  const Error error = base::out_of_memory().error();
  testing::internal::CaptureStderr();
  EXPECT_EQ(tell_out_of_memory(true), exit_code(error));
  const nlohmann::json told = nlohmann::json::parse(testing::internal::GetCapturedStderr());
  EXPECT_EQ(told["error"], error.code);
  EXPECT_EQ(told["message"], error.message);
  EXPECT_EQ(told["exit"], exit_code(error));
}

TEST(LastWords, NoFileTakesTheNumberOfAClosedOutput) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(print_without_outputs(), testing::ExitedWithCode(0), "");
}

TEST(Output, ThatIsLostIsTold) {
  EXPECT_TRUE(check_printed());
  const int kept = ::dup(STDOUT_FILENO), full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ::dup2(full, STDOUT_FILENO);
  print_result("lost");
  ::dup2(kept, STDOUT_FILENO);
  ::close(kept), ::close(full);
  EXPECT_EQ(check_printed().error().code, "E0901");
  EXPECT_TRUE(check_printed());
}

}  // namespace
}  // namespace pantoum::cli
