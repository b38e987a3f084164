#include "plan/simulate/model.h"

#include <cmath>
#include <functional>
#include <numeric>
#include <unordered_map>

#include "base/lists.h"
#include "base/round_up.h"
#include "plan/simulate/order.h"
#include "plan/simulate/outcome.h"
#include "plan/simulate/plan_options.h"

namespace pantoum::plan {
namespace {

using base::round_up;

// Returns the unit of which every slot of the storage is a multiple.
Bytes storage_unit(const problem::Device& device) {
  const Bytes align = std::max<Bytes>(1, device.align_bytes), block = std::max<Bytes>(1, device.pager.block_bytes);
  const Bytes common = std::gcd(align, block);
  const Bytes limit = Bytes{1} << 40;
  return align / common > limit / block ? block : align / common * block;
}

class Compiler {
 public:
  Compiler(const CostGraph& graph, const PlanOptions& options) : graph_(graph), options_(options) {}

  Model run() {
    model_.graph = &graph_;
    const Pager& pager = graph_.device.pager;
    model_.staging = pager.staging_bytes;
    model_.align = std::max<Bytes>(1, graph_.device.align_bytes);
    model_.capacity = pager.capacity_bytes;
    model_.async = pager.mode == PagerMode::kAsync;
    model_.full_duplex = pager.full_duplex;
    model_.paging = pager.mode != PagerMode::kNone;
    model_.idle_w = problem::idle_watts(graph_);
    model_.without = options_.without;
    add_tensors();
    add_ops();
    add_duties();
    set_freedoms();
    add_intervals();
    return std::move(model_);
  }

 private:
  void add_tensors() {
    const Bytes unit = storage_unit(graph_.device);
    for (const Tensor& tensor : graph_.tensors) {
      index_.emplace(tensor.id, model_.tensors.next_index());
      TensorModel entry;
      entry.id = tensor.id;
      entry.bytes = tensor.bytes;
      entry.size = round_up(tensor.bytes, model_.align);
      entry.slot = round_up(tensor.bytes, unit);
      entry.start = tensor.start;
      entry.pinned = tensor.pinned;
      const Pager& pager = graph_.device.pager;
      entry.in_s = problem::transfer_seconds(pager, pager.in, tensor.bytes);
      entry.out_s = problem::transfer_seconds(pager, pager.out, tensor.bytes);
      entry.in_j = entry.in_s * pager.in.w;
      entry.out_j = entry.out_s * pager.out.w;
      model_.tensors.push_back(entry);
    }
  }

  void add_ops() {
    std::unordered_map<int64_t, const Op*> by_id;
    for (const Op& op : graph_.ops) by_id.emplace(op.id, &op);
    for (const int64_t id : options_.question.freedoms.reordering ? updates_last(graph_) : graph_.order) {
      const Op& op = *by_id.at(id);
      OpModel entry;
      entry.id = id;
      entry.stage = static_cast<int32_t>(model_.ops.size()) + 1;
      entry.recomputable = op.recompute && options_.question.freedoms.recomputing;
      entry.optional = op.optional;
      for (size_t number = 0; number < op.choices.size(); ++number)
        if (number == 0 || options_.question.freedoms.numerics || op.choices[number].numerics == op.choices[0].numerics)
          entry.choices.push_back(choice_model(op, number));
      const OpIndex index = model_.ops.push_back(std::move(entry));
      for (const int64_t output : op.outputs) model_.tensors[at(output)].producer = index;
    }
  }

  TensorIndex at(int64_t id) const { return index_.at(id); }

  ChoiceModel choice_model(const Op& op, size_t number) const {
    const Choice& choice = op.choices[number];
    ChoiceModel entry{.number = static_cast<int32_t>(number),
                      .seconds = choice.time_s,
                      .joules = choice.energy_j,
                      .workspace = round_up(choice.workspace_bytes, model_.align),
                      .workspace_given = choice.workspace_bytes,
                      .reads = {},
                      .writes = {},
                      .over = {},
                      .shares = {}};
    for (const int position : choice.reads) {
      const TensorIndex tensor = at(op.input(position));
      const bool known = base::contains(entry.reads, tensor);
      if (!known && model_.tensors[tensor].start != Home::kRom) entry.reads.push_back(tensor);
    }
    for (const int position : choice.writes) {
      entry.writes.push_back(at(op.output(position)));
      entry.over.emplace_back();
      entry.shares.emplace_back();
    }
    for (const auto& [out, in] : choice.overwrites) {  // the last pair of an output is the one that counts
      const size_t write = write_index(choice, out);
      entry.over[write] = takeover(op, out, in);
      entry.shares[write] = sharing(op, out, in);
    }
    return entry;
  }

