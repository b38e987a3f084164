#include "cost/step_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <span>

#include "base/checksum.h"
#include "base/round_up.h"
#include "cost/cache_context.h"
#include "cost/kernel_bench.h"
#include "ir/kernel_call.h"

namespace pantoum::cost {
namespace {

using problem::Home;
using problem::Op;

constexpr size_t kLeastRounds = 3, kMostRounds = 64;  // after one round that warms up
constexpr Bytes kNowhere = -1;

// Gives out addresses: always the lowest that is free.
class Addresses {
 public:
  Bytes take(Bytes size) {
    for (auto gap = free_.begin(); gap != free_.end(); ++gap) {
      if (gap->second < size) continue;
      const auto [at, room] = *gap;
      free_.erase(gap);
      if (room > size) free_.emplace(at + size, room - size);
      return at;
    }
    const bool grows = !free_.empty() && free_.rbegin()->first + free_.rbegin()->second == end_;
    const Bytes at = grows ? free_.rbegin()->first : end_;
    if (grows) free_.erase(at);
    end_ = at + size;
    return at;
  }

  void give_back(Bytes at, Bytes size) {
    auto entry = free_.emplace(at, size).first;
    if (const auto next = std::next(entry); next != free_.end() && at + size == next->first) {
      entry->second += next->second;
      free_.erase(next);
    }
    if (entry == free_.begin()) return;
    const auto before = std::prev(entry);
    if (before->first + before->second != entry->first) return;
    before->second += entry->second;
    free_.erase(entry);
  }

  [[nodiscard]] Bytes end() const { return end_; }

 private:
  std::map<Bytes, Bytes> free_;  // free ranges: size by address; no two of them touch
  Bytes end_ = 0;
};

// The places of an op's operands and of its workspace.
struct Placed {
  int64_t op = 0;
  std::vector<Bytes> inputs, outputs;
  Bytes workspace = kNowhere;
};

class Placement {
 public:
  Placement(const BuiltCostGraph& built, const std::vector<size_t>& choices)
      : built_(built), graph_(built.graph), choices_(choices), at_(graph_.tensors.size(), kNowhere) {
    find_last_uses();
    for (const problem::Tensor& tensor : graph_.tensors)
      if (tensor.start != Home::kNone) take(tensor.id);
    starts_ = at_;
    for (const int64_t op : graph_.order)
      if (!graph_.ops[static_cast<size_t>(op)].optional) place(op);
  }

  [[nodiscard]] Bytes bytes() const { return addresses_.end(); }
  [[nodiscard]] const std::vector<Placed>& ops() const { return ops_; }
  [[nodiscard]] Bytes start_of(size_t tensor) const { return starts_[tensor]; }

 private:
  static constexpr Bytes kAlignment = 64;

  [[nodiscard]] Bytes size_of(int64_t tensor) const {
    return base::round_up(graph_.tensors[static_cast<size_t>(tensor)].bytes, kAlignment);
  }
  Bytes& at(int64_t tensor) { return at_[static_cast<size_t>(tensor)]; }
  void take(int64_t tensor) { at(tensor) = addresses_.take(size_of(tensor)); }

  void find_last_uses() {
    const std::vector<int64_t> last = last_uses(graph_);
    dies_.resize(graph_.ops.size());
    for (size_t tensor = 0; tensor < last.size(); ++tensor)
      if (last[tensor] >= 0) dies_[static_cast<size_t>(last[tensor])].push_back(static_cast<int64_t>(tensor));
  }

  [[nodiscard]] bool dies_at(int64_t tensor, int64_t op) const {
    const std::vector<int64_t>& dying = dies_[static_cast<size_t>(op)];
    return std::find(dying.begin(), dying.end(), tensor) != dying.end();
  }

  void place(int64_t id) {
    const Op& op = graph_.ops[static_cast<size_t>(id)];
    const size_t chosen = choices_[static_cast<size_t>(id)];
    const problem::Choice& choice = op.choices[chosen];
    std::vector<int64_t> passed_on;
    for (const auto& [output, input] : choice.overwrites) {
      const int64_t to = op.outputs[static_cast<size_t>(output)], from = op.inputs[static_cast<size_t>(input)];
      const bool replaces = graph_.tensors[static_cast<size_t>(from)].next == to;
      const bool taken = std::find(passed_on.begin(), passed_on.end(), from) != passed_on.end();
      if (at(to) != kNowhere || taken || size_of(to) != size_of(from) || !(replaces || dies_at(from, id))) continue;
      at(to) = at(from);
      if (!replaces) passed_on.push_back(from);
    }
    for (const int64_t output : op.outputs)
      if (at(output) == kNowhere) take(output);
    Placed placed{.op = id};
    const ir::Op& as = built_.computed_as[static_cast<size_t>(id)][chosen];
    for (const ir::ValueId input : as.inputs) placed.inputs.push_back(at(built_.tensor_of[static_cast<size_t>(input)]));
    for (const ir::ValueId output : as.outputs)
      placed.outputs.push_back(at(built_.tensor_of[static_cast<size_t>(output)]));
    if (const Bytes size = base::round_up(choice.workspace_bytes, kAlignment); size > 0) {
      placed.workspace = addresses_.take(size);
      addresses_.give_back(placed.workspace, size);
    }
    for (const int64_t tensor : dies_[static_cast<size_t>(id)])
      if (std::find(passed_on.begin(), passed_on.end(), tensor) == passed_on.end())
        addresses_.give_back(at(tensor), size_of(tensor));
    ops_.push_back(std::move(placed));
  }

