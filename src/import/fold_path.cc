#include "import/restore_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <unordered_set>

#include "import/parameter_marks.h"
#include "import/weight_roles.h"

namespace pantoum::import {
namespace {

using Names = std::vector<std::string>;

// Calls by what they do to elements. None of them has an argument that the file lacks and that changes more than which
// elements the result has, and in which order.
constexpr std::array kReshapes = {"view",    "reshape", "_unsafe_view", "unsqueeze",  "squeeze",
                                  "flatten", "clone",   "alias",        "contiguous", "unflatten"};
constexpr std::array kKeepsAxes = {"unsqueeze", "squeeze", "clone", "alias", "contiguous"};
constexpr std::array kCopies = {"clone", "alias", "contiguous"};
constexpr std::array kTurns = {"t", "transpose", "permute"};
constexpr std::array kPicks = {"slice", "select", "narrow", "flip", "roll", "diagonal", "getitem", "split", "unbind"};
constexpr std::array kMayRepeat = {"expand", "repeat", "tile", "embedding", "index", "index_select", "gather", "take"};
constexpr std::array kJoins = {"cat", "stack"};  // may repeat, too

template <size_t count>
bool among(const std::array<const char*, count>& list, const std::string& call) {
  return std::ranges::find(list, call) != list.end();
}

struct Function {
  const char *call, *op_type;
  double (*apply)(double);
  double (*invert)(double);
};
constexpr Function kFunctions[] = {
    {"exp", "Exp", [](double x) { return std::exp(x); }, [](double y) { return std::log(y); }},
    {"log", "Log", [](double x) { return std::log(x); }, [](double y) { return std::exp(y); }},
    {"neg", "Neg", [](double x) { return -x; }, [](double y) { return -y; }},
    {"sigmoid", "Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); },
     [](double y) { return std::log(y) - std::log1p(-y); }},
    {"tanh", "Tanh", [](double x) { return std::tanh(x); }, [](double y) { return std::atanh(y); }},
    {"reciprocal", "Reciprocal", [](double x) { return 1 / x; }, [](double y) { return 1 / y; }},
    {"sqrt", "Sqrt", [](double x) { return std::sqrt(x); }, [](double y) { return y * y; }}};

const Function* find_function(const std::string& name, bool by_call) {
  const auto found = std::ranges::find_if(
      kFunctions, [&](const Function& each) { return name == (by_call ? each.call : each.op_type); });
  return found == std::end(kFunctions) ? nullptr : found;
}

// One step on the way; false: a call that is not known.
bool add_call(FoldPath& path, const std::string& call) {
  if (const Function* function = find_function(call, true)) {
    path.functions.emplace_back(function->op_type);
    return true;
  }
  if (among(kReshapes, call)) path.only_turns = path.only_turns && among(kCopies, call);
  if (among(kReshapes, call) || call == "arange" || call == "_to_copy") return true;
  const bool turns = among(kTurns, call), repeats = among(kMayRepeat, call) || among(kJoins, call);
  path.turns += turns ? 1 : 0;
  path.in_order = false;
  path.distinct = path.distinct && !repeats;
  path.only_turns = path.only_turns && turns;
  return turns || repeats || among(kPicks, call);
}

// Two functions on the way: only the last call's place is known.
bool is_order_known(const FoldPath& path, const std::string& last) {
  if (path.functions.size() < 2) return true;
  return path.functions.size() == 2 && find_function(last, true) != nullptr;
}

double undo(double value, const Names& functions) {
  for (size_t at = functions.size(); at-- > 0;) value = find_function(functions[at], false)->invert(value);
  return value;
}

double redo(double value, const Names& functions) {
  for (const std::string& each : functions) value = find_function(each, false)->apply(value);
  return value;
}

// Does a change of the result by its rounding move the argument no more than rounding does?
bool is_well_known(double argument, double result, const Names& functions) {
  if (!std::isfinite(argument) || std::fabs(argument) > 1e30) return false;
  const double rounding = std::max(std::fabs(result) * 6e-8, 1e-38);
  const double above = undo(result + rounding, functions), below = undo(result - rounding, functions);
  const double most = 2e-6 * std::max(1.0, std::fabs(argument));
  return std::fabs(above - argument) < most && std::fabs(below - argument) < most &&
         std::fabs(redo(argument, functions) - result) <= 4 * rounding;
}

uint32_t bits_at(const Tensor& tensor, int64_t at) {
  uint32_t bits = 0;
  std::memcpy(&bits, tensor.data->data() + static_cast<size_t>(at) * sizeof bits, sizeof bits);
  return bits;
}

int64_t stride_of(const Shape& shape, size_t axis) {
  int64_t stride = 1;
  for (size_t d = axis + 1; d < shape.size(); ++d) stride *= shape[d];
  return stride;
}

bool repeats_along(const Tensor& tensor, size_t axis) {
  const Shape& shape = tensor.type.shape;
  const int64_t stride = stride_of(shape, axis);
  for (int64_t at = 0; at < tensor.type.elements(); ++at)
    if (at / stride % shape[axis] != 0 && bits_at(tensor, at) != bits_at(tensor, at - stride)) return false;
  return true;
}

}  // namespace

FoldPath read_fold_path(const std::string& value, const Names& sources, const ParameterMarks& marks) {
  FoldPath path{.known = true};
  Names calls;
  bool buffers = false, axes = true, joins = false, arange = false;
  int casts = 0;
  const auto add = [&](const std::string& name) {
    const std::string call = without_number(name);
    if (std::ranges::find(calls, call) == calls.end()) calls.push_back(call);
    axes = axes && (among(kKeepsAxes, call) || among(kTurns, call) || call == "expand");
    path.expands = path.expands || call == "expand";
    joins = joins || among(kJoins, call);
    arange = arange || call == "arange";
    casts += call == "_to_copy" ? 1 : 0;
    path.known = add_call(path, call) && path.known;
  };
  for (const std::string& source : sources) {
    if (marks.parameters.contains(source))
      path.parameters.push_back(source);
    else if (marks.buffers.contains(source))
      buffers = true;
    else if (source != value && !(source.starts_with("val_") && is_invented_name(source)))
      add(source);
  }
  add(value);
  path.expands = path.expands && axes;
  path.calls = fmt::format("{}", fmt::join(calls, ", "));
  // Elements that come from other constants may be among the result's elements; a cast may round, or turn a parameter into an index.
  const bool pure = !(joins && (buffers || arange)) && casts <= ((buffers || arange) ? 0 : 1);
  path.known = path.known && pure &&
               path.parameters.size() == (joins ? std::max<size_t>(path.parameters.size(), 1) : 1) &&
               is_order_known(path, without_number(value));
  return path;
}

std::optional<Tensor> before_functions(const Tensor& folded, const Names& functions, double factor) {
  const auto values = to_reals(folded);
  if (!values || !std::isfinite(factor) || factor == 0) return std::nullopt;
  std::vector<double> arguments;
  for (const double value : *values) {
    const double result = value / factor, argument = undo(result, functions);
    if (!is_well_known(argument, result, functions)) return std::nullopt;
    arguments.push_back(argument);
  }
  return make_tensor(DType::kF32, folded.type.shape, arguments);
}

bool all_distinct(const std::vector<const Tensor*>& tensors) {
  std::unordered_set<uint32_t> seen;
  for (const Tensor* tensor : tensors)
    for (int64_t at = 0; at < tensor->type.elements(); ++at)
      if (!seen.insert(bits_at(*tensor, at)).second) return false;
  return true;
}

Tensor transposed(const Tensor& from) {
  const auto rows = static_cast<size_t>(from.type.shape[0]), columns = static_cast<size_t>(from.type.shape[1]);
  auto data = std::make_shared<std::vector<std::byte>>(from.data->size());
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < columns; ++column)
      std::memcpy(data->data() + (column * rows + row) * sizeof(float),
                  from.data->data() + (row * columns + column) * sizeof(float), sizeof(float));
  return {{from.type.dtype, {from.type.shape[1], from.type.shape[0]}}, std::move(data)};
}

std::optional<size_t> repeated_axis(const Tensor& tensor) {
  std::optional<size_t> found;
  for (size_t axis = 0; axis < tensor.type.shape.size(); ++axis) {
    if (tensor.type.shape[axis] == 1 || !repeats_along(tensor, axis)) continue;
    if (found) return std::nullopt;
    found = axis;
  }
  return found;
}

Tensor first_along(const Tensor& tensor, size_t axis) {
  Shape shape = tensor.type.shape;
  const auto run = static_cast<size_t>(stride_of(shape, axis)) * sizeof(float);
  const size_t period = run * static_cast<size_t>(shape[axis]);
  shape[axis] = 1;
  auto data = std::make_shared<std::vector<std::byte>>();
  for (size_t at = 0; at < tensor.data->size(); at += period)
    data->insert(data->end(), tensor.data->begin() + static_cast<std::ptrdiff_t>(at),
                 tensor.data->begin() + static_cast<std::ptrdiff_t>(at + run));
  return {{tensor.type.dtype, std::move(shape)}, std::move(data)};
}

}  // namespace pantoum::import
