// Batch norm that uses its running statistics: for evaluation, and in training with --freeze-stats.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "autodiff/autodiff.h"

namespace pantoum::autodiff {

// The op that keeps the running statistics made of each mean.
using StatsOf = std::unordered_map<ValueId, OpId>;
[[nodiscard]] StatsOf stats_of_means(const Graph& graph);

// Turns a batch_norm into a batch_norm_eval; its statistics op is left behind. E0299 it has none.
[[nodiscard]] Result<void> use_running_statistics(Graph& graph, Op& op, const StatsOf& stats_of);

// Every batch norm of a forward graph whose running mean or variance a glob names normalizes by its running statistics,
// which stay as they are. E0104 a glob that names none.
[[nodiscard]] Result<void> freeze_statistics(Graph& forward, const std::vector<std::string>& globs);

}  // namespace pantoum::autodiff
