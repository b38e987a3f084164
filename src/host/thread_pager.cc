// One I/O thread that serves transfers strictly one by one, in the order in which they came: `after` holds by itself.
#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <utility>

#include "host/pager_base.h"
#include "host/prefaulted_thread.h"

namespace pantoum::host {
namespace {

class ThreadPager final : public PagerBase {
 public:
  ThreadPager(PageFile file, uint32_t align_bytes) : PagerBase(std::move(file), align_bytes) {}

  ~ThreadPager() override {
    if (!thread_.started()) return;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    work_.notify_one();
    thread_.join();
  }

  [[nodiscard]] const char* backend() const override { return "threads"; }
  [[nodiscard]] bool start() {
    return thread_.start([](void* self) { static_cast<ThreadPager*>(self)->serve(); }, this);
  }

 private:
  pt_status submit(const Transfer& transfer, uint32_t /*after*/) override {
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

  pt_status wait(uint32_t ticket) override {
    std::unique_lock lock(mutex_);
    Transfer* slot = slots_.find(ticket);
    if (slot == nullptr) return PT_OK;
    ended_.wait(lock, [&] { return slot->pending == 0; });
    slot->ticket = 0;
    return slot->status;
  }

  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      work_.wait(lock, [&] { return stopping_ || queued_ > 0; });
      if (queued_ == 0) return;
      Transfer* slot = queue_[head_];
      head_ = (head_ + 1) % queue_.size();
      --queued_;
      const Transfer transfer = *slot;
      lock.unlock();
      const pt_status status = move_now(file(), transfer, 0, transfer.bytes);
      lock.lock();
      slot->status = status;
      slot->pending = 0;
      ended_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable work_, ended_;
  TransferSlots slots_;
  std::array<Transfer*, TransferSlots::kCount> queue_{};
  size_t head_ = 0, queued_ = 0;
  bool stopping_ = false;
  PrefaultedThread thread_;
};

}  // namespace

Result<std::unique_ptr<FilePager>> make_thread_pager(PageFile& file, uint32_t align_bytes) {
  auto pager = std::make_unique<ThreadPager>(std::move(file), align_bytes);
  if (!pager->start()) return fail("E0905", "the system gives no thread for paging");
  return std::unique_ptr<FilePager>(std::move(pager));
}

}  // namespace pantoum::host
