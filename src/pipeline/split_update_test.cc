// Gradients and update as two programs, with parameters in storage.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "pipeline/pipeline.h"
#include "train/tensor_table.h"
#include "train/trainer.h"

namespace pantoum::pipeline {
namespace {

constexpr int64_t kBatch = 8;

std::unique_ptr<train::Trainer> trainer_with(ParamsIn params_in, int64_t accumulate) {
  const ModelRequest model{.path = PANTOUM_SOURCE_DIR "/examples/keyword-spotting/model.onnx",
                           .options = {.batch = kBatch,
                                       .optimizer = Adam{},
                                       .clip_norm = 0.5,
                                       .accumulate = accumulate,
                                       .split_update = true,
                                       .params_in = params_in}};
  const PlanRequest request = plan_request("host", {.effort = 1, .kernels = Kernels::portable}).value();
  Compiled compiled = compile_model(model, request).value();
  const Result<void> planned = plan_model(compiled, request);
  EXPECT_TRUE(planned) << to_text(planned.error());
  const std::string weights = testing::TempDir() + "/split.safetensors";
  EXPECT_TRUE(write_initial_weights(compiled.training().graph, {}, weights));
  const ir::Graph& graph = compiled.evaluation().graph;
  return train::Trainer::create(
             encode_programs(compiled.programs).value(), weights,
             {.threads = 1, .micro_batches = accumulate, .inputs = {graph.value(graph.inputs.front()).name}})
      .value();
}

// Made-up samples, of another seed in every batch.
void feed(train::Trainer& trainer) {
  trainer.feed(
      [](uint64_t number, std::span<const data::BatchView> views) -> Result<void> {
        uint32_t state = static_cast<uint32_t>(number) * 2654435761U;
        std::span<float> x(reinterpret_cast<float*>(views[0].data.data()), views[0].data.size() / sizeof(float));
        for (float& value : x) value = static_cast<float>((state = state * 1664525U + 1013904223U) >> 8) / 16777216.0F;
        std::span<int64_t> y(reinterpret_cast<int64_t*>(views[1].data.data()), kBatch);
        for (size_t row = 0; row < y.size(); ++row) y[row] = static_cast<int64_t>((row + number) % 3);
        return {};
      },
      trainer.steps_done() + 1, 0);
}

std::vector<float> values_of(train::Trainer& trainer, const train::PlanTensor& tensor) {
  std::vector<float> values(tensor.bytes / sizeof(float));
  EXPECT_TRUE(trainer.read(tensor, std::as_writable_bytes(std::span(values))));
  return values;
}

// As another machine's part would change what is between the halves.
void halve_gradients(train::Trainer& trainer) {
  for (const train::PlanTensor& sum : trainer.tensors().sums) {
    std::vector<float> values = values_of(trainer, sum);
    EXPECT_TRUE(std::any_of(values.begin(), values.end(), [](float value) { return value != 0; })) << sum.name;
    for (float& value : values) value *= 0.5F;
    EXPECT_TRUE(trainer.write(sum, std::as_bytes(std::span(values))));
  }
}

void step_in_halves(train::Trainer& trainer, bool in_ram) {
  feed(trainer);
  size_t told = 0;
  const auto made = trainer.gradients([&](const train::PlanTensor&, std::span<std::byte> data) {
    ++told;
    EXPECT_EQ(data.empty(), !in_ram);
  });
  ASSERT_TRUE(made) << to_text(made.error());
  EXPECT_EQ(told, trainer.tensors().sums.size());
  halve_gradients(trainer);
  ASSERT_TRUE(trainer.update());
}

TEST(SplitUpdate, PagesGradientsWithTheirParameters) {
  for (const int64_t accumulate : {1, 2}) {
    const auto in_ram = trainer_with(ParamsIn::ram, accumulate);
    const auto stored = trainer_with(ParamsIn::aux, accumulate);
    for (int step = 0; step < 3; ++step) {
      step_in_halves(*in_ram, true);
      step_in_halves(*stored, false);
    }
    for (const train::PlanTensor& weight : in_ram->tensors().weights) {
      const auto& others = stored->tensors().weights;
      const auto same = std::find_if(others.begin(), others.end(),
                                     [&](const train::PlanTensor& each) { return each.name == weight.name; });
      ASSERT_NE(same, others.end());
      EXPECT_EQ(values_of(*in_ram, weight), values_of(*stored, *same)) << weight.name;
    }
    EXPECT_GT(stored->usage().bytes_paged_out, 0U);
    EXPECT_LT(stored->usage().arena_bytes, in_ram->usage().arena_bytes);
  }
}

}  // namespace
}  // namespace pantoum::pipeline
