// A pager that uses another one: it seals what goes to storage, and opens what comes from it.
//
// Its thread serves transfers in their order, as pieces of whole blocks, and keeps a few pieces under way: while it seals or opens one,
// the storage moves others. A piece to be written is sealed into a staging buffer, so that kernels may read the arena meanwhile. A piece
// that is read arrives at its place in the arena and is opened there. The thread also moves pages of the table of seals, one by one.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/round_up.h"
#include "host/plain_pager.h"
#include "host/prefaulted_thread.h"
#include "host/sealed_blocks.h"
#include "host/status_error.h"
#include "host/transfer_queue.h"

namespace pantoum::host {
namespace {

constexpr size_t kPieces = 4;  // the most that are under way at a time
constexpr uint64_t kPieceBytes = 256 << 10, kArenaShare = 16;
static_assert(kPieceBytes >= SealedBlocks::kBlockBytes && kPieces < PT_MAX_IN_FLIGHT);  // and a page of the table

// The buffers take a share of the arena, and at least two pieces of a block each.
struct Pieces {
  size_t count, bytes;
  Pieces(const FilePagerOptions& options, uint64_t page)
      : count(options.arena_bytes / kArenaShare < kPieces * SealedBlocks::kBlockBytes ? 2 : kPieces) {
    const uint64_t least = base::round_up(SealedBlocks::kBlockBytes, page);
    const uint64_t share = std::min(kPieceBytes, options.arena_bytes / kArenaShare / count) / page * page;
    const uint64_t needed = base::round_up(std::max<uint64_t>(options.bytes, 1), page);
    bytes = static_cast<size_t>(std::min(std::max(least, share), needed));
  }
};

struct FreeStaging {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Staging = std::unique_ptr<std::byte[], FreeStaging>;

class EncryptedPager final : public FilePager {
 public:
  EncryptedPager(std::unique_ptr<PlainPager> plain, PageCipher cipher, SealedBlocks blocks, Staging staging,
                 const Pieces& pieces, uint64_t bytes)
      : FilePager(bytes),
        plain_(std::move(plain)),
        cipher_(std::move(cipher)),
        blocks_(std::move(blocks)),
        staging_(std::move(staging)),
        most_open_(pieces.count),
        piece_bytes_(pieces.bytes) {}

  ~EncryptedPager() override {
    if (!thread_.started()) return;
    queue_.stop();
    thread_.join();
  }

  [[nodiscard]] pt_status create_table() {
    return blocks_.create(cipher_, [this](bool writes, uint64_t at, std::byte* data, size_t bytes) {
      return move_whole(writes, at, data, bytes);
    });
  }
  [[nodiscard]] bool start() {
    return thread_.start([](void* self) { static_cast<EncryptedPager*>(self)->serve(); }, this);
  }
  bool direct_io() const override { return plain_->direct_io(); }
  const char* backend() const override { return plain_->backend(); }
  const char* cipher() const override { return cipher_.name(); }
  uint64_t encryption_bytes() const override { return blocks_.ram_bytes() + most_open_ * piece_bytes_; }
  int fd() const override { return plain_->fd(); }

 private:
  // Whole blocks of one transfer that are being moved.
  struct Piece {
    Transfer* of = nullptr;
    uint32_t of_ticket = 0, ticket = 0;  // `ticket`: of the piece, in `plain_`
    size_t first = 0, last = 0;          // blocks [first, last)
    uint64_t begin = 0, end = 0;         // in the file
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
    SealedBlocks::Block block;
    pt_status status = blocks_.find(at, block);
    if (status == PT_OK && (at != block.begin || block.end > end)) {
      const uint64_t part_end = std::min(end, block.end);
      fail_with(transfer, move_part(*transfer, block, at, part_end));
      return part_end;
    }
    std::byte* data = transfer->data + (at - transfer->storage_at);
    Piece piece{transfer, transfer->ticket, 0, block.number, block.number + 1, at, block.end, data};
    for (; status == PT_OK && piece.last < blocks_.count() && piece.end < end; ++piece.last) {
      status = blocks_.get(piece.last, block);
      if (block.end > end || block.end - at > piece_bytes_) break;
      piece.end = block.end;
    }
    fail_with(transfer, status);
    if (status == PT_OK) begin_piece(piece);
    return piece.end;
  }

