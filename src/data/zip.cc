// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, sections 4.3 and 4.5.3
#include "data/zip.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace pantoum::data {
namespace {

constexpr uint64_t kEndBytes = 22, kEnd64Bytes = 56, kLocatorBytes = 20, kLocalBytes = 30, kMostComment = 0xFFFF;
constexpr size_t kEntryBytes = 46;

// Little-endian, in any bytes.
uint64_t number(std::span<const std::byte> bytes, size_t at, size_t width) {
  uint64_t value = 0;
  for (size_t byte = width; byte-- > 0;) value = value << 8 | std::to_integer<uint64_t>(bytes[at + byte]);
  return value;
}

Failure damaged(const std::string& where) {
  return fail("E0261", "the ZIP directory is damaged or cut short", where, "copy or make the file again");
}

struct Directory {
  uint64_t at = 0, bytes = 0;
};

// The place of the directory, as the record at the file's end says.
Result<Directory> find_directory(const base::OwnedFile& file) {
  const uint64_t tail_bytes = std::min(file.size(), kEndBytes + kMostComment), tail_at = file.size() - tail_bytes;
  std::vector<std::byte> tail(static_cast<size_t>(tail_bytes));
  PANTOUM_TRY(file.read_at(tail_at, tail, "E0261"));
  for (size_t at = tail.size() < kEndBytes ? 0 : tail.size() - kEndBytes + 1; at-- > 0;) {
    if (number(tail, at, 4) != 0x06054b50) continue;
    Directory directory{number(tail, at + 16, 4), number(tail, at + 12, 4)};
    const uint64_t end_at = tail_at + at;
    if (directory.at != 0xFFFFFFFF && directory.bytes != 0xFFFFFFFF) return directory;
    if (end_at < kLocatorBytes) return damaged(file.path());
    std::vector<std::byte> locator(kLocatorBytes), end64(kEnd64Bytes);
    PANTOUM_TRY(file.read_at(end_at - kLocatorBytes, locator, "E0261"));
    const uint64_t end64_at = number(locator, 8, 8);
    if (number(locator, 0, 4) != 0x07064b50 || end64_at > file.size() - std::min(file.size(), kEnd64Bytes))
      return damaged(file.path());
    PANTOUM_TRY(file.read_at(end64_at, end64, "E0261"));
    if (number(end64, 0, 4) != 0x06064b50) return damaged(file.path());
    return Directory{number(end64, 48, 8), number(end64, 40, 8)};
  }
  return fail("E0261", "the file is no ZIP, or was cut short", file.path(), "copy or make the file again");
}

// The 64-bit numbers of the extra field 1 stand for those that are all ones, in this order.
bool widen(std::span<const std::byte> extra, ZipMember& member) {
  for (size_t at = 0; at + 4 <= extra.size();) {
    const uint64_t id = number(extra, at, 2), bytes = number(extra, at + 2, 2);
    at += 4;
    if (bytes > extra.size() - at) return false;
    if (id == 1) {
      size_t next = at;
      for (uint64_t* value : {&member.bytes, &member.packed_bytes, &member.header_at}) {
        if (*value != 0xFFFFFFFF) continue;
        if (next + 8 > at + bytes) return false;
        *value = number(extra, next, 8);
        next += 8;
      }
    }
    at += static_cast<size_t>(bytes);
  }
  return true;
}

}  // namespace

Result<std::vector<ZipMember>> parse_zip_directory(std::span<const std::byte> directory, const std::string& where) {
  std::vector<ZipMember> members;
  while (!directory.empty()) {
    if (directory.size() < kEntryBytes || number(directory, 0, 4) != 0x02014b50) return damaged(where);
    const size_t name = number(directory, 28, 2), extra = number(directory, 30, 2), comment = number(directory, 32, 2);
    if (directory.size() < kEntryBytes + name + extra + comment) return damaged(where);
    ZipMember member{.header_at = number(directory, 42, 4),
                     .packed_bytes = number(directory, 20, 4),
                     .bytes = number(directory, 24, 4),
                     .crc = static_cast<uint32_t>(number(directory, 16, 4)),
                     .method = static_cast<uint16_t>(number(directory, 10, 2))};
    member.name.assign(reinterpret_cast<const char*>(directory.data()) + kEntryBytes, name);
    if (!widen(directory.subspan(kEntryBytes + name, extra), member)) return damaged(where);
    if ((number(directory, 8, 2) & 1) != 0)
      return fail("E0261", "the member '" + member.name + "' is encrypted", where, "save it without a password");
    members.push_back(std::move(member));
    directory = directory.subspan(kEntryBytes + name + extra + comment);
  }
  return members;
}

Result<std::vector<ZipMember>> read_zip_directory(const base::OwnedFile& file) {
  PANTOUM_ASSIGN(const Directory found, find_directory(file));
  if (found.bytes > kMostDirectory)
    return fail("E0261", fmt::format("the ZIP directory has {} bytes, more than {}", found.bytes, kMostDirectory),
                file.path(), "split the file");
  if (found.at > file.size() || found.bytes > file.size() - found.at) return damaged(file.path());
  std::vector<std::byte> directory(static_cast<size_t>(found.bytes));
  PANTOUM_TRY(file.read_at(found.at, directory, "E0261"));
  return parse_zip_directory(directory, file.path());
}

Result<uint64_t> zip_data_at(const base::OwnedFile& file, const ZipMember& member) {
  std::vector<std::byte> local(kLocalBytes);
  if (member.header_at > file.size() - std::min(file.size(), kLocalBytes)) return damaged(file.path());
  PANTOUM_TRY(file.read_at(member.header_at, local, "E0261"));
  const uint64_t at = member.header_at + kLocalBytes + number(local, 26, 2) + number(local, 28, 2);
  if (number(local, 0, 4) != 0x04034b50 || at > file.size() || member.packed_bytes > file.size() - at)
    return damaged(file.path());
  return at;
}

}  // namespace pantoum::data
