#include "kernels/onednn/api.h"

#include <limits>
#include <string_view>

namespace pantoum::onednn {
namespace {

using dnnl::memory;
using dnnl::prop_kind;
using Tag = memory::format_tag;

constexpr auto kFloat = memory::data_type::f32;

Dims weight_dims(const uint32_t logical[4], int64_t groups) {
  if (groups == 1) return {logical, logical + 4};
  return {groups, logical[0] / groups, logical[1], logical[2], logical[3]};
}

bool is_depthwise(const uint32_t logical[4], int64_t groups) {
  return groups > 1 && groups == logical[0] && logical[1] == 1;
}

Tag weight_tag(const uint32_t logical[4], int64_t groups, pt_layout layout, uint32_t block) {
  const bool wide = block == 16, grouped = groups > 1;
  switch (layout) {
    case PT_LAYOUT_OIHW_IO:
      if (grouped) return wide ? Tag::gOIhw16i16o : Tag::gOIhw8i8o;
      return wide ? Tag::OIhw16i16o : Tag::OIhw8i8o;
    case PT_LAYOUT_OIHW_OI:
      if (grouped) return wide ? Tag::gOIhw16o16i : Tag::gOIhw8o8i;
      return wide ? Tag::OIhw16o16i : Tag::OIhw8o8i;
    case PT_LAYOUT_IOHW_OI:
      if (!wide) return Tag::undef;  // oneDNN has no name for it
      return grouped ? Tag::gIOhw16o16i : Tag::IOhw16o16i;
    case PT_LAYOUT_OHWI_O:
      if (is_depthwise(logical, groups)) return wide ? Tag::Goihw16g : Tag::Goihw8g;
      return wide ? Tag::Ohwi16o : Tag::Ohwi8o;
    default:
      return grouped ? Tag::goihw : Tag::oihw;
  }
}

// Which implementation of oneDNN's list, with which attributes.
struct Choice {
  const dnnl::primitive_attr& with;
  int later = 0;          // so much further down the list
  std::string like = {};  // the first of this name; "": of any
};

template <class PrimitiveDescriptor>
PrimitiveDescriptor chosen_of(PrimitiveDescriptor listed, const Choice& choice) {
  const auto next = [&] {
    if (!listed.next_impl()) throw dnnl::error(dnnl_unimplemented, "no other implementation");
  };
  for (int later = choice.later; later > 0; --later) next();
  while (!choice.like.empty() && choice.like != listed.impl_info_str()) next();
  return listed;
}

// oneDNN 3 made descriptors of operations part of the primitives' own. Before, the list refers to the descriptor (and to
// the hint), and is walked while that lives.
#if DNNL_VERSION_MAJOR >= 3
using PoolingForward = dnnl::pooling_forward;
using PoolingBackward = dnnl::pooling_backward;

template <class Primitive, class... Arguments>
typename Primitive::primitive_desc descriptor_with(const Choice& choice, Arguments&&... arguments) {
  return chosen_of(typename Primitive::primitive_desc(engine(), std::forward<Arguments>(arguments)..., choice.with),
                   choice);
}
template <class Primitive, class Hint, class... Arguments>
typename Primitive::primitive_desc descriptor_after(const Choice& choice, const Hint& hint, Arguments&&... arguments) {
  return chosen_of(
      typename Primitive::primitive_desc(engine(), std::forward<Arguments>(arguments)..., hint, choice.with), choice);
}
#else
using PoolingForward = dnnl::pooling_v2_forward;
using PoolingBackward = dnnl::pooling_v2_backward;

template <class Primitive, class... Arguments>
typename Primitive::primitive_desc descriptor_with(const Choice& choice, Arguments&&... arguments) {
  const typename Primitive::desc operation(std::forward<Arguments>(arguments)...);
  return chosen_of(typename Primitive::primitive_desc(operation, choice.with, engine()), choice);
}
template <class Primitive, class Hint, class... Arguments>
typename Primitive::primitive_desc descriptor_after(const Choice& choice, const Hint& hint, Arguments&&... arguments) {
  const typename Primitive::desc operation(std::forward<Arguments>(arguments)...);
  return chosen_of(typename Primitive::primitive_desc(operation, choice.with, engine(), hint), choice);
}
#endif

template <class Primitive, class... Arguments>
typename Primitive::primitive_desc descriptor(Arguments&&... arguments) {
  return descriptor_with<Primitive>(Choice{attributes()}, std::forward<Arguments>(arguments)...);
}

template <class Primitive>
PrimitiveHandle handle_of(const typename Primitive::primitive_desc& descriptor) {
  return {.primitive = Primitive(descriptor),
          .scratch = descriptor.scratchpad_desc(),
          .workspace = {},
          .weights = {},
          .is_reference = std::string_view(descriptor.impl_info_str()).find("ref") != std::string_view::npos,
          .implementation = descriptor.impl_info_str()};
}

dnnl::algorithm algorithm_of(ConvAlgorithm algorithm) {
  return algorithm == ConvAlgorithm::kDirect ? dnnl::algorithm::convolution_direct
                                             : dnnl::algorithm::convolution_winograd;
}

dnnl::convolution_forward::primitive_desc convolution_forward(const Choice& choice, const ConvShape& shape,
                                                              const Desc& bias, ConvAlgorithm algorithm) {
  const auto kind = algorithm_of(algorithm);
  if (bias == Desc())
    return descriptor_with<dnnl::convolution_forward>(choice, prop_kind::forward_training, kind, shape.x, shape.w,
                                                      shape.y, shape.strides, shape.dilations, shape.before,
                                                      shape.after);
  return descriptor_with<dnnl::convolution_forward>(choice, prop_kind::forward_training, kind, shape.x, shape.w, bias,
                                                    shape.y, shape.strides, shape.dilations, shape.before, shape.after);
}

void append_eltwise(dnnl::post_ops& steps, dnnl::algorithm algorithm, float alpha, float beta) {
#if DNNL_VERSION_MAJOR >= 3
  steps.append_eltwise(algorithm, alpha, beta);
#else
  steps.append_eltwise(1, algorithm, alpha, beta);
#endif
}

// oneDNN's relu would make 0 of NaN: a run that diverges would look well. -min(-x, 0) has relu's bits, and infinity there.
dnnl::primitive_attr finishing(const FinishedBy& finish, const Desc& y) {
  dnnl::primitive_attr with;  // a copy of attributes() would be the same object
  with.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops steps;
  if (finish.adds) steps.append_binary(dnnl::algorithm::binary_add, y);
  if (finish.activation == Finish::kRelu) {
    append_eltwise(steps, dnnl::algorithm::eltwise_linear, -1, 0);
    append_eltwise(steps, dnnl::algorithm::eltwise_clip, -std::numeric_limits<float>::infinity(), 0);
    append_eltwise(steps, dnnl::algorithm::eltwise_linear, -1, 0);
  } else if (finish.activation == Finish::kLeakyRelu) {
    append_eltwise(steps, dnnl::algorithm::eltwise_relu, finish.slope, 0);
  }
  with.set_post_ops(steps);
  return with;
}

// Gradients ask for the forward primitive as a hint; its weights may lie otherwise than theirs.
dnnl::convolution_forward::primitive_desc forward_hint(const ConvShape& shape, dnnl::algorithm algorithm) {
  const Dims dims = extents(shape.w);
  const Desc free(dims, kFloat, Tag::any);
  return descriptor<dnnl::convolution_forward>(prop_kind::forward_training, algorithm, shape.x, free, shape.y,
                                               shape.strides, shape.dilations, shape.before, shape.after);
}

template <class Primitive>
typename Primitive::primitive_desc convolution_backward(const ConvShape& shape, ConvAlgorithm algorithm, int later) {
  const auto kind = algorithm_of(algorithm);
  const auto hint = forward_hint(shape, kind);
  return descriptor_after<Primitive>(Choice{attributes(), later}, hint, kind, shape.x, shape.w, shape.y, shape.strides,
                                     shape.dilations, shape.before, shape.after);
}

dnnl::matmul::primitive_desc product(const Choice& choice, const MatmulShape& shape) {
  if (shape.bias == Desc()) return descriptor_with<dnnl::matmul>(choice, shape.a, shape.b, shape.y);
  return descriptor_with<dnnl::matmul>(choice, shape.a, shape.b, shape.bias, shape.y);
}

PoolingForward::primitive_desc pool_forward(const PoolShape& shape, bool with_workspace) {
  return descriptor<PoolingForward>(with_workspace ? prop_kind::forward_training : prop_kind::forward_inference,
                                    shape.algorithm, shape.x, shape.y, shape.strides, shape.kernel, shape.dilations,
                                    shape.before, shape.after);
}

}  // namespace

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

uint32_t vector_elements() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
    case dnnl::cpu_isa::avx:
    case dnnl::cpu_isa::avx2:
    case dnnl::cpu_isa::avx2_vnni:
      return 8;
    default:
      return 16;
  }
}

