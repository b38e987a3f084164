// What a device does wrong ends in an error that says so, and releases all that was made: on a library that answers as OpenCL does.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "kernels/opencl/engine.h"

namespace pantoum::opencl {
namespace {

using testing::HasSubstr;

void tell(const std::string& words) {
  ::setenv("FAKE_OPENCL", words.c_str(), 1);
}
int asked(const char* function) {
  void* const handle = ::dlopen(FAKE_OPENCL, RTLD_NOW | RTLD_NOLOAD);
  const auto answer = handle != nullptr ? reinterpret_cast<int (*)()>(::dlsym(handle, function)) : nullptr;
  const int value = answer != nullptr ? answer() : -1;
  if (handle != nullptr) ::dlclose(handle);
  return value;
}

class Failures : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    tell("");
    library_ = *load_library(FAKE_OPENCL);
    live_ = asked("fake_opencl_live");
  }
  void TearDown() override {
    tell("");
    EXPECT_EQ(asked("fake_opencl_faults"), 0);
  }
  // Opens an engine on the fake device, which is as `words` say.
  Result<std::unique_ptr<Engine>> open(const std::string& words, EngineOptions options = {}) {
    tell(words);
    if (options.arena_bytes == 0) options.arena_bytes = 64 << 10;
    const auto devices = list_devices(*library_);
    if (!devices) return Failure(devices.error());
    return Engine::open(library_, devices->front(), options);
  }
  std::string refusal(const std::string& words, EngineOptions options = {}) {
    const auto engine = open(words, options);
    return engine ? "" : engine.error().message;
  }
  void expect_no_leak() const { EXPECT_EQ(asked("fake_opencl_live"), live_); }

  std::shared_ptr<const Library> library_;
  int live_ = 0;
};

// Relu of floats at a place of the arena, or outside it.
struct Relu {
  pt_tensor x{}, y{};
  pt_call call{};

  Relu(const Engine& engine, void* from, void* to, uint32_t count) {
    x.rank = 1, x.dims[0] = count, x.data = from;
    y = x, y.data = to;
    call.inputs = &x, call.outputs = &y, call.input_count = call.output_count = 1, call.pool = engine.pool();
  }
  pt_status run(const Engine& engine) const {
    const pt_kernel* const kernel = pt_kernel_find(engine.table(), PT_OP_relu, PT_F32, kAlgorithm, 1);
    if (kernel == nullptr) return PT_E_KERNEL;
    if (kernel->workspace_bytes(&call) == PT_NO_KERNEL) return PT_E_KERNEL;
    const pt_status status = kernel->submit(&call);
    return status == PT_OK ? kernel->wait(&call) : status;
  }
};

constexpr uint32_t kCount = 1000;
pt_status run_in_arena(const Engine& engine) {
  auto* const arena = static_cast<float*>(engine.arena());
  return Relu(engine, arena, arena + 2048, kCount).run(engine);
}
void fill(const Engine& engine) {
  auto* const arena = static_cast<float*>(engine.arena());
  for (uint32_t at = 0; at < engine.arena_bytes() / sizeof(float); ++at) arena[at] = at % 2 == 0 ? 1.0F : -1.0F;
}

TEST_F(Failures, ALibraryThatIsNotThereIsAnError) {
  const auto none = load_library("/nowhere/libOpenCL.so");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "E0412");
  const auto other = load_library("libm.so.6");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("not one of OpenCL"));
}

TEST_F(Failures, NoPlatformAndNoDeviceAreErrors) {
  EXPECT_THAT(refusal("no_platform"), HasSubstr("no platform"));
  EXPECT_THAT(refusal("no_device"), HasSubstr("has a device"));
}

TEST_F(Failures, ADeviceThatCannotShareTheArenaIsRefusedWithTheReason) {
  EXPECT_THAT(refusal("no_memory_shared"), HasSubstr("shares no memory with the host"));
  EXPECT_THAT(refusal("unavailable"), HasSubstr("not available"));
  EXPECT_THAT(refusal("odd"), HasSubstr("no power of two"));
  EXPECT_THAT(refusal("small", {.arena_bytes = 2 << 20}), HasSubstr("allocates at most 1048576"));
  EXPECT_THAT(refusal("no_svm elsewhere"), HasSubstr("maps other memory"));
  expect_no_leak();
}

TEST_F(Failures, WhatFailsWhileOpeningIsReleased) {
  for (const char* words : {"context", "queue", "svm", "no_svm buffer", "no_svm map", "program", "compile", "kernel",
                            "argument", "launch", "flush", "lost", "no_svm flush"})
    EXPECT_NE(refusal(words), "") << words;
  EXPECT_THAT(refusal("compile"), HasSubstr("the fake wants it so"));
  expect_no_leak();
}

