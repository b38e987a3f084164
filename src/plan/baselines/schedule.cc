#include "plan/baselines/task.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/lists.h"
#include "base/round_up.h"
#include "plan/simulate/model.h"

namespace pantoum::plan::baseline {
namespace {

struct Step {
  Action action;
  int32_t choice = 0;
  bool dropped = false;

  // What the action's subject is.
  OpIndex op() const { return OpIndex(action.subject); }
  TensorIndex tensor() const { return TensorIndex(action.subject); }

  std::vector<TensorIndex> frees;  // tensors that nobody asks for after it
};

class Completer {
 public:
  Completer(const Model& model, const Choices& choices) : model_(model), choices_(choices) {}

  Result<std::vector<Event>> run(const std::vector<Action>& actions) {
    PANTOUM_TRY(supply(actions));
    end_in_storage();
    find_frees();
    PANTOUM_TRY(emit());
    PANTOUM_TRY(check_end());
    return std::move(events_);
  }

 private:
  const TensorModel& tensor(TensorIndex index) const { return model_.tensors[index]; }
  const ChoiceModel& kernel(const Step& step) const { return model_.chosen(step.op(), step.choice); }
  Failure lost(TensorIndex index) const {
    return fail("E0302", fmt::format("the schedule asks for tensor {}, which is lost", tensor(index).id));
  }

  // ---- 1. every tensor that is read has been made or fetched before ---------------------------------

  Result<void> supply(const std::vector<Action>& actions) {
    made_.assign(model_.tensors.size(), 0);
    stored_.assign(model_.tensors.size(), 0);
    runs_.assign(model_.ops.size(), 0);
    for (const TensorIndex index : model_.tensors.indices()) {
      made_[index] = model_.tensors[index].start == Home::kRam;
      stored_[index] = model_.tensors[index].start == Home::kAux;
    }
    for (const Action& action : actions) {
      if (action.what == Do::kCompute)
        PANTOUM_TRY(run_op(OpIndex(action.subject), choices_[OpIndex(action.subject)], 0));
      else
        PANTOUM_TRY(transfer(action));
    }
    for (const TensorIndex index : model_.tensors.indices()) {
      const bool due = tensor(index).ends_in_aux && !stored_[index];
      if (due && !model_.paging) return lost(index);
      if (tensor(index).ends_in_ram || due) PANTOUM_TRY(need(index, 0));
    }
    return {};
  }

  Result<void> run_op(OpIndex op, int32_t choice, int depth) {
    const OpModel& model = model_.ops[op];
    if (runs_[op]++ > 0 && !model.recomputable)
      return fail("E0302", fmt::format("the schedule runs op {} twice, which may run once only", model.id));
    for (const TensorIndex read : model.choices[position_of(choice)].reads) PANTOUM_TRY(need(read, depth));
    steps_.push_back({.action = computing(op), .choice = choice});
    for (const TensorIndex write : model.choices[position_of(choice)].writes) made_[write] = 1;
    return {};
  }

  Result<void> transfer(const Action& action) {
    const TensorIndex tensor(action.subject);
    if (action.what == Do::kPageOut) {
      PANTOUM_TRY(need(tensor, 0));
      if (stored_[tensor]) return {};
      stored_[tensor] = 1;
    } else if (!stored_[tensor]) {
      return lost(tensor);
    }
    made_[tensor] = 1;
    steps_.push_back({.action = action});
    return {};
  }

  // Makes sure that the tensor is in RAM. A tensor that was never made is fetched, or made by the first choice that
  // writes it.
  Result<void> need(TensorIndex index, int depth) {
    if (made_[index]) return {};
    if (stored_[index]) return transfer(moving(Do::kPageIn, index));
    const OpIndex op = tensor(index).producer;
    if (!op.exists() || depth > kMostDepth) return lost(index);
    const auto& kernels = model_.ops[op].choices;
    for (size_t choice = 0; choice < kernels.size(); ++choice)
      if (base::contains(kernels[choice].writes, index)) return run_op(op, static_cast<int32_t>(choice), depth + 1);
    return lost(index);
  }

  // ---- 2. duties -------------------------------------------------------------------------------------

  void end_in_storage() {
    Indexed<TensorIndex, int32_t> last(model_.tensors.size(), -1);  // the step that reads or makes it last
    const auto mention = [&](TensorIndex index, size_t step) { last[index] = static_cast<int32_t>(step); };
    for (size_t step = 0; step < steps_.size(); ++step) {
      if (steps_[step].action.what != Do::kCompute) {
        mention(steps_[step].tensor(), step);
        continue;
      }
      for (const TensorIndex read : kernel(steps_[step]).reads) mention(read, step);
      for (const TensorIndex write : kernel(steps_[step]).writes) mention(write, step);
    }
    Indexed<int32_t, std::vector<TensorIndex>> due(steps_.size() + 1);
    for (const TensorIndex index : model_.tensors.indices())
      if (tensor(index).ends_in_aux && !stored_[index]) due[last[index] + 1].push_back(index);
    std::vector<Step> all;
    for (size_t step = 0; step <= steps_.size(); ++step) {
      for (const TensorIndex index : due[static_cast<int32_t>(step)])
        all.push_back({.action = moving(Do::kPageOut, index)});
      if (step < steps_.size()) all.push_back(std::move(steps_[step]));
    }
    steps_ = std::move(all);
  }

