#include "place/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "place/boxes.h"
#include "place/canonical_search.h"
#include "place/greedy.h"
#include "place/overlap_search.h"
#include "place/rank_walk.h"

namespace pantoum::place {
namespace {

// The boxes' offsets begin at `ground`.
Placement by_allocation(const std::vector<Allocation>& allocations, const Boxes& boxes, const Offsets& offsets,
                        Bytes ground = 0) {
  Placement placement;
  placement.at.reserve(allocations.size());
  for (size_t allocation = 0; allocation < allocations.size(); ++allocation) {
    const int32_t box = boxes.box_of[allocation];
    placement.at.push_back(box < 0 ? boxes.offset_of[allocation] : ground + offsets.at[position_of(box)]);
    if (allocations[allocation].begin < allocations[allocation].end)  // what never lives takes no bytes
      placement.arena_bytes = std::max(placement.arena_bytes, placement.at.back() + allocations[allocation].size);
  }
  return placement;
}

// Returns for each box its place in the order of the offsets.
std::vector<int32_t> ranks_by(const std::vector<Bytes>& offsets) {
  std::vector<int32_t> order(offsets.size());
  std::iota(order.begin(), order.end(), 0);
  const auto at = [&](int32_t box) { return offsets[position_of(box)]; };
  std::ranges::stable_sort(order, {}, at);
  return ranks_in(order);
}

// ---- small changes of a greedy order, kept when the arena does not grow ----

size_t drawn(base::Random& random, size_t below) {
  return position_of(random.next() % below);
}

// A box that ends at the top of the arena, or half of the time one that lives beside it.
int32_t culprit(const Boxes& boxes, const Offsets& offsets, base::Random& random) {
  std::vector<int32_t> highest, beside;
  for (size_t box = 0; box < boxes.boxes.size(); ++box)
    if (!boxes.boxes[box].fixed && offsets.at[box] + boxes.boxes[box].bytes >= offsets.arena)
      highest.push_back(static_cast<int32_t>(box));
  if (highest.empty()) return -1;
  const int32_t top = highest[drawn(random, highest.size())];
  if (drawn(random, 2) == 0) return top;
  for (size_t box = 0; box < boxes.boxes.size(); ++box)
    if (meet(boxes.boxes[box], boxes.boxes[position_of(top)])) beside.push_back(static_cast<int32_t>(box));
  return beside[drawn(random, beside.size())];
}

bool take(SearchLimit& limit, size_t nodes) {
  limit.nodes -= static_cast<int64_t>(nodes);
  return limit.nodes > 0 && !past(limit.deadline);
}

// Improves `order` and its offsets: moves boxes that stick out above `goal`, or their neighbours, forward in the
// order, and places again (first fit). Stops at the goal or the limit (a placement counts as many nodes as it has
// boxes). Deterministic.
void hill_climb(const Boxes& boxes, std::vector<int32_t>& order, uint64_t seed, Bytes goal, SearchLimit& limit,
                Offsets& best) {
  base::Random random(seed);
  Offsets current = greedy(boxes, order, Fit::kFirst, limit.deadline);
  while (take(limit, boxes.boxes.size())) {
    if (current.arena < best.arena) best = current;
    if (best.arena <= goal) return;
    const int32_t moved = culprit(boxes, current, random);
    if (moved < 0) return;
    std::vector<int32_t> next = order;
    const auto from = std::find(next.begin(), next.end(), moved);
    const auto to = next.begin() + static_cast<std::ptrdiff_t>(drawn(random, position_of(from - next.begin()) + 1));
    std::rotate(to, from, from + 1);
    Offsets found = greedy(boxes, next, Fit::kFirst, limit.deadline);
    if (found.arena > current.arena) continue;
    current = std::move(found);
    order = std::move(next);
  }
  if (current.arena < best.arena) best = std::move(current);
}

// ---- the attempts, in turn ----

// What is known so far; everything that looks for a smaller arena gets it.
struct Attempt {
  const Boxes& boxes;
  Bytes least;  // no arena is smaller
  SearchLimit limit;
  Offsets best;
  std::vector<int32_t> best_order;
};

bool out_of_time(const Attempt& attempt) {
  return past(attempt.limit.deadline);
}

constexpr std::chrono::milliseconds kGrace{25};  // for the heuristics where hardly any time is given

// All orders, first and best fit; stops at `goal`.
void try_greedy(Attempt& attempt, Bytes goal) {
  Deadline deadline = attempt.limit.deadline;
  if (deadline) *deadline += kGrace;
  bool any = false;
  for (auto& order : greedy_orders(attempt.boxes))
    for (const Fit fit : {Fit::kFirst, Fit::kBest}) {
      if (any && (attempt.best.arena <= goal || past(deadline))) return;
      Offsets found = greedy(attempt.boxes, order, fit, deadline);
      if (any && found.arena >= attempt.best.arena) continue;
      any = true;
      attempt.best = std::move(found);
      attempt.best_order = order;
    }
}

Bytes beyond(Bytes least, double share) {
  return least + static_cast<Bytes>(static_cast<double>(least) * share);
}

// The canonical search in turns over several orders, each round of turns twice as long as the last.
class Turns {
 public:
  Turns(const Boxes& boxes, Bytes goal)
      : search_(boxes, goal), ranks_(search_ranks(boxes)), turn_(std::max(kLeastTurn, nodes_of_descent(boxes))) {}

