// Progress on stderr: a line that updates on a terminal, a line every ten seconds in a pipe.
#pragma once

#include <chrono>
#include <string>

namespace pantoum::cli {

class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Is it time to show something? Cheap, so that a caller may ask at every step.
  [[nodiscard]] bool due() const;
  void show(const std::string& text);
  // Ends the updating line with this text.
  void finish(const std::string& text);

 private:
  bool quiet_, terminal_, open_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace pantoum::cli
