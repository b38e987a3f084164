#include "emit/step_work.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "emit/model_text.h"
#include "ir/op_registry.h"
#include "kernels/portable/conv3d_shape.h"
#include "runtime/plan_bytes.h"

namespace pantoum::emit {
namespace {

uint64_t elements(const pt_tensor& tensor) {
  uint64_t count = 1;
  for (unsigned dim = 0; dim < tensor.rank; ++dim) count *= tensor.dims[dim];
  return count;
}

uint64_t matmul_products(const pt_tensor& a, const pt_tensor& y, const int64_t* ints) {
  const unsigned inner = ints[0] != 0 ? 2 : 1;  // from the end: trans_a
  return elements(y) * (a.rank >= inner ? a.dims[a.rank - inner] : 1);
}

// Pairs of a position of the output and of the kernel that meet inside the image, along one dimension.
uint64_t meetings(const conv3d_axis& axis) {
  uint64_t count = 0;
  for (size_t output = 0; output < axis.out; ++output)
    for (size_t tap = 0; tap < axis.kernel; ++tap)
      count += conv3d_holds(axis.in, conv3d_input(&axis, output, tap)) != 0 ? 1 : 0;
  return count;
}

uint64_t conv_products(const pt_tensor& x, const pt_tensor& w, const pt_tensor& y, const int64_t* ints) {
  const conv3d_shape s = conv3d_shape_of(&x, &w, &y, ints);
  uint64_t count = uint64_t{s.samples} * s.groups * s.outputs * s.channels;
  for (const conv3d_axis& axis : s.axis) count *= meetings(axis);
  return count;
}

// A product with the state for every step: it gives the gates of all states, or their gradients.
uint64_t sequence_products(const pt_tensor& gates, const pt_tensor& weight) {
  return uint64_t{gates.dims[0]} * gates.dims[1] * weight.dims[0] * weight.dims[1];
}

// `by_depth` products over Q's depth and `by_width` over V's width, for every pair of a row of Q and one of K.
uint64_t attention_products(const pt_tensor& q, const pt_tensor& k, const pt_tensor& v, unsigned by_depth,
                            unsigned by_width) {
  uint64_t pairs = k.dims[k.rank - 2U];
  for (unsigned dim = 0; dim + 1U < q.rank; ++dim) pairs *= q.dims[dim];
  return pairs * (uint64_t{by_depth} * q.dims[q.rank - 1U] + uint64_t{by_width} * v.dims[v.rank - 1U]);
}

}  // namespace

// An op that does more than the product whose name it begins with has that product's operands first.
uint64_t multiply_accumulates(const std::string& op, const pt_tensor* operands, unsigned inputs, const int64_t* ints) {
  const pt_tensor& out = operands[inputs];
  const auto is = [&op](const char* product) { return op == product || op.starts_with(std::string(product) + "_"); };
  if (is("matmul")) return matmul_products(operands[0], out, ints);
  if (op.ends_with("_nchwc")) return 0;  // never on a device
  if (is("conv2d_dx") || is("conv2d_dz") || is("conv3d_dx")) return conv_products(out, operands[1], operands[0], ints);
  if (is("conv2d_dw") || is("conv3d_dw")) return conv_products(operands[0], out, operands[1], ints);
  if (is("lstm_sequence_grad")) return sequence_products(operands[0], operands[3]);
  if (is("gru_sequence_grad")) return sequence_products(operands[0], operands[4]);
  if (is("lstm_sequence") || is("gru_sequence")) return sequence_products(operands[0], operands[1]);
  if (is("attention_grad")) return attention_products(operands[1], operands[2], operands[3], 3, 2);
  if (is("attention")) return attention_products(operands[0], operands[1], operands[2], 1, 1);
  return is("conv2d") || is("conv3d") ? conv_products(operands[0], operands[1], out, ints) : 0;
}

Result<std::vector<KernelWork>> step_work(const pt_plan& plan, uint32_t program) {
  const pt_kernel_table* table = pt_portable_kernels();
  std::vector<KernelWork> kernels;
  std::set<uint32_t> computed;
  uint32_t instructions = 0;
  pt_code code = pt_program_code(&plan, program, &instructions);
  for (; instructions > 0; --instructions) {
    pt_step step;
    pt_op_view view;
    if (pt_decode_step(&plan, &code, &step, &view) != PT_OK) return fail("E0291", "the binary plan is damaged", "plan");
    if (step.kind != PT_DO_COMPUTE) continue;
    const pt_kernel* kernel = pt_kernel_find(table, view.op, view.dtype, view.algorithm, view.engine);
    if (kernel == nullptr) return fail("E0291", "the plan uses a kernel that is not one of the portable ones", "plan");
    const std::string function = kernel_function(static_cast<size_t>(kernel - table->kernels)),
                      op = ir::name_of(static_cast<ir::Kind>(view.op));
    auto found = std::ranges::find(kernels, function, &KernelWork::function);
    if (found == kernels.end()) found = kernels.insert(found, {.function = function, .op = op});
    const uint64_t macs = multiply_accumulates(op, view.operands, view.input_count, view.ints);
    ++found->calls, found->macs_done += macs;
    found->streams |= pt_is_sliced(&view) != 0;
    if (computed.insert(step.subject).second) found->macs_needed += macs;
  }
  return kernels;
}

nlohmann::ordered_json to_json(const std::vector<KernelWork>& kernels) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const KernelWork& each : kernels)
    json.push_back({{"function", each.function},
                    {"op", each.op},
                    {"calls", each.calls},
                    {"macs_done", each.macs_done},
                    {"macs_needed", each.macs_needed},
                    {"streams", each.streams}});
  return json;
}

std::vector<KernelWork> kernel_work(const nlohmann::json& json) {
  std::vector<KernelWork> kernels;
  for (const nlohmann::json& each : json)
    kernels.push_back(
        {each.at("function"), each.at("op"), each.at("calls"), each.at("macs_done"), each.at("macs_needed"), each.value("streams", false)});
  return kernels;
}

}  // namespace pantoum::emit
