#include "pipeline/firmware_runs.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_text.h"

namespace pantoum::pipeline {
namespace {

using Json = nlohmann::ordered_json;

std::string path_of(const std::string& folder) {
  return (std::filesystem::path(folder) / "storage.runs.json").string();
}

// {"reached": 40, "runs": [{"from": 0, "steps": 40}]}; where it is damaged or absent, nothing is known.
Json read_kept(const std::string& folder) {
  const auto text = base::read_file(path_of(folder));
  return text ? Json::parse(*text, nullptr, false) : Json();
}

std::vector<emit::Stretch> stretches_of(const Json& kept, uint64_t resumed) {
  std::vector<emit::Stretch> stretches;
  try {
    if (kept.at("reached").get<uint64_t>() < resumed) return {};
    for (const Json& run : kept.at("runs"))
      if (const uint64_t from = run.at("from"); from < resumed) stretches.push_back({from, run.at("steps")});
  } catch (const Json::exception&) {
    return {};
  }
  return stretches;
}

}  // namespace

FirmwareRuns firmware_runs(const std::string& folder, uint64_t resumed, uint64_t steps) {
  FirmwareRuns runs;
  if (resumed > 0) {
    runs.stretches = stretches_of(read_kept(folder), resumed);
    runs.are_known = !runs.stretches.empty() && runs.stretches.front().from == 0;
  }
  if (!runs.are_known) runs.stretches.clear();
  runs.stretches.push_back({resumed, steps});
  return runs;
}

Result<void> keep_firmware_runs(const std::string& folder, const FirmwareRuns& runs, uint64_t reached) {
  Json kept{{"reached", reached}, {"runs", Json::array()}};
  for (const emit::Stretch& each : runs.stretches) kept["runs"].push_back({{"from", each.from}, {"steps", each.steps}});
  return base::write_file_atomically(path_of(folder), base::ascii_json(kept) + "\n");
}

}  // namespace pantoum::pipeline
