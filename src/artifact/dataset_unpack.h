// gzip cannot be read at random: unpacks it once into a cache.
#pragma once

#include <string>

#include "pantoum/result.h"

namespace pantoum::artifact {

// The path of the unpacked file in `cache_folder` (made if absent, mode 0700), named after the original's path, size
// and time of change, mode 0600; unpacked now unless it is there. Atomic: a crash leaves no half file under that name.
// Memory: 128 KiB. E0201 cannot be read; E0261 damaged gzip; E0901 the cache cannot be written.
[[nodiscard]] Result<std::string> unpack_gzip(const std::string& path, const std::string& cache_folder);

}  // namespace pantoum::artifact
