#include "plan/certify.h"

#include <set>

namespace pantoum::plan {

Certificate question(const Relaxation& relaxation, const PlanOptions& options) {
  const RelaxationOptions& asked = relaxation.options();
  Certificate certificate{.objective = asked.objective,
                          .ram = asked.ram,
                          .second_price = asked.second_price,
                          .most_seconds = asked.deadline > 0 ? 0 : asked.most_seconds,
                          .paging = options.paging,
                          .remat = options.remat,
                          .in_place = options.in_place,
                          .any_numerics = options.allow_numerics_change};
  if (asked.deadline > 0) certificate.deadline = asked.deadline;
  if (asked.most_energy > 0) certificate.most_energy = asked.most_energy;
  for (const OpModel& op : relaxation.model().ops) certificate.order.push_back(op.id);
  for (int32_t epoch = 0; epoch < relaxation.epochs(); ++epoch)
    certificate.boundaries.push_back(relaxation.boundary(epoch));
  return certificate;
}

namespace {

template <typename Program>
Certificate certificate_of(const Relaxation& relaxation, const Program& program, const PlanOptions& options) {
  Certificate certificate = question(relaxation, options);
  certificate.bound = program.proved() + relaxation.constant();
  for (size_t row = 0; row < program.rows(); ++row)
    if (const double multiplier = program.multiplier(row); multiplier > 0)
      certificate.rows.push_back({program.row(row).rule, program.row(row).of, multiplier});
  return certificate;
}

}  // namespace

Certificate certify(const Relaxation& relaxation, const LinearProgram& program, const PlanOptions& options) {
  return certificate_of(relaxation, program, options);
}

Certificate certify(const Relaxation& relaxation, const PrimalDual& program, const PlanOptions& options) {
  return certificate_of(relaxation, program, options);
}

std::vector<int32_t> pressing_stages(const Certificate& certificate) {
  std::set<int32_t> stages;
  const std::vector<int32_t>& boundaries = certificate.boundaries;
  for (const Certificate::Row& row : certificate.rows) {
    if (row.rule != Rule::kMemory && row.rule != Rule::kRounding && row.rule != Rule::kCover) continue;
    const auto epoch = static_cast<size_t>(row.of.front());
    if (epoch + 1 < boundaries.size()) stages.insert(boundaries[epoch]);
  }
  return {stages.begin(), stages.end()};
}

}  // namespace pantoum::plan
