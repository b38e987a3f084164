// What may live in memory that kernels read in place: a microcontroller's flash.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "cost/device.h"
#include "ir/graph.h"

namespace pantoum::cost {

// The names of parameters, buffers and constants that no program changes and none has as a result: as many as `device.rom_bytes`
// hold, in the order of the first program (training, which has all of them). All programs of a plan read them in place, so they are
// chosen once. Bytes are counted as compile_programs lays them out, or a few more.
[[nodiscard]] std::set<std::string> read_in_place(const std::vector<const ir::Graph*>& programs,
                                                  const DeviceProfile& device);

}  // namespace pantoum::cost
