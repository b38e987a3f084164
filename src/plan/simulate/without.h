// The rules of bounds and search that a question switches off.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>

namespace pantoum::plan {

enum class Switch : uint8_t;  // switches.h

// The rules that are switched off.
class Without {
 public:
  static constexpr size_t kMost = 64;  // rules; switches.h checks it

  // Switches the rule off.
  void add(Switch rule) { off_.set(static_cast<size_t>(rule)); }
  // Is the rule switched off?
  bool has(Switch rule) const { return off_.test(static_cast<size_t>(rule)); }

 private:
  std::bitset<kMost> off_;
};

}  // namespace pantoum::plan
