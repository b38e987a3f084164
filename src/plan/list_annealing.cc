#include "plan/list_annealing.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "base/lists.h"
#include "problem/objective_values.h"

namespace pantoum::plan {
namespace {

constexpr int64_t kListsPerEffort = 3000;  // of a chain
constexpr double kOverBudget = 4;          // cost of each share of the budget that the arena exceeds it by
constexpr double kWarm = 0.01;             // share of the value by which a list may be worse at first, and is accepted
constexpr double kCold = 1e-5;             // the same at the end of a round
constexpr double kCooler = 0.67;           // a round begins as much colder than the one before
constexpr double kCritical = 0.2;          // of the entries that are moved: on the chain that ends last
constexpr double kEntry = 1e-3;            // share of the value that an entry costs: no list gets longer for nothing
constexpr int kUnplaced = 15;              // lists in a row at most that are accepted without offsets
constexpr double kStays = 0.03;  // of the moves, with streams: to let a tensor stay in RAM from one use to the next
constexpr double kPagedToTheEnd = 0.1;  // of the transfers that are put in: of a tensor that is read back for the end
constexpr int kReliefs = 3;             // tensors that a changed list may take out of RAM so that it fits

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  uint64_t bits() {  // xorshift64*
    state_ ^= state_ >> 12, state_ ^= state_ << 25, state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1d;
  }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  size_t below(size_t count) { return static_cast<size_t>(bits() % count); }

 private:
  uint64_t state_;
};

}  // namespace

Cost cost_of(const ListFigures& figures, const EngineModel& model, size_t entries) {
  if (!figures.valid) return {};
  const Question& asked = model.question;
  const double slack = 1 + static_cast<double>(16 * (entries + 2)) * std::numeric_limits<double>::epsilon();
  double over = 0;
  bool answers = true;
  const auto exceed = [&](double value, double most, bool costs = true) {
    if (!(value > most)) return;
    answers = false;
    if (costs) over += kOverBudget * (most > 0 ? (value - most) / most : 1);
  };
  exceed(static_cast<double>(figures.arena_bytes), static_cast<double>(asked.budget_bytes()));
  // A limit on the objective itself costs nothing more: the search lowers that in any case.
  if (asked.deadline) exceed(figures.seconds * slack, *asked.deadline, asked.objective != Objective::kTime);
  if (asked.energy_limit) exceed(figures.joules * slack, *asked.energy_limit, asked.objective != Objective::kEnergy);
  const Bytes capacity = model.graph->device.pager.capacity_bytes;
  if (capacity >= 0) exceed(static_cast<double>(figures.storage_bytes), static_cast<double>(capacity));
  const double value = value_of(asked.objective, figures.joules, figures.seconds) * (1 + over);
  return {value, answers, value * (1 + kEntry * static_cast<double>(entries))};
}

namespace {

// Where a tensor is, as a list goes.
struct Whereabouts {
  bool in_ram = false, stored = false;
  size_t read_back = SIZE_MAX, written = SIZE_MAX;  // its last page_in and page_out that nobody has used yet
};

}  // namespace

