#include "emit/model_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "testing/binary_plans.h"
#include "testing/temporary_folder.h"

namespace pantoum::emit {
namespace {

using runtime_test::kAlign;
using runtime_test::kLength;
using ::testing::Each;
using ::testing::SizeIs;

// A weight in RAM, state in storage, a constant in ROM, the batch, and what has no contents of its own.
std::vector<std::byte> plan_bytes() {
  using runtime_test::tensor;
  artifact::BinaryPlan plan{.arena_bytes = 4 * kAlign, .storage_bytes = 2 * kAlign, .align_bytes = kAlign};
  plan.tensors = {tensor("x", problem::Home::kRam, 0),
                  tensor("w", problem::Home::kRam, kAlign),
                  tensor("w'"),
                  tensor("optim.w.m", problem::Home::kAux, -1, 0),
                  tensor("optim.w.m'", problem::Home::kNone, -1, kAlign),
                  tensor("c", problem::Home::kRom),
                  tensor("loss", problem::Home::kRam, 2 * kAlign)};
  plan.tensors[1].next = 2, plan.tensors[3].next = 4, plan.tensors[5].rom_at = kAlign;
  plan.programs = {{"train", {}}};
  return runtime_test::encoded(plan);
}

class InitialValuesTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(pt_plan_open(&plan_, bytes_.data(), bytes_.size()), PT_OK); }

  Result<InitialValues> contents(const std::vector<std::string>& names, int64_t length = kLength) {
    std::vector<weights::SafetensorSource> sources;
    for (const std::string& name : names) {
      const auto read = [name](uint64_t, std::span<std::byte> piece) -> Result<void> {
        std::memset(piece.data(), name[0], piece.size());
        return {};
      };
      sources.push_back({.name = name, .dtype = ir::DType::kF32, .shape = {length}, .read = read});
    }
    PANTOUM_TRY(weights::write_safetensors(path_, sources, {}));
    PANTOUM_ASSIGN(const weights::SafetensorFile weights, weights::open_safetensors(path_));
    return initial_values(plan_, weights, {"x"});
  }

  std::vector<std::byte> bytes_ = plan_bytes();
  TemporaryFolder folder_;
  std::string path_ = folder_.file("weights.safetensors");
  pt_plan plan_{};
};

TEST_F(InitialValuesTest, AreWeightsByNameAndZerosForState) {
  const auto made = contents({"w", "c", "x", "w'", "stranger"});
  ASSERT_TRUE(made.has_value()) << made.error().message;
  ASSERT_THAT(made->tensors, SizeIs(2));  // neither the batch's, nor the successor's, nor what the plan has not
  EXPECT_EQ(made->tensors[0].name, "w");
  EXPECT_EQ(made->tensors[0].tensor, 1U);
  EXPECT_THAT(made->tensors[0].data.value(), SizeIs(4 * kLength));
  EXPECT_THAT(made->tensors[0].data.value(), Each(std::byte{'w'}));
  EXPECT_EQ(made->tensors[1].name, "optim.w.m");
  EXPECT_EQ(made->tensors[1].bytes, 4 * kLength);
  EXPECT_FALSE(made->tensors[1].data.has_value());
}

TEST_F(InitialValuesTest, AreInRomWhereThePlanPlacesThem) {
  const auto made = contents({"w", "c"});
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_THAT(made->tensors, SizeIs(2));
  ASSERT_THAT(made->rom, SizeIs(kAlign + 4 * kLength));
  EXPECT_THAT(std::vector(made->rom.begin(), made->rom.begin() + kAlign), Each(std::byte{0}));
  EXPECT_THAT(std::vector(made->rom.begin() + kAlign, made->rom.end()), Each(std::byte{'c'}));
  EXPECT_EQ(made->weight_bytes, 8U * kLength);
}

TEST_F(InitialValuesTest, InRomThatTheWeightsLackAreRefused) {
  const auto made = contents({"w"});
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, "E0291");
  EXPECT_EQ(made.error().where, "c");
}

TEST_F(InitialValuesTest, OfAnotherSizeAreRefused) {
  const auto made = contents({"w"}, kLength - 1);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, "E0291");
  EXPECT_EQ(made.error().where, "w");
}

}  // namespace
}  // namespace pantoum::emit
