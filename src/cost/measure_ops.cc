#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "cost/kernel_call.h"
#include "cost/measure.h"
#include "ir/op_registry.h"

namespace pantoum::cost {
namespace {

constexpr size_t kAlignment = 64;
constexpr int kLeastRuns = 3, kMostRuns = 50;
constexpr double kSecondsPerOp = 0.02;

struct AlignedDelete {
  void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t{kAlignment}); }
};
using Buffer = std::unique_ptr<std::byte[], AlignedDelete>;

Buffer allocate(size_t bytes) {
  const size_t size = std::max<size_t>(bytes, kAlignment);
  Buffer buffer(static_cast<std::byte*>(::operator new[](size, std::align_val_t{kAlignment})));
  std::memset(buffer.get(), 0, size);
  return buffer;
}

// Numbers in (0, 1], so that no kernel meets denormals, logarithms of 0 or divisions by 0.
void fill(const ir::TensorType& type, std::byte* bytes) {
  if (type.dtype != ir::DType::kF32) return;
  auto* numbers = reinterpret_cast<float*>(bytes);
  for (int64_t at = 0; at < type.elements(); ++at) numbers[at] = static_cast<float>(at % 61 + 1) / 61.0F;
}

// One op's operands in memory of their own.
class Bench {
 public:
  Bench(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel, const pt_pool* pool) : kernel_(kernel) {
    for (ir::ValueId input : op.inputs) inputs_.push_back(operand(graph.value(input).type));
    for (ir::ValueId output : op.outputs) outputs_.push_back(operand(graph.value(output).type));
    call_ = call_of(op, inputs_, outputs_);
    call_.scalars = &scalars_;
    call_.pool = pool;
    if (kernel.workspace_bytes != nullptr) {
      memory_.push_back(allocate(kernel.workspace_bytes(&call_)));
      call_.workspace = memory_.back().get();
    }
  }

  // The median of several runs, in seconds; negative when the kernel fails.
  double run() {
    std::vector<double> seconds;
    double total = 0;
    while (static_cast<int>(seconds.size()) < kLeastRuns ||
           (total < kSecondsPerOp && static_cast<int>(seconds.size()) < kMostRuns)) {
      const auto begin = std::chrono::steady_clock::now();
      if (kernel_.submit(&call_) != PT_OK) return -1;
      if (kernel_.wait != nullptr && kernel_.wait(&call_) != PT_OK) return -1;
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
      total += seconds.back();
    }
    std::nth_element(seconds.begin(), seconds.begin() + static_cast<long>(seconds.size() / 2), seconds.end());
    return seconds[seconds.size() / 2];
  }

 private:
  pt_tensor operand(const ir::TensorType& type) {
    memory_.push_back(allocate(static_cast<size_t>(type.bytes())));
    fill(type, memory_.back().get());
    pt_tensor tensor{};
    tensor.data = memory_.back().get();
    tensor.rank = static_cast<uint8_t>(type.shape.size());
    tensor.dtype = static_cast<uint8_t>(type.dtype);
    for (size_t dim = 0; dim < type.shape.size() && dim < PT_MAX_RANK; ++dim)
      tensor.dims[dim] = static_cast<uint32_t>(type.shape[dim]);
    return tensor;
  }

  const pt_kernel& kernel_;
  std::vector<Buffer> memory_;
  std::vector<pt_tensor> inputs_, outputs_;
  pt_scalars scalars_{.step = 1, .seed = 1, .lr = 0.0};
  pt_call call_{};
};

class MeasuringTimer final : public OpTimer {
 public:
  MeasuringTimer(ProfileStore& store, const pt_pool* pool) : store_(store), pool_(pool) {}

  Result<Seconds> seconds(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel) override {
    const std::string key = op_key(graph, op, kernel, pool_ ? pool_->threads : 1);
    PANTOUM_ASSIGN(const std::optional<Seconds> known, store_.find_op(key));
    if (known) return *known;
    const double measured = Bench(graph, op, kernel, pool_).run();
    if (measured < 0)
      return fail("E0003", fmt::format("the kernel of {} failed while it was measured", ir::name_of(op.kind)), op.name);
    PANTOUM_TRY(store_.put_op(key, measured, kLeastRuns));
    return measured;
  }

 private:
  ProfileStore& store_;
  const pt_pool* pool_;
};

std::string shapes(const ir::Graph& graph, const std::vector<ir::ValueId>& values) {
  std::string text;
  for (ir::ValueId value : values) {
    const ir::TensorType& type = graph.value(value).type;
    text += fmt::format("{}{}[{}]", text.empty() ? "" : " ", ir::name_of(type.dtype), fmt::join(type.shape, ","));
  }
  return text;
}

}  // namespace

std::string op_key(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel, uint32_t threads) {
  return fmt::format("{}|{}|{}->{}|{}|{}|threads {}", ir::name_of(op.kind), kernel.algorithm_name,
                     shapes(graph, op.inputs), shapes(graph, op.outputs), fmt::join(op.attrs.ints, ","),
                     fmt::join(op.attrs.reals, ","), threads);
}

std::unique_ptr<OpTimer> measuring_timer(ProfileStore& store, const pt_pool* pool) {
  return std::make_unique<MeasuringTimer>(store, pool);
}

}  // namespace pantoum::cost
