#include "cli/progress.h"

#include <algorithm>
#include <cstdio>
#include <system_error>

#include "base/foreign_text.h"
#include "cli/output.h"

namespace pantoum::cli {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kTerminalInterval = milliseconds(200), kPipeInterval = milliseconds(9'500);
constexpr auto kTerminalBeat = milliseconds(900), kPipeBeat = milliseconds(9'900);
constexpr auto kLook = milliseconds(250);

}  // namespace

ProgressLine::ProgressLine(bool quiet)
    : quiet_(quiet || is_quiet()), terminal_(has_status_line()), last_(Clock::now()), told_(last_) {
  if (quiet_) return;
  try {
    beat_ = std::thread([this] { beat(); });
  } catch (const std::system_error&) {  // then nothing is said again
  }
}

ProgressLine::~ProgressLine() {
  {
    const std::lock_guard lock(changing_);
    ended_ = true;
  }
  end_.notify_all();
  if (beat_.joinable()) beat_.join();
  if (!quiet_) clear_status();
}

void ProgressLine::keep(const std::string& text) {
  text_bytes_ = std::min(text.size(), text_.size());
  std::copy_n(text.begin(), text_bytes_, text_.begin());
}

void ProgressLine::phase(const std::string& text) {
  const std::lock_guard lock(changing_);
  keep(base::one_line(text));
  told_ = Clock::now();
}

bool ProgressLine::due() const {
  if (quiet_) return false;
  const std::lock_guard lock(changing_);
  return Clock::now() - last_ >= (terminal_ ? kTerminalInterval : kPipeInterval);
}

void ProgressLine::show(const std::string& text) {
  if (quiet_) return;
  const std::string line = base::one_line(text);
  const std::lock_guard lock(changing_);
  keep(line);
  last_ = told_ = Clock::now();
  show_status(line);
}

void ProgressLine::finish(const std::string& text) {
  if (quiet_) return;
  const std::string line = base::one_line(text) + "\n";
  const std::lock_guard lock(changing_);
  keep(line.substr(0, line.size() - 1));
  last_ = told_ = Clock::now();
  write_message(line);
}

void ProgressLine::tell_again(Clock::time_point now) {
  std::array<char, 480> line{};
  const auto since = duration_cast<seconds>(now - told_).count();
  const int bytes = std::snprintf(line.data(), line.size(), "%.*s  (%llds)", static_cast<int>(text_bytes_),
                                  text_.data(), static_cast<long long>(since));
  if (bytes <= 0) return;
  show_status({line.data(), std::min(static_cast<size_t>(bytes), line.size() - 1)});
  last_ = now;
}

void ProgressLine::beat() {
  std::unique_lock lock(changing_);
  while (!end_.wait_for(lock, kLook, [this] { return ended_; })) {
    const Clock::time_point now = Clock::now();
    const auto interval = terminal_ ? kTerminalBeat : kPipeBeat;
    if (text_bytes_ > 0 && now - last_ >= interval) tell_again(now);
  }
}

}  // namespace pantoum::cli
