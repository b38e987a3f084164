#include "plan/freedoms_used.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace pantoum::plan {
namespace {

using problem::Do;
using problem::Instruction;

class FreedomFinder {
 public:
  FreedomFinder(const problem::CostGraph& graph, const problem::Plan& plan) : graph_(graph), plan_(plan) {
    for (const problem::Tensor& tensor : graph.tensors) tensors_.emplace(tensor.id, &tensor);
    for (const problem::Op& op : graph.ops) ops_.emplace(op.id, &op);
    for (const problem::Tensor& tensor : graph.tensors) {
      if (tensor.end == problem::Home::kAux) ends_in_storage_.insert(tensor.id);
      if (tensor.start == problem::Home::kAux && tensor.next >= 0) ends_in_storage_.insert(tensor.next);
    }
  }

  // Those that are made use of.
  problem::Freedoms run() {
    used_ = {.paging = false, .recomputing = false, .in_place = false, .reordering = false, .numerics = false};
    at_.insert(plan_.initial.begin(), plan_.initial.end());
    for (const Instruction& step : plan_.instructions) note(step);
    std::vector<int64_t> kept = graph_.order;
    std::erase_if(kept, [&](int64_t op) { return !computed_.contains(op); });
    used_.reordering = kept != first_;
    return used_;
  }

 private:
  void note(const Instruction& step) {
    if (step.what == Do::kCompute) return note_compute(step);
    // What must end in storage may go there early and come back; nothing else comes back that did not go or start there.
    if (step.what == Do::kPageOut && !ends_in_storage_.contains(step.subject)) used_.paging = true;
    if (step.what == Do::kPageIn) at_[step.subject] = step.at.front();
    if (step.what == Do::kFree) at_.erase(step.subject);
  }

  void note_compute(const Instruction& step) {
    const problem::Op& op = *ops_.at(step.subject);
    const problem::Choice& choice = op.choices[static_cast<size_t>(step.choice)];
    if (choice.numerics != op.choices.front().numerics) used_.numerics = true;
    if (computed_.insert(op.id).second)
      first_.push_back(op.id);
    else
      used_.recomputing = true;
    std::unordered_set<int64_t> taken;
    for (size_t write = 0; write < choice.writes.size(); ++write) {
      const int64_t output = op.outputs[static_cast<size_t>(choice.writes[write])];
      if (!at_.contains(output)) note_takeover(op, choice, write, step.at[write], taken);
    }
    for (const int64_t source : taken) at_.erase(source);
    for (size_t write = 0; write < choice.writes.size(); ++write)
      at_[op.outputs[static_cast<size_t>(choice.writes[write])]] = step.at[write];
  }

  // The last pair of an output counts; bytes are shared only at the very offset of the source.
  void note_takeover(const problem::Op& op, const problem::Choice& choice, size_t write, problem::Bytes at,
                     std::unordered_set<int64_t>& taken) {
    const int64_t output = op.outputs[static_cast<size_t>(choice.writes[write])];
    int64_t source = -1;
    for (const auto& [out, in] : choice.overwrites)
      if (out == choice.writes[write]) source = op.inputs[static_cast<size_t>(in)];
    const auto held = at_.find(source);
    if (held == at_.end() || held->second != at) return;
    if (tensors_.at(output)->bytes == 0 || tensors_.at(source)->bytes == 0) return;
    taken.insert(source);
    if (tensors_.at(source)->next != output) used_.in_place = true;
  }

  const problem::CostGraph& graph_;
  const problem::Plan& plan_;
  std::unordered_map<int64_t, const problem::Tensor*> tensors_;
  std::unordered_map<int64_t, const problem::Op*> ops_;
  std::unordered_set<int64_t> ends_in_storage_, computed_;
  std::unordered_map<int64_t, problem::Bytes> at_;  // of what is in RAM
  std::vector<int64_t> first_;                      // op ids, as they are first computed
  problem::Freedoms used_;
};

}  // namespace

bool keeps_freedoms(const problem::CostGraph& graph, const problem::Plan& plan, const problem::Freedoms& freedoms) {
  const problem::Freedoms used = FreedomFinder(graph, plan).run();
  return (freedoms.paging || !used.paging) && (freedoms.recomputing || !used.recomputing) &&
         (freedoms.in_place || !used.in_place) && (freedoms.reordering || !used.reordering) &&
         (freedoms.numerics || !used.numerics);
}

}  // namespace pantoum::plan
