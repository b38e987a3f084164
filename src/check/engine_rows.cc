#include "check/engine_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace pantoum::check {
namespace {

constexpr double kAsLate = 1 - 1e-9;  // heads and tails that rounding tells apart are the same

// The product of two that are not negative, at most.
double part(double a, double b) {
  return std::max(0.0, down(a * b));
}

}  // namespace

EngineRows::EngineRows(const CostGraph& graph, const Certificate& certificate)
    : facts_(graph, certificate.question.freedoms, certificate.question.budget_bytes()),
      asked_(certificate),
      pager_(graph.device.pager),
      engines_(graph.device.engines),
      idle_w_(graph.device.idle_w) {
  begin_case();
}

Result<void> EngineRows::check_order(const CostGraph& graph, const Certificate& certificate) {
  if (!certificate.any_order) return broken("a bound of several engines is one of any order", ".any_order");
  if (certificate.order != graph.order) return broken("ops have another order than the graph's", ".order");
  if (!certificate.boundaries.empty()) return broken("a bound of several engines has no segments", ".boundaries");
  if (certificate.question.objective == Objective::kRam)
    return broken("rows of several engines bound no RAM", ".question.objective");
  return {};
}

void EngineRows::begin_case() {
  const size_t ops = facts_.ops().size();
  whole_.assign(ops, 0);
  launch_.assign(ops, 0);
  by_engine_.assign(ops * engines_.size(), 0);
  by_way_.clear();
  spend_ = sides_ = 0;
  const bool energy = asked_.question.objective == Objective::kEnergy;
  makespan_ = energy ? sum_down(idle_w_, asked_.second_price) : 1;
  taken_ = left_out_ = 0;
  terms_ += static_cast<int64_t>(ops * engines_.size());
}

Result<void> EngineRows::check_decision(const Certificate::Decision& decision) const {
  if (decision.variable != Variable::kUsed || decision.segment != 0)
    return broken("nothing but which engines are used is decided");
  if (decision.index < 0 || decision.index >= facts_.engines())
    return broken(fmt::format("{} is no engine", decision.index));
  return {};
}

void EngineRows::decide(const Certificate::Decision& decision, bool value) {
  const uint64_t engine = uint64_t{1} << decision.index;
  const bool first = value && (taken_ & engine) == 0;  // who decides it once more changes nothing
  (value ? taken_ : left_out_) |= engine;
  const bool energy = asked_.question.objective == Objective::kEnergy;
  if (first && energy) makespan_ = sum_down(makespan_, engines_[static_cast<size_t>(decision.index)].idle_w);
}

Result<void> EngineRows::add(const Certificate::Row& row, double multiplier) {
  if (!(multiplier > 0 && multiplier <= kMostQuantity))
    return broken(fmt::format("the multiplier {} is not positive, or too large", multiplier));
  y_ = multiplier;
  RowNumbers numbers(row.of);
  PANTOUM_TRY(add_by_rule(row, numbers));
  if (too_large()) return broken("the rows have too many terms to be checked");
  return numbers.done();
}

Result<void> EngineRows::add_by_rule(const Certificate::Row& row, RowNumbers& numbers) {
  if (row.rule == Rule::kSpend) {
    if (!asked_.question.energy_limit) return broken("there is no limit on energy");
    spend();
    return {};
  }
  makespan_ = sum_down(makespan_, -y_);
  const EngineFacts::Moved& moved = facts_.moved();
  const bool channels = pager_.mode == PagerMode::kAsync;
  switch (row.rule) {
    case Rule::kMoveIn:
    case Rule::kMoveOut:
      if (!channels) return broken("transfers of this pager are part of the issuer's load");
      if (!pager_.full_duplex && row.rule == Rule::kMoveOut)
        return broken("the pager has one channel: its moves are one row");
      add_constant(row.rule == Rule::kMoveOut ? moved.out_s
                   : pager_.full_duplex       ? moved.in_s
                                              : sum_down(moved.in_s, moved.out_s));
      return {};
    case Rule::kLoad:
      return load(numbers);
    case Rule::kRelay:
      return relay(numbers);
    default:
      return broken("the rule is of one engine");
  }
}

void EngineRows::add_constant(double seconds) {
  sides_ = sum_down(sides_, part(y_, seconds));
}

void EngineRows::add_computation(int32_t op) {
  double& weight = whole_[static_cast<size_t>(op)];
  weight = sum_down(weight, y_);
}

void EngineRows::add_load(int32_t op, int32_t engine, bool launches) {
  const auto at = static_cast<size_t>(op);
  double& weight = by_engine_[at * engines_.size() + static_cast<size_t>(engine)];
  weight = sum_down(weight, y_);
  if (launches) launch_[at] = sum_down(launch_[at], y_);
}

Result<int32_t> EngineRows::op_or_none(RowNumbers& numbers) const {
  PANTOUM_ASSIGN(const int32_t op, numbers.index("op", -1, static_cast<int64_t>(facts_.ops().size())));
  if (op >= 0 && !facts_.op(op).runs) return broken(fmt::format("op {} need not run", op));
  return op;
}

