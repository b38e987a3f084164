#include "plan/realize/storage_slots.h"

#include <fmt/format.h>

#include <set>

namespace pantoum::plan {

using problem::Do;
using problem::Instruction;

Result<std::map<int64_t, Bytes>> storage_slots(const Model& model, const Plan& plan) {
  std::set<int64_t> stored;
  for (const Instruction& instruction : plan.instructions)
    if (instruction.what == Do::kPageOut || instruction.what == Do::kPageIn) stored.insert(instruction.subject);
  std::map<int64_t, Bytes> at;
  Bytes top = 0;
  for (const TensorModel& tensor : model.tensors) {
    if (!stored.contains(tensor.id) && tensor.start != problem::Home::kAux) continue;
    at[tensor.id] = top;
    top += tensor.slot;
  }
  if (model.capacity >= 0 && top > model.capacity)
    return fail("E0305", fmt::format("the plan needs {} bytes of storage and the device has {}", top, model.capacity),
                plan.graph.device.name);
  return at;
}

}  // namespace pantoum::plan
