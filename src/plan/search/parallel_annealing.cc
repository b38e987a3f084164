#include "plan/search/parallel_annealing.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <thread>

namespace pantoum::plan {
namespace {

constexpr int64_t kShortest = 10'000, kLongest = 2'000'000;  // proposals of a chain in a round
constexpr int64_t kPerInterval = 500;
constexpr int64_t kTurns = 6;    // where rounds count, chains learn from each other so often
constexpr int64_t kLeast = 500;  // proposals of such a round
constexpr double kMostPatience = 4, kMostGrowth = 8;
constexpr double kHeats[] = {3e-3, 1e-3, 3e-4, 1e-3};  // in turn; each chain is at another
constexpr double kHot = 10;                            // times that, where a chain begins anew with all it may do
constexpr int64_t kIdle = 2;                           // such rounds, and a chain begins anew
constexpr int64_t kWarmIntervals = 1000;               // more intervals want it cooler: each pays a smaller share

void on_threads(int threads, int tasks, const std::function<void(int)>& task) {
  std::atomic<int> next{0};
  const auto work = [&] {
    for (int each = next++; each < tasks; each = next++) task(each);
  };
  std::vector<std::thread> team;
  for (int thread = 1; thread < std::min(threads, tasks); ++thread) team.emplace_back(work);
  work();
  for (std::thread& thread : team) thread.join();
}

// What a chain that begins anew may do in its first round: a smaller question is searched better, and its answer is one
// to the whole question.
enum Means : size_t { kDropping, kPaging, kBoth, kMeans };

class Chains {
 public:
  Chains(const Model& model, const Limit& limit, const SearchResult& start, const ParallelLimits& limits)
      : model_(model), limit_(limit), start_(start), limits_(limits), best_(start) {
    chains_.resize(static_cast<size_t>(limits.chains));
    for (size_t chain = 0; chain < chains_.size(); ++chain) {
      chains_[chain].found = start;
      chains_[chain].alone = chain % 2 == 1 && model.uses(Switch::kOwnMeans);
      chains_[chain].begins = chains_[chain].alone;
      chains_[chain].means = static_cast<Means>(chain / 2 % kMeans);
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
      on_threads(limits_.threads, limits_.chains, [&](int chain) {
        SearchLimits search = limits_.search;
        search.rounds = length;
        search.heat = kHeats[(round + static_cast<uint64_t>(chain)) % std::size(kHeats)] * heat_;
        advance(chains_[static_cast<size_t>(chain)], round * 1024 + static_cast<uint64_t>(chain) + 1, search);
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
  struct Chain {
    SearchResult found;
    bool alone = false;   // goes its own way: the others take from it, it takes nothing from them
    bool begins = false;  // in this round, with `means`
    Means means = kBoth;
    std::optional<Policy> hint;  // to begin with, over the budget perhaps
    int64_t idle = 0;            // rounds in which it did not get better
    Policy guide;
  };

  [[nodiscard]] bool finished(int64_t spent) const {
    if (limits_.rounds > 0 && spent >= limits_.rounds) return true;
    if (best_.outcome.fits() && best_.outcome.value <= limits_.search.target) return true;
    return (limits_.search.stop && limits_.search.stop()) || (limits_.stagnant && limits_.stagnant());
  }

  // An annealing that the clock cuts off does not cool down: a round is as long as its time allows.
  void afford(int64_t length, std::chrono::duration<double> took) {
    const double most = patience_ * limits_.round / std::max(took, std::chrono::duration<double>(1e-6));
    affordable_ = std::max(kLeast, static_cast<int64_t>(static_cast<double>(length) * std::min(most, kMostGrowth)));
  }

  void advance(Chain& chain, uint64_t seed, SearchLimits search) const {
    const double before = chain.found.outcome.value;
    if (chain.begins) {
      chain.found = chain.hint ? anneal(model_, limit_, greedy(model_, limit_, *chain.hint, search), seed, search)
                               : begin(chain.means, seed, search);
      chain.hint.reset();
      chain.idle = 0;
      return;
    }
    if (!chain.guide.intervals.empty()) search.guide = &chain.guide;
    chain.found = anneal(model_, limit_, chain.found, seed, search);
    chain.idle = chain.found.outcome.value < before * (1 - 1e-7) ? 0 : chain.idle + 1;
  }

  [[nodiscard]] SearchResult begin(Means means, uint64_t seed, const SearchLimits& search) const {
    if (means == kBoth) {
      SearchLimits hot = search;
      hot.heat *= kHot;
      return anneal(model_, limit_, start_, seed, hot);
    }
    Model less = model_;
    for (TensorModel& tensor : less.tensors) {
      if (means == kDropping) tensor.can_page = false;
      if (means == kPaging && tensor.start != problem::Home::kAux) tensor.can_drop = false;
    }
    SearchResult start = greedy(less, limit_, keep_all(less, start_.policy.choices), search);
    if (!start.outcome.fits()) return anneal(model_, limit_, start_, seed, search);
    SearchResult found = anneal(less, limit_, start, seed, search);
    Simulator simulator(model_, limit_);
    found.outcome = simulator.reset(found.policy);
    return found;
  }

  // A chain that is not alone looks at the next one that is.
  void choose_guides() {
    if (!model_.uses(Switch::kGuides)) return;
    for (size_t chain = 0; chain < chains_.size(); ++chain) {
      chains_[chain].guide = {};
      const Chain& other = chains_[(chain + 1) % chains_.size()];
      if (!chains_[chain].alone && other.alone && !other.begins) chains_[chain].guide = other.found.policy;
    }
  }

  // The best of all into best_. Was it better by more than a rounding error?
  bool gather() {
    bool improved = false;
    for (const Chain& chain : chains_) {
      if (!better(chain.found.outcome, best_.outcome)) continue;
      improved = improved || !best_.outcome.fits() || chain.found.outcome.value < best_.outcome.value * (1 - 1e-7);
      best_ = chain.found;
    }
    if (improved && best_.outcome.fits() && limits_.improved) limits_.improved(best_.outcome);
    return improved;
  }

  // Where each chain goes on.
  void scatter() {
    for (Chain& chain : chains_) {
      if (!chain.alone && model_.uses(Switch::kSharing) && better(best_.outcome, chain.found.outcome))
        chain.found = best_;
      if (!chain.alone) continue;
      chain.begins = model_.uses(Switch::kRestarts) && chain.idle >= kIdle && start_.outcome.sound;
      if (!chain.begins && limits_.hint) {
        chain.hint = limits_.hint();
        chain.begins = chain.hint.has_value();
      } else if (chain.begins) {
        chain.means = static_cast<Means>((chain.means + 1) % kMeans);
      }
    }
  }

  const Model& model_;
  const Limit& limit_;
  const SearchResult& start_;
  const ParallelLimits& limits_;
  SearchResult best_;
  std::vector<Chain> chains_;
  int64_t length_ = 0, affordable_ = kLongest;  // of a round
  double patience_ = 1;
  double heat_ = 1;
  int64_t idle_ = 0;  // rounds in which nothing got better
};

}  // namespace

SearchResult anneal_in_parallel(const Model& model, const Limit& limit, const SearchResult& start,
                                const ParallelLimits& limits) {
  return Chains(model, limit, start, limits).run();
}

}  // namespace pantoum::plan
