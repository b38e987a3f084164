#include "plan/bound/ram_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "plan/bound/boundaries.h"
#include "plan/bound/lp_bound.h"
#include "plan/bound/relaxation.h"
#include "plan/bound/tolerances.h"
#include "plan/simulate/time_limit.h"

namespace pantoum::plan {
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
      stages.emplace_back(-row.multiplier, certificate.boundaries[base::position_of(row.of.front())]);
  std::sort(stages.begin(), stages.end());
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

// That surely holds the most bytes.
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
