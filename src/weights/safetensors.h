// safetensors: weights, optimizer state and resume points. https://huggingface.co/docs/safetensors (8-byte length, JSON
// header, bytes).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"

namespace pantoum::weights {

// A header is at most this long, as in the format's own reader.
inline constexpr uint64_t kSafetensorsHeaderLimit = 100'000'000;

// How a tensor's elements lie in the file. Floats of two bytes are read as float32, which holds each of them exactly.
enum class Stored : uint8_t { kAsTheyAre, kF16, kBF16 };

struct SafetensorEntry {
  std::string name;
  base::DType dtype = base::DType::kF32;
  std::vector<int64_t> shape;
  uint64_t at = 0, bytes = 0;  // where it lies in the file; how long it is once it is read
  Stored stored = Stored::kAsTheyAre;
  [[nodiscard]] uint64_t stored_bytes() const { return stored == Stored::kAsTheyAre ? bytes : bytes / 2; }
};

struct SafetensorFile {
  std::string path;
  std::vector<SafetensorEntry> tensors;         // in the order of their offsets
  std::map<std::string, std::string> metadata;  // "__metadata__"
  const SafetensorEntry* find(const std::string& name) const;
  bool has_sums() const;  // checksums of tensors and header
};

// Reads and checks the header and, where the file has sums, all of its data, so that damage is found before anything is used.
//   errors  E0201 it cannot be opened; E0240 the header is wrong: cut short, tensors that overlap or leave holes, an unknown or unsupported
//           dtype (I16 and F8_E4M3 among them), sizes that do not fit the shape, a name that stands twice, bytes after the last tensor;
//           E0244 damaged tensors
Result<SafetensorFile> open_safetensors(const std::string& path);

// The same for a file's first `size` bytes (the 8-byte length, then the header) of `file_size`. `where` becomes `path`.
// Any bytes may be given; cost and memory are linear in `size`. Data are not looked at.
Result<SafetensorFile> parse_safetensors_header(const void* bytes, size_t size, uint64_t file_size,
                                                const std::string& where);

// Reads [at, at + data.size()) of one tensor's bytes; of floats of two bytes, whole elements. E0241 on a read error, a range outside the
// tensor, a file cut short since.
Result<void> read_tensor(const SafetensorFile& file, const SafetensorEntry& entry, uint64_t at,
                         std::span<std::byte> data);

// The metadata key of a file of first weights under which it names its constants, as a JSON list: tensors that the compiler made and the model
// does not name.
inline constexpr const char* kConstantsKey = "constants";
// These names; none where the file has no such list.
[[nodiscard]] std::set<std::string> constants_of(const SafetensorFile& file);
[[nodiscard]] std::string constants_text(const std::set<std::string>& names);

// Metadata of the same file: buffers that PyTorch computed of other buffers while it captured the module, each with the names
// of these. A step reads both as they are; PyTorch alone computes the former again.
inline constexpr const char* kComputedKey = "computed";
using Computed = std::map<std::string, std::vector<std::string>>;
// None where the file has no such map.
[[nodiscard]] Computed computed_of(const SafetensorFile& file);
[[nodiscard]] std::string computed_text(const Computed& computed);

// What to write: `read` is asked for each piece in turn, so that a tensor need never be in memory whole.
struct SafetensorSource {
  std::string name;
  base::DType dtype = base::DType::kF32;
  std::vector<int64_t> shape;
  std::function<Result<void>(uint64_t at, std::span<std::byte> piece)> read;
};

// Writes atomically (`path`.part, fsync, rename, fsync of the folder), so that a crash or a full disk leaves the old file whole. `kept`: the
// name that the old file gets; "": it goes. The metadata get sums of all tensors and of the header. Tensors are laid out by falling
// element size, then by name, so that each is aligned to its element. Where `path` is a pipe or a device, every `read` is asked for all
// bytes twice. `piece`: memory for the bytes on their way; empty: 64 KiB are allocated. E0901; errors of `read`.
Result<void> write_safetensors(const std::string& path, const std::vector<SafetensorSource>& tensors,
                               const std::map<std::string, std::string>& metadata, const std::string& kept = "",
                               std::span<std::byte> piece = {});

}  // namespace pantoum::weights
