#include "plan/solver.h"

#include <exception>
#include <thread>

#include "plan/plan_search.h"

namespace pantoum::plan {

std::optional<Plan> Solver::solve_and_prove() {
  if (!instance_.by_clock()) return solve();
  std::exception_ptr thrown;  // there was no memory for the proof: then there is none for what follows
  std::jthread prover([&](const std::stop_token& stop) {
    try {
      prove(stop);
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  std::optional<Plan> plan = solve();
  proof_stopped_ = !plan;
  if (proof_stopped_) prover.request_stop();
  prover.join();
  if (thrown) std::rethrow_exception(thrown);
  return plan;
}

void Solver::prove_for(double value) {
  best_value_ = value;
  if (instance_.by_clock() && !proof_stopped_) return;
  proof_stopped_ = false;
  prove({});
}

std::optional<Plan> Solver::solve() {
  return PlanSearch(instance_, prover_, best_value_).run();
}

std::optional<Plan> Solver::keep_everything() {
  return PlanSearch(instance_, prover_, best_value_).keep_everything();
}

void Solver::prove(const std::stop_token& stop) {
  prover_.run([&] { return stop.stop_requested() ? 0 : instance_.seconds_left_to_prove(); },
              [this] { return best_value_.load(); });
}

}  // namespace pantoum::plan
