// A table of measured times as a file that other programs read and write: CSV, SQL, or another store.
#pragma once

#include <string>

#include "cost/profile_store.h"

namespace pantoum::cost {

// By the file's ending: .csv (one line of names, one line a sample), .sql (statements that make a table op_costs and fill
// it), .db (a profile store). Rows: how many were written or taken.
//   errors  E0117 another ending; E0901 the file cannot be written; E0275 the store
[[nodiscard]] Result<int64_t> export_profile(ProfileStore& store, const std::string& path);

// Adds the samples of such a file to the store, all or none; one of the same key is replaced. `machine`: in place of what
// the rows say, or where they say nothing: the name of a device profile serves plans for that device.
// CSV: the columns op, algorithm, operands and seconds are needed; machine, engine, attributes, threads, low_s, high_s,
// warm_s, runs, workspace_bytes, joules, meter and those that begin with "x-" may be there, in any order. SQL: statements
// that create and fill op_costs, and nothing else: they are run by a data base in memory that refuses all others.
//   errors  E0117 the ending; E0201 no such file; E0276 the line and what is wrong there: nothing is kept; E0275 the store
[[nodiscard]] Result<int64_t> import_profile(ProfileStore& store, const std::string& path, const std::string& machine);

}  // namespace pantoum::cost
