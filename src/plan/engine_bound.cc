#include "plan/engine_bound.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "plan/bound/linear_program.h"

namespace pantoum::plan {
namespace {

constexpr double kSlack = 1e-12;      // relative: the checker rounds every sum down
constexpr double kAsLate = 1 - 1e-9;  // heads and tails that rounding tells apart are the same
constexpr double kDear = 1000;        // what exceeds a limit costs so much of the objective
constexpr double kViolated = 1e-6;    // of the makespan: a row by less is left out
constexpr int kMostRounds = 200;      // of rows, of a case
constexpr int kRowsSlack = 8;         // solutions in which a row was slack before it is forgotten
constexpr size_t kRowsOfRound = 6;    // of each kind
constexpr size_t kThresholds = 400;   // heads that are tried
constexpr size_t kAllPairs = 200;     // ops up to which every pair is tried with what runs between
constexpr size_t kMostClosed = 4000;  // ops up to which it is known which are behind which
constexpr int kMostIdling = 4;        // engines that cases tell apart

double least_over(const EngineModel::Op& op, const auto& of) {
  double least = HUGE_VAL;
  for (const EngineModel::Way& way : op.ways)
    if (way.permitted) least = std::min(least, of(way));
  return least;
}

bool takes(const EngineModel::Way& way, size_t engine) {
  return (way.engines >> engine & 1) != 0;
}

}  // namespace

EngineBound::EngineBound(const EngineModel& model) : model_(model), chains_(model) {
  const problem::Device& device = model.graph->device;
  const auto load = [&](const auto& of) {
    double sum = 0;
    for (size_t at = 0; at < chains_.ops.size(); ++at)
      if (chains_.ops[at].runs) sum += least_over(chains_.of(static_cast<int32_t>(at)), of);
    return sum;
  };
  const size_t engines = device.engines.size();
  const Seconds both = chains_.moved_in + chains_.moved_out;
  seconds_ = std::max({chains_.longest, chains_.moved_in, chains_.moved_out, device.pager.full_duplex ? 0 : both});
  seconds_ = std::max(seconds_, load([](const EngineModel::Way& way) {
                                  return way.launch + way.seconds * std::popcount(way.engines);
                                }) / static_cast<double>(engines));
  for (size_t engine = 0; engine < engines; ++engine)
    seconds_ = std::max(seconds_, load([&](const EngineModel::Way& way) {
                                    return (engine == 0 ? way.launch : 0) + (takes(way, engine) ? way.seconds : 0);
                                  }) + (engine == 0 && chains_.blocks ? both : 0));
  seconds_ *= 1 - kSlack;
  joules_ = chains_.moved + device.idle_w * seconds_;
  for (const EngineModel::Op& op : model.ops) {
    if (op.optional) continue;
    joules_ += least_over(op, [&](const EngineModel::Way& way) {
      Watts idle = 0;
      for (size_t engine = 0; engine < engines; ++engine)
        if (takes(way, engine)) idle += device.engines[engine].idle_w;
      return way.joules + idle * way.seconds;
    });
  }
  joules_ *= 1 - kSlack;
}

// The linear program of one objective, and its cases.
class EngineBound::Relaxation {
 public:
  Relaxation(const EngineBound& bound, Objective objective, double second_price)
      : chains_(bound.chains_),
        model_(bound.model_),
        device_(bound.model_.graph->device),
        energy_(objective == Objective::kEnergy),
        second_price_(second_price),
        second_(bound.seconds_),
        value_(energy_ ? bound.joules_ + second_price * bound.seconds_ : bound.seconds_) {
    certificate_.question = model_.question;
    certificate_.question.objective = objective;
    certificate_.question.weights = {};
    certificate_.question.budget = model_.question.budget_bytes();
    certificate_.second_price = second_price;
    certificate_.any_order = true;
    certificate_.order = model_.graph->order;
    find_pairs();
  }

