#include "train/feature_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include "base/checksum.h"

namespace pantoum::train {
namespace {

// Repeats a call that may move only a part of the data, until all of it is moved; false: a call failed.
template <class Move>
bool move_all(std::span<std::byte> data, uint64_t at, Move move) {
  while (!data.empty()) {
    const ssize_t moved = move(data.data(), data.size(), static_cast<off_t>(at));
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    data = data.subspan(static_cast<size_t>(moved));
    at += static_cast<uint64_t>(moved);
  }
  return true;
}

std::span<std::byte> bytes_of(host::Seal& seal) {
  return std::as_writable_bytes(std::span(&seal, 1));
}

// A checksum that replaces the seal if nothing is encrypted. It depends on the row and on its place.
host::Seal sum_of(uint64_t at, std::span<const std::byte> row) {
  host::Seal seal;
  const uint64_t sum = base::checksum_of(row, at + 1);
  std::memcpy(seal.tag.data(), &sum, sizeof sum);
  return seal;
}

// Somebody else's samples.
class Forwarded final : public data::SampleFile {
 public:
  explicit Forwarded(const data::SampleFile& of) : of_(of) {}
  int64_t count() const override { return of_.count(); }
  const base::Shape& sample_shape() const override { return of_.sample_shape(); }
  base::DType dtype() const override { return of_.dtype(); }
  Result<void> read(int64_t index, std::span<std::byte> out) const override { return of_.read(index, out); }
  std::string source(int64_t index) const override { return of_.source(index); }

 private:
  const data::SampleFile& of_;
};

}  // namespace

class FeatureSamples final : public data::SampleFile {
 public:
  FeatureSamples(std::shared_ptr<const FeatureCache> cache, size_t field) : cache_(std::move(cache)), field_(field) {}
  int64_t count() const override { return cache_->count_; }
  const base::Shape& sample_shape() const override { return field().shape; }
  base::DType dtype() const override { return field().dtype; }

  Result<void> read(int64_t index, std::span<std::byte> out) const override {
    if (index < 0 || index >= count() || out.size() != field().bytes)
      return fail("E0260", fmt::format("there are no features of sample {} in {} bytes", index, out.size()));
    const int fd = cache_->file_.buffered.get();
    const auto read = [fd](void* data, size_t bytes, off_t at) { return ::pread(fd, data, bytes, at); };
    const uint64_t at = cache_->place_of(index, field_);
    host::Seal seal;
    if (!move_all(out, at, read) || !move_all(bytes_of(seal), at + out.size(), read))
      return fail("E0260", "the features of a sample cannot be read: " + std::generic_category().message(errno));
    if (cache_->open(at, out, seal)) return {};
    return fail("E0903", fmt::format("the kept features of sample {} are damaged", index), {},
                "the storage gives back other bytes than were written; name another folder with --page-file");
  }

 private:
  std::shared_ptr<const FeatureCache> cache_;
  size_t field_;
  [[nodiscard]] const FeatureCache::Field& field() const { return cache_->fields_[field_]; }
};

Result<std::shared_ptr<FeatureCache>> FeatureCache::create(const std::string& folder, int64_t count,
                                                           std::span<const data::BatchView> tensors, bool encrypt) {
  auto cache = std::make_shared<FeatureCache>();
  if (encrypt) {
    PANTOUM_ASSIGN(cache->cipher_, host::PageCipher::create());
  }
  for (const data::BatchView& tensor : tensors) {
    cache->fields_.push_back({.dtype = tensor.dtype,
                              .shape = {tensor.shape.begin() + 1, tensor.shape.end()},
                              .at = cache->stride_,
                              .bytes = tensor.row_bytes()});
    cache->stride_ += tensor.row_bytes() + kSealBytes;
  }
  cache->count_ = count;
  PANTOUM_ASSIGN(cache->file_, host::make_page_file(folder, static_cast<uint64_t>(count) * cache->stride_, false));
  return cache;
}

Result<void> FeatureCache::put(int64_t index, size_t field, const data::BatchView& tensor, int64_t row) {
  const std::span<std::byte> bytes = tensor.row(row);
  const uint64_t at = place_of(index, field);
  if (!cipher_) {
    host::Seal sum = sum_of(at, bytes);
    return write(at, bytes, sum);
  }
  if (puts_ == std::numeric_limits<uint32_t>::max())
    return fail("E0901", fmt::format("no more than {} features can be kept under one key", puts_), {},
                "leave --feature-cache out");
  host::Seal seal{.version = ++puts_};
  cipher_->seal(at, bytes, bytes.data(), seal);
  const Result<void> written = write(at, bytes, seal);
  (void)cipher_->open(at, bytes, seal);
  return written;
}

Result<void> FeatureCache::write(uint64_t at, std::span<std::byte> row, host::Seal& seal) const {
  const int fd = file_.buffered.get();
  const auto write = [fd](void* data, size_t bytes, off_t to) { return ::pwrite(fd, data, bytes, to); };
  if (move_all(row, at, write) && move_all(bytes_of(seal), at + row.size(), write)) return {};
  return fail("E0901", "the features of a sample cannot be kept: " + std::generic_category().message(errno), {},
              "free space, name another folder with --page-file, or leave --feature-cache out");
}

bool FeatureCache::open(uint64_t at, std::span<std::byte> row, const host::Seal& seal) const {
  if (cipher_) return cipher_->open(at, row, seal);
  const host::Seal sum = sum_of(at, row);
  return seal.version == sum.version && seal.tag == sum.tag;
}

data::Dataset FeatureCache::as_dataset(const std::shared_ptr<const FeatureCache>& cache, const data::Dataset& data) {
  data::Dataset made{.format = "features"};
  for (size_t field = 0; field < cache->fields_.size(); ++field)
    made.inputs.push_back(std::make_unique<FeatureSamples>(cache, field));
  made.labels = std::make_unique<Forwarded>(*data.labels);
  for (const auto& labels : data.more_labels) made.more_labels.push_back(std::make_unique<Forwarded>(*labels));
  return made;
}

}  // namespace pantoum::train