  // ---- 3. frees, from the end to the start -----------------------------------------------------------

  void find_frees() {
    live_.assign(model_.tensors.size(), 0);
    fetched_.assign(model_.tensors.size(), 0);
    for (const TensorIndex index : model_.tensors.indices()) live_[index] = model_.tensors[index].ends_in_ram;
    for (size_t step = steps_.size(); step-- > 0;) {
      if (steps_[step].action.what == Do::kCompute)
        compute_backwards(steps_[step]);
      else
        transfer_backwards(steps_[step]);
    }
  }

  void use(Step& step, TensorIndex index) {
    if (!live_[index] && !tensor(index).pinned) step.frees.push_back(index);
    live_[index] = 1;
  }

  void compute_backwards(Step& step) {
    const ChoiceModel& how = kernel(step);
    const OpModel& op = model_.ops[step.op()];
    const bool again = --runs_[step.op()] > 0;
    const bool asked = std::ranges::any_of(how.writes, [&](TensorIndex write) { return live_[write]; });
    step.dropped = (again || op.optional) && !asked;
    if (step.dropped) return;
    for (const TensorIndex write : how.writes) {
      if (!live_[write] && !tensor(write).pinned) step.frees.push_back(write);
      live_[write] = 0;
    }
    for (const TensorIndex read : how.reads) use(step, read);
  }

  void transfer_backwards(Step& step) {
    const TensorIndex index = step.tensor();
    if (step.action.what == Do::kPageIn) {
      step.dropped = !live_[index];
      if (step.dropped) return;
      live_[index] = 0;
      fetched_[index] = 1;
      return;
    }
    step.dropped = !fetched_[index] && !tensor(index).ends_in_aux;
    if (!step.dropped) use(step, index);
  }

  // ---- 4. events ---------------------------------------------------------------------------------------

  Result<void> emit() {
    in_ram_.assign(model_.tensors.size(), 0);
    written_.assign(model_.tensors.size(), 0);
    holds_.assign(model_.tensors.size(), {});
    at_home_.assign(model_.tensors.size(), 0);
    busy_.assign(model_.tensors.size(), 0);
    for (const TensorIndex index : model_.tensors.indices()) {
      if (tensor(index).start != Home::kRam) continue;
      in_ram_[index] = busy_[index] = 1;
      holds_[index] = index;
      if (!live_[index] && !tensor(index).pinned) release(index);
    }
    for (const Step& step : steps_) {
      if (step.dropped) continue;
      PANTOUM_TRY(step.action.what == Do::kCompute ? emit_compute(step) : emit_transfer(step));
      for (const TensorIndex index : step.frees)
        if (in_ram_[index]) release(index);
    }
    return {};
  }

  void release(TensorIndex index) {
    in_ram_[index] = 0;
    if (holds_[index].exists()) busy_[holds_[index]] = 0;
    holds_[index] = {};
    events_.push_back({.what = Do::kFree, .subject = index.value(), .taken_over = {}});
  }

  void arrive(TensorIndex index) {
    in_ram_[index] = 1;
    written_[index] = 0;
    const TensorIndex home = home_of(index);
    at_home_[index] = home.exists() && !busy_[home];
  }

  TensorIndex home_of(TensorIndex index) const {
    if (tensor(index).home.exists()) return tensor(index).home;
    return tensor(index).start == Home::kRam ? index : TensorIndex();
  }

  // The input whose bytes the output may take: it dies here, and no write of it is in flight.
  TensorIndex donor(const Step& step, size_t write) const {
    const TensorIndex source = kernel(step).over[write];
    if (!source.exists() || !in_ram_[source] || written_[source]) return {};
    const bool dies = base::contains(step.frees, source);
    return dies || (tensor(source).pinned && last_use(step, source)) ? source : TensorIndex();
  }
  bool last_use(const Step& step, TensorIndex index) const {
    for (const Step* later = &step + 1; later != steps_.data() + steps_.size(); ++later) {
      if (later->dropped) continue;
      if (later->action.what != Do::kCompute && later->tensor() == index) return false;
      if (later->action.what != Do::kCompute) continue;
      const ChoiceModel& how = kernel(*later);
      if (base::contains(how.reads, index)) return false;
    }
    return !tensor(index).ends_in_ram;
  }

