// The contract of the arena: step() and evaluate() allocate nothing, and RAM grows by the arena alone.
#include <atomic>
#include <cstdlib>

#include "testing/tiny_plan.h"
#include "train/run_loop.h"

namespace {
[[maybe_unused]] std::atomic<long> g_allocations{0};  // by any thread, through malloc and its kin or operator new
}

#ifndef PANTOUM_SANITIZER
#define PANTOUM_COUNTS_ALLOCATIONS 1
// glibc's own entry points under other names, so that these may stand in front of them.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t align, size_t size);

void* malloc(size_t size) noexcept {
  ++g_allocations;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) noexcept {
  ++g_allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) noexcept {
  ++g_allocations;
  return __libc_realloc(memory, size);
}
void* aligned_alloc(size_t align, size_t size) noexcept {
  ++g_allocations;
  return __libc_memalign(align, size);
}
int posix_memalign(void** memory, size_t align, size_t size) noexcept {
  ++g_allocations;
  *memory = __libc_memalign(align, size);
  return *memory == nullptr;
}
}
#endif

namespace pantoum::train {
namespace {

class Contract : public TrainFolder {};

#ifndef PANTOUM_COUNTS_ALLOCATIONS
TEST_F(Contract, StepAndEvaluateAllocateNothing) {
  GTEST_SKIP() << "a sanitizer owns malloc: allocations are not counted";
}
#else
TEST_F(Contract, StepAndEvaluateAllocateNothing) {
  const auto data = tiny_data(30);
  const std::vector<uint32_t> indices{0, 1, 2, 3};
  for (const bool in_storage : {false, true}) {
    const auto trained = trainer({.in_storage = in_storage});
    ASSERT_NE(trained, nullptr);
    const long before = g_allocations;
    bool good = true;
    for (int step = 0; step < 10; ++step) good = trained->step(data, indices).has_value() && good;
    good = trained->evaluate(data).has_value() && good;
    const long after = g_allocations;
    EXPECT_TRUE(good);
    EXPECT_EQ(after, before) << in_storage;
  }
  for (const int64_t prefetch : {0, 2}) {  // a feed's steps, its thread's work included
    const auto trained = trainer({}, 7, {}, prefetch);
    std::vector<uint32_t> order(30);
    trained->feed(*trained->epochs_of(data, order), 20, 30);
    bool good = true;
    const long before = g_allocations;
    for (int step = 0; step < 20; ++step) good = trained->step().has_value() && good;
    const long after = g_allocations;
    EXPECT_TRUE(good);
    EXPECT_EQ(after, before) << prefetch;
  }
  const long before = g_allocations;
  void* volatile memory = std::malloc(3);
  std::free(memory);
  EXPECT_GT(g_allocations, before);  // the counter counts
}

TEST_F(Contract, TheQueueTakesItsBytesAndNoMore) {
  const data::TrainTest data{tiny_data(300), {}};
  std::vector<uint32_t> indices(300, 1);
  const auto trained = trainer({.batch = 64}, 7, {}, 32);
  ASSERT_TRUE(run_training(*trained, data, {.epochs = 3, .indices = indices}));
  const Usage usage = trained->usage();
  EXPECT_EQ(usage.queue_bytes, 32U * 64 * (6 * sizeof(float) + sizeof(int64_t)));
  EXPECT_LE(usage.high_water, usage.rss_before_arena + usage.arena_bytes + usage.queue_bytes + (1 << 20));
}

TEST_F(Contract, RamGrowsByTheArenaAndLessThanOneMebibyte) {
  const data::TrainTest data{tiny_data(300), tiny_data(50)};
  std::vector<uint32_t> indices(300, 1);
  for (const bool in_storage : {false, true}) {
    const auto trained = trainer({.in_storage = in_storage, .ballast = 8 << 20});
    ASSERT_NE(trained, nullptr);
    ASSERT_TRUE(run_training(*trained, data,
                             {.epochs = 3, .checkpoint_every = 20, .checkpoint = path("point"), .indices = indices}));
    const Usage usage = trained->usage();
    EXPECT_GT(usage.arena_bytes, 8U << 20);
    EXPECT_LE(usage.high_water, usage.rss_before_arena + usage.arena_bytes + (1 << 20));
    // The ballast is never touched, so that the growth beside the arena shows.
    EXPECT_LE(usage.high_water, usage.rss_before_arena + (1 << 20));
  }
}
#endif

}  // namespace
}  // namespace pantoum::train
