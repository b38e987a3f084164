// What is only computed while importing: tensors made from a shape, a range, a search; window functions, and the weights from frequencies to
// mels.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "import/onnx_messages.h"
#include "import/operators.h"

namespace pantoum::import {
namespace {

// E0401: the tensor would be larger than the lowering allows.
Result<int64_t> check_size(Node& node, const Shape& shape) {
  const std::optional<int64_t> count = count_elements(shape);
  if (count && *count <= node.lowering().constant_budget) return *count;
  return unsupported(fmt::format("a constant of shape {} is too large to be folded", ir::to_text(shape)));
}

// The integers of an operand. E0211 for floating-point numbers.
Result<Integers> integers_of(Node& node, size_t input) {
  if (auto values = to_ints(*node.setting(input))) return *std::move(values);
  return misfit("a shape or an index is not an integer");
}

Result<void> lower_constant_of_shape(Node& node) {
  PANTOUM_ASSIGN(const Shape shape, integers_of(node, 0));
  PANTOUM_ASSIGN(const int64_t count, check_size(node, shape));
  Tensor value = make_tensor(DType::kF32, {}, std::vector<double>{0});
  if (const onnx::TensorProto* given = node.attributes().tensor("value")) {
    PANTOUM_ASSIGN(value, read_constant(*given, "the value of ConstantOfShape"));
  }
  if (value.type.elements() != 1) return misfit("the value of ConstantOfShape is not one element");
  auto data = std::make_shared<std::vector<std::byte>>();
  for (int64_t element = 0; element < count; ++element)
    data->insert(data->end(), value.data->begin(), value.data->end());
  return node.set_known(0, {{value.type.dtype, shape}, std::move(data)});
}

Result<void> lower_range(Node& node) {
  const auto start = node.scalar(0), limit = node.scalar(1), step = node.scalar(2);
  if (!start || !limit || !step || *step == 0) return misfit("the operands of Range are not scalars, or the step is 0");
  const DType dtype = node.type(0).dtype;
  if (dtype != node.type(1).dtype || dtype != node.type(2).dtype) return misfit("constants differ in type");
  const double told = std::ceil((*limit - *start) / *step);
  if (!(told <= static_cast<double>(node.lowering().constant_budget)))
    return unsupported("a Range is too large to be folded");
  const int64_t count = told > 0 ? static_cast<int64_t>(told) : 0;
  if (const auto first = to_ints(*node.setting(0))) {
    const auto each = static_cast<uint64_t>(to_ints(*node.setting(2))->front());
    Integers values;
    for (uint64_t at = 0; at < static_cast<uint64_t>(count); ++at)
      values.push_back(static_cast<int64_t>(static_cast<uint64_t>(first->front()) + at * each));
    return node.set_known(0, make_tensor(dtype, {count}, values));
  }
  std::vector<double> values;
  for (int64_t at = 0; at < count; ++at) values.push_back(*start + static_cast<double>(at) * *step);
  return node.set_known(0, make_tensor(dtype, {count}, values));
}

// The places of what is not 0, one column each; of a scalar they have no coordinates.
Result<void> lower_non_zero(Node& node) {
  const Tensor truth = converted(*node.setting(0), DType::kBool);
  const Integers elements = *to_ints(truth);
  const Shape& shape = truth.type.shape;
  Integers found;
  for (size_t element = 0; element < elements.size(); ++element)
    if (elements[element] != 0) found.push_back(static_cast<int64_t>(element));
  const Shape made = {static_cast<int64_t>(shape.size()), static_cast<int64_t>(found.size())};
  PANTOUM_TRY(check_size(node, made));
  Integers places(shape.size() * found.size());
  for (size_t column = 0; column < found.size(); ++column) {
    int64_t rest = found[column];
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) places[d * found.size() + column] = rest % shape[d];
  }
  return node.set_known(0, make_tensor(DType::kI64, made, places));
}

// An element type by its number in ONNX; float32 where the attribute is absent.
Result<DType> told_dtype(Node& node) {
  const std::optional<DType> dtype = named_type(node.attributes().integer("output_datatype", 1));
  if (!dtype) return unsupported("its element type is not supported");
  return *dtype;
}

enum class SignalWindow { kHann, kHamming, kBlackman };

// a - b cos(2 pi t / n) + c cos(4 pi t / n); a periodic window is one of n + 1 elements without the last.
template <SignalWindow kWindow>
Result<void> lower_window(Node& node) {
  struct Terms {
    double a, b, c;
  };
  constexpr std::array kTerms = {Terms{0.5, 0.5, 0}, Terms{25.0 / 46, 1 - 25.0 / 46, 0}, Terms{0.42, 0.5, 0.08}};
  constexpr Terms kOf = kTerms[static_cast<size_t>(kWindow)];
  PANTOUM_ASSIGN(const Integers size, integers_of(node, 0));
  if (size.size() != 1 || size[0] < 1) return misfit("its size is not one positive number");
  PANTOUM_TRY(check_size(node, {size[0]}));
  PANTOUM_ASSIGN(const DType dtype, told_dtype(node));
  const bool periodic = node.attributes().integer("periodic", 1) != 0;
  const auto span = static_cast<double>(std::max<int64_t>(periodic ? size[0] : size[0] - 1, 1));
  std::vector<double> values(static_cast<size_t>(size[0]));
  for (size_t t = 0; t < values.size(); ++t) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(t) / span;
    values[t] = size[0] == 1 ? 1 : kOf.a - kOf.b * std::cos(turn) + kOf.c * std::cos(2 * turn);
  }
  return node.set_known(0, make_tensor(dtype, {size[0]}, values));
}

