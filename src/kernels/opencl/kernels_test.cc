// Every kernel on PoCL, the processor as an OpenCL device, against the portable kernel of the same operator: on the cases of the portable kernels
// with random extents, bit for bit where the device is of their class.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>

#include "ir/op_registry.h"
#include "kernels/opencl/engine.h"
#include "testing/evaluate.h"
#include "testing/gradient_cases.h"
#include "testing/op_cases.h"

extern "C" {
#include "kernels/portable/parallel.h"
}

namespace pantoum::opencl {
namespace {

constexpr size_t kArena = 8 << 20, kAlign = 128;

// The first device that an engine may run on; the driver's own cache lies where a test may write.
const Device* device_here() {
  static const std::vector<Device> devices = [] {
    ::setenv("POCL_CACHE_DIR",
             (std::filesystem::temp_directory_path() / fmt::format("pantoum-pocl-{}", ::getuid())).c_str(), 0);
    std::vector<Device> usable;
    const auto library = load_library();
    if (!library) return usable;
    if (auto all = list_devices(**library); all)
      for (Device& device : *all)
        if (device.refusal.empty()) usable.push_back(std::move(device));
    return usable;
  }();
  return devices.empty() ? nullptr : devices.data();
}

class OnDevice : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
#ifdef PANTOUM_SANITIZER
    GTEST_SKIP() << "the driver's own compiler is not built for sanitizers";
#endif
    if (device_here() == nullptr)
      GTEST_SKIP() << "no OpenCL device here (Debian: pocl-opencl-icd): its kernels are not tested";
    auto engine = Engine::open(*load_library(), *device_here(), {.arena_bytes = kArena, .by_host_pointer = GetParam()});
    ASSERT_TRUE(engine) << engine.error().message;
    engine_ = *std::move(engine);
  }

  std::unique_ptr<Engine> engine_;
};

size_t bytes_of(const ir::TensorType& type) {
  return static_cast<size_t>(type.bytes());
}

// Contents that an operator takes: numbers on both sides of 0, small integers, truths.
void fill(const ir::TensorType& type, bool positive, int64_t below, uint32_t bytes_below, std::mt19937& random,
          std::byte* to) {
  std::normal_distribution<float> normal;
  const size_t count = bytes_of(type) / pt_element_size(static_cast<uint8_t>(type.dtype));
  for (size_t at = 0; at < count; ++at) {
    const auto whole = static_cast<int64_t>(random() % static_cast<uint64_t>(below));
    switch (type.dtype) {
      case ir::DType::kF32: {
        const float value = at % 13 == 5 ? 0 : normal(random);
        reinterpret_cast<float*>(to)[at] = positive ? std::abs(value) + 0.1F : value;
        break;
      }
      case ir::DType::kI64:
        reinterpret_cast<int64_t*>(to)[at] = whole;
        break;
      case ir::DType::kI32:
        reinterpret_cast<int32_t*>(to)[at] = static_cast<int32_t>(whole);
        break;
      case ir::DType::kBool:
        to[at] = std::byte(random() % 2);
        break;
      default:
        to[at] = std::byte(random() % bytes_below);
    }
  }
}

struct Case {
  uint16_t op;
  std::vector<ir::TensorType> inputs, outputs;
  std::vector<int64_t> ints;
  std::vector<double> reals;
};

// Runs a case on the engine and on the portable kernel; returns what differs.
class Comparison {
 public:
  Comparison(Engine& engine, const Case& of, uint32_t seed) : engine_(engine), case_(of) {
    std::mt19937 random(seed);
    auto* arena = static_cast<std::byte*>(engine.arena());
    size_t used = 0;
    const auto place = [&](size_t bytes) {
      std::byte* const at = arena + used;
      used += (bytes + kAlign - 1) / kAlign * kAlign;
      return at;
    };
    // Indices and labels stay below the least extent that any operand has.
    int64_t below = 1 << 20;
    for (const auto* types : {&of.inputs, &of.outputs})
      for (const ir::TensorType& type : *types)
        for (const int64_t extent : type.shape) below = std::min(below, extent);
    const bool positive = of.op == PT_OP_sqrt || of.op == PT_OP_log || of.op == PT_OP_pow;
    const uint32_t bytes_below =
        of.op == PT_OP_max_pool_grad_taps ? static_cast<uint32_t>(of.ints[0] * of.ints[1]) : 256;
    for (const ir::TensorType& type : of.inputs) {
      std::byte* const at = place(bytes_of(type));
      // Variances and squares are not any numbers; the taps of windows are those of the kernel.
      fill(type,
           positive || of.op == PT_OP_adam || of.op == PT_OP_adamw || of.op == PT_OP_rmsprop ||
               of.op == PT_OP_adagrad || of.op == PT_OP_batch_norm_eval || of.op == PT_OP_batch_norm_act_eval ||
               of.op == PT_OP_batch_norm_grad || of.op == PT_OP_batch_norm_act_grad,
           std::max<int64_t>(1, below), bytes_below, random, at);
      inputs_.push_back(ir::tensor_of(type, at));
    }
    for (const ir::TensorType& type : of.outputs) outputs_.push_back(ir::tensor_of(type, place(bytes_of(type))));
    workspace_ = place(1 << 20);
    EXPECT_LE(used, kArena);
  }

