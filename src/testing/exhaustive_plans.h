// The least that any plan of a small cost graph costs, by exhaustive search: what the planner's bounds and plans are
// held against in tests. Shares nothing with the planner; the rules are those of semantics.md.
//
// A relaxation: offsets are not searched. The tensors in RAM, workspace and staging fit when their sizes, rounded up to
// the alignment but for one, do not exceed the RAM; that is necessary in every arena. What starts in RAM and has a
// successor to stand in its place is followed from owner to owner. With an asynchronous pager transfers take no time.
// So the optimum found is at most the true one, and equal to it where the offsets fit and time is either irrelevant or
// a sum (no pager, or a synchronous one). What takes the bytes of a page_out that has not ended waits for it, so that here
// nothing is refused for it, and nothing waits.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "problem/cost_graph.h"
#include "problem/plan.h"

namespace pantoum::plan_test {

using problem::Bytes;
using problem::CostGraph;
using problem::Home;

// Cheapest first over the states (ops computed, tensors in RAM, tensors in storage, owners of the homes). A* with the
// cheapest choices of what is still to compute as its estimate.
//
// A tensor is freed as late as it can be: when what comes next would not fit, and then no more than that takes; it is
// written to storage at that moment or at the end. Moving a free or a page_out back never hurts, as no plan's energy,
// nor time where that is a sum, depends on when they happen. Where it matters who stands where, it is freed early too.
class Exhaustive {
 public:
  Exhaustive(const CostGraph& graph, const problem::Question& question, size_t most_states)
      : graph_(graph), question_(question), ram_(question.budget_bytes()), most_states_(most_states) {
    small_ = graph.tensors.size() <= 32 && graph.ops.size() <= 32;
    if (!small_) return;
    add_tensors();
    add_ops();
    add_homes();
  }

  // Infinity: no plan fits. Nothing: the graph is too large, or took more than most_states.
  std::optional<double> run() {
    if (!small_) return std::nullopt;
    start();
    while (!open_.empty()) {
      const auto [estimate, at] = open_.top();
      open_.pop();
      const Node node = nodes_[at];
      if (node.last) return value(node.cost, node.seconds);
      if (outdone(node, true)) continue;
      if (nodes_.size() > most_states_) return std::nullopt;
      now_ = static_cast<int32_t>(at);
      expand(node);
    }
    return std::numeric_limits<double>::infinity();
  }

  [[nodiscard]] size_t states() const { return nodes_.size(); }

 private:
  using Set = uint32_t;  // of tensors or ops
  static constexpr size_t kMostHomes = 8;

  struct Way {  // a permitted choice
    int number = 0;
    double weight = 0, seconds = 0;
    Bytes workspace = 0;
    Set reads = 0, writes = 0;
    std::vector<std::pair<int, int>> over;  // (output, input whose bytes it may take)
  };

  struct Work {  // an op
    size_t position = 0;
    bool again = false, optional = false;
    std::vector<Way> ways;
    double least_weight = 0, least_seconds = 0;
    Set reads = 0;  // of any way
  };

  struct Thing {  // a tensor
    Bytes bytes = 0, size = 0;
    bool pinned = false, ends_in_ram = false, ends_in_aux = false, may_page = false;
    int producer = -1;
    int home = -1;  // where it must end
    uint32_t homes =
        0;  // where it may want to stand: its home, or that of a tensor that may come to take its bytes over
    double in_weight = 0, out_weight = 0, in_seconds = 0, out_seconds = 0;
  };

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

