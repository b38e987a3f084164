#include "plan/baselines/schedule.h"

#include <fmt/format.h>

#include <algorithm>

namespace pantoum::plan::baseline {
namespace {

size_t z(int32_t index) {
  return static_cast<size_t>(index);
}

struct Step {
  Action action;
  int32_t choice = 0;
  bool dropped = false;
  std::vector<int32_t> frees;  // tensors that nobody asks for after it
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
  [[nodiscard]] const TensorModel& tensor(int32_t index) const { return model_.tensors[z(index)]; }
  [[nodiscard]] const ChoiceModel& kernel(const Step& step) const {
    return model_.ops[z(step.action.subject)].choices[z(step.choice)];
  }
  [[nodiscard]] Failure lost(int32_t index) const {
    return fail("E0302", fmt::format("the schedule asks for tensor {}, which is lost", tensor(index).id));
  }

  // ---- 1. every tensor that is read has been made or fetched before ---------------------------------

  Result<void> supply(const std::vector<Action>& actions) {
    made_.assign(model_.tensors.size(), 0);
    stored_.assign(model_.tensors.size(), 0);
    runs_.assign(model_.ops.size(), 0);
    for (size_t index = 0; index < made_.size(); ++index) {
      made_[index] = model_.tensors[index].start == problem::Home::kRam;
      stored_[index] = model_.tensors[index].start == problem::Home::kAux;
    }
    for (const Action& action : actions) {
      if (action.what == Do::kCompute)
        PANTOUM_TRY(run_op(action.subject, choices_[z(action.subject)], 0));
      else
        PANTOUM_TRY(transfer(action));
    }
    for (int32_t index = 0; index < static_cast<int32_t>(made_.size()); ++index) {
      const bool due = tensor(index).ends_in_aux && !stored_[z(index)];
      if (due && !model_.paging) return lost(index);
      if (tensor(index).ends_in_ram || due) PANTOUM_TRY(need(index, 0));
    }
    return {};
  }

  Result<void> run_op(int32_t op, int32_t choice, int depth) {
    const OpModel& model = model_.ops[z(op)];
    if (runs_[z(op)]++ > 0 && !model.recomputable)
      return fail("E0302", fmt::format("the schedule runs op {} twice, which may run once only", model.id));
    for (const int32_t read : model.choices[z(choice)].reads) PANTOUM_TRY(need(read, depth));
    steps_.push_back({.action = {Do::kCompute, op}, .choice = choice});
    for (const int32_t write : model.choices[z(choice)].writes) made_[z(write)] = 1;
    return {};
  }

  Result<void> transfer(const Action& action) {
    if (action.what == Do::kPageOut) {
      PANTOUM_TRY(need(action.subject, 0));
      if (stored_[z(action.subject)]) return {};
      stored_[z(action.subject)] = 1;
    } else if (!stored_[z(action.subject)]) {
      return lost(action.subject);
    }
    made_[z(action.subject)] = 1;
    steps_.push_back({.action = action});
    return {};
  }

  // In RAM since it was last made; what never was is fetched, or made by the first choice that writes it.
  Result<void> need(int32_t index, int depth) {
    if (made_[z(index)]) return {};
    if (stored_[z(index)]) return transfer({Do::kPageIn, index});
    const int32_t op = tensor(index).producer;
    if (op < 0 || depth > kMostDepth) return lost(index);
    const auto& kernels = model_.ops[z(op)].choices;
    for (int32_t choice = 0; choice < static_cast<int32_t>(kernels.size()); ++choice)
      if (std::find(kernels[z(choice)].writes.begin(), kernels[z(choice)].writes.end(), index) !=
          kernels[z(choice)].writes.end())
        return run_op(op, choice, depth + 1);
    return lost(index);
  }

  // ---- 2. duties -------------------------------------------------------------------------------------

  void end_in_storage() {
    std::vector<int32_t> last(model_.tensors.size(), -1);  // the step that reads or makes it last
    const auto mention = [&](int32_t index, size_t step) { last[z(index)] = static_cast<int32_t>(step); };
    for (size_t step = 0; step < steps_.size(); ++step) {
      if (steps_[step].action.what != Do::kCompute) {
        mention(steps_[step].action.subject, step);
        continue;
      }
      for (const int32_t read : kernel(steps_[step]).reads) mention(read, step);
      for (const int32_t write : kernel(steps_[step]).writes) mention(write, step);
    }
    std::vector<std::vector<int32_t>> due(steps_.size() + 1);
    for (int32_t index = 0; index < static_cast<int32_t>(last.size()); ++index)
      if (tensor(index).ends_in_aux && !stored_[z(index)]) due[z(last[z(index)] + 1)].push_back(index);
    std::vector<Step> all;
    for (size_t step = 0; step <= steps_.size(); ++step) {
      for (const int32_t index : due[step]) all.push_back({.action = {Do::kPageOut, index}});
      if (step < steps_.size()) all.push_back(std::move(steps_[step]));
    }
    steps_ = std::move(all);
  }

