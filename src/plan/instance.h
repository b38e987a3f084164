// A question prepared for the solver: its model, its first bounds, and the start of its time limit.
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

// Lets threads work in turns: one works, and the others wait in the order of their arrival. Without `in_use`, all threads work at the same time.
class Turns {
 public:
  explicit Turns(bool in_use) : in_use_(in_use) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Waits until it is this thread's turn.
  void take() {
    if (!in_use_) return;
    std::unique_lock lock(mutex_);
    const uint64_t own = next_++;
    moved_.wait(lock, [&] { return serving_ == own; });
    began_ = std::chrono::steady_clock::now();
  }
  // Ends this thread's turn.
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

  // Holds a turn during the lifetime of the object.
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
  std::chrono::steady_clock::time_point began_;  // start of the turn; only the thread whose turn it is reads it
};

inline constexpr Seconds kReserve = 0.05;  // at the end of the time limit

// An instance does not change after its construction, except for `turns` and `doing`, so search and proof may read it at the same time.
struct Instance {
  using Clock = TimeLimit::Clock;
  using Until = std::optional<Clock::time_point>;

  // Keeps the cost graph by reference. `latest`: the latest end of the work; nullopt: only the options limit the time, if at all.
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
    for (TensorModel& tensor : model.tensors)  // the bounds above already consider this by the freedom
      if (tensor.start != Home::kAux) tensor.can_drop = false;
  }

  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  Objective objective() const { return options.question.objective; }
  bool by_clock() const { return options.effort == 0; }
  Seconds elapsed() const { return time.elapsed(); }
  // stopped from outside, or at `until`
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
  Bounds limited;              // of any order, for plans that keep the question's limits
  Joules stage_priced_energy;  // of plans of the model's order
  mutable Turns turns;         // in use if search and proof have one thread together
  struct Doing {               // the present work of search and proof, for progress reports
    std::atomic<const char*> search = "", proof = "";
  };
  mutable Doing doing;
};

}  // namespace pantoum::plan
