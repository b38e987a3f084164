#include "plan/certify.h"

namespace pantoum::plan {

Certificate certify(const Relaxation& relaxation, const LinearProgram& program, const PlanOptions& options) {
  const RelaxationOptions& asked = relaxation.options();
  Certificate certificate{.bound = program.proved() + relaxation.constant(),
                          .objective = asked.objective,
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
  for (size_t row = 0; row < program.rows(); ++row)
    if (const double multiplier = program.multiplier(row); multiplier > 0)
      certificate.rows.push_back({program.row(row).rule, program.row(row).of, multiplier});
  return certificate;
}

}  // namespace pantoum::plan
