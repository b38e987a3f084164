// Whether threads share a processor: pools that compute as one, or a part in place of the others.
#include "cost/thread_counts.h"

#include <gtest/gtest.h>

namespace pantoum::cost {
namespace {

using Body = void (*)(void*, size_t, size_t);

// Two threads on one processor.
void one_after_the_other(void* /*context*/, size_t count, Body body, void* arg) {
  body(arg, 0, count / 2);
  body(arg, count / 2, count);
}

// As long as it takes where each has its own.
void half(void* /*context*/, size_t count, Body body, void* arg) {
  body(arg, 0, count / 2);
}

TEST(PresentProcessors, MissOneThatThreadsShare) {
  const pt_pool shared{.context = nullptr, .threads = 2, .run = one_after_the_other};
  int missed = 0;
  for (int run = 0; run < 9; ++run) missed += are_processors_present(shared) ? 0 : 1;
  EXPECT_GE(missed, 7);  // what else the machine does may make a thread alone as slow
}

TEST(PresentProcessors, FindThemWhereAllAreThere) {
  const pt_pool whole{.context = nullptr, .threads = 2, .run = half};
  int found = 0;
  for (int run = 0; run < 9; ++run) found += are_processors_present(whole) ? 1 : 0;
  EXPECT_GE(found, 7);
  const pt_pool one{.context = nullptr, .threads = 1, .run = nullptr};
  EXPECT_EQ(slowdown_on_all_threads(one), 1);
}

}  // namespace
}  // namespace pantoum::cost
