#include "rewrite/edit.h"
#include "rewrite/passes.h"

#include <algorithm>
#include <map>

#include "ir/builder.h"
#include "kernels/portable/layout.h"

namespace pantoum::rewrite {
namespace {

constexpr std::pair<int64_t, int64_t> kMostPadding{3, 2};  // padded over true channels
constexpr int64_t kHeightBit = 0b0100, kWidthBit = 0b1000, kChannelBit = 0b0010, kSampleBit = 0b0001;

pt_tensor tensor_of(const Shape& shape) {
  pt_tensor tensor{};
  tensor.rank = static_cast<uint8_t>(shape.size());
  for (size_t dim = 0; dim < shape.size(); ++dim) tensor.dims[dim] = static_cast<uint32_t>(shape[dim]);
  return tensor;
}

Shape laid_out(const Shape& logical, pt_layout layout, uint32_t block) {
  uint32_t from[4], dims[PT_MAX_RANK];
  for (size_t dim = 0; dim < 4; ++dim) from[dim] = static_cast<uint32_t>(logical[dim]);
  const uint8_t rank = pt_layout_dims(from, layout, block, dims);
  return Shape(dims, dims + rank);
}

// Ops whose first inputs and first output are images: the form in blocks, and how many inputs are images.
struct ImageOp {
  Kind plain, blocked;
  size_t images;
};
constexpr ImageOp kImageOps[] = {{Kind::k_batch_norm, Kind::k_batch_norm_nchwc, 1},
                                 {Kind::k_batch_norm_grad, Kind::k_batch_norm_grad_nchwc, 2},
                                 {Kind::k_batch_norm_eval, Kind::k_batch_norm_eval_nchwc, 1},
                                 {Kind::k_batch_norm_act, Kind::k_batch_norm_act_nchwc, 1},
                                 {Kind::k_batch_norm_act_grad, Kind::k_batch_norm_act_grad_nchwc, 2},
                                 {Kind::k_batch_norm_act_eval, Kind::k_batch_norm_act_eval_nchwc, 1},
                                 {Kind::k_max_pool, Kind::k_max_pool_nchwc, 1},
                                 {Kind::k_max_pool_grad, Kind::k_max_pool_grad_nchwc, 2},
                                 {Kind::k_avg_pool, Kind::k_avg_pool_nchwc, 1},
                                 {Kind::k_avg_pool_grad, Kind::k_avg_pool_grad_nchwc, 1}};

class Blocking {
 public:
  Blocking(const Graph& source, const BlockKernels& kernels)
      : source_(source), kernels_(kernels), graph_(source), builder_(graph_) {
    graph_.ops.clear();
    for (Value& value : graph_.values) value.producer = kNone;
    present_.assign(source.values.size(), 0);
    for (size_t id = 0; id < source.values.size(); ++id) present_[id] = source.values[id].producer == kNone;
  }

  Graph run() {
    for (const Op& op : source_.ops)
      if (!follow(op)) keep(op);
    for (const auto* list : {&source_.outputs, &source_.results})
      for (const ValueId id : *list) plain(id);
    for (const Value& value : source_.values)
      if (value.next != kNone) plain(value.next);
    ir::drop_dead_ops(graph_);
    return std::move(graph_);
  }

 private:
  const Shape& shape(ValueId id) const { return source_.value(id).type.shape; }
  int64_t block() const { return kernels_.block; }
  bool is_image(ValueId id) const { return shape(id).size() == 4 && source_.value(id).type.dtype == DType::kF32; }
  // Its channels fill their blocks: memory in blocks can be seen as a plain tensor of one dimension more.
  bool is_even(ValueId id) const { return shape(id)[1] % block() == 0; }
  // Not much of its blocks would be padding: RAM is dearer than time.
  bool fills_blocks(ValueId id) const {
    const int64_t channels = shape(id)[1], padded = (channels + block() - 1) / block() * block();
    return padded * kMostPadding.second <= channels * kMostPadding.first;
  }
  bool is_blocked(ValueId id) const { return blocked_.contains(id); }
  Shape block_shape(const Shape& logical) const { return laid_out(logical, PT_LAYOUT_NCHWC, kernels_.block); }
  TensorType block_type(ValueId id) const { return {DType::kF32, block_shape(shape(id))}; }

  // ---- values in both layouts ----

