// What a training writes to storage, and how long a card lasts.
#pragma once

#include <cstdint>

#include "pantoum/pantoum.h"

namespace pantoum::emit {

struct StorageWrites {
  uint64_t paged = 0;         // bytes that the pages of a step write, whole blocks
  uint64_t commit = 0;        // of a commit
  uint64_t commit_every = 1;  // steps

  // Steps until `endurance` bytes are written; 0: a step writes nothing.
  [[nodiscard]] uint64_t life(uint64_t endurance) const;
};

// Of the program "train", with main.c as it is emitted, for training that needs storage.
[[nodiscard]] StorageWrites storage_writes(const pt_plan& plan, bool check_blocks);

}  // namespace pantoum::emit
