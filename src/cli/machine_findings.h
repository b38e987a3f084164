// What this machine has of what training, measuring and firmware want.
#pragma once

#include <string>
#include <vector>

#include "cost/meters/open_meter.h"

namespace pantoum::cli {

struct Finding {
  std::string id, what;
  bool yes = false;
  bool stops_train = false;                     // a no: `pantoum train` with these options would end with an error
  std::string detail, mend;                     // mend: what to do about a no
  std::vector<cost::MeterFinding> meters = {};  // of the energy meters: each kind
};

struct MachineQuestion {
  std::string page_folder;
  bool encrypt = true;
};

[[nodiscard]] std::vector<Finding> findings_of(const MachineQuestion& question);

}  // namespace pantoum::cli