  // Begins no turn after `nodes`; kFound: attempt.best is within the goal.
  Outcome run(Attempt& attempt, int64_t nodes) {
    for (; nodes > 0 && attempt.limit.nodes > 0 && !out_of_time(attempt); next_ = (next_ + 1) % ranks_.size()) {
      SearchLimit limit{std::min(turn_, attempt.limit.nodes), attempt.limit.deadline};
      const int64_t granted = limit.nodes;
      const Outcome outcome = search_.run(ranks_[next_], limit);
      const int64_t used = std::max<int64_t>(1, granted - limit.nodes);
      nodes -= used;
      attempt.limit.nodes -= used;
      if (outcome == Outcome::kFound) attempt.best = {search_.at(), arena_of(attempt.boxes, search_.at())};
      if (outcome != Outcome::kLimit) return outcome;
      if (next_ + 1 == ranks_.size()) turn_ *= 2;
    }
    return Outcome::kLimit;
  }

 private:
  static constexpr int64_t kLeastTurn = 4096;

  CanonicalSearch search_;
  const std::vector<std::vector<int32_t>> ranks_;
  size_t next_ = 0;
  int64_t turn_;
};

// Boxes that are always alive, as stripes, go to the bottom, one upon the other: wherever they lie, what is left fits as
// well when they are taken out and put there. They are no boxes any more; offsets of all others begin at the ground.
class Stripes {
 public:
  explicit Stripes(Boxes& boxes) : boxes_(boxes), taken_(boxes.boxes.size(), 0), offset_(boxes.boxes.size(), 0) {}

  // The ground.
  Bytes take_out() {
    if (take_given()) take_free();
    if (ground_ > 0) remove_taken();
    return ground_;
  }

 private:
  bool is_stripe(const Box& box) const {
    return box.live.size() == 1 && box.live[0].begin == 0 && box.live[0].end == boxes_.moments;
  }
  static Bytes rounding(const Box& box) { return box.size - box.bytes; }

  // The free stripe that stays a box: topmost, the one with most rounding may spare it.
  const Box* spare() const {
    const Box* found = nullptr;
    for (const Box& box : boxes_.boxes) {
      if (box.fixed || !is_stripe(box) || rounding(box) == 0) continue;
      const bool more = found == nullptr ||
                        (rounding(box) != rounding(*found) ? rounding(box) > rounding(*found) : box.size < found->size);
      if (more) found = &box;
    }
    return found;
  }

  void take(const Box& box) {
    const auto number = position_of(&box - boxes_.boxes.data());
    taken_[number] = 1;
    offset_[number] = std::exchange(ground_, ground_ + box.size);
  }