  // ---- 3. frees, from the end to the start -----------------------------------------------------------

  void find_frees() {
    live_.assign(model_.tensors.size(), 0);
    fetched_.assign(model_.tensors.size(), 0);
    for (size_t index = 0; index < live_.size(); ++index) live_[index] = model_.tensors[index].ends_in_ram;
    for (size_t step = steps_.size(); step-- > 0;) {
      if (steps_[step].action.what == Do::kCompute)
        compute_backwards(steps_[step]);
      else
        transfer_backwards(steps_[step]);
    }
  }

  void use(Step& step, int32_t index) {
    if (!live_[z(index)] && !tensor(index).pinned) step.frees.push_back(index);
    live_[z(index)] = 1;
  }

  void compute_backwards(Step& step) {
    const ChoiceModel& how = kernel(step);
    const OpModel& op = model_.ops[z(step.action.subject)];
    const bool again = --runs_[z(step.action.subject)] > 0;
    const bool asked =
        std::any_of(how.writes.begin(), how.writes.end(), [&](int32_t write) { return live_[z(write)]; });
    step.dropped = (again || op.optional) && !asked;
    if (step.dropped) return;
    for (const int32_t write : how.writes) {
      if (!live_[z(write)] && !tensor(write).pinned) step.frees.push_back(write);
      live_[z(write)] = 0;
    }
    for (const int32_t read : how.reads) use(step, read);
  }

  void transfer_backwards(Step& step) {
    const int32_t index = step.action.subject;
    if (step.action.what == Do::kPageIn) {
      step.dropped = !live_[z(index)];
      if (step.dropped) return;
      live_[z(index)] = 0;
      fetched_[z(index)] = 1;
      return;
    }
    step.dropped = !fetched_[z(index)] && !tensor(index).ends_in_aux;
    if (!step.dropped) use(step, index);
  }

  // ---- 4. events ---------------------------------------------------------------------------------------

  Result<void> emit() {
    in_ram_.assign(model_.tensors.size(), 0);
    written_.assign(model_.tensors.size(), 0);
    holds_.assign(model_.tensors.size(), -1);
    at_home_.assign(model_.tensors.size(), 0);
    busy_.assign(model_.tensors.size(), 0);
    for (int32_t index = 0; index < static_cast<int32_t>(in_ram_.size()); ++index) {
      if (tensor(index).start != problem::Home::kRam) continue;
      in_ram_[z(index)] = busy_[z(index)] = 1;
      holds_[z(index)] = index;
      if (!live_[z(index)] && !tensor(index).pinned) release(index);
    }
    for (const Step& step : steps_) {
      if (step.dropped) continue;
      PANTOUM_TRY(step.action.what == Do::kCompute ? emit_compute(step) : emit_transfer(step));
      for (const int32_t index : step.frees)
        if (in_ram_[z(index)]) release(index);
    }
    return {};
  }

  void release(int32_t index) {
    in_ram_[z(index)] = 0;
    if (holds_[z(index)] >= 0) busy_[z(holds_[z(index)])] = 0;
    holds_[z(index)] = -1;
    events_.push_back({.what = Do::kFree, .subject = index, .taken_over = {}});
  }

  void arrive(int32_t index) {
    in_ram_[z(index)] = 1;
    written_[z(index)] = 0;
    const int32_t home = home_of(index);
    at_home_[z(index)] = home >= 0 && !busy_[z(home)];
  }

  [[nodiscard]] int32_t home_of(int32_t index) const {
    if (tensor(index).home >= 0) return tensor(index).home;
    return tensor(index).start == problem::Home::kRam ? index : -1;
  }

  // The input whose bytes the output may take: it dies here, and no write of it is in flight.
  [[nodiscard]] int32_t donor(const Step& step, size_t write) const {
    const int32_t source = kernel(step).over[write];
    if (source < 0 || !in_ram_[z(source)] || written_[z(source)]) return -1;
    const bool dies = std::find(step.frees.begin(), step.frees.end(), source) != step.frees.end();
    return dies || (tensor(source).pinned && last_use(step, source)) ? source : -1;
  }
  [[nodiscard]] bool last_use(const Step& step, int32_t index) const {
    for (const Step* later = &step + 1; later != steps_.data() + steps_.size(); ++later) {
      if (later->dropped) continue;
      if (later->action.what != Do::kCompute && later->action.subject == index) return false;
      if (later->action.what != Do::kCompute) continue;
      const ChoiceModel& how = kernel(*later);
      if (std::find(how.reads.begin(), how.reads.end(), index) != how.reads.end()) return false;
    }
    return !tensor(index).ends_in_ram;
  }

