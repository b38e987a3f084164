#include "weights/safetensors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_set>
#include <utility>

#include "base/owned_file.h"
#include "weights/safetensors_header.h"

namespace pantoum::weights {
namespace {

constexpr size_t kMaxNotes = 20;
constexpr const char* kHelp = "the file is damaged or not safetensors; export the weights again";

uint64_t little_endian(const unsigned char* bytes) {
  uint64_t value = 0;
  for (int byte = 7; byte >= 0; --byte) value = value << 8 | bytes[byte];
  return value;
}

struct Problems {
  std::vector<std::string> notes;
  size_t count = 0;
  void add(std::string note) {
    if (++count <= kMaxNotes) notes.push_back(std::move(note));
  }
};

// The size that a shape asks for, or nothing when it overflows.
bool size_of_shape(const RawEntry& raw, base::DType dtype, SafetensorEntry& entry) {
  constexpr uint64_t kLimit = uint64_t{1} << 62;
  uint64_t bytes = static_cast<uint64_t>(base::size_of(dtype));
  for (const uint64_t extent : raw.shape) {
    if (extent >= kLimit) return false;
    entry.shape.push_back(static_cast<int64_t>(extent));
    if (extent != 0 && bytes > kLimit / extent) return false;
    bytes *= extent;
  }
  entry.bytes = bytes;
  return true;
}

void check_entry(const RawEntry& raw, uint64_t data_at, Problems& problems, std::vector<SafetensorEntry>& entries) {
  const Stored stored = raw.dtype == "F16" ? Stored::kF16 : raw.dtype == "BF16" ? Stored::kBF16 : Stored::kAsTheyAre;
  const auto dtype = stored == Stored::kAsTheyAre ? safetensors_dtype(raw.dtype) : base::DType::kF32;
  if (!dtype) {
    const bool other = is_other_safetensors_dtype(raw.dtype);
    problems.add(fmt::format("'{}' is of type {}, {}", raw.name, raw.dtype.substr(0, 32),
                             other ? "which is not supported yet; save it as F32" : "which is unknown"));
    return;
  }
  SafetensorEntry entry;
  entry.name = raw.name;
  entry.dtype = *dtype;
  entry.stored = stored;
  const auto [begin, end] = raw.offsets;
  if (!size_of_shape(raw, *dtype, entry) || end < begin || entry.stored_bytes() != end - begin) {
    problems.add(fmt::format("'{}': its data_offsets [{}, {}] do not hold its shape", raw.name, begin, end));
    return;
  }
  entry.at = data_at + begin;  // cannot overflow where it matters: compared with the file's size below
  if (begin > std::numeric_limits<uint64_t>::max() - data_at - entry.bytes) {
    problems.add(fmt::format("'{}': its data_offsets are too large", raw.name));
    return;
  }
  entries.push_back(std::move(entry));
}

void check_layout(const std::vector<SafetensorEntry>& entries, uint64_t data_at, uint64_t file_size,
                  Problems& problems) {
  uint64_t next = data_at;
  for (const SafetensorEntry& entry : entries) {
    if (entry.at < next) problems.add(fmt::format("'{}' overlaps the tensor before it", entry.name));
    if (entry.at > next)
      problems.add(fmt::format("there is a hole of {} bytes before '{}'", entry.at - next, entry.name));
    next = std::max(next, entry.at + entry.stored_bytes());
  }
  if (next > file_size) problems.add(fmt::format("the file is cut short: {} bytes, {} expected", file_size, next));
  if (next < file_size) problems.add(fmt::format("{} bytes follow the last tensor", file_size - next));
}

void check_names(const RawHeader& header, Problems& problems) {
  std::unordered_set<std::string_view> names;
  for (const RawEntry& raw : header.tensors)
    if (!names.insert(raw.name).second) problems.add(fmt::format("the name '{}' stands twice", raw.name));
}

Result<SafetensorFile> check(const RawHeader& header, uint64_t data_at, uint64_t file_size, const std::string& where) {
  SafetensorFile file{where, {}, header.metadata};
  Problems problems;
  check_names(header, problems);
  for (const RawEntry& raw : header.tensors) check_entry(raw, data_at, problems, file.tensors);
  std::ranges::stable_sort(file.tensors, [](const SafetensorEntry& a, const SafetensorEntry& b) {
    return std::pair(a.at, a.bytes) < std::pair(b.at, b.bytes);
  });
  if (problems.count == 0) check_layout(file.tensors, data_at, file_size, problems);
  if (problems.count == 0) return file;
  if (problems.count > kMaxNotes) problems.notes.push_back(fmt::format("and {} more", problems.count - kMaxNotes));
  return fail("E0240", "the tensors of the file are not as safetensors has them", where, kHelp,
              std::move(problems.notes));
}

Result<uint64_t> header_length(const unsigned char* bytes, uint64_t available, uint64_t file_size,
                               const std::string& where) {
  if (available < 8 || file_size < 8)
    return fail("E0240", fmt::format("the file is cut short: {} bytes, no header", file_size), where, kHelp);
  const uint64_t length = little_endian(bytes);
  if (length > kSafetensorsHeaderLimit)
    return fail("E0240", fmt::format("the header would have {} bytes; at most 100 MB are allowed", length), where,
                kHelp);
  if (length > file_size - 8)
    return fail("E0240", fmt::format("the file is cut short: {} bytes, the header alone has {}", file_size, length),
                where, kHelp);
  return length;
}

// IEEE 754 binary16: a sign, 5 bits of exponent, 10 of the significand.
float float_of_f16(uint16_t bits) {
  const uint32_t sign = uint32_t{bits} >> 15 << 31, exponent = bits >> 10 & 31U, significand = bits & 1023U;
  if (exponent == 0) {
    const float size = std::ldexp(static_cast<float>(significand), -24);
    return sign != 0 ? -size : size;
  }
  const uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | significand << 13);
}

}  // namespace

