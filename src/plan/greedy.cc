#include <algorithm>

#include "plan/search.h"

namespace pantoum::plan {
namespace {

size_t z(int32_t index) {
  return static_cast<size_t>(index);
}

int32_t worst_stage(const Model& model, const Simulator& simulator, Bytes ram) {
  int32_t worst = -1;
  for (int32_t stage = 0; stage <= model.end(); ++stage)
    if (simulator.peak(stage) > ram && (worst < 0 || simulator.peak(stage) > simulator.peak(worst))) worst = stage;
  return worst;
}

struct Candidate {
  Simulator::Change change;
  double score = 0;  // value paid per byte saved
};

// The ways to give up a gap that is kept across `stage`: at once, by page and by drop.
std::vector<Simulator::Change> ways(const Model& model, const Simulator& simulator, int32_t gap, int32_t stage) {
  const Gap& span = model.gaps[z(gap)];
  std::vector<Simulator::Change> found;
  if (span.from >= stage || span.to <= stage || span.to == model.never()) return found;
  const GapPolicy& now = simulator.policy().gaps[z(gap)];
  for (const bool page : {true, false}) {
    if (page ? !may_page(model, gap) : !may_drop(model, gap)) continue;
    const GapPolicy to{.evict = span.from, .again = span.to, .until = span.to, .fetch = span.to, .page = page};
    if (!(to == now)) found.push_back({gap, to});
  }
  return found;
}

SearchResult give_up(const Model& model, const Limit& limit, Policy start, const SearchLimits& limits) {
  Simulator simulator(model, limit);
  simulator.reset(std::move(start));
  while (simulator.outcome().excess > 0 || !simulator.outcome().sound) {
    const int32_t stage = worst_stage(model, simulator, limit.ram);
    if (stage < 0 || (limits.stop && limits.stop())) break;
    const Outcome before = simulator.outcome();
    Candidate best{{-1, {}}, 0};
    for (int32_t gap = 0; gap < static_cast<int32_t>(model.gaps.size()); ++gap) {
      for (const Simulator::Change& change : ways(model, simulator, gap, stage)) {
        const Outcome after = simulator.propose({change});
        simulator.reject();
        if (!after.sound || after.excess >= before.excess) continue;
        const double score =
            (std::max(0.0, after.value - before.value) + 1e-12 * before.value) / (before.excess - after.excess);
        if (best.change.gap < 0 || score < best.score) best = {change, score};
      }
    }
    if (best.change.gap < 0) break;
    simulator.propose({best.change});
    simulator.accept();
  }
  return {simulator.policy(), simulator.outcome()};
}

}  // namespace

SearchResult greedy(const Model& model, const Limit& limit, Policy start, const SearchLimits& limits) {
  if (limit.deadline <= 0 && limit.most_energy <= 0) return give_up(model, limit, std::move(start), limits);
  Simulator simulator(model, limit);
  SearchResult found{start, simulator.reset(start)};
  const auto consider = [&](const Model& how, const Limit& own) {
    const Outcome& outcome = simulator.reset(give_up(how, own, start, limits).policy);
    if (better(outcome, found.outcome)) found = {simulator.policy(), outcome};
  };
  const Limit open{.ram = limit.ram, .objective = limit.objective};
  consider(model, open);
  if (found.outcome.fits()) return found;
  Model still = model;
  for (TensorModel& tensor : still.tensors) tensor.can_page = false;
  consider(still, open);
  if (found.outcome.dear > 0) consider(model, {.ram = limit.ram});
  if (!found.outcome.fits())
    consider(model, {.ram = limit.ram, .deadline = limit.deadline, .objective = Objective::kTime});
  return found;
}

}  // namespace pantoum::plan
