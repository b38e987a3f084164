#include "cli/files/class_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/owned_file.h"
#include "cli/files/inputs_kept.h"
#include "data/format.h"

namespace pantoum::cli {
namespace {

constexpr std::string_view kKey = ",class_weights=";
constexpr int64_t kMostClasses = 1 << 20;

template <class Number>
std::vector<double> numbers_of(std::span<const std::byte> bytes) {
  std::vector<double> numbers;
  for (size_t at = 0; at + sizeof(Number) <= bytes.size(); at += sizeof(Number)) {
    Number number;
    std::memcpy(&number, &bytes[at], sizeof number);
    numbers.push_back(static_cast<double>(number));
  }
  return numbers;
}

Failure no_weights(const std::string& path, const std::string& why) {
  return fail("E0261", "class weights are no such array: " + why, path, "save one number for each class: numpy.save(path, weights)");
}

Result<std::vector<double>> weights_in(const std::string& path) {
  PANTOUM_ASSIGN(const base::OwnedFile file, base::OwnedFile::open_to_read(path));
  std::vector<std::byte> start(static_cast<size_t>(std::min<uint64_t>(file.size(), data::kArrayHeaderLimit)));
  PANTOUM_TRY(file.read_at(0, start, "E0261"));
  if (!data::is_npy(start)) return no_weights(path, "the file is no NPY file");
  PANTOUM_ASSIGN(const data::ArrayLayout layout, data::read_npy_header(start, file.size(), path, true));
  if (!layout.sample_shape.empty() || layout.count < 1 || layout.count > kMostClasses || layout.swap_bytes)
    return no_weights(path, "it has not one dimension of 1 to 1048576 numbers");
  std::vector<std::byte> bytes(static_cast<size_t>(layout.count) * layout.sample_bytes);
  PANTOUM_TRY(file.read_at(layout.data_at, bytes, "E0261"));
  switch (layout.dtype) {
    case base::DType::kF32:
      return numbers_of<float>(bytes);
    case base::DType::kF64:
      return numbers_of<double>(bytes);
    case base::DType::kI64:
      return numbers_of<int64_t>(bytes);
    case base::DType::kI32:
      return numbers_of<int32_t>(bytes);
    case base::DType::kU8:
      return numbers_of<uint8_t>(bytes);
    default:
      return no_weights(path, "its numbers are of another type");
  }
}

}  // namespace

Result<void> read_class_weights(std::vector<Given>& given) {
  for (Given& each : given) {
    if (each.option->name() != "--loss") continue;
    const size_t key = each.value.find(kKey);
    if (key == std::string::npos) continue;
    const size_t begin = key + kKey.size(), end = std::min(each.value.find(',', begin), each.value.size());
    const std::string path = each.value.substr(begin, end - begin);
    if (!path.ends_with(".npy")) continue;
    PANTOUM_ASSIGN(const std::vector<double> weights, weights_in(path));
    for (const double weight : weights)
      if (!std::isfinite(weight)) return fail("E0116", fmt::format("the class weight {} is not finite", weight), path,
                    "give each class a number of 0 or more");
    keep_input("--loss", path);
    each.value.replace(begin, end - begin, fmt::format("{}", fmt::join(weights, ":")));
  }
  return {};
}

}  // namespace pantoum::cli
