#include "weights/match_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "testing/temporary_folder.h"

namespace pantoum::weights {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SafetensorEntry entry(std::string name, std::vector<int64_t> shape) {
  return {std::move(name), base::DType::kF32, std::move(shape), 0, 0};
}

WantedWeight wanted(std::string name, base::Shape shape) {
  return {std::move(name), {base::DType::kF32, std::move(shape)}};
}

// The file's names, in the order of what is wanted.
std::vector<std::string> names(const WeightMatch& match) {
  std::vector<std::string> found;
  for (const MatchedWeight& weight : match.weights)
    found.push_back(weight.entry == nullptr ? "-" : weight.entry->name + (weight.transposed ? "'" : ""));
  return found;
}

TEST(MatchWeights, TakesTheSameNameFirst) {
  const SafetensorFile file{"f", {entry("a", {2}), entry("model.a", {2}), entry("b", {3})}, {}};
  const std::vector<WantedWeight> model{wanted("a", {2}), wanted("b", {3})};
  const auto match = match_weights(file, model);
  ASSERT_TRUE(match) << to_text(match.error());
  EXPECT_THAT(names(*match), ElementsAre("a", "b"));
  EXPECT_THAT(match->notes, ElementsAre("among the weights, but not in the model: model.a"));
}

TEST(MatchWeights, FindsThePrefixOfTheFileOrOfTheModel) {
  const SafetensorFile plain{"f", {entry("a.w", {2}), entry("b.w", {3}), entry("optim.m", {1})}, {}};
  const SafetensorFile wrapped{
      "f", {entry("module.model.a.w", {2}), entry("module.model.b.w", {3}), entry("x.b.w", {3})}, {}};
  const std::vector<WantedWeight> short_names{wanted("a.w", {2}), wanted("b.w", {3})},
      long_names{wanted("net.a.w", {2}), wanted("net.b.w", {3})};
  const auto stripped = match_weights(wrapped, short_names), added = match_weights(plain, long_names);
  ASSERT_TRUE(stripped && added);
  EXPECT_THAT(names(*stripped), ElementsAre("module.model.a.w", "module.model.b.w"));
  EXPECT_THAT(stripped->notes, ElementsAre("the weights' names begin with 'module.model.'",
                                           "among the weights, but not in the model: x.b.w"));
  EXPECT_THAT(names(*added), ElementsAre("a.w", "b.w"));
  EXPECT_THAT(added->notes, ElementsAre("the weights' names lack 'net.'"));
}

TEST(MatchWeights, TurnsMatricesAndTellsWhichItCouldNotJudge) {
  const SafetensorFile file{"f", {entry("a", {2, 3}), entry("b", {4, 4}), entry("c", {2, 3, 1})}, {}};
  const std::vector<WantedWeight> model{wanted("a", {3, 2}), wanted("b", {4, 4}), wanted("c", {2, 3, 1})};
  const auto match = match_weights(file, model);
  ASSERT_TRUE(match);
  EXPECT_THAT(names(*match), ElementsAre("a'", "b", "c"));
  EXPECT_THAT(match->notes, ElementsAre("transposed: a", "square, and therefore taken as they are: b"));
}

TEST(MatchWeights, TellsWhatIsMissingAndRefusesWhatDoesNotFit) {
  const SafetensorFile file{"f", {entry("a", {2}), entry("b", {5}), entry("c", {3, 2, 1})}, {}};
  std::vector<WantedWeight> model{wanted("a", {2}), wanted("lost", {1}), wanted("constant", {1})};
  model.back().told = false;
  const auto match = match_weights(file, model);
  ASSERT_TRUE(match);
  EXPECT_THAT(names(*match), ElementsAre("a", "-", "-"));
  EXPECT_THAT(match->notes, ElementsAre("not among the weights, the model's own are kept: lost",
                                        "among the weights, but not in the model: b, c"));
  const std::vector<WantedWeight> misfits{wanted("a", {2}), wanted("b", {4}), wanted("c", {1, 2, 3})};
  const auto refused = match_weights(file, misfits);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "E0242");
  EXPECT_THAT(refused.error().notes,
              ElementsAre("'b' is f32[5], the model has f32[4]", "'c' is f32[3,2,1], the model has f32[1,2,3]"));
  const auto strange = match_weights(file, std::vector<WantedWeight>{wanted("z", {2})});
  ASSERT_FALSE(strange);
  EXPECT_THAT(to_text(strange.error()), HasSubstr("the model has z"));
  EXPECT_THAT(match_weights(file, {})->weights, IsEmpty());
}

TEST(ReadTransposed, ExchangesRowsAndColumns) {
  const TemporaryFolder folder;
  const std::string path = folder.file("weights");
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  ASSERT_TRUE(write_safetensors(path,
                                {{"w",
                                  base::DType::kF32,
                                  {2, 3},
                                  [&](uint64_t at, std::span<std::byte> piece) -> Result<void> {
                                    std::copy_n(std::as_bytes(std::span(values)).begin() + static_cast<ptrdiff_t>(at),
                                                piece.size(), piece.begin());
                                    return {};
                                  }}},
                                {}));
  const auto file = open_safetensors(path);
  const auto turned = read_transposed(*file, *file->find("w"));
  ASSERT_TRUE(turned);
  const std::vector<float> expected{1, 4, 2, 5, 3, 6};
  EXPECT_TRUE(std::ranges::equal(*turned, std::as_bytes(std::span(expected))));
}

}  // namespace
}  // namespace pantoum::weights
