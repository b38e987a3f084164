// The table of measured times as a CSV file, which other programs read and write.
#pragma once

#include <string>
#include <vector>

#include "cost/profile_store.h"

namespace pantoum::cost {

inline constexpr size_t kMostTableRows = 1 << 20, kMostTableColumns = 1 << 10;  // of a table that is read

// Writes every sample of an operator: one line of column names, then one line a sample. The file replaces what stood
// there, as a whole. Returns how many samples were written.
//   errors  E0117 the name does not end in .csv; E0901 the file cannot be written; E0275 the store
[[nodiscard]] Result<int64_t> export_profile(ProfileStore& store, const std::string& path);

struct ProfileRow {
  OpKey key;
  OpSample sample;
};

// Reads and checks the samples of such a file. `machine`, where it is not empty, replaces what the rows say: under the name
// of a device profile they serve plans for that device.
// The columns op, algorithm, operands and seconds are needed; machine, engine, attributes, threads, low_s, high_s, warm_s,
// runs, workspace_bytes, joules, meter and those that begin with "x-" may be there, in any order.
//   errors  E0117 the name does not end in .csv; E0201 no such file; E0276 the line and what is wrong there, as two rows of one key
[[nodiscard]] Result<std::vector<ProfileRow>> read_profile(const std::string& path, const std::string& machine);

// E0276: a row is of a device that is compiled in, and of an engine that its profile does not have; the host's are not looked at.
[[nodiscard]] Result<void> check_engines(const std::vector<ProfileRow>& rows, const std::string& path);

// Adds the samples to the store, all or none; a sample of the same key is replaced. E0275.
[[nodiscard]] Result<void> keep_profile(ProfileStore& store, const std::vector<ProfileRow>& rows);

}  // namespace pantoum::cost
