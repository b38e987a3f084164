#include "artifact/dataset_unpack.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>

#include <array>
#include <filesystem>
#include <memory>

#include "artifact/owned_file.h"

namespace pantoum::artifact {
namespace {

constexpr size_t kPiece = 1 << 16;

// One or more gzip members, inflated piece by piece.
class Inflater {
 public:
  Inflater() { ready_ = inflateInit2(&stream_, 15 + 16) == Z_OK; }  // 16: gzip's frame
  ~Inflater() {
    if (ready_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // False where the bytes are not gzip. `ended` tells whether the last member was whole.
  [[nodiscard]] Result<bool> feed(std::span<std::byte> packed, std::span<std::byte> room, AtomicFile& out) {
    stream_.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream_.avail_in = static_cast<uInt>(packed.size());
    do {
      if (ended_ && stream_.avail_in > 0 && inflateReset(&stream_) != Z_OK) return false;
      if (ended_ && stream_.avail_in == 0) break;
      stream_.next_out = reinterpret_cast<Bytef*>(room.data());
      stream_.avail_out = static_cast<uInt>(room.size());
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) return false;
      ended_ = status == Z_STREAM_END;
      PANTOUM_TRY(out.append(room.first(room.size() - stream_.avail_out)));
    } while (stream_.avail_in > 0 || stream_.avail_out == 0);
    return true;
  }
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] bool ready() const { return ready_; }

 private:
  z_stream stream_{};
  bool ready_ = false, ended_ = false;
};

Result<void> inflate_file(const OwnedFile& packed, AtomicFile& out) {
  const Failure damaged =
      fail("E0261", "the gzip data are damaged or cut short", packed.path(), "copy or download the file again");
  Inflater inflater;
  if (!inflater.ready()) return fail("E0001", "zlib could not be started", packed.path());
  const auto in = std::make_unique<std::array<std::byte, kPiece>>();
  const auto room = std::make_unique<std::array<std::byte, kPiece>>();
  for (uint64_t at = 0; at < packed.size(); at += kPiece) {
    const auto piece = std::span(*in).first(static_cast<size_t>(std::min<uint64_t>(kPiece, packed.size() - at)));
    PANTOUM_TRY(packed.read_at(at, piece, "E0261"));
    PANTOUM_ASSIGN(const bool understood, inflater.feed(piece, *room, out));
    if (!understood) return damaged;
  }
  if (!inflater.ended()) return damaged;
  return {};
}

// "train-images-idx3-ubyte-0123456789abcdef" for "/data/train-images-idx3-ubyte.gz".
Result<std::string> cached_name(const OwnedFile& packed) {
  struct stat status {};
  if (::fstat(packed.descriptor(), &status) != 0) return fail("E0201", "cannot read the file", packed.path());
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::absolute(packed.path(), failed);
  const std::string key = fmt::format("{}\n{}\n{}.{:09}", whole.lexically_normal().string(), status.st_size,
                                      status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  return fmt::format("{}-{:016x}", std::filesystem::path(packed.path()).stem().string(),
                     XXH3_64bits(key.data(), key.size()));
}

Result<void> make_private_folder(const std::string& folder) {
  std::error_code failed;
  const std::filesystem::path parent = std::filesystem::path(folder).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, failed);
  if (::mkdir(folder.c_str(), 0700) == 0 || std::filesystem::is_directory(folder, failed)) return {};
  return fail("E0901", "cannot make the cache folder", folder, "choose another place that can be written");
}

}  // namespace

Result<std::string> unpack_gzip(const std::string& path, const std::string& cache_folder) {
  PANTOUM_ASSIGN(const OwnedFile packed, OwnedFile::open_to_read(path));
  PANTOUM_ASSIGN(const std::string name, cached_name(packed));
  const std::string folder = cache_folder.empty() ? "." : cache_folder;
  std::string unpacked = folder + "/" + name;
  struct stat status {};
  if (::stat(unpacked.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid())
    return unpacked;
  PANTOUM_TRY(make_private_folder(folder));
  PANTOUM_ASSIGN(AtomicFile out, AtomicFile::create(unpacked, 0600));
  PANTOUM_TRY(inflate_file(packed, out));
  PANTOUM_TRY(out.commit());
  return unpacked;
}

}  // namespace pantoum::artifact
