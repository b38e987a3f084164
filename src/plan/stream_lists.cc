#include "plan/stream_lists.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/lists.h"
#include "base/random.h"
#include "base/round_up.h"
#include "plan/simulate/order.h"

namespace pantoum::plan {
namespace {

constexpr double kWarmMove = 0.1;   // of the mean cost of an op: what a move may cost at first, and is accepted
constexpr double kColdMove = 1e-4;  // the same at the end
constexpr int kFarOne = 3;          // one of so many moves: any gap, not one of a few ops
constexpr int kNearOps = 12;        // which is no longer
constexpr int kTwoOne = 3;          // one of so many moves: two gaps
constexpr int64_t kAskEvery = 64;
constexpr size_t kAskAfter = 1 << 13;  // ops that were chosen for
constexpr double kNoWay = 1e30;

}  // namespace

class StreamLists::Search {
 public:
  explicit Search(const EngineModel& model) : model_(model) {
    find_ops();
    find_gaps();
    for (size_t at = 0; at < ops_.size(); ++at) add_operands(static_cast<int32_t>(at));
  }

  List find(Objective objective, Bytes capacity, uint64_t seed, const std::function<double(int64_t)>& done) {
    capacity_ = capacity - model_.staging;
    joule_ = objective == Objective::kTime ? 0 : 1;
    second_ = objective == Objective::kTime ? 1 : idle_watts();
    lean_ = false;
    begin();
    if (objective == Objective::kEdp && total() < kNoWay) {
      const auto [joules, seconds] = taken();
      joule_ = seconds, second_ = joules + seconds * idle_watts();
      begin();
    }
    anneal(seed, done);
    return total() < kNoWay ? list() : List();
  }

  List leanest() {
    capacity_ = std::numeric_limits<Bytes>::max() / 2;
    lean_ = true;
    begin();
    return total() < kNoWay ? list() : List();
  }

 private:
  // From one use of a tensor to the next, or from its begin, or to the end of the step.
  struct Gap {
    int32_t tensor = 0;
    int32_t from = 0, to = 0;  // positions; -1: the start, ops_.size(): the end
    bool must = false;         // nothing else brings the tensor back
    bool stays = false;
  };
  struct Operand {
    int32_t tensor = 0;
    int32_t before = -1, after = -1;  // gaps; -1: none
    bool made = false;                // by this op
    bool first = false;               // the first op that uses a tensor that starts in RAM
  };
  struct Costs {
    Joules joules = 0;
    Seconds seconds = 0;
  };
  struct Choice {
    int32_t way = -1;
    double cost = kNoWay;
    Costs of;
  };

  static size_t index(int32_t number) { return static_cast<size_t>(number); }
  const EngineModel::Tensor& tensor(int32_t number) const { return model_.tensors[index(number)]; }
  Bytes size(int32_t number) const { return base::round_up(tensor(number).bytes, model_.align); }
  Watts idle_watts() const {
    Watts watts = model_.graph->device.idle_w;
    for (const problem::Engine& engine : model_.graph->device.engines) watts += engine.idle_w;
    return watts;
  }
  bool stores() const { return model_.graph->device.pager.mode != PagerMode::kNone; }
  bool may_be_stored(int32_t number) const {
    return stores() && (model_.question.freedoms.paging || tensor(number).ends_in_storage);
  }
  // Can the tensor be read back from storage?
  bool returns(int32_t number) const {
    const EngineModel::Tensor& of = tensor(number);
    const bool there = of.start == Home::kAux || of.ends_in_storage;
    return stores() && !of.pinned && (there || model_.question.freedoms.paging);
  }

  // ---- what there is ----------------------------------------------------------------------------

  std::vector<int32_t> order_of_lists() const {
    if (!model_.question.freedoms.reordering) return model_.order;
    std::vector<int32_t> order = updates_last_in(*model_.graph);
    if (reads_before_updates(order)) return order;
    CostGraph graph = *model_.graph;  // who updates one another: only what is lost by an update is read before it
    for (size_t at = 0; at < graph.tensors.size(); ++at)
      if (!is_lost(static_cast<int32_t>(at))) graph.tensors[at].next = -1;
    return updates_last_in(graph);
  }

  std::vector<int32_t> updates_last_in(const CostGraph& graph) const {
    std::unordered_map<int64_t, int32_t> op_of;
    for (const int32_t op : model_.order) op_of.emplace(model_.graph->ops[index(op)].id, op);
    std::vector<int32_t> order;
    for (const int64_t id : updates_last(graph)) order.push_back(op_of.at(id));
    return order;
  }

