#include "testing/small_step.h"

#include <algorithm>
#include <limits>

namespace pantoum::plan_test {

SmallStep::SmallStep(const CostGraph& graph, const problem::Question& question) : graph_(graph), question_(question) {
  add_tensors();
  add_ops();
  add_homes();
}

Bytes SmallStep::rounded(Bytes bytes) const {
  const Bytes align = std::max<Bytes>(1, graph_.device.align_bytes);
  return (bytes + align - 1) / align * align;
}

bool SmallStep::by_energy() const {
  return question_.objective != problem::Objective::kTime || question_.energy_limit.has_value();
}

bool SmallStep::by_both() const {
  return question_.deadline || question_.energy_limit || question_.objective == problem::Objective::kEdp;
}

double SmallStep::value(double cost, double seconds) const {
  if (question_.objective == problem::Objective::kEdp) return cost * seconds;
  return question_.objective == problem::Objective::kTime && by_energy() ? seconds : cost;
}

double SmallStep::weight(double joules, double seconds) const {
  return by_energy() ? joules + graph_.device.idle_w * seconds : seconds;
}

void SmallStep::add_tensors() {
  const problem::Pager& pager = graph_.device.pager;
  const bool storage = pager.mode != problem::PagerMode::kNone, blocks = pager.mode == problem::PagerMode::kSync;
  for (const problem::Tensor& tensor : graph_.tensors) {
    tensor_of_[tensor.id] = static_cast<int>(tensors_.size());
    StepTensor entry{.bytes = tensor.bytes, .size = rounded(tensor.bytes), .pinned = tensor.pinned};
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
    tensors_.push_back(entry);
  }
}

void SmallStep::add_ops() {
  std::map<int64_t, size_t> position;
  for (size_t at = 0; at < graph_.order.size(); ++at) position[graph_.order[at]] = at;
  for (const problem::Op& op : graph_.ops) {
    StepOp work{.position = position.at(op.id),
                .may_recompute = op.recompute && question_.freedoms.recomputing,
                .optional = op.optional};
    for (size_t number = 0; number < op.choices.size(); ++number) {
      if (!question_.freedoms.numerics && op.choices[number].numerics != op.choices[0].numerics) continue;
      work.ways.push_back(way(op, static_cast<int>(number)));
      work.reads |= work.ways.back().reads;
    }
    work.least_weight = work.least_seconds = std::numeric_limits<double>::infinity();
    for (const StepChoice& each : work.ways) {
      work.least_weight = std::min(work.least_weight, each.weight);
      work.least_seconds = std::min(work.least_seconds, each.seconds);
    }
    for (const int64_t output : op.outputs)
      tensors_[static_cast<size_t>(tensor_of_.at(output))].producer = static_cast<int>(ops_.size());
    ops_.push_back(std::move(work));
  }
}

StepChoice SmallStep::way(const problem::Op& op, int number) const {
  const problem::Choice& choice = op.choices[static_cast<size_t>(number)];
  StepChoice entry{.number = number,
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
    const bool successor = source.next == op.outputs[static_cast<size_t>(out)];
    const Bytes bytes = tensor_at(output(out)).bytes;
    if ((successor || question_.freedoms.in_place) && source.start != Home::kRom && bytes > 0 && bytes <= source.bytes)
      entry.over.emplace_back(output(out), input(in));
  }
  return entry;
}

// Duties of the end, and the places of the start that somebody must find again.
void SmallStep::add_homes() {
  for (const problem::Tensor& tensor : graph_.tensors) {
    const int64_t successor_id = tensor.next >= 0 ? tensor.next : tensor.end == Home::kRam ? tensor.id : -1;
    if (successor_id < 0) continue;
    const int successor = tensor_of_.at(successor_id), old = tensor_of_.at(tensor.id);
    StepTensor& entry = tensors_[static_cast<size_t>(successor)];
    if (tensor.start == Home::kAux) entry.ends_in_aux = true;
    if (tensor.start != Home::kRam) continue;
    entry.ends_in_ram = true;
    if (entry.bytes == 0 || tensor.bytes == 0 || entry.home >= 0 || homes_ == kMostHomes) continue;
    entry.home = static_cast<int>(homes_);
    first_owners_[homes_++] = static_cast<int8_t>(old + 1);
  }
  spread_homes();
  for (size_t tensor = 0; tensor < tensors_.size(); ++tensor)  // a duty is paged whatever the freedoms
    if (tensors_[tensor].ends_in_aux) tensors_[tensor].may_page = graph_.device.pager.mode != problem::PagerMode::kNone;
}

void SmallStep::spread_homes() {
  for (size_t tensor = 0; tensor < tensors_.size(); ++tensor)
    if (tensors_[tensor].home >= 0) tensors_[tensor].homes = bit(tensors_[tensor].home);
  for (bool more = true; more;) {
    more = false;
    for (const StepOp& work : ops_)
      for (const StepChoice& each : work.ways)
        for (const auto& [out, in] : each.over) {
          Set& homes = tensors_[static_cast<size_t>(in)].homes;
          more = more || (tensor_at(out).homes & ~homes) != 0;
          homes |= tensor_at(out).homes;
          if (tensor_at(in).pinned) movable_ |= bit(out);
        }
  }
  for (size_t tensor = 0; tensor < tensors_.size(); ++tensor)
    if (tensors_[tensor].homes != 0) movable_ |= bit(static_cast<int>(tensor));
}

bool SmallStep::fits(Set ram, Set fresh, Bytes workspace) const {
  Bytes load = 0, slack = 0;
  const auto add = [&](Bytes bytes) {
    load += rounded(bytes);
    slack = std::max(slack, rounded(bytes) - bytes);
  };
  add(graph_.device.pager.staging_bytes);
  add(workspace);
  each(ram | fresh, [&](int tensor) { add(tensor_at(tensor).bytes); });
  return load - slack <= question_.budget_bytes();
}

bool SmallStep::may_begin(Set computed, int op) const {
  if (computed & bit(op)) return false;
  if (question_.freedoms.reordering) return true;
  const StepOp& work = ops_[static_cast<size_t>(op)];
  for (size_t other = 0; other < ops_.size(); ++other) {
    const bool done = (computed & bit(static_cast<int>(other))) != 0;
    if (ops_[other].position > work.position && done) return false;
    if (ops_[other].position < work.position && !done && !ops_[other].optional) return false;
  }
  return true;
}

bool SmallStep::over_and_done(Set computed, size_t op) const {
  if (computed & bit(static_cast<int>(op))) return !ops_[op].may_recompute;
  if (question_.freedoms.reordering) return false;
  for (size_t other = 0; other < ops_.size(); ++other)
    if (ops_[other].position > ops_[op].position && (computed & bit(static_cast<int>(other)))) return true;
  return false;
}

Set SmallStep::wanted(Set computed) {
  const auto [entry, fresh] = wanted_.try_emplace(computed, 0);
  if (!fresh) return entry->second;
  Set set = 0;
  for (size_t tensor = 0; tensor < tensors_.size(); ++tensor)
    if (tensors_[tensor].ends_in_ram || tensors_[tensor].ends_in_aux) set |= bit(static_cast<int>(tensor));
  for (size_t op = 0; op < ops_.size(); ++op)
    if (!(computed & bit(static_cast<int>(op))) && !over_and_done(computed, op)) set |= ops_[op].reads;
  for (Set before = 0; before != set;) {
    before = set;
    each(before, [&](int tensor) {
      const int producer = tensor_at(tensor).producer;
      if (producer >= 0 && !over_and_done(computed, static_cast<size_t>(producer)))
        set |= ops_[static_cast<size_t>(producer)].reads;
    });
  }
  return entry->second = set;
}

}  // namespace pantoum::plan_test
