// Arrays of Python as the library takes them: contiguous, in RAM, read only, not copied.
#pragma once

#include <nanobind/ndarray.h>

#include <optional>
#include <string>
#include <vector>

#include "pantoum/data.hpp"

namespace pantoum::python {

using Given = nanobind::ndarray<nanobind::ro, nanobind::c_contig, nanobind::device::cpu>;

// Views of them, valid as long as `arrays`. E0262 of a type that no tensor has.
[[nodiscard]] Batch batch_of(const std::vector<Given>& arrays);

// A view of `tensor` for numpy, which keeps `owner` alive.
[[nodiscard]] nanobind::object view_of(const TensorView& tensor, nanobind::handle owner);
// One that may be written, for as long as the memory is there.
[[nodiscard]] nanobind::object writable_view_of(const TensorView& tensor);

// Of "f32" and the other names.
[[nodiscard]] std::optional<DType> dtype_named(const std::string& name);

}  // namespace pantoum::python