const SafetensorEntry* SafetensorFile::find(const std::string& name) const {
  for (const SafetensorEntry& entry : tensors)
    if (entry.name == name) return &entry;
  return nullptr;
}

bool SafetensorFile::has_sums() const {
  return metadata.contains(kHeaderSum);
}

Result<SafetensorFile> parse_safetensors_header(const void* bytes, size_t size, uint64_t file_size,
                                                const std::string& where) {
  const auto* raw = static_cast<const unsigned char*>(bytes);
  PANTOUM_ASSIGN(const uint64_t length, header_length(raw, size, file_size, where));
  if (length > size - 8) return fail("E0240", "the header is cut short", where, kHelp);
  const std::string_view text(reinterpret_cast<const char*>(raw) + 8, static_cast<size_t>(length));
  if (text.empty() || text.front() != '{') return fail("E0240", "the header does not begin with '{'", where, kHelp);
  // why: the JSON reader takes a zero byte for the end of the text
  if (text.find('\0') != text.npos) return fail("E0240", "the header holds a zero byte", where, kHelp);
  PANTOUM_ASSIGN(const RawHeader header, read_header_json(text, where));
  PANTOUM_ASSIGN(SafetensorFile file, check(header, 8 + length, file_size, where));
  PANTOUM_TRY(check_header_sum(file, 8 + length));
  return file;
}

Result<SafetensorFile> open_safetensors(const std::string& path) {
  PANTOUM_ASSIGN(const base::OwnedFile file, base::OwnedFile::open_to_read(path));
  std::string start(8, '\0');
  const uint64_t size = file.size();
  if (size >= 8) PANTOUM_TRY(file.read_at(0, std::as_writable_bytes(std::span(start)), "E0240"));
  PANTOUM_ASSIGN(const uint64_t length,
                 header_length(reinterpret_cast<const unsigned char*>(start.data()), size, size, path));
  start.resize(8 + static_cast<size_t>(length));
  PANTOUM_TRY(file.read_at(8, std::as_writable_bytes(std::span(start)).subspan(8), "E0240"));
  PANTOUM_ASSIGN(SafetensorFile whole, parse_safetensors_header(start.data(), start.size(), size, path));
  PANTOUM_TRY(check_tensor_sums(whole));
  return whole;
}

Result<void> read_tensor(const SafetensorFile& file, const SafetensorEntry& entry, uint64_t at,
                         std::span<std::byte> data) {
  if (at > entry.bytes || data.size() > entry.bytes - at)
    return fail("E0241", "the bytes asked for are outside of the tensor '" + entry.name + "'", file.path);
  PANTOUM_ASSIGN(const base::OwnedFile open, base::OwnedFile::open_to_read(file.path));
  if (entry.stored == Stored::kAsTheyAre) return open.read_at(entry.at + at, data, "E0241");
  if (at % sizeof(float) != 0 || data.size() % sizeof(float) != 0)
    return fail("E0241", "a part of an element is asked for of the tensor '" + entry.name + "'", file.path);
  const std::span<std::byte> halves = data.last(data.size() / 2);
  PANTOUM_TRY(open.read_at(entry.at + at / 2, halves, "E0241"));
  for (size_t element = 0; element < data.size() / sizeof(float); ++element) {  // no float overwrites a half that is still to be read
    uint16_t bits = 0;
    std::memcpy(&bits, &halves[element * sizeof bits], sizeof bits);
    const float value = entry.stored == Stored::kF16 ? float_of_f16(bits) : std::bit_cast<float>(uint32_t{bits} << 16);
    std::memcpy(&data[element * sizeof value], &value, sizeof value);
  }
  return {};
}

}  // namespace pantoum::weights
