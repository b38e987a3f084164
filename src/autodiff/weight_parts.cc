#include "autodiff/weight_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "base/globs.h"

namespace pantoum::autodiff {
namespace {

constexpr const char* kOption = "--train-channels";
constexpr const char* kForm =
    "name a weight and its share: 'conv5.weight=25%' or 'conv5.weight=1/4' for input channels, 'conv5.weight=out:16' "
    "for output channels";

// ---- an entry -------------------------------------------------------------------------------------

struct Entry {
  std::string glob;
  bool of_outputs = false;
  int64_t count = 0;  // of channels; 0: the share
  double share = 0;
};

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool read_share(std::string_view text, Entry& entry) {
  const size_t slash = text.find('/');
  if (text.ends_with('%')) {
    entry.share = number_in(text.substr(0, text.size() - 1)).value_or(0) / 100;
  } else if (slash != std::string_view::npos) {
    const double whole = number_in(text.substr(slash + 1)).value_or(0);
    entry.share = whole > 0 ? number_in(text.substr(0, slash)).value_or(0) / whole : 0;
  } else {
    const double count = number_in(text).value_or(0);
    if (count < 1 || count > INT32_MAX || count != std::floor(count)) return false;
    entry.count = static_cast<int64_t>(count);
    return true;
  }
  return entry.share > 0 && entry.share <= 1;
}

Result<Entry> read_entry(const std::string& text) {
  Entry entry;
  const size_t equals = text.rfind('=');
  std::string_view share = equals == std::string::npos ? "" : std::string_view(text).substr(equals + 1);
  if (share.starts_with("out:")) entry.of_outputs = true;
  if (share.starts_with("out:") || share.starts_with("in:")) share.remove_prefix(share.find(':') + 1);
  if (equals == 0 || !read_share(share, entry))
    return fail("E0113", fmt::format("'{}' is no share of a weight's channels", text), kOption, kForm);
  entry.glob = text.substr(0, equals);
  return entry;
}

// ---- the channels of a weight ---------------------------------------------------------------------

// The dimensions of input and output channels; -1: not known.
struct Channels {
  int64_t in = -1, out = -1;
  friend bool operator==(const Channels&, const Channels&) = default;
};

// W[O,C/g,..]: a depthwise convolution has a filter for each channel, which is both.
Channels of_convolution(const Shape& w, int64_t groups, bool turned) {
  if (groups == 1) return turned ? Channels{0, 1} : Channels{1, 0};
  if (groups == w[0] && w[1] == 1) return {0, 0};
  return turned ? Channels{} : Channels{-1, 0};
}

Channels channels_of(const Graph& graph, ValueId weight);

Channels channels_in(const Graph& graph, const Op& op, ValueId weight) {
  const Shape& w = graph.value(weight).type.shape;
  const bool second = op.inputs.size() > 1 && op.inputs[1] == weight && op.inputs[0] != weight;
  switch (op.kind) {
    case Kind::k_conv2d:
    case Kind::k_conv2d_dx:
      return second ? of_convolution(w, op.attrs.ints[PT_CONV_GROUPS], op.kind == Kind::k_conv2d_dx) : Channels{};
    case Kind::k_conv3d:
    case Kind::k_conv3d_dx:
      return second ? of_convolution(w, op.attrs.ints[PT_CONV3D_GROUPS], op.kind == Kind::k_conv3d_dx) : Channels{};
    case Kind::k_matmul:
      if (!second || w.size() != 2) return {};
      return op.attrs.ints[1] != 0 ? Channels{1, 0} : Channels{0, 1};
    case Kind::k_transpose: {
      const Channels turned = channels_of(graph, op.outputs[0]);
      const auto place = [&](int64_t axis) { return axis < 0 ? axis : op.attrs.ints[static_cast<size_t>(axis)]; };
      return {place(turned.in), place(turned.out)};
    }
    default:
      return {};
  }
}

// What all ops that read the weight agree on.
Channels channels_of(const Graph& graph, ValueId weight) {
  std::optional<Channels> known;
  for (const Op& op : graph.ops) {
    if (std::ranges::find(op.inputs, weight) == op.inputs.end()) continue;
    const Channels here = channels_in(graph, op, weight);
    if (known && !(*known == here)) return {};
    known = here;
  }
  return known.value_or(Channels{});
}

Result<WeightPart> part_in(const Graph& graph, ValueId weight, const Entry& entry) {
  const Value& value = graph.value(weight);
  const Channels channels = channels_of(graph, weight);
  const int64_t axis = entry.of_outputs ? channels.out : channels.in;
  if (axis < 0)
    return fail("E0113",
                fmt::format("the {} channels of '{}' are not known: it is no weight of a convolution or linear layer "
                            "alone{}",
                            entry.of_outputs ? "output" : "input", value.name,
                            channels.out >= 0 ? ", or its groups divide them" : ""),
                kOption,
                channels.out >= 0 ? fmt::format("take output channels: '{}=out:..', or train it whole", value.name)
                                  : "leave it out to train it whole, or freeze it with --freeze");
  const int64_t all = value.type.shape[static_cast<size_t>(axis)];
  if (entry.count > all)
    return fail("E0113",
                fmt::format("'{}' has {} {} channels, and {} are to train", value.name, all,
                            entry.of_outputs ? "output" : "input", entry.count),
                kOption, fmt::format("give {} or fewer", all));
  constexpr double kRounding = 1e-9;  // a third of 3 channels is 1
  const auto share = static_cast<int64_t>(std::floor(entry.share * static_cast<double>(all) + kRounding));
  return WeightPart{axis, entry.count > 0 ? entry.count : std::max<int64_t>(share, 1)};
}

}  // namespace

Attrs first_elements(size_t rank) {
  Attrs attrs;
  for (size_t dim = 0; dim < rank; ++dim) attrs.ints.insert(attrs.ints.end(), {0, 1});
  return attrs;
}

TensorType part_type(TensorType whole, const WeightPart& part) {
  whole.shape[static_cast<size_t>(part.axis)] = part.count;
  return whole;
}

Result<ShareOfWeight> share_of_weight(const Graph& forward, const std::string& name, const std::string& share) {
  PANTOUM_ASSIGN(const Entry entry, read_entry(name + "=" + share));
  for (size_t id = 0; id < forward.values.size(); ++id) {
    const Value& value = forward.values[id];
    if (value.role != ir::Role::kParameter || value.name != name) continue;
    PANTOUM_ASSIGN(const WeightPart part, part_in(forward, static_cast<ValueId>(id), entry));
    const auto all = static_cast<double>(value.type.shape[static_cast<size_t>(part.axis)]);
    const bool cuts_input = channels_of(forward, static_cast<ValueId>(id)).in == part.axis;
    return ShareOfWeight{part, static_cast<double>(part.count) / all, cuts_input};
  }
  return fail("E0104", fmt::format("the model has no weight '{}'", name), kOption,
              "see the names with: pantoum inspect");
}

Result<WeightParts> WeightParts::of(const Graph& forward, const std::vector<std::string>& entries) {
  WeightParts made;
  made.forward_values_ = forward.values.size();
  std::vector<std::string> unmatched;
  for (const std::string& text : entries) {
    PANTOUM_ASSIGN(const Entry entry, read_entry(text));
    bool matched = false;
    for (size_t id = 0; id < forward.values.size(); ++id) {
      const Value& value = forward.values[id];
      const bool trains = value.role == ir::Role::kParameter && value.trainable && value.type.shape.size() > 1;
      if (!trains || !base::matches(entry.glob, value.name)) continue;
      matched = true;
      PANTOUM_ASSIGN(const WeightPart part, part_in(forward, static_cast<ValueId>(id), entry));
      made.parts_.erase(static_cast<ValueId>(id));
      if (part.count < value.type.shape[static_cast<size_t>(part.axis)])
        made.parts_.emplace(static_cast<ValueId>(id), part);
    }
    if (!matched) unmatched.push_back(fmt::format("'{}'", entry.glob));
  }
  if (unmatched.empty()) return made;
  return fail("E0104", "--train-channels names no weight that is trained", forward.name,
              "see the names with: pantoum inspect", std::move(unmatched));
}

ValueId WeightParts::gradient_of(Builder& builder, ValueId parameter, ValueId gradient) {
  const auto part = parts_.find(parameter);
  if (part == parts_.end() || builder.error()) return gradient;
  const std::string name = builder.graph().value(gradient).name;
  const ValueId made = part_of(builder, gradient, part->second);
  builder.rename(gradient, name + ".whole");
  builder.rename(made, name);
  return made;
}

ValueId WeightParts::cut(Builder& builder, ValueId value, const WeightPart& part) {
  const TensorType whole = builder.type(value), type = part_type(whole, part);
  if (type == whole) return value;
  const std::string name = builder.graph().value(value).name + ".part";
  const ValueId made = builder.op(Kind::k_slice, name, {value}, first_elements(whole.shape.size()), {type});
  // Views that backward made of the forward pass's values move with their cut.
  std::vector<ValueId> moved{made};
  for (ValueId from = value; position_of(from) >= forward_values_;) {
    const OpId producer = builder.graph().value(from).producer;
    if (producer == kNone || builder.graph().op(producer).kind != Kind::k_alias) return made;
    moved.push_back(from);
    from = builder.graph().op(producer).inputs[0];
  }
  cuts_.insert(cuts_.end(), moved.begin(), moved.end());
  return made;
}

// dW[O,C/g,..] of X[N,C,..] and dY[N,O,..]. kNone: its groups are cut through.
ValueId WeightParts::convolution_part(Builder& builder, const Op& op, TensorType type, const WeightPart& part) {
  const size_t at = op.kind == Kind::k_conv2d_dw ? size_t{PT_CONV_GROUPS} : size_t{PT_CONV3D_GROUPS};
  const int64_t groups = op.attrs.ints[at];
  ValueId x = op.inputs[0], dy = op.inputs[1];
  Attrs attrs = op.attrs;
  if (groups == 1 && part.axis == 1) {
    x = cut(builder, x, {1, part.count});
  } else if (part.axis == 0 && (groups == 1 || part.count % (type.shape[0] / groups) == 0)) {
    dy = cut(builder, dy, {1, part.count});
    if (groups > 1) {
      attrs.ints[at] = part.count / (type.shape[0] / groups);
      x = cut(builder, x, {1, attrs.ints[at] * type.shape[1]});
    }
  } else {
    return kNone;
  }
  return builder.op(op.kind, op.name + ".part", {x, dy}, std::move(attrs), {part_type(std::move(type), part)});
}

// Follows sums and turns down to the products. Of any other gradient, the part is a slice.
ValueId WeightParts::part_of(Builder& builder, ValueId gradient, const WeightPart& part) {
  const TensorType type = builder.type(gradient);
  const OpId producer = builder.graph().value(gradient).producer;
  if (producer == kNone) return cut(builder, gradient, part);
  const Op op = builder.graph().op(producer);  // a copy: the graph grows
  const auto axis = static_cast<size_t>(part.axis);
  switch (op.kind) {
    case Kind::k_add:
      if (builder.type(op.inputs[0]) != type || builder.type(op.inputs[1]) != type) break;
      return builder.op(op.kind, op.name + ".part",
                        {part_of(builder, op.inputs[0], part), part_of(builder, op.inputs[1], part)});
    case Kind::k_transpose:
      return builder.op(op.kind, op.name + ".part", {part_of(builder, op.inputs[0], {op.attrs.ints[axis], part.count})},
                        op.attrs);
    case Kind::k_conv2d_dw:
    case Kind::k_conv3d_dw:
      if (const ValueId made = convolution_part(builder, op, type, part); made != kNone) return made;
      break;
    case Kind::k_matmul: {
      if (type.shape.size() != 2 || op.inputs.size() != 2 || builder.type(op.inputs[axis]).shape.size() != 2) break;
      const bool turned = op.attrs.ints[axis] != 0;  // A[M,K] B[K,N]
      std::vector<ValueId> factors = op.inputs;
      factors[axis] = cut(builder, factors[axis], {axis == 0 ? (turned ? 1 : 0) : (turned ? 0 : 1), part.count});
      return builder.op(op.kind, op.name + ".part", factors, op.attrs);
    }
    default:
      break;
  }
  return cut(builder, gradient, part);
}

void WeightParts::cut_early(Graph& graph) const {
  std::vector<Op> waiting, ops;
  std::vector<char> early(graph.ops.size(), 0);
  for (const ValueId cut : cuts_) early[position_of(graph.value(cut).producer)] = 1;
  std::vector<char> made(graph.values.size(), 0);
  for (size_t id = 0; id < graph.values.size(); ++id) made[id] = graph.values[id].producer == kNone;
  for (size_t op = 0; op < early.size(); ++op)
    if (early[op]) waiting.push_back(graph.ops[op]);
  const auto append = [&](const Op& op) {
    for (const ValueId output : op.outputs) {
      made[position_of(output)] = 1;
      graph.value(output).producer = static_cast<OpId>(ops.size());
    }
    ops.push_back(op);
  };
  const auto append_ready = [&] {
    for (size_t at = 0; at < waiting.size();) {
      const bool ready =
          std::ranges::all_of(waiting[at].inputs, [&](ValueId in) { return made[position_of(in)] != 0; });
      if (ready)
        append(Op(waiting[at])), waiting.erase(waiting.begin() + static_cast<ptrdiff_t>(at)), at = 0;
      else
        ++at;
    }
  };
  append_ready();
  for (size_t op = 0; op < early.size(); ++op) {
    if (early[op]) continue;
    append(graph.ops[op]);
    append_ready();
  }
  graph.ops = std::move(ops);
}

}  // namespace pantoum::autodiff
