#include "cost/measured_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/checksum.h"

namespace pantoum::cost {

MeasuredStep::MeasuredStep(const ir::Graph& graph, const BuiltCostGraph& built, std::vector<size_t> choices,
                           std::vector<OpKey> keys)
    : graph_(graph), built_(built), choices_(std::move(choices)), keys_(std::move(keys)) {
  std::string text;
  each([&](const problem::Op& op, size_t choice, OpKey key) {
    key.machine.clear();  // a table may come from elsewhere
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
