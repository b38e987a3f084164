#include "data/label_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

namespace pantoum::data {
namespace {

constexpr int64_t kLooked = 64, kMostBytes = 1 << 20;

template <class T>
std::vector<double> as_numbers(std::span<const std::byte> bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(T));
  for (size_t at = 0; at < numbers.size(); ++at) {
    T value{};
    std::memcpy(&value, bytes.data() + at * sizeof(T), sizeof(T));
    numbers[at] = static_cast<double>(value);
  }
  return numbers;
}

std::vector<double> numbers_of(const SampleFile& labels, int64_t index) {
  std::vector<std::byte> bytes(static_cast<size_t>(sample_bytes(labels)));
  if (!labels.read(index, bytes)) return {};
  switch (labels.dtype()) {
    case base::DType::kF32:
      return as_numbers<float>(bytes);
    case base::DType::kI64:
      return as_numbers<int64_t>(bytes);
    case base::DType::kI32:
      return as_numbers<int32_t>(bytes);
    default:
      return as_numbers<uint8_t>(bytes);
  }
}

// Is this true of each of the first labels? Not where there is none.
bool all_of_first(const SampleFile& labels, const std::function<bool(const std::vector<double>&)>& is) {
  if (sample_bytes(labels) > kMostBytes) return false;
  for (int64_t index = 0; index < std::min(labels.count(), kLooked); ++index) {
    const std::vector<double> numbers = numbers_of(labels, index);
    if (numbers.empty() || !is(numbers)) return false;
  }
  return labels.count() > 0;
}

bool is_one_hot(const std::vector<double>& numbers) {
  const auto zero_or_one = [](double number) { return number == 0 || number == 1; };
  return numbers.size() > 1 && std::all_of(numbers.begin(), numbers.end(), zero_or_one) &&
         std::accumulate(numbers.begin(), numbers.end(), 0.0) == 1;
}

bool is_whole(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double number) { return number == std::floor(number); });
}

}  // namespace

std::string advice_on_labels(const SampleFile& labels, std::span<const int64_t> wanted, base::DType dtype) {
  const base::Shape& shape = labels.sample_shape();
  const bool classes = dtype == base::DType::kI64 || dtype == base::DType::kI32;
  if (classes && wanted.empty() && shape.size() == 1 && all_of_first(labels, is_one_hot))
    return "these labels are one-hot: save y.argmax(1), or use --loss soft_cross_entropy";
  const bool same_shape = std::equal(shape.begin(), shape.end(), wanted.begin(), wanted.end());
  if (!same_shape)
    return "give labels of this shape; where the output has its classes last, as for tokens, use --loss "
           "cross_entropy,classes=last";
  if (!classes)
    return fmt::format("save the labels as {}; whole numbers of classes are for --loss cross_entropy", base::name_of(dtype));
  return all_of_first(labels, is_whole)
             ? "these labels are whole numbers: save y.astype(numpy.int64)"
             : "a class is a whole number: save the labels as i64, or use a loss of numbers as --loss mse";
}

}  // namespace pantoum::data
