// Reads and writes `pantoum.costgraph/1`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "problem/cost_graph.h"

namespace pantoum::problem {

// Refuses unknown versions and unknown keys (except "x-..."), wrong types, non-finite or negative quantities: E0220
// with the key's path. The result has passed `validate`. `where` names the source in errors.
Result<CostGraph> parse_cost_graph(std::string_view json_text, const std::string& where);
Result<CostGraph> cost_graph_from_json(const nlohmann::ordered_json& json, const std::string& where);
// Reads a graph from an unordered document. `path` is where the graph stands in it ("graph" in a plan), for errors.
Result<CostGraph> cost_graph_from_json(const nlohmann::json& json, const std::string& where, const std::string& path);
Result<CostGraph> read_cost_graph(const std::string& path);

nlohmann::ordered_json to_json(const CostGraph& graph);
Result<void> write_cost_graph(const CostGraph& graph, const std::string& path);  // atomic

}  // namespace pantoum::problem