  // Stripes with given offsets, as far as they lie upon each other. Rounding below what always lives is no spare one.
  // False: other boxes have given offsets, too, and may forbid more.
  bool take_given() {
    std::vector<const Box*> given;
    bool any_free = false;
    for (const Box& box : boxes_.boxes) {
      if (box.fixed) given.push_back(&box);
      any_free = any_free || (!box.fixed && is_stripe(box));
    }
    std::ranges::sort(given, {}, [](const Box* one) { return *one->fixed; });
    for (const Box* box : given) {
      if (!is_stripe(*box) || *box->fixed != ground_ || (rounding(*box) > 0 && !any_free)) return false;
      take(*box);
    }
    return true;
  }

  void take_free() {
    const Box* const left = spare();
    for (const Box& box : boxes_.boxes)
      if (!box.fixed && is_stripe(box) && &box != left) take(box);
  }

  void remove_taken() {
    std::vector<int32_t> renamed(boxes_.boxes.size(), -1);
    std::vector<Box> others;
    for (size_t box = 0; box < boxes_.boxes.size(); ++box) {
      if (taken_[box] != 0) continue;
      renamed[box] = static_cast<int32_t>(others.size());
      others.push_back(std::move(boxes_.boxes[box]));
      if (others.back().fixed) *others.back().fixed -= ground_;
    }
    boxes_.boxes = std::move(others);
    for (size_t allocation = 0; allocation < boxes_.box_of.size(); ++allocation) {
      int32_t& box = boxes_.box_of[allocation];
      if (box < 0) continue;
      const auto number = position_of(std::exchange(box, renamed[position_of(box)]));
      if (box < 0) boxes_.offset_of[allocation] = offset_[number];
    }
  }

