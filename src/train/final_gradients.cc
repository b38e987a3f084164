#include "train/final_gradients.h"

#include <algorithm>
#include <map>

#include "runtime/plan_bytes.h"

namespace pantoum::train {
namespace {

constexpr uint32_t kAfterAll = UINT32_MAX;

// The last instruction that touches each tensor; kAfterAll where that is a transfer, which may be under way still.
Result<std::map<uint32_t, uint32_t>> last_uses(const pt_plan& plan, uint32_t program) {
  std::map<uint32_t, uint32_t> last;
  if (program >= plan.program_count) return fail("E0253", "the plan does not hold the program of the gradients");
  uint32_t instructions = 0;
  pt_cursor cursor = pt_program_code(&plan, program, &instructions);
  for (uint32_t instruction = 0; instruction < instructions; ++instruction) {
    pt_step step;
    pt_op_view view;
    if (pt_decode_step(&plan, &cursor, &step, &view) != PT_OK) return fail("E0251", "the binary plan is damaged");
    if (step.kind == PT_DO_COMPUTE) {
      for (unsigned operand = 0; operand < view.input_count + view.output_count; ++operand)
        last[view.tensors[operand]] = instruction;
    } else if (step.kind != PT_DO_FREE) {
      last[step.subject] = kAfterAll;
    }
  }
  return last;
}

}  // namespace

Result<FinalGradients> FinalGradients::of(const pt_plan& plan, uint32_t program, const std::vector<PlanTensor>& sums) {
  PANTOUM_ASSIGN(const auto last, last_uses(plan, program));
  FinalGradients made;
  made.program_ = program;
  for (const PlanTensor& sum : sums) {
    const uint8_t* record = pt_tensor_record(&plan, sum.index);
    const auto used = last.find(pt_load_u32(record + PT_TENSOR_PAIR));
    const bool in_ram = record[PT_TENSOR_HOME] == PT_HOME_RAM;
    made.events_.push_back({in_ram && used != last.end() ? used->second : kAfterAll, sum});
  }
  std::stable_sort(made.events_.begin(), made.events_.end(),
                   [](const Event& a, const Event& b) { return a.instruction < b.instruction; });
  return made;
}

void FinalGradients::tell(uint32_t instruction) {
  for (; told_ < events_.size() && events_[told_].instruction <= instruction; ++told_)
    (*on_gradient_)(events_[told_].sum, events_[told_].data);
}

pt_status FinalGradients::run(host::Engine& engine, const pt_scalars& scalars, const OnGradient& on_gradient) {
  if (!on_gradient) return engine.run(program_, scalars);
  for (Event& event : events_) {
    std::byte* const data = engine.data(event.sum.index);
    event.data = data != nullptr ? std::span(data, event.sum.bytes) : std::span<std::byte>();
  }
  told_ = 0;
  on_gradient_ = &on_gradient;
  engine.observe(
      [](void* self, const pt_event* event) { static_cast<FinalGradients*>(self)->tell(event->instruction); }, this);
  const pt_status status = engine.run(program_, scalars);
  engine.observe(nullptr, nullptr);
  if (status == PT_OK) tell(kAfterAll);
  return status;
}

}  // namespace pantoum::train