  // Does the tensor's next take its place, in RAM or in storage?
  bool is_lost(int32_t number) const {
    return tensor(number).slot_heir >= 0 || (tensor(number).next >= 0 && tensor(number).start == Home::kRam);
  }

  bool reads_before_updates(const std::vector<int32_t>& order) const {
    std::vector<char> made(model_.tensors.size(), 0);
    for (const int32_t op : order) {
      const std::vector<EngineModel::Way>& ways = model_.ops[index(op)].ways;
      for (const EngineModel::Way& way : ways)
        for (const int32_t input : way.inputs)
          if (is_lost(input) && made[index(tensor(input).next)] != 0) return false;
      for (const EngineModel::Way& way : ways)
        for (const int32_t output : way.outputs) made[index(output)] = 1;
    }
    return true;
  }

  // Ops that must run, or that make what these read or what must be there at the end, in that order.
  void find_ops() {
    std::vector<char> needed(model_.tensors.size(), 0);
    for (size_t at = 0; at < model_.tensors.size(); ++at)
      needed[at] = model_.tensors[at].ends_in_ram || model_.tensors[at].ends_in_storage;
    const std::vector<int32_t> order = order_of_lists();
    for (size_t at = order.size(); at-- > 0;) {
      const EngineModel::Op& op = model_.ops[index(order[at])];
      bool runs = !op.optional;
      for (const EngineModel::Way& way : op.ways)
        for (const int32_t output : way.outputs) runs = runs || needed[index(output)];
      if (!runs) continue;
      ops_.push_back(order[at]);
      for (const EngineModel::Way& way : op.ways)
        for (const int32_t input : way.inputs) needed[index(input)] = 1;
    }
    std::ranges::reverse(ops_);
  }

  template <class Visit>
  void for_each_operand(int32_t position, const Visit& visit) const {
    std::vector<std::pair<int32_t, bool>> operands;
    for (const EngineModel::Way& way : model_.ops[index(ops_[index(position)])].ways) {
      for (const int32_t input : way.inputs) operands.emplace_back(input, false);
      for (const int32_t output : way.outputs) operands.emplace_back(output, true);
    }
    base::make_set(operands);
    for (const auto& [number, made] : operands) visit(number, made);
  }

  void find_gaps() {
    const auto end = static_cast<int32_t>(ops_.size());
    gaps_of_.resize(model_.tensors.size());
    std::vector<int32_t> last(model_.tensors.size(), -2);  // position of the last use; -2: none yet
    for (size_t at = 0; at < model_.tensors.size(); ++at)
      if (model_.tensors[at].start == Home::kRam) last[at] = -1;
    const auto add = [&](int32_t number, int32_t to) {
      Gap gap{.tensor = number, .from = last[index(number)], .to = to};
      gap.must = !returns(number) || gap.from == -1 || (to == end && tensor(number).slot_heir >= 0);
      gaps_of_[index(number)].push_back(static_cast<int32_t>(gaps_.size()));
      gaps_.push_back(gap);
    };
    for (int32_t position = 0; position < end; ++position)
      for_each_operand(position, [&](int32_t number, bool made) {
        if (!made && last[index(number)] >= -1) add(number, position);
        last[index(number)] = position;
      });
    for (size_t at = 0; at < model_.tensors.size(); ++at) {
      const auto number = static_cast<int32_t>(at);
      const bool stays = model_.tensors[at].ends_in_ram || model_.tensors[at].pinned;
      if (stays && last[at] >= -1) add(number, end);
    }
  }

  void add_operands(int32_t position) {
    std::vector<Operand>& operands = operands_.emplace_back();
    for_each_operand(position, [&](int32_t number, bool made) {
      Operand& operand = operands.emplace_back(Operand{.tensor = number, .made = made});
      for (const int32_t gap : gaps_of_[index(number)]) {
        if (gaps_[index(gap)].to == position) operand.before = gap, operand.first = gaps_[index(gap)].from == -1;
        if (gaps_[index(gap)].from == position) operand.after = gap;
      }
    });
  }

  // ---- the cost of what stays -------------------------------------------------------------------