  std::optional<Certificate> run(const std::function<double()>& seconds_left) {
    if (!(second_ > 0 && value_ > 0 && std::isfinite(value_))) return std::nullopt;
    const bool idling = energy_ || model_.question.energy_limit;
    for (size_t engine = 0; idling && engine < device_.engines.size(); ++engine)
      if (device_.engines[engine].idle_w > 0 && std::ssize(decided_) < kMostIdling)
        decided_.push_back(static_cast<int32_t>(engine));
    const double least = add_cases(0, seconds_left);
    if (!(least > 0 && least < kImpossible)) return std::nullopt;
    certificate_.bound = least;
    return std::move(certificate_);
  }

 private:
  static constexpr double kImpossible = 1e99;
  // The makespan is at least the constant and the seconds of these choices.
  struct Share {
    int32_t op = 0, way = 0;
    Seconds seconds = 0;
  };
  struct Bound {
    Rule rule = Rule::kLoad;
    std::vector<int64_t> of;
    Seconds constant = 0;
    std::vector<Share> shares;
  };
  using Key = std::pair<Rule, std::vector<int64_t>>;

  // ---- cases ----

  double add_cases(size_t depth, const std::function<double()>& seconds_left) {
    if (depth == decided_.size()) return add_leaf(seconds_left);
    double least = HUGE_VAL;
    const Engines engine = Engines{1} << decided_[depth];
    for (const bool used : {false, true}) {
      if (!used) certificate_.cases.push_back({.decision = Certificate::Decision{Variable::kUsed, 0, decided_[depth]}});
      Engines& set = used ? taken_ : left_out_;
      set |= engine;
      least = std::min(least, add_cases(depth + 1, seconds_left));
      set &= ~engine;
    }
    return least;
  }

  double add_leaf(const std::function<double()>& seconds_left) {
    std::vector<std::pair<size_t, double>> parts;  // rows with multipliers
    const double proved = possible() ? solve(seconds_left, parts) : kImpossible;
    if (decided_.empty()) {
      for (const auto& [row, multiplier] : parts) certificate_.rows[row].multiplier = multiplier;
      std::erase_if(certificate_.rows, [](const Certificate::Row& row) { return !(row.multiplier > 0); });
      return proved;
    }
    Certificate::Case& entry = certificate_.cases.emplace_back();
    for (const auto& [row, multiplier] : parts) entry.parts.push_back({static_cast<int32_t>(row), multiplier});
    return proved;
  }

  bool allowed(const EngineModel::Way& way) const { return way.permitted && (way.engines & left_out_) == 0; }
  bool possible() const {
    for (size_t at = 0; at < chains_.ops.size(); ++at)
      if (chains_.ops[at].runs && std::ranges::none_of(chains_.of(static_cast<int32_t>(at)).ways,
                                                       [&](const EngineModel::Way& way) { return allowed(way); }))
        return false;
    return true;
  }

  // With the idle power of its engines, of which nothing is decided.
  Joules joules(const EngineModel::Way& way) const {
    Watts idle = 0;
    for (size_t engine = 0; engine < device_.engines.size(); ++engine)
      if (takes(way, engine) && (taken_ >> engine & 1) == 0) idle += device_.engines[engine].idle_w;
    return way.joules + idle * way.seconds;
  }
  Watts watts() const {
    Watts sum = device_.idle_w;
    for (size_t engine = 0; engine < device_.engines.size(); ++engine)
      if ((taken_ >> engine & 1) != 0) sum += device_.engines[engine].idle_w;
    return sum;
  }
  // Of the objective.
  double second() const { return energy_ ? watts() + second_price_ : 1; }

  // ---- rows ----

  void add_load(Bound& bound, int32_t op, size_t engine, bool launches) const {
    const std::vector<EngineModel::Way>& ways = chains_.of(op).ways;
    for (size_t way = 0; way < ways.size(); ++way) {
      const Seconds seconds = (takes(ways[way], engine) ? ways[way].seconds : 0) + (launches ? ways[way].launch : 0);
      if (seconds > 0) bound.shares.push_back({op, static_cast<int32_t>(way), seconds});
    }
  }

  void add_launch(Bound& bound, int32_t op) const {
    const std::vector<EngineModel::Way>& ways = chains_.of(op).ways;
    for (size_t way = 0; way < ways.size(); ++way)
      if (ways[way].launch > 0) bound.shares.push_back({op, static_cast<int32_t>(way), ways[way].launch});
  }

