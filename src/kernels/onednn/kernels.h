// The kernels on oneDNN, one file per family; table.cc lists them.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "kernels/onednn/prepared.h"

namespace pantoum::onednn {

// What a call of conv2d_act, conv2d_act_nchwc or matmul_act has behind its product: all of it as a primitive would do it,
// and as a pass over its result would.
struct Epilogue {
  FinishedBy by_primitive;
  Rest rest;
  int inputs = 0;  // of the product itself
};
// None: an activation whose bits there are no kernels for here.
[[nodiscard]] std::optional<Epilogue> epilogue_of(const pt_call& call);

// Adds the product with what follows it: as much as its primitive finishes in the bits of the ops apart, then a pass over
// the result, y. `plain` is the primitive alone; `finishing` makes that of the same implementation with a finish, and
// throws dnnl::error where there is none.
void add_finished(const Epilogue& epilogue, const PrimitiveHandle& plain, const Desc& y,
                  std::vector<Argument> arguments, const std::function<PrimitiveHandle(const FinishedBy&)>& finishing,
                  Prepared& prepared);

// Operators whose operands lie in blocks of channels, and reorders between layouts.
bool make_convolution(const pt_call& call, Prepared& prepared);
bool make_convolution_winograd(const pt_call& call, Prepared& prepared);
bool make_convolution_act(const pt_call& call, Prepared& prepared);
bool make_convolution_act_winograd(const pt_call& call, Prepared& prepared);
bool make_convolution_data(const pt_call& call, Prepared& prepared);
bool make_convolution_data_winograd(const pt_call& call, Prepared& prepared);
bool make_convolution_weights(const pt_call& call, Prepared& prepared);
bool make_convolution_weights_winograd(const pt_call& call, Prepared& prepared);
bool make_reorder(const pt_call& call, Prepared& prepared);
bool make_max_pool(const pt_call& call, Prepared& prepared);
bool make_max_pool_grad(const pt_call& call, Prepared& prepared);
bool make_max_pool_taps(const pt_call& call, Prepared& prepared);
bool make_max_pool_grad_taps(const pt_call& call, Prepared& prepared);
bool make_avg_pool(const pt_call& call, Prepared& prepared);
bool make_avg_pool_grad(const pt_call& call, Prepared& prepared);

// Operators on plain tensors.
bool make_plain_convolution(const pt_call& call, Prepared& prepared);
bool make_plain_convolution_act(const pt_call& call, Prepared& prepared);
bool make_plain_convolution_data(const pt_call& call, Prepared& prepared);
bool make_plain_convolution_weights(const pt_call& call, Prepared& prepared);
bool make_volume_convolution(const pt_call& call, Prepared& prepared);
bool make_volume_convolution_data(const pt_call& call, Prepared& prepared);
bool make_volume_convolution_weights(const pt_call& call, Prepared& prepared);
bool make_matmul(const pt_call& call, Prepared& prepared);
bool make_matmul_act(const pt_call& call, Prepared& prepared);
// With factors whose rows hide each other in the cache copied into the workspace, rows a line further apart: the same bits.
bool make_matmul_spread(const pt_call& call, Prepared& prepared);
bool make_matmul_act_spread(const pt_call& call, Prepared& prepared);
bool make_softmax(const pt_call& call, Prepared& prepared);
bool make_softmax_grad(const pt_call& call, Prepared& prepared);
bool make_log_softmax(const pt_call& call, Prepared& prepared);
bool make_log_softmax_grad(const pt_call& call, Prepared& prepared);
bool make_gelu(const pt_call& call, Prepared& prepared);
bool make_gelu_grad(const pt_call& call, Prepared& prepared);
bool make_tanh(const pt_call& call, Prepared& prepared);
bool make_sigmoid(const pt_call& call, Prepared& prepared);
bool make_exp(const pt_call& call, Prepared& prepared);

// Attention in blocks of rows, whose products are primitives of one thread.
size_t attention_workspace(const pt_call* call);
pt_status run_attention(const pt_call* call);
size_t attention_grad_workspace(const pt_call* call);
pt_status run_attention_grad(const pt_call* call);

// See pt_back_end.
int weight_layout(uint16_t op, const pt_tensor* x, const pt_tensor* y, const uint32_t w[4], const int64_t* ints);

}  // namespace pantoum::onednn
