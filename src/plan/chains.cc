#include "plan/chains.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <thread>

namespace pantoum::plan {
namespace {

constexpr int64_t kShortest = 10'000, kLongest = 2'000'000;  // proposals of a chain in a round
constexpr int64_t kPerGap = 500;
constexpr double kHeats[] = {3e-3, 1e-3, 3e-4, 1e-3};  // in turn; each chain is at another
constexpr int64_t kWarmGaps = 1000;                    // more gaps want it cooler: each pays a smaller share

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

class Chains {
 public:
  Chains(const Model& model, const Limit& limit, const SearchResult& start, const ChainLimits& limits)
      : model_(model), limit_(limit), start_(start), limits_(limits), best_(start) {
    chains_.assign(static_cast<size_t>(limits.chains), start);
    const auto gaps = static_cast<int64_t>(model.gaps.size());
    length_ = std::clamp(gaps * kPerGap, kShortest, kLongest);
    heat_ = static_cast<double>(kWarmGaps) / static_cast<double>(std::max(gaps, kWarmGaps));
  }

  SearchResult run() {
    int64_t spent = 0;
    for (uint64_t round = 0; !finished(spent); ++round) {
      const int64_t length = limits_.rounds > 0 ? std::min(length_, limits_.rounds - spent) : length_;
      on_threads(limits_.threads, limits_.chains, [&](int chain) {
        SearchLimits search = limits_.search;
        search.rounds = length;
        search.heat = kHeats[(round + static_cast<uint64_t>(chain)) % std::size(kHeats)] * heat_;
        SearchResult& own = chains_[static_cast<size_t>(chain)];
        own = anneal(model_, limit_, own, round * 1024 + static_cast<uint64_t>(chain) + 1, search);
      });
      spent += length;
      const bool improved = gather();
      idle_ = improved ? 0 : idle_ + 1;
      if (idle_ > 0 && idle_ % 2 == 0) length_ = std::min(kLongest, length_ * 2);
      scatter();
    }
    return best_;
  }

 private:
  [[nodiscard]] bool finished(int64_t spent) const {
    if (limits_.rounds > 0 && spent >= limits_.rounds) return true;
    if (best_.outcome.fits() && best_.outcome.value <= limits_.search.target) return true;
    return (limits_.search.stop && limits_.search.stop()) || (limits_.stagnant && limits_.stagnant());
  }

  // The best of all into best_. Was it better by more than a rounding error?
  bool gather() {
    bool improved = false;
    for (const SearchResult& chain : chains_) {
      if (!better(chain.outcome, best_.outcome)) continue;
      improved = improved || !best_.outcome.fits() || chain.outcome.value < best_.outcome.value * (1 - 1e-7);
      best_ = chain;
    }
    if (improved && best_.outcome.fits() && limits_.improved) limits_.improved(best_.outcome);
    return improved;
  }

  // Where each chain goes on.
  void scatter() {
    const bool restart = model_.uses(Switch::kRestarts) && idle_ > 0 && idle_ % 4 == 0 && start_.outcome.sound;
    for (size_t chain = 0; chain < chains_.size(); ++chain) {
      const bool anew = chain % 2 == 1 && idle_ > 0;
      if (anew && restart) chains_[chain] = start_;
      if (!anew && model_.uses(Switch::kSharing) && better(best_.outcome, chains_[chain].outcome))
        chains_[chain] = best_;
    }
  }

  const Model& model_;
  const Limit& limit_;
  const SearchResult& start_;
  const ChainLimits& limits_;
  SearchResult best_;
  std::vector<SearchResult> chains_;
  int64_t length_ = 0;
  double heat_ = 1;
  int64_t idle_ = 0;  // rounds in which nothing got better
};

}  // namespace

SearchResult anneal_chains(const Model& model, const Limit& limit, const SearchResult& start,
                           const ChainLimits& limits) {
  return Chains(model, limit, start, limits).run();
}

}  // namespace pantoum::plan
