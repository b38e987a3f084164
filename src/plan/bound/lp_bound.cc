#include "plan/bound/lp_bound.h"

#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "plan/bound/boundaries.h"
#include "plan/bound/linear_program.h"
#include "plan/bound/primal_dual.h"
#include "plan/bound/relaxation.h"
#include "plan/bound/row.h"
#include "plan/bound/separator.h"
#include "plan/simulate/time_limit.h"

namespace pantoum::plan {
namespace {

constexpr int kSlackRounds = 4;  // a cut that was slack for so long is forgotten
constexpr size_t kFewColumns = 3000;
constexpr int64_t kFewestPerEffort = 8, kIterationsPerEffort = 600, kSmall = 64;  // stages

LinearProgram::Start start_of(const Relaxation& relaxation) {
  const bool large = relaxation.columns().size() > kFewColumns && !transfers(relaxation.model());
  return large ? LinearProgram::Start::kUpper : LinearProgram::Start::kLower;
}

class LpRounds {
 public:
  LpRounds(const Relaxation& relaxation, const PlanOptions& options, const LpLimits& limits)
      : relaxation_(relaxation),
        model_(relaxation.model()),
        options_(options),
        limits_(limits),
        program_(relaxation.columns(), start_of(relaxation)),
        separation_(relaxation, {.violation = kSimplexViolation, .clocked = limits.clocked()}) {
    program_.add(relaxation.rows());
  }

  LpBound run() {
    while (solve() && cut()) {
    }
    best_.iterations = program_.iterations();
    best_.separators = separation_.counts();
    return std::move(best_);
  }

 private:
  // False: no cut is wanted after this.
  bool solve() {
    const double left = limits_.clocked() ? limits_.seconds_left() : 0;
    if (limits_.clocked() ? left <= 0 : program_.iterations() >= limits_.iterations) return false;
    const LinearProgram::Answer answer =
        program_.solve(left, limits_.clocked() ? 0 : limits_.iterations - program_.iterations());
    if (answer == LinearProgram::Answer::kInfeasible) return false;
    if (const double bound = program_.proved() + relaxation_.constant(); bound > best_.bound) {
      best_.bound = bound;
      best_.certificate = certify(relaxation_, program_, options_);
      limits_.raised(best_.bound);
    }
    separation_.solved(best_.bound);
    if (answer == LinearProgram::Answer::kStopped) return false;
    best_.point = program_.point();
    if (best_.bound >= limits_.target()) return false;
    return !model_.uses(Switch::kTail) || !tail_.ends(best_.bound, best_.bound - relaxation_.paid());
  }

  // False: the point violates nothing that is known. In-out separation: cuts are sought halfway to a running mean.
  bool cut() {
    if (mean_.empty() || !model_.uses(Switch::kInOut)) mean_ = best_.point;
    for (const ColumnIndex column : mean_.indices()) mean_[column] = (mean_[column] + best_.point[column]) / 2;
    std::vector<Row> cuts = separation_.violated(mean_);
    std::erase_if(cuts, [&](const Row& row) { return !separation_.violates(best_.point, row); });
    if (cuts.empty()) cuts = separation_.violated(best_.point);
    if (cuts.empty()) return false;
    if (model_.uses(Switch::kForgetSlack)) program_.forget_slack(relaxation_.rows().size(), kSlackRounds);
    separation_.kept(cuts);
    program_.add(std::move(cuts));
    return true;
  }

