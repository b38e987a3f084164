#include "data/dataset.h"

#include <gtest/gtest.h>

#include "testing/array_samples.h"

namespace pantoum::data {
namespace {

Dataset set_of(std::vector<uint8_t> images, std::vector<uint8_t> labels, const base::Shape& shape = {2}) {
  Dataset data;
  data.inputs.push_back(samples(base::DType::kU8, shape, std::move(images)));
  data.labels = samples(base::DType::kU8, {}, std::move(labels));
  return data;
}

std::string fingerprint(const Dataset& data, int64_t most_bytes = 1 << 20) {
  const auto found = fingerprint_of(data, most_bytes);
  return found ? *found : found.error().code;
}

TEST(Fingerprint, TellsEveryByteOfASmallSetApart) {
  const std::vector<uint8_t> images{1, 2, 3, 4, 5, 6}, labels{0, 1, 2};
  const std::string whole = fingerprint(set_of(images, labels));
  EXPECT_EQ(whole.size(), 16U);
  EXPECT_EQ(whole, fingerprint(set_of(images, labels)));
  for (size_t at = 0; at < images.size(); ++at) {
    auto other = images;
    ++other[at];
    EXPECT_NE(fingerprint(set_of(other, labels)), whole) << at;
  }
  EXPECT_NE(fingerprint(set_of(images, {0, 1, 1})), whole);
  EXPECT_NE(fingerprint(set_of({1, 2, 3, 4}, {0, 1})), whole);
  EXPECT_NE(fingerprint(set_of(images, labels, {2, 1})), whole);
  EXPECT_NE(fingerprint(set_of({3, 4, 1, 2, 5, 6}, labels)), whole) << "the order of the samples";
}

TEST(Fingerprint, ReadsNoMoreOfALargeSetThanItMay) {
  std::vector<uint8_t> images(2000, 7), labels(1000, 1);
  const std::string whole = fingerprint(set_of(images, labels), 300);
  images[0] = 8;
  EXPECT_NE(fingerprint(set_of(images, labels), 300), whole) << "the first sample";
  images[0] = 7, images.back() = 8;
  EXPECT_NE(fingerprint(set_of(images, labels), 300), whole) << "the last sample";
  images.back() = 7, images[3] = 8;
  EXPECT_EQ(fingerprint(set_of(images, labels), 300), whole) << "a sample between";
}

TEST(Fingerprint, OfNoSamplesIsOne) {
  EXPECT_EQ(fingerprint({}).size(), 16U);
}

}  // namespace
}  // namespace pantoum::data
