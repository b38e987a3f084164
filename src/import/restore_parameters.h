// Undoes what the optimizer of PyTorch's newer exporter did to parameters, where that is exact.
//   * a parameter that was transposed or reshaped ahead of time is the program's again, and the node that moves it is back;
//     where the file has the parameter too (a tied embedding), both are one again
//   * parameters that were merged because their first contents are equal are separate again
//   * biases that were left out because they begin as zeros are back
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "import/model.h"
#include "import/parameter_marks.h"
#include "import/tensor.h"

namespace pantoum::import {

// Names the convolutions of PyTorch's older exporter whose weights it computed: batch norm folded into them.
[[nodiscard]] std::vector<std::string> find_computed_kernels(const onnx::GraphProto& graph,
                                                             const std::map<std::string, Initializer>& initializers);

struct Restorations {
  std::vector<Restoration> list;
  std::vector<std::string> problems;  // what training cannot undo: a sentence each
  std::vector<std::string> notes, warnings;
};

// Needs names, shapes, metadata and, to be sure of ties, contents.
[[nodiscard]] Restorations find_restorations(const onnx::GraphProto& graph,
                                             const std::map<std::string, Initializer>& initializers);

// To the message: names, dimensions, nodes. Contents of initializers are left as they are.
void restore_message(onnx::GraphProto& graph, const std::vector<Restoration>& list);
// Applies the restorations to the contents of the initializers.
void restore_contents(std::map<std::string, Initializer>& initializers, const std::vector<Restoration>& list);

// Values that the newer exporter's optimizer took for one because their first contents are equal, or left out because
// they change nothing at first (a factor of 1), where that would train another program.

struct MergeSearch {
  const onnx::GraphProto& graph;
  const std::map<std::string, Initializer>& initializers;
  const ParameterMarks& marks;
  const std::vector<FxCall>& calls;               // of the nodes
  const std::set<std::pair<int, int>>& separate;  // node and input: merged, and separate again
  const std::vector<std::string>& gone;           // parameters that neither the file nor a call names, in quotes
  bool lacks_buffers;                             // of the program, which a merged initializer may stand for
};

// Adds a sentence for each place that nothing tells apart. Returns, by initializer, who reads it in place of a constant.
[[nodiscard]] std::map<std::string, std::vector<Restoration::Reader>> tell_merged(const MergeSearch& search,
                                                                                  std::vector<std::string>& problems);

// Parameters that PyTorch's older exporter took for one because their first contents are equal: the file has one of them,
// and an Identity for each of the others.

// Those whose elements are all equal are equal by chance of their initialization, and are separate again. Others are taken to
// be tied; where the exporter merged by contents, a warning says that they may be copies of a module.
[[nodiscard]] Restorations find_merged_identities(const onnx::GraphProto& graph,
                                                  const std::map<std::string, Initializer>& initializers);

// What that exporter computed ahead of time and what holds the elements of a named weight, in their order or transposed: in
// the program it may be that weight, and nothing in the file proves it. A sentence each.
[[nodiscard]] std::vector<std::string> find_copies(const std::map<std::string, Initializer>& initializers);

// What PyTorch's newer exporter computed ahead of time from parameters, told by the names of the values on the way: the
// result of a call has the call's name, and a folded value lists all that it was made of.

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

// The transpose of a float32 matrix.
[[nodiscard]] Tensor transposed(const Tensor& matrix);

// Its first slice along the axis, with an extent of 1.
[[nodiscard]] Tensor first_along(const Tensor& tensor, size_t axis);

}  // namespace pantoum::import
