// The files that a training writes while it runs: each by one run at a time, each under a name of its own.
#pragma once

#include <string>
#include <vector>

#include "base/file_lock.h"
#include "base/result.h"

namespace pantoum::cli {

struct NamedOutput {
  const char* option;
  std::string path;  // "": it is not written
};

// E0117 two of the outputs are one file. Several outputs may share a pipe or a device.
[[nodiscard]] Result<void> check_distinct(const std::vector<NamedOutput>& outputs);

// Locks every output until the result ends. E0907 another run writes one of them; E0901 it cannot be written.
[[nodiscard]] Result<std::vector<base::FileLock>> lock_all(const std::vector<NamedOutput>& outputs);

}  // namespace pantoum::cli