  const Relaxation& relaxation_;
  const Model& model_;
  const PlanOptions& options_;
  const LpLimits& limits_;
  LinearProgram program_;
  Separation separation_;
  LpBound best_;
  Tail tail_;
  Point mean_;  // of the solutions
};

}  // namespace

int64_t iterations_for(int64_t effort, const Model& model) {
  return effort * std::max(kFewestPerEffort, kIterationsPerEffort * kSmall / (kSmall + model.stages()));
}

LpBound lp_bound(const Relaxation& relaxation, const PlanOptions& options, const LpLimits& limits) {
  return LpRounds(relaxation, options, limits).run();
}

namespace {

constexpr int kRound = 200;            // iterations between two separations
constexpr int kIdleRounds = 3;         // a cut without a multiplier for so long is forgotten
constexpr size_t kKnapsackOps = 3000;  // beyond, working sets of recomputations cost more than they raise

}  // namespace

LpBound primal_dual_bound(const Relaxation& relaxation, const PlanOptions& options, const LpLimits& limits) {
  PrimalDual program(relaxation.columns());
  program.add(relaxation.rows());
  const auto stop = [&] { return limits.clocked() && limits.seconds_left() <= 0; };
  Separation separation(
      relaxation,
      {.violation = kFirstOrderViolation, .knapsack_ops = kKnapsackOps, .clocked = limits.clocked(), .stop = stop});
  LpBound best;
  std::set<RowKey> known;  // cuts that the program has
  Tail tail;
  for (;;) {
    const int64_t left = limits.clocked() ? kRound : limits.iterations - program.iterations();
    if (left <= 0 || stop()) break;
    program.solve(static_cast<int>(std::min<int64_t>(left, kRound)), stop);
    const double value = program.value() + relaxation.constant();
    if (value > best.bound) {
      best.bound = std::max(best.bound, program.proved() + relaxation.constant());
      limits.raised(best.bound);
    }
    separation.solved(best.bound);
    if (best.bound >= limits.target() || stop() || tail.ends(value, value - relaxation.paid())) break;
    program.forget_idle(relaxation.rows().size(), kIdleRounds, [&](const Row& row) { known.erase(key_of(row)); });
    std::vector<Row> cuts = separation.violated(program.point());
    std::erase_if(cuts, [&](const Row& row) { return !known.insert(key_of(row)).second; });
    separation.kept(cuts);
    program.add(std::move(cuts));
  }
  best.point = program.point();
  best.iterations = program.iterations();
  best.separators = separation.counts();
  if (best.bound > 0) best.certificate = certify(relaxation, program, options);
  return best;
}

Certificate empty_certificate(const Relaxation& relaxation, const PlanOptions& options) {
  const RelaxationOptions& asked = relaxation.options();
  Certificate certificate{.question = asked.question, .second_price = asked.second_price, .any_order = asked.any_order};
  certificate.question.freedoms = options.question.freedoms;
  if (!asked.question.deadline) certificate.most_seconds = asked.most_seconds;
  for (const OpModel& op : relaxation.model().ops) certificate.order.push_back(op.id);
  for (Segment segment = 0; segment < relaxation.segments(); ++segment)
    certificate.boundaries.push_back(relaxation.boundary(segment));
  return certificate;
}

std::optional<Certificate::Row> work_row(const Relaxation& relaxation) {
  if (relaxation.work_price() <= 0) return {};
  return Certificate::Row{.rule = Rule::kWork, .of = {}, .multiplier = relaxation.work_price()};
}

namespace {

template <typename Program>
Certificate certificate_of(const Relaxation& relaxation, const Program& program, const PlanOptions& options) {
  Certificate certificate = empty_certificate(relaxation, options);
  certificate.bound = program.proved() + relaxation.constant();
  if (const auto work = work_row(relaxation)) certificate.rows.push_back(*work);
  for (size_t row = 0; row < program.rows(); ++row)
    if (const double multiplier = program.multiplier(row); multiplier > 0)
      certificate.rows.push_back({program.row(row).rule, program.row(row).of, multiplier});
  return certificate;
}

// Returns about the right side of a row of bytes.
double right_side(const Certificate::Row& row, const Question& question) {
  if (row.rule == Rule::kCover) return static_cast<double>(row.of.size());
  const int64_t divisor = row.rule == Rule::kRounding ? std::max<int64_t>(1, row.of[2]) : 1;
  return static_cast<double>(question.budget_bytes()) / static_cast<double>(divisor);
}

}  // namespace

Certificate certify(const Relaxation& relaxation, const LinearProgram& program, const PlanOptions& options) {
  return certificate_of(relaxation, program, options);
}

Certificate certify(const Relaxation& relaxation, const PrimalDual& program, const PlanOptions& options) {
  return certificate_of(relaxation, program, options);
}

std::vector<int32_t> pressing_stages(const Certificate& certificate, double least) {
  std::map<int32_t, double> weights;
  const std::vector<int32_t>& boundaries = certificate.boundaries;
  for (const Certificate::Row& row : certificate.rows) {
    if (row.rule != Rule::kMemory && row.rule != Rule::kRounding && row.rule != Rule::kCover) continue;
    const size_t segment = position_of(row.of.front());
    if (segment + 1 < boundaries.size())
      weights[boundaries[segment]] += row.multiplier * right_side(row, certificate.question);
  }
  std::vector<int32_t> stages;
  for (const auto& [stage, weight] : weights)
    if (weight > least) stages.push_back(stage);
  return stages;
}

namespace {

constexpr int32_t kSegments = 48;  // at most
constexpr size_t kNamed = 3;       // ops

// More than any plan needs.
Bytes everything(const Model& model) {
  Bytes bytes = model.staging;
  for (const TensorModel& tensor : model.tensors) bytes += tensor.size;
  for (const OpModel& op : model.ops)
    for (const ChoiceModel& choice : op.choices) bytes += choice.workspace;
  return bytes;
}

std::string name_of(const Model& model, Stage stage) {
  for (const Op& op : model.graph->ops)
    if (op.id == model.ops[Model::op_of(stage)].id) return op.name;
  return {};
}

// The ops that end the segments whose memory rows weigh most.
std::string tightest(const Model& model, const Certificate& certificate) {
  std::vector<std::pair<double, Stage>> stages;
  for (const Certificate::Row& row : certificate.rows)
    if (row.rule == Rule::kMemory)
      stages.emplace_back(-row.multiplier, certificate.boundaries[position_of(row.of.front())]);
  std::ranges::sort(stages);
  std::string names;
  for (size_t at = 0; at < std::min(kNamed, stages.size()); ++at)
    names += (at > 0 ? ", " : "") + name_of(model, stages[at].second);
  return names.empty() ? names : "RAM is shortest while these ops run: " + names;
}

class Search {
 public:
  Search(const Model& model, const PlanOptions& options, double seconds, int64_t iterations, bool any_order)
      : model_(model), options_(options), seconds_(seconds), iterations_(iterations), any_order_(any_order) {
    least_.budget = everything(model);
    least_.objective = Objective::kRam;
  }

