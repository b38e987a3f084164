// Transfers through io_uring. They go to the kernel at once, and run while the calling thread computes. A transfer whose `after` has not
// ended is marked IOSQE_IO_DRAIN: the kernel begins it when everything before it has ended.
#include <liburing.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "host/plain_pager.h"

namespace pantoum::host {
namespace {

constexpr size_t kLargestTransfer = size_t{1} << 30;  // below what one read or write can move

class UringPager final : public PlainPager {
 public:
  UringPager(PageFile file, uint32_t align_bytes, const io_uring& ring)
      : PlainPager(std::move(file), align_bytes), ring_(ring) {}

  ~UringPager() override {
    while (in_kernel() > 0 && reap()) {
    }
    io_uring_queue_exit(&ring_);
  }

  const char* backend() const override { return "io_uring"; }

 private:
  pt_status submit(const Transfer& transfer) override {
    Transfer* slot = slots_.vacant();
    if (slot == nullptr) return PT_E_STATE;
    const bool behind = must_stay_behind(transfer.after);
    *slot = transfer;
    slot->pending = static_cast<uint32_t>((transfer.bytes + kLargestTransfer - 1) / kLargestTransfer);
    const uint32_t pieces = slot->pending;
    for (uint32_t piece = 0; piece < pieces; ++piece)
      if (!push(*slot, piece, behind && piece == 0)) return give_up(*slot, pieces - piece);
    return flush() ? PT_OK : give_up(*slot, 0);
  }

  pt_status wait(uint32_t ticket) override {
    Transfer* slot = slots_.find(ticket);
    if (slot == nullptr) return PT_OK;
    while (slot->pending > 0)
      if (in_kernel() == 0 || !reap()) return PT_E_IO;
    slot->ticket = 0;
    return slot->status;
  }

  // Is any transfer up to `after` still open? Completions that are ready are noted first.
  bool must_stay_behind(uint32_t after) {
    if (after == 0) return false;
    while (in_kernel() > 0 && take_ready()) {
    }
    for (size_t slot = 0; slot < TransferSlots::kCount; ++slot)
      if (slots_[slot].pending > 0 && slots_[slot].ticket <= after) return true;
    return false;
  }

  // Puts one piece into the submission queue.
  bool push(const Transfer& transfer, uint32_t piece, bool behind) {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) {
      if (!flush()) return false;
      entry = io_uring_get_sqe(&ring_);
      if (entry == nullptr) return false;
    }
    const size_t begin = size_t{piece} * kLargestTransfer;
    const auto size = static_cast<unsigned>(std::min(transfer.bytes - begin, kLargestTransfer));
    const int fd = file().fd_for(transfer.storage_at, transfer.data, transfer.bytes);
    if (transfer.writes)
      io_uring_prep_write(entry, fd, transfer.data + begin, size, transfer.storage_at + begin);
    else
      io_uring_prep_read(entry, fd, transfer.data + begin, size, transfer.storage_at + begin);
    if (behind) io_uring_sqe_set_flags(entry, IOSQE_IO_DRAIN);
    entry->user_data = uint64_t{piece} << 32 | slots_.index_of(&transfer);
    ++open_pieces_;
    return true;
  }

  // Hands the whole queue to the kernel. False: the kernel refuses.
  bool flush() {
    while (io_uring_sq_ready(&ring_) > 0) {
      const int taken = io_uring_submit(&ring_);
      if (taken > 0 || taken == -EINTR) continue;
      if (taken != 0 && taken != -EAGAIN && taken != -EBUSY) return false;
      if (in_kernel() == 0 || !reap()) return false;  // make room
    }
    return true;
  }

  // Pieces that the kernel has and that have not ended.
  uint32_t in_kernel() const { return open_pieces_ - io_uring_sq_ready(&ring_); }

  // The kernel did not take all pieces: the transfer counts as failed, and wait() waits for the pieces that it took.
  static pt_status give_up(Transfer& slot, uint32_t not_pushed) {
    slot.pending -= not_pushed;
    slot.status = PT_E_IO;
    return PT_OK;  // told by wait()
  }

  // Waits for a completion and takes note of it.
  bool reap() {
    io_uring_cqe* entry = nullptr;
    int error = 0;
    do error = io_uring_wait_cqe(&ring_, &entry);
    while (error == -EINTR || error == -EAGAIN);
    if (error != 0) return false;
    note(*entry);
    return true;
  }

  bool take_ready() {
    io_uring_cqe* entry = nullptr;
    if (io_uring_peek_cqe(&ring_, &entry) != 0) return false;
    note(*entry);
    return true;
  }

  void note(io_uring_cqe& entry) {
    Transfer& transfer = slots_[static_cast<size_t>(entry.user_data & 0xFFFFFFFFU)];
    const size_t begin = static_cast<size_t>(entry.user_data >> 32) * kLargestTransfer;
    const int moved = entry.res;
    io_uring_cqe_seen(&ring_, &entry);
    --open_pieces_;
    --transfer.pending;
    const pt_status status = finish(transfer, begin, moved);
    if (transfer.status == PT_OK) transfer.status = status;
  }

  // The status of a piece that ended. A piece that ended short, which is rare on regular files, is completed here, unless a later
  // transfer may have begun after it.
  pt_status finish(const Transfer& transfer, size_t begin, int moved) {
    const size_t size = std::min(transfer.bytes - begin, kLargestTransfer);
    if (moved >= 0 && static_cast<size_t>(moved) == size) return PT_OK;
    if (moved < 0 && moved != -EINTR && moved != -EAGAIN) return status_of_errno(-moved);
    for (size_t slot = 0; slot < TransferSlots::kCount; ++slot)
      if (slots_[slot].ticket > transfer.ticket) return PT_E_IO;
    const size_t done = begin + (moved > 0 ? static_cast<size_t>(moved) : 0);
    return move_now(file(), transfer, done, begin + size);
  }

  io_uring ring_;
  TransferSlots slots_;
  uint32_t open_pieces_ = 0;
};

// The kernel knows plain reads and writes (5.6), and keeps completions that do not fit the queue (5.5).
bool suffices(io_uring& ring) {
  io_uring_probe* probe = io_uring_get_probe_ring(&ring);
  if (probe == nullptr) return false;
  const bool knows = io_uring_opcode_supported(probe, IORING_OP_READ) != 0 &&
                     io_uring_opcode_supported(probe, IORING_OP_WRITE) != 0 &&
                     (ring.features & IORING_FEAT_NODROP) != 0;
  io_uring_free_probe(probe);
  return knows;
}

}  // namespace

Result<std::unique_ptr<PlainPager>> make_uring_pager(PageFile& file, uint32_t align_bytes) {
  io_uring ring = {};
  const int error = io_uring_queue_init(TransferSlots::kCount, &ring, 0);
  if (error != 0)
    return fail("E0904", "the kernel refuses io_uring: " + std::generic_category().message(-error), "",
                "page with threads");
  if (!suffices(ring)) {
    io_uring_queue_exit(&ring);
    return fail("E0904", "the kernel's io_uring is too old", "", "page with threads");
  }
  return std::unique_ptr<PlainPager>(std::make_unique<UringPager>(std::move(file), align_bytes, ring));
}

}  // namespace pantoum::host
