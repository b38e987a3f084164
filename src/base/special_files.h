// Pipes, sockets and devices in place of files. One that this process has open already (/dev/stdout, /dev/fd/63, as a shell makes of
// <(...) and >(...)) is read and written, and /dev/null is written. Others are refused at once: to open a named pipe waits for another
// program, and a device may never end.
#pragma once

#include <string>

#include "base/result.h"

namespace pantoum::base {

enum class Access : uint8_t { read, write };

// "it is a named pipe"; "" for what can be read or written, for folders, and where nothing stands. Links are followed.
[[nodiscard]] std::string why_no_file(const std::string& path, Access access);

// E0201 to read, E0901 to write.
[[nodiscard]] Result<void> check_file(const std::string& path, Access access);

// Opens a file that the program makes for itself under a name that can be foreseen (a lock, a `.part`, a log). No link is followed, and what is
// no regular file is refused at once. -1: `why` has the reason.
[[nodiscard]] int open_own_file(const std::string& path, int flags, unsigned mode, std::string& why);

}  // namespace pantoum::base
