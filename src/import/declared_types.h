// Types that a file declares for its values, against those that its nodes compute.
#pragma once

#include "import/lower_model.h"

namespace pantoum::import {

// Makes a node whose result is of another type or shape than the file declares a problem (E0211). A dimension that the
// batch changes is not judged, nor is one that the file leaves open.
//   wider    the same model lowered at batch.size + 1; null when the batch is static
//   returns  one warning, or "": files of PyTorch are warned of alone, since its tracing exporter declares wrong shapes
//            for nodes that are right (scatter_reduce and what follows it)
[[nodiscard]] std::string check_declared(const Model& model, const Batch& batch, LoweredModel& lowered,
                                         const LoweredModel* wider);

}  // namespace pantoum::import