// An engine runs one op at a time, and the issuer launches beside. Of these ops none begins before the least of their
// heads, nor ends later than the least of their tails before the end. A launch precedes its op, so it is no later; it may
// precede its head. Transfers that block the issuer may stand anywhere.
Result<void> EngineRows::load(RowNumbers& numbers) {
  PANTOUM_ASSIGN(const int32_t engine, numbers.index("engine", 0, facts_.engines()));
  PANTOUM_ASSIGN(const int32_t first, op_or_none(numbers));
  PANTOUM_ASSIGN(const int32_t last, op_or_none(numbers));
  const double late = first < 0 ? 0 : facts_.op(first).head * kAsLate,
               early = last < 0 ? 0 : facts_.op(last).tail * kAsLate;
  double head = HUGE_VAL, tail = HUGE_VAL;
  terms_ += static_cast<int64_t>(facts_.ops().size());
  for (int32_t at = 0; static_cast<size_t>(at) < facts_.ops().size(); ++at) {
    const EngineOp& op = facts_.op(at);
    if (!op.runs || op.head < late || op.tail < early) continue;
    add_load(at, engine, engine == 0 && first < 0);
    head = std::min(head, op.head);
    tail = std::min(tail, op.tail);
  }
  if (std::isinf(head) && (first >= 0 || last >= 0))
    return broken("no op begins so late and ends so early");  // nothing would come between head and tail
  add_constant(sum_down(first < 0 ? 0 : head, last < 0 ? 0 : tail));
  const bool blocked = engine == 0 && first < 0 && last < 0 && pager_.mode == PagerMode::kSync;
  if (blocked) add_constant(sum_down(facts_.moved().in_s, facts_.moved().out_s));
  return {};
}

// Ops of which each comes behind the one before, in every plan; and between two of them what comes behind the first and
// before the second, one at a time on an engine. The first one begins no earlier than its head, the last one has its tail.
Result<void> EngineRows::relay(RowNumbers& numbers) {
  PANTOUM_ASSIGN(int32_t from, op_or_none(numbers));
  if (from >= 0) {
    add_constant(facts_.op(from).head);
    add_computation(from);
  }
  bool begun = false;
  while (numbers.more()) {
    if (begun && from < 0) return broken("there are no ops behind the end");
    PANTOUM_ASSIGN(const int32_t engine, numbers.index("engine", -1, facts_.engines()));
    PANTOUM_ASSIGN(const int32_t to, op_or_none(numbers));
    PANTOUM_TRY(leg(from, engine, to));
    if (too_large()) return {};
    from = to;
    begun = true;
  }
  if (from >= 0) add_constant(facts_.op(from).tail);
  return {};
}

Result<void> EngineRows::leg(int32_t from, int32_t engine, int32_t to) {
  const EngineOp* next = to < 0 ? nullptr : &facts_.op(to);
  const bool direct = next != nullptr && std::ranges::find(next->before, from) != next->before.end();
  if (next != nullptr) add_computation(to);
  if (engine >= 0 || !direct) {
    terms_ += static_cast<int64_t>(facts_.ops().size()) + facts_.edges();
    if (too_large()) return {};
    const std::vector<int32_t> ops = facts_.between(from, to);
    const bool follows = from < 0 || to < 0 || direct || !ops.empty();  // else nothing comes between them
    if (!follows) return broken(fmt::format("op {} need not come behind op {}", to, from));
    if (engine < 0) return {};
    const bool launches = engine == 0 && from < 0;
    for (const int32_t op : ops) add_load(op, engine, launches);
    if (launches && to >= 0) launch_[static_cast<size_t>(to)] = sum_down(launch_[static_cast<size_t>(to)], y_);
    return {};
  }
  std::vector<double>& more = by_way_[static_cast<size_t>(to)];
  more.resize(next->ways.size(), 0);
  for (size_t way = 0; way < next->ways.size(); ++way)
    more[way] = sum_down(more[way], part(y_, facts_.wait(from, next->ways[way])));
  terms_ += static_cast<int64_t>(next->ways.size() * facts_.op(from).ways.size());
  return {};
}

// Computations, transfers and idle power take at most the limit on energy, which there is.
void EngineRows::spend() {
  spend_ = sum_down(spend_, y_);
  double watts = idle_w_;
  for (size_t engine = 0; engine < engines_.size(); ++engine)
    if ((taken_ >> engine & 1) != 0) watts = sum_down(watts, engines_[engine].idle_w);
  makespan_ = sum_down(makespan_, part(y_, watts));
  add_constant(facts_.moved().joules);
  sides_ = sum_down(sides_, -up(y_ * *asked_.question.energy_limit));
}

double EngineRows::left(size_t op, const EngineWay& way, size_t at) const {
  double joules = way.joules, sum = part(whole_[op], way.seconds);
  for (size_t engine = 0; engine < engines_.size(); ++engine) {
    if (!way.takes(static_cast<int32_t>(engine))) continue;
    sum = sum_down(sum, part(by_engine_[op * engines_.size() + engine], way.seconds));
    if ((taken_ >> engine & 1) == 0) joules = sum_down(joules, part(engines_[engine].idle_w, way.seconds));
  }
  sum = sum_down(sum, part(launch_[op], way.launch));
  if (const auto more = by_way_.find(op); more != by_way_.end()) sum = sum_down(sum, more->second[at]);
  if (asked_.question.objective == Objective::kEnergy) sum = sum_down(sum, joules);
  return sum_down(sum, part(spend_, joules));
}

double EngineRows::total() const {
  double total = sides_;
  if (asked_.question.objective == Objective::kEnergy) total = sum_down(total, facts_.moved().joules);
  for (size_t op = 0; op < facts_.ops().size(); ++op) {
    if (!facts_.ops()[op].runs) continue;
    double least = std::numeric_limits<double>::infinity();
    for (size_t at = 0; at < facts_.ops()[op].ways.size(); ++at) {
      const EngineWay& way = facts_.ops()[op].ways[at];
      if ((way.engines & left_out_) == 0) least = std::min(least, left(op, way, at));
    }
    if (std::isinf(least)) return kMostQuantity;  // it has to take an engine that is left out
    total = sum_down(total, least);
  }
  if (makespan_ >= 0) return total;
  if (!asked_.question.deadline) return -std::numeric_limits<double>::infinity();
  return sum_down(total, down(makespan_ * *asked_.question.deadline));
}

}  // namespace pantoum::check
