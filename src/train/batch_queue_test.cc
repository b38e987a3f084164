#include "train/batch_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>

namespace pantoum::train {
namespace {

using namespace std::chrono_literals;

const base::Shape kShape{2, 3};

// A batch of two tensors, of 24 and 16 bytes.
struct Tensors {
  std::vector<std::byte> first = std::vector<std::byte>(24), second = std::vector<std::byte>(16);
  std::vector<data::BatchView> views() {
    return {{"x", base::DType::kF32, kShape, first}, {"label", base::DType::kI64, std::span(kShape).first(1), second}};
  }
};

std::unique_ptr<BatchQueue> queue(int64_t depth) {
  Tensors tensors;
  auto made = BatchQueue::create(tensors.views(), depth);
  EXPECT_TRUE(made && (*made)->map());
  return std::move(*made);
}

// Every byte tells the step.
Result<void> mark(uint64_t step, std::span<const data::BatchView> batch) {
  for (const data::BatchView& tensor : batch)
    std::memset(tensor.data.data(), static_cast<int>(step), tensor.data.size());
  return {};
}

TEST(BatchQueue, GivesEveryBatchInTheOrderOfSteps) {
  for (const int64_t depth : {1, 2, 5}) {
    const auto batches = queue(depth);
    const data::BatchProducer produce = mark;
    batches->begin(produce, 7, 200);
    Tensors tensors;
    for (uint64_t step = 7; step <= 200; ++step) {
      ASSERT_TRUE(batches->take(tensors.views()));
      EXPECT_EQ(tensors.first, std::vector<std::byte>(24, static_cast<std::byte>(step)));
      EXPECT_EQ(tensors.second, std::vector<std::byte>(16, static_cast<std::byte>(step)));
    }
    EXPECT_EQ(batches->take(tensors.views()).error().code, "E0001");  // nothing behind the last
  }
}

TEST(BatchQueue, TellsOfMemoryThatItsProducerDidNotGet) {
  const auto batches = queue(2);
  const data::BatchProducer produce = [](uint64_t, std::span<const data::BatchView>) -> Result<void> {
    throw std::bad_alloc();
  };
  batches->begin(produce, 1, 3);
  Tensors tensors;
  EXPECT_EQ(batches->take(tensors.views()).error().code, "E0910");
}

TEST(BatchQueue, IsFilledAheadButNoFurtherThanItsDepth) {
  const auto batches = queue(3);
  std::atomic<uint64_t> made{0};
  const data::BatchProducer produce = [&](uint64_t step, std::span<const data::BatchView> batch) {
    made = step;
    return mark(step, batch);
  };
  batches->begin(produce, 1, 100);
  const auto reaches = [&](uint64_t step) {
    for (int nap = 0; nap < 2000 && made < step; ++nap) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(20ms);
    return made == step;
  };
  EXPECT_TRUE(reaches(3));
  Tensors tensors;
  ASSERT_TRUE(batches->take(tensors.views()));
  EXPECT_TRUE(reaches(4));
}

TEST(BatchQueue, TheProducersErrorComesAtItsStep) {
  const auto batches = queue(4);
  const data::BatchProducer produce = [](uint64_t step, std::span<const data::BatchView> batch) -> Result<void> {
    if (step == 3) return fail("E0260", "the third");
    return mark(step, batch);
  };
  batches->begin(produce, 1, 10);
  Tensors tensors;
  EXPECT_TRUE(batches->take(tensors.views()));
  EXPECT_TRUE(batches->take(tensors.views()));
  EXPECT_EQ(batches->take(tensors.views()).error().message, "the third");
  EXPECT_EQ(batches->take(tensors.views()).error().message, "the third");
  const data::BatchProducer well = mark;
  batches->begin(well, 3, 10);
  EXPECT_TRUE(batches->take(tensors.views()));
  batches->end();
}

TEST(BatchQueue, CallsNoProducerAfterItsEnd) {
  const auto batches = queue(2);
  for (int round = 0; round < 50; ++round) {
    auto alive = std::make_unique<std::atomic<bool>>(true);
    const data::BatchProducer produce = [&alive](uint64_t step, std::span<const data::BatchView> batch) {
      EXPECT_TRUE(*alive);
      return mark(step, batch);
    };
    batches->begin(produce, 1, 1000);
    Tensors tensors;
    for (int step = 0; step < round % 5; ++step) ASSERT_TRUE(batches->take(tensors.views()));
    batches->end();
    *alive = false;
  }
}

TEST(BatchQueue, TellsItsBytes) {
  const std::vector<uint64_t> tensors{24, 16};
  EXPECT_EQ(queue_bytes(tensors, 0), 0U);
  EXPECT_EQ(queue_bytes(tensors, 3), 4096U);
  EXPECT_EQ(queue_bytes(tensors, 33), 8192U);
  EXPECT_EQ(queue(33)->bytes(), 8192U);
}

}  // namespace
}  // namespace pantoum::train