  static size_t write_index(const Choice& choice, int position) {
    return position_of(std::find(choice.writes.begin(), choice.writes.end(), position) - choice.writes.begin());
  }

  // The input's tensor if the output may take over its bytes: equal sizes, and switched on (a successor always may).
  TensorIndex takeover(const Op& op, int out, int in) const {
    const TensorIndex source = sharing(op, out, in);
    const auto size = [&](int64_t id) { return model_.tensors[at(id)].size; };
    const bool fits = size(op.input(in)) == size(op.output(out));
    return fits ? source : TensorIndex();
  }

  // Returns the input's tensor if the rules let the output share its bytes: the output has no more bytes than the
  // input.
  TensorIndex sharing(const Op& op, int out, int in) const {
    const int64_t target = op.output(out), source = op.input(in);
    const TensorModel &to = model_.tensors[at(target)], &from = model_.tensors[at(source)];
    const bool successor = given(at(source)).next == target;
    const bool allowed = successor || (options_.question.freedoms.in_place && !from.pinned);
    const bool fits = from.bytes >= to.bytes && to.bytes > 0 && from.start != Home::kRom;
    return allowed && fits ? at(source) : TensorIndex();
  }

  void add_duties() {
    for (const TensorIndex tensor : model_.tensors.indices()) {
      const Tensor& asked = given(tensor);
      TensorModel& entry = model_.tensors[tensor];
      if (asked.end == Home::kRam) entry.ends_in_ram = true;
      if (asked.end == Home::kAux) entry.ends_in_aux = true;
      const int64_t heir = asked.next >= 0 ? asked.next : (asked.end == Home::kRam ? asked.id : -1);
      if (heir < 0) continue;
      TensorModel& successor = model_.tensors[at(heir)];
      if (asked.start == Home::kAux) successor.ends_in_aux = true;
      if (asked.start != Home::kRam) continue;
      successor.ends_in_ram = true;
      if (!successor.home.exists())
        successor.home = tensor;
      else
        model_.duplicate_homes.emplace_back(at(heir), tensor);
    }
  }

  void set_freedoms() {
    for (TensorModel& tensor : model_.tensors) {
      const bool made = tensor.producer.exists() && model_.ops[tensor.producer].recomputable;
      tensor.can_page =
          model_.paging && options_.question.freedoms.paging && tensor.start != Home::kRom && !tensor.pinned;
      tensor.can_drop = !tensor.pinned && (made || tensor.start == Home::kAux);
    }
  }

  const Tensor& given(TensorIndex tensor) const { return graph_.tensors[position_of(tensor.value())]; }

  void add_intervals() {
    Indexed<TensorIndex, std::vector<Stage>> uses(model_.tensors.size());
    for (const OpModel& op : model_.ops)
      for (const ChoiceModel& choice : op.choices)
        for (const TensorIndex tensor : choice.reads) {
          std::vector<Stage>& list = uses[tensor];
          if (list.empty() || list.back() != op.stage) list.push_back(op.stage);
        }
    for (const TensorIndex tensor : uses.indices()) add_intervals_of(tensor, uses[tensor]);
    mark_free_intervals();
  }

  // Marks intervals after which no op has to read the tensor: each op has a choice that does not read it, or is
  // optional.
  void mark_free_intervals() {
    Indexed<TensorIndex, Stage> last(model_.tensors.size(), 0);
    for (const OpModel& op : model_.ops) {
      if (op.optional) continue;
      for (const TensorIndex read : common_reads(op)) last[read] = std::max(last[read], op.stage);
    }
    for (Interval& interval : model_.intervals) {
      const TensorModel& tensor = model_.tensors[interval.tensor];
      interval.free = last[interval.tensor] < interval.to && !tensor.ends_in_ram && !tensor.ends_in_aux;
    }
  }

  void add_intervals_of(TensorIndex tensor, const std::vector<Stage>& uses) {
    TensorModel& entry = model_.tensors[tensor];
    const IntervalIndex first = model_.intervals.next_index();
    Stage from = entry.producer.exists() ? model_.ops[entry.producer].stage : 0;
    const auto add = [&](Stage to) {
      model_.intervals.push_back({tensor, from, to});
      from = to;
    };
    for (const Stage use : uses) add(use);
    add(entry.ends_in_ram ? model_.end() : model_.never());
    entry.intervals = {first, uses.size() + 1};
  }