  Bound load(size_t engine, int32_t first, int32_t last) const {
    const Seconds late = first < 0 ? 0 : chains_.op(first).head * kAsLate,
                  early = last < 0 ? 0 : chains_.op(last).tail * kAsLate;
    Bound bound{.rule = Rule::kLoad, .of = {static_cast<int64_t>(engine), first, last}, .constant = 0, .shares = {}};
    Seconds head = HUGE_VAL, tail = HUGE_VAL;
    for (int32_t at = 0; at < std::ssize(chains_.ops); ++at) {
      const EngineChains::Op& op = chains_.op(at);
      if (!op.runs || op.head < late || op.tail < early) continue;
      add_load(bound, at, engine, engine == 0 && first < 0);
      head = std::min(head, op.head);
      tail = std::min(tail, op.tail);
    }
    bound.constant = (first < 0 ? 0 : head) + (last < 0 ? 0 : tail);
    if (engine == 0 && first < 0 && last < 0 && chains_.blocks) bound.constant += chains_.moved_in + chains_.moved_out;
    return bound;
  }

  void add_computation(Bound& bound, int32_t op, int32_t from) const {
    const std::vector<EngineModel::Way>& ways = chains_.of(op).ways;
    for (size_t way = 0; way < ways.size(); ++way) {
      const Seconds wait = from < 0 ? 0 : chains_.wait(from, ways[way]);
      bound.shares.push_back({op, static_cast<int32_t>(way), ways[way].seconds + wait});
    }
  }

  // `stops`: ops; between two of them, `engines` (-1: none).
  Bound relay(const std::vector<int32_t>& stops, const std::vector<int32_t>& engines) const {
    Bound bound{.rule = Rule::kRelay, .of = {stops.front()}};
    if (stops.front() >= 0) {
      bound.constant = chains_.op(stops.front()).head;
      add_computation(bound, stops.front(), -1);
    }
    for (size_t leg = 0; leg < engines.size(); ++leg) {
      const int32_t from = stops[leg], to = stops[leg + 1], engine = engines[leg];
      bound.of.insert(bound.of.end(), {engine, to});
      if (to >= 0) add_computation(bound, to, engine < 0 ? from : -1);
      if (engine < 0) continue;
      const bool launches = engine == 0 && from < 0;
      for (const int32_t op : chains_.between(from, to)) add_load(bound, op, static_cast<size_t>(engine), launches);
      if (launches && to >= 0) add_launch(bound, to);
    }
    if (stops.back() >= 0) bound.constant += chains_.op(stops.back()).tail;
    return bound;
  }

  std::vector<Bound> moves() const {
    std::vector<Bound> rows;
    if (device_.pager.mode != PagerMode::kAsync) return rows;
    const Seconds in = chains_.moved_in + (device_.pager.full_duplex ? 0 : chains_.moved_out);
    if (in > 0) rows.push_back({.rule = Rule::kMoveIn, .of = {}, .constant = in, .shares = {}});
    if (device_.pager.full_duplex && chains_.moved_out > 0)
      rows.push_back({.rule = Rule::kMoveOut, .of = {}, .constant = chains_.moved_out, .shares = {}});
    return rows;
  }

  // ---- the linear program ----

