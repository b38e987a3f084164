// The outer search: finds equivalent graphs by substitutions (rewrite/rule.h), and evaluates each with its best algorithms.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/request.h"
#include "rewrite/rule.h"

namespace pantoum::pipeline {

struct FoundGraph {
  ir::Graph graph;
  std::vector<Substitution> made_by;  // the substitutions that make this graph from the first one, in this order
  double cost = 0;
};

struct GraphSearchRequest {
  std::vector<const rewrite::Rule*> rules;
  std::vector<const rewrite::Rule*>
      cleaning;                        // applied everywhere after each change, to remove work that it leaves behind
  bool everywhere = true;              // also apply each rule at all ops at once
  double alpha = 1.05;                 // change graphs further whose cost is at most this multiple of the best cost
  size_t most_graphs = 1000;           // graphs that the search evaluates, at most
  size_t most_kept = 200;              // graphs that wait for further changes, at most; each is a copy
  size_t keep = 4;                     // number of graphs to return
  std::function<bool()> is_over = {};  // called before every graph; true ends the search
};

// Returns the cost of a graph in unlimited RAM with its best algorithms; nullopt if an op has no kernel.
using CostOfGraph = std::function<std::optional<double>(const ir::Graph& graph)>;

// The paper's algorithm 1 (energy-aware-graph-optimization, section 3.3), after MetaFlow's: takes the cheapest graph that waits, beginning with the
// first graph, and applies every rule at every op; skips graphs that it has seen, and invalid graphs. Returns graphs by ascending cost; the first
// graph is always among them.
[[nodiscard]] std::vector<FoundGraph> search_graphs(const ir::Graph& first, const CostOfGraph& cost,
                                                    const GraphSearchRequest& request);

// Returns the rules that a request allows.
[[nodiscard]] std::vector<const rewrite::Rule*> rules_for(const PlanRequest& request, bool inference);

// Selects the rules that only remove work that other rules leave behind.
[[nodiscard]] std::vector<const rewrite::Rule*> cleaning_rules(const std::vector<const rewrite::Rule*>& rules);

// Applies the substitutions in their order and returns the graph. E0231: the substitutions are of another graph: a rule is unknown, an op does not
// exist, or a rule does not fit an op.
[[nodiscard]] Result<ir::Graph> substituted(ir::Graph graph, const std::vector<Substitution>& substitutions);

}  // namespace pantoum::pipeline
