#include "plan/bound/certify.h"

#include <algorithm>
#include <map>

#include "plan/bound/linear_program.h"
#include "plan/bound/primal_dual.h"
#include "plan/bound/relaxation.h"
#include "plan/simulate/plan_options.h"

namespace pantoum::plan {

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

// Of a row of bytes, about.
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
    const size_t segment = base::position_of(row.of.front());
    if (segment + 1 < boundaries.size())
      weights[boundaries[segment]] += row.multiplier * right_side(row, certificate.question);
  }
  std::vector<int32_t> stages;
  for (const auto& [stage, weight] : weights)
    if (weight > least) stages.push_back(stage);
  return stages;
}

}  // namespace pantoum::plan