  void begin() {
    load_.assign(ops_.size(), 0);
    Bytes all = 0;
    for (size_t at = 0; at < model_.tensors.size(); ++at) all += size(static_cast<int32_t>(at));
    for (Gap& gap : gaps_) {
      gap.stays = gap.must || (!lean_ && (is_last(gap) || all <= capacity_));
      if (gap.stays) add_load(gap, 1);
    }
    choices_.clear();
    for (size_t at = 0; at < ops_.size(); ++at) choices_.push_back(choose(static_cast<int32_t>(at)));
  }

  // Bytes that stay over ops that do not use them.
  void add_load(const Gap& gap, int sign) {
    for (int32_t at = gap.from + 1; at < std::min(gap.to, static_cast<int32_t>(ops_.size())); ++at)
      load_[index(at)] += sign * size(gap.tensor);
  }

  bool stays(int32_t gap) const { return gap >= 0 && gaps_[index(gap)].stays; }
  bool is_last(const Gap& gap) const { return gap.to == static_cast<int32_t>(ops_.size()); }
  // Is it read back when all ops have run?
  bool comes_back(int32_t gap) const { return gap >= 0 && is_last(gaps_[index(gap)]) && !gaps_[index(gap)].stays; }

  // Must the tensor, once it is made or from where it starts in RAM, go to storage?
  bool must_be_stored(int32_t number) const {
    if (tensor(number).start == Home::kAux) return false;
    return tensor(number).ends_in_storage ||
           std::ranges::any_of(gaps_of_[index(number)], [&](int32_t gap) { return !gaps_[index(gap)].stays; });
  }

  double cost_of(const Costs& costs) const { return joule_ * costs.joules + second_ * costs.seconds; }

  void add_transfer(int32_t number, bool out, Costs& costs) const {
    const problem::Pager& pager = model_.graph->device.pager;
    const Link& link = out ? pager.out : pager.in;
    const Seconds seconds = problem::transfer_seconds(pager, link, tensor(number).bytes);
    costs.seconds += seconds;
    costs.joules += seconds * link.w;
  }

  // The cheapest way that fits beside what stays.
  Choice choose(int32_t position) const {
    const std::vector<EngineModel::Way>& ways = model_.ops[index(ops_[index(position)])].ways;
    Choice best;
    for (size_t at = 0; at < ways.size(); ++at) {
      if (!ways[at].permitted || !ways[at].possible) continue;
      Costs costs{ways[at].joules, ways[at].seconds};
      double cost = cost_of(costs);
      if (!lean_ && cost >= best.cost) continue;  // its transfers come to it
      const std::optional<Bytes> bytes = run(position, ways[at], costs);
      if (!bytes || *bytes + load_[index(position)] > capacity_) continue;
      cost = lean_ ? static_cast<double>(*bytes) : cost_of(costs);
      if (cost < best.cost) best = {static_cast<int32_t>(at), cost, costs};
    }
    return best;
  }

  // Adds the transfers of a way's whole operands. Returns the bytes of RAM that it takes, beside what stays over it; nothing: it
  // does not go with what stays.
  std::optional<Bytes> run(int32_t position, const EngineModel::Way& way, Costs& costs) const {
    Bytes bytes = base::round_up(way.workspace, model_.align);
    for (const Operand& operand : operands_[index(position)]) {
      const bool in = stays(operand.before), out = stays(operand.after);
      const int32_t number = operand.tensor;
      if (comes_back(operand.after)) add_transfer(number, false, costs);
      if (operand.made) {
        if (base::contains(way.streams_out, number)) {
          if (out && (tensor(number).pinned || !may_go_home(position, way, number))) return std::nullopt;
          if (out) add_transfer(number, false, costs);  // it is read back at once
          continue;
        }
        if (!base::contains(way.writes, number) || !may_go_home(position, way, number)) return std::nullopt;
        if (!taken_over(position, way, number)) bytes += size(number);
        if (must_be_stored(number)) {
          if (!stores()) return std::nullopt;
          add_transfer(number, true, costs);
        }
        continue;
      }
      if (operand.first && must_be_stored(number)) {
        if (!stores()) return std::nullopt;
        add_transfer(number, true, costs);
      }
      const bool streamed = base::contains(way.streams_in, number);
      if (streamed && tensor(number).start != Home::kAux && !must_be_stored(number)) {  // it is in RAM too
        if (!may_be_stored(number)) return std::nullopt;
        add_transfer(number, true, costs);
      }
      if (!base::contains(way.reads, number) && !out && !(streamed && in)) continue;  // it is not used in RAM
      bytes += size(number);
      if (!in) add_transfer(number, false, costs);
    }
    return bytes;
  }

