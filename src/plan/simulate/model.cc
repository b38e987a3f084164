#include "plan/simulate/model.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "plan/simulate/prices.h"
#include "problem/objective_values.h"

#include "plan/simulate/order.h"

namespace pantoum::plan {
namespace {

using problem::Home;

Bytes round_up(Bytes bytes, Bytes unit) {
  const Bytes rest = bytes % unit;
  return rest == 0 ? bytes : bytes + (unit - rest);
}

// What every slot of the storage is a multiple of.
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
    const problem::Pager& pager = graph_.device.pager;
    model_.staging = pager.staging_bytes;
    model_.align = std::max<Bytes>(1, graph_.device.align_bytes);
    model_.capacity = pager.capacity_bytes;
    model_.async = pager.mode == problem::PagerMode::kAsync;
    model_.full_duplex = pager.full_duplex;
    model_.paging = pager.mode != problem::PagerMode::kNone;
    model_.idle_w = graph_.device.idle_w;
    model_.without = options_.without;
    add_tensors();
    add_ops();
    add_duties();
    set_freedoms();
    add_gaps();
    return std::move(model_);
  }

 private:
  void add_tensors() {
    const Bytes unit = storage_unit(graph_.device);
    for (const problem::Tensor& tensor : graph_.tensors) {
      index_.emplace(tensor.id, static_cast<int32_t>(model_.tensors.size()));
      TensorModel entry;
      entry.id = tensor.id;
      entry.bytes = tensor.bytes;
      entry.size = round_up(tensor.bytes, model_.align);
      entry.slot = round_up(tensor.bytes, unit);
      entry.start = tensor.start;
      entry.pinned = tensor.pinned;
      const problem::Pager& pager = graph_.device.pager;
      entry.in_s = problem::transfer_seconds(pager, pager.in, tensor.bytes);
      entry.out_s = problem::transfer_seconds(pager, pager.out, tensor.bytes);
      entry.in_j = entry.in_s * pager.in.w;
      entry.out_j = entry.out_s * pager.out.w;
      model_.tensors.push_back(entry);
    }
  }

  void add_ops() {
    std::unordered_map<int64_t, const problem::Op*> by_id;
    for (const problem::Op& op : graph_.ops) by_id.emplace(op.id, &op);
    for (const int64_t id : options_.question.freedoms.reordering ? updates_last(graph_) : graph_.order) {
      const problem::Op& op = *by_id.at(id);
      OpModel entry;
      entry.id = id;
      entry.stage = static_cast<int32_t>(model_.ops.size()) + 1;
      entry.again = op.recompute && options_.question.freedoms.recomputing;
      entry.optional = op.optional;
      for (size_t number = 0; number < op.choices.size(); ++number)
        if (number == 0 || options_.question.freedoms.numerics || op.choices[number].numerics == op.choices[0].numerics)
          entry.choices.push_back(choice_model(op, number));
      for (const int64_t output : op.outputs)
        model_.tensors[at(output)].producer = static_cast<int32_t>(model_.ops.size());
      model_.ops.push_back(std::move(entry));
    }
  }

  [[nodiscard]] size_t at(int64_t id) const { return static_cast<size_t>(index_.at(id)); }

