#include "plan/instance.h"

#include <algorithm>
#include <thread>

#include "plan/realize/realize.h"

namespace pantoum::plan {

Instance::Instance(const CostGraph& from, const PlanOptions& how, Until latest)
    : graph(from),
      options(how),
      begin(Clock::now()),
      until(latest),
      model(make_model(graph, options)),
      bounds(lower_bounds(model)),
      limited(lower_bounds(model, options.question)),
      stage_priced_energy(plan::stage_priced_energy(model, options.question.budget_bytes(),
                                                    options.question.freedoms.paging,
                                                    options.question.freedoms.recomputing)),
      turns(by_clock() && thread_count() == 1) {
  if (options.question.freedoms.recomputing) return;
  for (TensorModel& tensor : model.tensors)  // the bounds above know it by the freedom
    if (tensor.start != problem::Home::kAux) tensor.can_drop = false;
}

Seconds Instance::elapsed() const {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

bool Instance::stopped() const {
  return options.stop.stop_requested() || (until && Clock::now() >= *until);
}

Seconds Instance::seconds_left_to_prove() const {
  if (options.stop.stop_requested()) return 0;
  return options.time_limit * (1 - kPlacementShare) - kReserve - elapsed();
}

int Instance::thread_count() const {
  return options.threads > 0 ? options.threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace pantoum::plan
