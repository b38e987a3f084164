#include "plan/realize/placed_search.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "plan/realize/placed_stream.h"
#include "plan/search/neighbours.h"
#include "plan/simulate/simulate.h"

namespace pantoum::plan {
namespace {

constexpr int64_t kNodesPerOp = 20;  // of a search for offsets, which takes far longer than a proposal
constexpr int64_t kLeastNodes = 5000;
constexpr int64_t kDraws = 20'000;            // at the most, for candidates
constexpr size_t kGathered = 8, kPlaced = 4;  // candidates; the best of them get a search for offsets
constexpr int64_t kRoundsPerPlacing = 100;    // that a search for offsets counts as, where rounds count
constexpr int64_t kAskEvery = 64;             // proposals
constexpr double kBetter = 1 - 1e-9;

class PlacedSearch {
 public:
  PlacedSearch(const Model& model, const Limit& limit, const PlanOptions& options, const Policy& start,
               const Plan& plan, const SearchLimits& limits)
      : limits_(limits),
        simulator_(model, limit),
        neighbours_(model, limit.question.budget_bytes()),
        nodes_(std::max(kLeastNodes, kNodesPerOp * static_cast<int64_t>(model.ops.size()))) {
    simulator_.reset(start);
    const std::vector<Event> events = simulator_.events();
    if (events.size() == plan.instructions.size()) placed_.emplace(model, options, events, plan);
  }

  // Did it find anything?
  bool run() {
    while (placed_ && !finished() && !neighbours_.empty()) {
      gather();
      for (size_t next = 0; next < std::min(kPlaced, candidates_.size()) && !finished(); ++next)
        if (take(candidates_[next].changes)) break;
    }
    return any_;
  }

  [[nodiscard]] const Policy& policy() const { return simulator_.policy(); }
  [[nodiscard]] Realized realized(const CostGraph& graph) const { return placed_->realized(graph); }

 private:
  struct Candidate {
    double value = 0;
    std::vector<Simulator::Change> changes;
  };

  [[nodiscard]] bool finished() const {
    if (limits_.rounds > 0 && round_ >= limits_.rounds) return true;
    return simulator_.outcome().value <= limits_.target || (limits_.stop && limits_.stop());
  }

  // Neighbours that are better, the best first.
  void gather() {
    candidates_.clear();
    const double most = simulator_.outcome().value * kBetter;
    for (int64_t draw = 0; draw < kDraws && candidates_.size() < kGathered; ++draw, ++round_) {
      if (draw % kAskEvery == 0 && finished()) break;
      const std::vector<Simulator::Change>& drawn = neighbours_.draw(simulator_, random_);
      const Outcome after = simulator_.propose(drawn);
      if (after.fits() && after.value <= most) candidates_.push_back({after.value, drawn});
      simulator_.reject();
    }
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.value < b.value; });
  }

  // Where there are offsets.
  bool take(const std::vector<Simulator::Change>& changes) {
    std::vector<Simulator::Change> back;
    back.reserve(changes.size());
    for (const Simulator::Change& change : changes)
      back.push_back({change.interval, simulator_.policy().intervals[change.interval]});
    simulator_.propose(changes);
    simulator_.accept();
    round_ += kRoundsPerPlacing;
    if (placed_->take(simulator_.events(), nodes_)) return any_ = true;
    simulator_.propose(back);
    simulator_.accept();
    return false;
  }

  const SearchLimits& limits_;
  Simulator simulator_;
  Neighbours neighbours_;
  std::optional<PlacedStream> placed_;
  const int64_t nodes_;
  Random random_{1};
  std::vector<Candidate> candidates_;
  int64_t round_ = 0;
  bool any_ = false;
};

}  // namespace

std::optional<PlacedResult> improve_placed(const CostGraph& graph, const Model& model, const Limit& limit,
                                           const PlanOptions& options, const Policy& start, const Plan& plan,
                                           const SearchLimits& limits) {
  PlacedSearch search(model, limit, options, start, plan, limits);
  if (!search.run()) return std::nullopt;
  Realized realized = search.realized(graph);
  if (!realized.plan) return std::nullopt;
  return PlacedResult{search.policy(), std::move(*realized.plan)};
}

}  // namespace pantoum::plan
