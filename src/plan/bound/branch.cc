#include "plan/bound/lp_bound.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>

#include "plan/bound/linear_program.h"
#include "plan/bound/relaxation.h"
#include "plan/bound/separator.h"

namespace pantoum::plan {

namespace {

constexpr double kWhole = 1e-5;  // so close to 0 or 1 is decided
constexpr int kBranchSlackRounds = 15;
constexpr int kRootRounds = 60, kRounds = 2;  // of cuts in a case
constexpr double kLeastRise = 0.02;           // of what is missing: a round that brings less is the last
constexpr int kTried = 10, kRootTried = 50;   // candidates of strong branching
constexpr int kWithoutBetter = 6;             // so many in a row that are no better end it
constexpr int64_t kTrialIterations = 50;
constexpr int64_t kSolve = 10;       // iterations that a solve counts for, beside its own
constexpr size_t kMostCases = 4000;  // a certificate of more is too large for a plan file

// What branch and bound has proved, case by case, as it grows; in the end a certificate.
class ProofTree {
 public:
  explicit ProofTree(const Relaxation& relaxation) : relaxation_(relaxation) {}

  // Rows with multipliers: what `program` proves now, for the case of its columns' bounds. Cost: linear in its rows.
  using Parts = std::vector<Certificate::Part>;
  Parts parts(const LinearProgram& program) {
    Parts parts;
    for (size_t row = 0; row < program.rows(); ++row) {
      const double multiplier = program.multiplier(row);
      if (multiplier <= 0) continue;
      const auto [at, added] = known_.try_emplace(key_of(program.row(row)), rows_.next_index());
      if (added) rows_.push_back(&*at);
      parts.push_back({at->second, multiplier});
    }
    return parts;
  }

  using CaseIndex = Index<struct CaseTag>;
  static constexpr CaseIndex kRoot{0};
  // Splits a case by a column; the cases of 0 and of 1.
  std::pair<CaseIndex, CaseIndex> split(CaseIndex place, ColumnIndex column) {
    const CaseIndex zero = cases_.push_back({}), one = cases_.push_back({});
    cases_[place] = {.column = column, .zero = zero, .one = one, .parts = {}};
    return {zero, one};
  }

  void prove(CaseIndex place, Parts parts) { cases_[place].parts = std::move(parts); }

  // The cases and the rows that they use, of `bound`; to be called once each case was split or proved.
  Certificate certificate(double bound, const PlanOptions& options) const {
    Certificate certificate = empty_certificate(relaxation_, options);
    certificate.bound = bound;
    Indexed<int32_t, int32_t> number(rows_.size(), -1);  // of a row here: in the certificate
    const std::optional<Certificate::Row> work = work_row(relaxation_);
    if (work) certificate.rows.push_back({.rule = work->rule, .of = work->of});
    std::vector<CaseIndex> rest{kRoot};
    while (!rest.empty()) {
      const Case& entry = cases_[rest.back()];
      rest.pop_back();
      Certificate::Case& added = certificate.cases.emplace_back();
      if (entry.column.exists()) {
        added.decision = relaxation_.decision(entry.column);
        rest.insert(rest.end(), {entry.one, entry.zero});
        continue;
      }
      if (work) added.parts.push_back({0, work->multiplier});
      for (const Certificate::Part& part : entry.parts) {
        int32_t& row = number[part.row];
        if (row < 0) {
          row = static_cast<int32_t>(certificate.rows.size());
          const auto& [rule, of] = rows_[part.row]->first;
          certificate.rows.push_back({.rule = rule, .of = of});
        }
        added.parts.push_back({row, part.multiplier});
      }
    }
    return certificate;
  }

 private:
  struct Case {
    ColumnIndex column;   // by which it is split; none: it is not
    CaseIndex zero, one;  // then
    Parts parts;
  };

  const Relaxation& relaxation_;
  using Numbers = std::map<RowKey, int32_t>;
  Numbers known_;
  Indexed<int32_t, const Numbers::value_type*> rows_;  // of known_, by number
  Indexed<CaseIndex, Case> cases_ = Indexed<CaseIndex, Case>(1);
};

struct Fixing {
  ColumnIndex column;
  double value = 0;
};

struct Node {
  double bound = 0;
  int64_t number = 0;
  ProofTree::CaseIndex place = ProofTree::kRoot;
  std::vector<Fixing> fixed;
  ProofTree::Parts parts;  // of the bound
};

struct Later {  // the least bound first, then the youngest
  bool operator()(const Node& a, const Node& b) const {
    return a.bound != b.bound ? a.bound > b.bound : a.number < b.number;
  }
};

struct Gains {  // of a column, for 0 and for 1: per unit of change
  double sum[2] = {0, 0};
  int count[2] = {0, 0};