  // The operator's kernel of the table, or null.
  static const pt_kernel* kernel(const pt_kernel_table& table, const Case& of, uint16_t algorithm, uint8_t engine) {
    const ir::TensorType& keyed = of.op == PT_OP_count_correct ? of.inputs[0] : of.outputs[0];
    return pt_kernel_find(&table, of.op, static_cast<uint8_t>(keyed.dtype), algorithm, engine);
  }

  // True where the engine has no kernel for it.
  bool compare() {
    const pt_kernel* const own = kernel(*engine_.table(), case_, kAlgorithm, 1);
    const pt_kernel* const reference = kernel(*pt_portable_kernels(), case_, 0, 0);
    if (own == nullptr) return true;
    if (reference == nullptr) return ADD_FAILURE() << "no portable kernel", false;
    pt_call call = call_of(engine_.pool());
    const size_t needed = own->workspace_bytes(&call);
    if (needed == PT_NO_KERNEL) {
      EXPECT_EQ(engine_.failure(), "");
      return engine_.failure().empty();
    }
    const pt_status status = own->submit(&call);
    EXPECT_EQ(status == PT_OK ? own->wait(&call) : status, PT_OK) << engine_.failure();
    std::vector<std::vector<std::byte>> made;
    for (const pt_tensor& output : outputs_) made.push_back(take(output));
    call.pool = nullptr;
    std::vector<std::byte> workspace(std::max<size_t>(1, reference->workspace_bytes(&call)));
    call.workspace = workspace.data();
    EXPECT_EQ(reference->submit(&call), PT_OK);
    const bool exact = std::string_view(own->numerics) == reference->numerics;
    for (size_t output = 0; output < outputs_.size(); ++output)
      expect_same(made[output], take(outputs_[output]), output, exact);
    return false;
  }

 private:
  pt_call call_of(const pt_pool* pool) {
    pt_call call{};
    call.inputs = inputs_.data(), call.outputs = outputs_.data();
    call.ints = case_.ints.data(), call.reals = case_.reals.data();
    call.input_count = static_cast<uint16_t>(inputs_.size()),
    call.output_count = static_cast<uint16_t>(outputs_.size());
    call.int_count = static_cast<uint16_t>(case_.ints.size()),
    call.real_count = static_cast<uint16_t>(case_.reals.size());
    call.workspace = workspace_, call.scalars = &scalars_, call.pool = pool;
    return call;
  }
  std::vector<std::byte> take(const pt_tensor& tensor) const {
    const size_t bytes = pt_elements(&tensor) * pt_element_size(tensor.dtype);
    auto* const at = static_cast<std::byte*>(tensor.data);
    std::vector<std::byte> content(at, at + bytes);
    std::fill_n(at, bytes, std::byte{0x5a});
    return content;
  }
  void expect_same(const std::vector<std::byte>& own, const std::vector<std::byte>& wanted, size_t output,
                   bool exact) const {
    const bool real = case_.outputs[output].dtype == ir::DType::kF32;
    if (!real) {
      EXPECT_EQ(own, wanted) << "output " << output;
      return;
    }
    for (size_t at = 0; at < own.size(); at += 4) {
      float a = 0, b = 0;
      std::memcpy(&a, own.data() + at, 4), std::memcpy(&b, wanted.data() + at, 4);
      const bool same = std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b));
      const bool near = same || std::abs(a - b) <= 1e-4F * std::max(1.0F, std::abs(b));
      if (exact ? same : near) continue;
      ADD_FAILURE() << "output " << output << " element " << at / 4 << ": " << a << ", the portable kernel " << b;
      return;
    }
  }

  Engine& engine_;
  const Case& case_;
  std::vector<pt_tensor> inputs_, outputs_;
  std::byte* workspace_ = nullptr;
  pt_scalars scalars_{7, 12345, 0.01, nullptr, 0};
};

// The operators of a graph, each as a case.
void append(const ir::Graph& graph, std::vector<Case>& cases) {
  for (const ir::Op& op : graph.ops) {
    if (op.kind == ir::Kind::k_alias) continue;
    Case made{static_cast<uint16_t>(op.kind), {}, {}, op.attrs.ints, op.attrs.reals};
    for (const ir::ValueId input : op.inputs) made.inputs.push_back(graph.value(input).type);
    for (const ir::ValueId output : op.outputs) made.outputs.push_back(graph.value(output).type);
    cases.push_back(std::move(made));
  }
}

std::vector<Case> uses_in_training() {
  std::vector<Case> cases;
  for (const autodiff::GradientCase& which : autodiff::gradient_cases()) {
    const Result<ir::Graph> training = autodiff::make_training(autodiff::forward_of(which), {.loss = {which.loss}});
    if (training) append(*training, cases);
  }
  return cases;
}

