#include "cost/read_in_place.h"

#include <algorithm>

namespace pantoum::cost {
namespace {

constexpr Bytes kWidest = 8;  // of an element: where it may begin

bool may_be_frozen(const ir::Value& value) {
  return value.producer == ir::kNone &&
         (value.role == ir::Role::kParameter || value.role == ir::Role::kBuffer || value.role == ir::Role::kConstant);
}

std::set<std::string> changed_or_results(const std::vector<const ir::Graph*>& programs) {
  std::set<std::string> names;
  for (const ir::Graph* program : programs) {
    for (const ir::Value& value : program->values)
      if (value.next != ir::kNone) names.insert(value.name);
    for (const ir::ValueId result : program->results) names.insert(program->value(ir::root_of(*program, result)).name);
  }
  return names;
}

}  // namespace

std::set<std::string> read_in_place(const std::vector<const ir::Graph*>& programs, const DeviceProfile& device) {
  std::set<std::string> names;
  if (device.rom_bytes <= 0 || programs.empty()) return names;
  const std::set<std::string> others = changed_or_results(programs);
  const Bytes align = std::max(device.device.align_bytes, kWidest);
  Bytes left = device.rom_bytes;
  for (const ir::Value& value : programs.front()->values) {
    if (!may_be_frozen(value) || others.contains(value.name)) continue;
    const Bytes bytes = (std::max<Bytes>(value.type.bytes(), 1) + align - 1) / align * align;
    if (bytes > left) continue;
    left -= bytes;
    names.insert(value.name);
  }
  return names;
}

}  // namespace pantoum::cost
