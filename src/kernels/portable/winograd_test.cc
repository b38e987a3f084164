// Winograd's convolutions against the reference: in double nearly its values, in float32 within what docs/costs.md
// states; every form of a class gives the same bits at any number of threads; nothing outside of operands and workspace
// is read or written.
#include <algorithm>

#include "kernels/portable/kernel_rows.h"
#include "testing/product_calls.h"

namespace {

using namespace product_test;

struct ConvShape {
  uint32_t samples, groups, channels, outputs, height, width;  // channels and outputs of a group
  int64_t top, left, bottom, right;
  [[nodiscard]] std::vector<int64_t> ints() const { return {1, 1, top, left, bottom, right, 1, 1, groups}; }
  [[nodiscard]] std::vector<uint32_t> x() const { return {samples, groups * channels, height, width}; }
  [[nodiscard]] std::vector<uint32_t> w() const { return {groups * outputs, channels, 3, 3}; }
  [[nodiscard]] std::vector<uint32_t> y() const {
    return {samples, groups * outputs, static_cast<uint32_t>(height + top + bottom - 2),
            static_cast<uint32_t>(width + left + right - 2)};
  }
};

std::vector<ConvShape> conv_shapes() {
  std::vector<ConvShape> all = {
      {1, 1, 2, 2, 1, 1, 1, 1, 1, 1},   {1, 1, 3, 5, 3, 3, 0, 0, 0, 0},    {2, 1, 4, 9, 1, 7, 1, 0, 1, 0},
      {1, 1, 2, 3, 1, 1, 5, 4, 3, 6},   {3, 1, 5, 8, 7, 7, 1, 1, 1, 1},    {2, 3, 4, 5, 6, 9, 1, 2, 0, 1},
      {1, 1, 70, 33, 5, 5, 1, 1, 1, 1}, {1, 1, 3, 17, 20, 75, 1, 1, 1, 1}, {5, 2, 16, 16, 4, 4, 1, 1, 1, 1},
      {1, 1, 130, 2, 2, 2, 1, 1, 1, 1}, {1, 1, 2, 40, 33, 2, 0, 1, 2, 1},  {4, 1, 9, 12, 8, 8, 2, 2, 2, 2},
      {1, 1, 3, 4, 3, 140, 1, 3, 0, 0}};
  std::mt19937 random(31);
  const auto draw = [&](uint32_t least, uint32_t most) {
    return least + static_cast<uint32_t>(random()) % (most - least + 1);
  };
  for (int trial = 0; trial < 40; ++trial)
    all.push_back({draw(1, 3), draw(1, 2), draw(2, 19), draw(2, 37), draw(3, 17), draw(3, 17), draw(0, 3), draw(0, 3),
                   draw(0, 3), draw(0, 3)});
  return all;
}

// Elements with a wall around them: NaN where nobody may read, kept where nobody may write.
template <class Real>
class Walled {
 public:
  Walled(std::vector<uint32_t> dims, const std::vector<Real>& values)
      : dims_(std::move(dims)), all_(values.size() + 2 * kWall, Real(NAN)) {
    std::copy(values.begin(), values.end(), all_.begin() + kWall);
  }
  Real* data() { return all_.data() + kWall; }
  pt_tensor tensor() {
    pt_tensor made{};
    made.data = data();
    made.rank = static_cast<uint8_t>(dims_.size());
    made.dtype = sizeof(Real) == 8 ? PT_F64 : PT_F32;
    std::copy(dims_.begin(), dims_.end(), made.dims);
    return made;
  }
  std::vector<Real> values() const { return {all_.begin() + kWall, all_.end() - kWall}; }
  bool stands() const {
    const auto is_nan = [](Real value) { return std::isnan(value); };
    return std::all_of(all_.begin(), all_.begin() + kWall, is_nan) &&
           std::all_of(all_.end() - kWall, all_.end(), is_nan);
  }

