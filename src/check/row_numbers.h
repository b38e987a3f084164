// The numbers of a certificate's row.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "check/words.h"

namespace pantoum::check {

// Reads them from the front; E0805 for one that is missing, out of range or left over.
class RowNumbers {
 public:
  explicit RowNumbers(const std::vector<int64_t>& numbers) : numbers_(numbers) {}

  Result<int64_t> next(const char* what, int64_t least, int64_t end) {
    if (at_ >= numbers_.size()) return broken(fmt::format("the {} is missing", what));
    const int64_t number = numbers_[at_++];
    if (number < least || number >= end) return broken(fmt::format("{} is no {}", number, what));
    return number;
  }
  Result<int32_t> index(const char* what, int32_t least, int64_t end) {
    PANTOUM_ASSIGN(const int64_t number, next(what, least, end));
    return static_cast<int32_t>(number);
  }
  bool more() const { return at_ < numbers_.size(); }
  Result<void> done() const {
    if (more()) return broken("the row has more numbers than its rule takes");
    return {};
  }

 private:
  const std::vector<int64_t>& numbers_;
  size_t at_ = 0;
};

}  // namespace pantoum::check
