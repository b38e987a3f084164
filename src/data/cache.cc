#include "data/cache.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>

#include <array>
#include <filesystem>
#include <memory>

#include "base/owned_file.h"

namespace pantoum::data {
namespace {

constexpr size_t kPiece = 1 << 16;

enum class Frame : uint8_t { kGzip, kNone };  // the format that encloses the deflate data

// Inflates one or more gzip members, or bare deflate data, piece by piece.
class Inflater {
 public:
  explicit Inflater(Frame frame) { ready_ = inflateInit2(&stream_, frame == Frame::kGzip ? 15 + 16 : -15) == Z_OK; }
  ~Inflater() {
    if (ready_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Inflates `packed` by way of `buffer` and appends the result to `out`. Returns false if the bytes cannot be inflated. Afterwards ended() returns
  // whether the last member is complete.
  [[nodiscard]] Result<bool> feed(std::span<std::byte> packed, std::span<std::byte> buffer, base::AtomicFile& out) {
    stream_.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream_.avail_in = static_cast<uInt>(packed.size());
    do {
      if (ended_ && stream_.avail_in > 0 && inflateReset(&stream_) != Z_OK) return false;
      if (ended_ && stream_.avail_in == 0) break;
      stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream_.avail_out = static_cast<uInt>(buffer.size());
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) return false;
      ended_ = status == Z_STREAM_END;
      const auto made = buffer.first(buffer.size() - stream_.avail_out);
      crc_ = static_cast<uint32_t>(
          crc32(crc_, reinterpret_cast<const Bytef*>(made.data()), static_cast<uInt>(made.size())));
      bytes_ += made.size();
      PANTOUM_TRY(out.append(made));
    } while (stream_.avail_in > 0 || stream_.avail_out == 0);
    return true;
  }
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] uint32_t crc() const { return crc_; }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }
  [[nodiscard]] bool ready() const { return ready_; }

 private:
  z_stream stream_{};
  bool ready_ = false, ended_ = false;
  uint32_t crc_ = 0;
  uint64_t bytes_ = 0;
};

// Inflates bytes [begin, end) of `packed` into `out`. `member` null: the bytes are gzip members. Otherwise they are bare deflate data, and the size
// and the CRC-32 of the result must be those of `member`. E0261: the data are damaged, or more than kMostUnpacked bytes.
Result<void> inflate_file(const base::OwnedFile& packed, uint64_t begin, uint64_t end, const PackedMember* member,
                          base::AtomicFile& out) {
  const Failure damaged =
      fail("E0261", "the compressed data are damaged or cut short", packed.path(), "copy or download the file again");
  Inflater inflater(member == nullptr ? Frame::kGzip : Frame::kNone);
  if (!inflater.ready()) return fail("E0001", "zlib could not be started", packed.path());
  const auto in = std::make_unique<std::array<std::byte, kPiece>>();
  const auto buffer = std::make_unique<std::array<std::byte, kPiece>>();
  for (uint64_t at = begin; at < end; at += kPiece) {
    const auto piece = std::span(*in).first(static_cast<size_t>(std::min<uint64_t>(kPiece, end - at)));
    PANTOUM_TRY(packed.read_at(at, piece, "E0261"));
    PANTOUM_ASSIGN(const bool understood, inflater.feed(piece, *buffer, out));
    if (!understood || (member != nullptr && inflater.bytes() > member->bytes)) return damaged;
    if (inflater.bytes() > kMostUnpacked)
      return fail("E0261", fmt::format("the compressed data hold more than {} bytes", kMostUnpacked), packed.path(),
                  "give them uncompressed");
  }
  if (!inflater.ended()) return damaged;
  if (member != nullptr && (inflater.crc() != member->crc || inflater.bytes() != member->bytes)) return damaged;
  return {};
}

Result<void> make_private_folder(const std::string& folder) {
  std::error_code failed;
  const std::filesystem::path parent = std::filesystem::path(folder).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, failed);
  if (::mkdir(folder.c_str(), 0700) == 0 || std::filesystem::is_directory(folder, failed)) return {};
  return fail("E0901", "cannot make the cache folder", folder, "choose another place that can be written");
}

}  // namespace

Result<std::string> identity_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return fail("E0201", "cannot read the file", path);
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::absolute(path, failed);
  return fmt::format("{}\n{}\n{}.{:09}", whole.lexically_normal().string(), status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

Result<std::string> cached_file(const std::string& folder, const std::string& stem, const std::string& key,
                                const std::function<Result<void>(base::AtomicFile&)>& make) {
  const std::string where = folder.empty() ? "." : folder;
  std::string path = fmt::format("{}/{}-{:016x}", where, stem, XXH3_64bits(key.data(), key.size()));
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid()) return path;
  PANTOUM_TRY(make_private_folder(where));
  PANTOUM_ASSIGN(base::AtomicFile out, base::AtomicFile::create(path, 0600));
  PANTOUM_TRY(make(out));
  PANTOUM_TRY(out.commit());
  return path;
}

Result<std::string> unpack_gzip(const std::string& path, const std::string& cache_folder) {
  PANTOUM_ASSIGN(const base::OwnedFile packed, base::OwnedFile::open_to_read(path));
  PANTOUM_ASSIGN(const std::string key, identity_of(path));
  return cached_file(cache_folder, std::filesystem::path(path).stem().string(), key,
                     [&](base::AtomicFile& out) { return inflate_file(packed, 0, packed.size(), nullptr, out); });
}

Result<std::string> unpack_member(const base::OwnedFile& file, const PackedMember& member,
                                  const std::string& cache_folder) {
  PANTOUM_ASSIGN(const std::string key, identity_of(file.path()));
  return cached_file(cache_folder, std::filesystem::path(file.path()).stem().string(), key + "\n" + member.name,
                     [&](base::AtomicFile& out) {
                       return inflate_file(file, member.at, member.at + member.packed_bytes, &member, out);
                     });
}

Result<void> check_stored(const base::OwnedFile& file, const PackedMember& member) {
  const auto buffer = std::make_unique<std::array<std::byte, kPiece>>();
  uLong crc = 0;
  for (uint64_t at = 0; at < member.packed_bytes; at += kPiece) {
    const auto piece =
        std::span(*buffer).first(static_cast<size_t>(std::min<uint64_t>(kPiece, member.packed_bytes - at)));
    PANTOUM_TRY(file.read_at(member.at + at, piece, "E0261"));
    crc = crc32(crc, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(piece.size()));
  }
  if (member.packed_bytes == member.bytes && crc == member.crc) return {};
  return fail("E0261", "the member '" + member.name + "' is damaged: its checksum is another", file.path(),
              "copy or make the file again");
}

Result<void> PieceWriter::put(std::span<const std::byte> data) {
  pending_.insert(pending_.end(), data.begin(), data.end());
  return pending_.size() < kPiece ? Result<void>() : flush();
}

Result<void> PieceWriter::flush() {
  PANTOUM_TRY(out_.append(pending_));
  pending_.clear();
  return {};
}

}  // namespace pantoum::data