const dnnl::primitive_attr& attributes() {
  static const dnnl::primitive_attr attributes = [] {
    dnnl::primitive_attr made;
    made.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return made;
  }();
  return attributes;
}

Desc image(const pt_tensor& logical, pt_layout layout, uint32_t block) {
  const Tag tag = layout == PT_LAYOUT_PLAIN ? Tag::nchw : block == 16 ? Tag::nChw16c : Tag::nChw8c;
  return {dims_of(logical), kFloat, tag};
}

Desc weight(const pt_tensor& logical, int64_t groups, pt_layout layout, uint32_t block) {
  const Tag tag = weight_tag(logical.dims, groups, layout, block);
  if (tag == Tag::undef) return none();
  return {weight_dims(logical.dims, groups), kFloat, tag};
}

Desc any_weight(const uint32_t logical[4], int64_t groups) {
  return {weight_dims(logical, groups), kFloat, Tag::any};
}

Dims dims_of(const pt_tensor& tensor) {
  return {tensor.dims, tensor.dims + tensor.rank};
}

Desc row_major(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t dim = dims.size(); dim-- > 1;) strides[dim - 1] = strides[dim] * dims[dim];
  return {dims, kFloat, strides};
}

Desc strided(const Dims& dims, const Dims& strides) {
  return {dims, kFloat, strides};
}

