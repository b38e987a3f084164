#include "host/file_pager.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "host/plain_pager.h"
#include "host/prefaulted_thread.h"
#include "host/transfer_queue.h"

namespace pantoum::host {

FilePager::FilePager(uint64_t file_bytes) : bytes_(file_bytes) {
  interface_.context = this;
  interface_.read = [](void* self, uint64_t at, void* data, size_t bytes, uint32_t ticket, uint32_t after) {
    return static_cast<FilePager*>(self)->take({at, static_cast<std::byte*>(data), bytes, ticket, after, false});
  };
  interface_.write = [](void* self, uint64_t at, const void* data, size_t bytes, uint32_t ticket, uint32_t after) {
    auto* from = static_cast<std::byte*>(const_cast<void*>(data));
    return static_cast<FilePager*>(self)->take({at, from, bytes, ticket, after, true});
  };
  interface_.wait = [](void* self, uint32_t ticket) { return static_cast<FilePager*>(self)->wait(ticket); };
}

pt_status FilePager::take(const Transfer& transfer) {
  if (transfer.data == nullptr || transfer.ticket == 0 || transfer.storage_at > bytes_ ||
      transfer.bytes > bytes_ - transfer.storage_at)
    return PT_E_ARGUMENT;
  const pt_status status = submit(transfer);
  if (status != PT_OK) return status;
  (transfer.writes ? stats_.bytes_written : stats_.bytes_read) += transfer.bytes;
  if (!bypasses_cache(transfer)) ++stats_.buffered;
  return PT_OK;
}

PlainPager::PlainPager(PageFile file, uint32_t align_bytes)
    : FilePager(file.bytes), file_(std::move(file)), align_bytes_(align_bytes) {}

bool PlainPager::direct_io() const {
  return file_.direct.get() >= 0 && align_bytes_ % file_.direct_align == 0;
}

bool PlainPager::bypasses_cache(const Transfer& transfer) const {
  return file_.fd_for(transfer.storage_at, transfer.data, transfer.bytes) != file_.buffered.get();
}

pt_status move_now(const PageFile& file, const Transfer& transfer, size_t done, size_t end) {
  constexpr size_t kLargest = size_t{1} << 30;
  while (done < end) {
    // The rest of a short direct transfer need not be aligned.
    const int handle = file.fd_for(transfer.storage_at + done, transfer.data + done, end - done);
    const size_t size = std::min(end - done, kLargest);
    const auto at = static_cast<off_t>(transfer.storage_at + done);
    const ssize_t moved = transfer.writes ? pwrite(handle, transfer.data + done, size, at)
                                          : pread(handle, transfer.data + done, size, at);
    if (moved > 0) {
      done += static_cast<size_t>(moved);
    } else if (moved == 0) {
      return PT_E_IO;
    } else if (errno != EINTR && errno != EAGAIN) {
      return status_of_errno(errno);
    }
  }
  return PT_OK;
}

namespace {

// One I/O thread that serves transfers one by one, in the order in which they came, so that `after` needs no further care.
class ThreadPager final : public PlainPager {
 public:
  ThreadPager(PageFile file, uint32_t align_bytes) : PlainPager(std::move(file), align_bytes) {}

  ~ThreadPager() override {
    if (!thread_.started()) return;
    queue_.stop();
    thread_.join();
  }

  const char* backend() const override { return "threads"; }
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

// E0905 where the system gives no thread.
Result<std::unique_ptr<PlainPager>> make_thread_pager(PageFile& file, uint32_t align_bytes) {
  auto pager = std::make_unique<ThreadPager>(std::move(file), align_bytes);
  if (!pager->start()) return fail("E0905", "the system gives no thread for paging");
  return std::unique_ptr<PlainPager>(std::move(pager));
}

Result<std::unique_ptr<PlainPager>> open_plain(const FilePagerOptions& options, uint64_t bytes) {
  PANTOUM_ASSIGN(PageFile file, make_page_file(options.path, bytes, options.direct));
  if (options.align_bytes % file.direct_align == 0) file.direct_step = file.direct_align;  // all transfers are direct
  if (options.backend != PagerBackend::kThreads) {
    Result<std::unique_ptr<PlainPager>> pager = make_uring_pager(file, options.align_bytes);
    if (pager || options.backend == PagerBackend::kUring) return pager;
  }
  return make_thread_pager(file, options.align_bytes);
}

}  // namespace

Result<std::unique_ptr<FilePager>> FilePager::open(const FilePagerOptions& options) {
  if (options.align_bytes == 0) return fail("E0902", "the page file's alignment is 0");
  if (!options.encrypt) {
    PANTOUM_ASSIGN(std::unique_ptr<PlainPager> plain, open_plain(options, options.bytes));
    return std::unique_ptr<FilePager>(std::move(plain));
  }
  SealedBlocks blocks(options.bytes, options.cuts);
  PANTOUM_ASSIGN(std::unique_ptr<PlainPager> plain, open_plain(options, blocks.file_bytes()));
  return make_encrypted_pager(std::move(plain), std::move(blocks), options);
}

}  // namespace pantoum::host
