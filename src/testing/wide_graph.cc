#include "testing/wide_graph.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"

namespace pantoum::plan_test {
namespace {

using problem::CostGraph;

void add_op(CostGraph& graph, problem::Bytes bytes, double seconds, const std::set<int64_t>& reads) {
  const auto id = static_cast<int64_t>(graph.ops.size());
  graph.tensors.push_back({.id = id, .name = "t" + std::to_string(id), .bytes = bytes});
  problem::Op op{.id = id, .name = "op" + std::to_string(id), .inputs = {reads.begin(), reads.end()}, .outputs = {id}};
  problem::Choice choice{.time_s = seconds, .energy_j = 10 * seconds, .writes = {0}};
  for (size_t read = 0; read < reads.size(); ++read) choice.reads.push_back(static_cast<int>(read));
  op.choices = {choice};
  graph.ops.push_back(std::move(op));
  graph.order.push_back(id);
}

}  // namespace

CostGraph wide_graph(uint64_t seed, int32_t ops) {
  base::Random random(seed);
  CostGraph graph;
  graph.name = "wide";
  graph.device = {.name = "wide", .ram_bytes = int64_t{1} << 33};
  std::vector<std::vector<int64_t>> layers{{0}};
  std::set<int64_t> unread{0};
  add_op(graph, 2000, 1e-5, {});
  const auto width = std::max(2, ops / 10);
  while (static_cast<int32_t>(graph.ops.size()) < ops - 1) {
    const int32_t left = ops - 1 - static_cast<int32_t>(graph.ops.size());
    std::vector<int64_t> layer;
    for (int32_t count = std::min(left, 1 + random.below(width)); count > 0; --count) {
      std::set<int64_t> reads{random.any(layers.back())};
      if (!unread.empty() && *unread.begin() < layers.back().front()) reads.insert(*unread.begin());
      if (random.one_in(3)) reads.insert(random.any(layers.back()));
      if (random.one_in(5)) reads.insert(random.any(random.any(layers)));
      layer.push_back(static_cast<int64_t>(graph.ops.size()));
      for (const int64_t read : reads) unread.erase(read);
      unread.insert(layer.back());
      add_op(graph, 20 + random.below(4000), 1e-6 * (1 + random.below(1000)), reads);
    }
    layers.push_back(std::move(layer));
  }
  add_op(graph, 20, 1e-6, unread);
  return graph;
}

}  // namespace pantoum::plan_test
