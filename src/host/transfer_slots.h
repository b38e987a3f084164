// The transfers that a pager has taken and that nobody has waited for yet, in a fixed table, so that no transfer allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "pantoum/pantoum.h"

namespace pantoum::host {

struct Transfer {
  uint64_t storage_at = 0;
  std::byte* data = nullptr;  // only read when `writes`
  size_t bytes = 0;
  uint32_t ticket = 0;  // 0: the slot is free
  uint32_t after = 0;   // as pt_pager has it
  bool writes = false;
  uint32_t pending = 0;      // pieces that have not ended
  pt_status status = PT_OK;  // the first failure of a piece
};

class TransferSlots {
 public:
  static constexpr size_t kCount = PT_MAX_IN_FLIGHT;

  // Returns the transfer with this ticket; null if it was never accepted or has already been waited for.
  Transfer* find(uint32_t ticket) {
    for (Transfer& transfer : slots_)
      if (transfer.ticket == ticket) return ticket == 0 ? nullptr : &transfer;
    return nullptr;
  }
  // Returns a free slot, or null.
  Transfer* vacant() {
    for (Transfer& transfer : slots_)
      if (transfer.ticket == 0) return &transfer;
    return nullptr;
  }
  size_t index_of(const Transfer* transfer) const { return static_cast<size_t>(transfer - slots_.data()); }
  Transfer& operator[](size_t index) { return slots_[index]; }

 private:
  std::array<Transfer, kCount> slots_{};
};

}  // namespace pantoum::host
