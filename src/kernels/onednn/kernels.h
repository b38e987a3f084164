// The kernels on oneDNN, one file per family; table.cc lists them.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "kernels/onednn/prepared.h"

namespace pantoum::onednn {

// The steps that follow the product of a conv2d_act, conv2d_act_nchwc or matmul_act call, for a primitive and for a
// pass over its result.
struct Epilogue {
  FinishedBy by_primitive;
  Rest rest;
  int inputs = 0;  // of the product itself
};
// None: an activation that no kernel here computes with the same bits.
std::optional<Epilogue> epilogue_of(const pt_call& call);

// Adds the product and the steps that follow it. The primitive applies as many steps as it can with the bits of the
// separate ops; the others are one pass over the result, y. `plain` is the primitive alone; `finishing` makes the
// primitive of the same implementation with a finish, and throws dnnl::error where there is none.
void add_finished(const Epilogue& epilogue, const PrimitiveHandle& plain, const Desc& y,
                  std::vector<Argument> arguments, const std::function<PrimitiveHandle(const FinishedBy&)>& finishing,
                  Prepared& prepared);

// Convolutions of images (in blocks of channels, or plain) and of plain volumes; by Winograd's algorithm where the row is of it.
bool make_convolution(const Asked& asked, Prepared& prepared);
bool make_convolution_act(const Asked& asked, Prepared& prepared);
bool make_convolution_data(const Asked& asked, Prepared& prepared);
bool make_convolution_weights(const Asked& asked, Prepared& prepared);

// Images in blocks of channels, and reorders between layouts.
bool make_reorder(const Asked& asked, Prepared& prepared);
bool make_pool(const Asked& asked, Prepared& prepared);
bool make_max_pool_grad(const Asked& asked, Prepared& prepared);
bool make_max_pool_taps(const Asked& asked, Prepared& prepared);
bool make_max_pool_grad_taps(const Asked& asked, Prepared& prepared);
bool make_avg_pool_grad(const Asked& asked, Prepared& prepared);

// Plain tensors. A product of the algorithm kSpread has factors whose rows hide each other in the cache copied into the workspace, rows a
// line further apart: the same bits.
bool make_matmul(const Asked& asked, Prepared& prepared);
bool make_matmul_act(const Asked& asked, Prepared& prepared);
bool make_softmax(const Asked& asked, Prepared& prepared);
bool make_softmax_grad(const Asked& asked, Prepared& prepared);
bool make_elementwise(const Asked& asked, Prepared& prepared);
bool make_gelu_grad(const Asked& asked, Prepared& prepared);

// Attention in blocks of rows, whose products are primitives of one thread.
size_t attention_workspace(const pt_call* call);
pt_status run_attention(const pt_call* call);
size_t attention_grad_workspace(const pt_call* call);
pt_status run_attention_grad(const pt_call* call);

// See pt_back_end.
int weight_layout(uint16_t op, const pt_tensor* x, const pt_tensor* y, const uint32_t w[4], const int64_t* ints);

}  // namespace pantoum::onednn