 private:
  static constexpr size_t kWall = 300;
  std::vector<uint32_t> dims_;
  std::vector<Real> all_;
};

template <class Real>
struct Product {
  pt_op op;
  Operand<Real>*a, *b, *bias;
  std::vector<uint32_t> dims;
  std::vector<int64_t> ints;
};

// Empty: the kernel does not compute these shapes.
template <class Real>
std::vector<Real> run_walled(const Product<Real>& of, uint16_t algorithm, uint32_t threads) {
  std::vector<Walled<Real>> operands = {{of.a->dims, of.a->data}, {of.b->dims, of.b->data}};
  if (of.bias != nullptr) operands.push_back({of.bias->dims, of.bias->data});
  size_t count = 1;
  for (const uint32_t dim : of.dims) count *= dim;
  Walled<Real> out(of.dims, std::vector<Real>(count, Real(NAN)));
  std::vector<pt_tensor> in;
  for (Walled<Real>& operand : operands) in.push_back(operand.tensor());
  const pt_tensor y = out.tensor();
  const pt_pool pool{&threads, threads, run_on_threads};
  pt_call call{};
  call.inputs = in.data(), call.input_count = static_cast<uint16_t>(in.size());
  call.outputs = &y, call.output_count = 1;
  call.ints = of.ints.data(), call.int_count = static_cast<uint16_t>(of.ints.size());
  call.pool = &pool;
  const pt_kernel* kernel = pt_kernel_find(table<Real>(), static_cast<uint16_t>(of.op), y.dtype, algorithm, 0);
  const size_t bytes = kernel->workspace_bytes(&call);
  if (bytes == PT_NO_KERNEL) {
    EXPECT_EQ(kernel->submit(&call), PT_E_KERNEL);
    return {};
  }
  Walled<Real> workspace({}, std::vector<Real>(bytes / sizeof(Real), Real(NAN)));
  call.workspace = workspace.data();
  EXPECT_EQ(kernel->submit(&call), PT_OK);
  EXPECT_TRUE(workspace.stands() && out.stands()) << "op " << of.op << " algorithm " << algorithm;
  return out.values();
}

constexpr uint16_t kSmallTiles[] = {PT_WINOGRAD_COMPACT, PT_WINOGRAD_COMPACT_WHOLE, PT_WINOGRAD},
                   kLargeTiles[] = {PT_WINOGRAD4_COMPACT, PT_WINOGRAD4_COMPACT_WHOLE, PT_WINOGRAD4};

// The largest error over the reference's root mean square, of each class.
struct Errors {
  double small = 0, large = 0;
};

template <class Real>
double error_of(const std::vector<Real>& made, const std::vector<double>& expected) {
  double squares = 0, worst = 0;
  for (size_t at = 0; at < expected.size(); ++at) {
    squares += expected[at] * expected[at];
    const double apart = std::abs(double(made[at]) - expected[at]);
    worst = apart <= worst ? worst : apart;  // NaN is worst
  }
  return worst / std::max(std::sqrt(squares / static_cast<double>(expected.size())), 0.1);
}

// All forms of a class, at any number of threads: the same bits, which it returns.
template <class Real>
std::vector<Real> run_class(const Product<Real>& of, const uint16_t (&forms)[3]) {
  const std::vector<Real> first = run_walled(of, forms[0], 1);
  for (const uint16_t form : forms)
    for (uint32_t threads = 1; threads <= 4; ++threads)
      EXPECT_TRUE(same_bits(run_walled(of, form, threads), first)) << of.op << " " << form << " threads " << threads;
  return first;
}

template <class Real>
Errors errors_of(const ConvShape& shape, std::mt19937& random) {
  const auto exact = [&](std::vector<uint32_t> dims, Operand<Real>& own) {
    own = make<Real>(std::move(dims), random);
    return Operand<double>{own.dims, {own.data.begin(), own.data.end()}};
  };
  Operand<Real> x, w, dy, bias;
  Operand<double> x64 = exact(shape.x(), x), w64 = exact(shape.w(), w), dy64 = exact(shape.y(), dy),
                  bias64 = exact({shape.w()[0]}, bias);
  const std::vector<int64_t> ints = shape.ints();
  const Product<Real> products[] = {{PT_OP_conv2d, &x, &w, &bias, shape.y(), ints},
                                    {PT_OP_conv2d_dx, &dy, &w, nullptr, shape.x(), ints},
                                    {PT_OP_conv2d_dw, &x, &dy, nullptr, shape.w(), ints}};
  const std::vector<double> expected[] = {
      product_test::run<double>(PT_OP_conv2d, 0, {&x64, &w64, &bias64}, shape.y(), ints),
      product_test::run<double>(PT_OP_conv2d_dx, 0, {&dy64, &w64}, shape.x(), ints),
      product_test::run<double>(PT_OP_conv2d_dw, 0, {&x64, &dy64}, shape.w(), ints)};
  Errors errors;
  for (size_t at = 0; at < std::size(products); ++at) {
    errors.small = std::max(errors.small, error_of(run_class(products[at], kSmallTiles), expected[at]));
    errors.large = std::max(errors.large, error_of(run_class(products[at], kLargeTiles), expected[at]));
  }
  return errors;
}

TEST(Winograd, GivesTheReferencesValuesInDouble) {
  std::mt19937 random(11);
  for (const ConvShape& shape : conv_shapes()) {
    const Errors errors = errors_of<double>(shape, random);
    EXPECT_LT(errors.small, 1e-13) << shape.height << " x " << shape.width;
    EXPECT_LT(errors.large, 3e-12) << shape.height << " x " << shape.width;
  }
}

TEST(Winograd, GivesTheReferencesValuesInFloatWithinWhatIsStated) {
  std::mt19937 random(12);
  Errors worst;
  for (const ConvShape& shape : conv_shapes()) {
    const Errors errors = errors_of<float>(shape, random);
    worst = {std::max(worst.small, errors.small), std::max(worst.large, errors.large)};
  }
  RecordProperty("winograd", std::to_string(worst.small));
  RecordProperty("winograd4", std::to_string(worst.large));
  EXPECT_LT(worst.small, 1e-5);
  EXPECT_LT(worst.large, 1e-4);
}

// conv2d_dz is conv2d_dx through the activation's gradient, and may be written over what that reads.
TEST(Winograd, DzIsDxThroughTheActivationsGradient) {
  std::mt19937 random(15);
  for (const ConvShape& shape : conv_shapes()) {
    auto dy = make<float>(shape.y(), random), w = make<float>(shape.w(), random), r = make<float>(shape.x(), random);
    std::vector<int64_t> ints = shape.ints();
    for (const auto& forms : {kSmallTiles, kLargeTiles}) {
      Operand<float> dx = r, dz = r;
      submit(PT_OP_conv2d_dx, forms[0], {&dy, &w}, dx, ints, {}, 1);
      submit(PT_OP_tanh_grad, 0, {&dx, &r}, dz, {}, {}, 1);
      std::vector<int64_t> through = ints;
      through.insert(through.end(), {PT_OP_tanh_grad, 0});
      for (int form = 0; form < 3; ++form)
        for (const uint32_t threads : {1U, 3U}) {
          Operand<float> made = r;
          submit(PT_OP_conv2d_dz, forms[form], {&dy, &w, &made}, made, through, {0, 0, 0}, threads);
          EXPECT_TRUE(same_bits(made.data, dz.data)) << forms[form] << " " << shape.height << " x " << shape.width;
        }
    }
  }
}

TEST(Winograd, LeavesOtherConvolutionsToOtherKernels) {
  std::mt19937 random(13);
  struct Other {
    std::vector<uint32_t> x, w, y;
    std::vector<int64_t> ints;
  };
  const Other others[] = {{{1, 4, 8, 8}, {4, 4, 3, 3}, {1, 4, 4, 8}, {2, 1, 1, 1, 1, 1, 1, 1, 1}},
                          {{1, 4, 8, 8}, {4, 4, 3, 3}, {1, 4, 8, 4}, {1, 2, 1, 1, 1, 1, 1, 1, 1}},
                          {{1, 4, 8, 8}, {4, 4, 3, 3}, {1, 4, 8, 8}, {1, 1, 2, 1, 2, 1, 2, 1, 1}},
                          {{1, 4, 8, 8}, {4, 4, 3, 3}, {1, 4, 8, 8}, {1, 1, 1, 2, 1, 2, 1, 2, 1}},
                          {{1, 4, 8, 8}, {4, 4, 2, 3}, {1, 4, 9, 8}, {1, 1, 1, 1, 1, 1, 1, 1, 1}},
                          {{1, 4, 8, 8}, {4, 4, 3, 5}, {1, 4, 8, 6}, {1, 1, 1, 1, 1, 1, 1, 1, 1}},
                          {{1, 4, 8, 8}, {4, 1, 3, 3}, {1, 4, 8, 8}, {1, 1, 1, 1, 1, 1, 1, 1, 4}},
                          {{1, 4, 8, 8}, {1, 4, 3, 3}, {1, 1, 8, 8}, {1, 1, 1, 1, 1, 1, 1, 1, 1}}};
  for (const Other& other : others) {
    auto x = make<float>(other.x, random), w = make<float>(other.w, random), dy = make<float>(other.y, random);
    for (const auto& forms : {kSmallTiles, kLargeTiles})
      for (int form = 0; form < 3; ++form) {
        EXPECT_TRUE(run_walled<float>({PT_OP_conv2d, &x, &w, nullptr, other.y, other.ints}, forms[form], 1).empty());
        EXPECT_TRUE(
            run_walled<float>({PT_OP_conv2d_dx, &dy, &w, nullptr, other.x, other.ints}, forms[form], 1).empty());
        EXPECT_TRUE(
            run_walled<float>({PT_OP_conv2d_dw, &x, &dy, nullptr, other.w, other.ints}, forms[form], 1).empty());
      }
  }
}

// What is promised to processors with little memory.
TEST(Winograd, TakesTensOfKibAtTheMostInItsSmallForm) {
  std::mt19937 random(14);
  for (const uint32_t channels : {8U, 16U, 32U, 64U}) {
    for (const uint16_t op : {PT_OP_conv2d, PT_OP_conv2d_dx, PT_OP_conv2d_dw}) {
      const ConvShape shape{8, 1, channels, channels, 32, 32, 1, 1, 1, 1};
      pt_tensor x{}, w{};
      x.rank = w.rank = 4;
      for (size_t dim = 0; dim < 4; ++dim) x.dims[dim] = shape.x()[dim], w.dims[dim] = shape.w()[dim];
      const pt_tensor in[] = {x, op == PT_OP_conv2d_dw ? x : w}, out = op == PT_OP_conv2d_dw ? w : x;
      const std::vector<int64_t> ints = shape.ints();
      pt_call call{};
      call.inputs = in, call.outputs = &out, call.ints = ints.data();
      call.input_count = 2, call.output_count = 1, call.int_count = 9;
      const pt_kernel* kernel = pt_kernel_find(table<float>(), op, PT_F32, PT_WINOGRAD_COMPACT, 0);
      EXPECT_LE(kernel->workspace_bytes(&call), size_t{48} << 10) << op << " " << channels;
    }
  }
}

}  // namespace
