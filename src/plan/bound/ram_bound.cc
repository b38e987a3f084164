#include "plan/bound/ram_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "plan/bound/boundaries.h"
#include "plan/bound/lp_bound.h"
#include "plan/bound/relaxation.h"
#include "plan/bound/tolerances.h"

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
  for (const problem::Op& op : model.graph->ops)
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

}  // namespace

RamBound ram_bound(const Model& model, const PlanOptions& options, double seconds, int64_t iterations, bool any_order) {
  const auto begin = std::chrono::steady_clock::now();
  Question least = options.question;
  least.budget = everything(model);
  least.objective = Objective::kRam;
  const Relaxation relaxation(model, {.question = least, .any_order = any_order},
                              choose_boundaries(model, options.question.budget_bytes(), kSegments, any_order));
  const auto left = [&] {
    return seconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const LpBound found = lp_bound(
      relaxation, options,
      {.seconds_left = left, .iterations = iterations, .target = [] { return HUGE_VAL; }, .raised = [](double) {}});
  if (!found.certificate) return {};
  const double bytes = std::min(found.bound, static_cast<double>(everything(model)));
  return {.bytes = static_cast<Bytes>(std::ceil(bytes * kMargin)),
          .why = tightest(model, *found.certificate),
          .certificate = found.certificate};
}

}  // namespace pantoum::plan
