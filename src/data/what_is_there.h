// What lies where no data set was understood, and how its files would have to be called.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"

namespace pantoum::data {

struct WhatIsThere {
  std::string note;  // "the folder has X.npy and y.npy"; "": nothing can be said
  std::string help;  // how the files are renamed or named; "": they are not arrays, or their names say nothing
};

// Looks at the names in a folder (the first 1000), at the arrays of an NPZ file, and at what files of other formats are.
[[nodiscard]] WhatIsThere what_is_there(const std::string& path, bool is_folder, const Wanted& wanted);

}  // namespace pantoum::data
