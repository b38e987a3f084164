// The words of all of the planner: those of the problem, and the numbers of a model's things, each of a type of its own.
#pragma once

#include <cstdint>

#include "base/index.h"
#include "problem/objective_values.h"
#include "problem/plan.h"

namespace pantoum::plan {

using problem::Bytes;
using problem::Certificate;
using problem::Choice;
using problem::CostGraph;
using problem::Do;
using problem::Freedoms;
using problem::Home;
using problem::Instruction;
using problem::Joules;
using problem::Link;
using problem::Objective;
using problem::Op;
using problem::Pager;
using problem::PagerMode;
using problem::Plan;
using problem::Predicted;
using problem::Question;
using problem::Refusal;
using problem::Rule;
using problem::Seconds;
using problem::SeparatorCount;
using problem::Status;
using problem::structure_hash;
using problem::Tensor;
using problem::value_of;
using problem::Variable;
using problem::Watts;
using problem::Weights;

using base::Index;
using base::Indexed;
using base::IndexRange;
using base::position_of;

using OpIndex = Index<struct OpTag>;              // of an op, by its place in the order of first computations
using TensorIndex = Index<struct TensorTag>;      // of a tensor, as the cost graph lists them
using IntervalIndex = Index<struct IntervalTag>;  // of an interval between two uses of a tensor
// 0 is the start, stage s in 1..n first computes the op at place s - 1 of the order, n + 1 is the end. One counts with
// stages, so they are plain numbers.
using Stage = int32_t;
using Choices = Indexed<OpIndex, int32_t>;  // by op: into OpModel::choices

}  // namespace pantoum::plan
