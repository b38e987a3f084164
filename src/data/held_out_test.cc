#include "data/held_out.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "data/memory_samples.h"

namespace pantoum::data {
namespace {

// Samples whose contents are their numbers.
struct Numbered {
  std::vector<int64_t> inputs, labels;
  explicit Numbered(int64_t count) : inputs(static_cast<size_t>(count)), labels(inputs) {
    std::iota(inputs.begin(), inputs.end(), 0);
    std::iota(labels.begin(), labels.end(), 0);
  }
  [[nodiscard]] Dataset set() const {
    Dataset data{.format = "memory", .classes = {"a", "b"}};
    const auto count = static_cast<int64_t>(inputs.size());
    data.inputs.push_back(memory_samples(base::DType::kI64, {1}, count, std::as_bytes(std::span(inputs))));
    data.labels = memory_samples(base::DType::kI64, {}, count, std::as_bytes(std::span(labels)));
    return data;
  }
};

std::vector<int64_t> contents(const SampleFile& samples) {
  std::vector<int64_t> all(static_cast<size_t>(samples.count()));
  for (int64_t at = 0; at < samples.count(); ++at)
    EXPECT_TRUE(samples.read(at, std::as_writable_bytes(std::span(&all[static_cast<size_t>(at)], 1))));
  return all;
}

TEST(HeldOut, BothPartsTogetherAreTheWholeSet) {
  for (const int64_t count : {2, 3, 10, 37, 1000})
    for (const double share : {1e-9, 0.1, 0.25, 1.0 / 3, 0.5, 0.9, 1 - 1e-9}) {
      const Numbered numbered(count);
      const Result<TrainTest> parts = hold_out(numbered.set(), share, "");
      ASSERT_TRUE(parts);
      const std::vector<int64_t> train = contents(*parts->train.inputs.front()), test = contents(*parts->test.inputs.front());
      EXPECT_TRUE(std::is_sorted(train.begin(), train.end()) && std::is_sorted(test.begin(), test.end()));
      std::set<int64_t> all(train.begin(), train.end());
      all.insert(test.begin(), test.end());
      EXPECT_EQ(static_cast<int64_t>(all.size()), count) << count << " " << share;
      EXPECT_EQ(static_cast<int64_t>(train.size() + test.size()), count);
      EXPECT_FALSE(train.empty() || test.empty());
      EXPECT_NEAR(static_cast<double>(test.size()), share * static_cast<double>(count), 1);
      EXPECT_EQ(contents(*parts->train.labels), train);
      EXPECT_EQ(contents(*parts->test.labels), test);
      EXPECT_EQ(parts->test.classes.size(), 2U);
    }
}

// Data that lie in the order of their classes leave as many of each, give or take one.
TEST(HeldOut, IsSpreadEvenly) {
  const Numbered numbered(1000);
  const Result<TrainTest> parts = hold_out(numbered.set(), 0.1, "");
  std::vector<int> of_class(10);
  for (const int64_t sample : contents(*parts->test.inputs.front())) ++of_class[static_cast<size_t>(sample / 100)];
  for (const int count : of_class) EXPECT_EQ(count, 10);
}

TEST(HeldOut, RefusesWhatIsNoShareAndTooFewSamples) {
  const Numbered numbered(10), one(1);
  for (const double share : {0.0, 1.0, -0.5, 10.0, std::nan("")})
    EXPECT_EQ(hold_out(numbered.set(), share, "").error().code, "E0117") << share;
  EXPECT_EQ(hold_out(one.set(), 0.5, "").error().code, "E0262");
  const Result<TrainTest> parts = hold_out(numbered.set(), 0.2, "");
  int64_t value = 0;
  const auto out = std::as_writable_bytes(std::span(&value, 1));
  for (const int64_t index : {int64_t{-1}, int64_t{8}, INT64_MAX})
    EXPECT_EQ(parts->train.inputs.front()->read(index, out).error().code, "E0260");
}

}  // namespace
}  // namespace pantoum::data