  ChoiceModel choice_model(const problem::Op& op, size_t number) const {
    const problem::Choice& choice = op.choices[number];
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
      const int32_t tensor = index_.at(op.inputs[static_cast<size_t>(position)]);
      const bool known = std::find(entry.reads.begin(), entry.reads.end(), tensor) != entry.reads.end();
      if (!known && model_.tensors[static_cast<size_t>(tensor)].start != Home::kRom) entry.reads.push_back(tensor);
    }
    for (const int position : choice.writes) {
      entry.writes.push_back(index_.at(op.outputs[static_cast<size_t>(position)]));
      entry.over.push_back(-1);
      entry.shares.push_back(-1);
    }
    for (const auto& [out, in] : choice.overwrites) {  // the last pair of an output is the one that counts
      const size_t write = write_index(choice, out);
      entry.over[write] = takeover(op, out, in);
      entry.shares[write] = sharing(op, out, in);
    }
    return entry;
  }

  static size_t write_index(const problem::Choice& choice, int position) {
    return static_cast<size_t>(std::find(choice.writes.begin(), choice.writes.end(), position) - choice.writes.begin());
  }

  // The input's tensor if the output may take over its bytes: equal sizes, and switched on (a successor always may).
  int32_t takeover(const problem::Op& op, int out, int in) const {
    const int32_t source = sharing(op, out, in);
    const auto size = [&](int64_t id) { return model_.tensors[at(id)].size; };
    const bool fits = size(op.inputs[static_cast<size_t>(in)]) == size(op.outputs[static_cast<size_t>(out)]);
    return fits ? source : -1;
  }

  // The same for sizes that the rules allow: the output's bytes are no more than the input's.
  int32_t sharing(const problem::Op& op, int out, int in) const {
    const int64_t target = op.outputs[static_cast<size_t>(out)], source = op.inputs[static_cast<size_t>(in)];
    const TensorModel &to = model_.tensors[at(target)], &from = model_.tensors[at(source)];
    const bool successor = graph_.tensors[at(source)].next == target;
    const bool allowed = successor || (options_.question.freedoms.in_place && !from.pinned);
    const bool fits = from.bytes >= to.bytes && to.bytes > 0 && from.start != Home::kRom;
    return allowed && fits ? index_.at(source) : -1;
  }

  void add_duties() {
    for (size_t tensor = 0; tensor < graph_.tensors.size(); ++tensor) {
      const problem::Tensor& given = graph_.tensors[tensor];
      TensorModel& entry = model_.tensors[tensor];
      if (given.end == Home::kRam) entry.ends_in_ram = true;
      if (given.end == Home::kAux) entry.ends_in_aux = true;
      const int64_t heir = given.next >= 0 ? given.next : (given.end == Home::kRam ? given.id : -1);
      if (heir < 0) continue;
      TensorModel& successor = model_.tensors[at(heir)];
      if (given.start == Home::kAux) successor.ends_in_aux = true;
      if (given.start != Home::kRam) continue;
      successor.ends_in_ram = true;
      if (successor.home < 0)
        successor.home = static_cast<int32_t>(tensor);
      else
        model_.duplicate_homes.emplace_back(index_.at(heir), static_cast<int32_t>(tensor));
    }
  }

  void set_freedoms() {
    for (TensorModel& tensor : model_.tensors) {
      const bool made = tensor.producer >= 0 && model_.ops[static_cast<size_t>(tensor.producer)].again;
      tensor.can_page =
          model_.paging && options_.question.freedoms.paging && tensor.start != Home::kRom && !tensor.pinned;
      tensor.can_drop = !tensor.pinned && (made || tensor.start == Home::kAux);
    }
  }

  void add_gaps() {
    model_.entered.resize(static_cast<size_t>(model_.end()) + 1);
    std::vector<std::vector<int32_t>> stages(model_.tensors.size());
    for (const OpModel& op : model_.ops)
      for (const ChoiceModel& choice : op.choices)
        for (const int32_t tensor : choice.reads) {
          std::vector<int32_t>& list = stages[static_cast<size_t>(tensor)];
          if (list.empty() || list.back() != op.stage) list.push_back(op.stage);
        }
    for (size_t tensor = 0; tensor < stages.size(); ++tensor) add_gaps_of(tensor, stages[tensor]);
    mark_free_gaps();
  }

  // Where no op has to read the tensor any more: each has a choice that does not, or is optional itself.
  void mark_free_gaps() {
    std::vector<int32_t> last(model_.tensors.size(), 0);
    for (const OpModel& op : model_.ops) {
      if (op.optional) continue;
      for (const int32_t read : op.choices[0].reads) {
        const bool always = std::all_of(op.choices.begin(), op.choices.end(), [&](const ChoiceModel& choice) {
          return std::find(choice.reads.begin(), choice.reads.end(), read) != choice.reads.end();
        });
        if (always) last[static_cast<size_t>(read)] = std::max(last[static_cast<size_t>(read)], op.stage);
      }
    }
    for (Gap& gap : model_.gaps) {
      const TensorModel& tensor = model_.tensors[static_cast<size_t>(gap.tensor)];
      gap.free = last[static_cast<size_t>(gap.tensor)] < gap.to && !tensor.ends_in_ram && !tensor.ends_in_aux;
    }
  }

  void add_gaps_of(size_t tensor, const std::vector<int32_t>& uses) {
    TensorModel& entry = model_.tensors[tensor];
    entry.first_gap = static_cast<int32_t>(model_.gaps.size());
    int32_t from = entry.producer >= 0 ? model_.ops[static_cast<size_t>(entry.producer)].stage : 0;
    const auto add = [&](int32_t to) {
      const NextGap next{static_cast<int32_t>(tensor), static_cast<int32_t>(model_.gaps.size())};
      model_.entered[static_cast<size_t>(from)].push_back(next);
      model_.gaps.push_back({static_cast<int32_t>(tensor), from, to});
      from = to;
    };
    for (const int32_t use : uses) add(use);
    if (entry.ends_in_ram) add(model_.end());
    if (!entry.ends_in_ram) add(model_.never());
    entry.gap_count = static_cast<int32_t>(model_.gaps.size()) - entry.first_gap;
  }

  const CostGraph& graph_;
  const PlanOptions& options_;
  Model model_;
  std::unordered_map<int64_t, int32_t> index_;
};

constexpr int kPricings = 3;  // of edp: what a joule and a second count depends on the choices themselves

