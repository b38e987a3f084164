// Optimizer steps.
#pragma once

#include "autodiff/autodiff.h"
#include "ir/builder.h"

namespace pantoum::autodiff {

// `made` follows `value` from the next step on, under the name "<value>'".
void succeed(ir::Builder& builder, ir::ValueId value, ir::ValueId made);

// Appends the update of one parameter: its successor "<p>'", the op "<p>.<optimizer>", and its state. With
// NoOptimizer the gradient becomes an output of the graph, named "grad.<p>".
void append_update(ir::Builder& builder, const TrainingOptions& options, ir::ValueId parameter, ir::ValueId gradient);

// The optimizer with the weight decay that the options give this parameter.
[[nodiscard]] Optimizer optimizer_of(const TrainingOptions& options, const std::string& parameter);

}  // namespace pantoum::autodiff
