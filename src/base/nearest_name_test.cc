#include "base/nearest_name.h"

#include <gtest/gtest.h>

namespace pantoum::base {
namespace {

TEST(NearestName, FindsWhatWasMeant) {
  const std::vector<std::string> names{"norm1.weight", "norm1.bias", "norm2.weight", "w"};
  EXPECT_EQ(nearest_name("norm1.weigth", names), "norm1.weight");
  EXPECT_EQ(nearest_name("norm1.wight", names), "norm1.weight");
  EXPECT_EQ(nearest_name("norm3.weight", names), "norm1.weight");
  EXPECT_EQ(nearest_name("nrm1.bias", names), "norm1.bias");
}

TEST(NearestName, GuessesNothingFromAfar) {
  EXPECT_EQ(nearest_name("embedding", {"norm1.weight", "w"}), "");
  EXPECT_EQ(nearest_name("", {"w"}), "");
  EXPECT_EQ(nearest_name("x", {"w"}), "");
  EXPECT_EQ(nearest_name("w", {}), "");
  EXPECT_EQ(nearest_name(std::string(201, 'a'), {std::string(200, 'a')}), "");
}

}  // namespace
}  // namespace pantoum::base
