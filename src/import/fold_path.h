// What PyTorch's newer exporter computed ahead of time from parameters, told by the names of the values on the way: the
// result of a call has the call's name, and a folded value lists all that it was made of.
#pragma once

#include <string>
#include <vector>

#include "import/parameter_marks.h"
#include "import/tensor.h"

namespace pantoum::import {

struct FoldPath {
  bool known = false;                  // every call on the way is one of those below; else `calls` says which they were
  bool in_order = true;                // the elements of the parameter in their order: reshapes alone
  bool distinct = true;                // no element of a parameter is there twice, whatever its contents
  bool expands = false;                // beside reshapes that keep axes, only axes of extent 1 were repeated
  int turns = 0;                       // transposes
  bool only_turns = true;              // nothing but them moved elements
  bool turned = false;                 // the reader's call transposed the result of the path
  std::vector<std::string> functions;  // ONNX operators of one operand, in the order of application
  std::vector<std::string> parameters;  // of the program, among the sources
  std::string calls;                    // "exp, mul": for messages
};

// `value`: the result of the last call on the way.
[[nodiscard]] FoldPath read_fold_path(const std::string& value, const std::vector<std::string>& sources,
                                      const ParameterMarks& marks);

// The float32 elements from which the functions, times `factor` at the end, make `folded`; none where these are not known
// to the rounding of float32.
[[nodiscard]] std::optional<Tensor> before_functions(const Tensor& folded, const std::vector<std::string>& functions,
                                                     double factor);

// Is no element of the tensors there twice? Compares bits.
[[nodiscard]] bool all_distinct(const std::vector<const Tensor*>& tensors);

// The one axis along which the tensor repeats itself; none where there are several, or none at all.
[[nodiscard]] std::optional<size_t> repeated_axis(const Tensor& tensor);

// Of a float32 matrix.
[[nodiscard]] Tensor transposed(const Tensor& matrix);

// Its first slice along the axis, with an extent of 1.
[[nodiscard]] Tensor first_along(const Tensor& tensor, size_t axis);

}  // namespace pantoum::import
