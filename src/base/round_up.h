// Sizes that are multiples of an alignment.
#pragma once

#include <concepts>
#include <type_traits>

namespace pantoum::base {

// The smallest multiple of `unit` that is not below `size`; size >= 0, unit > 0. It must fit the type.
template <std::integral Size>
[[nodiscard]] constexpr Size round_up(Size size, std::type_identity_t<Size> unit) {
  const Size rest = size % unit;
  return rest == 0 ? size : size + (unit - rest);
}

}  // namespace pantoum::base
