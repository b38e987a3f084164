// C source as text: constants and comments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace pantoum::emit {

// "static const uint8_t name[N] = {...};", aligned so that it can be read as any type; one zero where it is empty.
[[nodiscard]] std::string byte_array(const std::string& name, std::span<const std::byte> bytes,
                                     uint32_t alignment = 16);
// A double and a float that read back as the same bits.
[[nodiscard]] std::string literal(double value);
[[nodiscard]] std::string literal(float value);

}  // namespace pantoum::emit