  // Are the bytes free to which the output has to go? The way takes them over, or nobody has them then.
  bool may_go_home(int32_t position, const EngineModel::Way& way, int32_t output) const {
    const int32_t home = tensor(output).home;
    if (home < 0 || home == output || base::contains(way.overwrites, std::pair{output, home})) return true;
    const std::vector<Operand>& operands = operands_[index(position)];
    const auto operand = std::ranges::find(operands, home, &Operand::tensor);
    const bool stays_there = operand != operands.end() && stays(operand->after);
    return !tensor(home).pinned && !stays_there && !base::contains(way.reads, home);
  }

  // Does an input leave its bytes to the output? It does if it may, and does not stay.
  bool taken_over(int32_t position, const EngineModel::Way& way, int32_t output) const {
    return std::ranges::any_of(way.overwrites, [&](const auto& pair) {
      const auto& [out, in] = pair;
      const EngineModel::Tensor& source = tensor(in);
      if (out != output || source.bytes < tensor(output).bytes) return false;
      const bool successor = source.next == output;
      if (source.pinned) return successor;
      const Operand& operand = *std::ranges::find(operands_[index(position)], in, &Operand::tensor);
      return (successor || model_.question.freedoms.in_place) && !stays(operand.after);
    });
  }

  double total() const {
    double sum = 0;
    for (const Choice& choice : choices_) sum += choice.cost;
    return sum;
  }
  std::pair<Joules, Seconds> taken() const {
    Costs sum;
    for (const Choice& choice : choices_) sum.joules += choice.of.joules, sum.seconds += choice.of.seconds;
    return {sum.joules, sum.seconds};
  }

  // ---- the search -------------------------------------------------------------------------------

  void anneal(uint64_t seed, const std::function<double(int64_t)>& done_after) {
    std::vector<int32_t> free, near;
    for (size_t gap = 0; gap < gaps_.size(); ++gap) {
      if (gaps_[gap].must) continue;
      free.push_back(static_cast<int32_t>(gap));
      if (gaps_[gap].to - gaps_[gap].from <= kNearOps) near.push_back(static_cast<int32_t>(gap));
    }
    if (free.empty()) return;
    base::Random random(seed);
    double now = total(), best = now;
    std::vector<char> kept = what_stays();
    const double mean = [&] {
      double sum = 0;
      for (const Choice& choice : choices_) sum += choice.cost < kNoWay ? choice.cost : 0;
      return sum / static_cast<double>(ops_.size());
    }();
    double temperature = 0;
    for (int64_t move = 0;; ++move) {
      if (chosen_ > kAskAfter) {  // moves of long gaps take long
        chosen_ = 0;
        if (done_after(move) >= 1) break;
      }
      if (move % kAskEvery == 0) {
        const double done = done_after(move);
        if (done >= 1) break;
        temperature = mean * kWarmMove * std::pow(kColdMove / kWarmMove, done);
      }
      const std::vector<int32_t>& from = near.empty() || random.one_in(kFarOne) ? free : near;
      changed_.clear();
      undo_.clear();
      flip(random.any(from));
      if (random.one_in(kTwoOne)) flip(random.any(from));
      const double next = now + rechoose();
      if (next <= now + temperature * random.exponential()) {
        now = total();
        if (now < best) best = now, kept = what_stays();
      } else {
        for (const int32_t gap : changed_) flip_alone(gap);
        for (auto& [position, choice] : undo_) choices_[index(position)] = choice;
      }
    }
    for (size_t gap = 0; gap < gaps_.size(); ++gap)
      if (gaps_[gap].stays != (kept[gap] != 0)) flip_alone(static_cast<int32_t>(gap));
    for (size_t at = 0; at < ops_.size(); ++at) choices_[at] = choose(static_cast<int32_t>(at));
  }

  std::vector<char> what_stays() const {
    std::vector<char> stays;
    for (const Gap& gap : gaps_) stays.push_back(gap.stays ? 1 : 0);
    return stays;
  }

  void flip_alone(int32_t number) {
    Gap& gap = gaps_[index(number)];
    gap.stays = !gap.stays;
    add_load(gap, gap.stays ? 1 : -1);
  }
  void flip(int32_t number) {
    flip_alone(number);
    changed_.push_back(number);
  }

