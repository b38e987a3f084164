#include "train/batch_loader.h"

#include <gtest/gtest.h>

#include "train/tiny_plan_fixture.h"

namespace pantoum::train {
namespace {

PlanTensor plan_tensor(ir::DType dtype, ir::Shape shape) {
  PlanTensor tensor{0, "x", dtype, std::move(shape), static_cast<uint64_t>(ir::size_of(dtype))};
  for (const int64_t extent : tensor.shape) tensor.bytes *= static_cast<uint64_t>(extent);
  return tensor;
}

template <class To, class From>
std::vector<To> load_all(ir::DType to, ir::DType from, const std::vector<From>& stored, int64_t row,
                         bool normalize = false) {
  const auto file = samples(from, {row}, stored);
  const PlanTensor tensor = plan_tensor(to, {file->count(), row});
  std::vector<To> loaded(stored.size());
  const auto conversion = check_fit(*file, tensor, normalize);
  EXPECT_TRUE(conversion);
  for (int64_t sample = 0; sample < file->count(); ++sample)
    EXPECT_TRUE(load_row(*file, file->count() - 1 - sample, {&tensor, reinterpret_cast<std::byte*>(loaded.data())},
                         sample, *conversion, make_normalize_table({0.1F, 0.3F})));
  return loaded;
}

TEST(LoadRow, WidensInPlaceWhateverTheLength) {
  for (int64_t row = 1; row < 20; ++row) {
    std::vector<uint8_t> bytes;
    std::vector<int32_t> words;
    for (int value = 0; value < 2 * row; ++value)
      bytes.push_back(static_cast<uint8_t>(255 - value)), words.push_back(value * 70'000 - 900'000);
    const auto half = static_cast<ptrdiff_t>(row);
    std::vector<uint8_t> bytes_back(bytes.begin() + half, bytes.end());
    bytes_back.insert(bytes_back.end(), bytes.begin(), bytes.begin() + half);
    std::vector<int32_t> words_back(words.begin() + half, words.end());
    words_back.insert(words_back.end(), words.begin(), words.begin() + half);
    EXPECT_EQ(load_all<int64_t>(ir::DType::kI64, ir::DType::kU8, bytes, row),
              std::vector<int64_t>(bytes_back.begin(), bytes_back.end()));
    EXPECT_EQ(load_all<int32_t>(ir::DType::kI32, ir::DType::kU8, bytes, row),
              std::vector<int32_t>(bytes_back.begin(), bytes_back.end()));
    EXPECT_EQ(load_all<float>(ir::DType::kF32, ir::DType::kU8, bytes, row),
              std::vector<float>(bytes_back.begin(), bytes_back.end()));
    EXPECT_EQ(load_all<int64_t>(ir::DType::kI64, ir::DType::kI32, words, row),
              std::vector<int64_t>(words_back.begin(), words_back.end()));
    EXPECT_EQ(load_all<int32_t>(ir::DType::kI32, ir::DType::kI32, words, row), words_back);
  }
}

TEST(LoadRow, NormalizesByTheDocumentedFormula) {
  const auto loaded = load_all<float>(ir::DType::kF32, ir::DType::kU8, std::vector<uint8_t>{0, 1, 128, 255}, 4, true);
  const float expected[] = {0, 1, 128, 255};
  for (size_t at = 0; at < 4; ++at) EXPECT_EQ(loaded[at], (expected[at] / 255.0F - 0.1F) / 0.3F);
}

TEST(CheckFit, LeavesOutExtentsOfOneAndNothingElse) {
  const auto image = samples(ir::DType::kF32, {28, 28}, std::vector<float>(784));
  const auto fits = [&](ir::Shape shape) {
    return check_fit(*image, plan_tensor(ir::DType::kF32, std::move(shape)), true).has_value();
  };
  EXPECT_TRUE(fits({8, 1, 28, 28}));
  EXPECT_TRUE(fits({8, 28, 28, 1, 1}));
  EXPECT_FALSE(fits({8, 784}));
  EXPECT_FALSE(fits({8, 28}));
  EXPECT_FALSE(fits({8, 28, 28, 2}));
  EXPECT_FALSE(fits({8, 27, 28}));
}

}  // namespace
}  // namespace pantoum::train
