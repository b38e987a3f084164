// The plan's table of offsets in auxiliary storage.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "check/words.h"

namespace pantoum::check {

struct StorageUse {            // of one tensor, by index of instructions
  bool ever = false;           // was it ever in auxiliary storage
  int64_t first_out = -1;      // its first page_out; -1: none
  int64_t last_transfer = -1;  // its last page_in or page_out; -1: none
  double first_out_begin_s = 0, last_transfer_end_s = 0;
};

// E0804 unless every tensor that is ever in storage has a place within the capacity and no two share bytes. A tensor
// and its `next` may have the same place when nothing of the former moves any more once the latter is first written.
Result<void> check_storage(const CostGraph& graph, const std::map<int64_t, int64_t>& storage,
                           const std::vector<StorageUse>& uses);

}  // namespace pantoum::check
