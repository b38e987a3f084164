// What the two file pagers share: the file, the table of transfers, the figures, the C interface.
#pragma once

#include "host/file_pager.h"
#include "host/page_file.h"
#include "host/transfer_slots.h"

namespace pantoum::host {

class PagerBase : public FilePager {
 public:
  PagerBase(PageFile file, uint32_t align_bytes);
  [[nodiscard]] const pt_pager* interface() final { return &interface_; }
  [[nodiscard]] FilePagerStats stats() const final { return stats_; }
  [[nodiscard]] bool direct_io() const final;
  [[nodiscard]] int fd() const final { return file_.buffered.get(); }

 protected:
  // Queues a transfer whose range is checked and counted. `after` as pt_pager has it.
  virtual pt_status submit(const Transfer& transfer, uint32_t after) = 0;
  virtual pt_status wait(uint32_t ticket) = 0;
  [[nodiscard]] const PageFile& file() const { return file_; }

 private:
  pt_status take(uint64_t storage_at, void* data, size_t bytes, bool writes, uint32_t ticket, uint32_t after);

  PageFile file_;
  uint32_t align_bytes_;
  FilePagerStats stats_;
  pt_pager interface_{};
};

// E0904 where the kernel refuses io_uring.
[[nodiscard]] Result<std::unique_ptr<FilePager>> make_uring_pager(PageFile& file, uint32_t align_bytes);
// E0905 where the system gives no thread.
[[nodiscard]] Result<std::unique_ptr<FilePager>> make_thread_pager(PageFile& file, uint32_t align_bytes);

// Moves what is left of a transfer from `done` on, at once. Short and interrupted calls go on.
[[nodiscard]] pt_status move_now(const PageFile& file, const Transfer& transfer, size_t done, size_t end);

}  // namespace pantoum::host
