// Binary plans from the network: opened, and where they are sound and small, run with the portable kernels and storage
// in memory. The checksum is mended first, so that the checks behind it are reached.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "pantoum/pantoum.h"
#include "runtime/plan_bytes.h"

namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 20;  // of arena, rom, storage
constexpr uint64_t kMaxWork = uint64_t{1} << 22;   // multiplications, roughly, of one run

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, FreeMemory>;

// Zeros, exactly as long as asked, so that the sanitizers see a byte too many.
Memory zeros(uint64_t bytes, uint64_t align) {
  void* memory = nullptr;
  uint64_t power = 16;
  while (power < align) power *= 2;
  if (posix_memalign(&memory, power, std::max<uint64_t>(bytes, 1)) != 0) return nullptr;
  std::memset(memory, 0, std::max<uint64_t>(bytes, 1));
  return Memory(memory);
}

struct Storage {
  std::vector<uint8_t> bytes;
  [[nodiscard]] bool holds(uint64_t at, size_t count) const { return at <= bytes.size() && count <= bytes.size() - at; }
};

pt_status read(void* context, uint64_t at, void* data, size_t bytes, uint32_t, uint32_t) {
  auto* storage = static_cast<Storage*>(context);
  if (!storage->holds(at, bytes)) std::abort();
  std::memcpy(data, storage->bytes.data() + at, bytes);
  return PT_OK;
}

pt_status write(void* context, uint64_t at, const void* data, size_t bytes, uint32_t, uint32_t) {
  auto* storage = static_cast<Storage*>(context);
  if (!storage->holds(at, bytes)) std::abort();
  std::memcpy(storage->bytes.data() + at, data, bytes);
  return PT_OK;
}

// An upper estimate of what a program's computes cost: no kernel does more than all elements of its two largest
// operands multiplied, with pooling windows on top.
bool is_cheap(const pt_plan& plan, uint32_t program) {
  uint32_t instructions = 0;
  uint64_t work = 0;
  pt_code code = pt_program_code(&plan, program, &instructions);
  for (; instructions > 0; --instructions) {
    pt_step step;
    pt_op_view view;
    if (pt_decode_step(&plan, &code, &step, &view) != PT_OK) std::abort();
    if (step.kind != PT_DO_COMPUTE) continue;
    uint64_t largest = 1, second = 1;
    for (unsigned operand = 0; operand < static_cast<unsigned>(view.input_count) + view.output_count; ++operand) {
      const uint64_t count = pt_type_elements(&view.operands[operand]);
      if (count > largest)
        std::swap(largest, second = count);
      else
        second = std::max(second, count);
    }
    work += largest * second;
    if (view.int_count == PT_POOL_ATTRS && view.op >= PT_OP_max_pool && view.op <= PT_OP_avg_pool_grad)
      work += static_cast<uint64_t>(view.ints[PT_POOL_KERNEL_H] + 1) *
              static_cast<uint64_t>(view.ints[PT_POOL_KERNEL_W] + 1) * largest;
    if (work > kMaxWork) return false;
  }
  return true;
}

void run(const pt_plan& plan) {
  const Memory arena = zeros(plan.arena_bytes, plan.align_bytes);
  const Memory rom = zeros(plan.rom_bytes, plan.align_bytes);
  const Memory memory = zeros(pt_session_bytes(&plan), 16);
  if (!arena || !rom || !memory) return;
  Storage storage{std::vector<uint8_t>(plan.storage_bytes)};
  const pt_pager pager = {&storage, read, write, [](void*, uint32_t) { return PT_OK; }};
  pt_session* session = nullptr;
  if (pt_session_open(&session, &plan, memory.get(), arena.get(), rom.get(), pt_portable_kernels(), &pager, nullptr) !=
      PT_OK)
    return;
  const pt_scalars scalars = {1, 2, 0.1};
  if (plan.program_count > 0 && is_cheap(plan, 0)) static_cast<void>(pt_run(session, 0, &scalars));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> bytes(data, data + size);
  if (size >= PT_HEADER_SIZE) {
    std::memcpy(bytes.data(), PT_PLAN_MAGIC, 4);
    const auto put = [&](size_t at, uint32_t value) {
      for (size_t byte = 0; byte < 4; ++byte) bytes[at + byte] = static_cast<uint8_t>(value >> (8 * byte));
    };
    put(PT_AT_SIZE, static_cast<uint32_t>(size));
    put(PT_AT_CRC, pt_crc32(bytes.data() + PT_AT_ARENA, size - PT_AT_ARENA));
  }
  pt_plan plan;
  if (pt_plan_open(&plan, bytes.data(), bytes.size()) != PT_OK) return 0;
  if (plan.arena_bytes > kMaxBytes || plan.rom_bytes > kMaxBytes || plan.storage_bytes > kMaxBytes) return 0;
  if (plan.align_bytes > kMaxBytes) return 0;
  run(plan);
  return 0;
}
