// The auxiliary storage of a host: one private file that holds paged-out tensors, behind the runtime's pager interface.
//
// The file is made for one session (mode 0600), unlinked at once, and allocated in full before the first step. Its contents are encrypted
// under a key that this session alone has, so that nobody can read them, not even from the medium later. It is read and written with
// O_DIRECT where the file system allows that, so that the page cache does not hold what was paged out.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "host/page_cipher.h"
#include "host/transfer_slots.h"
#include "pantoum/pantoum.h"

namespace pantoum::host {

enum class PagerBackend : uint8_t {
  kAuto,     // io_uring where the kernel allows it, else a thread
  kUring,    // E0904 where the kernel refuses it
  kThreads,  // one thread with pread and pwrite
};

struct FilePagerOptions {
  std::string path;    // a folder, or the name of a file to make (never one that exists); "": /var/tmp, else /tmp
  uint64_t bytes = 0;  // the plan's storage_bytes
  bool direct = true;  // try O_DIRECT
  PagerBackend backend = PagerBackend::kAuto;
  uint32_t align_bytes = 1;  // of the plan: every offset, size and address in the arena is a multiple of it
  bool encrypt = true;
  const CipherEngine* cipher = nullptr;  // null: the fastest
  // Where transfers begin and end. In an encrypted file a transfer that begins or ends elsewhere moves more than its own bytes.
  std::span<const uint64_t> cuts = {};
  // Of the plan: the buffers of encryption take a sixteenth of that, at least 32 KiB and at most 1 MiB.
  uint64_t arena_bytes = UINT64_MAX;
};

struct FilePagerStats {
  uint64_t bytes_read = 0, bytes_written = 0;  // that transfers asked for
  uint64_t buffered = 0;                       // transfers that went through the page cache
};

// The destructor first waits for every transfer. Only one thread at a time may use a pager.
class FilePager {
 public:
  // E0902 the file cannot be made, or `bytes` do not fit (with the bytes needed and the system's reason); E0904 as
  // above; E0905 no thread; E0908 no key.
  static Result<std::unique_ptr<FilePager>> open(const FilePagerOptions& options);
  virtual ~FilePager() = default;
  FilePager(const FilePager&) = delete;
  FilePager& operator=(const FilePager&) = delete;

  // For pt_session_open; valid as long as this object. At most PT_MAX_IN_FLIGHT transfers may be open (PT_E_STATE
  // beyond); nothing is allocated per transfer. I/O errors come from `wait`: PT_E_FULL for no space,
  // PT_E_DAMAGED for bytes that are not what was written (seen where they are encrypted), PT_E_IO for all others.
  const pt_pager* interface() const { return &interface_; }
  FilePagerStats stats() const { return stats_; }
  // Returns whether every transfer that obeys align_bytes bypasses the page cache (never on a file system that lives in RAM).
  virtual bool direct_io() const = 0;
  virtual const char* backend() const = 0;                 // "io_uring", "threads"
  virtual const char* cipher() const { return "off"; }     // or PageCipher::name()
  virtual uint64_t encryption_bytes() const { return 0; }  // in RAM: pages of the table of seals, and buffers
  virtual int fd() const = 0;                              // the open file, for tests and tools

 protected:
  explicit FilePager(uint64_t file_bytes);
  // Queues a transfer, whose range has been checked.
  virtual pt_status submit(const Transfer& transfer) = 0;
  virtual pt_status wait(uint32_t ticket) = 0;
  // Returns whether a transfer without encryption would bypass the page cache.
  virtual bool bypasses_cache(const Transfer& transfer) const = 0;

 private:
  pt_status take(const Transfer& transfer);

  uint64_t bytes_;
  FilePagerStats stats_;
  pt_pager interface_{};
};

}  // namespace pantoum::host
