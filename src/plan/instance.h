// A question made ready for the solver: its model, its first bounds, and the clock that began with it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

#include "plan/bound/bounds.h"
#include "plan/simulate/model.h"
#include "plan/simulate/plan_options.h"
#include "plan/simulate/time_limit.h"

namespace pantoum::plan {

// Threads that take turns: one works, the others wait, in the order in which they came. Without `in_use` all work at once.
class Turns {
 public:
  explicit Turns(bool in_use) : in_use_(in_use) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Waits for the turn.
  void take() {
    if (!in_use_) return;
    std::unique_lock lock(mutex_);
    const uint64_t own = next_++;
    moved_.wait(lock, [&] { return serving_ == own; });
    began_ = std::chrono::steady_clock::now();
  }
  // Ends the turn.
  void give() {
    if (!in_use_) return;
    const std::lock_guard lock(mutex_);
    ++serving_;
    moved_.notify_all();
  }
  // Called often within a turn: lets another thread work if one waits and the turn was long enough.
  void pass() {
    if (!in_use_ || std::chrono::steady_clock::now() - began_ < kShortest || !wanted()) return;
    give();
    take();
  }

  // A turn as long as the object lives.
  class Own {
   public:
    explicit Own(Turns& turns) : turns_(turns) { turns_.take(); }
    ~Own() { turns_.give(); }
    Own(const Own&) = delete;
    Own& operator=(const Own&) = delete;

   private:
    Turns& turns_;
  };

 private:
  static constexpr std::chrono::milliseconds kShortest{5};
  bool wanted() {
    const std::lock_guard lock(mutex_);
    return next_ > serving_ + 1;
  }

  const bool in_use_;
  std::mutex mutex_;
  std::condition_variable moved_;
  uint64_t next_ = 0, serving_ = 0;
  std::chrono::steady_clock::time_point began_;  // of the turn: read by who has it
};

inline constexpr Seconds kReserve = 0.05;  // at the end of the time limit

// An instance does not change once it is made, so that search and proof may read it side by side. They change `turns`
// and `doing`.
struct Instance {
  using Clock = TimeLimit::Clock;
  using Until = std::optional<Clock::time_point>;

  // Keeps the cost graph by reference. `latest`: the latest end; nothing: no clock, or only the options' own.
  Instance(const CostGraph& from, const PlanOptions& how, Until latest = {})
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

  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  Objective objective() const { return options.question.objective; }
  bool by_clock() const { return options.effort == 0; }
  Seconds elapsed() const { return time.elapsed(); }
  // from outside, or at `until`
  bool stopped() const { return options.stop.stop_requested() || (until && Clock::now() >= *until); }

  Seconds seconds_left_to_prove() const {
    if (options.stop.stop_requested()) return 0;
    return time.left() - time.for_attempt(Attempt::kPlacing) - kReserve;
  }

  int thread_count() const {
    return options.threads > 0 ? options.threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  }

  const CostGraph& graph;
  PlanOptions options;
  TimeLimit time;
  Until until;
  Model model;
  Bounds bounds;               // of any order
  Bounds limited;              // of any order, of plans that keep the question's limits
  Joules stage_priced_energy;  // of plans of the model's order
  mutable Turns turns;         // with one thread for both
  struct Doing {               // what search and proof are at, for whoever waits
    std::atomic<const char*> search = "", proof = "";
  };
  mutable Doing doing;
};

}  // namespace pantoum::plan
