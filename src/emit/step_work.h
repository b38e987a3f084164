// What a training step computes, told from its binary plan: for whoever holds instructions against it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "pantoum/pantoum.h"

namespace pantoum::emit {

// A kernel of the step. Multiply-accumulates are those of products alone (matrix products, convolutions and their
// gradients): one for every pair of elements that the op's definition multiplies, so that neither padding nor what a
// kernel adds of its own counts. `done` has what is computed again counted again, `needed` once.
struct KernelWork {
  std::string function, op;  // in C; the op of its first call
  uint64_t calls = 0, macs_done = 0, macs_needed = 0;
  bool streams = false;  // some calls compute in slices: the device calls it once for each slice
};

// Of program `program`, kernels in the order of their first call. E0291 a damaged plan, or a kernel that is not one of
// the portable ones.
Result<std::vector<KernelWork>> step_work(const pt_plan& plan, uint32_t program);

// Multiply-accumulates of an op with these operands; 0 for what is no product.
uint64_t multiply_accumulates(const std::string& op, const pt_tensor* operands, unsigned inputs, const int64_t* ints);

// As model/run.json of a project has them, and back.
nlohmann::ordered_json to_json(const std::vector<KernelWork>& kernels);
std::vector<KernelWork> kernel_work(const nlohmann::json& json);

}  // namespace pantoum::emit
