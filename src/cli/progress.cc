#include "cli/progress.h"

#include <unistd.h>

#include <cstdio>

#include "base/foreign_text.h"

namespace pantoum::cli {
namespace {

constexpr auto kTerminalInterval = std::chrono::milliseconds(200);
constexpr auto kPipeInterval = std::chrono::seconds(10);

}  // namespace

ProgressLine::ProgressLine(bool quiet)
    : quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0), last_(std::chrono::steady_clock::now()) {}

ProgressLine::~ProgressLine() {
  if (open_) std::fputc('\n', stderr);
}

bool ProgressLine::due() const {
  if (quiet_) return false;
  const auto since = std::chrono::steady_clock::now() - last_;
  return terminal_ ? since >= kTerminalInterval : since >= kPipeInterval;
}

void ProgressLine::show(const std::string& text) {
  if (quiet_) return;
  last_ = std::chrono::steady_clock::now();
  std::fprintf(stderr, terminal_ ? "\r\033[K%s" : "%s\n", base::one_line(text).c_str());
  std::fflush(stderr);
  open_ = terminal_;
}

void ProgressLine::finish(const std::string& text) {
  if (quiet_) return;
  std::fprintf(stderr, terminal_ ? "\r\033[K%s\n" : "%s\n", base::one_line(text).c_str());
  open_ = false;
}

}  // namespace pantoum::cli
