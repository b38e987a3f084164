#include "artifact/compile_program.h"
#include "pipeline/pipeline.h"

namespace pantoum::pipeline {

Result<std::vector<std::byte>> encode_programs(const Programs& programs) {
  std::vector<artifact::PlannedProgram> planned;
  for (const Program& program : programs) {
    const std::string name = program.kind.name;
    planned.push_back(
        {name, &program == &programs.front() ? "" : name + ".", program.graph, program.cost, program.plan});
  }
  PANTOUM_ASSIGN(const artifact::BinaryPlan binary, artifact::compile_programs(planned));
  return artifact::encode(binary);
}

}  // namespace pantoum::pipeline
