#include "artifact/compile_program.h"
#include "pipeline/pipeline.h"

namespace pantoum::pipeline {

Result<std::vector<std::byte>> encode_programs(const Compiled& compiled, const Planned& planned) {
  std::vector<artifact::PlannedProgram> programs{
      {"train", "", compiled.training, compiled.training_cost, planned.training},
      {"eval", "eval.", compiled.evaluation, compiled.evaluation_cost, planned.evaluation}};
  if (planned.accumulation)
    programs.push_back(
        {"accumulate", "accumulate.", *compiled.accumulation, compiled.accumulation_cost, *planned.accumulation});
  if (planned.features)
    programs.push_back({"features", "features.", *compiled.features, compiled.features_cost, *planned.features});
  PANTOUM_ASSIGN(const artifact::BinaryPlan binary, artifact::compile_programs(programs));
  return artifact::encode(binary);
}

}  // namespace pantoum::pipeline
