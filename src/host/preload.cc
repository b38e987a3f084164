#include "host/engine.h"

#include <algorithm>
#include <cstddef>

#include "base/round_up.h"
#include "kernels/portable/pool_part.h"
#include "runtime/plan_bytes.h"

namespace pantoum::host {
namespace {

constexpr size_t kAlignment = 64;  // at least

// Places the operands of an op one behind the other in `memory`, unless it is null. Returns the offset in bytes of their end, where the workspace
// begins.
size_t place(pt_op_view& view, size_t align, std::byte* memory) {
  size_t at = 0;
  for (int operand = 0; operand < view.input_count + view.output_count; ++operand) {
    pt_tensor& tensor = view.operands[operand];
    if (memory != nullptr) tensor.data = memory + at;
    at += base::round_up(static_cast<size_t>(pt_type_elements(&tensor) * pt_dtype_size(tensor.dtype)), align);
  }
  return at;
}

// Calls act(kernel, pool, view) for every op that `of` gives kernels for.
template <class Act>
pt_status for_each_op(const pt_plan& plan, const ComputingOf& of, const Act& act) {
  for (uint32_t op = 0; op < plan.op_count; ++op) {
    pt_op_view view;
    if (pt_decode_op(&plan, op, &view) != PT_OK) return PT_E_PLAN;
    if (pt_is_sliced(&view)) continue;  // by a portable kernel, which prepares nothing
    const std::optional<Computing> by = of(view.engines);
    if (!by) continue;
    const pt_kernel* kernel = pt_kernel_find(by->kernels, view.op, view.dtype, view.algorithm, view.engine);
    if (kernel == nullptr) return PT_E_KERNEL;
    if (const pt_status status = act(*kernel, by->pool, view); status != PT_OK) return status;
  }
  return PT_OK;
}

constexpr pt_scalars kScalars = {1, 0, 0};

// Bytes that the kernel needs on the pool, or PT_NO_KERNEL.
size_t workspace_of(const pt_kernel& kernel, const pt_pool* pool, const pt_op_view& view) {
  pt_pool_part part;
  pt_call call = pt_call_of(&view, pt_take_pool(&part, pool, view.threads));
  call.scalars = &kScalars;
  return kernel.workspace_bytes != nullptr ? kernel.workspace_bytes(&call) : 0;
}

}  // namespace

bool has_room(const pt_plan& plan, const ComputingOf& of) {
  const auto fits = [](const pt_kernel& kernel, const pt_pool* pool, const pt_op_view& view) {
    const size_t workspace = workspace_of(kernel, pool, view);
    return workspace == PT_NO_KERNEL || workspace <= view.workspace_bytes ? PT_OK : PT_E_PLAN;
  };
  return for_each_op(plan, of, fits) != PT_E_PLAN;
}

pt_status preload(const pt_plan& plan, const ComputingOf& of) {
  const size_t align = std::max<size_t>(kAlignment, plan.align_bytes);
  size_t most = 0;
  const pt_status prepared = for_each_op(plan, of, [&](const pt_kernel& kernel, const pt_pool* pool, pt_op_view& view) {
    const size_t workspace = workspace_of(kernel, pool, view);
    if (workspace == PT_NO_KERNEL) return PT_E_KERNEL;
    if (workspace > view.workspace_bytes) return PT_E_PLAN;
    most = std::max(most, place(view, align, nullptr) + static_cast<size_t>(view.workspace_bytes));
    return PT_OK;
  });
  if (prepared != PT_OK || most == 0) return prepared;
  const auto scratch = Arena::map(most, align);
  if (!scratch) return PT_E_FULL;
  auto* const memory = static_cast<std::byte*>(scratch->data());
  return for_each_op(plan, of, [&](const pt_kernel& kernel, const pt_pool* pool, pt_op_view& view) {
    const size_t operands = place(view, align, memory);
    pt_pool_part part;
    pt_call call = pt_call_of(&view, pt_take_pool(&part, pool, view.threads));
    call.scalars = &kScalars;
    call.workspace = memory + operands;
    pt_status status = kernel.submit(&call);
    if (status == PT_OK && kernel.wait != nullptr) status = kernel.wait(&call);
    return status == PT_E_DATA ? PT_OK : status;  // an op may refuse the zeros of the scratch memory as data
  });
}

}  // namespace pantoum::host