// By op: which of its outputs are needed under the choices; ops in reverse order.
std::vector<char> needed_tensors(const Model& model, const std::vector<int32_t>& choices, std::vector<char>& ops) {
  std::vector<char> needed(model.tensors.size(), 0);
  ops.assign(model.ops.size(), 0);
  for (size_t tensor = 0; tensor < model.tensors.size(); ++tensor)
    needed[tensor] = model.tensors[tensor].ends_in_ram || model.tensors[tensor].ends_in_aux;
  std::vector<char> wanted(model.ops.size(), 0);
  for (size_t tensor = 0; tensor < needed.size(); ++tensor)
    if (needed[tensor] && model.tensors[tensor].producer >= 0)
      wanted[static_cast<size_t>(model.tensors[tensor].producer)] = 1;
  for (size_t op = model.ops.size(); op-- > 0;) {
    if (model.ops[op].optional && !wanted[op]) continue;
    ops[op] = 1;
    for (const int32_t tensor : model.ops[op].choices[static_cast<size_t>(choices[op])].reads) {
      needed[static_cast<size_t>(tensor)] = 1;
      const int32_t producer = model.tensors[static_cast<size_t>(tensor)].producer;
      if (producer >= 0) wanted[static_cast<size_t>(producer)] = 1;
    }
  }
  return needed;
}

// The choice of the op that writes most of the needed outputs, the cheapest of those.
int32_t covering_choice(const Model& model, size_t op, const std::vector<char>& needed, const Prices& prices) {
  size_t most = 0;
  std::vector<int32_t> outputs;
  for (const ChoiceModel& choice : model.ops[op].choices)
    for (const int32_t tensor : choice.writes)
      if (needed[static_cast<size_t>(tensor)] && std::find(outputs.begin(), outputs.end(), tensor) == outputs.end())
        outputs.push_back(tensor);
  int32_t best = -1;
  const auto& choices = model.ops[op].choices;
  const auto price = [&](size_t number) { return prices(choices[number].joules, choices[number].seconds); };
  for (size_t number = 0; number < choices.size(); ++number) {
    size_t written = 0;
    for (const int32_t tensor : choices[number].writes) written += needed[static_cast<size_t>(tensor)] ? 1 : 0;
    const bool cheaper =
        best < 0 || written > most || (written == most && price(number) < price(static_cast<size_t>(best)));
    if (written >= most && cheaper) best = static_cast<int32_t>(number), most = written;
  }
  return best;
}

}  // namespace

Model make_model(const CostGraph& graph, const PlanOptions& options) {
  return Compiler(graph, options).run();
}

std::vector<char> needed_ops(const Model& model, const std::vector<int32_t>& choices) {
  std::vector<char> ops;
  needed_tensors(model, choices, ops);
  return ops;
}

namespace {

std::vector<int32_t> choices_at(const Model& model, const Prices& prices) {
  std::vector<int32_t> choices(model.ops.size(), 0);
  std::vector<char> needed(model.tensors.size(), 0);
  for (size_t tensor = 0; tensor < needed.size(); ++tensor)
    needed[tensor] = model.tensors[tensor].ends_in_ram || model.tensors[tensor].ends_in_aux;
  for (size_t op = model.ops.size(); op-- > 0;) {  // readers are decided before the op that writes for them
    choices[op] = covering_choice(model, op, needed, prices);
    bool read = !model.ops[op].optional;
    for (const ChoiceModel& choice : model.ops[op].choices)
      for (const int32_t tensor : choice.writes) read = read || needed[static_cast<size_t>(tensor)];
    if (!read) continue;
    for (const int32_t tensor : model.ops[op].choices[static_cast<size_t>(choices[op])].reads)
      needed[static_cast<size_t>(tensor)] = 1;
  }
  return choices;
}

}  // namespace

std::vector<int32_t> first_choices(const Model& model, Objective objective) {
  std::vector<int32_t> choices =
      choices_at(model, prices_of(objective == Objective::kEdp ? Objective::kEnergy : objective, 0, 0));
  for (int pricing = 0; objective == Objective::kEdp && pricing < kPricings; ++pricing) {
    Joules energy = 0;
    Seconds time = 0;
    for (size_t op = 0; op < choices.size(); ++op) {
      const ChoiceModel& choice = model.ops[op].choices[static_cast<size_t>(choices[op])];
      energy += choice.joules, time += choice.seconds;
    }
    choices = choices_at(model, prices_of(objective, energy, time));
  }
  return choices;
}

std::vector<int32_t> lean_reads(const Model& model, std::vector<int32_t> choices) {
  for (size_t op = 0; op < model.ops.size(); ++op) {
    const std::vector<ChoiceModel>& ways = model.ops[op].choices;
    const auto bytes = [&](const ChoiceModel& choice) {
      Bytes sum = 0;
      for (const int32_t read : choice.reads) sum += model.tensors[static_cast<size_t>(read)].size;
      return sum;
    };
    const std::vector<int32_t> writes = ways[static_cast<size_t>(choices[op])].writes;
    for (size_t number = 0; number < ways.size(); ++number)
      if (ways[number].writes == writes && bytes(ways[number]) < bytes(ways[static_cast<size_t>(choices[op])]))
        choices[op] = static_cast<int32_t>(number);
  }
  return choices;
}

}  // namespace pantoum::plan
