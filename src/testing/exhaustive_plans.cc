#include "testing/exhaustive_plans.h"

#include <algorithm>
#include <limits>
#include <queue>

#include "testing/small_step.h"

namespace pantoum::plan_test {
namespace {

// Cheapest first over the states (ops computed, tensors in RAM, tensors in storage, owners of the homes). A* with the
// cheapest choices of what is still to compute as its estimate.
//
// A tensor is freed as late as it can be: when what comes next would not fit, and then no more than that takes; it is
// written to storage at that moment or at the end. Moving a free or a page_out back never hurts, as no plan's energy,
// nor time where that is a sum, depends on when they happen. Where it matters who stands where, it is freed early too.
class Search {
 public:
  Search(const CostGraph& graph, const problem::Question& question, size_t most_states)
      : step_(graph, question), most_states_(most_states) {}

  // Infinity: no plan fits. Nothing: it took more than most_states.
  std::optional<double> run() {
    start();
    while (!open_.empty()) {
      const auto [estimate, at] = open_.top();
      open_.pop();
      const Node node = nodes_[at];
      if (node.last) return step_.value(node.cost, node.seconds);
      if (outdone(node, true)) continue;
      if (nodes_.size() > most_states_) return std::nullopt;
      now_ = static_cast<int32_t>(at);
      expand(node);
    }
    return std::numeric_limits<double>::infinity();
  }

 private:
  struct State {
    Set computed = 0, ram = 0, stored = 0;
    std::array<int8_t, kMostHomes> owner{};  // by home: 1 + the tensor that stands there, or 0
    friend bool operator==(const State&, const State&) = default;
  };
  struct Hash {
    size_t operator()(const State& state) const {
      uint64_t value = state.computed * 0x9e3779b97f4a7c15ULL + state.ram;
      value = (value ^ (value >> 29)) * 0xbf58476d1ce4e5b9ULL + state.stored;
      value = (value ^ (value >> 32)) * 0x94d049bb133111ebULL + std::bit_cast<uint64_t>(state.owner);
      return value ^ (value >> 31);
    }
  };

  struct Node {
    State state;
    double cost = 0, seconds = 0;
    int32_t from = -1;
    bool last = false;
  };
  struct Label {
    double cost, seconds;
  };

  void start() {
    State first{.owner = step_.first_owners()};
    for (const problem::Tensor& tensor : step_.graph().tensors) {
      if (tensor.start == Home::kRam) first.ram |= bit(step_.tensor_of(tensor.id));
      if (tensor.start == Home::kAux) first.stored |= bit(step_.tensor_of(tensor.id));
    }
    if (step_.fits(first.ram, 0, 0)) push({.state = tidied(first)});
  }

  // Without what nobody can want.
  State tidied(State state) {
    const Set want = step_.wanted(state.computed);
    Set gone = 0;
    each(state.ram & ~want, [&](int tensor) { gone |= step_.tensor_at(tensor).pinned ? 0 : bit(tensor); });
    leave(state, gone);
    state.stored &= want;
    return state;
  }

  static void leave(State& state, Set gone) {
    state.ram &= ~gone;
    for (int8_t& owner : state.owner)
      if (owner > 0 && (gone & bit(owner - 1))) owner = 0;
  }

  // ---- search -----------------------------------------------------------------------------------

  // Is there a label of this state that is as good in cost and time? `mine`: the node's own does not count.
  bool outdone(const Node& node, bool mine) {
    for (const Label& label : labels_[node.state]) {
      const bool same = label.cost == node.cost && label.seconds == node.seconds;
      if (label.cost <= node.cost && label.seconds <= node.seconds && !(mine && same)) return true;
    }
    return false;
  }

