// Annealing of lists for devices of several engines: ops move within the list and to other engines, are computed again, are paged out and in.
#pragma once

#include <limits>
#include <memory>

#include "plan/realize/engine_run.h"
#include "plan/simulate/plan_options.h"
#include "plan/simulate/time_limit.h"

namespace pantoum::plan {

// What a list costs; less is better. Lists beyond the budget or a limit cost more, so that the search comes back.
struct Cost {
  double value = std::numeric_limits<double>::infinity();
  bool answers = false;
  double guide = std::numeric_limits<double>::infinity();  // the value, and a little for each entry
};
// By a question of the model, of a list of so many entries.
Cost cost_of(const ListFigures& figures, const EngineModel& model, size_t entries);
inline bool is_better(const Cost& a, const Cost& b) {
  return a.answers != b.answers ? a.answers : a.value < b.value;
}

// Adds transfers without which a list is not valid: what is read in RAM comes there, what is streamed goes to storage. Takes out transfers of which
// nobody makes use. false: the list cannot be mended so.
bool mend_transfers(List& list, const EngineModel& model);

inline constexpr int kAnnealingRounds = 8;  // each begins with the best list of all chains

// One chain of neighbours. Deterministic by its seed where lists are counted.
class ListAnnealing {
 public:
  // `enough`: a value within the gap that is asked for; the chain ends there. The references are kept.
  ListAnnealing(const EngineModel& model, const PlanOptions& options, const TimeLimit& time, uint64_t seed, List start,
                double enough);
  ~ListAnnealing();

  // Anneals from the best list. `round`: of kAnnealingRounds, each colder at first than the one before; it takes its share of the time that is left, or of
  // the lists of the effort, and `part` of that.
  void anneal(int round, double part);
  void begin_with(const ListAnnealing& other);
  [[nodiscard]] const List& best() const;
  [[nodiscard]] const Cost& best_cost() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace pantoum::plan