  double solve(const std::function<double()>& seconds_left, std::vector<std::pair<size_t, double>>& parts) {
    Columns columns;
    const ColumnIndex makespan = columns.push_back({.cost = second() * second_ / value_, .upper = HUGE_VAL});
    const ColumnIndex late = columns.push_back({.cost = kDear, .upper = HUGE_VAL});
    const ColumnIndex over = columns.push_back({.cost = kDear, .upper = HUGE_VAL});
    column_of_.assign(chains_.ops.size(), {});
    for (size_t at = 0; at < chains_.ops.size(); ++at) {
      if (!chains_.ops[at].runs) continue;
      for (const EngineModel::Way& way : chains_.of(static_cast<int32_t>(at)).ways)
        column_of_[at].push_back(
            allowed(way) ? columns.push_back({.cost = energy_ ? joules(way) / value_ : 0, .upper = HUGE_VAL})
                         : ColumnIndex());
    }
    LinearProgram program(columns);
    program.add(limits(makespan, late, over));
    const size_t fixed = program.rows();
    std::vector<Bound> first = moves();
    for (size_t engine = 0; engine < device_.engines.size(); ++engine) first.push_back(load(engine, -1, -1));
    std::map<Key, Bound> known;
    const auto add = [&](std::vector<Bound> bounds) {
      std::vector<Row> rows;
      for (Bound& bound : bounds) {
        Key key{bound.rule, bound.of};
        rows.push_back(row_of(bound, makespan));
        known.insert_or_assign(std::move(key), std::move(bound));
      }
      program.add(std::move(rows));
    };
    add(std::move(first));
    for (int round = 0;; ++round) {
      if (program.solve(std::clamp(seconds_left(), kLeastSeconds, kMostSeconds)) != LinearProgram::Answer::kOptimal)
        break;
      if (round == kMostRounds || seconds_left() <= 0) break;
      program.forget_slack(fixed, kRowsSlack);
      std::vector<Bound> found = violated(program.point(), program.point()[makespan] * second_);
      if (found.empty()) break;
      add(std::move(found));
    }
    std::vector<std::pair<const Bound*, double>> used;
    double spend = 0;
    for (size_t row = 0; row < program.rows(); ++row) {
      const double multiplier = program.multiplier(row);
      if (!(multiplier > 0) || !std::isfinite(multiplier)) continue;
      if (const auto bound = known.find(key_of(program.row(row))); row >= fixed && bound != known.end())
        used.emplace_back(&bound->second, multiplier * value_ / second_);
      else if (program.row(row).rule == Rule::kSpend)
        spend = multiplier * value_ / *model_.question.energy_limit;
    }
    return keep(std::move(used), spend, parts);
  }

  // The rows that no certificate has, and the limit on energy.
  std::vector<Row> limits(ColumnIndex makespan, ColumnIndex late, ColumnIndex over) const {
    std::vector<Row> rows;
    for (const std::vector<ColumnIndex>& ways : column_of_) {
      if (ways.empty()) continue;
      Row& once = rows.emplace_back(Row{.lower = 1, .rule = Rule::kOnce});
      for (const ColumnIndex column : ways) once.add(column, 1);
    }
    if (model_.question.deadline) {
      Row& row = rows.emplace_back(Row{.lower = -*model_.question.deadline / second_, .rule = Rule::kOnce});
      row.add(makespan, -1);
      row.add(late, 1);
    }
    if (!model_.question.energy_limit) return rows;
    const Joules most = *model_.question.energy_limit;
    if (!(most > 0)) return rows;
    Row& row = rows.emplace_back(Row{.lower = (chains_.moved - most) / most, .rule = Rule::kSpend});
    row.add(makespan, -watts() * second_ / most);
    row.add(over, 1);
    for (size_t at = 0; at < column_of_.size(); ++at)
      for (size_t way = 0; way < column_of_[at].size(); ++way)
        row.add(column_of_[at][way], -joules(chains_.of(static_cast<int32_t>(at)).ways[way]) / most);
    return rows;
  }

  Row row_of(const Bound& bound, ColumnIndex makespan) const {
    Row row{.lower = bound.constant / second_, .rule = bound.rule, .of = bound.of};
    row.add(makespan, 1);
    std::map<std::pair<int32_t, int32_t>, Seconds> sums;
    for (const Share& share : bound.shares) sums[{share.op, share.way}] += share.seconds;
    for (const auto& [of, seconds] : sums)
      row.add(column_of_[static_cast<size_t>(of.first)][static_cast<size_t>(of.second)], -seconds / second_);
    return row;
  }

