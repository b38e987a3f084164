#include "plan/search/search.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <iterator>
#include <mutex>
#include <system_error>
#include <thread>

#include "plan/simulate/simulate.h"

namespace pantoum::plan {
namespace {

constexpr int64_t kShortest = 10'000, kLongest = 2'000'000;  // proposals of an annealing in a round
constexpr int64_t kPerInterval = 500;
constexpr int64_t kTurns = 6;    // where rounds count, annealings learn from each other so often
constexpr int64_t kLeast = 500;  // proposals of such a round
constexpr double kMostPatience = 4, kMostGrowth = 8;
constexpr double kHeats[] = {3e-3, 1e-3, 3e-4, 1e-3};  // in turn; each annealing is at another
constexpr double kHot = 10;                            // times that, where an annealing restarts with all it may do
constexpr int64_t kIdle = 2;                           // such rounds, and an annealing restarts
constexpr int64_t kWarmIntervals = 1000;               // more intervals want it cooler: each pays a smaller share

// Runs the tasks on several threads. What a task throws (no memory) is thrown again when all threads have ended. If
// the system gives fewer threads, those do all tasks.
void on_threads(int threads, int tasks, const std::function<void(int)>& task) {
  std::atomic<int> next{0};
  std::mutex mutex;
  std::exception_ptr thrown;
  const auto work = [&] {
    try {
      for (int each = next++; each < tasks; each = next++) task(each);
    } catch (...) {
      const std::lock_guard lock(mutex);
      thrown = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> team;
    team.reserve(static_cast<size_t>(std::max(threads, 1)));
    try {
      for (int thread = 1; thread < std::min(threads, tasks); ++thread) team.emplace_back(work);
    } catch (const std::system_error&) {
    }
    work();
  }
  if (thrown) std::rethrow_exception(thrown);
}

// What an annealing may do in the first round after a restart. A smaller question is searched better, and its answer
// is an answer to the whole question.
enum Means : size_t { kDropping, kPaging, kBoth, kMeans };

class ParallelAnnealing {
 public:
  ParallelAnnealing(const Model& model, const Limit& limit, const SearchResult& start, const ParallelLimits& limits)
      : model_(model),
        limit_(limit),
        start_(start),
        limits_(limits),
        unavoidable_(unavoidable(model, limit)),
        best_(start) {
    annealings_.resize(position_of(limits.annealings));
    for (size_t annealing = 0; annealing < annealings_.size(); ++annealing) {
      annealings_[annealing].found = start;
      annealings_[annealing].alone = annealing % 2 == 1 && model.uses(Switch::kOwnMeans);
      annealings_[annealing].begins = annealings_[annealing].alone;
      annealings_[annealing].means = static_cast<Means>(annealing / 2 % kMeans);
    }
    const auto intervals = static_cast<int64_t>(model.intervals.size());
    length_ = std::clamp(intervals * kPerInterval, kShortest, kLongest);
    if (limits.round.count() > 0) affordable_ = kShortest;
    if (limits.rounds > 0) length_ = std::min(length_, std::max(kLeast, limits.rounds / kTurns));
    heat_ = static_cast<double>(kWarmIntervals) / static_cast<double>(std::max(intervals, kWarmIntervals));
  }

  SearchResult run() {
    int64_t spent = 0;
    for (uint64_t round = 0; !finished(spent); ++round) {
      const int64_t length = std::min({length_, affordable_, limits_.rounds > 0 ? limits_.rounds - spent : kLongest});
      choose_guides();
      const auto begin = std::chrono::steady_clock::now();
      on_threads(limits_.threads ? limits_.threads() : 1, limits_.annealings, [&](int annealing) {
        SearchLimits search = limits_.search;
        search.rounds = length;
        search.unavoidable = unavoidable_;
        search.heat = kHeats[(round + static_cast<uint64_t>(annealing)) % std::size(kHeats)] * heat_;
        advance(annealings_[position_of(annealing)], round * 1024 + static_cast<uint64_t>(annealing) + 1, search);
      });
      spent += length;
      if (limits_.round.count() > 0) afford(length, std::chrono::steady_clock::now() - begin);
      const bool improved = gather();
      idle_ = improved ? 0 : idle_ + 1;
      if (idle_ > 0 && idle_ % 2 == 0) {
        length_ = std::min(kLongest, length_ * 2);
        patience_ = std::min(kMostPatience, patience_ * 2);
      }
      scatter();
    }
    return best_;
  }

 private:
  struct Annealing {
    SearchResult found;
    bool alone = false;   // goes its own way: the others take from it, it takes nothing from them
    bool begins = false;  // in this round, with `means`
    Means means = kBoth;
    std::optional<Policy> hint;  // to begin with, over the budget perhaps
    int64_t idle = 0;            // rounds in which it did not get better
    Policy guide;
  };

  bool finished(int64_t spent) const {
    if (limits_.rounds > 0 && spent >= limits_.rounds) return true;
    if (best_.outcome.fits() && best_.outcome.value <= limits_.search.target) return true;
    return (limits_.search.stop && limits_.search.stop()) || (limits_.stagnant && limits_.stagnant());
  }

  // An annealing that the clock cuts off does not cool down: a round is as long as its time allows.
  void afford(int64_t length, std::chrono::duration<double> took) {
    const double most = patience_ * limits_.round / std::max(took, std::chrono::duration<double>(1e-6));
    affordable_ = std::max(kLeast, static_cast<int64_t>(static_cast<double>(length) * std::min(most, kMostGrowth)));
  }

  void advance(Annealing& annealing, uint64_t seed, SearchLimits search) const {
    const double before = annealing.found.outcome.value;
    if (annealing.begins) {
      annealing.found = annealing.hint
                            ? anneal(model_, limit_, greedy(model_, limit_, *annealing.hint, search), seed, search)
                            : begin(annealing.means, seed, search);
      annealing.hint.reset();
      annealing.idle = 0;
      return;
    }
    if (!annealing.guide.intervals.empty()) search.guide = &annealing.guide;
    annealing.found = anneal(model_, limit_, annealing.found, seed, search);
    annealing.idle = annealing.found.outcome.value < before * (1 - 1e-7) ? 0 : annealing.idle + 1;
  }

  SearchResult begin(Means means, uint64_t seed, const SearchLimits& search) const {
    if (means == kBoth) {
      SearchLimits hot = search;
      hot.heat *= kHot;
      return anneal(model_, limit_, start_, seed, hot);
    }
    Model less = model_;
    for (TensorModel& tensor : less.tensors) {
      if (means == kDropping) tensor.can_page = false;
      if (means == kPaging && tensor.start != Home::kAux) tensor.can_drop = false;
    }
    SearchResult start = greedy(less, limit_, keep_all(less, start_.policy.choices), search);
    if (!start.outcome.fits()) return anneal(model_, limit_, start_, seed, search);
    SearchResult found = anneal(less, limit_, start, seed, search);
    Simulator simulator(model_, limit_);
    found.outcome = simulator.reset(found.policy);
    return found;
  }

  // An annealing that is not alone looks at the next one that is.
  void choose_guides() {
    if (!model_.uses(Switch::kGuides)) return;
    for (size_t annealing = 0; annealing < annealings_.size(); ++annealing) {
      annealings_[annealing].guide = {};
      const Annealing& other = annealings_[(annealing + 1) % annealings_.size()];
      if (!annealings_[annealing].alone && other.alone && !other.begins)
        annealings_[annealing].guide = other.found.policy;
    }
  }

  // The best of all into best_. Was it better by more than a rounding error?
  bool gather() {
    bool improved = false;
    for (const Annealing& annealing : annealings_) {
      if (!better(annealing.found.outcome, best_.outcome)) continue;
      improved = improved || !best_.outcome.fits() || annealing.found.outcome.value < best_.outcome.value * (1 - 1e-7);
      best_ = annealing.found;
    }
    if (improved && best_.outcome.fits() && limits_.improved) limits_.improved(best_.outcome);
    return improved;
  }

  // Decides where each annealing goes on.
  void scatter() {
    for (Annealing& annealing : annealings_) {
      if (!annealing.alone && model_.uses(Switch::kSharing) && better(best_.outcome, annealing.found.outcome))
        annealing.found = best_;
      if (!annealing.alone) continue;
      annealing.begins = model_.uses(Switch::kRestarts) && annealing.idle >= kIdle && start_.outcome.sound;
      if (!annealing.begins && limits_.hint) {
        annealing.hint = limits_.hint();
        annealing.begins = annealing.hint.has_value();
      } else if (annealing.begins) {
        annealing.means = static_cast<Means>((annealing.means + 1) % kMeans);
      }
    }
  }

  const Model& model_;
  const Limit& limit_;
  const SearchResult& start_;
  const ParallelLimits& limits_;
  const double unavoidable_;
  SearchResult best_;
  std::vector<Annealing> annealings_;
  int64_t length_ = 0, affordable_ = kLongest;  // of a round
  double patience_ = 1;
  double heat_ = 1;
  int64_t idle_ = 0;  // rounds in which nothing got better
};

}  // namespace

SearchResult anneal_in_parallel(const Model& model, const Limit& limit, const SearchResult& start,
                                const ParallelLimits& limits) {
  return ParallelAnnealing(model, limit, start, limits).run();
}

}  // namespace pantoum::plan
