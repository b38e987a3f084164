#include "plan/realize/realize.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/lists.h"
#include "place/place.h"
#include "plan/realize/allocations.h"
#include "plan/realize/engine_run.h"
#include "plan/simulate/time_limit.h"

namespace pantoum::plan {
namespace {

constexpr double kMostSeconds = 20, kLeastSeconds = 0.01;
constexpr int64_t kSteps = 300'000, kQuickSteps = 10'000;  // nodes of the placement's search, in place of a clock
constexpr double kPatience[] = {1, 0.97, 0.9, 0.75};       // shares of the budget that bytes being written out may fill
constexpr double kMostArenaFactor = 1.01;                  // of the live bytes: a larger arena is made smaller
constexpr double kQuickSeconds = 0.02;                     // where an arena is sought as small as can be found soon

place::PlaceOptions placing(const Model& model, const PlanOptions& options, std::optional<Bytes> budget,
                            double share = 1) {
  const bool quick = !budget;
  return {.align = model.align,
          .budget = budget,
          .seconds = quick ? kQuickSeconds
                           : std::max(kLeastSeconds,
                                      share * std::min(kMostSeconds, options.time_limit * share_of(Attempt::kPlacing))),
          .steps = options.effort == 0 ? 0
                   : quick             ? kQuickSteps
                                       : static_cast<int64_t>(share * kSteps)};
}

struct Placed {
  Allocations allocations;
  place::Placement placement;
};

// Returns the stage of each event, and one more for the end. Events after a first computation count to the next
// stage.
std::vector<Stage> stages_of(const Model& model, const std::vector<Event>& events) {
  std::vector<Stage> stages(events.size() + 1, model.end());
  Indexed<OpIndex, char> computed(model.ops.size(), 0);
  size_t next = 0;
  for (size_t event = 0; event < events.size(); ++event) {
    if (events[event].what != Do::kCompute) continue;
    const OpIndex op(events[event].subject);
    if (std::exchange(computed[op], 1) != 0) continue;
    while (next <= event) stages[next++] = model.ops[op].stage;
  }
  return stages;
}

// Places the allocations of a stream, again and again with other ends of them.
class Placer {
 public:
  Placer(const Model& model, const std::vector<Event>& events, const PlanOptions& options, std::optional<Bytes> budget,
         double share)
      : model_(model), events_(events), options_(options), budget_(budget), share_(share) {}

  // Offsets within the budget. Where they can be had, such that nothing takes bytes before their write completion while
  // others are free.
  Result<Placed> run() {
    if (!model_.async || !model_.uses(Switch::kWriteCompletion) || !budget_) return attempt({}, 1);
    const double share = share_of(Attempt::kPlacingPatiently);
    for (const double patience : kPatience) {
      const auto patient_budget = static_cast<Bytes>(patience * static_cast<double>(*budget_));
      const std::vector<size_t> until = write_completions(model_, events_, patient_budget);
      if (until.empty()) return attempt({}, 1);
      Result<Placed> found = attempt(until, share);
      if (found) return found;
    }
    return attempt({}, 1 - share * std::size(kPatience));
  }

  // After run() found nothing: what the smallest arena found has, or else what every arena has, beyond the budget.
  Bytes excess() const {
    return (shortfall_.arena_bytes > 0 ? shortfall_.arena_bytes : live_bytes()) - budget_.value_or(0);
  }
  Indexed<Stage, Bytes> clashes() const {
    Indexed<Stage, Bytes> by_stage;
    if (shortfall_.clashes.empty()) return by_stage;
    const std::vector<Stage> stages = stages_of(model_, events_);
    by_stage.assign(position_of(model_.end()) + 1, 0);
    bool any = false;
    for (const place::Shortfall::Clash& clash : shortfall_.clashes) {
      if (event_at(clash.begin) == events_.size()) continue;  // of another program
      any = true;
      for (Stage stage = stages[event_at(clash.begin)]; stage <= stages[event_at(clash.end - 1)]; ++stage)
        by_stage[stage] += clash.bytes;
    }
    if (!any) by_stage.clear();
    return by_stage;
  }
  Bytes live_bytes() const { return place::peak_live_bytes(allocations({}).all, model_.align); }

 private:
  Allocations allocations(const std::vector<size_t>& until) const {
    return make_allocations(model_, events_, {options_.fixed_initial, options_.others}, until);
  }

  Result<Placed> attempt(const std::vector<size_t>& until, double share) {
    Placed made{.allocations = allocations(until), .placement = {}};
    const place::PlaceOptions how = placing(model_, options_, budget_, share * share_);
    PANTOUM_ASSIGN(made.placement, place::place(made.allocations.all, how, &shortfall_));
    return made;
  }

