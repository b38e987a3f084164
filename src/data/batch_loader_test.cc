#include "data/batch_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/array_samples.h"

namespace pantoum::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A batch of one input and labels of bytes, with its memory.
class TestBatch {
 public:
  TestBatch(base::DType dtype, base::Shape shape, base::Shape label = {})
      : shapes_{std::move(shape), std::move(label)}, types_{dtype, base::DType::kI64} {
    if (shapes_[1].empty()) shapes_[1] = {shapes_[0][0]};
    for (size_t tensor = 0; tensor < 2; ++tensor) {
      bytes_[tensor].resize(static_cast<size_t>(base::TensorType{types_[tensor], shapes_[tensor]}.bytes()));
      views_.push_back({tensor == 0 ? "x" : "label", types_[tensor], shapes_[tensor], bytes_[tensor]});
    }
  }
  std::span<const BatchView> views() const { return views_; }
  template <class T>
  std::vector<T> input() const {
    std::vector<T> values(bytes_[0].size() / sizeof(T));
    std::memcpy(values.data(), bytes_[0].data(), bytes_[0].size());
    return values;
  }

 private:
  std::array<base::Shape, 2> shapes_;
  std::array<base::DType, 2> types_;
  std::array<std::vector<std::byte>, 2> bytes_;
  std::vector<BatchView> views_;
};

template <class T>
Dataset dataset(base::DType dtype, base::Shape shape, const std::vector<T>& values) {
  Dataset data;
  data.inputs.push_back(samples(dtype, std::move(shape), values));
  data.labels = samples(base::DType::kU8, {}, std::vector<uint8_t>(static_cast<size_t>(data.inputs[0]->count())));
  return data;
}

// Every sample, the last one first.
template <class To, class From>
std::vector<To> load_all(base::DType to, base::DType from, const std::vector<From>& stored, base::Shape row,
                         const Preparation& preparation = {}) {
  const Dataset data = dataset(from, row, stored);
  row.insert(row.begin(), data.count());
  const TestBatch batch(to, row);
  BatchLoader loader(preparation, 1, 1);
  const auto bound = loader.bind(data, batch.views());
  EXPECT_TRUE(bound) << to_text(bound.error());
  if (!bound) return {};
  for (int64_t sample = 0; sample < data.count(); ++sample)
    EXPECT_TRUE(loader.load(data.count() - 1 - sample, batch.views(), sample));
  return batch.input<To>();
}

TEST(BatchLoader, WidensInPlaceWhateverTheLength) {
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
    using enum base::DType;
    EXPECT_EQ(load_all<int64_t>(kI64, kU8, bytes, {row}), std::vector<int64_t>(bytes_back.begin(), bytes_back.end()));
    EXPECT_EQ(load_all<int32_t>(kI32, kU8, bytes, {row}), std::vector<int32_t>(bytes_back.begin(), bytes_back.end()));
    EXPECT_EQ(load_all<int64_t>(kI64, kI32, words, {row}), std::vector<int64_t>(words_back.begin(), words_back.end()));
    EXPECT_EQ(load_all<int32_t>(kI32, kI32, words, {row}), words_back);
  }
}

TEST(BatchLoader, NormalizesBytesByTheWrittenFormula) {
  std::vector<uint8_t> all(256);
  for (size_t x = 0; x < all.size(); ++x) all[x] = static_cast<uint8_t>(x);
  const std::vector<float> normalized =
      load_all<float>(base::DType::kF32, base::DType::kU8, all, {256}, {.normalization = {{0.1F, 0.3F}}});
  const std::vector<float> plain = load_all<float>(base::DType::kF32, base::DType::kU8, all, {256});
  for (size_t x = 0; x < all.size(); ++x) {
    EXPECT_EQ(normalized[x], (static_cast<float>(x) / 255.0F - 0.1F) / 0.3F);
    EXPECT_EQ(plain[x], static_cast<float>(x) / 255.0F);
  }
}

