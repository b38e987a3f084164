#include "cost/kernel_bench.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "base/round_up.h"
#include "cost/kernel_call.h"

namespace pantoum::cost {
namespace {

constexpr Bytes kOperandAlignment = 64;
constexpr Bytes kMostPlaces = 128;
constexpr size_t kLeastRuns = 3, kMostRuns = 128;

Bytes room_of(Bytes bytes) {
  return base::round_up(std::max<Bytes>(bytes, 1), kOperandAlignment);
}

void fill(const ir::TensorType& type, std::byte* bytes) {
  const auto size = static_cast<size_t>(type.bytes());
  if (type.dtype != ir::DType::kF32) {
    std::memset(bytes, 0, size);
    return;
  }
  static const auto kNumbers = [] {
    std::array<float, size_t{61} * 32> numbers{};
    for (size_t at = 0; at < numbers.size(); ++at) numbers[at] = static_cast<float>(at % 61 + 1) / 61.0F;
    return numbers;
  }();
  for (size_t at = 0; at < size; at += sizeof kNumbers)
    std::memcpy(bytes + at, kNumbers.data(), std::min(sizeof kNumbers, size - at));
}

pt_tensor tensor_at(const ir::TensorType& type, std::byte* data) {
  pt_tensor tensor{};
  tensor.data = data;
  tensor.rank = static_cast<uint8_t>(type.shape.size());
  tensor.dtype = static_cast<uint8_t>(type.dtype);
  for (size_t dim = 0; dim < type.shape.size() && dim < PT_MAX_RANK; ++dim)
    tensor.dims[dim] = static_cast<uint32_t>(type.shape[dim]);
  return tensor;
}

// A kernel's call on operands at one place. It stays where it is: the call points into it.
class Place {
 public:
  // With `at` null nothing is filled, and the call only describes.
  Place(const ir::Graph& graph, const ir::Op& op, const pt_pool* pool, std::byte* at) : at_(at) {
    for (const ir::ValueId input : op.inputs) inputs_.push_back(operand(graph.value(input).type, true));
    for (const ir::ValueId output : op.outputs) outputs_.push_back(operand(graph.value(output).type, false));
    call_ = call_of(op, inputs_, outputs_);
    call_.scalars = &scalars_;
    call_.pool = pool;
    call_.workspace = at == nullptr ? nullptr : at + size_;
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  [[nodiscard]] const pt_call& call() const { return call_; }
  [[nodiscard]] Bytes operand_bytes() const { return size_; }

 private:
  pt_tensor operand(const ir::TensorType& type, bool filled) {
    std::byte* data = at_ == nullptr ? nullptr : at_ + size_;
    if (data != nullptr && filled) fill(type, data);
    size_ += room_of(type.bytes());
    return tensor_at(type, data);
  }

  std::byte* at_;
  Bytes size_ = 0;
  std::vector<pt_tensor> inputs_, outputs_;
  pt_scalars scalars_{.step = 1, .seed = 1, .lr = 0.0};
  pt_call call_{};
};

bool runs(const pt_kernel& kernel, const pt_call& call) {
  return kernel.submit(&call) == PT_OK && (kernel.wait == nullptr || kernel.wait(&call) == PT_OK);
}

double since(KernelBench::Clock::time_point begin) {
  return std::chrono::duration<double>(KernelBench::Clock::now() - begin).count();
}

Seconds median(std::vector<Seconds> seconds) {
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

}  // namespace

Bytes KernelBench::bytes_of(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel) const {
  const Place described(graph, op, pool_, nullptr);
  const size_t workspace = kernel.workspace_bytes == nullptr ? 0 : kernel.workspace_bytes(&described.call());
  if (workspace >= static_cast<size_t>(std::numeric_limits<Bytes>::max() / 2)) return most_ + 1;
  return described.operand_bytes() + room_of(static_cast<Bytes>(workspace));
}

bool KernelBench::reserve(size_t bytes) {
  if (bytes <= reserved_) return true;
  memory_.reset();
  reserved_ = 0;
  memory_.reset(static_cast<std::byte*>(::operator new[](bytes, kAlignment, std::nothrow)));
  if (!memory_) return false;
  std::memset(memory_.get(), 0, bytes);  // no run pays for pages that were never touched
  reserved_ = bytes;
  return true;
}

std::optional<Seconds> KernelBench::seconds(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel,
                                            Seconds slice, Clock::time_point deadline) {
  const Bytes one = bytes_of(graph, op, kernel);
  if (one > most_) return std::nullopt;
  const Bytes fitting = std::clamp<Bytes>(std::min(footprint_, most_) / one, 1, kMostPlaces);
  if (!reserve(static_cast<size_t>(fitting * one))) return std::nullopt;
  std::vector<std::unique_ptr<Place>> places;
  for (Bytes place = 0; place < fitting; ++place)
    places.push_back(std::make_unique<Place>(graph, op, pool_, memory_.get() + place * one));
  if (!runs(kernel, places.back()->call())) return std::nullopt;
  std::vector<Seconds> taken;
  double total = 0;
  while (taken.size() < kLeastRuns || (total < slice && taken.size() < kMostRuns)) {
    const auto begin = Clock::now();
    if (begin >= deadline) break;
    if (!runs(kernel, places[taken.size() % places.size()]->call())) return std::nullopt;
    taken.push_back(since(begin));
    total += taken.back();
  }
  if (taken.empty()) return std::nullopt;
  return std::max(median(std::move(taken)), 1e-9);
}

}  // namespace pantoum::cost