  void add(int side, double gain) { sum[side] += gain, ++count[side]; }
  double mean(int side, double otherwise) const { return count[side] > 0 ? sum[side] / count[side] : otherwise; }
};

struct Candidate {
  ColumnIndex column;
  double value = 0, score = 0;
};

double score_of(double zero, double one) {
  return std::max(zero, 1e-9) * std::max(one, 1e-9);
}

class Tree {
 public:
  Tree(const Relaxation& relaxation, const LpLimits& limits)
      : relaxation_(relaxation),
        limits_(limits),
        program_(relaxation.columns()),
        separation_(relaxation, {.violation = kBranchingViolation, .clocked = limits.clocked()}),
        proof_(relaxation),
        gains_(relaxation.columns().size()) {
    program_.add(relaxation.rows());
  }

  Branched run(const PlanOptions& options) {
    open_.push({});
    while (!open_.empty() && open_.top().bound < std::min(limits_.target(), least_) && !out_of_limits()) {
      Node node = open_.top();
      open_.pop();
      ++nodes_;
      expand(node);
      if (!open_.empty()) limits_.raised(std::min(least_, open_.top().bound));
    }
    for (; !open_.empty(); open_.pop()) prove(open_.top());
    limits_.raised(least_);
    Branched found{
        .bound = least_, .iterations = work(), .whole = std::move(whole_), .separators = separation_.counts()};
    if (std::isfinite(least_)) found.certificate = proof_.certificate(least_, options);
    return found;
  }

 private:
  int64_t work() const { return program_.iterations() + kSolve * solves_; }
  bool out_of_limits() const {
    if (cases_ + open_.size() > kMostCases) return true;
    return limits_.clocked() ? limits_.seconds_left() <= 0 : work() >= limits_.iterations;
  }

  // A case that is not split any further.
  void prove(const Node& node) {
    least_ = std::min(least_, node.bound);
    proof_.prove(node.place, node.parts);
    ++cases_;
  }

  enum class Solved : uint8_t { kOpen, kClosed, kUnknown };
  // Raises the bound of the case that the columns' bounds stand for.
  Solved solve(Node& node, int64_t iterations = 0) {
    ++solves_;
    const double left = limits_.clocked() ? std::max(1e-3, limits_.seconds_left()) : 0;
    const LinearProgram::Answer answer = program_.solve(left, iterations);
    const bool none = answer == LinearProgram::Answer::kInfeasible;
    const bool closed = none && program_.take_ray(limits_.target() - relaxation_.constant());
    const double bound = program_.proved() + relaxation_.constant();
    if (bound > node.bound || node.parts.empty()) {
      node.bound = std::max(bound, node.bound);
      node.parts = proof_.parts(program_);
    }
    if (node.bound >= limits_.target()) return Solved::kClosed;
    return none && !closed ? Solved::kUnknown : Solved::kOpen;
  }

  void apply(const std::vector<Fixing>& fixed) {
    for (const Fixing& fixing : applied_) release(fixing.column);
    for (const Fixing& fixing : fixed) program_.set_bounds(fixing.column, fixing.value, fixing.value);
    applied_ = fixed;
  }
  void release(ColumnIndex column) {
    const Column& entry = relaxation_.columns()[column];
    program_.set_bounds(column, entry.lower, entry.upper);
  }

  void expand(Node& node) {
    apply(node.fixed);
    const bool root = nodes_ == 1;
    double last = 0;
    for (int round = 0;; ++round) {
      const Solved solved = solve(node);
      if (root) separation_.solved(node.bound);
      if (solved != Solved::kOpen) return prove(node);
      if (out_of_limits()) return open_.push(node);
      if (round == (root ? kRootRounds : kRounds)) break;
      if (round > 0 && node.bound - last < kLeastRise * (limits_.target() - node.bound)) break;
      last = node.bound;
      std::vector<Row> cuts = separation_.violated(program_.point());
      if (cuts.empty()) break;
      program_.forget_slack(relaxation_.rows().size(), kBranchSlackRounds);
      separation_.kept(cuts);
      program_.add(std::move(cuts));
    }
    branch(node);
  }

