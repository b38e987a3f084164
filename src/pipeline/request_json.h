// The options of a model and of a plan request as plan files carry them, under "x-model" and "x-request": every option has
// its type, and no word of a command line is kept.
//   "x-model": {"path": "cnn.onnx", "batch": 8, "losses": [{"loss": "cross_entropy", "output": "", "weight": 1.0, ...}],
//               "optimizer": {"name": "sgd", "momentum": 0.9, ...}, "lr": 0.01, "seed": 0, "freeze": [], ...}
//   "x-request": {"device": "host", "kernels": "auto", "threads": 2, "budget_bytes": 262144, "reserve_bytes": 0, ...}
// A key that is missing stands for its default.
#pragma once

#include <string>

#include "pipeline/request.h"

namespace pantoum::pipeline {

[[nodiscard]] std::string model_json(const ModelOptions& model);
// Warm start, progress and stop are not part of it.
[[nodiscard]] std::string request_json(const PlanRequest& request);

// E0230 with the key's path: an unknown key or name, a wrong type, a number out of range. `where` names the plan.
[[nodiscard]] Result<ModelOptions> parse_model_json(const std::string& text, const std::string& where);
[[nodiscard]] Result<PlanRequest> parse_request_json(const std::string& text, const std::string& where);

// Which of these losses and optimizers are called what, here and on the command line.
[[nodiscard]] const std::vector<std::string>& loss_names();  // by autodiff::Loss

// Makes a request's graph again as it was for a plan of it: by its substitutions, without a search. A plan that does not
// say them has none. E0230 its request is damaged.
[[nodiscard]] Result<void> take_graph_of(const problem::Plan& plan, RewriteOptions& rewrite);

}  // namespace pantoum::pipeline
