#include "data/label_range.h"

#include <gtest/gtest.h>

#include <cstring>

namespace pantoum::data {
namespace {

// Labels in RAM, of one type.
template <class Whole>
class Labels final : public SampleFile {
 public:
  Labels(std::vector<Whole> labels, base::DType dtype, base::Shape shape = {})
      : labels_(std::move(labels)), dtype_(dtype), shape_(std::move(shape)) {
    for (const int64_t dim : shape_) each_ *= static_cast<size_t>(dim);
  }
  int64_t count() const override { return static_cast<int64_t>(labels_.size() / each_); }
  const base::Shape& sample_shape() const override { return shape_; }
  base::DType dtype() const override { return dtype_; }
  Result<void> read(int64_t index, std::span<std::byte> out) const override {
    std::memcpy(out.data(), &labels_[static_cast<size_t>(index) * each_], out.size());
    return {};
  }
  std::string source(int64_t /*index*/) const override { return "labels.npy"; }

 private:
  std::vector<Whole> labels_;
  base::DType dtype_;
  base::Shape shape_;
  size_t each_ = 1;
};

template <class Whole>
Result<void> checked(std::vector<Whole> labels, base::DType dtype, LabelRange range, base::Shape shape = {},
                     uint64_t most = std::numeric_limits<uint64_t>::max()) {
  Dataset data;
  data.labels = std::make_unique<Labels<Whole>>(std::move(labels), dtype, std::move(shape));
  const LabelRange ranges[] = {range};
  return check_labels(data, ranges, most);
}

TEST(LabelRange, TellsValueSampleAndFile) {
  const auto found = checked<int64_t>({0, 9, 3, 12, 4, 15}, base::DType::kI64, {.classes = 10});
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, "E0262");
  EXPECT_EQ(found.error().message, "the label 12 of sample 3 is out of range: the model has the classes 0 to 9");
  EXPECT_EQ(found.error().where, "labels.npy");
  EXPECT_EQ(found.error().notes.front(), "2 of 6 labels are out of range; they lie between 0 and 15");
  EXPECT_EQ(found.error().help, "labels count from 0; give the model 16 outputs, or mend the labels");
}

TEST(LabelRange, KnowsLabelsThatCountFromOne) {
  const auto found = checked<uint8_t>({1, 2, 3}, base::DType::kU8, {.classes = 3});
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().help, "these labels count from 1: subtract 1 from each");
}

TEST(LabelRange, PassesOverWhatIsIgnored) {
  EXPECT_TRUE(checked<int32_t>({0, 255, 2}, base::DType::kI32, {.classes = 3, .ignore = 255}).has_value());
  EXPECT_TRUE(checked<int64_t>({0, -1, -100}, base::DType::kI64, {.classes = 3}).has_value());
  EXPECT_TRUE(checked<int64_t>({0, 77}, base::DType::kI64, {.classes = 0}).has_value());
  EXPECT_TRUE(checked<float>({0, 77}, base::DType::kF32, {.classes = 3}).has_value());  // the loader refuses them
}

TEST(LabelRange, CountsSamplesAndNotTheirElements) {
  const auto found = checked<int64_t>({0, 1, 2, 0, 5, 1}, base::DType::kI64, {.classes = 3}, {2});
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().message, "the label 5 of sample 2 is out of range: the model has the classes 0 to 2");
}

TEST(LabelRange, EndsWhereItWasToldTo) {
  EXPECT_TRUE(checked<uint8_t>({0, 0, 0, 9}, base::DType::kU8, {.classes = 3}, {}, 3 * 33).has_value());
  EXPECT_FALSE(checked<uint8_t>({0, 0, 0, 9}, base::DType::kU8, {.classes = 3}, {}, 4 * 33).has_value());
}

}  // namespace
}  // namespace pantoum::data