  const BuiltCostGraph& built_;
  const CostGraph& graph_;
  const std::vector<size_t>& choices_;
  Addresses addresses_;
  std::vector<Bytes> at_, starts_;          // by tensor
  std::vector<std::vector<int64_t>> dies_;  // by op
  std::vector<Placed> ops_;                 // in the step's order
};

// An op that is ready to run. It must not move in memory, because the call points into it.
struct Ready {
  int64_t op = 0;
  const pt_kernel* kernel = nullptr;
  std::vector<pt_tensor> inputs, outputs;
  pt_call call = {};
  pt_pool_part part = {};
  std::vector<Seconds> taken = {};
};

class Step {
 public:
  Step(const ir::Graph& graph, const BuiltCostGraph& built, const std::vector<size_t>& choices,
       const StepLimits& limits)
      : graph_(graph), built_(built), choices_(choices), limits_(limits), placement_(built, choices) {}

  std::optional<std::vector<Seconds>> run() {
    using Clock = std::chrono::steady_clock;
    const auto left = [&] { return std::chrono::duration<double>(limits_.deadline - Clock::now()).count(); };
    if (limits_.stop.stop_requested() || limits_.expected * (kLeastRounds + 1) > left()) return std::nullopt;
    if (placement_.bytes() > limits_.memory || !reserve()) return std::nullopt;
    prepare();
    fill(false);
    const auto begin = Clock::now();
    const auto taken = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
    for (size_t round = 0; round <= kMostRounds; ++round) {
      const Seconds each = round == 0 ? limits_.expected : taken() / static_cast<double>(round);
      const size_t missing = round < kLeastRounds + 1 ? kLeastRounds + 1 - round : 1;
      if (limits_.stop.stop_requested() || each * static_cast<double>(missing) > left()) break;
      if (missing == 1 && round > kLeastRounds && taken() > limits_.slice) break;
      const Round ended = run_round(round);
      if (ended == Round::kFailed) return std::nullopt;
      if (ended == Round::kStopped) break;
    }
    std::vector<Seconds> seconds(built_.graph.ops.size(), 0);
    for (const std::unique_ptr<Ready>& op : ops_) {
      if (op->taken.size() < kLeastRounds) return std::nullopt;
      seconds[static_cast<size_t>(op->op)] = sample_of(std::move(op->taken)).seconds;
    }
    return seconds;
  }

 private:
  static constexpr std::align_val_t kAlignment{4096};
  struct Release {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, kAlignment); }
  };

  bool reserve() {
    const auto size = static_cast<size_t>(std::max<Bytes>(placement_.bytes(), 1));
    memory_.reset(static_cast<std::byte*>(::operator new[](size, kAlignment, std::nothrow)));
    if (memory_) std::memset(memory_.get(), 0, size);
    return memory_ != nullptr;
  }

  void prepare() {
    for (const Placed& placed : placement_.ops()) {
      auto ready = std::make_unique<Ready>();
      const auto op = static_cast<size_t>(placed.op);
      const ir::Op& as = built_.computed_as[op][choices_[op]];
      ready->op = placed.op;
      ready->kernel = built_.kernel_of[op][choices_[op]];
      for (size_t at = 0; at < as.inputs.size(); ++at)
        ready->inputs.push_back(ir::tensor_at(graph_.value(as.inputs[at]).type, memory_.get() + placed.inputs[at]));
      for (size_t at = 0; at < as.outputs.size(); ++at)
        ready->outputs.push_back(ir::tensor_at(graph_.value(as.outputs[at]).type, memory_.get() + placed.outputs[at]));
      ready->call = call_of(as, ready->inputs, ready->outputs);
      const int threads = built_.threads_of[op][choices_[op]];
      ready->call.pool = pt_take_pool(&ready->part, limits_.pool, static_cast<uint32_t>(threads));
      ready->call.scalars = &scalars_;
      if (placed.workspace != kNowhere) ready->call.workspace = memory_.get() + placed.workspace;
      ops_.push_back(std::move(ready));
    }
  }

  // Writes what a step begins with; `fed_alone`: only what is fed anew for each step.
  void fill(bool fed_alone) {
    for (size_t tensor = 0; tensor < built_.value_of.size(); ++tensor) {
      const ir::Value& value = graph_.value(built_.value_of[tensor]);
      const bool fed = value.role == ir::Role::kInput || value.role == ir::Role::kLabel;
      if (placement_.start_of(tensor) == kNowhere || (fed_alone && !fed)) continue;
      std::byte* at = memory_.get() + placement_.start_of(tensor);
      if (value.data)
        std::memcpy(at, value.data->data(), std::min(value.data->size(), static_cast<size_t>(value.type.bytes())));
      else if (fed)
        fill_operand(value.type, at);
    }
  }

