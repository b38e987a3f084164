// The implementations of the public handles, and access from the handles to them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/inputs_in_use.h"
#include "base/output_folder.h"
#include "data/dataset.h"
#include "pantoum/custom_operator.hpp"
#include "pantoum/data.hpp"
#include "pantoum/model.hpp"
#include "pantoum/plan.hpp"
#include "pipeline/planned_step.h"

namespace pantoum::report {
struct Explanation;
}

namespace pantoum {

struct Model::Impl {
  std::string path;                          // "": from bytes
  std::shared_ptr<const std::string> bytes;  // of an ONNX model; null: from a file
  ModelOptions options;
  std::shared_ptr<const base::InputsInUse> inputs;  // no output takes the place of one; null: there is none
};

struct Plan::Impl {
  ModelOptions options;  // of the model that was planned; of a loaded plan, those that it names
  pipeline::PlannedStep step;
  std::shared_ptr<const base::TemporaryPath> weights;  // the first ones
  std::vector<BatchTensor> batch;                      // of the model
  std::vector<std::string> notes;
  std::shared_ptr<base::InputsInUse> inputs = std::make_shared<base::InputsInUse>();  // the model's among them
};

struct Dataset::Impl {
  data::Dataset data;
  std::shared_ptr<const base::TemporaryPath> cache;  // of what cannot be read in place
  std::shared_ptr<const base::InputsInUse> inputs;   // null: in memory
};

struct Access {
  using ModelImpl = Model::Impl;
  using PlanImpl = Plan::Impl;
  using DatasetImpl = Dataset::Impl;
  [[nodiscard]] static const Model::Impl& impl(const Model& model) { return *model.impl_; }
  [[nodiscard]] static const Plan::Impl& impl(const Plan& plan) { return *plan.impl_; }
  // Null: of no samples.
  [[nodiscard]] static const Dataset::Impl* impl(const Dataset& data) { return data.impl_.get(); }
  // The model of a plan, with other weights. It is read when the plan is.
  [[nodiscard]] static Result<Model> model(const Plan::Impl& plan, const std::string& weights);
  // `inputs` and `outputs` outlive the answer.
  [[nodiscard]] static KernelCall kernel_call(const pt_call& call, std::span<const TensorView> inputs,
                                              std::span<const TensorView> outputs);
};

namespace api {

// The model as the pipeline takes it. E0115 to E0117.
[[nodiscard]] Result<pipeline::ModelRequest> model_request(const Access::ModelImpl& model);
// Returns how many samples each array holds. E0262 the arrays are not those that `wanted` says.
[[nodiscard]] Result<int64_t> check_arrays(const std::vector<BatchTensor>& wanted, const Batch& arrays);

// The arrays as samples, which refer to their bytes: `count` in each, as check_arrays found.
[[nodiscard]] std::vector<std::unique_ptr<data::SampleFile>> samples_of(const std::vector<BatchTensor>& wanted,
                                                                        const Batch& arrays, int64_t count);

// The same samples; keeps what `handle` holds.
[[nodiscard]] data::Dataset shared(const Dataset& handle);

// What is in RAM at the peak, largest first.
[[nodiscard]] std::vector<Held> held_at_peak(const report::Explanation& why);
// The rows of Pantoum's own planner; `budgets` are ascending, each once.
[[nodiscard]] Result<std::vector<SweepRow>> swept_rows(const pipeline::SweptGraphs& graphs,
                                                       const pipeline::PlanRequest& request,
                                                       std::vector<int64_t> budgets);

[[nodiscard]] inline DType public_type(base::DType dtype) {
  return static_cast<DType>(dtype);
}
static_assert(static_cast<int>(DType::f32) == static_cast<int>(base::DType::kF32) &&
              static_cast<int>(DType::i64) == static_cast<int>(base::DType::kI64) &&
              static_cast<int>(DType::i32) == static_cast<int>(base::DType::kI32) &&
              static_cast<int>(DType::u8) == static_cast<int>(base::DType::kU8) &&
              static_cast<int>(DType::boolean) == static_cast<int>(base::DType::kBool));

}  // namespace api
}  // namespace pantoum
