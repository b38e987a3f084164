#include "cost/algorithm_cost.h"

#include <cmath>

#include "kernels/portable/kernel_rows.h"
#include "kernels/portable/winograd_blocks.h"

namespace pantoum::cost {
namespace {

// How many operations of a product take the time of one element of a transform: 5.5 to 8.3, counted on Cortex-M4F.
constexpr double kOperationsPerElement = 7;

// How much slower Winograd's products are on small processors than those of the direct convolutions, which unroll their terms: the
// direct ones took 3.66 and 3.82 instructions for each product before they were unrolled, and take 2.98 and 3.08 (Cortex-M4F).
constexpr double kSmallWinograd = 1.25;

// Instructions that make one output channel from one input channel, counted on Cortex-M4F: of the image's edges, directly and from a
// padded strip; and of one product. kStridedShare: the share of a convolution with strides from strips, as counted for conv2d_dz.
constexpr double kEdgesDirectly = 3000, kEdgesShifted = 900, kProduct = 3.35, kStridedShare = 0.4;

struct Form {
  bool is_known = false;
  size_t m = 2;
  pt_winograd_cut cut{};
};

Form form_of(const pt_kernel& kernel) {
  switch (kernel.algorithm) {
    case PT_WINOGRAD:
      return {true, 2, {1, 1}};
    case PT_WINOGRAD_COMPACT:
      return {true, 2, {0, 0}};
    case PT_WINOGRAD_COMPACT_WHOLE:
      return {true, 2, {0, 1}};
    case PT_WINOGRAD4:
      return {true, 4, {1, 1}};
    case PT_WINOGRAD4_COMPACT:
      return {true, 4, {0, 0}};
    case PT_WINOGRAD4_COMPACT_WHOLE:
      return {true, 4, {0, 1}};
    default:
      return {};
  }
}

size_t parts(size_t count, size_t size) {
  return (count + size - 1) / size;
}

// A convolution: in each group it makes `made` images from `read` ones.
struct Shape {
  size_t samples, groups, read, made, height, width;
};

struct WinogradWork {
  double operations = 0, elements = 0,
         through = 0;  // operations of products; elements of transforms; elements that go through the workspace
};

class Winograd {
 public:
  Winograd(const Shape& shape, const Form& form)
      : s_(shape),
        form_(form),
        positions_((form.m + 2) * (form.m + 2)),
        tiles_(shape.samples * parts(shape.height, form.m) * parts(shape.width, form.m)) {}

  [[nodiscard]] WinogradWork convolution() const {
    const auto strips = static_cast<double>(parts(tiles_, pt_winograd_strip(&form_.cut, positions_, s_.read, tiles_)));
    const double images = tiles() * (read() + made());
    return work(images + pairs() * (form_.cut.is_whole != 0 ? 1 : strips), images + pairs() * strips);
  }

  // A kernel's gradient: `made` are the outputs, `read` the channels.
  [[nodiscard]] WinogradWork gradient() const {
    const auto down = static_cast<double>(parts(s_.made, pt_winograd_dw_outputs(&form_.cut, s_.made)));
    const auto along = static_cast<double>(parts(s_.read, pt_winograd_dw_channels(&form_.cut, s_.read)));
    const auto strips = static_cast<double>(parts(tiles_, pt_winograd_dw_strip(&form_.cut)));
    const double images = tiles() * (read() * down + made() * along);
    return work(images + pairs(), images + 2 * pairs() * strips);
  }

 private:
  [[nodiscard]] double tiles() const { return static_cast<double>(tiles_); }
  [[nodiscard]] double read() const { return static_cast<double>(s_.read); }
  [[nodiscard]] double made() const { return static_cast<double>(s_.made); }
  [[nodiscard]] double pairs() const { return read() * made(); }
  // `transformed`, `through`: tiles or kernels that are transformed, and that go through the workspace.
  [[nodiscard]] WinogradWork work(double transformed, double through) const {
    const double all = static_cast<double>(s_.groups) * static_cast<double>(positions_);
    return {2 * all * pairs() * tiles(), all * transformed, all * through};
  }

  Shape s_;
  Form form_;
  size_t positions_, tiles_;
};

Shape shape_of(const ir::TensorType& read, const ir::TensorType& made, const ir::TensorType& tiled, int64_t groups) {
  const auto extent = [](const ir::TensorType& type, size_t dim) { return static_cast<size_t>(type.shape[dim]); };
  const auto g = static_cast<size_t>(groups);
  return {extent(tiled, 0), g, extent(read, 1) / g, extent(made, 1) / g, extent(tiled, 2), extent(tiled, 3)};
}

// The share of the direct convolution's instructions that one from padded strips takes; it makes four positions of a row at once.
double shifted_share(const ir::TensorType& made, const ir::TensorType& weight, const std::vector<int64_t>& ints) {
  if (ints[PT_CONV_STRIDE_H] > 1 || ints[PT_CONV_STRIDE_W] > 1) return kStridedShare;
  const auto extent = [](const ir::TensorType& type, size_t dim) { return static_cast<double>(type.shape[dim]); };
  const double height = extent(made, 2), width = extent(made, 3),
               products = height * width * extent(weight, 2) * extent(weight, 3),
               wide = std::ceil(width / 4) * 4 / width;
  return (kEdgesShifted + kProduct * products * wide) / (kEdgesDirectly + kProduct * products);
}

}  // namespace

ir::OpCost algorithm_cost(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel) {
  ir::OpCost cost = ir::cost_of(graph, op);
  const bool is_gradient = op.kind == ir::Kind::k_conv2d_dw, is_shifted = kernel.algorithm == PT_SHIFT_COMPACT;
  const Form form = form_of(kernel);
  if (!form.is_known && !is_shifted) return cost;
  double beside = 0;  // operations of the epilogue
  switch (op.kind) {
    case ir::Kind::k_conv2d:
    case ir::Kind::k_conv2d_dx:
    case ir::Kind::k_conv2d_dw:
      break;
    case ir::Kind::k_conv2d_act:
    case ir::Kind::k_conv2d_dz: {
      ir::Op plain = op;
      plain.kind = op.kind == ir::Kind::k_conv2d_act ? ir::Kind::k_conv2d : ir::Kind::k_conv2d_dx;
      plain.inputs.resize(2);
      plain.attrs.ints.resize(PT_CONV_ATTRS);
      plain.attrs.reals.clear();
      beside = cost.flops - ir::cost_of(graph, plain).flops;
      break;
    }
    default:
      return cost;
  }
  const ir::TensorType &first = graph.value(op.inputs[0]).type, &second = graph.value(op.inputs[1]).type,
                       &out = graph.value(op.outputs[0]).type;
  if (is_shifted) {
    cost.flops = beside + (cost.flops - beside) * shifted_share(out, second, op.attrs.ints);
    return cost;
  }
  const int64_t groups = op.attrs.ints[PT_CONV_GROUPS];
  const WinogradWork work = is_gradient ? Winograd(shape_of(first, second, second, groups), form).gradient()
                                        : Winograd(shape_of(first, out, out, groups), form).convolution();
  const double slowdown = form.cut.has_vectors != 0 ? 1 : kSmallWinograd;
  cost.flops = beside + slowdown * (work.operations + kOperationsPerElement * work.elements);
  const auto through = static_cast<ir::Bytes>(work.through * static_cast<double>(ir::size_of(out.dtype)));
  cost.bytes_read += through;
  cost.bytes_written += through;
  return cost;
}

}  // namespace pantoum::cost