  // The event that runs then; those after the last one are the end.
  size_t event_at(int64_t time) const {
    return std::min(events_.size(), static_cast<size_t>(std::max<int64_t>(0, (time - 1) / 2)));
  }

  const Model& model_;
  const std::vector<Event>& events_;
  const PlanOptions& options_;
  const std::optional<Bytes> budget_;
  const double share_;
  place::Shortfall shortfall_;
};

// A smaller arena where this one exceeds the live bytes by much, and one can be found soon.
void shrink_arena(const Model& model, const PlanOptions& options, Placed& placed) {
  const std::vector<place::Allocation>& all = placed.allocations.all;
  const auto live_bytes = static_cast<double>(place::peak_live_bytes(all, model.align));
  if (!model.uses(Switch::kSmallArena) ||
      static_cast<double>(placed.placement.arena_bytes) <= live_bytes * kMostArenaFactor)
    return;
  Result<place::Placement> smaller = place::place(all, placing(model, options, {}));
  if (smaller && smaller->arena_bytes < placed.placement.arena_bytes) placed.placement = std::move(*smaller);
}

// A place in auxiliary storage for every tensor that is ever there: one slot each, in order of ids, aligned to the arena's and
// the storage's blocks. E0305 the storage's capacity does not hold them.
Result<std::map<int64_t, Bytes>> storage_slots(const Model& model, const Plan& plan) {
  std::set<int64_t> stored;
  for (const Instruction& instruction : plan.instructions)
    if (instruction.what == Do::kPageOut || instruction.what == Do::kPageIn) stored.insert(instruction.subject);
  std::map<int64_t, Bytes> at;
  Bytes top = 0;
  for (const TensorModel& tensor : model.tensors) {
    if (!stored.contains(tensor.id) && tensor.start != Home::kAux) continue;
    at[tensor.id] = top;
    top += tensor.slot;
  }
  if (model.capacity >= 0 && top > model.capacity)
    return fail("E0305", fmt::format("the plan needs {} bytes of storage and the device has {}", top, model.capacity),
                plan.graph.device.name);
  return at;
}

}  // namespace

Realized judged(const Model& model, const PlanOptions& options, Plan plan) {
  const std::optional<Predicted> predicted = predict(plan.graph, plan);
  if (!predicted) return {};
  const Question& asked = options.question;
  if (const Seconds most = upper_end(plan, predicted->time_s); asked.deadline && most > *asked.deadline)
    return {.plan = std::nullopt, .time_excess = most - *asked.deadline};
  if (asked.energy_limit && upper_end(plan, predicted->energy_j) > *asked.energy_limit) return {};
  plan.predicted = *predicted;
  Result<std::map<int64_t, Bytes>> slots = storage_slots(model, plan);
  if (!slots) return {};
  plan.storage = std::move(*slots);
  return {.plan = std::move(plan)};
}

Realized realize(const CostGraph& graph, const Model& model, const std::vector<Event>& events,
                 const PlanOptions& options, std::optional<Bytes> budget, double share) {
  Placer placer(model, events, options, budget, share);
  Result<Placed> placed = placer.run();
  if (!placed)
    return {.plan = std::nullopt,
            .byte_excess = placer.excess(),
            .live_bytes = placer.live_bytes(),
            .clashes = placer.clashes()};
  if (budget) shrink_arena(model, options, *placed);
  Plan plan{.question = options.question, .graph = graph};
  write_instructions(model, events, placed->allocations, placed->placement, plan);
  return judged(model, options, std::move(plan));
}

namespace {

struct Block {
  Bytes at = 0, size = 0;
  Seconds ready = 0, busy = 0;
};

bool overlap(const Block& block, Bytes at, Bytes size) {
  return block.size > 0 && size > 0 && block.at < at + size && at < block.at + block.size;
}

class PlanRunner {
 public:
  PlanRunner(const CostGraph& graph, const Plan& plan, const EngineSeconds& taken)
      : graph_(graph), plan_(plan), taken_(taken) {
    for (size_t tensor = 0; tensor < graph.tensors.size(); ++tensor) index_.emplace(graph.tensors[tensor].id, tensor);
    for (const Op& op : graph.ops) ops_.emplace(op.id, &op);
    const size_t count = graph.tensors.size();
    block_.resize(count);
    in_ram_.assign(count, 0);
    ends_in_storage_.assign(count, 0);
    for (const Tensor& tensor : graph.tensors) {
      if (tensor.end == Home::kAux) ends_in_storage_[index_.at(tensor.id)] = 1;
      if (tensor.start == Home::kAux && tensor.next >= 0) ends_in_storage_[index_.at(tensor.next)] = 1;
    }
    stored_.assign(count, -1);
  }

