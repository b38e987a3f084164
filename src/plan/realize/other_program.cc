#include "plan/realize/other_program.h"

namespace pantoum::plan {

std::optional<std::vector<place::Bytes>> offsets_beside(const OtherProgram& other,
                                                        const std::map<int64_t, place::Bytes>& initial,
                                                        place::Bytes align, place::Bytes budget) {
  constexpr int64_t kSteps = 20'000;
  std::vector<place::Allocation> all = other.all;
  for (const auto& [tensor, at] : other.shared)
    if (const auto found = initial.find(tensor); found != initial.end()) all[at].fixed = found->second;
  Result<place::Placement> placed = place::place(all, {.align = align, .budget = budget, .steps = kSteps});
  if (!placed) return std::nullopt;
  return std::move(placed->at);
}

}  // namespace pantoum::plan
