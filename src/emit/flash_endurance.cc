#include "emit/flash_endurance.h"

#include "emit/project/blocks.h"
#include "emit/project/commit.h"
#include "runtime/plan_bytes.h"

namespace pantoum::emit {
namespace {

constexpr uint64_t kCommitEvery = 10;  // COMMIT_EVERY of main.c

uint64_t whole_blocks(uint64_t bytes) {
  return (bytes + PT_BLOCK_BYTES - 1) / PT_BLOCK_BYTES * PT_BLOCK_BYTES;
}

uint64_t paged_out(const pt_plan& plan, uint32_t program) {
  uint32_t instructions = 0;
  pt_cursor code = pt_program_code(&plan, program, &instructions);
  uint64_t bytes = 0;
  for (; instructions > 0; --instructions) {
    pt_step step;
    pt_op_view view;
    if (pt_decode_step(&plan, &code, &step, &view) != PT_OK) break;
    if (step.kind == PT_DO_PAGE_OUT)
      bytes += whole_blocks(uint64_t{pt_tensor_units(&plan, step.subject)} * plan.align_bytes);
  }
  return bytes;
}

}  // namespace

uint64_t StorageWrites::life(uint64_t endurance) const {
  const double per_step = static_cast<double>(paged) + static_cast<double>(commit) / static_cast<double>(commit_every);
  return per_step > 0 ? static_cast<uint64_t>(static_cast<double>(endurance) / per_step) : 0;
}

StorageWrites storage_writes(const pt_plan& plan, bool check_blocks) {
  const int32_t train = pt_plan_program(&plan, "train");
  if (train < 0) return {};
  return {.paged = paged_out(plan, static_cast<uint32_t>(train)),
          .commit = pt_commit_bytes(&plan, check_blocks ? 1 : 0),
          .commit_every = pt_commits_every_step(&plan) != 0 ? 1 : kCommitEvery};
}

}  // namespace pantoum::emit
