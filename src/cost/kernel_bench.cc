#include "cost/kernel_bench.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/round_up.h"
#include "ir/kernel_call.h"

namespace pantoum::cost {
namespace {

constexpr Bytes kMostPlaces = 1024;
constexpr size_t kLeastRuns = 3, kMostRuns = 1024;
constexpr size_t kIntervalRuns = 6;  // the 95% interval of a median of fewer runs reaches beyond their extremes
constexpr Seconds kLeastSeconds = 1e-9;

Bytes room_of(Bytes bytes, Bytes align) {
  return base::round_up(std::max<Bytes>(bytes, 1), align);
}

constexpr Bytes kNotComputed = std::numeric_limits<Bytes>::max() / 2;

Bytes workspace_of(const pt_kernel& kernel, const pt_call& call) {
  const size_t bytes = kernel.workspace_bytes == nullptr ? 0 : kernel.workspace_bytes(&call);
  return bytes >= static_cast<size_t>(kNotComputed) ? kNotComputed : static_cast<Bytes>(bytes);
}

bool runs(const pt_kernel& kernel, const pt_call& call) {
  return kernel.submit(&call) == PT_OK && (kernel.wait == nullptr || kernel.wait(&call) == PT_OK);
}

double since(KernelBench::Clock::time_point begin) {
  return std::chrono::duration<double>(KernelBench::Clock::now() - begin).count();
}

}  // namespace

void fill_operand(const ir::TensorType& type, std::byte* bytes) {
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

// A kernel's call on operands at one place. It must not move in memory, because the call points into it.
class KernelBench::Place {
 public:
  // If `at` is null, nothing is filled, and the call only describes operands.
  Place(const ir::Graph& graph, const ir::Op& op, const pt_pool* pool, Bytes align, std::byte* at)
      : at_(at), align_(align) {
    for (const ir::ValueId input : op.inputs) inputs_.push_back(operand(graph.value(input).type, true));
    for (const ir::ValueId output : op.outputs) {
      const auto replaced = std::find_if(op.inputs.begin(), op.inputs.end(),
                                         [&](ir::ValueId input) { return graph.value(input).next == output; });
      outputs_.push_back(replaced == op.inputs.end() ? operand(graph.value(output).type, false)
                                                     : inputs_[static_cast<size_t>(replaced - op.inputs.begin())]);
    }
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
    if (data != nullptr && filled) fill_operand(type, data);
    size_ += room_of(type.bytes(), align_);
    return ir::tensor_at(type, data);
  }

  std::byte* at_;
  Bytes align_;
  Bytes size_ = 0;
  std::vector<pt_tensor> inputs_, outputs_;
  pt_scalars scalars_{.step = 1, .seed = 1, .lr = 0.0};
  pt_call call_{};
};

bool is_settled(const OpSample& sample) {
  const double most = kSettled * sample.seconds;
  return sample.runs >= static_cast<int64_t>(kIntervalRuns) && sample.high_s - sample.seconds <= most &&
         sample.seconds - sample.low_s <= most;
}

OpSample sample_of(std::vector<Seconds> taken) {
  std::sort(taken.begin(), taken.end());
  const size_t count = taken.size();
  size_t outside = 0;  // how many times lie outside of the interval on each side
  if (count >= kIntervalRuns) {
    constexpr double kNormal95 = 1.96;
    const double runs = static_cast<double>(count);
    outside = static_cast<size_t>(std::max(0.0, std::floor((runs - kNormal95 * std::sqrt(runs)) / 2) - 1));
  }
  const auto at = [&](size_t rank) { return std::max(taken[rank], kLeastSeconds); };
  return {.seconds = at(count / 2),
          .low_s = at(outside),
          .high_s = at(count - 1 - outside),
          .runs = static_cast<int64_t>(count)};
}

void KernelBench::use_memory(std::span<std::byte> memory, Bytes align) {
  given_ = memory;
  align_ = align;
}

void KernelBench::take_threads(uint32_t threads) {
  pool_ = pt_take_pool(&part_, all_, threads);
}

Bytes KernelBench::bytes_of(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel) const {
  const Place described(graph, op, pool_, align_, nullptr);
  const Bytes workspace = workspace_of(kernel, described.call());
  return workspace == kNotComputed ? most_ + 1 : described.operand_bytes() + room_of(workspace, align_);
}

bool KernelBench::reserve(size_t bytes) {
  if (!given_.empty()) return bytes <= given_.size();
  if (bytes <= reserved_) return true;
  memory_.reset();
  reserved_ = 0;
  memory_.reset(static_cast<std::byte*>(::operator new[](bytes, kAlignment, std::nothrow)));
  if (!memory_) return false;
  std::memset(memory_.get(), 0, bytes);  // so that no run touches a page for the first time
  reserved_ = bytes;
  return true;
}

std::optional<KernelBench::Calls> KernelBench::prepare(const ir::Graph& graph, const ir::Op& op,
                                                       const pt_kernel& kernel) {
  const Bytes one = bytes_of(graph, op, kernel);
  if (one > most_) return std::nullopt;
  const Bytes fitting = std::clamp<Bytes>(std::min(footprint_, most_) / one, 1, kMostPlaces);
  if (!reserve(static_cast<size_t>(fitting * one))) return std::nullopt;
  std::byte* const begin = given_.empty() ? memory_.get() : given_.data();
  Calls places;
  for (Bytes place = 0; place < fitting; ++place)
    places.push_back(std::make_shared<Place>(graph, op, pool_, align_, begin + place * one));
  if (!runs(kernel, places.back()->call())) return std::nullopt;
  return places;
}

// Runs the kernel until it gets no quicker: adaptive caches need several runs before they keep what is used again.
bool KernelBench::warm_up(const Place& place, const pt_kernel& kernel, Clock::time_point deadline) {
  constexpr int kMostWarmUps = 16;
  constexpr double kStillFalling = 0.97;
  Seconds before = std::numeric_limits<Seconds>::infinity();
  for (int run = 0; run < kMostWarmUps && Clock::now() < deadline; ++run) {
    const auto begin = Clock::now();
    if (!runs(kernel, place.call())) return false;
    const Seconds now = since(begin);
    if (now > kStillFalling * before) break;
    before = now;
  }
  return true;
}

std::optional<OpSample> KernelBench::measure(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel,
                                             const BenchLimits& limits) {
  const std::optional<Calls> places = prepare(graph, op, kernel);
  if (!places) return std::nullopt;
  std::vector<Seconds> taken;
  const auto run_once = [&](const Place& place) {
    const auto begin = Clock::now();
    if (!runs(kernel, place.call())) return false;
    taken.push_back(since(begin));
    return true;
  };
  double total = 0;
  OpSample sample;
  while (taken.size() < kLeastRuns || (total < limits.slice && taken.size() < kMostRuns && !is_settled(sample))) {
    if (Clock::now() >= limits.deadline) break;
    if (!run_once(*(*places)[taken.size() % places->size()])) return std::nullopt;
    total += taken.back();
    if (taken.size() % kIntervalRuns == 0) sample = sample_of(taken);
  }
  if (taken.empty()) return std::nullopt;
  sample = sample_of(std::move(taken));
  taken.clear();
  if (limits.warm_runs > 0 && !warm_up(*places->front(), kernel, limits.deadline)) return std::nullopt;
  while (taken.size() < limits.warm_runs && Clock::now() < limits.deadline)
    if (!run_once(*places->front())) return std::nullopt;
  if (!taken.empty()) sample.warm_s = sample_of(std::move(taken)).seconds;
  sample.workspace_bytes = workspace_of(kernel, places->front()->call());
  return sample;
}

std::function<bool()> KernelBench::runner(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel) {
  std::optional<Calls> places = prepare(graph, op, kernel);
  if (!places) return [] { return false; };
  return [places = *std::move(places), &kernel, at = size_t{0}]() mutable {
    return runs(kernel, places[at++ % places.size()]->call());
  };
}

}  // namespace pantoum::cost