  // Appends an op that writes existing values.
  void append(Kind kind, std::string name, std::vector<ValueId> inputs, std::vector<ValueId> outputs, Attrs attrs,
              bool recompute = true) {
    for (const ValueId output : outputs) {
      graph_.value(output).producer = static_cast<OpId>(graph_.ops.size());
      if (position_of(output) < present_.size()) present_[position_of(output)] = 1;
    }
    graph_.ops.push_back({.kind = kind,
                          .name = std::move(name),
                          .inputs = std::move(inputs),
                          .outputs = std::move(outputs),
                          .attrs = std::move(attrs),
                          .recompute = recompute});
  }

  ValueId plain(ValueId id) {
    if (!present_[position_of(id)])
      append(Kind::k_reorder, source_.value(id).name + ".plain", {blocked_.at(id)}, {id},
             {{PT_LAYOUT_NCHWC, PT_LAYOUT_PLAIN}, {}});
    return id;
  }

  ValueId blocked(ValueId id) {
    if (const auto known = blocked_.find(id); known != blocked_.end()) return known->second;
    const ValueId made = builder_.op(Kind::k_reorder, source_.value(id).name + ".nchwc", {plain(id)},
                                     {{PT_LAYOUT_PLAIN, PT_LAYOUT_NCHWC}, {}}, {block_type(id)});
    blocked_.emplace(id, made);
    return made;
  }

  ValueId weight(ValueId id, pt_layout layout) {
    const auto [entry, added] = weights_.try_emplace({id, layout}, kNone);
    if (added)
      entry->second =
          builder_.op(Kind::k_reorder, source_.value(id).name + ".nchwc", {plain(id)}, {{PT_LAYOUT_PLAIN, layout}, {}},
                      {{DType::kF32, laid_out(shape(id), layout, kernels_.block)}});
    return entry->second;
  }

  // The op in blocks, with the value that stands for the source's first output; the others keep their place.
  void emit(const Op& op, Kind kind, std::vector<ValueId> inputs, Attrs attrs) {
    std::vector<ValueId> outputs = op.outputs;
    outputs[0] = value_like(op.outputs[0], block_shape(shape(op.outputs[0])));
    append(kind, op.name, std::move(inputs), outputs, std::move(attrs), op.recompute);
    blocked_.emplace(op.outputs[0], outputs[0]);
  }

  // A value beside those of the source.
  ValueId value_like(ValueId id, Shape shape_of_it) {
    Value made;
    made.name = graph_.value(id).name + ".nchwc";
    made.type = {DType::kF32, std::move(shape_of_it)};
    graph_.values.push_back(std::move(made));
    return static_cast<ValueId>(graph_.values.size()) - 1;
  }

  void keep(const Op& op) {
    for (const ValueId input : op.inputs) plain(input);
    append(op.kind, op.name, op.inputs, op.outputs, op.attrs, op.recompute);
  }

  // ---- ops ----

  bool follow(const Op& op) {
    for (const ImageOp& each : kImageOps)
      if (each.plain == op.kind) return images(op, each.blocked, each.images);
    switch (op.kind) {
      case Kind::k_conv2d:
        return convolution(op, Kind::k_conv2d_nchwc, op.inputs[0], op.outputs[0], op.inputs[1]);
      case Kind::k_conv2d_act:
        return convolution(op, Kind::k_conv2d_act_nchwc, op.inputs[0], op.outputs[0], op.inputs[1]);
      case Kind::k_conv2d_dx:
        return convolution(op, Kind::k_conv2d_dx_nchwc, op.outputs[0], op.inputs[0], op.inputs[1]);
      case Kind::k_conv2d_dw:
        return convolution(op, Kind::k_conv2d_dw_nchwc, op.inputs[0], op.inputs[1], op.outputs[0]);
      case Kind::k_reduce_mean:
      case Kind::k_reduce_sum:
        return reduction(op);
      case Kind::k_expand:
        return expansion(op);
      case Kind::k_concat:
        return concatenation(op);
      case Kind::k_split:
        return splitting(op);
      case Kind::k_alias:
        return renaming(op);
      default:
        return ir::op_def(op.kind).traits.pointwise && pointwise(op);
    }
  }

