#include "train/checkpoint.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>

#include "base/files.h"
#include "testing/overwrite.h"
#include "testing/tiny_plan.h"
#include "train/run_loop.h"

namespace pantoum::train {
namespace {

using ::testing::HasSubstr;
using Metadata = std::map<std::string, std::string>;

class ResumePoints : public TrainFolder {
 protected:
  void SetUp() override {
    TrainFolder::SetUp();
    point_ = path("point");
    ASSERT_TRUE(run_training(*trainer(), data_, options(2)));  // 14 steps
    newest_ = base::read_file(point_).value();
    metadata_ = weights::open_safetensors(point_)->metadata;
  }

  RunOptions options(uint64_t epochs) const {
    return {.epochs = epochs, .checkpoint_every = 2, .checkpoint = path("point")};
  }
  // Opening fails with this code, or finds the checkpoint of this step.
  [[nodiscard]] static std::string found(const std::string& path) {
    const auto point = find_resume_point(path);
    return point ? std::to_string(point->progress.step) : point.error().code;
  }
  void stands(const std::string& bytes) const { overwrite(point_, bytes); }
  // The newest checkpoint with other metadata, its sums right.
  void edit(const Metadata& metadata) const {
    ASSERT_TRUE(base::write_file_atomically(path("whole"), newest_));
    const auto file = weights::open_safetensors(path("whole"));
    ASSERT_TRUE(file);
    std::vector<weights::SafetensorSource> sources;
    for (const weights::SafetensorEntry& entry : file->tensors)
      sources.push_back({entry.name, entry.dtype, entry.shape, [&](uint64_t at, std::span<std::byte> piece) {
                           return weights::read_tensor(*file, entry, at, piece);
                         }});
    ASSERT_TRUE(weights::write_safetensors(path("edited"), sources, metadata));
  }

  data::TrainTest data_{tiny_data(30, 1), tiny_data(10, 2)};
  std::string point_, newest_;
  Metadata metadata_;
};

TEST_F(ResumePoints, TwoOfARunAreKept) {
  EXPECT_EQ(found(point_), "14");
  EXPECT_EQ(found(previous_checkpoint(point_)), "12");
  EXPECT_FALSE(find_resume_point(point_)->damaged);
}

TEST_F(ResumePoints, AnotherRunsAreNotMixedWithIts) {
  ASSERT_TRUE(run_training(*trainer(), data_, {.epochs = 1, .checkpoint_every = 5, .checkpoint = point_}));
  EXPECT_EQ(found(point_), "5");
  EXPECT_EQ(found(previous_checkpoint(point_)), "E0201") << "it was of the run before";
}

TEST_F(ResumePoints, OfAResumedRunStay) {
  const auto resumed = trainer();
  ASSERT_TRUE(resumed->resume(point_));
  RunOptions own = options(3);
  own.checkpoint_every = 20;
  own.old_checkpoint = OldCheckpoint::kOwn;
  ASSERT_TRUE(run_training(*resumed, data_, own));
  EXPECT_EQ(found(point_), "20");
  EXPECT_EQ(found(previous_checkpoint(point_)), "14");
}

TEST_F(ResumePoints, ADamagedOneDoesNotTakeThePlaceOfTheOneBefore) {
  stands(std::string(newest_.size(), '\0'));
  const auto point = find_resume_point(point_);
  ASSERT_TRUE(point);
  EXPECT_EQ(point->path, previous_checkpoint(point_));
  ASSERT_TRUE(point->damaged);
  EXPECT_EQ(point->damaged->code, "E0240");
  const auto resumed = trainer();
  ASSERT_TRUE(resumed->resume(point->path));
  RunOptions damaged = options(2);
  damaged.old_checkpoint = OldCheckpoint::kDamaged;
  ASSERT_TRUE(run_training(*resumed, data_, damaged));
  EXPECT_EQ(found(previous_checkpoint(point_)), "12");
  EXPECT_EQ(base::read_file(point_).value(), newest_) << "as if nothing had been damaged";
}

TEST_F(ResumePoints, EveryFlippedBitIsNoticed) {
  for (size_t bit = 0; bit < newest_.size() * 8; bit += 5) {
    std::string broken = newest_;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << bit % 8));
    stands(broken);
    EXPECT_EQ(found(point_), "12") << bit;
  }
}

TEST_F(ResumePoints, EveryTruncationIsNoticed) {
  for (size_t size = 0; size < newest_.size(); size += 64) {
    stands(newest_.substr(0, size));
    EXPECT_EQ(found(point_), "12") << size;
  }
  std::filesystem::remove(point_);
  EXPECT_EQ(found(point_), "12");
}