  void begin_piece(Piece piece) {
    if (open_ == most_open_) finish_oldest();
    const size_t place = (oldest_ + open_) % most_open_;
    const uint64_t at = piece.begin;
    const auto bytes = static_cast<size_t>(piece.end - at);
    std::byte* sealed = staging_.get() + place * piece_bytes_;
    pt_status status = piece.of->writes ? seal_all(piece, sealed) : PT_OK;
    piece.ticket = next_ticket();
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
    oldest_ = (oldest_ + 1) % most_open_;
    --open_;
    pt_status status = io().wait(io().context, piece.ticket);
    if (status == PT_OK && !piece.of->writes) status = open_all(piece);
    note(piece.of, status);
  }

  pt_status seal_all(const Piece& piece, std::byte* sealed) {
    for (size_t number = piece.first; number < piece.last; ++number) {
      SealedBlocks::Block block;
      pt_status status = blocks_.get(number, block);
      const uint64_t skip = block.begin - piece.begin;
      if (status == PT_OK) status = blocks_.seal(number, piece.data + skip, sealed + skip);
      if (status != PT_OK) return status;
    }
    return PT_OK;
  }

  pt_status open_all(const Piece& piece) {
    pt_status first = PT_OK;
    for (size_t number = piece.first; number < piece.last; ++number) {
      SealedBlocks::Block block;
      pt_status status = blocks_.get(number, block);
      if (status == PT_OK) status = blocks_.open(number, piece.data + (block.begin - piece.begin));
      if (first == PT_OK) first = status;
    }
    return first;
  }

  // Moves bytes [at, end) inside one block, which has to be opened as a whole. No piece is under way meanwhile.
  pt_status move_part(const Transfer& transfer, const SealedBlocks::Block& block, uint64_t at, uint64_t end) {
    while (open_ > 0) finish_oldest();
    const auto bytes = static_cast<size_t>(block.end - block.begin);
    std::byte* whole = staging_.get();
    std::byte* data = transfer.data + (at - transfer.storage_at);
    pt_status status = block.was_sealed ? move_whole(false, block.begin, whole, bytes) : PT_OK;
    if (status == PT_OK) status = blocks_.open(block.number, whole);
    if (status != PT_OK) return status;
    std::byte* part = whole + (at - block.begin);
    std::memcpy(transfer.writes ? part : data, transfer.writes ? data : part, static_cast<size_t>(end - at));
    if (transfer.writes) status = blocks_.seal(block.number, whole, whole);
    return transfer.writes && status == PT_OK ? move_whole(true, block.begin, whole, bytes) : status;
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
  Staging staging_;  // most_open_ of piece_bytes_
  size_t most_open_, piece_bytes_;
  TransferQueue queue_;
  // Used by the thread alone:
  std::array<Piece, kPieces> pieces_{};  // a ring of open_ from oldest_ on
  size_t oldest_ = 0, open_ = 0;
  std::array<Progress, TransferSlots::kCount> progress_{};
  uint32_t last_ticket_ = 0;
  PrefaultedThread thread_;
};

}  // namespace

Result<std::unique_ptr<FilePager>> make_encrypted_pager(std::unique_ptr<PlainPager> plain, SealedBlocks blocks,
                                                        const FilePagerOptions& options) {
  PANTOUM_ASSIGN(PageCipher cipher, PageCipher::create(options.cipher));
  const auto page = std::max<uint64_t>(4096, plain->file().direct_align);
  const Pieces pieces(options, page);
  Staging staging(static_cast<std::byte*>(std::aligned_alloc(page, pieces.count * pieces.bytes)));
  if (!staging) return fail("E0906", "the system gives no memory to encrypt the page file in");
  std::memset(staging.get(), 0, pieces.count * pieces.bytes);  // in RAM before RAM is measured
  auto pager = std::make_unique<EncryptedPager>(std::move(plain), std::move(cipher), std::move(blocks),
                                                std::move(staging), pieces, options.bytes);
  if (const pt_status status = pager->create_table(); status != PT_OK)
    return status_failure(status, "making the page file's table of seals");
  if (!pager->start()) return fail("E0905", "the system gives no thread for paging");
  return std::unique_ptr<FilePager>(std::move(pager));
}

}  // namespace pantoum::host