  enum class Round { kWhole, kStopped, kFailed };

  Round run_round(size_t round) {
    using Clock = std::chrono::steady_clock;
    if (round > 0) fill(true);
    ++scalars_.step;
    for (const std::unique_ptr<Ready>& op : ops_) {
      const auto begin = Clock::now();
      if (begin > limits_.deadline || limits_.stop.stop_requested()) return Round::kStopped;
      const pt_kernel& kernel = *op->kernel;
      if (kernel.submit(&op->call) != PT_OK || (kernel.wait != nullptr && kernel.wait(&op->call) != PT_OK))
        return Round::kFailed;
      if (round > 0) op->taken.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    }
    return Round::kWhole;
  }

  const ir::Graph& graph_;
  const BuiltCostGraph& built_;
  const std::vector<size_t>& choices_;
  const StepLimits& limits_;
  const Placement placement_;
  std::unique_ptr<std::byte[], Release> memory_;
  std::vector<std::unique_ptr<Ready>> ops_;
  pt_scalars scalars_{.step = 0, .seed = 1, .lr = 0.0};
};

}  // namespace

std::optional<std::vector<Seconds>> seconds_in_step(const ir::Graph& graph, const BuiltCostGraph& built,
                                                    const std::vector<size_t>& choices, const StepLimits& limits) {
  const bool computable = std::none_of(built.graph.ops.begin(), built.graph.ops.end(),
                                       [](const Op& op) { return !op.optional && op.choices.empty(); });
  return computable ? Step(graph, built, choices, limits).run() : std::nullopt;
}

MeasuredStep::MeasuredStep(const ir::Graph& graph, const BuiltCostGraph& built, std::vector<size_t> choices,
                           std::vector<OpKey> keys)
    : graph_(graph), built_(built), choices_(std::move(choices)), keys_(std::move(keys)) {
  std::string text;
  each([&](const problem::Op& op, size_t choice, OpKey key) {
    key.machine.clear();  // so that times from a table of another machine are found
    text += fmt::format("{}<{}>{}", text_of(key), fmt::join(op.inputs, ","), fmt::join(op.outputs, ","));
    for (const auto& [output, input] : op.choices[choice].overwrites) text += fmt::format("<{}>{}", output, input);
    text += ';';
  });
  name_ = base::checksum_text(base::checksum_of(std::as_bytes(std::span(text))));
}

std::optional<Seconds> MeasuredStep::find(const OpKey& key) const {
  const auto found = found_.find(text_of(key));
  return found == found_.end() ? std::nullopt : std::optional(found->second);
}

OpKey MeasuredStep::in_step(OpKey key) const {
  key.attributes += "|in step " + name_;
  return key;
}

Result<bool> MeasuredStep::look_up(ProfileStore& store) {
  std::map<std::string, Seconds> known;
  for (const problem::Op& op : built_.graph.ops) {
    if (op.optional || op.choices.empty()) continue;
    const OpKey& key = keys_[static_cast<size_t>(op.id)];
    if (known.contains(text_of(key))) continue;
    PANTOUM_ASSIGN(const std::optional<OpSample> found, store.find_op(in_step(key)));
    if (!found) return false;
    known.emplace(text_of(key), found->seconds);
  }
  found_ = std::move(known);
  return !found_.empty();
}

Seconds MeasuredStep::sum_of(const std::map<std::string, Seconds>& means) const {
  Seconds sum = 0;
  each([&](const problem::Op&, size_t /*choice*/, const OpKey& key) { sum += means.at(text_of(key)); });
  return sum;
}

bool MeasuredStep::run(const StepLimits& limits) {
  constexpr Seconds kLeastMean = 1e-9;
  const std::optional<std::vector<Seconds>> seconds = seconds_in_step(graph_, built_, choices_, limits);
  if (!seconds) return false;
  std::map<std::string, std::pair<Seconds, int>> sums;
  each([&](const problem::Op& op, size_t /*choice*/, const OpKey& key) {
    auto& [sum, count] = sums[text_of(key)];
    sum += (*seconds)[static_cast<size_t>(op.id)], ++count;
  });
  std::map<std::string, Seconds> now;
  for (const auto& [key, sum] : sums) now.emplace(key, std::max(sum.first / sum.second, kLeastMean));
  if (!is_found() || sum_of(now) < sum_of(found_)) found_ = std::move(now);
  return true;
}

Result<void> MeasuredStep::keep(ProfileStore& store) const {
  for (const OpKey& key : keys_) {
    const std::optional<Seconds> mean = find(key);
    if (!mean) continue;
    PANTOUM_TRY(store.put_op(in_step(key), {.seconds = *mean, .low_s = *mean, .high_s = *mean, .runs = 1}));
  }
  return {};
}

}  // namespace pantoum::cost