bool mend_transfers(List& list, const EngineModel& model) {
  std::vector<Whereabouts> tensors(model.tensors.size());
  for (size_t at = 0; at < tensors.size(); ++at) {
    tensors[at].in_ram = model.tensors[at].start == Home::kRam;
    tensors[at].stored = model.tensors[at].start == Home::kAux;
  }
  List mended;
  std::vector<char> needless;
  const auto add = [&](const Entry& entry) {
    mended.push_back(entry);
    needless.push_back(0);
    return mended.size() - 1;
  };
  const auto drop = [&](size_t& entry) {
    if (entry != SIZE_MAX) needless[entry] = 1;
    entry = SIZE_MAX;
  };
  const auto page_in = [&](int32_t number, const Entry& entry) {
    Whereabouts& of = tensors[static_cast<size_t>(number)];
    if (!of.stored || model.tensors[static_cast<size_t>(number)].pinned) return false;
    drop(of.read_back);
    of.written = SIZE_MAX;
    of.in_ram = true;
    of.read_back = add(entry);
    return true;
  };
  const auto page_out = [&](int32_t number, const Entry& entry) {
    Whereabouts& of = tensors[static_cast<size_t>(number)];
    if (!of.in_ram) return false;
    if (of.stored) return true;
    if (!model.question.freedoms.paging && !model.tensors[static_cast<size_t>(number)].ends_in_storage) return false;
    of.read_back = SIZE_MAX;
    of.stored = true;
    of.written = add(entry);
    return true;
  };
  for (const Entry& entry : list) {
    if (entry.what == Do::kPageIn) {
      (void)page_in(entry.subject, entry);
    } else if (entry.what == Do::kPageOut) {
      (void)page_out(entry.subject, entry);
    } else {
      const EngineModel::Way& way = model.ops[static_cast<size_t>(entry.subject)].ways[static_cast<size_t>(entry.way)];
      for (const int32_t read : way.reads) {
        if (!tensors[static_cast<size_t>(read)].in_ram && !page_in(read, {Do::kPageIn, read, 0})) return false;
        tensors[static_cast<size_t>(read)].read_back = SIZE_MAX;
      }
      for (const int32_t read : way.streams_in) {
        if (!tensors[static_cast<size_t>(read)].stored && !page_out(read, {Do::kPageOut, read, 0})) return false;
        tensors[static_cast<size_t>(read)].written = SIZE_MAX;
      }
      for (const int32_t written : way.streams_out) {
        Whereabouts& of = tensors[static_cast<size_t>(written)];
        if (of.stored) return false;
        drop(of.read_back);
        of.in_ram = false;
        of.stored = true;
      }
      for (const int32_t written : way.writes) {
        drop(tensors[static_cast<size_t>(written)].read_back);
        tensors[static_cast<size_t>(written)].in_ram = true;
      }
      add(entry);
    }
  }
  for (size_t at = 0; at < tensors.size(); ++at) {
    const EngineModel::Tensor& of = model.tensors[at];
    const auto number = static_cast<int32_t>(at);
    if (of.ends_in_storage && !tensors[at].stored && !page_out(number, {Do::kPageOut, number, 0})) return false;
    if (of.ends_in_ram && !tensors[at].in_ram && !page_in(number, {Do::kPageIn, number, 0})) return false;
    if (!of.ends_in_ram) drop(tensors[at].read_back);
    if (!of.ends_in_storage) drop(tensors[at].written);
  }
  list.clear();
  for (size_t at = 0; at < mended.size(); ++at)
    if (needless[at] == 0) list.push_back(mended[at]);
  return true;
}

class ListAnnealing::State {
 public:
  // `enough`: a value within the gap that is asked for; the chain ends there.
  State(const EngineModel& model, const PlanOptions& options, const TimeLimit& time, uint64_t seed, List start,
        double enough)
      : model_(model),
        options_(options),
        time_(time),
        enough_(enough),
        run_(model),
        random_(seed),
        best_(std::move(start)) {
    for (size_t at = 0; at < model.tensors.size(); ++at)
      if (model.tensors[at].ends_in_ram && !model.tensors[at].pinned) ends_in_ram_.push_back(static_cast<int32_t>(at));
    best_cost_ = cost(best_);
  }