  // Evaluates multipliers as the checker does, and keeps the rows.
  double keep(std::vector<std::pair<const Bound*, double>> used, double spend,
              std::vector<std::pair<size_t, double>>& parts) {
    double sum = 0;
    for (const auto& [bound, multiplier] : used) sum += multiplier;
    const double most = second() + spend * watts();
    if (!model_.question.deadline && sum > most * (1 - kSlack)) {
      for (auto& [bound, multiplier] : used) multiplier *= most / sum * (1 - 2 * kSlack);
      sum = most * (1 - kSlack);
    }
    std::vector<std::vector<double>> weights;  // by op and way
    for (size_t at = 0; at < chains_.ops.size(); ++at)
      weights.emplace_back(chains_.ops[at].runs ? chains_.of(static_cast<int32_t>(at)).ways.size() : 0, 0);
    double total = energy_ ? chains_.moved : 0, size = total;
    const auto add = [&](double term) { total += term, size += std::abs(term); };
    for (const auto& [bound, multiplier] : used) {
      add(multiplier * bound->constant);
      for (const Share& share : bound->shares)
        weights[static_cast<size_t>(share.op)][static_cast<size_t>(share.way)] += multiplier * share.seconds;
    }
    if (spend > 0) {
      add(spend * chains_.moved);
      add(-spend * *model_.question.energy_limit);
    }
    for (size_t at = 0; at < weights.size(); ++at) {
      double least = HUGE_VAL;
      for (size_t way = 0; way < weights[at].size(); ++way) {
        const EngineModel::Way& of = chains_.of(static_cast<int32_t>(at)).ways[way];
        if (!allowed(of)) continue;
        least = std::min(least, weights[at][way] + ((energy_ ? 1 : 0) + spend) * joules(of));
      }
      if (!weights[at].empty()) add(least);
    }
    if (sum > most && model_.question.deadline) add((most - sum) * *model_.question.deadline);
    for (const auto& [bound, multiplier] : used) parts.emplace_back(row_index(bound->rule, bound->of), multiplier);
    if (spend > 0) parts.emplace_back(row_index(Rule::kSpend, {}), spend);
    return total - kSlack * size;
  }

  size_t row_index(Rule rule, const std::vector<int64_t>& of) {
    const auto [at, fresh] = rows_.try_emplace({rule, of}, certificate_.rows.size());
    if (fresh) certificate_.rows.push_back({.rule = rule, .of = of});
    return at->second;
  }

  // ---- separation ----

  struct Taken {  // by an op, of shares of its choices
    Seconds whole = 0;
    std::vector<Seconds> by_engine;
    Seconds launch = 0;
  };

  std::vector<Bound> violated(const Point& point, Seconds makespan) {
    taken_by_.assign(chains_.ops.size(), {});
    shares_.assign(chains_.ops.size(), {});
    for (size_t at = 0; at < chains_.ops.size(); ++at) {
      Taken& taken = taken_by_[at];
      taken.by_engine.assign(device_.engines.size(), 0);
      for (size_t way = 0; way < column_of_[at].size(); ++way) {
        const ColumnIndex column = column_of_[at][way];
        const double share = column.exists() ? point[column] : 0;
        shares_[at].push_back(share);
        const EngineModel::Way& of = chains_.of(static_cast<int32_t>(at)).ways[way];
        taken.whole += share * of.seconds;
        taken.launch += share * of.launch;
        for (size_t engine = 0; engine < device_.engines.size(); ++engine)
          if (takes(of, engine)) taken.by_engine[engine] += share * of.seconds;
      }
    }
    const Seconds least = makespan + kViolated * second_;
    std::vector<Bound> found = violated_loads(least);
    for (Bound& bound : violated_relays(least)) found.push_back(std::move(bound));
    return found;
  }

