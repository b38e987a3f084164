#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/checksum.h"
#include "base/owned_file.h"
#include "weights/safetensors.h"
#include "weights/safetensors_header.h"

namespace pantoum::weights {
namespace {

constexpr size_t kPieceBytes = 1 << 16;

struct Placed {
  const SafetensorSource* source = nullptr;
  uint64_t begin = 0, bytes = 0;
};

// Places tensors by falling element size, then by name, so that each is aligned to its element.
std::vector<Placed> lay_out(const std::vector<SafetensorSource>& tensors) {
  std::vector<Placed> placed;
  placed.reserve(tensors.size());
  for (const SafetensorSource& source : tensors) placed.push_back({&source, 0, 0});
  std::ranges::sort(placed, [](const Placed& a, const Placed& b) {
    const int64_t size_a = base::size_of(a.source->dtype), size_b = base::size_of(b.source->dtype);
    return size_a != size_b ? size_a > size_b : a.source->name < b.source->name;
  });
  uint64_t at = 0;
  for (Placed& tensor : placed) {
    tensor.bytes = static_cast<uint64_t>(base::size_of(tensor.source->dtype));
    for (const int64_t extent : tensor.source->shape) tensor.bytes *= static_cast<uint64_t>(extent);
    tensor.begin = at;
    at += tensor.bytes;
  }
  return placed;
}

// Names that are not UTF-8 are written with U+FFFD in their place, as JSON cannot hold them.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string header_text(const std::vector<Placed>& tensors, const std::map<std::string, std::string>& metadata) {
  std::string text = "{";
  if (!metadata.empty()) {
    text += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) text += quoted(key) + ":" + quoted(value) + ",";
    text.back() = '}';
    text += ',';
  }
  for (const Placed& tensor : tensors)
    text += fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}},", quoted(tensor.source->name),
                        safetensors_name(tensor.source->dtype), fmt::join(tensor.source->shape, ","), tensor.begin,
                        tensor.begin + tensor.bytes);
  if (text.back() == ',') text.pop_back();
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

Result<void> check_names(const std::vector<SafetensorSource>& tensors, const std::string& path) {
  std::unordered_set<std::string> names{"__metadata__"};
  for (const SafetensorSource& source : tensors)
    if (!names.insert(source.name).second)
      return fail("E0240", "two tensors are to be written under the name '" + source.name + "'", path);
  return {};
}

// Writes a tensor piece by piece, or only reads it if there is no file; returns its checksum.
Result<std::string> pass(base::AtomicFile* file, const Placed& tensor, std::span<std::byte> piece) {
  base::Checksum sum;
  for (uint64_t at = 0; at < tensor.bytes; at += piece.size()) {
    const auto part = piece.first(static_cast<size_t>(std::min<uint64_t>(piece.size(), tensor.bytes - at)));
    PANTOUM_TRY(tensor.source->read(at, part));
    sum.add(part);
    if (file != nullptr) PANTOUM_TRY(file->append(part));
  }
  return base::checksum_text(sum.value());
}

// A name as a reader of the file will see it.
std::string readable(const std::string& text) {
  return nlohmann::json::parse(quoted(text)).get<std::string>();
}

using Metadata = std::map<std::string, std::string>;

// The metadata with zeros in the place of checksums that are not computed yet.
Metadata as_found(const std::vector<Placed>& tensors, const Metadata& metadata) {
  Metadata found;
  for (const auto& [key, value] : metadata) found[readable(key)] = readable(value);
  found[kHeaderSum] = base::checksum_text(0);
  found[kTensorSums] = std::string(tensors.size() * kSumDigits, '0');
  return found;
}

// The header with the length before it, and its own sum in it.
std::string summed_header(const std::vector<Placed>& tensors, Metadata& metadata) {
  std::vector<SafetensorEntry> entries;
  entries.reserve(tensors.size());
  for (const Placed& each : tensors)
    entries.push_back({readable(each.source->name), each.source->dtype, each.source->shape, each.begin, each.bytes});
  metadata[kHeaderSum] = base::checksum_text(header_sum(entries, 0, metadata));
  std::string text = header_text(tensors, metadata);
  std::string length(8, '\0');
  for (size_t byte = 0; byte < 8; ++byte) length[byte] = static_cast<char>(text.size() >> (8 * byte));
  return text.insert(0, length);
}

}  // namespace

Result<void> write_safetensors(const std::string& path, const std::vector<SafetensorSource>& tensors,
                               const std::map<std::string, std::string>& metadata, const std::string& kept,
                               std::span<std::byte> piece) {
  PANTOUM_TRY(check_names(tensors, path));
  const std::vector<Placed> placed = lay_out(tensors);
  Metadata found = as_found(placed, metadata);
  std::string header = summed_header(placed, found);
  if (header.size() > kSafetensorsHeaderLimit + 8)
    return fail("E0240", "the header would be over 100 MB, which safetensors does not allow", path);
  PANTOUM_ASSIGN(base::AtomicFile file, base::AtomicFile::create(path, 0644));
  std::vector<std::byte> own(piece.empty() ? kPieceBytes : 0);
  if (piece.empty()) piece = own;
  const auto pass_all = [&](base::AtomicFile* to) -> Result<void> {
    std::string sums;
    for (const Placed& tensor : placed) {
      PANTOUM_ASSIGN(const std::string sum, pass(to, tensor, piece));
      sums += sum;
    }
    found[kTensorSums] = std::move(sums);
    header.clear(), header.shrink_to_fit();
    header = summed_header(placed, found);
    return {};
  };
  if (file.is_direct()) PANTOUM_TRY(pass_all(nullptr));  // what went through a pipe cannot be written again
  PANTOUM_TRY(file.append(std::as_bytes(std::span(header))));
  PANTOUM_TRY(pass_all(&file));
  if (!file.is_direct()) PANTOUM_TRY(file.rewrite(0, std::as_bytes(std::span(header))));
  return file.commit(kept);
}

std::set<std::string> constants_of(const SafetensorFile& file) {
  const auto text = file.metadata.find(kConstantsKey);
  if (text == file.metadata.end()) return {};
  const nlohmann::json names = nlohmann::json::parse(text->second, nullptr, false);
  std::set<std::string> constants;
  if (names.is_array())
    for (const nlohmann::json& name : names)
      if (name.is_string()) constants.insert(name.get<std::string>());
  return constants;
}

std::string constants_text(const std::set<std::string>& names) {
  return nlohmann::json(names).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Computed computed_of(const SafetensorFile& file) {
  const auto text = file.metadata.find(kComputedKey);
  if (text == file.metadata.end()) return {};
  const nlohmann::json map = nlohmann::json::parse(text->second, nullptr, false);
  Computed computed;
  if (map.is_object())
    for (const auto& [name, sources] : map.items())
      for (const nlohmann::json& source : sources)
        if (source.is_string()) computed[name].push_back(source.get<std::string>());
  return computed;
}

std::string computed_text(const Computed& computed) {
  return nlohmann::json(computed).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace pantoum::weights
