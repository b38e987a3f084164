// Arrays of Python as the library takes them: contiguous, in RAM, read only and not copied.
#pragma once

#include <nanobind/ndarray.h>

#include <optional>
#include <string>
#include <vector>

#include "pantoum/data.hpp"

namespace pantoum::python {

using Given = nanobind::ndarray<nanobind::ro, nanobind::c_contig, nanobind::device::cpu>;

// Views of the arrays, valid as long as they are. E0262: an array has a type that no tensor has.
[[nodiscard]] Batch batch_of(const std::vector<Given>& arrays);

// A view of `tensor` for numpy, which keeps `owner` alive; without an owner it ends with the tensor's memory.
[[nodiscard]] nanobind::object view_of(const TensorView& tensor, nanobind::handle owner, bool writable = false);

// The type of a name as "f32"; none: there is no such type.
[[nodiscard]] std::optional<DType> dtype_named(const std::string& name);

}  // namespace pantoum::python