  Boxes& boxes_;
  std::vector<char> taken_;    // by box
  std::vector<Bytes> offset_;  // of what is taken out
  Bytes ground_ = 0;
};

constexpr int64_t kNoLimit = int64_t{1} << 60;
constexpr int64_t kTurn = 20'000;    // nodes of the canonical search in the first round
constexpr double kLeastPart = 0.02;  // of the excess, that an arena is to be smaller by
constexpr Bytes kNoBudget = Bytes{1} << 60;
constexpr int64_t kMovePart = 20;  // of the nodes of adjust(), for the guided local search
constexpr int64_t kLeastToMove = 1000, kMostToMove = 1'000'000;
constexpr int64_t kLookTurn = 10'000;  // nodes of the guided local search in it

// Windows of 1, 3, 5, 9, ... moments, wider in each round.
bool proved_by_window(Attempt& attempt, Bytes budget, uint64_t round, int64_t nodes) {
  const int32_t reach = round == 0 ? 0 : int32_t{1} << std::min<uint64_t>(round - 1, 20);
  if (reach > attempt.boxes.moments) return false;
  SearchLimit some{std::min(attempt.limit.nodes, nodes), attempt.limit.deadline};
  const int64_t granted = some.nodes;
  const bool proved = some_window_overfull(attempt.boxes, budget, reach, some);
  attempt.limit.nodes -= granted - some.nodes;
  return proved;
}

// Searches for at most `nodes`. True: attempt.best is what the search found.
bool untangle(OverlapSearch& search, Attempt& attempt, int64_t nodes) {
  SearchLimit some{std::min(attempt.limit.nodes, nodes), attempt.limit.deadline};
  const int64_t granted = some.nodes;
  const bool found = search.run(some) == Outcome::kFound;
  attempt.limit.nodes -= std::max<int64_t>(1, granted - some.nodes);
  if (found) attempt.best = {search.at(), arena_of(attempt.boxes, search.at())};
  return found;
}

// Guided local search for smaller and smaller arenas, each from the offsets of the last: half of the way to the goal at
// once, or where that is too much less and less of it.
void untangle_more_and_more(Attempt& attempt, Bytes goal) {
  int64_t nodes = kLookTurn;
  for (double part = 0.5; attempt.best.arena > goal && attempt.limit.nodes > 0 && !out_of_time(attempt);) {
    const Bytes excess = attempt.best.arena - goal;
    const auto less = std::max<Bytes>(1, static_cast<Bytes>(static_cast<double>(excess) * part));
    OverlapSearch search(attempt.boxes, attempt.best.arena - less, attempt.best.at);
    if (untangle(search, attempt, nodes)) continue;
    part = std::max(part / 2, kLeastPart);
    nodes *= 2;
  }
}

// Mends a greedy order. That remains where boxes are too many for everything else.
void mend(Attempt& attempt, Bytes goal) {
  std::vector<int32_t> order = attempt.best_order;
  hill_climb(attempt.boxes, order, 1, goal, attempt.limit, attempt.best);
}

// Searches until the best arena is within the budget. kNone: it is proved that no arena is. `clashes`: those of the
// offsets that came nearest.
Outcome fit(Attempt& attempt, Bytes budget, std::vector<OverlapSearch::Overlap>& clashes) {
  try_greedy(attempt, budget);
  if (attempt.best.arena <= budget) return Outcome::kFound;
  std::optional<Turns> turns;
  std::optional<OverlapSearch> untangling;
  std::optional<RankWalk> walk;
  if (searchable(attempt.boxes)) turns.emplace(attempt.boxes, budget), walk.emplace(attempt.boxes, budget);
  if (has_few_pairs(attempt.boxes)) untangling.emplace(attempt.boxes, budget, attempt.best.at);
  for (uint64_t round = 0; attempt.limit.nodes > 0 && !out_of_time(attempt); ++round) {  // each longer than the last
    const int64_t stretch = int64_t{1} << std::min<uint64_t>(round, 30);
    const Outcome outcome = turns ? turns->run(attempt, kTurn * stretch) : Outcome::kLimit;
    if (outcome != Outcome::kLimit) return outcome;
    if (turns && proved_by_window(attempt, budget, round, kTurn * stretch)) return Outcome::kNone;
    if (walk && walk->run(attempt.best, attempt.limit, kTurn * stretch) != Outcome::kLimit)
      return attempt.best.arena <= budget ? Outcome::kFound : Outcome::kNone;
    if (untangling && untangle(*untangling, attempt, kLookTurn * stretch)) return Outcome::kFound;
    if (turns || untangling) continue;
    mend(attempt, budget);
    break;
  }
  if (untangling) clashes = untangling->least_overlaps();
  return attempt.best.arena <= budget ? Outcome::kFound : Outcome::kLimit;
}

// Returns the clashes in the allocations' own time.
std::vector<Shortfall::Clash> timed(const std::vector<OverlapSearch::Overlap>& clashes,
                                    const std::vector<Allocation>& allocations, const Boxes& boxes) {
  std::vector<std::vector<const Allocation*>> of(boxes.boxes.size());
  for (size_t allocation = 0; allocation < allocations.size(); ++allocation)
    if (const int32_t box = boxes.box_of[allocation]; box >= 0)
      of[position_of(box)].push_back(&allocations[allocation]);
  std::vector<Shortfall::Clash> found;
  for (const OverlapSearch::Overlap& clash : clashes)
    for (const Allocation* one : of[position_of(clash.one)])
      for (const Allocation* other : of[position_of(clash.other)])
        if (const int64_t begin = std::max(one->begin, other->begin), end = std::min(one->end, other->end); begin < end)
          found.push_back({begin, end, clash.bytes});
  return found;
}

// Makes the arena as small as can be found: searches for goals between the peak and the best, the smallest first, and then
// by untangling for less and less.
void shrink(Attempt& attempt) {
  try_greedy(attempt, attempt.least);
  if (attempt.best.arena <= attempt.least) return;
  const int64_t nodes = attempt.limit.nodes;
  const auto began = std::chrono::steady_clock::now();
  const auto whole_deadline = attempt.limit.deadline;
  const auto share_until = [&](size_t eighths) {
    if (whole_deadline) attempt.limit.deadline = began + (*whole_deadline - began) * static_cast<int>(eighths) / 8;
  };
  constexpr double kExcess[] = {0, 0.003, 0.01, 0.02, 0.05};
  const bool search = searchable(attempt.boxes), few = has_few_pairs(attempt.boxes);
  for (size_t round = 0; search && round < std::size(kExcess); ++round) {
    const Bytes goal = beyond(attempt.least, kExcess[round]);
    if (goal >= attempt.best.arena || past(whole_deadline)) break;
    share_until(few ? (round + 1) / 2 : round + 1);
    if (Turns(attempt.boxes, goal).run(attempt, nodes / 8) == Outcome::kFound) return;
  }
  if (search) {
    share_until(6);
    RankWalk(attempt.boxes, attempt.least).run(attempt.best, attempt.limit, kNoLimit);
  }
  attempt.limit.deadline = whole_deadline;
  if (!few) return mend(attempt, attempt.least);
  untangle_more_and_more(attempt, attempt.least);
}

SearchLimit limit_of(const PlaceOptions& options) {
  if (options.steps > 0) return {options.steps, {}};
  const double seconds = std::clamp(options.seconds, 0.0, 1e8);
  const auto duration =
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
  return {kNoLimit, std::chrono::steady_clock::now() + duration};
}

}  // namespace

Bytes peak_live_bytes(const std::vector<Allocation>& allocations, Bytes align) {
  const Result<Boxes> boxes = make_boxes(allocations, align);
  return boxes ? least_arena(*boxes) : 0;
}

Result<Placement> place(const std::vector<Allocation>& allocations, const PlaceOptions& options, Shortfall* shortfall) {
  Shortfall unasked;
  if (shortfall == nullptr) shortfall = &unasked;
  *shortfall = {};
  const SearchLimit limit = limit_of(options);
  PANTOUM_ASSIGN(Boxes boxes, make_boxes(allocations, options.align));
  const Bytes ground = Stripes(boxes).take_out(), least = least_arena(boxes);
  if (options.budget && ground + least > *options.budget) {
    shortfall->proved = true;
    return fail("E0310", fmt::format("the allocations need {} bytes at one moment, and the arena may have {}",
                                     ground + least, *options.budget));
  }
  Attempt attempt{.boxes = boxes, .least = least, .limit = limit, .best = {}, .best_order = {}};
  if (!options.budget) {
    shrink(attempt);
    return by_allocation(allocations, boxes, attempt.best, ground);
  }
  std::vector<OverlapSearch::Overlap> clashes;
  const Outcome outcome = fit(attempt, *options.budget - ground, clashes);
  if (outcome == Outcome::kFound) return by_allocation(allocations, boxes, attempt.best, ground);
  const Bytes smallest = ground + attempt.best.arena;
  *shortfall = {outcome == Outcome::kNone, smallest, timed(clashes, allocations, boxes)};
  return fail("E0310",
              fmt::format("the smallest arena found has {} bytes, and it may have {}", smallest, *options.budget));
}

Result<Placement> adjust(const std::vector<Allocation>& allocations, const std::vector<std::optional<Bytes>>& near,
                         const PlaceOptions& options) {
  const Bytes budget = options.budget.value_or(kNoBudget);
  PANTOUM_ASSIGN(const Boxes boxes, make_boxes(allocations, options.align));
  Attempt attempt{
      .boxes = boxes, .least = least_arena(boxes), .limit = limit_of(options), .best = {}, .best_order = {}};
  const auto nothing = [&] { return fail("E0310", fmt::format("no offsets were found within {} bytes", budget)); };
  if (attempt.least > budget) return nothing();
  std::vector<Bytes> start(boxes.boxes.size(), 0);
  for (size_t allocation = 0; allocation < allocations.size(); ++allocation)
    if (const int32_t box = boxes.box_of[allocation]; box >= 0 && near[allocation])
      start[position_of(box)] = *near[allocation];
  if (has_few_pairs(boxes)) {
    OverlapSearch search(boxes, budget, start);
    const int64_t nodes = std::clamp(attempt.limit.nodes / kMovePart, kLeastToMove, kMostToMove);
    if (untangle(search, attempt, nodes)) return by_allocation(allocations, boxes, attempt.best);
  }
  attempt.best.arena = budget + 1;  // none yet
  if (!searchable(boxes)) return nothing();
  RankWalk walk(boxes, budget, ranks_by(start));
  if (walk.run(attempt.best, attempt.limit, kNoLimit) != Outcome::kFound) return nothing();
  return by_allocation(allocations, boxes, attempt.best);
}

}  // namespace pantoum::place
