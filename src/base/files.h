// Whole files, read and written so that a crash or a full disk loses nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pantoum::base {

// What the system says of the call that has just failed (errno).
[[nodiscard]] std::string system_reason();

// E0901: the file at `path` could not be written, and why; what stood there before is whole.
[[nodiscard]] Failure write_failure(const std::string& path, const std::string& why);

inline constexpr uint64_t kMostFileBytes = uint64_t{1} << 30;  // of a file that is read whole

// E0201 cannot be opened or read (with the system's reason), or has more than kMostFileBytes, as /dev/zero has.
[[nodiscard]] Result<std::string> read_file(const std::string& path);

// The bytes of the file from `at` on, `most` at most. Fewer where the file ends, none where it cannot be opened or read.
[[nodiscard]] std::string read_part(const std::string& path, uint64_t at, size_t most);

// A device, a pipe or a socket stands there: to be written to, never to be replaced. So is what a link in /dev leads to
// (/dev/stdout); any other link is a name that a new file takes.
[[nodiscard]] bool is_special_file(const std::string& path);

// Flushes the folder of `path` to the device: a file that was made or renamed there keeps its name. E0901.
[[nodiscard]] Result<void> flush_folder_of(const std::string& path);

// Writes a new file beside `name`, relative to the open folder, flushes it to the device and renames it over `name`. E0901, which
// names the file as `shown`; what stood there is left alone on failure.
// E0125 where an input in use stands there (base/inputs_in_use.h).
[[nodiscard]] Result<void> replace_file_in(int folder, const std::string& name, std::string_view contents,
                                           const std::string& shown);

// Writes a temporary file beside `path`, flushes it to the device, renames it over `path`, flushes the folder. E0901 with the system's
// reason; the old file is left alone on failure. A special file (/dev/null, /dev/stdout, a pipe) is written to.
[[nodiscard]] Result<void> write_file_atomically(const std::string& path, std::string_view contents);

}  // namespace pantoum::base