  // One round of annealing, from the best list. `round`: of kAnnealingRounds. Where RAM is ample few lists need offsets: some are accepted by what they cost
  // at least, and the next one that is placed decides about all of them.
  void anneal(int round, double part) {
    const double most = part * static_cast<double>(options_.effort * kListsPerEffort) / kAnnealingRounds;
    const Seconds begin = time_.elapsed(), end = begin + part * time_.left() / (kAnnealingRounds - round);
    const double of_an_op = 1 / static_cast<double>(model_.ops.size());
    const double warm = std::max(kWarm, of_an_op) * std::pow(kCooler, round);
    List now = best_, placed = best_;
    Cost now_cost = best_cost_, placed_cost = best_cost_;
    int unplaced = 0;
    may_be_unplaced_ = 0;
    double done = 0;
    for (int64_t count = 0; !options_.stop.stop_requested(); ++count) {
      if (options_.effort > 0)
        done = static_cast<double>(count) / most;
      else
        done = (time_.elapsed() - begin) / std::max(1e-9, end - begin);
      if (done >= 1 || (best_cost_.answers && best_cost_.value <= enough_)) break;
      if (count % 16 == 0) find_critical(now);
      List next = now;
      if (!change(next)) continue;
      if (model_.streams && !mend_transfers(next, model_)) continue;
      const double temperature = best_cost_.value * warm * std::pow(kCold / warm, done);
      const double accepted = now_cost.guide - temperature * std::log(random_.unit());
      const Cost least_cost = least(next, accepted);
      if (least_cost.guide > accepted) continue;
      if (unplaced < may_be_unplaced_ && !is_better(least_cost, best_cost_)) {
        now = std::move(next);
        now_cost = least_cost;
        ++unplaced;
        continue;
      }
      const Cost next_cost = cost_of(run_.run_near(next), model_, next.size());
      if (next_cost.guide > accepted) {
        may_be_unplaced_ /= 2;
        if (std::exchange(unplaced, 0) > 0) now = placed, now_cost = placed_cost;
        continue;
      }
      run_.keep(next);
      now = placed = std::move(next);
      now_cost = placed_cost = next_cost;
      unplaced = 0;
      may_be_unplaced_ = std::min(kUnplaced, may_be_unplaced_ + 1);
      if (is_better(now_cost, best_cost_)) best_ = now, best_cost_ = now_cost;
    }
  }
  // What the list costs at least: where its bytes do not matter, or are given back in time.
  Cost least(List& list, double accepted) {
    ListFigures least = run_.least(list);
    if (least.valid && least.peak_bytes > model_.question.budget_bytes()) {
      ListFigures roomy = least;
      roomy.arena_bytes = 0;
      for (int times = 0; times < kReliefs && cost_of(roomy, model_, list.size()).guide <= accepted; ++times) {
        if (!relieve(list, least.peak_at)) break;
        least = roomy = run_.least(list);
        roomy.arena_bytes = 0;
        if (!least.valid || least.peak_bytes <= model_.question.budget_bytes()) break;
      }
    }
    return cost_of(least, model_, list.size());
  }
  void begin_with(const State& other) { best_ = other.best_, best_cost_ = other.best_cost_; }

  const List& best() const { return best_; }
  const Cost& best_cost() const { return best_cost_; }

 private:
  Cost cost(const List& list) { return cost_of(run_.run(list), model_, list.size()); }
  const EngineModel::Op& op(int32_t number) const { return model_.ops[static_cast<size_t>(number)]; }

  // Makes a neighbour. false: nothing was changed.
  bool change(List& list) {
    if (list.empty()) return false;
    const double kind = random_.unit();
    if (kind < 0.34) return shift(list);
    if (kind < 0.50) return choose(list);
    if (kind < 0.66) return choose_chain(list);
    if (kind < 0.71) return choose(list) && shift(list);
    if (kind < 0.74) return sort_by_begin(list);
    if (kind < 0.77) return swap_choices(list);
    if (kind < 0.82) return move_bytes(list);
    if (kind < 0.88) return model_.question.freedoms.recomputing ? recompute(list) : shift(list);
    if (kind < 0.94 - kStays && model_.streams) return let_stay(list);
    if (kind < 0.94) return remove(list);
    return may_page() ? page(list) : shift(list);
  }

  // Finds when entries begin and end, without offsets where lists are accepted so. false: the list is not valid.
  bool time_entries(const List& list) {
    begins_.clear();
    ends_.clear();
    return (may_be_unplaced_ > 0 ? run_.least(list, &begins_, &ends_) : run_.run(list, nullptr, &begins_, &ends_))
        .valid;
  }

