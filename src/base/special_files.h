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

}  // namespace pantoum::base
