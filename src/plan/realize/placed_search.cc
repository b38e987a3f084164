#include "plan/realize/realize.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "place/place.h"
#include "plan/realize/allocations.h"
#include "plan/search/neighbours.h"
#include "plan/simulate/simulate.h"

namespace pantoum::plan {
namespace {

// A stream with its offsets, and those of its neighbours: what two streams have in common stays where it is, as far as it
// can.
class PlacedStream {
 public:
  // `plan`: of these instructions, within the budget of the options' question. Keeps `model` and `options` by reference. Not
  // for streams whose transfers run beside compute: when bytes are taken is not looked at.
  PlacedStream(const Model& model, const PlanOptions& options, const std::vector<Event>& events, const Plan& plan)
      : model_(model), options_(options), events_(events) {
    const Allocations allocations = make_allocations(model, events, {options.fixed_initial, options.others}, {});
    std::vector<Bytes> at(allocations.all.size(), 0);
    if (allocations.staging) at[*allocations.staging] = plan.staging_at;
    for (const auto& [tensor, initial] : allocations.initial) at[initial] = plan.initial.at(model.tensors[tensor].id);
    for (size_t index = 0; index < events.size(); ++index) {
      const Instruction& entry = plan.instructions[index];
      for (size_t output = 0; output < allocations.outputs[index].size(); ++output)
        at[allocations.outputs[index][output]] = entry.at[output];
      if (allocations.workspace[index]) at[*allocations.workspace[index]] = entry.workspace_at;
    }
    name_all(events, allocations, [&](const Name& name, size_t each) { offsets_[name] = at[each]; });
    if (options.others == nullptr) return;
    for (const OtherProgram& other : *options.others) {
      const auto found = offsets_beside(other, plan.initial, model.align, options.question.budget_bytes());
      for (size_t each = 0; each < other.all.size(); ++each)
        others_.push_back(found ? std::optional((*found)[each]) : std::nullopt);
    }
  }

  // Looks for offsets of these instructions near the last ones, in so many nodes of guided local search. False: none were
  // found, and nothing is changed.
  bool take(const std::vector<Event>& events, int64_t nodes) {
    const Allocations allocations = make_allocations(model_, events, {options_.fixed_initial, options_.others}, {});
    std::vector<std::optional<Bytes>> near(allocations.all.size());
    name_all(events, allocations, [&](const Name& name, size_t at) {
      if (const auto known = offsets_.find(name); known != offsets_.end()) near[at] = known->second;
    });
    for (size_t other = 0; other < others_.size(); ++other) near[allocations.own + other] = others_[other];
    const place::PlaceOptions how{.align = model_.align, .budget = options_.question.budget, .steps = nodes};
    const Result<place::Placement> found = place::adjust(allocations.all, near, how);
    if (!found) return false;
    offsets_.clear();
    name_all(events, allocations, [&](const Name& name, size_t at) { offsets_[name] = found->at[at]; });
    others_.assign(found->at.begin() + static_cast<std::ptrdiff_t>(allocations.own), found->at.end());
    events_ = events;
    return true;
  }

  // The plan of the instructions last taken, as realize() makes it.
  Realized realized(const CostGraph& graph) const {
    const Allocations allocations = make_allocations(model_, events_, {options_.fixed_initial, options_.others}, {});
    place::Placement placement{.at = std::vector<Bytes>(allocations.all.size(), 0)};
    name_all(events_, allocations, [&](const Name& name, size_t at) { placement.at[at] = offsets_.at(name); });
    Plan plan{.question = options_.question, .graph = graph};
    write_instructions(model_, events_, allocations, placement, plan);
    return judged(model_, options_, std::move(plan));
  }

 private:
  // What is allocated: the op or tensor of an instruction, how many instructions of it came before, and which output.
  struct Name {
    int64_t owner = 0, nth = 0, output = 0;
    friend bool operator==(const Name&, const Name&) = default;
  };
  struct Hash {
    size_t operator()(const Name& name) const {
      const auto mixed = [](size_t hash, int64_t value) {
        return (hash ^ position_of(value)) * size_t{0x9E3779B97F4A7C15u} + (hash >> 29);
      };
      return mixed(mixed(mixed(0, name.owner), name.nth), name.output);
    }
  };
  class Namer {
   public:
    static constexpr int64_t kWorkspace = -1;

    // Goes on to the next instruction, which allocates something.
    void advance(const Event& event) {
      const int64_t owner = 2 * int64_t{event.subject} + (event.what == Do::kCompute ? 1 : 0);
      name_ = {.owner = owner, .nth = ++counts_[owner]};
    }
    Name output(size_t output) const {
      return {.owner = name_.owner, .nth = name_.nth, .output = static_cast<int64_t>(output)};
    }
    Name workspace() const { return {.owner = name_.owner, .nth = name_.nth, .output = kWorkspace}; }
    static Name initial(TensorIndex tensor) { return {.owner = 2 * int64_t{tensor.value()}}; }
    static Name staging() { return {.owner = -1}; }

   private:
    std::unordered_map<int64_t, int64_t> counts_;
    Name name_;
  };
  using Offsets = std::unordered_map<Name, Bytes, Hash>;

  // Calls with the name and the position in `all` of each allocation of the stream.
  template <class Each>
  void name_all(const std::vector<Event>& events, const Allocations& allocations, const Each& each) const {
    if (allocations.staging) each(Namer::staging(), *allocations.staging);
    for (const auto& [tensor, at] : allocations.initial) each(Namer::initial(tensor), at);
    Namer namer;
    for (size_t index = 0; index < events.size(); ++index) {
      if (allocations.outputs[index].empty() && !allocations.workspace[index]) continue;
      namer.advance(events[index]);
      for (size_t output = 0; output < allocations.outputs[index].size(); ++output)
        each(namer.output(output), allocations.outputs[index][output]);
      if (allocations.workspace[index]) each(namer.workspace(), *allocations.workspace[index]);
    }
  }

  const Model& model_;
  const PlanOptions& options_;
  Offsets offsets_;
  std::vector<std::optional<Bytes>> others_;  // offsets of other programs' allocations, as they were last found
  std::vector<Event> events_;                 // last taken
};

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
        neighbours_(model, limit.question.budget_bytes(), simulator_, random_),
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

  const Policy& policy() const { return simulator_.policy(); }
  Realized realized(const CostGraph& graph) const { return placed_->realized(graph); }

 private:
  struct Candidate {
    double value = 0;
    std::vector<Simulator::Change> changes;
  };

  bool finished() const {
    if (limits_.rounds > 0 && round_ >= limits_.rounds) return true;
    return simulator_.outcome().value <= limits_.target || (limits_.stop && limits_.stop());
  }

  // Neighbours that are better, the best first.
  void gather() {
    candidates_.clear();
    const double most = simulator_.outcome().value * kBetter;
    for (int64_t draw = 0; draw < kDraws && candidates_.size() < kGathered; ++draw, ++round_) {
      if (draw % kAskEvery == 0 && finished()) break;
      const std::vector<Simulator::Change>& drawn = neighbours_.draw();
      const Outcome after = simulator_.propose(drawn);
      if (after.fits() && after.value <= most) candidates_.push_back({after.value, drawn});
      simulator_.reject();
    }
    std::ranges::stable_sort(candidates_, {}, &Candidate::value);
  }

  // Takes the changes if there are offsets for them.
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
  Random random_{1};
  Neighbours neighbours_;
  std::optional<PlacedStream> placed_;
  const int64_t nodes_;
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
