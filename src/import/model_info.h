// What `pantoum inspect` tells of a model.
#pragma once

#include "import/lower_model.h"

namespace pantoum::import {

// `wider` is the same model lowered at batch.size + 1, from which dimensions that grow with the batch are told; null
// when the batch is static.
[[nodiscard]] ModelInfo describe_model(const Model& model, const Batch& batch, const LoweredModel& lowered,
                                       const LoweredModel* wider);

// "[N,16,14,14]", "[49*N,32]": `shape` at a batch of `size`, `wider` at size + 1.
[[nodiscard]] std::string show_shape(const ir::Shape& shape, const ir::Shape* wider, const Batch& batch);

// Signs that the exporter folded batch norm or dropout away.
[[nodiscard]] std::vector<std::string> warn_of_folding(const Model& model);

}  // namespace pantoum::import