  Result<void> emit_compute(const Step& step) {
    const ChoiceModel& how = kernel(step);
    for (const TensorIndex read : how.reads)
      if (!in_ram_[read]) return lost(read);
    Event event{.what = Do::kCompute, .subject = step.action.subject, .choice = step.choice, .taken_over = {}};
    event.taken_over.assign(how.writes.size(), {});
    for (size_t write = 0; write < how.writes.size(); ++write) {
      if (in_ram_[how.writes[write]]) continue;
      const TensorIndex source = donor(step, write);
      if (source.exists())
        take_over(how.writes[write], source);
      else
        arrive(how.writes[write]);
      event.taken_over[write] = source;
    }
    events_.push_back(std::move(event));
    return {};
  }

  void take_over(TensorIndex index, TensorIndex source) {
    in_ram_[source] = 0;
    in_ram_[index] = 1;
    written_[index] = 0;
    holds_[index] = holds_[source];
    holds_[source] = {};
    at_home_[index] = at_home_[source] && home_of(source) == tensor(index).home;
  }

  Result<void> emit_transfer(const Step& step) {
    const TensorIndex index = step.tensor();
    const bool out = step.action.what == Do::kPageOut;
    if (out != (in_ram_[index] != 0)) {
      if (out) return lost(index);
      return {};  // there already: a pinned tensor
    }
    if (out)
      written_[index] = 1;
    else
      arrive(index);
    events_.push_back({.what = step.action.what, .subject = index.value(), .taken_over = {}});
    return {};
  }

  Result<void> check_end() const {
    for (const TensorIndex index : model_.tensors.indices()) {
      const TensorModel& entry = tensor(index);
      if (!entry.ends_in_ram) continue;
      if (!in_ram_[index]) return lost(index);
      if (!entry.home.exists() || entry.bytes == 0 || tensor(entry.home).bytes == 0) continue;
      if (holds_[index] != entry.home && !at_home_[index])
        return fail("E0302", fmt::format("tensor {} cannot end where the next step looks for it", entry.id));
    }
    return {};
  }

  static constexpr int kMostDepth = 1500;
  const Model& model_;
  const Choices& choices_;
  std::vector<Step> steps_;
  std::vector<Event> events_;
  Indexed<TensorIndex, char> made_, stored_;     // by tensor, in the order of the actions
  Indexed<OpIndex, int32_t> runs_;               // by op
  Indexed<TensorIndex, char> live_, fetched_;    // by tensor, from the end
  Indexed<TensorIndex, char> in_ram_, written_;  // by tensor; its bytes are being, or have been, written to storage
  Indexed<TensorIndex, TensorIndex> holds_;      // by tensor: the home whose bytes it has had since the start, or none
  Indexed<TensorIndex, char> at_home_, busy_;    // by tensor: its home was free when it came; by home
};

Bytes sum_of_outputs(const Model& model, const Event& event, const Indexed<TensorIndex, char>& in_ram) {
  const ChoiceModel& how = kernel_of(model, event);
  Bytes bytes = 0;
  for (size_t write = 0; write < how.writes.size(); ++write)
    if (!in_ram[how.writes[write]] && !event.taken_over[write].exists()) bytes += model.tensors[how.writes[write]].size;
  return bytes;
}

}  // namespace

Result<std::vector<Event>> complete(const Model& model, const Choices& choices, const std::vector<Action>& actions) {
  return Completer(model, choices).run(actions);
}

Bytes peak_of(const Model& model, const std::vector<Event>& events) {
  Indexed<TensorIndex, char> in_ram(model.tensors.size(), 0);
  Bytes live_bytes = base::round_up(model.staging, model.align), peak = 0;
  for (const TensorIndex index : model.tensors.indices()) {
    in_ram[index] = model.tensors[index].start == Home::kRam;
    if (in_ram[index]) live_bytes += model.tensors[index].size;
  }
  peak = live_bytes;
  for (const Event& event : events) {
    if (event.what == Do::kCompute) {
      const ChoiceModel& how = kernel_of(model, event);
      live_bytes += sum_of_outputs(model, event, in_ram);
      for (size_t write = 0; write < how.writes.size(); ++write) {
        in_ram[how.writes[write]] = 1;
        if (event.taken_over[write].exists()) in_ram[event.taken_over[write]] = 0;
      }
      peak = std::max(peak, live_bytes + how.workspace);
      continue;
    }
    if (event.what == Do::kPageOut) continue;
    const TensorIndex tensor(event.subject);
    live_bytes += event.what == Do::kFree ? -model.tensors[tensor].size : model.tensors[tensor].size;
    in_ram[tensor] = event.what == Do::kPageIn;
    peak = std::max(peak, live_bytes);
  }
  return peak;
}

std::vector<Action> in_stages(const Indexed<int32_t, StageActions>& stages) {
  std::vector<Action> actions;
  for (const StageActions& stage : stages) {
    for (const TensorIndex tensor : stage.page_in) actions.push_back(moving(Do::kPageIn, tensor));
    for (const TensorIndex tensor : stage.page_out) actions.push_back(moving(Do::kPageOut, tensor));
    for (const OpIndex op : stage.compute) actions.push_back(computing(op));
  }
  return actions;
}

}  // namespace pantoum::plan::baseline
