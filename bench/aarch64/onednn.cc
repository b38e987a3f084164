// The cases of count.py that oneDNN computes too, by oneDNN: onednn KIND DIMENSIONS.., as count.py asks.
//
//   onednn matmul ROWS INPUTS OUTPUTS
//   onednn forward|data|weights SAMPLES CHANNELS OUTPUTS EXTENT KERNEL STRIDE GROUPS
//
// Operands lie as PyTorch has them; each primitive chooses its own layout of them, and only the primitive is counted.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dnnl.hpp>
#include <string>
#include <unordered_map>
#include <vector>

using dnnl::memory;

namespace {

constexpr auto kReal = memory::data_type::f32;
using Arguments = std::unordered_map<int, memory>;

dnnl::engine& engine() {
  static dnnl::engine made(dnnl::engine::kind::cpu, 0);
  return made;
}

memory filled(const memory::desc& desc) {
  memory made(desc, engine());
  std::memset(made.get_data_handle(), 0, desc.get_size());
  return made;
}

memory::desc any(const memory::dims& dims) {
  return {dims, kReal, memory::format_tag::any};
}

}  // namespace

// What the counter tells apart by their names.
extern "C" __attribute__((noinline)) void turn() {
  asm volatile("");
}
extern "C" __attribute__((noinline)) void run_onednn(const dnnl::primitive* primitive, dnnl::stream* stream,
                                                     const Arguments* arguments) {
  primitive->execute(*stream, *arguments);
  stream->wait();
}
extern "C" __attribute__((noinline)) void compute(const dnnl::primitive* primitive, dnnl::stream* stream,
                                                  const Arguments* arguments) {
  run_onednn(primitive, stream, arguments);
  asm volatile("");
}

int main(int count, char** words) {
  const std::string kind = count > 1 ? words[1] : "";
  std::vector<memory::dim> n;
  for (int at = 2; at < count; ++at) n.push_back(std::strtol(words[at], nullptr, 10));
  dnnl::stream stream(engine());
  dnnl::primitive primitive;
  Arguments arguments;
  std::string name;
  if (kind == "matmul" && n.size() == 3) {
    const memory::desc a({n[0], n[1]}, kReal, memory::format_tag::ab), b({n[1], n[2]}, kReal, memory::format_tag::ab),
        c({n[0], n[2]}, kReal, memory::format_tag::ab);
    const dnnl::matmul::primitive_desc desc({a, b, c}, engine());
    name = desc.impl_info_str();
    primitive = dnnl::matmul(desc);
    arguments = {{DNNL_ARG_SRC, filled(a)}, {DNNL_ARG_WEIGHTS, filled(b)}, {DNNL_ARG_DST, filled(c)}};
  } else if (n.size() == 7) {
    const memory::dim pad = n[4] / 2, made = (n[3] + 2 * pad - n[4]) / n[5] + 1;
    const memory::desc x = any({n[0], n[1], n[3], n[3]}), y = any({n[0], n[2], made, made}),
                       w = n[6] == 1 ? any({n[2], n[1], n[4], n[4]})
                                     : any({n[6], n[2] / n[6], n[1] / n[6], n[4], n[4]});
    const memory::dims strides{n[5], n[5]}, pads{pad, pad};
    const auto direct = dnnl::algorithm::convolution_direct;
    const dnnl::convolution_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, direct, x, w, y, strides, pads, pads}, engine());
    if (kind == "data") {
      const dnnl::convolution_backward_data::primitive_desc desc({direct, x, w, y, strides, pads, pads}, engine(),
                                                                 forward);
      name = desc.impl_info_str();
      primitive = dnnl::convolution_backward_data(desc);
      arguments = {{DNNL_ARG_DIFF_SRC, filled(desc.diff_src_desc())},
                   {DNNL_ARG_WEIGHTS, filled(desc.weights_desc())},
                   {DNNL_ARG_DIFF_DST, filled(desc.diff_dst_desc())}};
    } else if (kind == "weights") {
      const dnnl::convolution_backward_weights::primitive_desc desc({direct, x, w, y, strides, pads, pads}, engine(),
                                                                    forward);
      name = desc.impl_info_str();
      primitive = dnnl::convolution_backward_weights(desc);
      arguments = {{DNNL_ARG_SRC, filled(desc.src_desc())},
                   {DNNL_ARG_DIFF_WEIGHTS, filled(desc.diff_weights_desc())},
                   {DNNL_ARG_DIFF_DST, filled(desc.diff_dst_desc())}};
    } else {
      name = forward.impl_info_str();
      primitive = dnnl::convolution_forward(forward);
      arguments = {{DNNL_ARG_SRC, filled(forward.src_desc())},
                   {DNNL_ARG_WEIGHTS, filled(forward.weights_desc())},
                   {DNNL_ARG_DST, filled(forward.dst_desc())}};
    }
  } else {
    std::fprintf(stderr, "onednn: give matmul, forward, data or weights, and dimensions\n");
    return 2;
  }
  run_onednn(&primitive, &stream, &arguments);  // it may make its code now
  turn();
  compute(&primitive, &stream, &arguments);
  turn();
  std::printf("%s\n", name.c_str());
  return 0;
}
