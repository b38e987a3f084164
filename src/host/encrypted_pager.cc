// A pager that uses another one: it seals what goes to storage, and opens what comes from it.
//
// Its thread serves transfers in their order, as pieces of whole blocks, and keeps a few pieces under way: while it seals or opens one,
// the storage moves others. A piece to be written is sealed into a staging buffer, so that kernels may read the arena meanwhile. A piece
// that is read arrives at its place in the arena and is opened there.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/round_up.h"
#include "host/plain_pager.h"
#include "host/prefaulted_thread.h"
#include "host/sealed_blocks.h"
#include "host/transfer_queue.h"

namespace pantoum::host {
namespace {

constexpr size_t kPieces = 4;  // under way at a time
constexpr uint64_t kPieceBytes = 256 << 10;
static_assert(kPieceBytes >= SealedBlocks::kBlockBytes && kPieces <= PT_MAX_IN_FLIGHT);

struct FreeStaging {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Staging = std::unique_ptr<std::byte[], FreeStaging>;

class EncryptedPager final : public FilePager {
 public:
  EncryptedPager(std::unique_ptr<PlainPager> plain, PageCipher cipher, SealedBlocks blocks, Staging staging,
                 size_t piece_bytes)
      : FilePager(plain->file().bytes),
        plain_(std::move(plain)),
        cipher_(std::move(cipher)),
        blocks_(std::move(blocks)),
        staging_(std::move(staging)),
        piece_bytes_(piece_bytes) {}

  ~EncryptedPager() override {
    if (!thread_.started()) return;
    queue_.stop();
    thread_.join();
  }

  [[nodiscard]] bool start() {
    return thread_.start([](void* self) { static_cast<EncryptedPager*>(self)->serve(); }, this);
  }
  bool direct_io() const override { return plain_->direct_io(); }
  const char* backend() const override { return plain_->backend(); }
  const char* cipher() const override { return cipher_.name(); }
  uint64_t encryption_bytes() const override { return blocks_.table_bytes() + kPieces * piece_bytes_; }
  int fd() const override { return plain_->fd(); }

 private:
  // Whole blocks of one transfer that are being moved.
  struct Piece {
    Transfer* of = nullptr;
    uint32_t of_ticket = 0, ticket = 0;  // `ticket`: of the piece, in `plain_`
    size_t first = 0, last = 0;          // blocks [first, last)
    std::byte* data = nullptr;           // in the arena
  };
  // The progress of a transfer that is being served.
  struct Progress {
    uint32_t open = 0;  // pieces that have not ended, and one more until all have begun
    pt_status status = PT_OK;
  };

  pt_status submit(const Transfer& transfer) override { return queue_.put(transfer); }
  pt_status wait(uint32_t ticket) override { return queue_.wait(ticket); }

  bool bypasses_cache(const Transfer& transfer) const override {
    const std::byte* data = transfer.writes ? staging_.get() : transfer.data;
    return plain_->file().fd_for(transfer.storage_at, data, transfer.bytes) != plain_->fd();
  }

  void serve() {
    for (;;) {
      if (Transfer* transfer = queue_.next(open_ == 0))
        begin(transfer);
      else if (open_ > 0)
        finish_oldest();
      else
        return;
    }
  }

  void begin(Transfer* transfer) {
    while (open_ > 0 && pieces_[oldest_].of_ticket <= transfer->after) finish_oldest();
    Progress& progress = progress_of(transfer);
    progress = {.open = 1};
    const uint64_t end = transfer->storage_at + transfer->bytes;
    for (uint64_t at = transfer->storage_at; at < end && progress.status == PT_OK;) at = advance(transfer, at, end);
    note(transfer, PT_OK);
  }

  // Moves a part of a block, or begins to move whole blocks; returns where the rest begins.
  uint64_t advance(Transfer* transfer, uint64_t at, uint64_t end) {
    const size_t first = blocks_.block_at(at);
    if (at != blocks_.begin(first) || blocks_.end(first) > end) {
      const uint64_t part_end = std::min(end, blocks_.end(first));
      fail_with(transfer, move_part(*transfer, first, at, part_end));
      return part_end;
    }
    size_t last = first + 1;
    while (last < blocks_.count() && blocks_.end(last) <= end && blocks_.end(last) - at <= piece_bytes_) ++last;
    if (open_ == kPieces) finish_oldest();
    begin_piece({transfer, transfer->ticket, next_ticket(), first, last, transfer->data + (at - transfer->storage_at)});
    return blocks_.end(last - 1);
  }

  void begin_piece(const Piece& piece) {
    const size_t place = (oldest_ + open_) % kPieces;
    const uint64_t at = blocks_.begin(piece.first);
    const auto bytes = static_cast<size_t>(blocks_.end(piece.last - 1) - at);
    std::byte* sealed = staging_.get() + place * piece_bytes_;
    pt_status status = piece.of->writes ? seal_all(piece, sealed) : PT_OK;
    if (status == PT_OK)
      status = piece.of->writes ? io().write(io().context, at, sealed, bytes, piece.ticket, 0)
                                : io().read(io().context, at, piece.data, bytes, piece.ticket, 0);
    if (status != PT_OK) return fail_with(piece.of, status);
    pieces_[place] = piece;
    ++open_;
    ++progress_of(piece.of).open;
  }