  static constexpr Set bit(int index) { return Set{1} << index; }
  template <class Visit>
  static void each(Set set, Visit visit) {
    for (; set != 0; set &= set - 1) visit(std::countr_zero(set));
  }
  [[nodiscard]] const Thing& thing(int tensor) const { return things_[static_cast<size_t>(tensor)]; }
  [[nodiscard]] Bytes rounded(Bytes bytes) const {
    const Bytes align = std::max<Bytes>(1, graph_.device.align_bytes);
    return (bytes + align - 1) / align * align;
  }
  // Costs are energies, unless time alone matters.
  [[nodiscard]] bool by_energy() const {
    return question_.objective != problem::Objective::kTime || question_.energy_limit.has_value();
  }
  [[nodiscard]] bool by_both() const {
    return question_.deadline || question_.energy_limit || question_.objective == problem::Objective::kEdp;
  }
  [[nodiscard]] double value(double cost, double seconds) const {
    if (question_.objective == problem::Objective::kEdp) return cost * seconds;
    return question_.objective == problem::Objective::kTime && by_energy() ? seconds : cost;
  }
  [[nodiscard]] double weight(double joules, double seconds) const {
    return by_energy() ? joules + graph_.device.idle_w * seconds : seconds;
  }

  // ---- the question -----------------------------------------------------------------------------

  void add_tensors() {
    const problem::Pager& pager = graph_.device.pager;
    const bool storage = pager.mode != problem::PagerMode::kNone, blocks = pager.mode == problem::PagerMode::kSync;
    for (const problem::Tensor& tensor : graph_.tensors) {
      tensor_of_[tensor.id] = static_cast<int>(things_.size());
      Thing entry{.bytes = tensor.bytes, .size = rounded(tensor.bytes), .pinned = tensor.pinned};
      const double in = problem::transfer_seconds(pager, pager.in, tensor.bytes);
      const double out = problem::transfer_seconds(pager, pager.out, tensor.bytes);
      entry.in_seconds = blocks ? in : 0;
      entry.out_seconds = blocks ? out : 0;
      entry.in_weight = weight(in * pager.in.w, entry.in_seconds);
      entry.out_weight = weight(out * pager.out.w, entry.out_seconds);
      entry.ends_in_ram = tensor.end == Home::kRam;
      entry.ends_in_aux = tensor.end == Home::kAux;
      entry.may_page = storage && question_.freedoms.paging;
      if (tensor.start == Home::kRom) rom_ |= bit(tensor_of_[tensor.id]);
      things_.push_back(entry);
    }
  }

  void add_ops() {
    std::map<int64_t, size_t> position;
    for (size_t at = 0; at < graph_.order.size(); ++at) position[graph_.order[at]] = at;
    for (const problem::Op& op : graph_.ops) {
      Work work{.position = position.at(op.id),
                .again = op.recompute && question_.freedoms.recomputing,
                .optional = op.optional};
      for (size_t number = 0; number < op.choices.size(); ++number) {
        if (!question_.freedoms.numerics && op.choices[number].numerics != op.choices[0].numerics) continue;
        work.ways.push_back(way(op, static_cast<int>(number)));
        work.reads |= work.ways.back().reads;
      }
      work.least_weight = work.least_seconds = std::numeric_limits<double>::infinity();
      for (const Way& each : work.ways) {
        work.least_weight = std::min(work.least_weight, each.weight);
        work.least_seconds = std::min(work.least_seconds, each.seconds);
      }
      for (const int64_t output : op.outputs)
        things_[static_cast<size_t>(tensor_of_.at(output))].producer = static_cast<int>(works_.size());
      works_.push_back(std::move(work));
    }
  }

  [[nodiscard]] Way way(const problem::Op& op, int number) const {
    const problem::Choice& choice = op.choices[static_cast<size_t>(number)];
    Way entry{.number = number,
              .weight = weight(choice.energy_j, choice.time_s),
              .seconds = choice.time_s,
              .workspace = choice.workspace_bytes};
    const auto input = [&](int at) { return tensor_of_.at(op.inputs[static_cast<size_t>(at)]); };
    const auto output = [&](int at) { return tensor_of_.at(op.outputs[static_cast<size_t>(at)]); };
    for (const int at : choice.reads) entry.reads |= bit(input(at));
    for (const int at : choice.writes) entry.writes |= bit(output(at));
    entry.reads &= ~rom_;
    for (const auto& [out, in] : choice.overwrites) {  // an output's last pair counts
      std::erase_if(entry.over, [&, out_at = out](const auto& pair) { return pair.first == output(out_at); });
      const problem::Tensor& source = graph_.tensors[static_cast<size_t>(input(in))];
      const bool heir = source.next == op.outputs[static_cast<size_t>(out)];
      const Bytes bytes = thing(output(out)).bytes;
      if ((heir || (question_.freedoms.in_place && !source.pinned)) && source.start != Home::kRom && bytes > 0 &&
          bytes <= source.bytes)
        entry.over.emplace_back(output(out), input(in));
    }
    return entry;
  }

