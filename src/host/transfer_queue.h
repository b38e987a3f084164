// A queue of transfers from the thread that asks for them to the thread that serves them, in their order. Nothing is allocated per
// transfer.
#pragma once

#include <array>
#include <condition_variable>
#include <mutex>

#include "host/transfer_slots.h"

namespace pantoum::host {

class TransferQueue {
 public:
  // ---- called by the thread that asks ----

  // PT_E_STATE: the most transfers are open already.
  pt_status put(const Transfer& transfer) {
    {
      const std::lock_guard lock(mutex_);
      Transfer* slot = slots_.vacant();
      if (slot == nullptr) return PT_E_STATE;
      *slot = transfer;
      slot->pending = 1;
      queue_[(head_ + queued_) % queue_.size()] = slot;
      ++queued_;
    }
    work_.notify_one();
    return PT_OK;
  }

  // As pt_pager's wait.
  pt_status wait(uint32_t ticket) {
    std::unique_lock lock(mutex_);
    Transfer* slot = slots_.find(ticket);
    if (slot == nullptr) return PT_OK;
    ended_.wait(lock, [&] { return slot->pending == 0; });
    slot->ticket = 0;
    return slot->status;
  }

  // No transfer follows.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    work_.notify_one();
  }

  // ---- called by the thread that serves ----

  // The next transfer, whose slot is in use until end(). Null: there is none now; where `waits`, there will be none.
  Transfer* next(bool waits) {
    std::unique_lock lock(mutex_);
    if (waits) work_.wait(lock, [&] { return stopping_ || queued_ > 0; });
    if (queued_ == 0) return nullptr;
    Transfer* slot = queue_[head_];
    head_ = (head_ + 1) % queue_.size();
    --queued_;
    return slot;
  }

  void end(Transfer* slot, pt_status status) {
    {
      const std::lock_guard lock(mutex_);
      slot->status = status;
      slot->pending = 0;
    }
    ended_.notify_one();
  }

  size_t index_of(const Transfer* slot) const { return slots_.index_of(slot); }

 private:
  std::mutex mutex_;
  std::condition_variable work_, ended_;
  TransferSlots slots_;
  std::array<Transfer*, TransferSlots::kCount> queue_{};
  size_t head_ = 0, queued_ = 0;
  bool stopping_ = false;
};

}  // namespace pantoum::host
