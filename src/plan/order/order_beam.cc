#include "plan/order/order_problem.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "plan/order/partial_step.h"

namespace pantoum::plan {
namespace {

constexpr size_t kMostReady = 64;       // ops that are tried next
constexpr int kMostChain = 4;           // ops that run at once together
constexpr size_t kMostNodes = 200'000;  // bounds the memory
constexpr size_t kRoot = 0;

// A set of ops that have run, in the best order known of it.
struct Node {
  size_t parent = 0;
  std::vector<OpIndex> ops;  // that have run since the parent
  size_t done = 0;
  Bytes peak = 0, live = 0;
  OpSetHash hash;
};

struct HashOf {
  size_t operator()(const OpSetHash& hash) const { return static_cast<size_t>(hash.low); }
};

class Beam {
 public:
  Beam(const OrderProblem& problem, Bytes floor, Bytes below, size_t width, OrderSteps& steps)
      : problem_(problem),
        below_(below),
        width_(width),
        steps_(steps),
        step_(problem),
        layers_(problem.ops.size() + 1) {
    Bytes peak = std::max(floor, problem.first_live);
    settle(peak);
    nodes_.push_back({.ops = step_.order(), .done = step_.done(), .peak = peak, .live = step_.live()});
    layers_[step_.done()].push_back(kRoot);
  }

  BeamResult run() {
    for (std::vector<size_t>& layer : layers_) {
      if (&layer == &layers_.back()) break;
      thin(layer);
      for (const size_t node : layer) {
        if (steps_.spent() || nodes_.size() > kMostNodes) return {};
        expand(node);
      }
    }
    return result();
  }

 private:
  BeamResult result() {
    thin(layers_.back());
    if (layers_.back().empty()) return {.order = {}, .peak = 0, .exact = exact_};
    const size_t best = layers_.back().front();
    if (nodes_[best].peak >= below_) return {.order = {}, .peak = 0, .exact = exact_};
    move_to(best);
    return {.order = step_.order(), .peak = nodes_[best].peak, .exact = exact_};
  }

  // The best nodes of a layer, one for every set.
  void thin(std::vector<size_t>& layer) {
    std::ranges::sort(layer, {}, [&](size_t node) { return rank(node); });
    std::unordered_map<OpSetHash, size_t, HashOf> seen;
    std::erase_if(layer, [&](size_t node) { return !seen.emplace(nodes_[node].hash, node).second; });
    if (layer.size() <= width_) return;
    layer.resize(width_);
    exact_ = false;
  }

  std::tuple<Bytes, Bytes, size_t> rank(size_t node) const { return {nodes_[node].peak, nodes_[node].live, node}; }

  void expand(size_t node) {
    move_to(node);
    std::vector<OpIndex> ready;
    exact_ = step_.ready(kMostReady, ready) && exact_;
    for (const OpIndex op : ready) {
      const size_t before = step_.done();
      Bytes peak = std::max(nodes_[node].peak, run(op));
      if (peak < below_) {
        settle(peak);
        add_node(node, before, peak);
      }
      take_back_to(before);
    }
  }

  void add_node(size_t parent, size_t before, Bytes peak) {
    const std::vector<OpIndex>& order = step_.order();
    nodes_.push_back({.parent = parent,
                      .ops = {order.begin() + static_cast<std::ptrdiff_t>(before), order.end()},
                      .done = step_.done(),
                      .peak = peak,
                      .live = step_.live(),
                      .hash = step_.hash()});
    layers_[step_.done()].push_back(nodes_.size() - 1);
    if (layers_[step_.done()].size() > 8 * width_ + 64) thin(layers_[step_.done()]);
  }

  // Runs what can only do good. `peak`: that of the set; what stays within it costs nothing.
  void settle(Bytes peak) {
    std::vector<OpIndex> ready;
    for (bool again = true; again && !steps_.spent();) {
      again = false;
      (void)step_.ready(kMostReady, ready);
      for (const OpIndex op : ready)
        if (step_.is_ready(op)) again = run_chain(op, peak) || again;
    }
  }

  // The op, and then ops that wait for it alone, until they leave no more bytes than there were before. False: they do
  // not, and nothing has run.
  bool run_chain(OpIndex first, Bytes peak) {
    const size_t before = step_.done();
    const Bytes live = step_.live();
    OpIndex next = first;
    for (int length = 0; length < kMostChain && next.exists(); ++length) {
      if (run(next) > peak) break;
      if (step_.live() <= live) return true;
      next = leanest_follower(step_.order().back());
    }
    take_back_to(before);
    return false;
  }

  // Returns the op that leaves the fewest bytes, of those that follow `op` and may run.
  OpIndex leanest_follower(OpIndex op) {
    OpIndex best;
    Bytes least = 0;
    for (const OpIndex after : problem_.ops[op].after) {
      if (!step_.is_ready(after)) continue;
      (void)run(after);
      if (!best.exists() || step_.live() < least) best = after, least = step_.live();
      take_back();
    }
    return best;
  }

  Bytes run(OpIndex op) {
    steps_.take(1);
    return step_.run(op);
  }
  void take_back() {
    steps_.take(1);
    step_.undo();
  }
  void take_back_to(size_t done) {
    while (step_.done() > done) take_back();
  }

  // Makes the step that of the node, from that of the node where it is.
  void move_to(size_t node) {
    std::vector<size_t> path;
    size_t from = at_, to = node;
    while (from != to) {
      if (nodes_[to].done >= nodes_[from].done) {
        path.push_back(to);
        to = nodes_[to].parent;
      } else {
        from = nodes_[from].parent;
        take_back_to(nodes_[from].done);
      }
    }
    take_back_to(nodes_[from].done);
    for (size_t place = path.size(); place-- > 0;)
      for (const OpIndex op : nodes_[path[place]].ops) (void)run(op);
    at_ = node;
  }

  const OrderProblem& problem_;
  const Bytes below_;
  const size_t width_;
  OrderSteps& steps_;
  PartialStep step_;
  std::vector<Node> nodes_;
  std::vector<std::vector<size_t>> layers_;  // nodes by the number of ops that have run
  size_t at_ = kRoot;
  bool exact_ = true;
};

}  // namespace

BeamResult beam_search(const OrderProblem& problem, Bytes floor, Bytes below, size_t width, OrderSteps& steps) {
  return Beam(problem, floor, below, width, steps).run();
}

}  // namespace pantoum::plan
