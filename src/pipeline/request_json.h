// What plan files keep of a request, under "x-model", "x-request" and "x-updates": the recorded settings of model, device and plan, the
// model's path, what the plan chose, and what was chosen to be trained. A key that is missing stands for its default.
//   "x-model": {"path": "cnn.onnx", "batch": 8, "loss": [{"name": "cross_entropy", ...}], "optimizer": {"name": "sgd", ...}, ...}
//   "x-request": {"device": "host", "ram_bytes": 262144, "kernels": "portable", "threads": 2, "substitutions": [], ...}
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "pipeline/request.h"

namespace pantoum::pipeline {

[[nodiscard]] std::string model_json(const ModelRequest& model);
[[nodiscard]] std::string request_json(const PlanRequest& request);

[[nodiscard]] nlohmann::ordered_json updates_json(const ChosenUpdates& updates);

// E0230 with the key's path: an unknown key or name, a wrong type, a number out of range. `where` names the plan.
[[nodiscard]] Result<ModelRequest> parse_model_json(const std::string& text, const std::string& where);
[[nodiscard]] Result<PlanRequest> parse_request_json(const std::string& text, const std::string& where);
[[nodiscard]] Result<ChosenUpdates> parse_updates_json(const std::string& text, const std::string& where);

// The JSON schemas of both, by their keys in a plan: of docs/schema/plan-2.schema.json.
[[nodiscard]] nlohmann::ordered_json record_schemas();

// Makes a request's graph again as it was for a plan of it: by its substitutions, without a search. A plan that does not
// say them has none. E0230 its request is damaged.
[[nodiscard]] Result<void> take_graph_of(const problem::Plan& plan, RewriteOptions& rewrite);

}  // namespace pantoum::pipeline