  // Chooses again where what stays has changed. Returns how much more it costs.
  double rechoose() {
    double more = 0;
    positions_.clear();
    for (const int32_t number : changed_) {
      const Gap& gap = gaps_[index(number)];
      for (int32_t at = std::max(0, gap.from); at <= std::min(gap.to, static_cast<int32_t>(ops_.size()) - 1); ++at)
        positions_.push_back(at);
      if (gaps_of_[index(gap.tensor)].front() != number) {  // its maker, or its first use
        const Gap& front = gaps_[index(gaps_of_[index(gap.tensor)].front())];
        positions_.push_back(front.from < 0 ? front.to : front.from);
      }
    }
    base::make_set(positions_);
    chosen_ += positions_.size();
    for (const int32_t at : positions_) {
      undo_.emplace_back(at, choices_[index(at)]);
      const Choice next = choose(at);
      more += next.cost - choices_[index(at)].cost;
      choices_[index(at)] = next;
    }
    return more;
  }

  // ---- the list ---------------------------------------------------------------------------------

  List list() const {
    List made;
    std::vector<char> used(model_.tensors.size(), 0), stored(model_.tensors.size(), 0);
    for (size_t at = 0; at < stored.size(); ++at) stored[at] = model_.tensors[at].start == Home::kAux;
    const auto page_out = [&](int32_t number) {
      if (std::exchange(stored[index(number)], 1) == 0) made.push_back({Do::kPageOut, number, 0});
    };
    for (size_t at = 0; at < ops_.size(); ++at) {
      const EngineModel::Way& way = model_.ops[index(ops_[at])].ways[index(choices_[at].way)];
      for (const Operand& operand : operands_[at]) {
        used[index(operand.tensor)] = 1;
        const bool streamed = base::contains(way.streams_in, operand.tensor);
        if (streamed || (operand.first && must_be_stored(operand.tensor))) page_out(operand.tensor);
      }
      for (const Operand& operand : operands_[at]) {
        const bool whole = base::contains(way.reads, operand.tensor) || stays(operand.after);
        if (!operand.made && whole && !stays(operand.before)) made.push_back({Do::kPageIn, operand.tensor, 0});
      }
      made.push_back({Do::kCompute, ops_[at], choices_[at].way});
      for (const int32_t written : way.streams_out) stored[index(written)] = 1;
      for (const Operand& operand : operands_[at])
        if (operand.made && stays(operand.after) && base::contains(way.streams_out, operand.tensor))
          made.push_back({Do::kPageIn, operand.tensor, 0});
      for (const int32_t written : way.writes)
        if (must_be_stored(written)) page_out(written);
    }
    for (size_t gap = 0; gap < gaps_.size(); ++gap)
      if (comes_back(static_cast<int32_t>(gap))) made.push_back({Do::kPageIn, gaps_[gap].tensor, 0});
    for (size_t at = 0; at < model_.tensors.size(); ++at) {  // what no op uses
      const auto number = static_cast<int32_t>(at);
      if (used[at] != 0) continue;
      if (tensor(number).start == Home::kRam && must_be_stored(number)) made.push_back({Do::kPageOut, number, 0});
      if (tensor(number).start == Home::kAux && tensor(number).ends_in_ram) made.push_back({Do::kPageIn, number, 0});
    }
    return made;
  }

  const EngineModel& model_;
  std::vector<int32_t> ops_;
  std::vector<Gap> gaps_;
  std::vector<std::vector<int32_t>> gaps_of_;   // by tensor, ascending
  std::vector<std::vector<Operand>> operands_;  // by position
  std::vector<Bytes> load_;                     // by position
  std::vector<Choice> choices_;                 // by position
  Bytes capacity_ = 0;
  double joule_ = 1, second_ = 0;
  bool lean_ = false;
  std::vector<int32_t> changed_;  // gaps
  std::vector<std::pair<int32_t, Choice>> undo_;
  std::vector<int32_t> positions_;
  size_t chosen_ = 0;  // ops, since the time was asked
};

StreamLists::StreamLists(const EngineModel& model) : search_(std::make_unique<Search>(model)) {}
StreamLists::~StreamLists() = default;

List StreamLists::find(Objective objective, Bytes capacity, uint64_t seed, const std::function<double(int64_t)>& done) {
  return search_->find(objective, capacity, seed, done);
}

List StreamLists::leanest() {
  return search_->leanest();
}

}  // namespace pantoum::plan
