// POFO: Efficient Combination of Rematerialization and Offloading for Training DNNs (Beaumont, Eyraud-Dubois, Shilova,
// NeurIPS 2021). Chains only (task.h; E0304 where the graph is none).
//
//   state  0 1 2 3 4 5 6 7 8         retained, offloaded or dropped when first computed
//          K . . O . K K . .         K retained in RAM, O written to storage: both end a segment of the chain
//
//   The forward part runs once. Backward, segment by segment from the last: an offloaded state is fetched, and the
//   dropped states of the segment are recomputed from the one that opens it, by the optimal recursion of rotor
//   (Herrmann et al., 2019) in the RAM that the retained states leave:
//
//     recompute(s, e, m) = min over s < j < e of
//                            cost of s+1 .. j  +  recompute(j, e, m - bytes of j)  +  recompute(s, j, m)
//     plan(s, m)         = min over e > s, e retained or offloaded, of
//                            recompute(s, e, m') (+ moving e)  +  plan(e, m - bytes of e where it is retained)
//
// As published: a state is written at most once, ahead of the loss, and read once; a segment is offloaded or
// recomputed, not both by turns. The paper minimises time, with transfers beside compute; here the objective's cost is:
// joules, or seconds where a transfer costs what the segment's own computes do not cover. RAM is cut into 256 parts.
// What a step needs beside the states (gradients, workspaces) is in the recursion as one figure per step; the exact
// replay judges, and the program is solved again with less RAM until its schedule fits.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "plan/baselines/methods.h"
#include "plan/baselines/task.h"

namespace pantoum::plan::baseline {
namespace {

constexpr int32_t kMostLayers = 128;
constexpr int32_t kParts = 256;  // of RAM
constexpr double kNever = std::numeric_limits<double>::infinity();

// The chain's figures. State -1 is there at the start and takes nothing.
struct Figures {
  Indexed<int32_t, Bytes> state;                         // by state: bytes
  Indexed<int32_t, Bytes> forward_bytes;                 // by state: bytes beside its predecessor while it is computed
  Indexed<int32_t, Bytes> step_bytes;                    // by step: bytes beside the states while its ops run
  Indexed<int32_t, double> compute, transfer;            // by state: cost to compute, to write and read
  Indexed<int32_t, Seconds> seconds, moving_s;           // by state
  Indexed<int32_t, char> may_offload, read_by_own_step;  // by state
};

class Surveyor {
 public:
  Surveyor(const Task& task, const Chain& chain) : task_(task), chain_(chain) {}

  Figures run() {
    state_of_.assign(task_.model.tensors.size(), -1);
    for (int32_t state = 0; state < chain_.length(); ++state)
      for (const TensorIndex tensor : writes(state)) state_of_[tensor] = state;
    for (int32_t state = 0; state < chain_.length(); ++state) add_state(state);
    figures_.read_by_own_step.assign(chain_.forward.size(), 0);
    for (int32_t step = 0; step <= chain_.length(); ++step) add_step(step);
    return std::move(figures_);
  }

 private:
  const std::vector<TensorIndex>& writes(int32_t state) const { return task_.kernel(chain_.forward[state]).writes; }

  void add_state(int32_t state) {
    const ChoiceModel& kernel = task_.kernel(chain_.forward[state]);
    Bytes bytes = 0;
    Joules joules = 0;
    Seconds seconds = 0;
    bool may = true;
    for (const TensorIndex tensor : kernel.writes) {
      const TensorModel& entry = task_.model.tensors[tensor];
      bytes += entry.size;
      joules += entry.in_j + entry.out_j;
      seconds += entry.in_s + entry.out_s;
      may = may && entry.can_page;
    }
    figures_.state.push_back(bytes);
    figures_.forward_bytes.push_back(bytes + kernel.workspace);
    figures_.compute.push_back(task_.price(kernel));
    figures_.transfer.push_back(joules);
    figures_.seconds.push_back(kernel.seconds);
    figures_.moving_s.push_back(seconds);
    figures_.may_offload.push_back(may);
  }

  void add_step(int32_t step) {
    Bytes most = 0;
    for (const OpIndex op : chain_.steps[step]) {
      const ChoiceModel& kernel = task_.kernel(op);
      Bytes bytes = kernel.workspace;
      for (const TensorIndex tensor : kernel.writes) bytes += task_.model.tensors[tensor].size;
      for (const TensorIndex tensor : kernel.reads) {
        const int32_t state = state_of_[tensor];
        if (state < 0 && task_.model.tensors[tensor].start == Home::kNone) bytes += task_.model.tensors[tensor].size;
        if (state >= 0 && state == step) figures_.read_by_own_step[state] = 1;
      }
      most = std::max(most, bytes);
    }
    figures_.step_bytes.push_back(most);
  }

