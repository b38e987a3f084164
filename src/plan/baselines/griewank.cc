#include "plan/baselines/griewank.h"

#include <fmt/format.h>

#include "plan/baselines/methods.h"
#include "plan/baselines/task.h"

namespace pantoum::plan::baseline {
namespace {

constexpr int32_t kMostSteps = 400;  // the table is cubic to fill

class Writer {
 public:
  Writer(const Chain& chain, const Revolve& table) : chain_(chain), table_(table) {}

  // Steps high .. low + 1; state low is there.
  void reverse(int32_t low, int32_t high, int32_t slots) {
    const int32_t length = high - low;
    if (length == 1) return step(high);
    if (slots == 0) {
      for (int32_t at = high; at > low; --at) {
        advance(low, at - 1);
        step(at);
      }
      return;
    }
    const int32_t middle = low + table_.split(length, slots);
    advance(low, middle);
    reverse(middle, high, slots - 1);
    reverse(low, middle, slots);
  }

  std::vector<Action> actions;

 private:
  void advance(int32_t from, int32_t to) {
    for (int32_t state = from + 1; state <= to; ++state) actions.push_back(computing(chain_.forward[state]));
  }
  // Taping: the state that the step turns back, left out by `complete` where the backward ops do not read it.
  void step(int32_t at) {
    if (at < chain_.length()) advance(at - 1, at);
    for (const OpIndex op : chain_.steps[at]) actions.push_back(computing(op));
  }

  const Chain& chain_;
  const Revolve& table_;
};

}  // namespace

Revolve::Revolve(int32_t length, int32_t slots) : length_(length) {
  cost_.resize(position_of(at(length, slots)) + 1);
  split_.resize(cost_.size());
  for (int32_t l = 2; l <= length; ++l) cost_[at(l, 0)] = static_cast<int64_t>(l) * (l - 1) / 2;
  for (int32_t c = 1; c <= slots; ++c)
    for (int32_t l = 2; l <= length; ++l) {
      int64_t best = -1;
      for (int32_t j = 1; j < l; ++j) {
        const int64_t cost = j + cost_[at(l - j, c - 1)] + cost_[at(j, c)];
        if (best < 0 || cost < best) best = cost, split_[at(l, c)] = j;
      }
      cost_[at(l, c)] = best;
    }
}

Result<Plan> griewank(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Task task, ask(graph, options, "griewank"));
  PANTOUM_ASSIGN(const Chain chain, find_chain(task));
  const int32_t steps = chain.length() + 1;
  if (steps > kMostSteps) return does_not_apply(task, fmt::format("too large for its table: {} steps", steps));
  const Revolve table(steps, steps - 1);
  Result<Plan> plan = no_schedule(task, "no number of slots was tried");
  for (int32_t slots = steps - 1; slots >= 0 && !plan && !task.out_of_time(); --slots) {
    Writer writer(chain, table);
    writer.reverse(-1, chain.length(), slots);
    PANTOUM_ASSIGN(const std::vector<Event> events, complete(task.model, task.choices, writer.actions));
    if (slots == 0 || peak_of(task.model, events) <= options.question.budget_bytes()) plan = answer(task, events);
  }
  return plan;
}

}  // namespace pantoum::plan::baseline
