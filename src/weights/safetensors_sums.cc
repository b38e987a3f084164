#include "weights/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checksum.h"
#include "base/owned_file.h"

namespace pantoum::weights {
namespace {

constexpr size_t kSumPiece = 1 << 16, kMostTold = 20;
constexpr const char* kCopyAgain =
    "copy the file again, or take an older one; where a tool has changed it, write it without its metadata";

void add_text(base::Checksum& sum, const std::string& text) {
  const uint64_t size = text.size();  // texts that follow each other stay apart
  sum.add(std::as_bytes(std::span(&size, 1)));
  sum.add(std::as_bytes(std::span(text)));
}

void add_number(base::Checksum& sum, uint64_t number) {
  sum.add(std::as_bytes(std::span(&number, 1)));
}

Result<std::string> sum_of_tensor(const base::OwnedFile& file, const SafetensorEntry& entry,
                                  std::span<std::byte> buffer) {
  base::Checksum sum;
  for (uint64_t at = 0; at < entry.stored_bytes(); at += buffer.size()) {
    const auto piece = buffer.first(static_cast<size_t>(std::min<uint64_t>(buffer.size(), entry.stored_bytes() - at)));
    PANTOUM_TRY(file.read_at(entry.at + at, piece, "E0241"));
    sum.add(piece);
  }
  return base::checksum_text(sum.value());
}

}  // namespace

uint64_t header_sum(const std::vector<SafetensorEntry>& tensors, uint64_t data_at,
                    const std::map<std::string, std::string>& metadata) {
  base::Checksum sum;
  add_number(sum, tensors.size());
  for (const SafetensorEntry& entry : tensors) {
    add_text(sum, entry.name);
    add_number(sum, static_cast<uint64_t>(entry.dtype));
    add_number(sum, entry.shape.size());
    for (const int64_t extent : entry.shape) add_number(sum, static_cast<uint64_t>(extent));
    add_number(sum, entry.at - data_at);
  }
  for (const auto& [key, value] : metadata) {
    if (key == kHeaderSum) continue;
    add_text(sum, key);
    add_text(sum, value);
  }
  return sum.value();
}

Result<void> check_header_sum(const SafetensorFile& file, uint64_t data_at) {
  const auto sums = file.metadata.find(kTensorSums);
  const bool has_tensor_sums = sums != file.metadata.end();
  if (!file.has_sums() && !has_tensor_sums) return {};
  const bool whole = file.has_sums() && has_tensor_sums && sums->second.size() == file.tensors.size() * kSumDigits;
  if (whole && file.metadata.at(kHeaderSum) == base::checksum_text(header_sum(file.tensors, data_at, file.metadata)))
    return {};
  return fail("E0244", "the header of the file is damaged: its sum is not the one that was written", file.path,
              kCopyAgain);
}

Result<void> check_tensor_sums(const SafetensorFile& file) {
  if (!file.has_sums()) return {};
  PANTOUM_ASSIGN(const base::OwnedFile open, base::OwnedFile::open_to_read(file.path));
  std::vector<std::byte> buffer(kSumPiece);
  std::vector<std::string> damaged;
  size_t count = 0;
  std::string_view told = file.metadata.at(kTensorSums);
  for (const SafetensorEntry& entry : file.tensors) {
    PANTOUM_ASSIGN(const std::string sum, sum_of_tensor(open, entry, buffer));
    const bool same = sum == told.substr(0, kSumDigits);
    told.remove_prefix(kSumDigits);
    if (same) continue;
    if (++count <= kMostTold) damaged.push_back(fmt::format("'{}' is not what was written", entry.name));
  }
  if (count == 0) return {};
  if (count > kMostTold) damaged.push_back(fmt::format("and {} more", count - kMostTold));
  return fail(
      "E0244",
      fmt::format("{} tensor{} of the file {} damaged", count, count == 1 ? "" : "s", count == 1 ? "is" : "are"),
      file.path, kCopyAgain, std::move(damaged));
}

}  // namespace pantoum::weights