  void push(Node node) {
    double estimate = node.cost, seconds = node.seconds;
    if (!step_.by_both()) node.seconds = 0;
    if (!node.last) {
      for (size_t op = 0; op < step_.ops().size(); ++op) {
        if (step_.ops()[op].optional || (node.state.computed & bit(static_cast<int>(op)))) continue;
        estimate += step_.ops()[op].least_weight;
        seconds += step_.ops()[op].least_seconds;
      }
      for (size_t tensor = 0; tensor < step_.tensors().size(); ++tensor)
        if (step_.tensors()[tensor].ends_in_aux && !(node.state.stored & bit(static_cast<int>(tensor))))
          estimate += step_.tensors()[tensor].out_weight;
    }
    if (step_.question().deadline && seconds > *step_.question().deadline * (1 + 1e-9)) return;
    if (step_.question().energy_limit && estimate > *step_.question().energy_limit * (1 + 1e-9)) return;
    if (!node.last) {
      if (outdone(node, false)) return;
      std::vector<Label>& labels = labels_[node.state];
      std::erase_if(labels,
                    [&](const Label& label) { return label.cost >= node.cost && label.seconds >= node.seconds; });
      labels.push_back({node.cost, node.seconds});
    }
    node.from = now_;
    open_.emplace(step_.value(estimate, seconds), nodes_.size());
    nodes_.push_back(node);
  }

  void expand(const Node& node) {
    finish(node);
    for (size_t op = 0; op < step_.ops().size(); ++op) {
      const bool recomputes = (node.state.computed & bit(static_cast<int>(op))) != 0;
      if (recomputes ? !step_.ops()[op].may_recompute : !step_.may_begin(node.state.computed, static_cast<int>(op)))
        continue;
      for (const StepChoice& each : step_.ops()[op].ways) compute(node, static_cast<int>(op), each, recomputes);
    }
    each(node.state.stored & ~node.state.ram, [&](int tensor) { page_in(node, tensor); });
    Set movable = step_.movable();
    for (const int8_t owner : node.state.owner) movable |= owner > 0 ? bit(owner - 1) : 0;
    each(node.state.ram & movable, [&](int tensor) {
      if (!step_.tensor_at(tensor).pinned)
        after_leaving(
            node, bit(tensor), bit(tensor), [](State&) {}, 0, 0);
    });
  }

  void finish(const Node& node) {
    Node last = node;
    last.last = true;
    for (size_t op = 0; op < step_.ops().size(); ++op)
      if (!step_.ops()[op].optional && !(node.state.computed & bit(static_cast<int>(op)))) return;
    for (size_t tensor = 0; tensor < step_.tensors().size(); ++tensor) {
      const StepTensor& entry = step_.tensors()[tensor];
      const bool in_ram = (node.state.ram & bit(static_cast<int>(tensor))) != 0;
      const bool at_home =
          entry.home < 0 || node.state.owner[static_cast<size_t>(entry.home)] == static_cast<int8_t>(tensor + 1);
      if (entry.ends_in_ram && !(in_ram && at_home)) return;
      if (!entry.ends_in_aux || (node.state.stored & bit(static_cast<int>(tensor)))) continue;
      if (!in_ram || !entry.may_page) return;
      last.cost += entry.out_weight;
      last.seconds += entry.out_seconds;
    }
    push(last);
  }

  // The tensors `leaving` go from RAM, each with or without a page_out before; `dropped` of them are freed (the bytes
  // of the others have new owners, which `then` sees to).
  template <class Then>
  void after_leaving(const Node& node, Set leaving, Set dropped, Then then, double cost, double seconds) {
    State after = node.state;
    leave(after, dropped);
    then(after);
    Set pageable = 0;
    each(leaving & ~node.state.stored & step_.wanted(after.computed),
         [&](int tensor) { pageable |= step_.tensor_at(tensor).may_page ? bit(tensor) : 0; });
    for (Set paged = pageable;; paged = (paged - 1) & pageable) {
      Node next = node;
      next.state = after;
      next.state.stored |= paged;
      next.cost += cost;
      next.seconds += seconds;
      each(paged, [&](int tensor) {
        next.cost += step_.tensor_at(tensor).out_weight;
        next.seconds += step_.tensor_at(tensor).out_seconds;
      });
      next.state = tidied(next.state);
      push(next);
      if (paged == 0) break;
    }
  }

  void compute(const Node& node, int op, const StepChoice& how, bool recomputes) {
    const State& state = node.state;
    if (how.reads & ~state.ram) return;
    const Set fresh = how.writes & ~state.ram;
    if (recomputes && fresh == 0) return;
    std::vector<std::pair<int, int>> taken;
    takeovers(node, op, how, fresh, 0, taken);
  }

