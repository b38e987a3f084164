#include "pipeline/graph_search.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <queue>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/foreign_text.h"

namespace pantoum::pipeline {
namespace {

// The same hash for graphs of the same ops on the same values; names of values do not count.
uint64_t hash_of(const ir::Graph& graph) {
  std::string text;
  const auto add = [&](int64_t number) { text.append(reinterpret_cast<const char*>(&number), sizeof number); };
  for (const ir::Op& op : graph.ops) {
    add(static_cast<int64_t>(op.kind));
    for (const auto* list : {&op.inputs, &op.outputs}) {
      add(static_cast<int64_t>(list->size()));
      for (const ir::ValueId value : *list) {
        add(value);
        for (const int64_t extent : graph.value(value).type.shape) add(extent);
      }
    }
    for (const int64_t attribute : op.attrs.ints) add(attribute);
    text.append(reinterpret_cast<const char*>(op.attrs.reals.data()), op.attrs.reals.size() * sizeof(double));
  }
  return XXH3_64bits(text.data(), text.size());
}

class GraphSearch {
 public:
  GraphSearch(const CostOfGraph& cost, const GraphSearchRequest& request) : cost_(cost), request_(request) {}

  std::vector<FoundGraph> run(const ir::Graph& first) {
    const double cost = cost_(first).value_or(0);
    best_ = cost;
    seen_.insert(hash_of(first));
    found_.push_back({first, {}, cost});
    queue_.push({cost, 0});
    while (!queue_.empty() && !is_over()) {
      const auto [of, at] = queue_.top();
      queue_.pop();
      if (of <= request_.alpha * best_) change(at);
    }
    return keep_best();
  }

 private:
  [[nodiscard]] bool is_over() const {
    return looked_at_ >= request_.most_graphs || (request_.is_over && request_.is_over());
  }

  // Every rule at every op of one graph at once, as often as it fits; then each rule at each op alone.
  void change(size_t at) {
    for (const rewrite::Rule* rule : request_.rules)
      if (request_.everywhere) change_everywhere(at, *rule);
    const std::vector<char> named = have_names(found_[at].graph);
    for (const rewrite::Rule* rule : request_.rules) {
      for (size_t op = 0; op < named.size(); ++op) {
        if (is_over()) return;
        if (!named[op]) continue;
        const ir::Graph& graph = found_[at].graph;
        std::optional<ir::Graph> changed = rule->apply(graph, static_cast<ir::OpId>(op));
        if (changed) look_at(*std::move(changed), at, {{rule->name, graph.ops[op].name}});
      }
    }
  }

  // Forward through the ops, again from the op where it was applied: what it makes there may fit again.
  void change_everywhere(size_t at, const rewrite::Rule& rule) {
    ir::Graph graph = found_[at].graph;
    std::vector<Substitution> made;
    apply_everywhere(graph, rule, made);
    if (made.size() > 1) look_at(std::move(graph), at, std::move(made));
  }

  void apply_everywhere(ir::Graph& graph, const rewrite::Rule& rule, std::vector<Substitution>& made) const {
    const size_t most = made.size() + graph.ops.size();  // a rule that undoes itself ends
    for (size_t op = 0; op < graph.ops.size() && made.size() < most && !is_over(); ++op) {
      if (!has_own_name(graph, op)) continue;
      Substitution by{rule.name, graph.ops[op].name};
      std::optional<ir::Graph> changed = rule.apply(graph, static_cast<ir::OpId>(op));
      if (!changed) continue;
      graph = *std::move(changed);
      made.push_back(std::move(by));
      --op;  // ops before it may be gone: no more than one is skipped, and each op alone is tried later
    }
  }

  static bool has_own_name(const ir::Graph& graph, size_t op) {
    const auto first = std::find_if(graph.ops.begin(), graph.ops.end(),
                                    [&](const ir::Op& other) { return other.name == graph.ops[op].name; });
    return first - graph.ops.begin() == static_cast<std::ptrdiff_t>(op);
  }

