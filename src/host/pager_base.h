// What all file pagers share: the C interface, the check of a transfer's range, the figures; and the part that pagers without
// encryption share.
#pragma once

#include "host/file_pager.h"
#include "host/page_file.h"
#include "host/transfer_slots.h"

namespace pantoum::host {

class PagerBase : public FilePager {
 public:
  explicit PagerBase(uint64_t file_bytes);
  [[nodiscard]] const pt_pager* interface() final { return &interface_; }
  [[nodiscard]] FilePagerStats stats() const final { return stats_; }

 protected:
  // Queues a transfer, whose range has been checked.
  virtual pt_status submit(const Transfer& transfer) = 0;
  virtual pt_status wait(uint32_t ticket) = 0;
  // Whether a transfer that is neither sealed nor opened would bypass the page cache.
  [[nodiscard]] virtual bool bypasses_cache(const Transfer& transfer) const = 0;

 private:
  pt_status take(const Transfer& transfer);

  uint64_t bytes_;
  FilePagerStats stats_;
  pt_pager interface_{};
};

// A pager that moves bytes between RAM and the file unchanged.
class PlainPager : public PagerBase {
 public:
  PlainPager(PageFile file, uint32_t align_bytes);
  [[nodiscard]] bool direct_io() const final;
  [[nodiscard]] int fd() const final { return file_.buffered.get(); }
  [[nodiscard]] const PageFile& file() const { return file_; }

 protected:
  [[nodiscard]] bool bypasses_cache(const Transfer& transfer) const final;

 private:
  PageFile file_;
  uint32_t align_bytes_;
};

// E0904 where the kernel refuses io_uring.
[[nodiscard]] Result<std::unique_ptr<PlainPager>> make_uring_pager(PageFile& file, uint32_t align_bytes);
// E0905 where the system gives no thread.
[[nodiscard]] Result<std::unique_ptr<PlainPager>> make_thread_pager(PageFile& file, uint32_t align_bytes);
// Seals what goes to `plain` and opens what comes from it. E0905, E0908.
[[nodiscard]] Result<std::unique_ptr<FilePager>> make_encrypted_pager(std::unique_ptr<PlainPager> plain,
                                                                      const FilePagerOptions& options);

// Moves the bytes from `done` to `end` of a transfer and returns when they are moved. Short and interrupted system calls are repeated.
[[nodiscard]] pt_status move_now(const PageFile& file, const Transfer& transfer, size_t done, size_t end);

}  // namespace pantoum::host