  const Task& task_;
  const Chain& chain_;
  Indexed<TensorIndex, int32_t> state_of_;
  Figures figures_;
};

// The two recursions over RAM in parts; states are counted from 0 = the start, so that state s of the chain is s + 1.
class Table {
 public:
  Table(const Task& task, const Figures& figures, Bytes budget)
      : figures_(figures),
        last_(static_cast<int32_t>(figures.state.size()) + 1),
        part_(std::max<Bytes>(1, budget / kParts)) {
    const bool energy = task.options.question.objective == Objective::kEnergy;
    for (int32_t state = 0; state < last_ - 1; ++state)
      transfer_.push_back(energy ? figures.transfer[state] : figures.moving_s[state]);
    covered_ = !energy;
    fill_recompute();
    fill_plan();
  }

  double cost() const { return plan_[plan_at(0, kParts)].cost; }
  int32_t last() const { return last_; }

  struct Choice {
    double cost = kNever;
    int32_t next = -1;  // end of the segment, or the state that is held
    bool offload = false;
  };
  const Choice& segment(int32_t state, int32_t budget, bool offloaded) const {
    return (offloaded ? offloaded_ : plan_)[plan_at(state, budget)];
  }
  const Choice& hold(int32_t from, int32_t to, int32_t budget) const {
    return recompute_[recompute_at(from, to, budget)];
  }
  int32_t parts(int32_t state) const {  // rounded up
    return state == 0 || state == last_ ? 0 : to_parts(figures_.state[state - 1]);
  }
  // Returns the budget for the steps up to `middle`. Where its own step reads `middle`, that is held until the step
  // is done.
  int32_t left_budget(int32_t middle, int32_t budget) const {
    return figures_.read_by_own_step[middle - 1] ? budget - parts(middle) : budget;
  }
  // Returns what the segment's recomputations may take.
  int32_t inner(int32_t from, int32_t to, int32_t budget, bool opens_offloaded) const {
    return budget - (opens_offloaded ? parts(from) : 0) -
           (to < last_ && figures_.read_by_own_step[to - 1] ? parts(to) : 0);
  }

 private:
  int32_t to_parts(Bytes bytes) const { return static_cast<int32_t>((bytes + part_ - 1) / part_); }
  int32_t plan_at(int32_t state, int32_t budget) const { return state * (kParts + 1) + budget; }
  int32_t recompute_at(int32_t from, int32_t to, int32_t budget) const {
    return (from * (last_ + 1) + to) * (kParts + 1) + budget;
  }

  // Parts beside the state `from` that steps to .. from + 1 and their forward ops need at once, nothing held.
  int32_t least_parts(int32_t from, int32_t to) const {
    Bytes most = 0;
    for (int32_t state = from + 1; state < to; ++state) {
      const Bytes before = state - 1 > from ? figures_.state[state - 2] : 0;
      most = std::max(most, before + figures_.forward_bytes[state - 1] + gradient(to));
    }
    for (int32_t step = from + 1; step <= to; ++step) {
      const Bytes own = step - 1 > from ? figures_.state[step - 2] : 0;
      most = std::max(most, own + figures_.step_bytes[step - 1]);
    }
    return to_parts(most);
  }
  // Returns the bytes of the gradient that the segment's first step reads.
  Bytes gradient(int32_t to) const { return to < last_ ? figures_.step_bytes[to] / 2 : 0; }

  void fill_recompute() {
    recompute_.assign(position_of(recompute_at(last_, last_, kParts) + 1), {});
    for (int32_t length = 1; length <= last_; ++length)
      for (int32_t from = 0; from + length <= last_; ++from) {
        const int32_t to = from + length, least = least_parts(from, to);
        for (int32_t budget = std::max(0, std::min(least, kParts + 1)); budget <= kParts; ++budget)
          recompute_[recompute_at(from, to, budget)] = best_hold(from, to, budget);
      }
  }

  Choice best_hold(int32_t from, int32_t to, int32_t budget) const {
    Choice best;
    if (to == from + 1) best.cost = 0;
    double advance = 0;
    for (int32_t middle = from + 1; middle < to; ++middle) {
      advance += figures_.compute[middle - 1];
      if (parts(middle) > budget) continue;
      const int32_t left = left_budget(middle, budget);
      if (left < 0) continue;
      const double cost = advance + recompute_[recompute_at(middle, to, budget - parts(middle))].cost +
                          recompute_[recompute_at(from, middle, left)].cost;
      if (cost < best.cost) best = {cost, middle, false};
    }
    return best;
  }

  // plan_[state][budget]: the states up to `state` are settled, `budget` is what the retained ones leave. An offloaded
  // `state` is in RAM while its segment runs: its parts come off in `inner`.
  void fill_plan() {
    plan_.assign(position_of(plan_at(last_, kParts) + 1), {});
    offloaded_.assign(plan_.size(), {});
    for (int32_t budget = 0; budget <= kParts; ++budget)
      plan_[plan_at(last_, budget)].cost = offloaded_[plan_at(last_, budget)].cost = 0;
    for (int32_t state = last_ - 1; state >= 0; --state)
      for (int32_t budget = 0; budget <= kParts; ++budget) {
        plan_[plan_at(state, budget)] = best_segment(state, budget, false);
        offloaded_[plan_at(state, budget)] = best_segment(state, budget, true);
      }
  }