  Result<void> emit_compute(const Step& step) {
    const ChoiceModel& how = kernel(step);
    for (const int32_t read : how.reads)
      if (!in_ram_[z(read)]) return lost(read);
    Event event{.what = Do::kCompute, .subject = step.action.subject, .choice = step.choice, .taken_over = {}};
    event.taken_over.assign(how.writes.size(), {});
    for (size_t write = 0; write < how.writes.size(); ++write) {
      if (in_ram_[z(how.writes[write])]) continue;
      const int32_t source = donor(step, write);
      if (source >= 0)
        take_over(how.writes[write], source);
      else
        arrive(how.writes[write]);
      event.taken_over[write] = TensorIndex(source);
    }
    events_.push_back(std::move(event));
    return {};
  }

  void take_over(int32_t index, int32_t source) {
    in_ram_[z(source)] = 0;
    in_ram_[z(index)] = 1;
    written_[z(index)] = 0;
    holds_[z(index)] = holds_[z(source)];
    holds_[z(source)] = -1;
    at_home_[z(index)] = at_home_[z(source)] && home_of(source) == tensor(index).home;
  }

  Result<void> emit_transfer(const Step& step) {
    const int32_t index = step.action.subject;
    const bool out = step.action.what == Do::kPageOut;
    if (out != (in_ram_[z(index)] != 0)) {
      if (out) return lost(index);
      return {};  // there already: a pinned tensor
    }
    if (out)
      written_[z(index)] = 1;
    else
      arrive(index);
    events_.push_back({.what = step.action.what, .subject = index, .taken_over = {}});
    return {};
  }

  [[nodiscard]] Result<void> check_end() const {
    for (int32_t index = 0; index < static_cast<int32_t>(in_ram_.size()); ++index) {
      const TensorModel& entry = tensor(index);
      if (!entry.ends_in_ram) continue;
      if (!in_ram_[z(index)]) return lost(index);
      if (entry.home < 0 || entry.bytes == 0 || tensor(entry.home).bytes == 0) continue;
      if (holds_[z(index)] != entry.home && !at_home_[z(index)])
        return fail("E0302", fmt::format("tensor {} cannot end where the next step looks for it", entry.id));
    }
    return {};
  }

  static constexpr int kMostDepth = 1500;
  const Model& model_;
  const Choices& choices_;
  std::vector<Step> steps_;
  std::vector<Event> events_;
  std::vector<char> made_, stored_;     // by tensor, in the order of the actions
  std::vector<int32_t> runs_;           // by op
  std::vector<char> live_, fetched_;    // by tensor, from the end
  std::vector<char> in_ram_, written_;  // by tensor; its bytes are being, or have been, written to storage
  std::vector<int32_t> holds_;          // by tensor: the home whose bytes it has had since the start, or -1
  std::vector<char> at_home_, busy_;    // by tensor: its home was free when it came; by home
};

Bytes sum_of_outputs(const Model& model, const Event& event, const std::vector<char>& in_ram) {
  const ChoiceModel& how = model.ops[z(event.subject)].choices[z(event.choice)];
  Bytes bytes = 0;
  for (size_t write = 0; write < how.writes.size(); ++write)
    if (!in_ram[z(how.writes[write])] && event.taken_over[write] < 0) bytes += model.tensors[z(how.writes[write])].size;
  return bytes;
}

}  // namespace

Result<std::vector<Event>> complete(const Model& model, const Choices& choices, const std::vector<Action>& actions) {
  return Completer(model, choices).run(actions);
}

Bytes peak_of(const Model& model, const std::vector<Event>& events) {
  std::vector<char> in_ram(model.tensors.size(), 0);
  Bytes live_bytes = (model.staging + model.align - 1) / model.align * model.align, peak = 0;
  for (size_t index = 0; index < in_ram.size(); ++index) {
    in_ram[index] = model.tensors[index].start == problem::Home::kRam;
    if (in_ram[index]) live_bytes += model.tensors[index].size;
  }
  peak = live_bytes;
  for (const Event& event : events) {
    if (event.what == Do::kCompute) {
      const ChoiceModel& how = model.ops[z(event.subject)].choices[z(event.choice)];
      live_bytes += sum_of_outputs(model, event, in_ram);
      for (size_t write = 0; write < how.writes.size(); ++write) {
        in_ram[z(how.writes[write])] = 1;
        if (event.taken_over[write] >= 0) in_ram[z(event.taken_over[write])] = 0;
      }
      peak = std::max(peak, live_bytes + how.workspace);
      continue;
    }
    if (event.what == Do::kPageOut) continue;
    live_bytes +=
        event.what == Do::kFree ? -model.tensors[z(event.subject)].size : model.tensors[z(event.subject)].size;
    in_ram[z(event.subject)] = event.what == Do::kPageIn;
    peak = std::max(peak, live_bytes);
  }
  return peak;
}

std::vector<Action> in_stages(const std::vector<StageActions>& stages) {
  std::vector<Action> actions;
  for (const StageActions& stage : stages) {
    for (const int32_t tensor : stage.page_in) actions.push_back({Do::kPageIn, tensor});
    for (const int32_t tensor : stage.page_out) actions.push_back({Do::kPageOut, tensor});
    for (const int32_t op : stage.compute) actions.push_back({Do::kCompute, op});
  }
  return actions;
}

}  // namespace pantoum::plan::baseline
