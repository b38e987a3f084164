// Sums over the batches of an evaluation, for every loss.
#pragma once

#include <array>
#include <span>

#include "data/batch.h"
#include "train/tensor_table.h"
#include "train/trainer.h"

namespace pantoum::train {

// One batch's results. Losses and errors are means: over the labels that are not ignored (counted), or over all.
struct BatchMeasures {
  double loss = 0, correct = 0, top5 = 0, counted = 0, absolute_error = 0;
};

struct TermSums {
  double loss = 0, weight = 0, correct = 0, top5 = 0, absolute_error = 0;

  void add_counted(const BatchMeasures& measures) {
    loss += measures.loss * measures.counted;
    weight += measures.counted;
    correct += measures.correct;
    top5 += measures.top5;
  }
  void add_means(const BatchMeasures& measures, double rows) {
    loss += measures.loss * rows;
    absolute_error += measures.absolute_error * rows;
    weight += rows;
  }
};

using EvaluationSums = std::array<TermSums, kMaxLosses>;

// Sets the labels of a row so that no loss counts them, where labels are classes.
void mask_labels(const TensorTable& table, std::span<const data::BatchView> labels, int64_t row);

[[nodiscard]] Evaluation evaluation_of(const EvaluationSums& sums, const TensorTable& table, int64_t samples);

}  // namespace pantoum::train