  // Duties of the end, and the places of the start that somebody must find again.
  void add_homes() {
    for (const problem::Tensor& tensor : graph_.tensors) {
      const int64_t heir_id = tensor.next >= 0 ? tensor.next : tensor.end == Home::kRam ? tensor.id : -1;
      if (heir_id < 0) continue;
      const int heir = tensor_of_.at(heir_id), old = tensor_of_.at(tensor.id);
      Thing& entry = things_[static_cast<size_t>(heir)];
      if (tensor.start == Home::kAux) entry.ends_in_aux = true;
      if (tensor.start != Home::kRam) continue;
      entry.ends_in_ram = true;
      if (entry.bytes == 0 || tensor.bytes == 0 || entry.home >= 0 || homes_ == kMostHomes) continue;
      entry.home = static_cast<int>(homes_);
      first_.owner[homes_++] = static_cast<int8_t>(old + 1);
    }
    spread_homes();
    for (size_t tensor = 0; tensor < things_.size(); ++tensor)  // a duty is paged whatever the freedoms
      if (things_[tensor].ends_in_aux) things_[tensor].may_page = graph_.device.pager.mode != problem::PagerMode::kNone;
  }

  void spread_homes() {
    for (size_t tensor = 0; tensor < things_.size(); ++tensor)
      if (things_[tensor].home >= 0) things_[tensor].homes = bit(things_[tensor].home);
    for (bool more = true; more;) {
      more = false;
      for (const Work& work : works_)
        for (const Way& each : work.ways)
          for (const auto& [out, in] : each.over) {
            Set& homes = things_[static_cast<size_t>(in)].homes;
            more = more || (thing(out).homes & ~homes) != 0;
            homes |= thing(out).homes;
            if (thing(in).pinned) movable_ |= bit(out);
          }
    }
    for (size_t tensor = 0; tensor < things_.size(); ++tensor)
      if (things_[tensor].homes != 0) movable_ |= bit(static_cast<int>(tensor));
  }

  void start() {
    for (const problem::Tensor& tensor : graph_.tensors) {
      if (tensor.start == Home::kRam) first_.ram |= bit(tensor_of_.at(tensor.id));
      if (tensor.start == Home::kAux) first_.stored |= bit(tensor_of_.at(tensor.id));
    }
    if (!fits(first_.ram, 0, 0, 0)) return;
    push({.state = tidied(first_)});
  }

  // ---- memory -----------------------------------------------------------------------------------

  // Tensors in `ram` and `fresh`, a workspace and what `more` says: do they fit?
  [[nodiscard]] bool fits(Set ram, Set fresh, Bytes workspace, Bytes more) const {
    Bytes load = 0, slack = 0;
    const auto add = [&](Bytes bytes) {
      load += rounded(bytes);
      slack = std::max(slack, rounded(bytes) - bytes);
    };
    add(graph_.device.pager.staging_bytes);
    add(workspace);
    each(ram | fresh, [&](int tensor) { add(thing(tensor).bytes); });
    return load + more - slack <= ram_;
  }

  // Calls visit(set) with every least set of tensors in `from` to give up so that the others fit.
  template <class Visit>
  void least_frees(Set ram, Set from, Set fresh, Bytes workspace, Set chosen, Visit visit) const {
    if (fits(ram & ~chosen, fresh, workspace, 0)) {
      bool least = true;
      each(chosen, [&](int tensor) { least = least && !fits((ram & ~chosen) | bit(tensor), fresh, workspace, 0); });
      if (least) visit(chosen);
      return;
    }
    while (from != 0) {
      const Set tensor = from & -from;
      from &= ~tensor;
      least_frees(ram, from, fresh, workspace, chosen | tensor, visit);
    }
  }

