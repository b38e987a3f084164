#include "emit/storage_image.h"

#include <fmt/format.h>

#include <string_view>

#include "artifact/binary_plan.h"
#include "base/files.h"
#include "emit/project/ram_disk.h"
#include "host/engine.h"

namespace pantoum::emit {

Result<void> write_storage_image(const Firmware& firmware, uint64_t blocks, const std::string& path) {
  pt_plan plan;
  if (pt_plan_open(&plan, firmware.plan.data(), firmware.plan.size()) != PT_OK)
    return fail("E0291", "the binary plan cannot be opened", "plan");
  PANTOUM_ASSIGN(const InitialValues first, initial_values(plan, *firmware.weights, names_of(firmware.inputs)));
  std::vector<pt_initial_value> values;
  values.reserve(first.tensors.size());
  for (const FirstContent& each : first.tensors) values.push_back(each.value(false));
  PANTOUM_ASSIGN(const host::Arena arena, host::Arena::map(plan.arena_bytes, plan.align_bytes));
  PANTOUM_ASSIGN(const host::Arena session, host::Arena::map(pt_session_bytes(&plan), 1));
  PANTOUM_ASSIGN(const host::Arena buffer, host::Arena::map(PT_BLOCK_BYTES, 1));
  PANTOUM_ASSIGN(const host::Arena rom, host::Arena::map(plan.rom_bytes, plan.align_bytes));
  PANTOUM_ASSIGN(const host::Arena image, host::Arena::map(blocks * PT_BLOCK_BYTES, 1));
  std::vector<uint32_t> sums(firmware.check_blocks ? pt_plan_blocks(&plan) : 0);
  const std::vector<std::byte> on_board = artifact::without_names(firmware.plan);  // which the commit record identifies
  pt_model model{};
  model.plan = reinterpret_cast<const uint8_t*>(on_board.data());
  model.plan_bytes = static_cast<uint32_t>(on_board.size());
  model.kernels = pt_portable_kernels();
  model.rom = static_cast<uint8_t*>(rom.data());
  model.contents = values.data(), model.content_count = static_cast<uint32_t>(values.size());
  model.batch = 1, model.train = pt_plan_program(&plan, "train");
  pt_ram_disk disk;
  pt_blocks storage;
  pt_ram_disk_open(&disk, image.data(), static_cast<uint32_t>(blocks), &storage);
  const pt_memory memory{.arena = arena.data(),
                         .session = session.data(),
                         .buffer = static_cast<uint8_t*>(buffer.data()),
                         .sums = sums.empty() ? nullptr : sums.data(),
                         .engines = nullptr,
                         .start = nullptr};
  pt_trainer trainer;
  if (const pt_status status = pt_trainer_open(&trainer, &model, &memory, &storage); status != PT_OK)
    return fail("E0253", fmt::format("making the storage's image failed: {}", pt_status_text(status)), path);
  return base::write_file_atomically(
      path, std::string_view(static_cast<const char*>(image.data()), size_t{blocks} * PT_BLOCK_BYTES));
}

}  // namespace pantoum::emit
