#include "plan/certify.h"

namespace pantoum::plan {
namespace {

template <typename Program>
Certificate certificate_of(const Relaxation& relaxation, const Program& program, const PlanOptions& options) {
  const RelaxationOptions& asked = relaxation.options();
  Certificate certificate{.bound = program.proved() + relaxation.constant(),
                          .objective = asked.objective,
                          .ram = asked.ram,
                          .most_seconds = asked.deadline > 0 ? 0 : asked.most_seconds,
                          .paging = options.paging,
                          .remat = options.remat,
                          .in_place = options.in_place,
                          .any_numerics = options.allow_numerics_change};
  if (asked.deadline > 0) certificate.deadline = asked.deadline;
  for (const OpModel& op : relaxation.model().ops) certificate.order.push_back(op.id);
  for (int32_t epoch = 0; epoch < relaxation.epochs(); ++epoch)
    certificate.boundaries.push_back(relaxation.boundary(epoch));
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

}  // namespace pantoum::plan
