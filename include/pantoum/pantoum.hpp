// Pantoum's C++ library, all of it. Example:
//
//   pantoum::Result<pantoum::FitSummary> train(const std::string& file, const std::string& folder) {
//     const auto model = pantoum::load_onnx(file, {.batch = 32, .optimizer = pantoum::Sgd{.lr = 0.05}});
//     if (!model) return pantoum::Failure(model.error());
//     const auto plan = pantoum::plan(*model, pantoum::device("host"), {.ram = pantoum::MiB(24)});
//     if (!plan) return pantoum::Failure(plan.error());
//     auto trainer = pantoum::Trainer::create(*plan);
//     if (!trainer) return pantoum::Failure(trainer.error());
//     const auto data = pantoum::Dataset::open(folder, *plan);
//     if (!data) return pantoum::Failure(data.error());
//     return trainer->fit(data->train, {.epochs = 3}, data->test);
//   }
//
// Each of these values is a Result: test it before you use its value, or call value(), which throws an exception with the error's text. The library
// prints nothing, and has no process-wide state except custom operators (custom_operator.hpp).
#pragma once

#include "pantoum/custom_operator.hpp"
#include "pantoum/data.hpp"
#include "pantoum/deploy.hpp"
#include "pantoum/export.h"
#include "pantoum/layers.hpp"
#include "pantoum/model.hpp"
#include "pantoum/plan.hpp"
#include "pantoum/result.hpp"
#include "pantoum/tensor.hpp"
#include "pantoum/trainer.hpp"
#include "pantoum/units.hpp"

namespace pantoum {

[[nodiscard]] inline Result<Model> load_onnx(const std::string& path, ModelOptions options = {}) {
  return Model::from_file(path, std::move(options));
}
[[nodiscard]] inline Result<Plan> plan(const Model& model, const Device& device, const PlanOptions& options = {}) {
  return Plan::make(model, device, options);
}
[[nodiscard]] inline Result<Plan> plan(const Model& model, const PlanOptions& options = {}) {
  return Plan::make(model, Device{}, options);
}
[[nodiscard]] inline Result<Plan> load_plan(const std::string& path) {
  return Plan::load(path);
}
[[nodiscard]] inline Result<ModelInfo> inspect(const Model& model) {
  return model.inspect();
}
[[nodiscard]] inline Result<Verdict> verify(const Plan& plan) {
  return plan.verify();
}
[[nodiscard]] inline Result<Explanation> explain(const Plan& plan, int64_t effort = 1) {
  return plan.explain(effort);
}
[[nodiscard]] inline Result<std::vector<SweepRow>> sweep(const Model& model, const Device& device,
                                                         const SweepOptions& options) {
  return sweep_budgets(model, device, options);
}
[[nodiscard]] inline Result<FirmwareSizes> emit(const std::string& plan_file, const FirmwareOptions& options) {
  return emit_project(plan_file, options);
}

}  // namespace pantoum
