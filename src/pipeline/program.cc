#include "pipeline/program.h"

#include <algorithm>

namespace pantoum::pipeline {

const Program* find_program(const Programs& programs, const ProgramKind& kind) {
  const auto found =
      std::find_if(programs.begin(), programs.end(), [&](const Program& program) { return program.kind == kind; });
  return found == programs.end() ? nullptr : &*found;
}

}  // namespace pantoum::pipeline