// Products, convolutions, pooling and what goes along an axis, with random extents.
std::vector<Case> random_uses(uint32_t seed, int count) {
  std::mt19937 random(seed);
  std::vector<Case> cases;
  const auto between = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
  };
  const auto f = [](ir::Shape shape) { return ir::TensorType{ir::DType::kF32, std::move(shape)}; };
  for (int at = 0; at < count; ++at) {
    const int64_t m = between(1, 40), n = between(1, 40), k = between(1, 60), batch = between(1, 3);
    const int64_t trans_a = between(0, 1), trans_b = between(0, 1);
    cases.push_back({PT_OP_matmul,
                     {f(trans_a != 0 ? ir::Shape{batch, k, m} : ir::Shape{batch, m, k}),
                      f(trans_b != 0 ? ir::Shape{n, k} : ir::Shape{k, n}), f({n})},
                     {f({batch, m, n})},
                     {trans_a, trans_b},
                     {}});
    const int64_t groups = between(1, 3), channels = groups * between(1, 4), outputs = groups * between(1, 4);
    const int64_t r = between(1, 3), q = between(1, 3), stride_h = between(1, 3), stride_w = between(1, 2),
                  top = between(0, r - 1), left = between(0, q - 1), spread_h = between(1, 2), spread_w = between(1, 2);
    const int64_t height = between(7, 14), width = between(7, 14);
    const int64_t out_h = (height + 2 * top - (r - 1) * spread_h - 1) / stride_h + 1,
                  out_w = (width + 2 * left - (q - 1) * spread_w - 1) / stride_w + 1;
    const std::vector<int64_t> conv = {stride_h, stride_w, top, left, top, left, spread_h, spread_w, groups};
    const auto x = f({batch, channels, height, width}), w = f({outputs, channels / groups, r, q}),
               y = f({batch, outputs, out_h, out_w});
    cases.push_back({PT_OP_conv2d, {x, w, f({outputs})}, {y}, conv, {}});
    cases.push_back({PT_OP_conv2d_dx, {y, w}, {x}, conv, {}});
    cases.push_back({PT_OP_conv2d_dw, {x, y}, {w}, conv, {}});
    const std::vector<int64_t> pool = {r,   q,    stride_h, stride_w, top,          left,
                                       top, left, spread_h, spread_w, between(0, 1)};
    const auto pooled = f({batch, channels, out_h, out_w});
    cases.push_back({PT_OP_max_pool, {x}, {pooled}, pool, {}});
    cases.push_back({PT_OP_max_pool_grad, {pooled, x}, {x}, pool, {}});
    cases.push_back({PT_OP_avg_pool, {x}, {pooled}, pool, {}});
    cases.push_back({PT_OP_avg_pool_grad, {pooled}, {x}, pool, {}});
    const int64_t axis = between(0, 3);
    for (const uint16_t op : {PT_OP_softmax, PT_OP_log_softmax}) cases.push_back({op, {x}, {x}, {axis}, {}});
    cases.push_back(
        {PT_OP_batch_norm, {x, f({channels}), f({channels})}, {x, f({channels}), f({channels})}, {}, {1e-5}});
    const auto table = f({n, k}), indices = ir::TensorType{ir::DType::kI64, {m}};
    cases.push_back({PT_OP_gather, {table, indices}, {f({m, k})}, {0}, {}});
    cases.push_back({PT_OP_gather_grad, {f({m, k}), indices}, {table}, {0}, {}});
  }
  return cases;
}

std::vector<Case> single_uses() {
  std::vector<Case> cases;
  for (const runtime_test::OpCase& of : runtime_test::op_cases())
    cases.push_back({static_cast<uint16_t>(of.kind), of.inputs, of.outputs, of.attrs.ints, of.attrs.reals});
  return cases;
}

// Runs all cases; the operators among them.
std::set<uint16_t> compare(Engine& engine, const std::vector<Case>& cases) {
  std::set<uint16_t> covered;
  uint32_t seed = 0;
  for (const Case& of : cases) {
    SCOPED_TRACE(testing::Message() << ir::name_of(static_cast<ir::Kind>(of.op)) << ", case " << seed);
    if (!Comparison(engine, of, ++seed).compare()) covered.insert(of.op);
    EXPECT_EQ(engine.failure(), "");
    if (!engine.failure().empty()) break;
  }
  return covered;
}

TEST_P(OnDevice, EveryKernelGivesWhatThePortableOneGives) {
  const std::set<uint16_t> covered = compare(*engine_, single_uses());
  for (const Row& row : rows())
    EXPECT_TRUE(covered.contains(row.op) || (row.needs_doubles && !device_here()->has_doubles))
        << ir::name_of(static_cast<ir::Kind>(row.op)) << " has no case";
}

TEST_P(OnDevice, KernelsOfTrainingGiveWhatThePortableOnesGive) {
  EXPECT_GT(compare(*engine_, uses_in_training()).size(), 40U);
}

TEST_P(OnDevice, KernelsOfRandomExtentsGiveWhatThePortableOnesGive) {
  compare(*engine_, random_uses(GetParam() ? 1 : 2, 12));
}

INSTANTIATE_TEST_SUITE_P(SharedMemory, OnDevice, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(HostPointer, OnDevice, testing::Values(true));

}  // namespace
}  // namespace pantoum::opencl