  // `share` of the limits.
  void solve(const std::vector<Stage>& boundaries, double share) {
    const Relaxation relaxation(model_, {.question = least_, .any_order = any_order_}, boundaries);
    const double until = spent() + share * (seconds_ - spent());
    LpBound found = lp_bound(relaxation, options_,
                             {.seconds_left = [&] { return until - spent(); },
                              .iterations = iterations_,
                              .target = [] { return HUGE_VAL; },
                              .raised = [](double) {}});
    if (!found.certificate) return;
    const double bytes = std::min(found.bound, static_cast<double>(everything(model_)));
    const auto whole = static_cast<Bytes>(std::ceil(bytes * kMargin));
    if (best_.certificate && whole <= best_.bytes) return;
    best_ = {.bytes = whole, .why = tightest(model_, *found.certificate), .certificate = std::move(found.certificate)};
  }

  RamBound best() && { return std::move(best_); }

 private:
  double spent() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  const Model& model_;
  const PlanOptions& options_;
  const double seconds_;
  const int64_t iterations_;
  const bool any_order_;
  Question least_ = options_.question;
  RamBound best_;
};

// Returns the op that surely holds the most bytes.
OpIndex fullest_op(const Model& model) {
  const Indexed<OpIndex, Bytes> held = surely_held(model);
  OpIndex fullest;
  for (const OpIndex op : model.ops.indices())
    if (!model.ops[op].optional && (!fullest.exists() || held[op] > held[fullest])) fullest = op;
  return fullest;
}

}  // namespace

RamBound ram_bound(const Model& model, const PlanOptions& options, double seconds, int64_t iterations, bool any_order) {
  Search search(model, options, seconds, iterations, any_order);
  const Bytes budget = options.question.budget_bytes();
  const std::vector<Stage> pressed = choose_boundaries(model, budget, kSegments, any_order);
  if (any_order) {  // one chain cannot have all that press
    const OpIndex fullest = fullest_op(model);
    const std::vector<Stage> through = choose_boundaries(model, budget, kSegments, true, fullest);
    if (fullest.exists() && through != pressed) search.solve(through, share_of(Attempt::kFullestChain));
  }
  search.solve(pressed, 1);
  return std::move(search).best();
}

}  // namespace pantoum::plan