  const CostGraph& graph_;
  const PlanOptions& options_;
  Model model_;
  std::unordered_map<int64_t, TensorIndex> index_;
};

constexpr int kHalvings = 40;
constexpr int kShares = 32;  // prices of a second that are tried for edp

template <class T>
using ByTensor = Indexed<TensorIndex, T>;
template <class T>
using ByOp = Indexed<OpIndex, T>;

// Marks the tensors that the step must end with.
ByTensor<char> needed_at_end(const Model& model) {
  ByTensor<char> needed(model.tensors.size(), 0);
  for (const TensorIndex tensor : model.tensors.indices())
    needed[tensor] = model.tensors[tensor].ends_in_ram || model.tensors[tensor].ends_in_aux;
  return needed;
}

// The choice of the op that writes most of the needed outputs, the cheapest of those.
int32_t covering_choice(const OpModel& op, const ByTensor<char>& needed, const Prices& prices) {
  size_t most = 0;
  int32_t best = -1;
  const auto price = [&](size_t number) { return prices(op.choices[number].joules, op.choices[number].seconds); };
  for (size_t number = 0; number < op.choices.size(); ++number) {
    size_t written = 0;
    for (const TensorIndex tensor : op.choices[number].writes) written += needed[tensor] ? 1 : 0;
    const bool cheaper = best < 0 || written > most || (written == most && price(number) < price(position_of(best)));
    if (written >= most && cheaper) best = static_cast<int32_t>(number), most = written;
  }
  return best;
}

Choices choices_at(const Model& model, const Prices& prices) {
  Choices choices(model.ops.size(), 0);
  ByTensor<char> needed = needed_at_end(model);
  for (const OpIndex op : model.ops.indices().descending()) {  // readers are decided before the op that writes for them
    choices[op] = covering_choice(model.ops[op], needed, prices);
    bool read = !model.ops[op].optional;
    for (const ChoiceModel& choice : model.ops[op].choices)
      for (const TensorIndex tensor : choice.writes) read = read || needed[tensor];
    if (!read) continue;
    for (const TensorIndex tensor : model.chosen(op, choices).reads) needed[tensor] = 1;
  }
  return choices;
}

// Returns choices at prices in which an op's seconds also cost idle joules.
Choices choices_for(const Model& model, Prices prices) {
  prices.second += prices.joule * model.idle_w;
  return choices_at(model, prices);
}

// What first computations take, one after the other.
struct Computed {
  Joules joules = 0;
  Seconds seconds = 0;
};

Computed computed_by(const Model& model, const Choices& choices) {
  Computed computed;
  const ByOp<char> needed = needed_ops(model, choices);
  for (const OpIndex op : model.ops.indices()) {
    if (!needed[op]) continue;
    const ChoiceModel& choice = model.chosen(op, choices);
    computed.joules += model.joules_of(choice), computed.seconds += choice.seconds;
  }
  return computed;
}

// Another choice of an op, for one that saves more before one that saves less.
struct Swap {
  OpIndex op;
  int32_t choice = 0;
  double saved = 0, limited = 0;  // of the objective; and what more it takes of the figure that is limited
};

// Choices that save, as far as the limit leaves room.
void use_room(const Model& model, Choices& choices, bool limits_time, double room) {
  const auto figures = [&](const ChoiceModel& choice) {
    const Joules joules = model.joules_of(choice);
    return limits_time ? std::pair(joules, choice.seconds) : std::pair(choice.seconds, joules);
  };
  const ByOp<char> needed = needed_ops(model, choices);
  std::vector<Swap> swaps;
  for (const OpIndex op : model.ops.indices()) {
    if (!needed[op]) continue;
    const ChoiceModel& now = model.chosen(op, choices);
    for (int32_t number = 0; number < static_cast<int32_t>(model.ops[op].choices.size()); ++number) {
      const ChoiceModel& other = model.chosen(op, number);
      const auto [from, limited_from] = figures(now);
      const auto [to, limited_to] = figures(other);
      if (to < from && other.reads == now.reads && other.writes == now.writes)
        swaps.push_back({op, number, from - to, limited_to - limited_from});
    }
  }
  std::ranges::stable_sort(swaps, std::greater{}, &Swap::saved);
  ByOp<char> swapped(model.ops.size(), 0);
  for (const Swap& swap : swaps) {
    if (swapped[swap.op] || swap.limited > room) continue;
    choices[swap.op] = swap.choice, swapped[swap.op] = 1, room -= swap.limited;
  }
}

// Joules that a second is worth where both figures count the same.
double joules_per_second(const Model& model) {
  const Computed computed = computed_by(model, choices_at(model, {0, 1}));
  return computed.joules > 0 && computed.seconds > 0 ? computed.joules / computed.seconds : 1;
}

}  // namespace

std::vector<TensorIndex> common_reads(const OpModel& op) {
  std::vector<TensorIndex> common = op.choices.front().reads;
  for (const ChoiceModel& choice : op.choices)
    std::erase_if(common, [&](TensorIndex tensor) { return !base::contains(choice.reads, tensor); });
  return common;
}

Model make_model(const CostGraph& graph, const PlanOptions& options) {
  return Compiler(graph, options).run();
}

ByOp<char> needed_ops(const Model& model, const Choices& choices) {
  ByOp<char> needed(model.ops.size(), 0), wanted(model.ops.size(), 0);
  for (const TensorModel& tensor : model.tensors)
    if ((tensor.ends_in_ram || tensor.ends_in_aux) && tensor.producer.exists()) wanted[tensor.producer] = 1;
  for (const OpIndex op : model.ops.indices().descending()) {
    if (model.ops[op].optional && !wanted[op]) continue;
    needed[op] = 1;
    for (const TensorIndex tensor : model.chosen(op, choices).reads)
      if (const OpIndex producer = model.tensors[tensor].producer; producer.exists()) wanted[producer] = 1;
  }
  return needed;
}

Choices first_choices(const Model& model, Objective objective) {
  if (objective != Objective::kEdp) return choices_for(model, prices_of(objective, 0, 0));
  // Along the prices of a second the product has several valleys.
  const double second = joules_per_second(model);
  Choices best;
  double least = HUGE_VAL;
  for (int share = 0; share <= kShares; ++share) {
    Choices choices = choices_for(model, {static_cast<double>(kShares - share), share * second});
    const Computed computed = computed_by(model, choices);
    if (best.empty() || computed.joules * computed.seconds < least)
      least = computed.joules * computed.seconds, best = std::move(choices);
  }
  return best;
}

Choices first_choices(const Model& model, const Question& question) {
  const bool timed = question.objective == Objective::kEnergy && question.deadline;
  const bool spared = question.objective == Objective::kTime && question.energy_limit;
  Choices cheapest = first_choices(model, question.objective);
  if (!timed && !spared) return cheapest;
  const auto room = [&](const Choices& choices) {
    const Computed computed = computed_by(model, choices);
    return timed ? *question.deadline - computed.seconds : *question.energy_limit - computed.joules;
  };
  if (room(cheapest) >= 0) return cheapest;
  const double second = joules_per_second(model);
  // The figure that is limited counts so much, the objective's own the rest.
  const auto at = [&](double share) {
    return choices_for(model, timed ? Prices{1 - share, share * second} : Prices{share, (1 - share) * second});
  };
  Choices kept = at(1);
  double below = 0, above = 1;
  for (int halving = 0; halving < kHalvings; ++halving) {
    const double middle = (below + above) / 2;
    Choices choices = at(middle);
    if (room(choices) >= 0)
      kept = std::move(choices), above = middle;
    else
      below = middle;
  }
  if (const double left = room(kept); left > 0) use_room(model, kept, timed, left);
  return kept;
}

Choices least_joules(const Model& model) {
  return choices_at(model, {1, 0});
}

Choices lean_reads(const Model& model, Choices choices) {
  const auto bytes = [&](const ChoiceModel& choice) {
    Bytes sum = 0;
    for (const TensorIndex read : choice.reads) sum += model.tensors[read].size;
    return sum;
  };
  for (const OpIndex op : model.ops.indices()) {
    const std::vector<ChoiceModel>& ways = model.ops[op].choices;
    const std::vector<TensorIndex> writes = model.chosen(op, choices).writes;
    for (size_t number = 0; number < ways.size(); ++number)
      if (ways[number].writes == writes && bytes(ways[number]) < bytes(model.chosen(op, choices)))
        choices[op] = static_cast<int32_t>(number);
  }
  return choices;
}

}  // namespace pantoum::plan