  // Every way to let outputs take over inputs.
  void takeovers(const Node& node, int op, const StepChoice& how, Set fresh, size_t next,
                 std::vector<std::pair<int, int>>& taken) {
    if (next == how.over.size()) return compute_with(node, op, how, fresh, taken);
    takeovers(node, op, how, fresh, next + 1, taken);
    const auto [out, in] = how.over[next];
    for (const auto& pair : taken)
      if (pair.second == in) return;
    if (!(fresh & bit(out))) return;
    taken.emplace_back(out, in);
    takeovers(node, op, how, fresh, next + 1, taken);
    taken.pop_back();
  }

  void compute_with(const Node& node, int op, const StepChoice& how, Set fresh,
                    const std::vector<std::pair<int, int>>& taken) {
    Set sources = 0, placed = fresh;
    for (const auto& [out, in] : taken) sources |= bit(in), placed &= ~bit(out);
    Set loose = 0;
    each(node.state.ram & ~how.reads & ~how.writes,
         [&](int tensor) { loose |= step_.tensor_at(tensor).pinned ? 0 : bit(tensor); });
    step_.least_frees(node.state.ram, loose, placed, how.workspace, 0, [&](Set freed) {
      each_placement(node.state, freed, placed, [&](const Places& places) {
        const auto then = [&](State& after) {
          after.computed |= bit(op);
          after.ram = (after.ram & ~sources) | how.writes;
          for (const auto& [out, in] : taken)
            for (int8_t& owner : after.owner)
              if (owner == in + 1) owner = static_cast<int8_t>(out + 1);
          settle(after, places);
        };
        after_leaving(node, freed | sources, freed, then, how.weight, how.seconds);
      });
    });
  }

  void page_in(const Node& node, int tensor) {
    if (!(step_.wanted(node.state.computed) & bit(tensor))) return;
    Set loose = 0;
    each(node.state.ram, [&](int other) { loose |= step_.tensor_at(other).pinned ? 0 : bit(other); });
    step_.least_frees(node.state.ram, loose, bit(tensor), 0, 0, [&](Set freed) {
      each_placement(node.state, freed, bit(tensor), [&](const Places& places) {
        const auto then = [&](State& after) {
          after.ram |= bit(tensor);
          settle(after, places);
        };
        after_leaving(node, freed, freed, then, step_.tensor_at(tensor).in_weight, step_.tensor_at(tensor).in_seconds);
      });
    });
  }

  using Places = std::vector<std::pair<int, int>>;  // (tensor, home)

  // Every way to put tensors that are `placed` at homes that are empty, or elsewhere.
  template <class Visit>
  void each_placement(State state, Set freed, Set placed, Visit visit) const {
    leave(state, freed);
    Places places;
    place_next(state, placed, places, visit);
  }

  template <class Visit>
  void place_next(const State& state, Set placed, Places& places, Visit& visit) const {
    if (placed == 0) return visit(places);
    const int tensor = std::countr_zero(placed);
    const Set rest = placed & (placed - 1);
    place_next(state, rest, places, visit);
    each(step_.tensor_at(tensor).homes, [&](int home) {
      if (state.owner[static_cast<size_t>(home)] != 0) return;
      for (const auto& other : places)
        if (other.second == home) return;
      places.emplace_back(tensor, home);
      place_next(state, rest, places, visit);
      places.pop_back();
    });
  }

  static void settle(State& state, const Places& places) {
    for (const auto& [tensor, home] : places) state.owner[static_cast<size_t>(home)] = static_cast<int8_t>(tensor + 1);
  }

  SmallStep step_;
  const size_t most_states_;
  int32_t now_ = -1;
  std::vector<Node> nodes_;
  std::priority_queue<std::pair<double, size_t>, std::vector<std::pair<double, size_t>>, std::greater<>> open_;
  std::unordered_map<State, std::vector<Label>, Hash> labels_;
};

}  // namespace

std::optional<double> exhaustive_optimum(const CostGraph& graph, const problem::Question& question,
                                         size_t most_states) {
  if (!SmallStep::is_small(graph)) return std::nullopt;
  return Search(graph, question, most_states).run();
}

}  // namespace pantoum::plan_test
