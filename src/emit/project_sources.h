// What every project contains, compiled in: the runtime's and the portable kernels' own files, and the boards'.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pantoum::emit {

struct SourceFile {
  std::string_view path;  // inside the repository: src/runtime/session.c, include/pantoum/ops.h
  std::string_view text;
};

// Ascending by path.
const std::vector<SourceFile>& project_sources();

// What `nm` says of the portable kernels' objects.
std::string_view kernel_symbols();

// The files of src/kernels/portable whose objects define these functions and what they need, headers aside; empty where
// one is defined nowhere.
std::set<std::string> kernel_files(std::string_view symbols, const std::set<std::string>& functions);

}  // namespace pantoum::emit