  // ---- what may still be asked for ----------------------------------------------------------------

  [[nodiscard]] bool may_begin(const State& state, int op) const {  // its first computation
    if (state.computed & bit(op)) return false;
    if (question_.freedoms.reordering) return true;
    const Work& work = works_[static_cast<size_t>(op)];
    for (size_t other = 0; other < works_.size(); ++other) {
      const bool done = (state.computed & bit(static_cast<int>(other))) != 0;
      if (works_[other].position > work.position && done) return false;
      if (works_[other].position < work.position && !done && !works_[other].optional) return false;
    }
    return true;
  }
  [[nodiscard]] bool over_and_done(Set computed, size_t op) const {  // can never be computed any more
    if (computed & bit(static_cast<int>(op))) return !works_[op].again;
    if (question_.freedoms.reordering) return false;
    for (size_t other = 0; other < works_.size(); ++other)
      if (works_[other].position > works_[op].position && (computed & bit(static_cast<int>(other)))) return true;
    return false;
  }

  // Tensors that anything may need once `computed` are: duties, what the others read, what those are made of.
  Set wanted(Set computed) {
    const auto [entry, fresh] = wanted_.try_emplace(computed, 0);
    if (!fresh) return entry->second;
    Set set = 0;
    for (size_t tensor = 0; tensor < things_.size(); ++tensor)
      if (things_[tensor].ends_in_ram || things_[tensor].ends_in_aux) set |= bit(static_cast<int>(tensor));
    for (size_t op = 0; op < works_.size(); ++op)
      if (!(computed & bit(static_cast<int>(op))) && !over_and_done(computed, op)) set |= works_[op].reads;
    for (Set before = 0; before != set;) {
      before = set;
      each(before, [&](int tensor) {
        const int producer = thing(tensor).producer;
        if (producer >= 0 && !over_and_done(computed, static_cast<size_t>(producer)))
          set |= works_[static_cast<size_t>(producer)].reads;
      });
    }
    return entry->second = set;
  }

  // Without what nobody can want.
  State tidied(State state) {
    const Set want = wanted(state.computed);
    Set gone = 0;
    each(state.ram & ~want, [&](int tensor) { gone |= thing(tensor).pinned ? 0 : bit(tensor); });
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
    if (!by_both()) node.seconds = 0;
    if (!node.last) {
      for (size_t op = 0; op < works_.size(); ++op) {
        if (works_[op].optional || (node.state.computed & bit(static_cast<int>(op)))) continue;
        estimate += works_[op].least_weight;
        seconds += works_[op].least_seconds;
      }
      for (size_t tensor = 0; tensor < things_.size(); ++tensor)
        if (things_[tensor].ends_in_aux && !(node.state.stored & bit(static_cast<int>(tensor))))
          estimate += things_[tensor].out_weight;
    }
    if (question_.deadline && seconds > *question_.deadline * (1 + 1e-9)) return;
    if (question_.energy_limit && estimate > *question_.energy_limit * (1 + 1e-9)) return;
    if (!node.last) {
      if (outdone(node, false)) return;
      std::vector<Label>& labels = labels_[node.state];
      std::erase_if(labels,
                    [&](const Label& label) { return label.cost >= node.cost && label.seconds >= node.seconds; });
      labels.push_back({node.cost, node.seconds});
    }
    node.from = now_;
    open_.emplace(value(estimate, seconds), nodes_.size());
    nodes_.push_back(node);
  }

  void expand(const Node& node) {
    finish(node);
    for (size_t op = 0; op < works_.size(); ++op) {
      const bool again = (node.state.computed & bit(static_cast<int>(op))) != 0;
      if (again ? !works_[op].again : !may_begin(node.state, static_cast<int>(op))) continue;
      for (const Way& each : works_[op].ways) compute(node, static_cast<int>(op), each, again);
    }
    each(node.state.stored & ~node.state.ram, [&](int tensor) { page_in(node, tensor); });
    Set movable = movable_;
    for (const int8_t owner : node.state.owner) movable |= owner > 0 ? bit(owner - 1) : 0;
    each(node.state.ram & movable, [&](int tensor) {
      if (!thing(tensor).pinned)
        after_leaving(
            node, bit(tensor), bit(tensor), [](State&) {}, 0, 0);
    });
  }

