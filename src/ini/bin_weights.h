// NNTrainer's file of weights: the f32 elements of all layers, without names. Behind them, of a network that Adam trained, the letters "adam" and both
// moments of each parameter in turn; last, the epoch and the iteration as two numbers of 32 bits. Little-endian.
#pragma once

#include <string>
#include <vector>

#include "ini/layer_types.h"
#include "weights/safetensors.h"

namespace pantoum::ini {

// The tensors of the file, with the names of the model and their places in it; read_tensor() reads them. Moments are named as in a checkpoint,
// "optim.adam_m.NAME" and "optim.adam_v.NAME"; the metadata "epoch" and "step" are the epoch and the iteration.
// E0201 the file cannot be opened; E0240 its size is not that of these tensors, with or without moments, epoch and iteration; E0241.
[[nodiscard]] Result<weights::SafetensorFile> open_bin(const std::string& path,
                                                       const std::vector<StoredTensor>& stored);

// Writes the tensors of `from`, which names them as the model does, and the moments if it has any: of a parameter that only the run froze, zeros. The
// epoch and the iteration are the metadata "epoch" and "step", or 0. Atomic; `path` may be the file that `from` reads.
// E0242: `from` lacks a tensor, or has one of another shape; E0241, E0901.
[[nodiscard]] Result<void> write_bin(const std::string& path, const std::vector<StoredTensor>& stored,
                                     const weights::SafetensorFile& from);

}  // namespace pantoum::ini