  Choice best_segment(int32_t state, int32_t budget, bool opens_offloaded) const {
    Choice best;
    double computes = 0;
    for (int32_t end = state + 1; end <= last_; ++end) {
      if (end < last_) computes += figures_.seconds[end - 1];
      const int32_t inside = inner(state, end, budget, opens_offloaded);
      if (inside < 0) continue;
      const double own = recompute_[recompute_at(state, end, inside)].cost;
      if (own == kNever) continue;
      if (end == last_) {
        if (own < best.cost) best = {own, end, false};
        continue;
      }
      if (parts(end) <= budget) {
        const double retained = own + plan_[plan_at(end, budget - parts(end))].cost;
        if (retained < best.cost) best = {retained, end, false};
      }
      if (!figures_.may_offload[end - 1]) continue;
      const double move = covered_ ? std::max(0.0, transfer_[end - 1] - 2 * computes) : transfer_[end - 1];
      const double paged = own + move + offloaded_[plan_at(end, budget)].cost;
      if (paged < best.cost) best = {paged, end, true};
    }
    return best;
  }

  const Figures& figures_;
  const int32_t last_;  // number of states, the start included
  const Bytes part_;
  bool covered_ = false;
  Indexed<int32_t, double> transfer_;  // by state of the chain
  Indexed<int32_t, Choice> recompute_, plan_, offloaded_;
};

class ChainWriter {
 public:
  ChainWriter(const Task& task, const Chain& chain, const Table& table)
      : task_(task),
        chain_(chain),
        table_(table),
        there_(position_of(table.last() + 1), 0),
        offload_(there_.size(), 0) {}

  std::vector<Action> run() {
    const std::vector<Segment> segments = choose_segments();
    for (int32_t state = 1; state < table_.last(); ++state) {
      compute(state);
      if (offload_[state]) move(state, Do::kPageOut);
    }
    there_[table_.last() - 1] = 1;
    for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
      if (segment->fetch && !there_[segment->from]) move(segment->from, Do::kPageIn);
      reverse(segment->from, segment->to, segment->budget);
    }
    return std::move(actions_);
  }

 private:
  struct Segment {
    int32_t from, to, budget;
    bool fetch;
  };

  // Returns the segments in the order of the chain, and notes which states are retained and which are offloaded.
  std::vector<Segment> choose_segments() {
    std::vector<Segment> segments;
    int32_t state = 0, budget = kParts;
    bool fetched = false;
    while (state < table_.last()) {
      const Table::Choice choice = table_.segment(state, budget, fetched);
      segments.push_back({state, choice.next, table_.inner(state, choice.next, budget, fetched), fetched});
      if (choice.next < table_.last()) {
        there_[choice.next] = !choice.offload;
        offload_[choice.next] = choice.offload;
        if (!choice.offload) budget -= table_.parts(choice.next);
      }
      fetched = choice.offload;
      state = choice.next;
    }
    return segments;
  }

  OpIndex op(int32_t state) const { return chain_.forward[state - 1]; }
  void compute(int32_t state) { actions_.push_back(computing(op(state))); }
  void move(int32_t state, Do what) {
    for (const TensorIndex tensor : task_.kernel(op(state)).writes) actions_.push_back(moving(what, tensor));
    there_[state] = what == Do::kPageIn;
  }

  // Steps to .. from + 1; state `from` is there, and `to` until its step is done.
  void reverse(int32_t from, int32_t to, int32_t budget) {
    if (to == from + 1) {
      for (const OpIndex each : chain_.steps[to - 1]) actions_.push_back(computing(each));
      return;
    }
    const int32_t middle = table_.hold(from, to, budget).next;
    int32_t nearest = from;  // what is there still (the last state, when backward begins) is not recomputed
    for (int32_t state = from + 1; state <= middle; ++state)
      if (there_[state]) nearest = state;
    for (int32_t state = nearest + 1; state <= middle; ++state) compute(state);
    there_[middle] = 1;
    reverse(middle, to, budget - table_.parts(middle));
    reverse(from, middle, table_.left_budget(middle, budget));
    there_[middle] = 0;
  }

  const Task& task_;
  const Chain& chain_;
  const Table& table_;
  Indexed<int32_t, char> there_, offload_;  // by state
  std::vector<Action> actions_;
};

}  // namespace

Result<Plan> pofo(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Task task, ask(graph, options, "pofo"));
  PANTOUM_ASSIGN(const Chain chain, find_chain(task));
  if (chain.length() > kMostLayers)
    return does_not_apply(task,
                          fmt::format("too large for its table: {} layers (at most {})", chain.length(), kMostLayers));
  const Figures figures = Surveyor(task, chain).run();
  Result<Plan> plan = no_schedule(task, "its program is infeasible");
  for (const double share : {1.3, 1.2, 1.1, 1.05, 1.0, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6}) {
    if (plan || task.out_of_time()) break;
    const Table table(task, figures, static_cast<Bytes>(share * static_cast<double>(options.question.budget_bytes())));
    if (table.cost() == kNever) break;
    plan = plan_schedule(task, ChainWriter(task, chain, table).run());
  }
  return plan;
}

}  // namespace pantoum::plan::baseline
