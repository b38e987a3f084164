// Lines on standard input, each of which asks for something once: `pantoum profile --on-request`.
#pragma once

#include <cstddef>
#include <stop_token>
#include <utility>

namespace pantoum::cli {

class StepRequests {
 public:
  // Reads `descriptor`, which stays the caller's.
  StepRequests(int descriptor, std::stop_token stop) : descriptor_(descriptor), stop_(std::move(stop)) {}

  // Waits for the end of the next line, whatever it says, and is true; false at the end of the input, when it cannot be
  // read, and once the token asks to stop. What follows the last line's end asks for nothing.
  [[nodiscard]] bool next();

 private:
  int descriptor_;
  std::stop_token stop_;
  size_t waiting_ = 0;  // lines that were read and not answered yet
};

}  // namespace pantoum::cli
