#include "cli/whole_lines.h"

#include <algorithm>
#include <functional>
#include <span>
#include <string_view>

#include "base/owned_file.h"

namespace pantoum::cli {
namespace {

constexpr uint64_t kPieceBytes = 1 << 16, kLongestLine = 1 << 20;

// No text has such bytes: a block of zeros stands where a write did not get to the disk.
bool is_damage(char byte) {
  return static_cast<unsigned char>(byte) < 0x20 && byte != '\t' && byte != '\r';
}

bool is_whole(std::string_view line) {
  return line.size() <= kLongestLine && std::none_of(line.begin(), line.end(), is_damage);
}

using TakeLine = std::function<Result<void>(std::string_view line)>;

// Calls take(line) for each line, without its end; a last one without an end is the text `rest`.
Result<void> for_each_line(const base::OwnedFile& file, const TakeLine& take, std::string& rest) {
  std::string piece;
  for (uint64_t at = 0; at < file.size(); at += piece.size()) {
    piece.resize(static_cast<size_t>(std::min(kPieceBytes, file.size() - at)));
    PANTOUM_TRY(file.read_at(at, std::as_writable_bytes(std::span(piece)), "E0201"));
    for (std::string_view text = piece; !text.empty();) {
      const size_t end = text.find('\n');
      if (rest.size() <= kLongestLine) rest += text.substr(0, end);
      if (end == std::string_view::npos) break;
      PANTOUM_TRY(take(rest));
      rest.clear();
      text.remove_prefix(end + 1);
    }
  }
  return {};
}

Result<bool> all_are_whole(const base::OwnedFile& file) {
  bool all = true;
  std::string rest;
  PANTOUM_TRY(for_each_line(
      file,
      [&](std::string_view line) -> Result<void> {
        all = all && is_whole(line);
        return {};
      },
      rest));
  return all && rest.empty();
}

}  // namespace

Result<void> keep_whole_lines(const std::string& path) {
  PANTOUM_ASSIGN(const base::OwnedFile file, base::OwnedFile::open_to_read(path));
  PANTOUM_ASSIGN(const bool whole, all_are_whole(file));
  if (whole) return {};
  PANTOUM_ASSIGN(base::AtomicFile kept, base::AtomicFile::create(path, 0644));
  std::string rest;
  PANTOUM_TRY(for_each_line(
      file,
      [&](std::string_view line) -> Result<void> {
        if (!is_whole(line)) return {};
        const std::string ended = std::string(line) + "\n";
        return kept.append(std::as_bytes(std::span(ended)));
      },
      rest));
  return kept.commit();
}

}  // namespace pantoum::cli
