#include "plan/instance.h"

#include <algorithm>
#include <thread>

namespace pantoum::plan {

Instance::Instance(const CostGraph& from, const PlanOptions& how, Until latest)
    : graph(from),
      options(how),
      time(options.time_limit),
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
    if (tensor.start != Home::kAux) tensor.can_drop = false;
}

bool Instance::stopped() const {
  return options.stop.stop_requested() || (until && Clock::now() >= *until);
}

Seconds Instance::seconds_left_to_prove() const {
  if (options.stop.stop_requested()) return 0;
  return time.left() - time.for_attempt(Attempt::kPlacing) - kReserve;
}

int Instance::thread_count() const {
  return options.threads > 0 ? options.threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace pantoum::plan
