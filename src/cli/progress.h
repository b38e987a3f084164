// Progress on stderr: a line that updates on a terminal, a line every ten seconds in a pipe. It never freezes: where
// no new line comes for a second (in a pipe, for ten seconds), it shows the last line again with the time that has passed.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace pantoum::cli {

class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Names what begins now, as in "reading net.onnx". The name is shown if the work lasts.
  void phase(const std::string& text);
  // Is it time to show something? Cheap, so that a caller may ask at every step.
  [[nodiscard]] bool due() const;
  void show(const std::string& text);
  // Ends the updating line with this text, which stays.
  void finish(const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;

  void keep(const std::string& text);  // for the beat
  void beat();
  void tell_again(Clock::time_point now);

  bool quiet_, terminal_, ended_ = false;
  mutable std::mutex changing_;
  std::condition_variable end_;
  Clock::time_point last_, told_;  // something was shown; the caller said something
  std::array<char, 400> text_{};   // why: the beat takes no memory, beside a run that counts it
  size_t text_bytes_ = 0;
  std::thread beat_;  // none where the system gives no thread
};

}  // namespace pantoum::cli