Desc none() {
  return {};
}

Dims extents(const Desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get_dims();
#else
  return desc.dims();
#endif
}

void bind(dnnl::memory& memory, void* data, [[maybe_unused]] const dnnl::stream& stream) {
#if DNNL_VERSION_MAJOR >= 3
  memory.set_data_handle(data);
#else
  memory.set_data_handle(data, stream);
#endif
}

PrimitiveHandle convolution(const ConvShape& shape, const Desc& bias, ConvAlgorithm algorithm, int later) {
  const auto chosen = convolution_forward(Choice{attributes(), later}, shape, bias, algorithm);
  PrimitiveHandle result = handle_of<dnnl::convolution_forward>(chosen);
  result.weights = chosen.weights_desc();
  return result;
}

PrimitiveHandle convolution(const ConvShape& shape, const Desc& bias, ConvAlgorithm algorithm, const FinishedBy& finish,
                            const std::string& implementation) {
  const dnnl::primitive_attr with = finishing(finish, shape.y);
  return handle_of<dnnl::convolution_forward>(
      convolution_forward(Choice{with, 0, implementation}, shape, bias, algorithm));
}

PrimitiveHandle convolution_data(const ConvShape& shape, ConvAlgorithm algorithm, int later) {
  const auto chosen = convolution_backward<dnnl::convolution_backward_data>(shape, algorithm, later);
  PrimitiveHandle result = handle_of<dnnl::convolution_backward_data>(chosen);
  result.weights = chosen.weights_desc();
  return result;
}

PrimitiveHandle convolution_weights(const ConvShape& shape, ConvAlgorithm algorithm, int later) {
  const auto chosen = convolution_backward<dnnl::convolution_backward_weights>(shape, algorithm, later);
  PrimitiveHandle result = handle_of<dnnl::convolution_backward_weights>(chosen);
  result.weights = chosen.diff_weights_desc();
  return result;
}

PrimitiveHandle pool(const PoolShape& shape, bool with_workspace) {
  const auto chosen = pool_forward(shape, with_workspace);
  PrimitiveHandle result = handle_of<PoolingForward>(chosen);
  if (with_workspace) result.workspace = chosen.workspace_desc();
  return result;
}

PrimitiveHandle pool_grad(const PoolShape& shape) {
  return handle_of<PoolingBackward>(descriptor_after<PoolingBackward>(
      Choice{attributes()}, pool_forward(shape, true), shape.algorithm, shape.x, shape.y, shape.strides, shape.kernel,
      shape.dilations, shape.before, shape.after));
}

PrimitiveHandle matmul(const MatmulShape& shape, int later) {
  return handle_of<dnnl::matmul>(product(Choice{attributes(), later}, shape));
}