  void finish_oldest() {
    const Piece piece = pieces_[oldest_];
    oldest_ = (oldest_ + 1) % kPieces;
    --open_;
    pt_status status = io().wait(io().context, piece.ticket);
    if (status == PT_OK && !piece.of->writes) status = open_all(piece);
    note(piece.of, status);
  }

  pt_status seal_all(const Piece& piece, std::byte* sealed) {
    for (size_t block = piece.first; block < piece.last; ++block) {
      const uint64_t skip = blocks_.begin(block) - blocks_.begin(piece.first);
      if (!blocks_.seal(cipher_, block, piece.data + skip, sealed + skip)) return PT_E_IO;
    }
    return PT_OK;
  }

  pt_status open_all(const Piece& piece) {
    pt_status status = PT_OK;
    for (size_t block = piece.first; block < piece.last; ++block) {
      const uint64_t skip = blocks_.begin(block) - blocks_.begin(piece.first);
      if (!blocks_.open(cipher_, block, piece.data + skip)) status = PT_E_DAMAGED;
    }
    return status;
  }

  // Moves bytes [at, end) inside one block, which has to be opened as a whole. No piece is under way meanwhile.
  pt_status move_part(const Transfer& transfer, size_t block, uint64_t at, uint64_t end) {
    while (open_ > 0) finish_oldest();
    const uint64_t begin = blocks_.begin(block);
    const auto bytes = static_cast<size_t>(blocks_.end(block) - begin);
    std::byte* whole = staging_.get();
    std::byte* data = transfer.data + (at - transfer.storage_at);
    const pt_status fetched = blocks_.was_sealed(block) ? move_whole(false, begin, whole, bytes) : PT_OK;
    if (fetched != PT_OK) return fetched;
    if (!blocks_.open(cipher_, block, whole)) return PT_E_DAMAGED;
    std::byte* part = whole + (at - begin);
    std::memcpy(transfer.writes ? part : data, transfer.writes ? data : part, static_cast<size_t>(end - at));
    if (!transfer.writes) return PT_OK;
    if (!blocks_.seal(cipher_, block, whole, whole)) return PT_E_IO;
    return move_whole(true, begin, whole, bytes);
  }

  pt_status move_whole(bool writes, uint64_t at, std::byte* data, size_t bytes) {
    const uint32_t ticket = next_ticket();
    const pt_status status = writes ? io().write(io().context, at, data, bytes, ticket, 0)
                                    : io().read(io().context, at, data, bytes, ticket, 0);
    return status == PT_OK ? io().wait(io().context, ticket) : status;
  }

  // Notes that one of a transfer's pieces has ended.
  void note(Transfer* transfer, pt_status status) {
    fail_with(transfer, status);
    Progress& progress = progress_of(transfer);
    if (--progress.open == 0) queue_.end(transfer, progress.status);
  }
  void fail_with(Transfer* transfer, pt_status status) {
    Progress& progress = progress_of(transfer);
    if (progress.status == PT_OK) progress.status = status;
  }

  // Tickets ascend, so that the pager below can tell which transfer came first.
  uint32_t next_ticket() {
    if (open_ == 0 && last_ticket_ > INT32_MAX) last_ticket_ = 0;
    return ++last_ticket_;
  }
  const pt_pager& io() { return *plain_->interface(); }
  Progress& progress_of(const Transfer* transfer) { return progress_[queue_.index_of(transfer)]; }

  std::unique_ptr<PlainPager> plain_;
  PageCipher cipher_;
  SealedBlocks blocks_;
  Staging staging_;  // kPieces of piece_bytes_
  size_t piece_bytes_;
  TransferQueue queue_;
  // Used by the thread alone:
  std::array<Piece, kPieces> pieces_{};  // a ring of open_ from oldest_ on
  size_t oldest_ = 0, open_ = 0;
  std::array<Progress, TransferSlots::kCount> progress_{};
  uint32_t last_ticket_ = 0;
  PrefaultedThread thread_;
};

}  // namespace

Result<std::unique_ptr<FilePager>> make_encrypted_pager(std::unique_ptr<PlainPager> plain,
                                                        const FilePagerOptions& options) {
  PANTOUM_ASSIGN(PageCipher cipher, PageCipher::create(options.cipher));
  const auto page = std::max<uint64_t>(4096, plain->file().direct_align);
  const auto piece_bytes =
      static_cast<size_t>(std::min(kPieceBytes, base::round_up(std::max<uint64_t>(options.bytes, 1), page)));
  Staging staging(static_cast<std::byte*>(std::aligned_alloc(page, kPieces * piece_bytes)));
  if (!staging) return fail("E0906", "the system gives no memory to encrypt the page file in");
  std::memset(staging.get(), 0, kPieces * piece_bytes);  // in RAM before RAM is measured
  auto pager = std::make_unique<EncryptedPager>(
      std::move(plain), std::move(cipher), SealedBlocks(options.bytes, options.cuts), std::move(staging), piece_bytes);
  if (!pager->start()) return fail("E0905", "the system gives no thread for paging");
  return std::unique_ptr<FilePager>(std::move(pager));
}

}  // namespace pantoum::host
