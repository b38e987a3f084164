// Progress on stderr: a line that updates on a terminal, a line every ten seconds in a pipe. If no new line comes for a second (in a pipe, for ten
// seconds), the last line is shown again with the elapsed time.
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

  // Sets the name of the work that begins now, such as "reading net.onnx". The name is shown if the work takes long.
  void phase(const std::string& text);
  // Returns whether it is time to show a line. The call is cheap enough for every step.
  [[nodiscard]] bool due() const;
  void show(const std::string& text);
  // Replaces the updating line by this text, which remains visible.
  void finish(const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;

  void keep(const std::string& text);  // for the beat
  void beat();
  void tell_again(Clock::time_point now);

  bool quiet_, terminal_, ended_ = false;
  mutable std::mutex changing_;
  std::condition_variable end_;
  Clock::time_point last_, told_;  // times of the last line shown, and of the caller's last call
  std::array<char, 400>
      text_{};  // fixed size, because the beat must not allocate during a run whose memory is measured
  size_t text_bytes_ = 0;
  std::thread beat_;  // none where the system gives no thread
};

}  // namespace pantoum::cli
