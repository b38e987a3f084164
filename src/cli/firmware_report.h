// The results of `pantoum run-firmware`, as text, as JSON, and as lines of the run log.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "pipeline/run_firmware.h"

namespace pantoum::cli {

[[nodiscard]] std::string to_text(const pipeline::FirmwareRun& run);
[[nodiscard]] nlohmann::ordered_json to_json(const pipeline::FirmwareRun& run);
// Lines of the run log: "device", then "step" for each loss, then "end", with the fields that a training on this machine writes.
[[nodiscard]] std::vector<nlohmann::ordered_json> log_events(const pipeline::FirmwareRun& run);

}  // namespace pantoum::cli