PrimitiveHandle matmul(const MatmulShape& shape, const FinishedBy& finish, const std::string& implementation) {
  const dnnl::primitive_attr with = finishing(finish, shape.y);
  return handle_of<dnnl::matmul>(product(Choice{with, 0, implementation}, shape));
}

PrimitiveHandle matmul_added(const Desc& a, const Desc& b, const Desc& y) {
  dnnl::primitive_attr adding;  // its own: a copy would be the same object
  dnnl::post_ops sum;
  sum.append_sum();
  adding.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  adding.set_post_ops(sum);
  return handle_of<dnnl::matmul>(product(Choice{adding}, {a, b, none(), y}));
}

#if DNNL_VERSION_MAJOR >= 3
namespace {
dnnl::softmax_forward::primitive_desc softmax_of(const Desc& x, int axis, bool logarithm) {
  const auto kind = logarithm ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate;
  return descriptor<dnnl::softmax_forward>(prop_kind::forward_training, kind, x, x, axis);
}
}  // namespace

PrimitiveHandle softmax(const Desc& x, int axis, bool logarithm) {
  return handle_of<dnnl::softmax_forward>(softmax_of(x, axis, logarithm));
}

PrimitiveHandle softmax_grad(const Desc& x, int axis, bool logarithm) {
  const auto kind = logarithm ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate;
  return handle_of<dnnl::softmax_backward>(descriptor_after<dnnl::softmax_backward>(
      Choice{attributes()}, softmax_of(x, axis, logarithm), kind, x, x, x, axis));
}

PrimitiveHandle eltwise(dnnl::algorithm algorithm, const Desc& x, float alpha, float beta) {
  return handle_of<dnnl::eltwise_forward>(
      descriptor<dnnl::eltwise_forward>(prop_kind::forward_training, algorithm, x, x, alpha, beta));
}

PrimitiveHandle eltwise_grad(dnnl::algorithm algorithm, const Desc& x, float alpha, float beta) {
  const auto forward = descriptor<dnnl::eltwise_forward>(prop_kind::forward_training, algorithm, x, x, alpha, beta);
  return handle_of<dnnl::eltwise_backward>(
      descriptor_after<dnnl::eltwise_backward>(Choice{attributes()}, forward, algorithm, x, x, x, alpha, beta));
}
#else
PrimitiveHandle softmax(const Desc& x, int axis, bool logarithm) {
  if (logarithm)
    return handle_of<dnnl::logsoftmax_forward>(
        descriptor<dnnl::logsoftmax_forward>(prop_kind::forward_training, x, axis));
  return handle_of<dnnl::softmax_forward>(descriptor<dnnl::softmax_forward>(prop_kind::forward_training, x, axis));
}

PrimitiveHandle softmax_grad(const Desc& x, int axis, bool logarithm) {
  if (logarithm) {
    const auto forward = descriptor<dnnl::logsoftmax_forward>(prop_kind::forward_training, x, axis);
    return handle_of<dnnl::logsoftmax_backward>(
        descriptor_after<dnnl::logsoftmax_backward>(Choice{attributes()}, forward, x, x, axis));
  }
  const auto forward = descriptor<dnnl::softmax_forward>(prop_kind::forward_training, x, axis);
  return handle_of<dnnl::softmax_backward>(
      descriptor_after<dnnl::softmax_backward>(Choice{attributes()}, forward, x, x, axis));
}

PrimitiveHandle eltwise(dnnl::algorithm algorithm, const Desc& x, float alpha, float beta) {
  return handle_of<dnnl::eltwise_forward>(
      descriptor<dnnl::eltwise_forward>(prop_kind::forward_training, algorithm, x, alpha, beta));
}

PrimitiveHandle eltwise_grad(dnnl::algorithm algorithm, const Desc& x, float alpha, float beta) {
  const auto forward = descriptor<dnnl::eltwise_forward>(prop_kind::forward_training, algorithm, x, alpha, beta);
  return handle_of<dnnl::eltwise_backward>(
      descriptor_after<dnnl::eltwise_backward>(Choice{attributes()}, forward, algorithm, x, x, alpha, beta));
}
#endif

PrimitiveHandle reorder(const Desc& from, const Desc& to) {
  const dnnl::reorder::primitive_desc chosen(engine(), from, engine(), to, attributes());
  return handle_of<dnnl::reorder>(chosen);
}

}  // namespace pantoum::onednn
