#include "plan/solver.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace pantoum::plan {
namespace {

constexpr std::chrono::milliseconds kBeat{250};

// Tells progress again and again, as long as it lives. Where the system gives no thread, nothing is told.
class Heartbeat {
 public:
  explicit Heartbeat(const std::function<void()>& beat) {
    try {
      thread_.emplace([this, beat](const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        while (!never_.wait_for(lock, stop, kBeat, [] { return false; }) && !stop.stop_requested()) beat();
      });
    } catch (const std::system_error&) {
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any never_;
  std::optional<std::jthread> thread_;
};

}  // namespace

std::optional<Plan> Solver::solve_and_prove() {
  std::optional<Heartbeat> heartbeat;
  if (instance_.options.progress) heartbeat.emplace([this] { tell(); });
  if (!instance_.by_clock()) return solve();
  std::exception_ptr thrown;  // there was no memory for the proof: then there is none for what follows
  std::jthread prover([&](const std::stop_token& stop) {
    try {
      const Turns::Own turn(instance_.turns);
      prove(stop);
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  std::optional<Plan> plan = solve();
  proof_stopped_ = !plan;
  if (proof_stopped_)
    prover.request_stop();
  else
    best_value_ = value_of(*plan);  // the search's is that of a policy, which offsets may have made dearer
  prover.join();
  if (thrown) std::rethrow_exception(thrown);
  return plan;
}

void Solver::prove_for(double value) {
  best_value_ = value;
  if (instance_.by_clock() && !proof_stopped_) return;
  proof_stopped_ = false;
  std::optional<Heartbeat> heartbeat;
  if (instance_.options.progress) heartbeat.emplace([this] { tell(); });
  prove({});
}

std::optional<Plan> Solver::solve() {
  const Turns::Own turn(instance_.turns);
  return search_plan(instance_, prover_, best_value_);
}

std::optional<Plan> Solver::keep_everything() {
  return plan::keep_everything(instance_, prover_);
}

void Solver::prove(const std::stop_token& stop) {
  const auto seconds_left = [&] {
    instance_.turns.pass();
    return stop.stop_requested() ? 0 : instance_.seconds_left_to_prove();
  };
  prover_.run(seconds_left, [this] { return best_value_.load(); });
}

void Solver::tell() const {
  instance_.options.progress({.elapsed = instance_.elapsed(),
                              .best = best_value_.load(),
                              .bound = prover_.bound(),
                              .search = instance_.doing.search.load(),
                              .proof = prover_.running() ? instance_.doing.proof.load() : ""});
}

}  // namespace pantoum::plan
