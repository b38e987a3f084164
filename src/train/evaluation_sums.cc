#include "train/evaluation_sums.h"

#include <cstring>

namespace pantoum::train {

// Bytes of ones: -1 in every integer type, and labels below 0 are ignored.
void mask_labels(const TensorTable& table, std::span<const data::BatchView> labels, int64_t row) {
  for (size_t term = 0; term < labels.size(); ++term) {
    if (!table.terms[term].correct) continue;
    const std::span<std::byte> bytes = labels[term].row(row);
    std::memset(bytes.data(), 0xFF, bytes.size());
  }
}

Evaluation evaluation_of(const EvaluationSums& sums, const TensorTable& table, int64_t samples) {
  Evaluation evaluation{.samples = samples, .term_count = table.terms.size()};
  for (size_t term = 0; term < table.terms.size(); ++term) {
    const LossTensors& tensors = table.terms[term];
    const auto mean = [&](double sum) { return sums[term].weight > 0 ? sum / sums[term].weight : 0; };
    TermEvaluation& entry = evaluation.terms[term];
    entry.loss = mean(sums[term].loss);
    if (tensors.correct) entry.accuracy = mean(sums[term].correct);
    if (tensors.top5) entry.top5 = mean(sums[term].top5);
    if (tensors.absolute_error) entry.mean_absolute_error = mean(sums[term].absolute_error);
    evaluation.loss += entry.loss;
    if (entry.accuracy && !evaluation.has_accuracy) {
      evaluation.accuracy = *entry.accuracy;
      evaluation.has_accuracy = true;
    }
  }
  return evaluation;
}

}  // namespace pantoum::train