TEST_F(Failures, KernelsComputeWhereTheArenaIsShared) {
  for (const char* words : {"", "no_svm"}) {
    const auto engine = open(words);
    ASSERT_TRUE(engine) << words;
    fill(**engine);
    ASSERT_EQ(run_in_arena(**engine), PT_OK) << (*engine)->failure();
    const auto* const arena = static_cast<const float*>((*engine)->arena());
    for (uint32_t at = 0; at < kCount; ++at) ASSERT_EQ(arena[2048 + at], at % 2 == 0 ? 1.0F : 0.0F);
    EXPECT_EQ(arena[2048 + kCount], 1.0F) << "behind the output";
  }
  expect_no_leak();
}

TEST_F(Failures, OperandsMayLieOutsideTheArenaAndOverEachOther) {
  for (const char* words : {"", "no_svm"}) {
    const auto engine = open(words);
    ASSERT_TRUE(engine);
    std::vector<float> outside(kCount, -2.0F);
    auto* const arena = static_cast<float*>((*engine)->arena());
    arena[0] = 7;
    EXPECT_EQ(Relu(**engine, outside.data(), arena, kCount).run(**engine), PT_OK);
    EXPECT_EQ(arena[0], 0.0F);
    arena[0] = -1, arena[1] = 2;
    EXPECT_EQ(Relu(**engine, arena, arena, kCount).run(**engine), PT_OK);
    EXPECT_EQ(arena[0], 0.0F);
    EXPECT_EQ(arena[1], 2.0F);
  }
  expect_no_leak();
}

TEST_F(Failures, AnOperandThatTheDeviceCannotAddressIsAnError) {
  const auto engine = open("no_svm");
  ASSERT_TRUE(engine);
  auto* const arena = static_cast<float*>((*engine)->arena());
  EXPECT_EQ(Relu(**engine, arena + 1, arena + 2048, 8).run(**engine), PT_E_STATE);
  EXPECT_THAT((*engine)->failure(), HasSubstr("multiples of 128"));
}

TEST_F(Failures, WhatFailsInAStepIsAnErrorAndStays) {
  for (const char* words : {"launch", "argument", "flush", "lost", "mute", "no_svm buffer", "no_svm map",
                            "no_svm elsewhere", "compile", "kernel"}) {
    {
      const bool without_svm = std::string(words).find("no_svm") == 0;
      const auto engine = open(without_svm ? "no_svm" : "");
      ASSERT_TRUE(engine);
      tell(words);
      EXPECT_NE(run_in_arena(**engine), PT_OK) << words;
      EXPECT_NE((*engine)->failure(), "") << words;
      tell("");
      EXPECT_NE(run_in_arena(**engine), PT_OK) << words;
    }
    if (std::string(words) != "mute") expect_no_leak();  // what never tells its end is kept
    live_ = asked("fake_opencl_live");
  }
}

TEST_F(Failures, ADeviceThatHangsIsAnErrorWithinTheLimit) {
  for (const char* words : {"", "no_svm"}) {
    const auto engine = open(words, {.wait_seconds = 0.2});
    ASSERT_TRUE(engine);
    tell(std::string("hang ") + words);
    EXPECT_EQ(run_in_arena(**engine), PT_E_STATE);
    EXPECT_THAT((*engine)->failure(), HasSubstr("did not end within 0.2 seconds"));
  }
}

TEST_F(Failures, ADeviceThatDividesInexactlyHasAClassOfItsOwn) {
  const auto exact = open(""), inexact = open("inexact");
  ASSERT_TRUE(exact && inexact);
  EXPECT_STREQ((*exact)->table()->kernels[0].numerics, "fixed");
  EXPECT_STREQ((*inexact)->table()->kernels[0].numerics, "opencl");
}

TEST_F(Failures, EnginesRunBesideEachOther) {
  std::vector<std::unique_ptr<Engine>> engines;
  for (int at = 0; at < 3; ++at) {
    auto engine = open(at % 2 == 0 ? "" : "no_svm");
    ASSERT_TRUE(engine);
    engines.push_back(*std::move(engine));
    fill(*engines.back());
  }
  tell("");
  std::vector<std::thread> threads;
  threads.reserve(engines.size());
  for (const auto& engine : engines)
    threads.emplace_back([&engine] {
      for (int step = 0; step < 50; ++step) EXPECT_EQ(run_in_arena(*engine), PT_OK);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace pantoum::opencl
