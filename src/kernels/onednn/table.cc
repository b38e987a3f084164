// The rows of the kernel table, and what the shared object exports.
#include <fmt/format.h>

#include "kernels/back_end.h"
#include "kernels/onednn/kernels.h"

extern "C" {
#include "kernels/portable/kernels.h"
}

namespace pantoum::onednn {
namespace {

template <uint16_t kOp, uint16_t kAlgorithm, Maker kMaker, uint8_t kDtype = PT_F32>
constexpr pt_kernel row(const char* name, const char* numerics) {
  return {kOp,
          kDtype,
          0,
          kAlgorithm,
          name,
          numerics,
          [](const pt_call* call) { return run(prepared_for(kOp, kAlgorithm, *call, kMaker), *call); },
          nullptr,
          [](const pt_call* call) { return workspace_of(prepared_for(kOp, kAlgorithm, *call, kMaker)); }};
}

template <uint16_t kOp, Maker kMaker, uint8_t kDtype = PT_F32>
constexpr pt_kernel row() {
  return row<kOp, kDirect, kMaker, kDtype>("onednn", "onednn");
}
// The first implementation that oneDNN lists, and two after it.
#define PT_THREE(op, maker)                                                    \
  row<op, maker>(), row<op, kSecond, maker>("onednn:second", "onednn:second"), \
      row<op, kThird, maker>("onednn:third", "onednn:third")
#define PT_WINOGRAD(op, maker) row<op, kWinograd, maker>("onednn:winograd", "onednn:winograd")
#define PT_SPREAD(op, maker) row<op, kSpread, maker>("onednn:spread", "onednn")

// Kernels of the portable sources, compiled with the tiles of fused_tiles.h.
template <uint16_t kOp>
constexpr pt_kernel fused_row(pt_status (*submit)(const pt_call*), size_t (*workspace)(const pt_call*)) {
  return {kOp, PT_F32, 0, kDirect, "fused", "fused", submit, nullptr, workspace};
}

constexpr pt_kernel kKernels[] = {
    PT_THREE(PT_OP_conv2d_nchwc, make_convolution),
    PT_WINOGRAD(PT_OP_conv2d_nchwc, make_convolution),
    PT_THREE(PT_OP_conv2d_act_nchwc, make_convolution_act),
    PT_WINOGRAD(PT_OP_conv2d_act_nchwc, make_convolution_act),
    PT_THREE(PT_OP_conv2d_dx_nchwc, make_convolution_data),
    PT_WINOGRAD(PT_OP_conv2d_dx_nchwc, make_convolution_data),
    PT_THREE(PT_OP_conv2d_dw_nchwc, make_convolution_weights),
    PT_WINOGRAD(PT_OP_conv2d_dw_nchwc, make_convolution_weights),
    row<PT_OP_reorder, make_reorder>(),
    row<PT_OP_max_pool_nchwc, make_pool>(),
    row<PT_OP_max_pool_grad_nchwc, make_max_pool_grad>(),
    row<PT_OP_max_pool_taps, make_max_pool_taps, PT_U8>(),
    row<PT_OP_max_pool_grad_taps, make_max_pool_grad_taps>(),
    row<PT_OP_avg_pool_nchwc, make_pool>(),
    row<PT_OP_avg_pool_grad_nchwc, make_avg_pool_grad>(),
    PT_THREE(PT_OP_conv2d, make_convolution),
    PT_THREE(PT_OP_conv2d_act, make_convolution_act),
    PT_THREE(PT_OP_conv2d_dx, make_convolution_data),
    PT_THREE(PT_OP_conv2d_dw, make_convolution_weights),
    PT_THREE(PT_OP_conv3d, make_convolution),
    PT_THREE(PT_OP_conv3d_dx, make_convolution_data),
    PT_THREE(PT_OP_conv3d_dw, make_convolution_weights),
    PT_SPREAD(PT_OP_matmul, make_matmul),
    PT_THREE(PT_OP_matmul, make_matmul),
    PT_SPREAD(PT_OP_matmul_act, make_matmul_act),
    PT_THREE(PT_OP_matmul_act, make_matmul_act),
    {PT_OP_attention, PT_F32, 0, kDirect, "onednn", "onednn", run_attention, nullptr, attention_workspace},
    {PT_OP_attention_grad, PT_F32, 0, kDirect, "onednn", "onednn", run_attention_grad, nullptr,
     attention_grad_workspace},
    fused_row<PT_OP_lstm_sequence>(PT_NAME(pt_lstm_sequence_blocked), PT_NAME(pt_lstm_sequence_blocked_workspace)),
    fused_row<PT_OP_lstm_sequence_grad>(PT_NAME(pt_lstm_sequence_grad_blocked),
                                        PT_NAME(pt_lstm_sequence_grad_blocked_workspace)),
    fused_row<PT_OP_gru_sequence>(PT_NAME(pt_gru_sequence_blocked), PT_NAME(pt_gru_sequence_blocked_workspace)),
    fused_row<PT_OP_gru_sequence_grad>(PT_NAME(pt_gru_sequence_grad_blocked),
                                       PT_NAME(pt_gru_sequence_grad_blocked_workspace)),
    row<PT_OP_softmax, make_softmax>(),
    row<PT_OP_softmax_grad, make_softmax_grad>(),
    row<PT_OP_log_softmax, make_softmax>(),
    row<PT_OP_log_softmax_grad, make_softmax_grad>(),
    row<PT_OP_gelu, make_elementwise>(),
    row<PT_OP_gelu_grad, make_gelu_grad>(),
    row<PT_OP_tanh, make_elementwise>(),
    row<PT_OP_sigmoid, make_elementwise>(),
    row<PT_OP_exp, make_elementwise>(),
};

}  // namespace
}  // namespace pantoum::onednn

extern "C" PT_API const char* pt_back_end_version() {
  return PANTOUM_VERSION;
}

extern "C" PT_API const pt_back_end* pt_back_end_open(int threads) {
  using namespace pantoum::onednn;
  try {
    const dnnl_version_t* version = dnnl_version();
    static const std::string name = fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
    static pt_back_end back_end = {
        name.c_str(), {kKernels, std::size(kKernels)}, nullptr, vector_elements(), weight_layout};
    set_threads(threads);
    back_end.pool = pool();
    (void)engine();
    return &back_end;
  } catch (const dnnl::error&) {
    return nullptr;
  }
}