  std::optional<Predicted> run() {
    if (!start()) return std::nullopt;
    for (const Instruction& step : plan_.instructions) {
      if (!issue(step)) return std::nullopt;
      if (freed_.size() > 64) std::erase_if(freed_, [&](const Block& block) { return block.busy <= now_; });
    }
    found_.time_s = end_;
    found_.energy_j = joules_ + problem::idle_watts(graph_) * end_;
    return found_;
  }

  // After run().
  Freedoms used() {
    std::vector<int64_t> kept = graph_.order;
    std::erase_if(kept, [&](int64_t op) { return !computed_.contains(op); });
    used_.reordering = kept != first_;
    return used_;
  }

 private:
  bool start() {
    const Bytes staging = graph_.device.pager.staging_bytes;
    if (staging > 0) hold(plan_.staging_at, staging);
    for (size_t tensor = 0; tensor < graph_.tensors.size(); ++tensor) {
      if (graph_.tensors[tensor].start == Home::kAux) stored_[tensor] = 0;
      if (graph_.tensors[tensor].start != Home::kRam) continue;
      const auto at = plan_.initial.find(graph_.tensors[tensor].id);
      if (at == plan_.initial.end()) return false;
      arrive(tensor, at->second);
    }
    return true;
  }

  void hold(Bytes at, Bytes size) {
    live_ += size;
    found_.peak_bytes = std::max(found_.peak_bytes, live_);
    found_.arena_bytes = std::max(found_.arena_bytes, at + size);
  }
  void arrive(size_t tensor, Bytes at) {
    hold(at, graph_.tensors[tensor].bytes);
    in_ram_[tensor] = 1;
    block_[tensor] = {at, graph_.tensors[tensor].bytes, 0, 0};
  }
  Seconds wait_for(Bytes at, Bytes size) const {
    Seconds wait = 0;
    for (const Block& block : freed_)
      if (overlap(block, at, size)) wait = std::max(wait, block.busy);
    return wait;
  }

  bool issue(const Instruction& step) {
    if (step.what == Do::kCompute) return compute(step);
    const auto found = index_.find(step.subject);
    if (found == index_.end()) return false;
    const size_t tensor = found->second;
    if (step.what == Do::kPageIn) return page_in(tensor, step.at.at(0));
    if (!in_ram_[tensor]) return false;
    if (step.what == Do::kPageOut) {
      const Seconds end = transfer(true, block_[tensor]);
      block_[tensor].busy = std::max(block_[tensor].busy, end);
      stored_[tensor] = end;
      // What must end in storage may go there early, and come back.
      if (!ends_in_storage_[tensor]) used_.paging = true;
      return true;
    }
    in_ram_[tensor] = 0;
    live_ -= block_[tensor].size;
    freed_.push_back(block_[tensor]);
    return true;
  }

  bool page_in(size_t tensor, Bytes at) {
    if (in_ram_[tensor] || stored_[tensor] < 0) return false;
    const Seconds wait = std::max(wait_for(at, graph_.tensors[tensor].bytes), stored_[tensor]);
    arrive(tensor, at);
    block_[tensor].ready = wait;
    const Seconds end = transfer(false, block_[tensor]);
    block_[tensor].ready = block_[tensor].busy = end;
    return true;
  }

  Seconds transfer(bool out, const Block& block) {
    const Pager& pager = graph_.device.pager;
    const Link& link = out ? pager.out : pager.in;
    const Seconds seconds = problem::transfer_seconds(pager, link, block.size);
    Seconds& free_from = out && pager.full_duplex ? out_free_ : in_free_;
    const Seconds end = std::max({block.ready, now_, free_from}) + seconds;
    free_from = end;
    joules_ += seconds * link.w;
    end_ = std::max(end_, end);
    if (pager.mode == PagerMode::kSync)
      now_ = end;
    else if (taken_)
      now_ += taken_(out, block.size);
    end_ = std::max(end_, now_);
    return end;
  }

  // A compute under way: what it reads and writes, whose bytes it takes, and when it can begin.
  struct Compute {
    Seconds begin = 0;
    std::vector<size_t> reads, writes, dying;
  };

