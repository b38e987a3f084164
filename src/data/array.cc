#include "data/array.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "data/cache.h"

namespace pantoum::data {
namespace {

void swap_elements(std::span<std::byte> data, size_t element_bytes) {
  for (size_t at = 0; at + element_bytes <= data.size(); at += element_bytes)
    std::reverse(data.begin() + static_cast<ptrdiff_t>(at), data.begin() + static_cast<ptrdiff_t>(at + element_bytes));
}

class ArrayFile final : public SampleFile {
 public:
  ArrayFile(std::shared_ptr<const base::OwnedFile> file, ArrayLayout layout)
      : file_(std::move(file)), layout_(std::move(layout)) {}

  int64_t count() const override { return layout_.count; }
  const base::Shape& sample_shape() const override { return layout_.sample_shape; }
  base::DType dtype() const override { return layout_.dtype; }

  Result<void> read(int64_t index, std::span<std::byte> out) const override {
    if (index < 0 || index >= layout_.count)
      return fail("E0260", fmt::format("there is no sample {}; the file has {}", index, layout_.count), file_->path());
    if (out.size() != layout_.sample_bytes)
      return fail("E0260", fmt::format("a sample has {} bytes; {} were asked for", layout_.sample_bytes, out.size()),
                  file_->path());
    PANTOUM_TRY(file_->read_at(layout_.data_at + static_cast<uint64_t>(index) * layout_.stride, out, "E0260"));
    if (layout_.swap_bytes) swap_elements(out, static_cast<size_t>(base::size_of(layout_.dtype)));
    return {};
  }
  std::string source(int64_t /*index*/) const override { return file_->path(); }

 private:
  std::shared_ptr<const base::OwnedFile> file_;
  ArrayLayout layout_;
};

class JoinedFiles final : public SampleFile {
 public:
  explicit JoinedFiles(std::vector<std::unique_ptr<SampleFile>> parts) : parts_(std::move(parts)) {
    for (const auto& part : parts_) count_ += part->count();
  }
  int64_t count() const override { return count_; }
  const base::Shape& sample_shape() const override { return parts_.front()->sample_shape(); }
  base::DType dtype() const override { return parts_.front()->dtype(); }

  Result<void> read(int64_t index, std::span<std::byte> out) const override {
    for (const auto& part : parts_) {
      if (index < part->count()) return part->read(index, out);
      index -= part->count();
    }
    return parts_.back()->read(parts_.back()->count() + index, out);  // out of range, and says so
  }
  std::string source(int64_t index) const override {
    for (const auto& part : parts_) {
      if (index < part->count()) return part->source(index);
      index -= part->count();
    }
    return {};
  }

 private:
  std::vector<std::unique_ptr<SampleFile>> parts_;
  int64_t count_ = 0;
};

Result<std::vector<std::byte>> read_start(const base::OwnedFile& file) {
  std::vector<std::byte> start(static_cast<size_t>(std::min<uint64_t>(file.size(), kArrayHeaderLimit)));
  PANTOUM_TRY(file.read_at(0, start, "E0261"));
  return start;
}

// `where` is what the user named: the packed file, when `file` is its unpacked twin.
Result<std::unique_ptr<SampleFile>> open_array(base::OwnedFile file, std::span<const std::byte> start,
                                               const std::string& where) {
  if (!is_idx(start) && !is_npy(start))
    return fail("E0261", "the data are neither IDX nor NPY", where,
                "save them with numpy.save, or as MNIST's IDX, plain or gzip");
  PANTOUM_ASSIGN(ArrayLayout layout, is_idx(start) ? read_idx_header(start, file.size(), where)
                                                   : read_npy_header(start, file.size(), where));
  return array_samples(std::make_shared<base::OwnedFile>(std::move(file)), std::move(layout));
}

}  // namespace

std::unique_ptr<SampleFile> array_samples(std::shared_ptr<const base::OwnedFile> file, ArrayLayout layout) {
  return std::make_unique<ArrayFile>(std::move(file), std::move(layout));
}

std::unique_ptr<SampleFile> joined_samples(std::vector<std::unique_ptr<SampleFile>> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  return std::make_unique<JoinedFiles>(std::move(parts));
}

ArrayLayout record_field(uint64_t file_size, uint64_t begin, uint64_t stride, uint64_t at, base::DType dtype,
                         const base::Shape& shape) {
  return {.count = static_cast<int64_t>((file_size - begin) / stride),
          .sample_shape = shape,
          .dtype = dtype,
          .data_at = begin + at,
          .sample_bytes = static_cast<uint64_t>(base::TensorType{dtype, shape}.bytes()),
          .stride = stride};
}

Result<std::unique_ptr<SampleFile>> open_samples(const std::string& path, const std::string& cache_folder) {
  PANTOUM_ASSIGN(base::OwnedFile file, base::OwnedFile::open_to_read(path));
  PANTOUM_ASSIGN(const std::vector<std::byte> start, read_start(file));
  if (!is_gzip(start)) return open_array(std::move(file), start, path);
  PANTOUM_ASSIGN(const std::string unpacked_path, unpack_gzip(path, cache_folder));
  PANTOUM_ASSIGN(base::OwnedFile unpacked, base::OwnedFile::open_to_read(unpacked_path));
  PANTOUM_ASSIGN(const std::vector<std::byte> unpacked_start, read_start(unpacked));
  auto samples = open_array(std::move(unpacked), unpacked_start, path);
  if (!samples) ::unlink(unpacked_path.c_str());  // a file that is no array is not kept
  return samples;
}

}  // namespace pantoum::data