  // Returns the columns that are neither 0 nor 1, the most promising first. A column promises its own gains so far,
  // else those of its kin in other segments, else those of all.
  std::vector<Candidate> candidates() const {
    std::vector<Candidate> found;
    for (const ColumnIndex column : gains_.indices()) {
      const double value = program_.point()[column];
      if (value < kWhole || value > 1 - kWhole || !relaxation_.decision(column)) continue;
      const Gains& own = gains_[column];
      const auto kin = kin_gains_.find(kin_of(column));
      const auto mean = [&](int side) {
        const double all = all_gains_.mean(side, 1);
        return own.mean(side, kin == kin_gains_.end() ? all : kin->second.mean(side, all));
      };
      found.push_back({.column = column, .value = value, .score = score_of(mean(0) * value, mean(1) * (1 - value))});
    }
    std::ranges::stable_sort(found, std::greater{}, &Candidate::score);
    return found;
  }

  std::pair<Variable, int32_t> kin_of(ColumnIndex column) const {
    return {relaxation_.decision(column)->variable, relaxation_.decision(column)->index};
  }

  struct Sides {
    Candidate candidate;
    Node of[2];
  };

  void branch(Node& node) {
    const std::vector<Candidate> all = candidates();
    if (all.empty()) {
      whole_ = program_.point();
      return prove(node);
    }
    const std::vector<unsigned char> basis = program_.basis();
    Sides best{.candidate = {.score = -1}, .of = {}};
    int tried = 0, without_better = 0;
    for (const Candidate& candidate : all) {
      const Gains& known = gains_[candidate.column];
      const bool reliable = known.count[0] > 0 && known.count[1] > 0;
      const bool enough = tried >= (nodes_ == 1 ? kRootTried : kTried) || without_better >= kWithoutBetter;
      if (reliable || enough) {
        if (candidate.score > best.candidate.score) best = {.candidate = candidate, .of = {node, node}};
        if (enough) break;
        continue;
      }
      Sides sides{.candidate = candidate, .of = {node, node}};
      bool closed[2];
      for (const int side : {0, 1}) closed[side] = try_side(sides, side, node.bound, basis);
      release(candidate.column);
      program_.set_basis(basis);
      ++tried, ++without_better;
      sides.candidate.score = score_of(sides.of[0].bound - node.bound, sides.of[1].bound - node.bound);
      if (closed[0] || closed[1]) return split(node, sides, closed);
      if (sides.candidate.score > best.candidate.score) best = std::move(sides), without_better = 0;
    }
    const bool closed[2] = {false, false};
    split(node, best, closed);
  }
  bool try_side(Sides& sides, int side, double from, const std::vector<unsigned char>& basis) {
    const Candidate& candidate = sides.candidate;
    program_.set_basis(basis);
    program_.set_bounds(candidate.column, side, side);
    const bool closed = solve(sides.of[side], kTrialIterations) == Solved::kClosed;
    const double gain =
        (std::min(sides.of[side].bound, limits_.target()) - from) / (side == 1 ? 1 - candidate.value : candidate.value);
    for (Gains* gains : {&gains_[candidate.column], &kin_gains_[kin_of(candidate.column)], &all_gains_})
      gains->add(side, gain);
    return closed;
  }
  void split(const Node& node, Sides& sides, const bool (&closed)[2]) {
    const auto [zero, one] = proof_.split(node.place, sides.candidate.column);
    for (const int side : {0, 1}) {
      Node& child = sides.of[side];
      child.place = side == 0 ? zero : one;
      child.number = ++numbers_;
      child.fixed.push_back({sides.candidate.column, static_cast<double>(side)});
      closed[side] ? prove(child) : open_.push(std::move(child));
    }
  }

  const Relaxation& relaxation_;
  const LpLimits& limits_;
  LinearProgram program_;
  Separation separation_;
  ProofTree proof_;
  Indexed<ColumnIndex, Gains> gains_;
  std::map<std::pair<Variable, int32_t>, Gains> kin_gains_;
  Gains all_gains_;
  std::priority_queue<Node, std::vector<Node>, Later> open_;
  std::vector<Fixing> applied_;
  Point whole_;
  double least_ = HUGE_VAL;  // of the cases that are proved
  size_t cases_ = 0;
  int64_t numbers_ = 0, nodes_ = 0, solves_ = 0;
};

}  // namespace

Branched branch_and_bound(const Relaxation& relaxation, const PlanOptions& options, const LpLimits& limits) {
  return Tree(relaxation, limits).run(options);
}

}  // namespace pantoum::plan