  void finish(const Node& node) {
    Node last = node;
    last.last = true;
    for (size_t op = 0; op < works_.size(); ++op)
      if (!works_[op].optional && !(node.state.computed & bit(static_cast<int>(op)))) return;
    for (size_t tensor = 0; tensor < things_.size(); ++tensor) {
      const Thing& entry = things_[tensor];
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
    each(leaving & ~node.state.stored & wanted(after.computed),
         [&](int tensor) { pageable |= thing(tensor).may_page ? bit(tensor) : 0; });
    for (Set paged = pageable;; paged = (paged - 1) & pageable) {
      Node next = node;
      next.state = after;
      next.state.stored |= paged;
      next.cost += cost;
      next.seconds += seconds;
      each(paged, [&](int tensor) {
        next.cost += thing(tensor).out_weight;
        next.seconds += thing(tensor).out_seconds;
      });
      next.state = tidied(next.state);
      push(next);
      if (paged == 0) break;
    }
  }

  void compute(const Node& node, int op, const Way& how, bool again) {
    const State& state = node.state;
    if (how.reads & ~state.ram) return;
    const Set fresh = how.writes & ~state.ram;
    if (again && fresh == 0) return;
    std::vector<std::pair<int, int>> taken;
    takeovers(node, op, how, fresh, 0, taken);
  }

  // Every way to let outputs take over inputs.
  void takeovers(const Node& node, int op, const Way& how, Set fresh, size_t next,
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

  void compute_with(const Node& node, int op, const Way& how, Set fresh,
                    const std::vector<std::pair<int, int>>& taken) {
    Set sources = 0, placed = fresh;
    for (const auto& [out, in] : taken) sources |= bit(in), placed &= ~bit(out);
    Set loose = 0;
    each(node.state.ram & ~how.reads & ~how.writes,
         [&](int tensor) { loose |= thing(tensor).pinned ? 0 : bit(tensor); });
    least_frees(node.state.ram, loose, placed, how.workspace, 0, [&](Set freed) {
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
    if (!(wanted(node.state.computed) & bit(tensor))) return;
    Set loose = 0;
    each(node.state.ram, [&](int other) { loose |= thing(other).pinned ? 0 : bit(other); });
    least_frees(node.state.ram, loose, bit(tensor), 0, 0, [&](Set freed) {
      each_placement(node.state, freed, bit(tensor), [&](const Places& places) {
        const auto then = [&](State& after) {
          after.ram |= bit(tensor);
          settle(after, places);
        };
        after_leaving(node, freed, freed, then, thing(tensor).in_weight, thing(tensor).in_seconds);
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
    each(thing(tensor).homes, [&](int home) {
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

  const CostGraph& graph_;
  const problem::Question question_;
  const Bytes ram_;
  const size_t most_states_;
  bool small_ = true;
  std::map<int64_t, int> tensor_of_;
  std::vector<Thing> things_;
  std::vector<Work> works_;
  Set rom_ = 0, movable_ = 0;  // movable: freed early too, as it may matter where they stand
  size_t homes_ = 0;
  State first_;
  int32_t now_ = -1;
  std::vector<Node> nodes_;
  std::priority_queue<std::pair<double, size_t>, std::vector<std::pair<double, size_t>>, std::greater<>> open_;
  std::unordered_map<State, std::vector<Label>, Hash> labels_;
  std::unordered_map<Set, Set> wanted_;
};

// The value of the cheapest plan (of the relaxation above). Infinity: there is none. Nothing: gave up.
[[nodiscard]] inline std::optional<double> exhaustive_optimum(const CostGraph& graph, const problem::Question& question,
                                                              size_t most_states = 200'000) {
  return Exhaustive(graph, question, most_states).run();
}

}  // namespace pantoum::plan_test