  bool compute(const Instruction& step) {
    const auto known = ops_.find(step.subject);
    if (known == ops_.end() || step.choice < 0 || position_of(step.choice) >= known->second->choices.size())
      return false;
    const Op& op = *known->second;
    const Choice& choice = op.choices[position_of(step.choice)];
    Compute work{.begin = now_};
    if (choice.numerics != op.choices.front().numerics) used_.numerics = true;
    if (computed_.insert(op.id).second)
      first_.push_back(op.id);
    else
      used_.recomputing = true;
    if (step.at.size() != choice.writes.size() || !wait_for_inputs(op, choice, work)) return false;
    for (size_t write = 0; write < choice.writes.size(); ++write)
      wait_for_output(index_.at(op.output(choice.writes[write])), step.at[write], work);
    if (choice.workspace_bytes > 0)
      work.begin = std::max(work.begin, wait_for(step.workspace_at, choice.workspace_bytes));
    finish(step, choice, work);
    return true;
  }

  bool wait_for_inputs(const Op& op, const Choice& choice, Compute& work) const {
    for (const int position : choice.reads) {
      const size_t tensor = index_.at(op.input(position));
      if (graph_.tensors[tensor].start == Home::kRom) continue;
      if (!in_ram_[tensor]) return false;
      work.begin = std::max(work.begin, block_[tensor].ready);
      work.reads.push_back(tensor);
    }
    return true;
  }

  // Recomputing in place and overwriting wait for the last use of those bytes, a page_out included.
  void wait_for_output(size_t tensor, Bytes at, Compute& work) {
    work.writes.push_back(tensor);
    if (in_ram_[tensor]) {
      work.begin = std::max(work.begin, block_[tensor].busy);
      return;
    }
    const Bytes size = graph_.tensors[tensor].bytes;
    work.begin = std::max(work.begin, wait_for(at, size));
    for (const size_t source : work.reads) {
      if (!overlap(block_[source], at, size)) continue;
      work.begin = std::max(work.begin, block_[source].busy);
      if (graph_.tensors[source].next != graph_.tensors[tensor].id) used_.in_place = true;
      if (!base::contains(work.dying, source)) work.dying.push_back(source);
    }
  }

  void finish(const Instruction& step, const Choice& choice, const Compute& work) {
    const Seconds end = work.begin + choice.time_s;
    const Bytes workspace = choice.workspace_bytes;
    for (const size_t tensor : work.reads) block_[tensor].busy = std::max(block_[tensor].busy, end);
    for (const size_t source : work.dying) {
      in_ram_[source] = 0;
      live_ -= block_[source].size;
    }
    for (size_t write = 0; write < work.writes.size(); ++write) {
      const size_t tensor = work.writes[write];
      if (!in_ram_[tensor]) arrive(tensor, step.at[write]);
      block_[tensor].ready = block_[tensor].busy = end;
    }
    if (workspace > 0) {
      found_.peak_bytes = std::max(found_.peak_bytes, live_ + workspace);
      found_.arena_bytes = std::max(found_.arena_bytes, step.workspace_at + workspace);
      freed_.push_back({step.workspace_at, workspace, end, end});
    }
    now_ = end;
    end_ = std::max(end_, end);
    joules_ += choice.energy_j;
  }

  const CostGraph& graph_;
  const Plan& plan_;
  const EngineSeconds& taken_;
  std::unordered_map<int64_t, size_t> index_;
  std::unordered_map<int64_t, const Op*> ops_;
  std::vector<Block> block_;
  std::vector<char> in_ram_;
  std::vector<Seconds> stored_;  // from when the copy in storage is whole; -1: none
  std::vector<Block> freed_;
  Bytes live_ = 0;
  Seconds now_ = 0, in_free_ = 0, out_free_ = 0, end_ = 0;
  Joules joules_ = 0;
  Predicted found_;
  std::vector<char> ends_in_storage_;
  std::unordered_set<int64_t> computed_;
  std::vector<int64_t> first_;  // op ids, as they are first computed
  Freedoms used_{.paging = false, .recomputing = false, .in_place = false, .reordering = false, .numerics = false};
};

}  // namespace

std::optional<Predicted> predict(const CostGraph& graph, const Plan& plan, const EngineSeconds& taken, Freedoms* used) {
  if (problem::has_queues(graph)) return EngineRun(EngineModel(graph, plan.question)).predict(plan, used);
  PlanRunner runner(graph, plan, taken);
  const std::optional<Predicted> predicted = runner.run();
  if (used != nullptr) *used = runner.used();
  return predicted;
}

}  // namespace pantoum::plan
