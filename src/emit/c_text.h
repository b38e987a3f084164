// C source as text: constants and comments.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace pantoum::emit {

// "static const uint8_t name[N] = {...};", aligned to 16 so that it can be read as any type; one zero where it is
// empty.
[[nodiscard]] std::string byte_array(const std::string& name, std::span<const std::byte> bytes);
// A double and a float that read back as the same bits.
[[nodiscard]] std::string literal(double value);
[[nodiscard]] std::string literal(float value);

}  // namespace pantoum::emit