  bool convolution(const Op& op, Kind kind, ValueId x, ValueId y, ValueId w) {
    if (!is_image(x) || !is_image(y)) return false;
    const bool of_image = kind == Kind::k_conv2d_dx_nchwc;
    const int64_t channels = shape(x)[1], outputs = shape(y)[1], groups = op.attrs.ints[PT_CONV_GROUPS];
    Attrs attrs = op.attrs;
    const std::vector<int64_t> epilogue(attrs.ints.begin() + PT_CONV_ATTRS, attrs.ints.end());
    attrs.ints.resize(PT_CONV_NCHWC_ATTRS);
    attrs.ints[PT_CONV_NCHWC_CHANNELS] = channels;
    attrs.ints[PT_CONV_NCHWC_OUTPUTS] = outputs;
    const bool plain_x = !of_image && !is_blocked(x) && groups == 1 && channels < block();
    if (!fills_blocks(y) || !(plain_x || fills_blocks(x))) return false;
    const pt_layout layout = ask(kind, plain_x ? shape(x) : block_shape(shape(x)), block_shape(shape(y)), w, attrs);
    if (layout == PT_LAYOUT_PLAIN) return false;
    attrs.ints[PT_CONV_NCHWC_WEIGHT] = layout;
    if (of_image) {
      emit(op, kind, {blocked(y), weight(w, layout)}, std::move(attrs));
    } else if (kind != Kind::k_conv2d_dw_nchwc) {
      const bool adds = !epilogue.empty() && epilogue[PT_EPILOGUE_RESIDUAL] != PT_RESIDUAL_NONE;
      std::vector<ValueId> inputs = {plain_x ? plain(x) : blocked(x), weight(w, layout)};
      if (op.inputs.size() > (adds ? 3 : 2)) inputs.push_back(plain(op.inputs[2]));
      if (adds) inputs.push_back(blocked(op.inputs.back()));
      attrs.ints.insert(attrs.ints.end(), epilogue.begin(), epilogue.end());
      emit(op, kind, std::move(inputs), std::move(attrs));
    } else {
      const ValueId made = builder_.op(kind, op.name, {plain_x ? plain(x) : blocked(x), blocked(y)}, std::move(attrs),
                                       {{DType::kF32, laid_out(shape(w), layout, kernels_.block)}});
      append(Kind::k_reorder, source_.value(w).name + ".plain", {made}, {w}, {{layout, PT_LAYOUT_PLAIN}, {}});
    }
    return true;
  }

  // PT_LAYOUT_PLAIN where the back end has no kernel, or the weight's groups do not fill blocks.
  pt_layout ask(Kind kind, const Shape& x, const Shape& y, ValueId w, const Attrs& attrs) const {
    uint32_t logical[4];
    for (size_t dim = 0; dim < 4; ++dim) logical[dim] = static_cast<uint32_t>(shape(w)[dim]);
    const int layout =
        kernels_.weight_layout(static_cast<uint16_t>(kind), tensor_of(x), tensor_of(y), logical, attrs.ints.data());
    const int64_t groups = attrs.ints[PT_CONV_GROUPS];
    const bool fills = groups == 1 || layout == PT_LAYOUT_OHWI_O ||
                       (shape(w)[0] / groups % block() == 0 && shape(w)[1] % block() == 0);
    return layout > PT_LAYOUT_PLAIN && layout < PT_LAYOUT_COUNT && fills ? static_cast<pt_layout>(layout)
                                                                         : PT_LAYOUT_PLAIN;
  }

  // The first `count` inputs and the first output are images, the others vectors.
  bool images(const Op& op, Kind kind, size_t count) {
    const auto first = op.inputs.begin();
    const auto last = first + static_cast<std::ptrdiff_t>(count);
    if (!std::all_of(first, last, [&](ValueId id) { return is_image(id); })) return false;
    if (std::none_of(first, last, [&](ValueId id) { return is_blocked(id); })) return false;
    std::vector<ValueId> inputs;
    for (size_t input = 0; input < op.inputs.size(); ++input)
      inputs.push_back(input < count ? blocked(op.inputs[input]) : plain(op.inputs[input]));
    emit(op, kind, std::move(inputs), op.attrs);
    return true;
  }

  // A reduction over height and width, perhaps over samples. Channels stay, so that the result has the same bytes in both layouts.
  bool reduction(const Op& op) {
    const ValueId x = op.inputs[0];
    const int64_t mask = op.attrs.ints[0];
    if (!is_blocked(x) || !is_even(x) || (mask & kChannelBit) != 0) return false;
    for (const int64_t bit : {kHeightBit, kWidthBit})
      if ((mask & bit) == 0) return false;
    const int64_t moved = kHeightBit | kWidthBit | (mask & kSampleBit);
    const ValueId made = builder_.op(op.kind, op.name, {blocked(x)}, {{moved}, {}});
    append(Kind::k_alias, op.name + ".view", {made}, {op.outputs[0]}, {});
    return true;
  }

