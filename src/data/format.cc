#include "data/format.h"

#include <fmt/format.h>

#include <cstring>

namespace pantoum::data {
namespace {

constexpr uint64_t kLimit = uint64_t{1} << 62;

bool begins_with(std::span<const std::byte> start, std::string_view magic) {
  return start.size() >= magic.size() && std::memcmp(start.data(), magic.data(), magic.size()) == 0;
}

// The product of the extents and the element size, or kLimit when it is larger.
uint64_t product(std::span<const uint64_t> extents, uint64_t element_bytes) {
  uint64_t bytes = element_bytes;
  for (const uint64_t extent : extents) {
    if (extent == 0) return 0;
    if (bytes >= kLimit / extent) return kLimit;
    bytes *= extent;
  }
  return bytes;
}

}  // namespace

bool is_idx(std::span<const std::byte> start) {
  return begins_with(start, std::string_view("\0\0", 2)) && start.size() >= 4 && start[2] != std::byte{0};
}
bool is_npy(std::span<const std::byte> start) {
  return begins_with(start, "\x93NUMPY");
}
bool is_gzip(std::span<const std::byte> start) {
  return begins_with(start, "\x1f\x8b");
}

Result<ArrayLayout> complete_layout(ArrayLayout layout, std::span<const uint64_t> shape, uint64_t file_size,
                                    const std::string& where) {
  if (shape.empty())
    return fail("E0261", "the array is a single number; its first dimension must count samples", where);
  const uint64_t sample = product(shape.subspan(1), static_cast<uint64_t>(base::size_of(layout.dtype)));
  const uint64_t data = product(shape, static_cast<uint64_t>(base::size_of(layout.dtype)));
  if (sample == 0 || data == 0) return fail("E0261", "the array holds no data: one of its extents is 0", where);
  if (data >= kLimit)
    return fail("E0261", "the array's extents are too large", where, "the file is damaged; make it again");
  if (file_size != layout.data_at + data)
    return fail(
        "E0261", fmt::format("the file has {} bytes; its header promises {}", file_size, layout.data_at + data), where,
        file_size < layout.data_at + data ? "it was cut short; copy or make it again" : "it is damaged; make it again");
  layout.count = static_cast<int64_t>(shape[0]);
  layout.sample_bytes = sample;
  layout.stride = sample;
  for (const uint64_t extent : shape.subspan(1)) layout.sample_shape.push_back(static_cast<int64_t>(extent));
  return layout;
}

Result<ArrayLayout> read_idx_header(std::span<const std::byte> start, uint64_t file_size, const std::string& where) {
  if (!is_idx(start)) return fail("E0261", "the file is not IDX", where);
  ArrayLayout layout;
  switch (std::to_integer<int>(start[2])) {
    case 0x08:
      layout.dtype = base::DType::kU8;
      break;
    case 0x0C:
      layout.dtype = base::DType::kI32;
      break;
    case 0x0D:
      layout.dtype = base::DType::kF32;
      break;
    default:
      return fail("E0261",
                  fmt::format("the IDX element type 0x{:02x} is not supported", std::to_integer<int>(start[2])), where,
                  "unsigned bytes (0x08), 32-bit integers (0x0c) and floats (0x0d) are");
  }
  const size_t rank = std::to_integer<size_t>(start[3]);
  layout.data_at = 4 + 4 * rank;
  if (start.size() < layout.data_at)
    return fail("E0261", fmt::format("the file has {} bytes; its header alone needs {}", file_size, layout.data_at),
                where, "it was cut short; copy or make it again");
  std::vector<uint64_t> shape(rank);
  for (size_t byte = 4; byte < layout.data_at; ++byte)
    shape[byte / 4 - 1] = shape[byte / 4 - 1] << 8 | std::to_integer<uint64_t>(start[byte]);
  layout.swap_bytes = true;
  return complete_layout(std::move(layout), shape, file_size, where);
}

}  // namespace pantoum::data
