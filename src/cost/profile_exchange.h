// A table of measured times as a file that other programs read and write: CSV, SQL, or another store.
#pragma once

#include <string>
#include <vector>

#include "cost/profile_store.h"

namespace pantoum::cost {

inline constexpr size_t kMostTableRows = 1 << 20;  // of a table that is read

// By the file's ending: .csv (one line of names, one line a sample), .sql (statements that make a table op_costs and fill
// it), .db (a profile store). The file takes the place of what stood there, as a whole. Rows: how many were written.
//   errors  E0117 another ending; E0901 the file cannot be written; E0275 the store, or a .db would take the place of
//           what is no profile store
[[nodiscard]] Result<int64_t> export_profile(ProfileStore& store, const std::string& path);

struct ProfileRow {
  OpKey key;
  OpSample sample;
};

// The samples of such a file, all of them checked by the same rules. `machine`: in place of what the rows say, or where
// they say nothing: the name of a device profile serves plans for that device.
// The columns op, algorithm, operands and seconds are needed; machine, engine, attributes, threads, low_s, high_s, warm_s,
// runs, workspace_bytes, joules, meter and those that begin with "x-" may be there, in any order. SQL: statements that
// create and fill op_costs, and nothing else: they are run by a data base in memory that refuses all others.
//   errors  E0117 the ending; E0201 no such file; E0276 the line and what is wrong there
[[nodiscard]] Result<std::vector<ProfileRow>> read_profile(const std::string& path, const std::string& machine);

// Adds the samples to the store, all or none; one of the same key is replaced. E0275.
[[nodiscard]] Result<void> keep_profile(ProfileStore& store, const std::vector<ProfileRow>& rows);

}  // namespace pantoum::cost