  // Any entry, or one on the chain of entries without idle time that ends last.
  size_t random_entry(const List& list) {
    if (random_.unit() >= kCritical || critical_.empty()) return random_.below(list.size());
    return std::min(list.size() - 1, critical_[random_.below(critical_.size())]);
  }

  // Finds that chain, from its end: before an entry comes one of those that end when it begins.
  void find_critical(const List& list) {
    critical_.clear();
    if (!time_entries(list)) return;
    size_t at = static_cast<size_t>(std::ranges::max_element(ends_) - ends_.begin());
    while (true) {
      critical_.push_back(at);
      size_t before = at;
      Seconds latest = -1;
      for (size_t other = 0; other < at; ++other)
        if (ends_[other] <= begins_[at] && (ends_[other] > latest || (ends_[other] == latest && random_.unit() < 0.5)))
          latest = ends_[other], before = other;
      if (before == at) return;
      at = before;
    }
  }

  const EngineModel::Way& way(const Entry& entry) const {
    return op(entry.subject).ways[static_cast<size_t>(entry.way)];
  }
  bool makes(const Entry& entry, int32_t tensor) const {
    return entry.what == Do::kCompute ? base::contains(way(entry).writes, tensor)
                                      : entry.what == Do::kPageIn && entry.subject == tensor;
  }
  bool reads(const Entry& entry, int32_t tensor) const {
    return entry.what == Do::kCompute ? base::contains(way(entry).reads, tensor)
                                      : entry.what == Do::kPageOut && entry.subject == tensor;
  }

  // Does the entry read the tensor in storage?
  bool fetches(const Entry& entry, int32_t tensor) const {
    return entry.what == Do::kCompute ? base::contains(way(entry).streams_in, tensor)
                                      : entry.what == Do::kPageIn && entry.subject == tensor;
  }

  // Does the later entry need what the earlier one makes, or take its place?
  bool depends(const Entry& earlier, const Entry& later) const {
    if (earlier.what == Do::kCompute) {
      if (later.what == Do::kCompute && later.subject == earlier.subject) return true;
      const EngineModel::Way& made = way(earlier);
      return std::ranges::any_of(made.writes, [&](int32_t tensor) { return reads(later, tensor); }) ||
             std::ranges::any_of(made.streams_out, [&](int32_t tensor) { return fetches(later, tensor); });
    }
    if (earlier.what == Do::kPageIn) return reads(later, earlier.subject);
    return fetches(later, earlier.subject);
  }