TEST_F(ResumePoints, WhereBothAreDamagedBothAreTold) {
  stands(newest_.substr(0, 100));
  std::ofstream(previous_checkpoint(point_)) << "x";
  const auto point = find_resume_point(point_);
  ASSERT_FALSE(point);
  EXPECT_EQ(point.error().code, "E0240");
  EXPECT_THAT(point.error().notes.back(), HasSubstr(".previous"));
}

TEST_F(ResumePoints, ThatNoRunWritesAreRefusedThoughTheirSumsAreRight) {
  edit(metadata_);
  EXPECT_EQ(found(path("edited")), "14");
  const std::vector<std::pair<std::string, std::string>> edits{{"step", "18446744073709551615"},
                                                               {"step", "-1"},
                                                               {"step", "15"},
                                                               {"step", "1e3"},
                                                               {"lr", "-0.1"},
                                                               {"lr", "nan"},
                                                               {"lr", "inf"},
                                                               {"lr", ""},
                                                               {"epoch", "1"},
                                                               {"epoch", "x"},
                                                               {"position", "3"},
                                                               {"position", "-1"},
                                                               {"seed", "-1"},
                                                               {"seed", "1e99"},
                                                               {"samples", "-30"},
                                                               {"samples", "60"},
                                                               {"batch", "0"},
                                                               {"batch", "-4"},
                                                               {"micro_batches", "0"},
                                                               {"shuffle", "maybe"},
                                                               {"schedule", "dance"},
                                                               {"schedule", "step,every=-1"},
                                                               {"threads", "-2"},
                                                               {"best", "nan"},
                                                               {"best_step", "15"},
                                                               {"judged_step", "15"},
                                                               {"stale", "-1"},
                                                               {"groups", "0.1"},
                                                               {"groups", "0.1,x"},
                                                               {"groups", "-,-1"},
                                                               {"groups", "0.1,0 nan,-"}};
  for (const auto& [key, value] : edits) {
    Metadata other = metadata_;
    other[key] = value;
    edit(other);
    EXPECT_EQ(found(path("edited")), "E0243") << key << " = " << value;
  }
  for (const char* key : {"step", "seed", "lr", "schedule", "best", "best_step", "judged_step", "stale", "plan_hash",
                          "batch", "micro_batches", "shuffle", "samples", "threads", "epoch", "position"}) {
    Metadata other = metadata_;
    other.erase(key);
    edit(other);
    EXPECT_EQ(found(path("edited")), "E0243") << key;
  }
}

TEST_F(ResumePoints, WithoutSumsAreWeightsAlone) {
  uint64_t length = 0;
  std::memcpy(&length, newest_.data(), sizeof length);
  std::string header = newest_.substr(8, length);
  header = std::regex_replace(header, std::regex("\"pantoum\\.xxh3[^\"]*\":\"[0-9a-f]*\","), "");
  header.resize(length, ' ');
  std::string bytes = newest_;
  std::copy(header.begin(), header.end(), bytes.begin() + 8);
  stands(bytes);
  const auto point = find_resume_point(point_);
  ASSERT_FALSE(point) << "the one before is no substitute";
  EXPECT_EQ(point.error().code, "E0243");
  EXPECT_THAT(point.error().help, HasSubstr("--weights"));
  EXPECT_EQ(trainer()->resume(point_).error().code, "E0243");
  const auto opened = weights::open_safetensors(point_);
  ASSERT_TRUE(opened) << to_text(opened.error());
  EXPECT_FALSE(opened->has_sums());
}

TEST_F(ResumePoints, AreOfOneDataSetAndOneSetOfKernels) {
  const auto made = [&](const std::string& data, int64_t samples, const std::string& kernels, bool others = false) {
    return std::move(*Trainer::create(TinyPlan({}).encoded(), path("weights"),
                                      {.threads = 1,
                                       .plan_hash = "tiny",
                                       .kernel_name = kernels,
                                       .other_kernels = others,
                                       .data = data,
                                       .samples = samples}));
  };
  ASSERT_TRUE(made("d", 30, "portable")->save(path("own")));
  const std::string own = path("own");
  EXPECT_TRUE(made("d", 30, "portable")->resume(own));
  EXPECT_TRUE(made("", 0, "")->resume(own)) << "a program that does not say";
  EXPECT_EQ(made("e", 30, "portable")->resume(own).error().code, "E0243");
  EXPECT_EQ(made("d", 31, "portable")->resume(own).error().code, "E0243");
  EXPECT_EQ(made("d", 30, "fast")->resume(own).error().code, "E0243");
  const auto other = made("d", 30, "fast", true);
  ASSERT_TRUE(other->resume(own));
  ASSERT_TRUE(other->save(path("other")));
  EXPECT_EQ(find_resume_point(path("other"))->progress.kernels, "fast");
  EXPECT_EQ(made("d", 30, "fast")->resume(point_).error().code, "E0243") << "it does not say its data";
}

}  // namespace
}  // namespace pantoum::train