  // One number per channel over an image: born in blocks, where images are.
  bool expansion(const Op& op) {
    const ValueId x = op.inputs[0], y = op.outputs[0];
    if (blocked_.empty() || !is_image(y) || !is_even(y)) return false;
    const std::optional<Shape> view = broadcast_view(shape(x), shape(y));
    if (!view) return false;
    emit(op, op.kind, {builder_.reshape(plain(x), *view)}, op.attrs);
    return true;
  }

  // How a plain operand that broadcasts to the image is seen beside the image's blocks; none where it cannot be.
  std::optional<Shape> broadcast_view(Shape from, const Shape& to) const {
    if (std::ranges::all_of(from, [](int64_t extent) { return extent == 1; })) return Shape{1};
    if (from.size() > 4) return std::nullopt;
    from.insert(from.begin(), 4 - from.size(), 1);
    if (from[1] == 1) return Shape{from[0], 1, from[2], from[3], 1};
    if (from[1] != to[1] || from[2] != 1 || from[3] != 1) return std::nullopt;
    return Shape{from[0], to[1] / block(), 1, 1, block()};
  }

  bool concatenation(const Op& op) {
    if (op.attrs.ints[0] != 1 || !is_image(op.outputs[0])) return false;
    const bool all = std::ranges::all_of(op.inputs, [&](ValueId id) { return is_even(id); });
    const bool any = std::ranges::any_of(op.inputs, [&](ValueId id) { return is_blocked(id); });
    if (!all || !any) return false;
    std::vector<ValueId> inputs;
    for (const ValueId input : op.inputs) inputs.push_back(blocked(input));
    emit(op, op.kind, std::move(inputs), op.attrs);
    return true;
  }

  bool splitting(const Op& op) {
    if (op.attrs.ints[0] != 1 || !is_blocked(op.inputs[0])) return false;
    if (!std::ranges::all_of(op.outputs, [&](ValueId id) { return is_even(id); })) return false;
    std::vector<ValueId> outputs;
    for (const ValueId output : op.outputs) outputs.push_back(value_like(output, block_shape(shape(output))));
    append(op.kind, op.name, {blocked(op.inputs[0])}, outputs, op.attrs, op.recompute);
    for (size_t output = 0; output < outputs.size(); ++output) blocked_.emplace(op.outputs[output], outputs[output]);
    return true;
  }

  // The same image under another name.
  bool renaming(const Op& op) {
    const ValueId x = op.inputs[0];
    if (!is_blocked(x) || source_.value(x).type != source_.value(op.outputs[0]).type) return false;
    blocked_.emplace(op.outputs[0], blocked(x));
    return true;
  }

  // Images of one shape in blocks; smaller operands broadcast beside them.
  bool pointwise(const Op& op) {
    const ValueId y = op.outputs[0];
    if (op.outputs.size() != 1 || !is_image(y)) return false;
    if (std::ranges::none_of(op.inputs, [&](ValueId id) { return is_blocked(id); })) return false;
    std::vector<std::optional<Shape>> views(op.inputs.size());
    bool broadcasts = false;
    for (size_t input = 0; input < op.inputs.size(); ++input) {
      const ValueId id = op.inputs[input];
      if (source_.value(id).type.dtype != DType::kF32) return false;
      if (shape(id) == shape(y)) continue;
      broadcasts = true;
      views[input] = broadcast_view(shape(id), shape(y));
      if (!views[input]) return false;
    }
    const bool keeps_zero = ir::op_def(op.kind).traits.keeps_zero(op.attrs);
    if (!is_even(y) && (broadcasts || !keeps_zero)) return false;  // zeros in the padding must stay zeros
    std::vector<ValueId> inputs;
    for (size_t input = 0; input < op.inputs.size(); ++input)
      inputs.push_back(views[input] ? builder_.reshape(plain(op.inputs[input]), *views[input])
                                    : blocked(op.inputs[input]));
    emit(op, op.kind, std::move(inputs), op.attrs);
    return true;
  }

  const Graph& source_;
  const BlockKernels& kernels_;
  Graph graph_;  // the source's values, then those in blocks
  ir::Builder builder_;
  std::vector<char> present_;           // by the source's values: some op of graph_ writes it, or none needs to
  std::map<ValueId, ValueId> blocked_;  // of the source -> in blocks
  std::map<std::pair<ValueId, pt_layout>, ValueId> weights_;
};

}  // namespace

Graph block_channels(const Graph& graph, const BlockKernels& kernels) {
  if (kernels.block == 0) return graph;
  return Blocking(graph, kernels).run();
}

}  // namespace pantoum::rewrite
