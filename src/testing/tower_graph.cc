#include "testing/tower_graph.h"

#include <numeric>
#include <string>

#include "testing/random_graph.h"

namespace pantoum::plan_test {
namespace {

using problem::CostGraph;
using problem::Home;
using problem::Op;

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}

  CostGraph make() {
    graph_.name = "towers";
    make_device();
    const int64_t towers = random_.between(2, 3);
    std::vector<int64_t> tops;
    for (int64_t tower = 0; tower < towers; ++tower) tops.push_back(make_tower());
    const int64_t meet = add_op(tops, random_.chance(0.5) ? 8 : size());
    if (random_.chance(0.7)) make_gradients(tops, meet);
    graph_.tensors[static_cast<size_t>(meet)].end = random_.chance(0.5) ? Home::kRam : Home::kNone;
    return std::move(graph_);
  }

 private:
  void make_device() {
    graph_.device.name = "tower";
    graph_.device.ram_bytes = 1 << 20;
    graph_.device.align_bytes = random_.chance(0.5) ? 1 : 8;
    problem::Pager& pager = graph_.device.pager;
    pager.mode = static_cast<problem::PagerMode>(random_.between(0, 2));
    if (pager.mode == problem::PagerMode::kNone) return;
    pager.full_duplex = random_.chance(0.5);
    pager.in = pager.out = {.latency_s = 0, .bytes_per_s = 1e7, .w = random_.unit()};
  }

  int64_t size() { return 8 * random_.between(1, 60); }

  int64_t add_tensor(int64_t bytes, Home start = Home::kNone) {
    const auto id = static_cast<int64_t>(graph_.tensors.size());
    graph_.tensors.push_back({.id = id, .name = "t" + std::to_string(id), .bytes = bytes, .start = start});
    return id;
  }

  // Its output.
  int64_t add_op(const std::vector<int64_t>& inputs, int64_t bytes) {
    Op op;
    op.id = static_cast<int64_t>(graph_.ops.size());
    op.name = "o" + std::to_string(op.id);
    op.inputs = inputs;
    op.outputs = {add_tensor(bytes)};
    op.recompute = random_.chance(0.7);
    problem::Choice choice{.time_s = random_.unit() * 1e-4, .energy_j = random_.unit() * 1e-4};
    if (random_.chance(0.3)) choice.workspace_bytes = size();
    choice.reads.resize(inputs.size());
    std::iota(choice.reads.begin(), choice.reads.end(), 0);
    choice.writes = {0};
    const bool in_rom = graph_.tensors[static_cast<size_t>(inputs.front())].start == Home::kRom;
    if (random_.chance(0.3) && !in_rom) choice.overwrites = {{0, 0}};
    op.choices = {choice};
    graph_.order.push_back(op.id);
    graph_.ops.push_back(op);
    return op.outputs.front();
  }

  int64_t make_tower() {
    const Home start = random_.chance(0.8) ? Home::kRam : Home::kRom;
    int64_t top = add_tensor(size(), start);
    if (start == Home::kRam && random_.chance(0.5)) parameters_.push_back(top);
    for (int64_t op = random_.between(1, 2); op > 0; --op) top = add_op({top}, size());
    return top;
  }

  // Of each tower's top, and the parameters' updates.
  void make_gradients(const std::vector<int64_t>& tops, int64_t meet) {
    std::vector<int64_t> gradients;
    for (const int64_t top : tops)
      if (random_.chance(0.7)) gradients.push_back(add_op({meet, top}, size()));
    for (const int64_t parameter : parameters_) {
      if (gradients.empty()) return;
      update(parameter, gradients[random_.index(gradients.size())]);
    }
  }

  void update(int64_t parameter, int64_t gradient) {
    const int64_t bytes = graph_.tensors[static_cast<size_t>(parameter)].bytes;
    const int64_t after = add_op({parameter, gradient}, bytes);
    graph_.ops.back().recompute = false;
    graph_.ops.back().choices.front().overwrites = {{0, 0}};
    problem::Tensor& before = graph_.tensors[static_cast<size_t>(parameter)];
    before.next = after;
    before.pinned = random_.chance(0.5);
    for (Op& op : graph_.ops)  // that works in place would take its bytes
      if (before.pinned && op.inputs.front() == parameter && op.outputs.front() != after)
        op.choices.front().overwrites = {};
  }

  check::Random random_;
  CostGraph graph_;
  std::vector<int64_t> parameters_;
};

}  // namespace

CostGraph tower_graph(uint64_t seed) {
  return Maker(seed).make();
}

}  // namespace pantoum::plan_test
