#include "ini/bin_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/owned_file.h"

namespace pantoum::ini {
namespace {

constexpr uint64_t kProgressBytes = 8;
constexpr std::string_view kAdam = "adam";
constexpr unsigned kMode = 0644;

uint64_t bytes_of(const StoredTensor& tensor) {
  uint64_t bytes = sizeof(float);
  for (const int64_t extent : tensor.shape) bytes *= static_cast<uint64_t>(extent);
  return bytes;
}

Result<const weights::SafetensorEntry*> entry_of(const weights::SafetensorFile& from, const std::string& name,
                                                 const StoredTensor& tensor) {
  const weights::SafetensorEntry* const entry = from.find(name);
  if (entry != nullptr && entry->bytes == bytes_of(tensor)) return entry;
  return fail("E0242", fmt::format("the tensor '{}' is missing, or has another shape", name), from.path,
              "give the weights that `pantoum train` wrote for this model");
}

Result<void> append_tensor(base::AtomicFile& file, const weights::SafetensorFile& from, const std::string& name,
                           const StoredTensor& tensor) {
  PANTOUM_ASSIGN(const weights::SafetensorEntry* const entry, entry_of(from, name, tensor));
  std::array<std::byte, 1 << 16> piece;
  for (uint64_t at = 0; at < entry->bytes; at += piece.size()) {
    const std::span<std::byte> part(piece.data(), std::min<uint64_t>(piece.size(), entry->bytes - at));
    PANTOUM_TRY(weights::read_tensor(from, *entry, at, part));
    PANTOUM_TRY(file.append(part));
  }
  return {};
}

}  // namespace

Result<weights::SafetensorFile> open_bin(const std::string& path, const std::vector<StoredTensor>& stored) {
  PANTOUM_ASSIGN(const base::OwnedFile file, base::OwnedFile::open_to_read(path));
  weights::SafetensorFile made;
  made.path = path;
  uint64_t at = 0, moments = kAdam.size();
  for (const StoredTensor& tensor : stored) {
    made.tensors.push_back(
        {.name = tensor.name, .dtype = base::DType::kF32, .shape = tensor.shape, .at = at, .bytes = bytes_of(tensor)});
    at += bytes_of(tensor);
    moments += tensor.is_statistic ? 0 : 2 * bytes_of(tensor);
  }
  const std::array<uint64_t, 4> sizes = {at, at + kProgressBytes, at + moments, at + moments + kProgressBytes};
  if (std::find(sizes.begin(), sizes.end(), file.size()) == sizes.end())
    return fail("E0240",
                fmt::format("the file has {} bytes; the weights of this model have {}, or {} with Adam's moments",
                            file.size(), sizes[1], sizes[3]),
                path, "give the .bin that was written for this model, or safetensors");
  return made;
}

Result<void> write_bin(const std::string& path, const std::vector<StoredTensor>& stored,
                       const weights::SafetensorFile& from, BinProgress progress) {
  PANTOUM_ASSIGN(base::AtomicFile file, base::AtomicFile::create(path, kMode));
  for (const StoredTensor& tensor : stored) PANTOUM_TRY(append_tensor(file, from, tensor.name, tensor));
  const auto moment = [](const char* which, const StoredTensor& tensor) {
    return fmt::format("optim.{}.{}", which, tensor.name);
  };
  const bool is_adam = std::ranges::any_of(
      stored, [&](const StoredTensor& each) { return from.find(moment("adam_m", each)) != nullptr; });
  if (is_adam) PANTOUM_TRY(file.append(std::as_bytes(std::span(kAdam))));
  for (const StoredTensor& tensor : stored) {
    if (!is_adam || from.find(moment("adam_m", tensor)) == nullptr) continue;  // of what is frozen there are none
    for (const char* which : {"adam_m", "adam_v"})
      PANTOUM_TRY(append_tensor(file, from, moment(which, tensor), tensor));
  }
  const std::array<uint32_t, 2> numbers = {progress.epoch, progress.iteration};
  PANTOUM_TRY(file.append(std::as_bytes(std::span(numbers))));
  return file.commit();
}

}  // namespace pantoum::ini
