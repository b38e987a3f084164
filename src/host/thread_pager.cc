// One I/O thread that serves transfers strictly one by one, in the order in which they came: `after` holds by itself.
#include <utility>

#include "host/plain_pager.h"
#include "host/prefaulted_thread.h"
#include "host/transfer_queue.h"

namespace pantoum::host {
namespace {

class ThreadPager final : public PlainPager {
 public:
  ThreadPager(PageFile file, uint32_t align_bytes) : PlainPager(std::move(file), align_bytes) {}

  ~ThreadPager() override {
    if (!thread_.started()) return;
    queue_.stop();
    thread_.join();
  }

  [[nodiscard]] const char* backend() const override { return "threads"; }
  [[nodiscard]] bool start() {
    return thread_.start([](void* self) { static_cast<ThreadPager*>(self)->serve(); }, this);
  }

 private:
  pt_status submit(const Transfer& transfer) override { return queue_.put(transfer); }
  pt_status wait(uint32_t ticket) override { return queue_.wait(ticket); }

  void serve() {
    while (Transfer* transfer = queue_.next(true))
      queue_.end(transfer, move_now(file(), *transfer, 0, transfer->bytes));
  }

  TransferQueue queue_;
  PrefaultedThread thread_;
};

}  // namespace

Result<std::unique_ptr<PlainPager>> make_thread_pager(PageFile& file, uint32_t align_bytes) {
  auto pager = std::make_unique<ThreadPager>(std::move(file), align_bytes);
  if (!pager->start()) return fail("E0905", "the system gives no thread for paging");
  return std::unique_ptr<PlainPager>(std::move(pager));
}

}  // namespace pantoum::host