TEST(BatchLoader, NormalizesEachChannelByItsOwn) {
  const Preparation each{.normalization = {{0, 1}, {0.5F, 0.5F}, {1, 0.25F}}};
  EXPECT_THAT(
      load_all<float>(base::DType::kF32, base::DType::kU8, std::vector<uint8_t>{0, 255, 0, 255, 0, 255}, {3, 2}, each),
      ElementsAre(0, 1, -1, 1, -4, 0));
  EXPECT_THAT(load_all<float>(base::DType::kF32, base::DType::kF32, std::vector<float>{0, 2, 0, 2, 0, 2}, {3, 2}, each),
              ElementsAre(0, 2, -1, 3, -4, 4));
}

TEST(BatchLoader, FloatsAreTakenAsTheyAreUnlessNormalizationIsAskedFor) {
  const std::vector<float> stored{1, 2, 3};
  EXPECT_EQ(load_all<float>(base::DType::kF32, base::DType::kF32, stored, {3}), stored);
  EXPECT_THAT(load_all<float>(base::DType::kF32, base::DType::kF32, stored, {3}, {.normalization = {{1, 2}}}),
              ElementsAre(0, 0.5F, 1));
}

TEST(BatchLoader, RefusesWhatDoesNotFitThePreparation) {
  const Dataset flat = dataset(base::DType::kU8, {2, 4}, std::vector<uint8_t>(8)),
                image = dataset(base::DType::kU8, {2, 4, 3}, std::vector<uint8_t>(24));
  const auto refusal = [](const Dataset& data, const TestBatch& batch, const Preparation& preparation) {
    const auto bound = BatchLoader(preparation, 1, 1).bind(data, batch.views());
    return bound ? "accepted" : to_text(bound.error());
  };
  const TestBatch of_rows(base::DType::kF32, {1, 2, 4}), of_images(base::DType::kF32, {1, 2, 4, 3});
  EXPECT_THAT(refusal(flat, of_rows, {.normalization = {{}, {}, {}}}),
              HasSubstr("3 normalizations for the 2 channels"));
  EXPECT_EQ(refusal(flat, of_rows, {.normalization = {{}, {}}}), "accepted");
  EXPECT_THAT(refusal(flat, of_rows, {.augmentation = {.flip = true}}), HasSubstr("no input of images"));
  EXPECT_THAT(refusal(image, of_images, {.augmentation = {.crop = 3}}), HasSubstr("out of sight"));
  EXPECT_EQ(refusal(image, of_images, {.augmentation = {.flip = true, .crop = 2}}), "accepted");
}

TEST(BatchLoader, ChangesImagesBeforeTheyAreWidened) {
  const Dataset data = dataset(base::DType::kU8, {2, 1, 3}, std::vector<uint8_t>{0, 51, 102, 153, 204, 255});
  const TestBatch batch(base::DType::kF32, {1, 2, 1, 3});
  BatchLoader loader({}, 1, 1);
  ASSERT_TRUE(loader.bind(data, batch.views()));
  const Change change{.flip = true, .right = 1};
  ASSERT_TRUE(loader.load(0, batch.views(), 0, &change));
  EXPECT_THAT(batch.input<float>(), ElementsAre(0, 0.4F, 0.2F, 0, 1, 0.8F));
}

TEST(BatchLoader, LeavesOutExtentsOfOneAndNothingElse) {
  const Dataset image = dataset(base::DType::kF32, {28, 28}, std::vector<float>(784));
  const auto fits = [&](base::Shape shape) {
    const TestBatch batch(base::DType::kF32, std::move(shape));
    return BatchLoader({}, 1, 1).bind(image, batch.views()).has_value();
  };
  EXPECT_TRUE(fits({8, 1, 28, 28}));
  EXPECT_TRUE(fits({8, 28, 28, 1, 1}));
  EXPECT_FALSE(fits({8, 784}));
  EXPECT_FALSE(fits({8, 28}));
  EXPECT_FALSE(fits({8, 28, 28, 2}));
  EXPECT_FALSE(fits({8, 27, 28}));
  const Dataset last = dataset(base::DType::kU8, {4, 5, 3}, std::vector<uint8_t>(60));
  const TestBatch first(base::DType::kF32, {1, 3, 4, 5});
  EXPECT_THAT(BatchLoader({}, 1, 1).bind(last, first.views()).error().help, HasSubstr("(0, 3, 1, 2)"));
}

}  // namespace
}  // namespace pantoum::data
