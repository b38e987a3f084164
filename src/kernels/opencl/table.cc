#include <cmath>

#include "kernels/opencl/rows.h"

extern "C" {
#include "kernels/portable/parallel.h"
#include "kernels/portable/update_group.h"
}

namespace pantoum::opencl {
namespace {

using Launches = std::vector<Launch>;

// ---- work items ----

size_t made(const pt_call& call) {
  return pt_elements(&call.outputs[0]);
}
size_t rows_along(const pt_tensor& tensor, int64_t axis) {
  const size_t length = tensor.dims[axis];
  return length == 0 ? 0 : pt_elements(&tensor) / length;
}

// An item for each element of the first output.
template <const char* kKernel>
pt_status each(const pt_call& call, Launches& launches) {
  launches.push_back({kKernel, made(call)});
  return PT_OK;
}

// One kernel per size of the elements: of 4, 8 or 1 bytes.
const char* by_size(const pt_tensor& tensor, const char* four, const char* eight, const char* one) {
  const size_t bytes = pt_element_size(tensor.dtype);
  return bytes == 4 ? four : bytes == 8 ? eight : one;
}
#define PT_EACH_BY_SIZE(function, kernel)                                                                         \
  pt_status function(const pt_call& call, Launches& launches) {                                                   \
    launches.push_back({by_size(call.outputs[0], kernel "_uint", kernel "_ulong", kernel "_uchar"), made(call)}); \
    return PT_OK;                                                                                                 \
  }
PT_EACH_BY_SIZE(where, "op_where")
PT_EACH_BY_SIZE(expand_copy, "op_expand")
PT_EACH_BY_SIZE(transpose, "op_transpose")
PT_EACH_BY_SIZE(slice, "op_slice")
PT_EACH_BY_SIZE(slice_grad, "op_slice_grad")

// By the first integer.
template <size_t kCount>
pt_status chosen(const pt_call& call, Launches& launches, const char* const (&kernels)[kCount]) {
  launches.push_back({kernels[call.ints[0]], made(call)});
  return PT_OK;
}
#define PT_CHOSEN(function, ...)                                \
  pt_status function(const pt_call& call, Launches& launches) { \
    return chosen(call, launches, {__VA_ARGS__});               \
  }
PT_CHOSEN(gelu, "op_gelu_of_erf", "op_gelu_of_tanh")
PT_CHOSEN(gelu_grad, "op_gelu_of_erf_grad", "op_gelu_of_tanh_grad")
PT_CHOSEN(round, "op_round_down", "op_round_up", "op_round_even")
PT_CHOSEN(round_to, "op_round_to_float16", "op_round_to_bfloat16")
PT_CHOSEN(arc, "op_arc_sin", "op_arc_cos", "op_arc_tan", "op_arc_sinh", "op_arc_cosh", "op_arc_tanh")
PT_CHOSEN(arc_grad, "op_arc_sin_grad", "op_arc_cos_grad", "op_arc_tan_grad", "op_arc_sinh_grad", "op_arc_cosh_grad",
          "op_arc_tanh_grad")

// ---- element by element ----

pt_status compare(const pt_call& call, Launches& launches) {
  const uint8_t dtype = call.inputs[0].dtype;
  launches.push_back({dtype == PT_F32   ? "op_compare_float"
                      : dtype == PT_I64 ? "op_compare_long"
                      : dtype == PT_I32 ? "op_compare_int"
                                        : "op_compare_uchar",
                      made(call)});
  return PT_OK;
}

pt_status cast(const pt_call& call, Launches& launches) {
  launches.push_back({"op_cast", made(call), 0, 0, {call.inputs[0].dtype, call.outputs[0].dtype, 0, 0}});
  return PT_OK;
}

pt_status dropout(const pt_call& call, Launches& launches) {
  const double p = call.reals[0], threshold = p * 4294967296.0;
  const int64_t below = p >= 1 ? -1 : threshold > 0 ? static_cast<int64_t>(threshold) : 0;
  launches.push_back(
      {"op_dropout",
       made(call),
       0,
       0,
       {call.ints[0], static_cast<int64_t>(call.scalars->step), static_cast<int64_t>(call.scalars->seed), below},
       {static_cast<float>(1 / (1 - p))}});
  return PT_OK;
}

pt_status assign(const pt_call& call, Launches& launches) {
  if (call.outputs[0].data == call.inputs[1].data) return PT_OK;
  launches.push_back({by_size(call.outputs[0], "op_assign_uint", "op_assign_ulong", "op_assign_uchar"), made(call)});
  return PT_OK;
}

// ---- updates: coefficients are computed in double and rounded once, as in portable/update_scaled.c ----

double power(double base, uint64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if ((exponent & 1) != 0) result *= base;
  return result;
}
float narrow(double value) {
  return static_cast<float>(value);
}

pt_status sgd(const pt_call& call, Launches& launches) {
  const pt_group group = pt_group_of(&call, 1, call.reals[1]);
  launches.push_back(
      {"op_sgd", made(call), 0, 0, {}, {narrow(group.lr), narrow(call.reals[0]), narrow(group.weight_decay)}});
  return PT_OK;
}
pt_status adam_by(const pt_call& call, Launches& launches, double lr, double decay, double shrink) {
  const double beta1 = call.reals[0], beta2 = call.reals[1], eps = call.reals[2];
  const uint64_t step = call.scalars->step;
  const double correction = std::sqrt(1 - power(beta2, step));
  const double size = (eps < 0 ? lr * correction : lr) / (1 - power(beta1, step));  // eps below 0: update_scaled.c
  launches.push_back({"op_adam",
                      made(call),
                      0,
                      0,
                      {},
                      {narrow(size), narrow(decay), narrow(shrink), narrow(1 - beta1), narrow(beta2), narrow(1 - beta2),
                       narrow(std::abs(eps)), narrow(eps < 0 ? 1 : correction)}});
  return PT_OK;
}
pt_status adam(const pt_call& call, Launches& launches) {
  const pt_group group = pt_group_of(&call, 0, call.reals[3]);
  return adam_by(call, launches, group.lr, group.weight_decay, 0);
}
pt_status adamw(const pt_call& call, Launches& launches) {
  const pt_group group = pt_group_of(&call, 0, call.reals[3]);
  return adam_by(call, launches, group.lr, 0, group.lr * group.weight_decay);
}
pt_status rmsprop(const pt_call& call, Launches& launches) {
  const pt_group group = pt_group_of(&call, 1, call.reals[3]);
  launches.push_back({"op_rmsprop",
                      made(call),
                      0,
                      0,
                      {},
                      {narrow(group.lr), narrow(call.reals[0]), narrow(1 - call.reals[0]), narrow(call.reals[1]),
                       narrow(call.reals[2]), narrow(group.weight_decay)}});
  return PT_OK;
}
pt_status adagrad(const pt_call& call, Launches& launches) {
  const pt_group group = pt_group_of(&call, 0, call.reals[2]);
  const double steps_before = static_cast<double>(call.scalars->step) - 1;
  launches.push_back({"op_adagrad",
                      made(call),
                      0,
                      0,
                      {},
                      {narrow(group.lr / (1 + steps_before * call.reals[0])), narrow(group.weight_decay),
                       narrow(call.reals[1]), narrow(call.real_count > 3 ? call.reals[3] : 0)}});
  return PT_OK;
}

// ---- moves ----

// A launch for each part of a whole along the axis.
pt_status parts(const pt_call& call, Launches& launches, bool joins) {
  const pt_tensor* const each_part = joins ? call.inputs : call.outputs;
  const pt_tensor& whole = joins ? call.outputs[0] : call.inputs[0];
  const size_t count = joins ? call.input_count : call.output_count, axis = static_cast<size_t>(call.ints[0]);
  const auto row = static_cast<int64_t>(pt_extent(&whole, axis, whole.rank));
  const char* const kernel = joins ? by_size(whole, "op_concat_uint", "op_concat_ulong", "op_concat_uchar")
                                   : by_size(whole, "op_split_uint", "op_split_ulong", "op_split_uchar");
  int64_t before = 0;
  for (size_t part = 0; part < count; ++part) {
    const auto own = static_cast<int64_t>(pt_extent(&each_part[part], axis, whole.rank));
    launches.push_back(
        {kernel, pt_elements(&each_part[part]), joins ? part : 0, joins ? 0 : part, {before, own, row, 0}});
    before += own;
  }
  return PT_OK;
}
pt_status concat(const pt_call& call, Launches& launches) {
  return parts(call, launches, true);
}
pt_status split(const pt_call& call, Launches& launches) {
  return parts(call, launches, false);
}

int64_t whole_at(const pt_tensor& tensor, size_t at) {
  return tensor.dtype == PT_I64   ? static_cast<const int64_t*>(tensor.data)[at]
         : tensor.dtype == PT_I32 ? static_cast<const int32_t*>(tensor.data)[at]
                                  : static_cast<const uint8_t*>(tensor.data)[at];
}

// A launch that reads the indices of input 1 into `indexed` along the axis; they are read here, where their memory is the host's.
pt_status by_index(const pt_call& call, Launches& launches, const pt_tensor& indexed, const char* kernel) {
  const pt_tensor& indices = call.inputs[1];
  const auto extent = static_cast<int64_t>(indexed.dims[call.ints[0]]);
  for (size_t at = 0, count = pt_elements(&indices); at < count; ++at) {
    const int64_t index = whole_at(indices, at);
    if (index < -extent || index >= extent) return PT_E_DATA;
  }
  launches.push_back({kernel, made(call), 0, 0, {static_cast<int64_t>(pt_element_size(indices.dtype)), 0, 0, 0}});
  return PT_OK;
}
pt_status gather(const pt_call& call, Launches& launches) {
  return by_index(call, launches, call.inputs[0],
                  by_size(call.inputs[0], "op_gather_uint", "op_gather_ulong", "op_gather_uchar"));
}
pt_status gather_elements(const pt_call& call, Launches& launches) {
  return by_index(
      call, launches, call.inputs[0],
      by_size(call.inputs[0], "op_gather_elements_uint", "op_gather_elements_ulong", "op_gather_elements_uchar"));
}
pt_status gather_grad(const pt_call& call, Launches& launches) {
  return by_index(call, launches, call.outputs[0], "op_gather_grad");
}
pt_status gather_elements_grad(const pt_call& call, Launches& launches) {
  return by_index(call, launches, call.outputs[0], "op_gather_elements_grad");
}

// ---- rows ----

// Channels: an item each, but for an evaluation. The activation is the first integer, behind eps stand its two reals.
pt_status channels(const pt_call& call, Launches& launches, const char* kernel, bool has_activation, size_t items) {
  const pt_tensor& x = call.inputs[call.input_count > 3 && call.output_count > 1 ? 1 : 0];
  if (pt_elements(&x) == 0) return PT_OK;
  std::vector<float> reals{narrow(call.reals[0])};
  for (uint16_t at = 1; has_activation && at < PT_NORM_ACT_REALS; ++at) reals.push_back(narrow(call.reals[at]));
  launches.push_back(
      {kernel, items, 0, 0, {has_activation ? call.ints[PT_NORM_ACTIVATION] : 0, 0, 0, 0}, std::move(reals)});
  return PT_OK;
}
#define PT_NORM(name, items)                                      \
  pt_status name(const pt_call& call, Launches& launches) {       \
    return channels(call, launches, "op_" #name, false, items);   \
  }                                                               \
  pt_status name##_act(const pt_call& call, Launches& launches) { \
    return channels(call, launches, "op_" #name, true, items);    \
  }
PT_NORM(batch_norm, call.inputs[0].dims[1])
PT_NORM(batch_norm_grad, call.inputs[1].dims[1])
PT_NORM(batch_norm_eval, made(call))

pt_status batch_norm_stats(const pt_call& call, Launches& launches) {
  const auto n = static_cast<double>(call.ints[0]);
  launches.push_back({"op_batch_norm_stats",
                      made(call),
                      0,
                      0,
                      {},
                      {narrow(call.reals[0]), narrow(1 - call.reals[0]), narrow(n > 1 ? n / (n - 1) : 1)}});
  return PT_OK;
}

pt_status layer_norm(const pt_call& call, Launches& launches) {
  const pt_tensor& x = call.inputs[0];
  if (pt_elements(&x) != 0) launches.push_back({"op_layer_norm", pt_extent(&x, 0, static_cast<size_t>(call.ints[0]))});
  return PT_OK;
}
// The parameters first: dX may lie over dY.
pt_status layer_norm_grad(const pt_call& call, Launches& launches) {
  const pt_tensor& x = call.inputs[1];
  const auto axis = static_cast<size_t>(call.ints[0]);
  launches.push_back({"op_layer_norm_parameters", pt_extent(&x, axis, x.rank)});
  launches.push_back({"op_layer_norm_grad", pt_elements(&x) == 0 ? 0 : pt_extent(&x, 0, axis)});
  return PT_OK;
}

pt_status reduce_max_grad(const pt_call& call, Launches& launches) {
  launches.push_back({"op_reduce_max_grad", pt_elements(&call.inputs[0])});
  return PT_OK;
}

// ---- losses ----

pt_status element_loss(const pt_call& call, Launches& launches, const char* kernel, double number, double divisor) {
  if (divisor == 0) divisor = static_cast<double>(pt_elements(&call.inputs[0]));
  launches.push_back({kernel, made(call), 0, 0, {}, {narrow(number), narrow(divisor)}});
  return PT_OK;
}
#define PT_ELEMENT_LOSS(name, number, divisor)                                 \
  pt_status name(const pt_call& call, Launches& launches) {                    \
    return element_loss(call, launches, "op_" #name, number, divisor);         \
  }                                                                            \
  pt_status name##_grad(const pt_call& call, Launches& launches) {             \
    return element_loss(call, launches, "op_" #name "_grad", number, divisor); \
  }
PT_ELEMENT_LOSS(mse, 0, 0)
PT_ELEMENT_LOSS(l1, 0, 0)
PT_ELEMENT_LOSS(smooth_l1, call.reals[0], 0)
PT_ELEMENT_LOSS(bce_with_logits, 0, 0)
PT_ELEMENT_LOSS(kl_div, 0, call.reals[0])

size_t positions(const pt_call& call) {
  const pt_tensor& x = call.inputs[0];
  return x.dims[0] * pt_extent(&x, 2, x.rank);
}
size_t loss_workspace(const pt_call& call) {
  return positions(call) * sizeof(float);
}

// Losses by class: an item for each position, and for a loss one item that sums what they leave in the workspace. `has_labels`: they are
// checked and counted here, where their memory is the host's.
pt_status by_class(const pt_call& call, Launches& launches, const char* kernel, bool has_labels, bool is_loss) {
  const size_t count = positions(call);
  int64_t counted = static_cast<int64_t>(count), width = 0, ignore = 0;
  if (has_labels) {
    const pt_tensor& labels = call.inputs[1];
    counted = 0, ignore = call.ints[0], width = static_cast<int64_t>(pt_element_size(labels.dtype));
    for (size_t at = 0; at < count; ++at) {
      const int64_t label = whole_at(labels, at) == ignore ? -1 : whole_at(labels, at);
      if (label >= static_cast<int64_t>(call.inputs[0].dims[1])) return PT_E_DATA;
      counted += label >= 0 ? 1 : 0;
    }
  }
  const std::array<int64_t, 4> extra = {width, ignore, counted, static_cast<int64_t>(count)};
  const std::vector<float> smoothing = {call.real_count > 0 ? narrow(call.reals[0]) : 0};
  launches.push_back({kernel, count, 0, 0, extra, smoothing});
  if (is_loss) launches.push_back({"op_mean_of_losses", 1, 0, 0, extra, smoothing});
  return PT_OK;
}
#define PT_CLASS_LOSS(name, has_labels)                                      \
  pt_status name(const pt_call& call, Launches& launches) {                  \
    return by_class(call, launches, "op_" #name, has_labels, true);          \
  }                                                                          \
  pt_status name##_grad(const pt_call& call, Launches& launches) {           \
    return by_class(call, launches, "op_" #name "_grad", has_labels, false); \
  }
PT_CLASS_LOSS(nll, true)
PT_CLASS_LOSS(cross_entropy, true)
PT_CLASS_LOSS(soft_cross_entropy, false)

// ---- products ----

pt_status product(const pt_call& call, Launches& launches, const char* kernel, int residual_at) {
  const bool has_residual = residual_at >= 0 && call.ints[residual_at] != PT_RESIDUAL_NONE;
  const int64_t residual = has_residual ? call.input_count - 1 : 0;
  const bool has_bias = call.input_count - (has_residual ? 1 : 0) > 2;
  launches.push_back({kernel, made(call), 0, 0, {has_bias ? 1 : 0, residual, 0, 0}});
  return PT_OK;
}
#define PT_PRODUCT(name, kernel, residual_at)               \
  pt_status name(const pt_call& call, Launches& launches) { \
    return product(call, launches, kernel, residual_at);    \
  }
PT_PRODUCT(matmul, "op_matmul", -1)
PT_PRODUCT(matmul_act, "op_matmul_act", static_cast<int>(PT_MATMUL_ATTRS) + static_cast<int>(PT_EPILOGUE_RESIDUAL))
PT_PRODUCT(conv, "op_conv", -1)
PT_PRODUCT(conv2d_act, "op_conv_act", static_cast<int>(PT_CONV_ATTRS) + static_cast<int>(PT_EPILOGUE_RESIDUAL))

// ---- the table ----

// Elements of the name's own kernel.
#define PT_PLAIN(op, source, doubles, numerics)                                                  \
  {                                                                                              \
    PT_OP_##op, PT_F32, source, doubles, numerics, [](const pt_call& call, Launches& launches) { \
      launches.push_back({"op_" #op, made(call)});                                               \
      return PT_OK;                                                                              \
    }                                                                                            \
  }
#define PT_ELEMENT(op, doubles) PT_PLAIN(op, Source::kElements, doubles, "fixed")
#define PT_IMAGE(op) PT_PLAIN(op, Source::kImages, false, "fixed")
#define PT_REDUCTION(op) PT_PLAIN(op, Source::kRows, false, "fixed")
#define PT_ALONG(op, dtype, doubles)                                                                  \
  {                                                                                                   \
    PT_OP_##op, dtype, Source::kRows, doubles, "fixed", [](const pt_call& call, Launches& launches) { \
      launches.push_back({"op_" #op, rows_along(call.inputs[0], call.ints[0])});                      \
      return PT_OK;                                                                                   \
    }                                                                                                 \
  }
#define PT_OWN(op, source, doubles, function) \
  { PT_OP_##op, PT_F32, source, doubles, "fixed", function }
#define PT_MOVE(op, source, function)                                                                               \
  {PT_OP_##op, PT_F32, source, false, "fixed", function}, {PT_OP_##op, PT_I64, source, false, "fixed", function}, { \
    PT_OP_##op, PT_U8, source, false, "fixed", function                                                             \
  }
#define PT_OTHER_TYPES(op, source, doubles, function)                                                                 \
  {PT_OP_##op, PT_I64, source, doubles, "fixed", function}, {PT_OP_##op, PT_I32, source, doubles, "fixed", function}, \
      {PT_OP_##op, PT_U8, source, doubles, "fixed", function}, {                                                      \
    PT_OP_##op, PT_BOOL, source, doubles, "fixed", function                                                           \
  }
#define PT_OF_PRODUCT(op, function) \
  { PT_OP_##op, PT_F32, Source::kProducts, false, "ascending", function }
#define PT_LOSS(op, doubles) \
  { PT_OP_##op, PT_F32, Source::kRows, doubles, "fixed", op, loss_workspace }

constexpr char kSignBits[] = "op_sign_bits", kPoolTaps[] = "op_max_pool_taps", kConvDx[] = "op_conv_dx",
               kConvDw[] = "op_conv_dw", kConvDz[] = "op_conv_dz";

const Row kRows[] = {
    PT_ELEMENT(add, false),
    PT_ELEMENT(sub, false),
    PT_ELEMENT(mul, false),
    PT_ELEMENT(div, false),
    PT_ELEMENT(pow, true),
    PT_ELEMENT(pow_grad, true),
    PT_ELEMENT(maximum, false),
    PT_ELEMENT(minimum, false),
    PT_ELEMENT(maximum_grad, false),
    PT_ELEMENT(relu, false),
    PT_ELEMENT(leaky_relu, false),
    PT_ELEMENT(sigmoid, false),
    PT_ELEMENT(tanh, false),
    PT_ELEMENT(erf, false),
    PT_ELEMENT(sqrt, true),
    PT_ELEMENT(exp, false),
    PT_ELEMENT(log, true),
    PT_ELEMENT(neg, false),
    PT_ELEMENT(scale, false),
    PT_ELEMENT(abs, false),
    PT_ELEMENT(sign, false),
    PT_ELEMENT(sin, true),
    PT_ELEMENT(cos, true),
    PT_ELEMENT(elu, true),
    PT_ELEMENT(softplus, true),
    PT_ELEMENT(clip, false),
    PT_ELEMENT(hard_sigmoid, false),
    PT_ELEMENT(hard_swish, false),
    PT_ELEMENT(relu_grad, false),
    PT_ELEMENT(leaky_relu_grad, false),
    PT_ELEMENT(sigmoid_grad, false),
    PT_ELEMENT(tanh_grad, false),
    PT_ELEMENT(erf_grad, false),
    PT_ELEMENT(sqrt_grad, false),
    PT_ELEMENT(elu_grad, true),
    PT_ELEMENT(softplus_grad, false),
    PT_ELEMENT(clip_grad, false),
    PT_ELEMENT(hard_sigmoid_grad, false),
    PT_ELEMENT(hard_swish_grad, false),
    PT_ELEMENT(relu_grad_bits, false),
    PT_ELEMENT(leaky_relu_grad_bits, false),
    PT_ELEMENT(expand, false),
    PT_ELEMENT(clip_norm, false),
    PT_ELEMENT(accumulate, false),
    PT_ELEMENT(accumulated, false),
    {PT_OP_sign_bits, PT_U8, Source::kElements, false, "fixed", each<kSignBits>},
    PT_OWN(gelu, Source::kElements, false, gelu),
    PT_OWN(gelu_grad, Source::kElements, false, gelu_grad),
    PT_OWN(round, Source::kElements, true, round),
    PT_OWN(round_to, Source::kElements, false, round_to),
    PT_OWN(arc, Source::kElements, true, arc),
    PT_OWN(arc_grad, Source::kElements, true, arc_grad),
    PT_OWN(dropout, Source::kElements, false, dropout),
    {PT_OP_compare, PT_BOOL, Source::kElements, false, "fixed", compare},
    PT_MOVE(where, Source::kElements, where),
    PT_OTHER_TYPES(expand, Source::kElements, false, expand_copy),
    PT_OWN(cast, Source::kElements, true, cast),
    PT_OTHER_TYPES(cast, Source::kElements, true, cast),
    PT_OWN(sgd, Source::kElements, false, sgd),
    PT_OWN(adam, Source::kElements, false, adam),
    PT_OWN(adamw, Source::kElements, false, adamw),
    PT_OWN(rmsprop, Source::kElements, false, rmsprop),
    PT_OWN(adagrad, Source::kElements, false, adagrad),

    PT_MOVE(assign, Source::kMoves, assign),
    PT_MOVE(transpose, Source::kMoves, transpose),
    PT_MOVE(concat, Source::kMoves, concat),
    PT_MOVE(split, Source::kMoves, split),
    PT_MOVE(slice, Source::kMoves, slice),
    PT_MOVE(slice_grad, Source::kMoves, slice_grad),
    PT_MOVE(gather, Source::kMoves, gather),
    PT_MOVE(gather_elements, Source::kMoves, gather_elements),
    PT_OWN(gather_grad, Source::kMoves, false, gather_grad),
    PT_OWN(gather_elements_grad, Source::kMoves, false, gather_elements_grad),

    PT_IMAGE(max_pool),
    PT_IMAGE(max_pool_grad),
    PT_IMAGE(avg_pool),
    PT_IMAGE(avg_pool_grad),
    PT_IMAGE(max_pool_grad_taps),
    {PT_OP_max_pool_taps, PT_U8, Source::kImages, false, "fixed", each<kPoolTaps>},

    PT_ALONG(softmax, PT_F32, false),
    PT_ALONG(softmax_grad, PT_F32, false),
    PT_ALONG(log_softmax, PT_F32, true),
    PT_ALONG(log_softmax_grad, PT_F32, false),
    PT_ALONG(cumsum, PT_F32, false),
    PT_ALONG(arg_max, PT_I64, false),
    PT_REDUCTION(reduce_sum),
    PT_REDUCTION(reduce_mean),
    PT_REDUCTION(reduce_max),
    PT_OWN(reduce_max_grad, Source::kRows, false, reduce_max_grad),
    PT_OWN(batch_norm, Source::kRows, false, batch_norm),
    PT_OWN(batch_norm_grad, Source::kRows, false, batch_norm_grad),
    PT_OWN(batch_norm_eval, Source::kRows, false, batch_norm_eval),
    PT_OWN(batch_norm_act, Source::kRows, false, batch_norm_act),
    PT_OWN(batch_norm_act_grad, Source::kRows, false, batch_norm_grad_act),
    PT_OWN(batch_norm_act_eval, Source::kRows, false, batch_norm_eval_act),
    PT_OWN(batch_norm_stats, Source::kRows, false, batch_norm_stats),
    PT_OWN(layer_norm, Source::kRows, false, layer_norm),
    PT_OWN(layer_norm_grad, Source::kRows, false, layer_norm_grad),
    PT_OWN(mse, Source::kRows, false, mse),
    PT_OWN(mse_grad, Source::kRows, false, mse_grad),
    PT_OWN(l1, Source::kRows, false, l1),
    PT_OWN(l1_grad, Source::kRows, false, l1_grad),
    PT_OWN(smooth_l1, Source::kRows, false, smooth_l1),
    PT_OWN(smooth_l1_grad, Source::kRows, false, smooth_l1_grad),
    PT_OWN(bce_with_logits, Source::kRows, true, bce_with_logits),
    PT_OWN(bce_with_logits_grad, Source::kRows, true, bce_with_logits_grad),
    PT_OWN(kl_div, Source::kRows, true, kl_div),
    PT_OWN(kl_div_grad, Source::kRows, true, kl_div_grad),
    PT_LOSS(nll, false),
    PT_OWN(nll_grad, Source::kRows, false, nll_grad),
    PT_LOSS(cross_entropy, true),
    PT_OWN(cross_entropy_grad, Source::kRows, false, cross_entropy_grad),
    PT_LOSS(soft_cross_entropy, true),
    PT_OWN(soft_cross_entropy_grad, Source::kRows, false, soft_cross_entropy_grad),

    PT_OF_PRODUCT(matmul, matmul),
    PT_OF_PRODUCT(matmul_act, matmul_act),
    PT_OF_PRODUCT(conv2d, conv),
    PT_OF_PRODUCT(conv3d, conv),
    PT_OF_PRODUCT(conv2d_act, conv2d_act),
    PT_OF_PRODUCT(conv2d_dx, each<kConvDx>),
    PT_OF_PRODUCT(conv3d_dx, each<kConvDx>),
    PT_OF_PRODUCT(conv2d_dw, each<kConvDw>),
    PT_OF_PRODUCT(conv3d_dw, each<kConvDw>),
    PT_OF_PRODUCT(conv2d_dz, each<kConvDz>),
};

}  // namespace

std::span<const Row> rows() {
  return kRows;
}

}  // namespace pantoum::opencl
