// Finds by name what each tensor of a binary plan is to the Trainer.
//
//   "label", "label.<output>"            the batch's targets, one for each loss
//   "loss"                               the result of a step
//   "eval.loss", "eval.count_correct",   results of an evaluation; beside other losses
//   "eval.count_top5", "eval.label_weight"   with ".<output>" behind them
//   "predict.<k>:<output>"               the model's outputs, in their order
//   "accumulate.loss"                    the result of a micro-batch
//   "optim...", "accumulated..."         optimizer state, sums of gradients (with an update apart: what it reads)
//   TrainerOptions::inputs               the model's inputs
//   TrainerOptions::features             inputs of the step, where a frozen backbone's features are kept
//   "features...."                       where its program leaves them
//   every other name                     a parameter, buffer or constant
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "base/tensor_type.h"
#include "pantoum/pantoum.h"
#include "weights/safetensors.h"

namespace pantoum::train {

struct PlanTensor {
  uint32_t index = 0;  // in the plan
  std::string name;
  base::DType dtype = base::DType::kF32;
  base::Shape shape;
  uint64_t bytes = 0;    // payload
  bool changes = false;  // a step replaces it
  bool finite = true;    // f32: every value was finite when training began

  [[nodiscard]] uint64_t row_bytes() const { return bytes / static_cast<uint64_t>(shape.at(0)); }
};

// One loss: its targets, and the outputs of the evaluation that measure it (f32).
struct LossTensors {
  PlanTensor label;
  std::optional<PlanTensor> loss, correct, top5, absolute_error, label_weight;  // [], [2], [2], [], []
};

struct TensorTable {
  std::vector<PlanTensor> weights;    // parameters and buffers: the names of the model, and nothing else
  std::vector<PlanTensor> constants;  // what the compiler made: filled once from the plan's own weights, never saved
  weights::Computed computed;         // of `weights`: what PyTorch computed of others, with the names of these
  std::vector<PlanTensor> states;     // "optim..."
  std::vector<PlanTensor> sums;       // "accumulated...": zeros between steps
  std::vector<PlanTensor> inputs;     // in the model's order; their first dimension is the batch
  // What a step reads in place of the model's inputs, and where the features program leaves it. Empty: nothing is kept.
  std::vector<PlanTensor> features, made_features;
  std::vector<LossTensors> terms;  // in the order of the losses
  std::optional<PlanTensor> loss;  // f32 []
  uint32_t train_program = 0;      // "train"; where the update is apart "gradients"
  std::optional<uint32_t> update_program, eval_program, accumulate_program, features_program;
  std::optional<PlanTensor> accumulate_loss;  // f32 []; there with the program
  std::optional<uint32_t> predict_program;
  std::vector<PlanTensor> outputs;       // that it makes, by the model's names; their first dimension is the batch
  std::vector<size_t> prediction_reads;  // which of the inputs, then the labels, it reads
  int64_t batch = 0;

  // Of the inputs, then the labels.
  [[nodiscard]] const PlanTensor& batch_tensor(size_t at) const {
    return at < inputs.size() ? inputs[at] : terms[at - inputs.size()].label;
  }
};

// Names as TrainerOptions has them.
struct InputNames {
  const std::vector<std::string>& inputs;    // empty: every tensor in RAM that the weights do not hold and whose first
                                             // dimension is the labels'
  const std::vector<std::string>& features;  // a model's input may be one too
};

// `weights`: the plan's own file of first weights, whose metadata name the constants (weights::kConstantsKey) and what PyTorch
// computed (weights::kComputedKey).
// E0253 with what the plan lacks for training (program "train", or "gradients" and "update"; tensors "label" and "loss", an input, features). A plan
// of the program "predict" alone gives outputs.
[[nodiscard]] Result<TensorTable> make_tensor_table(const pt_plan& plan, const InputNames& names,
                                                    const weights::SafetensorFile& weights);

}  // namespace pantoum::train