  // Says for each op whether it is the first of its name, so that the name identifies it.
  static std::vector<char> have_names(const ir::Graph& graph) {
    std::unordered_set<std::string_view> names;
    std::vector<char> named;
    for (const ir::Op& op : graph.ops) named.push_back(names.insert(op.name).second ? 1 : 0);
    return named;
  }

  void look_at(ir::Graph graph, size_t from, std::vector<Substitution> by) {
    for (const rewrite::Rule* rule : request_.cleaning) apply_everywhere(graph, *rule, by);
    if (!seen_.insert(hash_of(graph)).second) return;
    ++looked_at_;
    if (!ir::validate(graph)) return;
    const std::optional<double> cost = cost_(graph);
    if (!cost || *cost > request_.alpha * best_ || found_.size() >= request_.most_kept) return;
    best_ = std::min(best_, *cost);
    std::vector<Substitution> made_by = found_[from].made_by;
    made_by.insert(made_by.end(), by.begin(), by.end());
    found_.push_back({std::move(graph), std::move(made_by), *cost});
    queue_.push({*cost, found_.size() - 1});
  }

  std::vector<FoundGraph> keep_best() {
    const FoundGraph first = found_.front();
    std::stable_sort(found_.begin(), found_.end(),
                     [](const FoundGraph& a, const FoundGraph& b) { return a.cost < b.cost; });
    if (found_.size() > request_.keep) found_.resize(request_.keep);
    const bool has_first =
        std::any_of(found_.begin(), found_.end(), [](const FoundGraph& graph) { return graph.made_by.empty(); });
    if (!has_first) found_.push_back(first);
    return std::move(found_);
  }

  struct Waiting {
    double cost;
    size_t at;
    bool operator<(const Waiting& other) const {  // the cheapest on top, of equal ones the first
      return cost != other.cost ? cost > other.cost : at > other.at;
    }
  };

  const CostOfGraph& cost_;
  const GraphSearchRequest& request_;
  std::vector<FoundGraph> found_;
  std::priority_queue<Waiting> queue_;
  std::unordered_set<uint64_t> seen_;
  size_t looked_at_ = 0;
  double best_ = 0;
};

}  // namespace

std::vector<FoundGraph> search_graphs(const ir::Graph& first, const CostOfGraph& cost,
                                      const GraphSearchRequest& request) {
  return GraphSearch(cost, request).run(first);
}

std::vector<const rewrite::Rule*> rules_for(const PlanRequest& request, bool inference) {
  std::vector<const rewrite::Rule*> rules;
  const std::vector<std::string>& off = request.rewrite.without;
  for (const rewrite::Rule& rule : rewrite::rules()) {
    const bool may_change = request.options.question.freedoms.numerics || rule.preserves == rewrite::Preserves::kBits;
    if (may_change && (inference || !rule.inference_only) && std::find(off.begin(), off.end(), rule.name) == off.end())
      rules.push_back(&rule);
  }
  return rules;
}

std::vector<const rewrite::Rule*> cleaning_rules(const std::vector<const rewrite::Rule*>& rules) {
  std::vector<const rewrite::Rule*> cleaning;
  for (const rewrite::Rule* rule : rules)
    if (std::string_view(rule->name) == "fold-parameters") cleaning.push_back(rule);
  return cleaning;
}

Result<ir::Graph> substituted(ir::Graph graph, const std::vector<Substitution>& substitutions) {
  for (const Substitution& made : substitutions) {
    const rewrite::Rule* rule = rewrite::find_rule(made.rule.c_str());
    const auto at =
        std::find_if(graph.ops.begin(), graph.ops.end(), [&](const ir::Op& op) { return op.name == made.at; });
    std::optional<ir::Graph> changed;
    if (rule != nullptr && at != graph.ops.end())
      changed = rule->apply(graph, static_cast<ir::OpId>(at - graph.ops.begin()));
    if (!changed)
      return fail("E0231",
                  fmt::format("the substitution '{}' at '{}' does not fit this model's step", base::one_line(made.rule),
                              base::one_line(made.at)),
                  graph.name,
                  "plan again with the same model, batch, loss, optimizer, frozen parameters, device, threads and kind "
                  "of processor");
    graph = *std::move(changed);
  }
  return graph;
}

}  // namespace pantoum::pipeline
