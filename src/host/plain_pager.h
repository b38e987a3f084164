// What file pagers without encryption share, and the functions that make each pager.
#pragma once

#include "host/file_pager.h"
#include "host/page_file.h"
#include "host/sealed_blocks.h"

namespace pantoum::host {

// A pager that moves bytes between RAM and the file unchanged.
class PlainPager : public FilePager {
 public:
  PlainPager(PageFile file, uint32_t align_bytes);
  bool direct_io() const final;
  int fd() const final { return file_.buffered.get(); }
  const PageFile& file() const { return file_; }

 protected:
  bool bypasses_cache(const Transfer& transfer) const final;

 private:
  PageFile file_;
  uint32_t align_bytes_;
};

// E0904 where the kernel refuses io_uring.
Result<std::unique_ptr<PlainPager>> make_uring_pager(PageFile& file, uint32_t align_bytes);
// Seals what goes to `plain` and opens what comes from it. E0905, E0908.
// `plain`: on a file of blocks.file_bytes().
Result<std::unique_ptr<FilePager>> make_encrypted_pager(std::unique_ptr<PlainPager> plain, SealedBlocks blocks,
                                                        const FilePagerOptions& options);

// Moves the bytes from `done` to `end` of a transfer and returns when they are moved. Short and interrupted system calls are repeated.
[[nodiscard]] pt_status move_now(const PageFile& file, const Transfer& transfer, size_t done, size_t end);

}  // namespace pantoum::host
