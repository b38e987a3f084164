// Builders share nothing: as many threads as there are builders.
#include <gtest/gtest.h>

#include <thread>

#include "pantoum/layers.hpp"

namespace pantoum {
namespace {

std::string model(uint64_t seed) {
  ModelBuilder net("m", {.seed = seed});
  Tensor x = net.input("x", {3, 8, 8});
  for (int layer = 0; layer < 3; ++layer)
    x = x + net.apply(Sequential{Conv2d{.channels = 3, .kernel = 3, .padding = 1}, BatchNorm{}, Relu{}}, x);
  net.output("y", net.lstm(net.reshape(x, {0, 8, -1}), {.hidden = 4}).final_state);
  net.output("wrong", net.linear(x, -1));
  net.output("z", net.linear(net.flatten(x), 2));
  EXPECT_EQ(net.problems().size(), 1u);
  ModelBuilder right("m", {.seed = seed});
  right.output("y", right.linear(right.input("x", {4}), 3));
  return *right.onnx();
}

TEST(BuildersInThreads, GiveWhatTheyGiveAlone) {
  constexpr size_t kThreads = 4;
  std::vector<std::string> made(kThreads);
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&made, thread] {
      for (int again = 0; again < 2; ++again) made[thread] = model(thread);
    });
  for (std::thread& thread : threads) thread.join();
  for (size_t thread = 0; thread < kThreads; ++thread) EXPECT_EQ(made[thread], model(thread));
}

}  // namespace
}  // namespace pantoum
