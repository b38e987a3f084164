// The outer search: equivalent graphs by substitutions (rewrite/rule.h), each with its best algorithms.
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
  std::vector<Substitution> made_by;  // of the first graph, in this order
  double cost = 0;
};

struct GraphSearchRequest {
  std::vector<const rewrite::Rule*> rules;
  std::vector<const rewrite::Rule*> cleaning;  // applied everywhere after each: what a change leaves behind
  bool everywhere = true;                      // each rule also at every op at once
  double alpha = 1.05;                         // graphs that cost up to so many times the best are changed further
  size_t most_graphs = 1000;                   // that are looked at
  size_t most_kept = 200;                      // for further changes: graphs are copies
  size_t keep = 4;                             // the best of them are returned
  std::function<bool()> is_over = {};          // asked before every graph
};

// What a graph costs in unlimited RAM with its best algorithms; none: it has no cost (no kernel for an op).
using CostOfGraph = std::function<std::optional<double>(const ir::Graph& graph)>;

// The paper's algorithm 1 (energy-aware-graph-optimization, section 3.3), after MetaFlow's: from the first graph on,
// every rule at every op, the cheapest graph first; one that was seen is not looked at again. Never empty: the first
// graph is among them, and they stand upward by cost. A graph that is not valid is left out.
[[nodiscard]] std::vector<FoundGraph> search_graphs(const ir::Graph& first, const CostOfGraph& cost,
                                                    const GraphSearchRequest& request);

// The rules that a request allows.
[[nodiscard]] std::vector<const rewrite::Rule*> rules_for(const PlanRequest& request, bool inference);

// Selects the rules that only remove work that other rules leave behind.
[[nodiscard]] std::vector<const rewrite::Rule*> cleaning_rules(const std::vector<const rewrite::Rule*>& rules);

// The graph that the substitutions make, in their order. E0231 a rule that is not known, an op that is not there, or a
// rule that does not fit there: they are another graph's.
[[nodiscard]] Result<ir::Graph> substituted(ir::Graph graph, const std::vector<Substitution>& substitutions);

}  // namespace pantoum::pipeline