  // The best of each head, of the heads that leave most.
  std::vector<Bound> violated_loads(Seconds least) const {
    std::vector<int32_t> by_head, by_tail;
    for (int32_t op = 0; op < std::ssize(chains_.ops); ++op)
      if (chains_.op(op).runs) by_head.push_back(op);
    by_tail = by_head;
    std::ranges::stable_sort(by_head, std::greater(), [&](int32_t op) { return chains_.op(op).head; });
    std::ranges::stable_sort(by_tail, std::greater(), [&](int32_t op) { return chains_.op(op).tail; });
    std::vector<size_t> rank(chains_.ops.size(), 0);
    for (size_t at = 0; at < by_tail.size(); ++at) rank[static_cast<size_t>(by_tail[at])] = at;
    const size_t every = std::max<size_t>(1, by_head.size() / kThresholds);
    struct Window {
      Seconds value = 0;
      size_t engine = 0;
      int32_t first = 0, last = 0;
    };
    std::vector<Window> windows;
    for (size_t engine = 0; engine < device_.engines.size(); ++engine) {
      std::vector<Seconds> load(by_tail.size(), -1);  // -1: not one of these ops
      for (size_t at = 0; at < by_head.size(); ++at) {
        const auto op = static_cast<size_t>(by_head[at]);
        load[rank[op]] = taken_by_[op].by_engine[engine];
        const Seconds head = chains_.ops[op].head;
        if (at % every != 0 && at + 1 < by_head.size()) continue;
        Window best{.value = least, .engine = engine, .first = -1, .last = -1};
        Seconds sum = 0;
        bool any = false;
        for (const int32_t last : by_tail) {
          if (const Seconds own = load[rank[static_cast<size_t>(last)]]; own >= 0) sum += own, any = true;
          if (any && head + sum + chains_.op(last).tail > best.value)
            best = {head + sum + chains_.op(last).tail, engine, by_head[at], last};
        }
        if (best.first >= 0) windows.push_back(best);
      }
    }
    std::ranges::stable_sort(windows, std::greater(), &Window::value);
    std::vector<Bound> found;
    for (size_t at = 0; at < std::min(windows.size(), kRowsOfRound); ++at)
      found.push_back(load(windows[at].engine, windows[at].first, windows[at].last));
    return found;
  }

  // What runs between two ops, where one is behind the other; or before an op, or behind it.
  struct Pair {
    int32_t from = -1;
    bool direct = false;
    std::vector<int32_t> between;
  };

  void find_pairs() {
    const size_t ops = chains_.ops.size();
    pairs_.resize(ops + 1);
    if (ops > kMostClosed) {
      for (size_t at = 0; at < ops; ++at)
        for (const int32_t from : chains_.ops[at].before)
          pairs_[at].push_back({.from = from, .direct = true, .between = {}});
      return;
    }
    std::vector<std::vector<bool>> behind(ops, std::vector<bool>(ops, false));  // [op][what comes before it]
    std::vector<size_t> comparable(ops, 0);
    size_t running = 0;
    for (size_t at = 0; at < ops; ++at) {
      if (!chains_.ops[at].runs) continue;
      ++running;
      for (const int32_t from : chains_.ops[at].before) {
        const auto& earlier = behind[static_cast<size_t>(from)];
        for (size_t each = 0; each < at; ++each)
          if (earlier[each]) behind[at][each] = true;
        behind[at][static_cast<size_t>(from)] = true;
      }
      for (size_t each = 0; each < at; ++each)
        if (behind[at][each]) ++comparable[at], ++comparable[each];
    }
    std::vector<bool> cut(ops, running <= kAllPairs);
    for (size_t at = 0; at < ops; ++at) cut[at] = cut[at] || (chains_.ops[at].runs && comparable[at] + 1 == running);
    const auto between = [&](size_t from, size_t to) {  // -1 as SIZE_MAX, ops as the end
      std::vector<int32_t> list;
      for (size_t each = 0; each < ops; ++each)
        if (chains_.ops[each].runs && (to == ops || behind[to][each]) && (from > ops || behind[each][from]))
          list.push_back(static_cast<int32_t>(each));
      return list;
    };
    const bool all = running <= kAllPairs;
    size_t last_cut = SIZE_MAX;
    for (size_t to = 0; to <= ops; ++to) {
      if (to < ops && !chains_.ops[to].runs) continue;
      std::vector<Pair>& pairs = pairs_[to];
      if (to < ops)
        for (const int32_t from : chains_.ops[to].before)
          pairs.push_back({.from = from, .direct = true, .between = {}});
      if (to < ops && !cut[to]) continue;
      const auto add = [&](size_t from) {
        std::vector<int32_t> list = between(from, to);
        if (!list.empty())
          pairs.push_back(
              {.from = from > ops ? -1 : static_cast<int32_t>(from), .direct = false, .between = std::move(list)});
      };
      if (!all) {
        add(last_cut);
        last_cut = to;
        continue;
      }
      add(SIZE_MAX);
      for (size_t from = 0; from < to; ++from)
        if (chains_.ops[from].runs && (to == ops || behind[to][from])) add(from);
    }
  }

