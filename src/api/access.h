// What stands behind the public handles, and the way from one to the other.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "check/replay.h"
#include "data/dataset.h"
#include "data/label_range.h"
#include "pantoum/custom_operator.hpp"
#include "pantoum/data.hpp"
#include "pantoum/model.hpp"
#include "pantoum/plan.hpp"
#include "pipeline/pipeline.h"

namespace pantoum {

struct Model::Impl {
  std::string path;                          // "": from bytes
  std::shared_ptr<const std::string> bytes;  // of an ONNX model; null: from a file
  ModelOptions options;
};

namespace api {

// A file among the system's temporary ones that nobody else can read; removed when this ends.
class PrivateFile {
 public:
  // The folder is made, the file is not. E0901.
  [[nodiscard]] static Result<std::shared_ptr<const PrivateFile>> create(const std::string& name);
  explicit PrivateFile(std::string folder, std::string path) : folder_(std::move(folder)), path_(std::move(path)) {}
  ~PrivateFile();
  PrivateFile(const PrivateFile&) = delete;
  PrivateFile& operator=(const PrivateFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  std::string folder_, path_;
};

}  // namespace api

// All that remains of the compiler.
struct Plan::Impl {
  ModelOptions options;
  pipeline::ModelOptions model;  // of the training step
  problem::Plan plan;
  check::Found found;
  problem::Predicted unplanned;
  std::shared_ptr<const host::KernelSet> kernels;  // none: a plan for another device
  int threads = 0;
  int64_t prefetch = 0;
  std::vector<std::byte> binary;
  std::shared_ptr<const api::PrivateFile> weights;
  data::Wanted wanted;
  std::vector<data::LabelRange> labels;       // of each target
  std::vector<BatchTensor> batch;             // of the model
  std::vector<std::string> inputs, features;  // as pipeline::PreparedTraining has them
  std::string graph_hash;
  std::vector<std::string> warnings, notes;
};

struct Dataset::Impl {
  data::Dataset data;
  std::shared_ptr<const api::PrivateFile> cache;  // of what cannot be read in place
};

struct Access {
  using ModelImpl = Model::Impl;
  using PlanImpl = Plan::Impl;
  using DatasetImpl = Dataset::Impl;
  [[nodiscard]] static const Model::Impl& impl(const Model& model) { return *model.impl_; }
  [[nodiscard]] static const Plan::Impl& impl(const Plan& plan) { return *plan.impl_; }
  // Null: of no samples.
  [[nodiscard]] static const Dataset::Impl* impl(const Dataset& data) { return data.impl_.get(); }
  [[nodiscard]] static Plan plan(std::shared_ptr<const Plan::Impl> impl) { return Plan(std::move(impl)); }
  [[nodiscard]] static Dataset dataset(std::shared_ptr<const Dataset::Impl> impl) { return Dataset(std::move(impl)); }
  // `inputs` and `outputs` outlive the answer.
  [[nodiscard]] static KernelCall kernel_call(const pt_call& call, std::span<const TensorView> inputs,
                                              std::span<const TensorView> outputs);
};

namespace api {

[[nodiscard]] Result<pipeline::ModelOptions> model_options(const Access::ModelImpl& model);
[[nodiscard]] Result<pipeline::PlanRequest> plan_request(const Device& device, const PlanOptions& options);
[[nodiscard]] double learning_rate(const Optimizer& optimizer);
// By Pantoum's own planner; budgets upward, each once.
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