struct Mels {
  int64_t count, length, rate;  // of mels; of the transform; samples a second
  double lowest, highest;       // hertz
};

Result<Mels> read_mels(Node& node) {
  std::array<double, 5> told{};
  for (size_t input = 0; input < told.size(); ++input) {
    const std::optional<double> scalar = node.scalar(input);
    if (!scalar) return misfit("an operand of MelWeightMatrix is not one number");
    if (input < 3 && (ir::is_float(node.type(input).dtype) || *scalar < 1 || *scalar > INT32_MAX))
      return misfit("a size of MelWeightMatrix is out of range");
    told[input] = *scalar;
  }
  if (!(told[3] >= 0 && told[3] < told[4] && told[4] <= told[2])) return misfit("its frequencies are out of order");
  return Mels{static_cast<int64_t>(told[0]), static_cast<int64_t>(told[1]), static_cast<int64_t>(told[2]), told[3],
              told[4]};
}

// The bins of the transform where the mels begin: mel m spans [m, m + 2], with its top at m + 1.
Integers mel_edges(const Mels& mels) {
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mel(mels.highest) - mel(mels.lowest)) / static_cast<double>(mels.count + 2);
  Integers edges;
  for (int64_t at = 0; at < mels.count + 2; ++at) {
    const double hertz = 700 * (std::pow(10.0, (static_cast<double>(at) * step + mel(mels.lowest)) / 2595) - 1);
    edges.push_back(static_cast<int64_t>(
        std::floor(static_cast<double>(mels.length + 1) * hertz / static_cast<double>(mels.rate))));
  }
  return edges;
}

Result<void> lower_mel_weights(Node& node) {
  PANTOUM_ASSIGN(const Mels mels, read_mels(node));
  PANTOUM_ASSIGN(const DType dtype, told_dtype(node));
  const int64_t bins = mels.length / 2 + 1;
  PANTOUM_ASSIGN(const int64_t count, check_size(node, {bins, mels.count}));
  const Integers edges = mel_edges(mels);
  if (edges.back() > bins) return misfit("its highest frequency is beyond half the sample rate");
  std::vector<double> weights(static_cast<size_t>(count), 0);
  const auto set = [&](int64_t bin, int64_t at, int64_t part, int64_t whole) {
    if (bin < bins)
      weights[static_cast<size_t>(bin * mels.count + at)] = static_cast<double>(part) / static_cast<double>(whole);
  };
  for (int64_t at = 0; at < mels.count; ++at) {
    const auto entry = static_cast<size_t>(at);
    const int64_t low = edges[entry], top = edges[entry + 1], high = edges[entry + 2];
    for (int64_t bin = low; bin < top; ++bin) set(bin, at, bin - low, top - low);
    set(top, at, 1, 1);
    for (int64_t bin = top; bin < high; ++bin) set(bin, at, high - bin, high - top);
  }
  return node.set_known(0, make_tensor(dtype, {bins, mels.count}, weights));
}

constexpr OperatorEntry kFoldedOperators[] = {{"ConstantOfShape", lower_constant_of_shape},
                                              {"Range", lower_range},
                                              {"NonZero", lower_non_zero},
                                              {"HannWindow", lower_window<SignalWindow::kHann>},
                                              {"HammingWindow", lower_window<SignalWindow::kHamming>},
                                              {"BlackmanWindow", lower_window<SignalWindow::kBlackman>},
                                              {"MelWeightMatrix", lower_mel_weights}};

}  // namespace

constinit const Family folded_operators = kFoldedOperators;

}  // namespace pantoum::import