  struct Step {
    Seconds value = 0;
    int32_t from = -2, engine = -1;  // -2: it is the first one
  };

  std::vector<Bound> violated_relays(Seconds least) const {
    const size_t ops = chains_.ops.size();
    std::vector<Step> best(ops + 1);
    for (size_t to = 0; to <= ops; ++to) {
      if (to < ops && !chains_.ops[to].runs) continue;
      Step& step = best[to];
      step.value = to < ops ? chains_.ops[to].head : 0;
      for (const Pair& pair : pairs_[to]) {
        const Seconds before = pair.from < 0 ? 0 : best[static_cast<size_t>(pair.from)].value;
        if (pair.direct) {
          Seconds wait = 0;
          const std::vector<EngineModel::Way>& ways = chains_.of(static_cast<int32_t>(to)).ways;
          if (model_.longest_hand_off > 0)
            for (size_t way = 0; way < ways.size(); ++way)
              if (shares_[to][way] > 0) wait += shares_[to][way] * chains_.wait(pair.from, ways[way]);
          if (before + wait > step.value) step = {before + wait, pair.from, -1};
          continue;
        }
        for (size_t engine = 0; engine < device_.engines.size(); ++engine) {
          Seconds sum = before;
          for (const int32_t op : pair.between) {
            const Taken& taken = taken_by_[static_cast<size_t>(op)];
            sum += taken.by_engine[engine] + (engine == 0 && pair.from < 0 ? taken.launch : 0);
          }
          if (sum > step.value) step = {sum, pair.from, static_cast<int32_t>(engine)};
        }
      }
      if (to < ops) step.value += taken_by_[to].whole;
    }
    std::vector<std::pair<Seconds, size_t>> ends;
    for (size_t to = 0; to <= ops; ++to) {
      if (to < ops && !chains_.ops[to].runs) continue;
      const Seconds value = best[to].value + (to < ops ? chains_.ops[to].tail : 0);
      if (value > least) ends.emplace_back(value, to);
    }
    std::ranges::stable_sort(ends, std::greater(), &std::pair<Seconds, size_t>::first);
    std::vector<Bound> found;
    for (size_t at = 0; at < std::min(ends.size(), kRowsOfRound); ++at)
      found.push_back(relay_to(ends[at].second, best));
    std::ranges::stable_sort(found, {}, &Bound::of);  // the ends of one chain may leave the same relay
    found.erase(std::unique(found.begin(), found.end(), [](const Bound& a, const Bound& b) { return a.of == b.of; }),
                found.end());
    return found;
  }

  Bound relay_to(size_t to, const std::vector<Step>& best) const {
    const size_t ops = chains_.ops.size();
    std::vector<int32_t> stops{to == ops ? -1 : static_cast<int32_t>(to)}, engines;
    while (best[to].from > -2) {
      engines.push_back(best[to].engine);
      stops.push_back(best[to].from);
      if (best[to].from < 0) break;
      to = static_cast<size_t>(best[to].from);
    }
    std::ranges::reverse(stops);
    std::ranges::reverse(engines);
    return relay(stops, engines);
  }

  static constexpr Seconds kLeastSeconds = 0.02, kMostSeconds = 60;  // of a solution

  const EngineChains& chains_;
  const EngineModel& model_;
  const problem::Device& device_;
  const bool energy_;
  const double second_price_;
  const Seconds second_;  // the unit of seconds in the program
  const double value_;    // that of the objective
  Certificate certificate_;
  std::map<Key, size_t> rows_;    // of the certificate
  std::vector<int32_t> decided_;  // engines
  Engines taken_ = 0, left_out_ = 0;
  std::vector<std::vector<ColumnIndex>> column_of_;  // by op and way
  std::vector<std::vector<Pair>> pairs_;             // by the later op; the last one: by the end
  std::vector<Taken> taken_by_;
  std::vector<std::vector<double>> shares_;
};

std::optional<Certificate> EngineBound::prove(Objective objective, double second_price,
                                              const std::function<double()>& seconds_left) const {
  return Relaxation(*this, objective, second_price).run(seconds_left);
}

}  // namespace pantoum::plan