  // A tensor stays in RAM from one use to the next: who made or read it there and who reads it next take ways that have it whole, and it is
  // not read back in between.
  bool let_stay(List& list) {
    const size_t at = random_.below(list.size());
    if (list[at].what != Do::kCompute) return false;
    const std::vector<int32_t>& inputs = way(list[at]).inputs;
    if (inputs.empty()) return false;
    const int32_t tensor = inputs[random_.below(inputs.size())];
    size_t before = at;
    while (before-- > 0) {
      const Entry& entry = list[before];
      if (entry.what == Do::kPageIn && entry.subject == tensor) break;
      if (entry.what != Do::kCompute) continue;
      if (base::contains(way(entry).outputs, tensor) || base::contains(way(entry).inputs, tensor)) break;
    }
    if (before > list.size()) return false;
    const auto have_whole = [&](size_t place) {
      Entry& entry = list[place];
      if (entry.what != Do::kCompute) return true;
      const auto whole = [&](const EngineModel::Way& of) {
        return of.permitted && (base::contains(of.reads, tensor) || base::contains(of.writes, tensor));
      };
      const std::vector<EngineModel::Way>& ways = op(entry.subject).ways;
      if (whole(ways[static_cast<size_t>(entry.way)])) return true;
      const size_t first = random_.below(ways.size());
      for (size_t step = 0; step < ways.size(); ++step)
        if (const size_t each = (first + step) % ways.size(); whole(ways[each])) {
          entry.way = static_cast<int32_t>(each);
          return true;
        }
      return false;
    };
    if (!have_whole(before) || !have_whole(at)) return false;
    for (size_t each = at; each-- > before + 1;)
      if (list[each].what == Do::kPageIn && list[each].subject == tensor)
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(each));
    return true;
  }

  // Moves an entry, or some that follow one another, near by more often than far, as far as what they read and who reads
  // them allow.
  bool shift(List& list) {
    const size_t first = random_entry(list);
    size_t count = 1;
    while (count < 16 && first + count < list.size() && random_.unit() < 0.4) ++count;
    const auto distance = static_cast<size_t>(std::pow(static_cast<double>(list.size()), random_.unit()));
    const auto at = [&](size_t place) { return list.begin() + static_cast<std::ptrdiff_t>(place); };
    const auto any = [&](const auto& meets) { return std::any_of(at(first), at(first + count), meets); };
    size_t moved = 0;
    if (random_.unit() < 0.5) {
      while (moved < std::min(first, distance) &&
             !any([&](const Entry& entry) { return depends(list[first - moved - 1], entry); }))
        ++moved;
      std::rotate(at(first - moved), at(first), at(first + count));
    } else {
      while (moved < distance && first + count + moved < list.size() &&
             !any([&](const Entry& entry) { return depends(entry, list[first + count + moved]); }))
        ++moved;
      std::rotate(at(first), at(first + count), at(first + count + moved));
    }
    return moved > 0;
  }

  // Puts entries in the order in which they begin: what starts during a long op of the issuer then stands before it.
  bool sort_by_begin(List& list) {
    if (!time_entries(list)) return false;
    size_t first = 0, last = list.size();
    if (random_.unit() < 0.5) {
      first = random_.below(list.size());
      last = first + 1 + random_.below(list.size() - first);
    }
    std::vector<size_t> places(last - first);
    std::iota(places.begin(), places.end(), first);
    std::ranges::stable_sort(places, {}, [&](size_t place) { return begins_[place]; });
    const List old(list.begin() + static_cast<std::ptrdiff_t>(first), list.begin() + static_cast<std::ptrdiff_t>(last));
    for (size_t place = 0; place < places.size(); ++place) list[first + place] = old[places[place] - first];
    return !std::ranges::is_sorted(places);
  }

  int32_t random_way(int32_t number) {
    const std::vector<EngineModel::Way>& ways = op(number).ways;
    const size_t first = random_.below(ways.size());
    for (size_t at = 0; at < ways.size(); ++at)
      if (const size_t way = (first + at) % ways.size(); ways[way].permitted) return static_cast<int32_t>(way);
    return 0;
  }

  // Other offsets for some that follow one another.
  bool move_bytes(List& list) {
    size_t at = random_.below(list.size());
    do {
      list[at].offset = static_cast<Entry::Offset>(random_.below(Entry::kOffsets));
      list[at].wanted = {-1, -1, -1};
      ++at;
    } while (at < list.size() && random_.unit() < 0.5);
    return true;
  }

  bool choose(List& list) {
    Entry& entry = list[random_entry(list)];
    if (entry.what != Do::kCompute || op(entry.subject).ways.size() < 2) return false;
    const int32_t way = random_way(entry.subject);
    return std::exchange(entry.way, way) != way;
  }

  // An op gets another engine, and so do ops that read what it makes, one after the other: hand-offs within the chain go.
  bool choose_chain(List& list) {
    size_t at = random_entry(list);
    if (list[at].what != Do::kCompute) return false;
    const Engines engines = op(list[at].subject).ways[static_cast<size_t>(random_way(list[at].subject))].engines;
    bool changed = false;
    do {
      const std::vector<EngineModel::Way>& ways = op(list[at].subject).ways;
      for (size_t each = 0; each < ways.size(); ++each)
        if (ways[each].permitted && ways[each].engines == engines &&
            ways[each].reads.size() == way(list[at]).reads.size()) {
          changed |= std::exchange(list[at].way, static_cast<int32_t>(each)) != static_cast<int32_t>(each);
          break;
        }
      size_t next = at + 1;
      while (next < list.size() && !(list[next].what == Do::kCompute && depends(list[at], list[next]))) ++next;
      at = next;
    } while (at < list.size() && random_.unit() < 0.8);
    return changed;
  }

  // An op gets another engine, and so does one near it.
  bool swap_choices(List& list) {
    const size_t at = random_.below(list.size());
    const size_t other = std::min(list.size() - 1, at + 1 + random_.below(8));
    bool changed = false;
    for (const size_t each : {at, other})
      if (list[each].what == Do::kCompute) {
        const int32_t way = random_way(list[each].subject);
        changed |= std::exchange(list[each].way, way) != way;
      }
    return changed;
  }

  static void insert(List& list, size_t at, Entry entry) {
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), entry);
  }

  // A tensor that an op reads, and where the op stands.
  std::optional<std::pair<size_t, int32_t>> random_read(const List& list) {
    const size_t at = random_.below(list.size());
    if (list[at].what != Do::kCompute) return std::nullopt;
    const std::vector<int32_t>& reads = op(list[at].subject).ways[static_cast<size_t>(list[at].way)].reads;
    if (reads.empty()) return std::nullopt;
    return std::pair{at, reads[random_.below(reads.size())]};
  }

  // Takes a tensor out of RAM that is there at an entry which does not use it, until its next use: it is computed again, or read back.
  bool relieve(List& list, size_t peak) {
    relieved_.assign(model_.tensors.size(), 0);
    for (const int32_t read : reads_of(list[peak])) relieved_[static_cast<size_t>(read)] = 1;
    struct Found {
      size_t at = 0;
      int32_t tensor = -1;
      double worth = 0;
    } best;
    for (size_t at = peak + 1; at < list.size(); ++at) {
      for (const int32_t read : reads_of(list[at])) {
        if (std::exchange(relieved_[static_cast<size_t>(read)], 1) != 0) continue;
        const EngineModel::Tensor& of = model_.tensors[static_cast<size_t>(read)];
        if (of.pinned) continue;
        const double worth = static_cast<double>(of.bytes) * static_cast<double>(at - peak) * random_.unit();
        if (worth > best.worth) best = {at, read, worth};
      }
      if (list[at].what == Do::kPageIn) relieved_[static_cast<size_t>(list[at].subject)] = 1;
      if (list[at].what == Do::kCompute)
        for (const int32_t written : way(list[at]).writes) relieved_[static_cast<size_t>(written)] = 1;
    }
    if (best.tensor < 0) return false;
    const int32_t maker = model_.tensors[static_cast<size_t>(best.tensor)].maker;
    const bool again = model_.question.freedoms.recomputing && maker >= 0 && op(maker).again;
    if (again && (!may_page() || random_.unit() < 0.5))
      insert(list, best.at - std::min(best.at - peak - 1, random_.below(4)), {Do::kCompute, maker, random_way(maker)});
    else if (may_page())
      page_before(list, best.at, best.tensor, best.at - peak);
    else
      return false;
    return true;
  }
  bool may_page() const {
    return model_.question.freedoms.paging && model_.graph->device.pager.mode != PagerMode::kNone;
  }
  std::span<const int32_t> reads_of(const Entry& entry) const {
    if (entry.what == Do::kCompute) return way(entry).reads;
    return {&entry.subject, entry.what == Do::kPageOut ? size_t{1} : 0};
  }

  bool recompute(List& list) {
    const auto read = random_read(list);
    if (!read) return false;
    const int32_t maker = model_.tensors[static_cast<size_t>(read->second)].maker;
    if (maker < 0 || (!op(maker).again && !op(maker).optional)) return false;
    const size_t before = read->first - std::min(read->first, random_.below(4));
    insert(list, before, {Do::kCompute, maker, random_way(maker)});
    return true;
  }

  // Takes out a transfer, or a computation that stands twice or need not be.
  bool remove(List& list) {
    computed_.assign(model_.ops.size(), 0);
    for (const Entry& each : list)
      if (each.what == Do::kCompute) ++computed_[static_cast<size_t>(each.subject)];
    const size_t first = random_.below(list.size());
    for (size_t step = 0; step < list.size(); ++step) {
      const size_t at = (first + step) % list.size();
      const Entry entry = list[at];
      if (entry.what == Do::kCompute && !op(entry.subject).optional &&
          computed_[static_cast<size_t>(entry.subject)] < 2)
        continue;
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
      const bool moved = entry.what == Do::kPageIn && random_.unit() < 0.7;
      if (moved && !model_.tensors[static_cast<size_t>(entry.subject)].ends_in_storage)
        std::erase_if(list,
                      [&](const Entry& each) { return each.what == Do::kPageOut && each.subject == entry.subject; });
      return true;
    }
    return false;
  }

  // Writes a tensor out after it is made, and reads it back before a use.
  bool page(List& list) {
    if (!ends_in_ram_.empty() && random_.unit() < kPagedToTheEnd) {
      page_before(list, list.size(), ends_in_ram_[random_.below(ends_in_ram_.size())], 64);
      return true;
    }
    const auto read = random_read(list);
    if (!read) return false;
    const auto [at, tensor] = *read;
    const EngineModel::Tensor& of = model_.tensors[static_cast<size_t>(tensor)];
    if (of.pinned || (of.home >= 0 && random_.unit() < 0.5)) return false;
    page_before(list, at, tensor, 64);
    return true;
  }

  // Reads a tensor back before the entry, at most so many entries before, near by more often than far, and writes it out where it is made.
  void page_before(List& list, size_t at, int32_t tensor, size_t most) {
    const auto ahead = static_cast<size_t>(std::pow(static_cast<double>(std::min(at, most) + 1), random_.unit())) - 1;
    insert(list, at - ahead, {Do::kPageIn, tensor, 0});
    const bool written = model_.tensors[static_cast<size_t>(tensor)].start == Home::kAux ||
                         std::ranges::any_of(list, [&](const Entry& each) {
                           return each.what == Do::kPageOut && each.subject == tensor;
                         });
    if (written) return;
    size_t made = 0;
    for (size_t entry = 0; entry < at; ++entry)
      if (list[entry].what == Do::kCompute && base::contains(way(list[entry]).writes, tensor)) {
        made = entry + 1;
        break;
      }
    insert(list, made, {Do::kPageOut, tensor, 0});
  }

  const EngineModel& model_;
  const PlanOptions& options_;
  const TimeLimit& time_;
  const double enough_;
  std::vector<int32_t> ends_in_ram_;  // tensors; none is pinned
  EngineRun run_;
  Random random_;
  // Lists in a row that may be accepted without offsets: more where offsets cost nothing, fewer where they did.
  int may_be_unplaced_ = 0;
  std::vector<int> computed_;  // by op, in a list
  std::vector<char> relieved_;
  std::vector<Seconds> begins_, ends_;  // by entry
  std::vector<size_t> critical_;        // entries
  List best_;
  Cost best_cost_;
};

ListAnnealing::ListAnnealing(const EngineModel& model, const PlanOptions& options, const TimeLimit& time, uint64_t seed,
                             List start, double enough)
    : state_(std::make_unique<State>(model, options, time, seed, std::move(start), enough)) {}
ListAnnealing::~ListAnnealing() = default;

void ListAnnealing::anneal(int round, double part) {
  state_->anneal(round, part);
}
void ListAnnealing::begin_with(const ListAnnealing& other) {
  state_->begin_with(*other.state_);
}
const List& ListAnnealing::best() const {
  return state_->best();
}
const Cost& ListAnnealing::best_cost() const {
  return state_->best_cost();
}

}  // namespace pantoum::plan
