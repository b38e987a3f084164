#include "ini/bin_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "base/owned_file.h"

namespace pantoum::ini {
namespace {

constexpr uint64_t kProgressBytes = 8;
constexpr std::string_view kAdam = "adam";
constexpr unsigned kMode = 0644;

constexpr std::array<const char*, 2> kMoments = {"adam_m", "adam_v"};
constexpr std::array<const char*, 2> kProgress = {"epoch", "step"};

std::string moment(const char* which, const StoredTensor& tensor) {
  return fmt::format("optim.{}.{}", which, tensor.name);
}

bool has_moments(const StoredTensor& tensor) {
  return !tensor.is_statistic && !tensor.is_frozen;
}

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

Result<void> append_zeros(base::AtomicFile& file, uint64_t bytes) {
  constexpr std::array<std::byte, 1 << 16> kZeros{};
  for (; bytes > 0; bytes -= std::min<uint64_t>(bytes, kZeros.size()))
    PANTOUM_TRY(file.append(std::span(kZeros).first(std::min<uint64_t>(bytes, kZeros.size()))));
  return {};
}

// Places the tensor behind those that the file has.
void add_entry(weights::SafetensorFile& file, const std::string& name, const StoredTensor& tensor, uint64_t& at) {
  file.tensors.push_back(
      {.name = name, .dtype = base::DType::kF32, .shape = tensor.shape, .at = at, .bytes = bytes_of(tensor)});
  at += bytes_of(tensor);
}

Result<void> read_progress(const base::OwnedFile& file, weights::SafetensorFile& into) {
  std::array<uint32_t, kProgress.size()> numbers{};
  PANTOUM_TRY(file.read_at(file.size() - kProgressBytes, std::as_writable_bytes(std::span(numbers)), "E0241"));
  for (size_t each = 0; each < kProgress.size(); ++each) into.metadata[kProgress[each]] = std::to_string(numbers[each]);
  return {};
}

// Have the moments their letters in front?
Result<bool> has_letters(const base::OwnedFile& file, uint64_t at) {
  std::array<char, kAdam.size()> letters{};
  PANTOUM_TRY(file.read_at(at, std::as_writable_bytes(std::span(letters)), "E0241"));
  return std::string_view(letters.data(), letters.size()) == kAdam;
}

uint32_t progress_of(const weights::SafetensorFile& from, const char* key) {
  uint32_t number = 0;
  if (const auto found = from.metadata.find(key); found != from.metadata.end())
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), number);
  return number;
}

}  // namespace

Result<weights::SafetensorFile> open_bin(const std::string& path, const std::vector<StoredTensor>& stored) {
  PANTOUM_ASSIGN(const base::OwnedFile file, base::OwnedFile::open_to_read(path));
  weights::SafetensorFile made;
  made.path = path;
  uint64_t at = 0, moments = kAdam.size();
  for (const StoredTensor& tensor : stored) {
    add_entry(made, tensor.name, tensor, at);
    moments += has_moments(tensor) ? 2 * bytes_of(tensor) : 0;
  }
  const std::array<uint64_t, 4> sizes = {at, at + kProgressBytes, at + moments, at + moments + kProgressBytes};
  if (std::find(sizes.begin(), sizes.end(), file.size()) == sizes.end())
    return fail("E0240",
                fmt::format("the file has {} bytes; the weights of this model have {}, or {} with Adam's moments",
                            file.size(), sizes[1], sizes[3]),
                path, "give the .bin that was written for this model, or safetensors");
  if (file.size() >= sizes[2]) {
    PANTOUM_ASSIGN(const bool is_adam, has_letters(file, at));
    if (!is_adam)
      return fail("E0240", "the letters \"adam\" do not stand in front of the moments", path,
                  "give the .bin that was written for this model, or safetensors");
    at += kAdam.size();
    for (const StoredTensor& tensor : stored)
      for (const char* which : kMoments)
        if (has_moments(tensor)) add_entry(made, moment(which, tensor), tensor, at);
  }
  if (file.size() > at) PANTOUM_TRY(read_progress(file, made));
  return made;
}

Result<void> write_bin(const std::string& path, const std::vector<StoredTensor>& stored,
                       const weights::SafetensorFile& from) {
  PANTOUM_ASSIGN(base::AtomicFile file, base::AtomicFile::create(path, kMode));
  for (const StoredTensor& tensor : stored) PANTOUM_TRY(append_tensor(file, from, tensor.name, tensor));
  const bool is_adam = std::ranges::any_of(
      stored, [&](const StoredTensor& each) { return from.find(moment(kMoments[0], each)) != nullptr; });
  if (is_adam) PANTOUM_TRY(file.append(std::as_bytes(std::span(kAdam))));
  for (const StoredTensor& tensor : stored) {
    if (!is_adam || !has_moments(tensor)) continue;
    for (const char* which : kMoments)
      PANTOUM_TRY(from.find(moment(which, tensor)) != nullptr ? append_tensor(file, from, moment(which, tensor), tensor)
                                                              : append_zeros(file, bytes_of(tensor)));
  }
  std::array<uint32_t, kProgress.size()> numbers{};
  for (size_t each = 0; each < kProgress.size(); ++each) numbers[each] = progress_of(from, kProgress[each]);
  PANTOUM_TRY(file.append(std::as_bytes(std::span(numbers))));
  return file.commit();
}

}  // namespace pantoum::ini
