// Tables of times that SQLite reads: the statements of a .sql file, and a .db file.
#pragma once

#include <string>

#include "cost/profile_exchange_rows.h"

namespace pantoum::cost {

inline constexpr int kMostTableBytes = 512 << 20;  // of the rows that a .sql file makes, while they are read
inline constexpr int kLongestStatement = 4 << 20;  // bytes of a statement of a .sql file

// The row and what is wrong there: E0276; E0201 the file.
[[nodiscard]] Result<void> read_sql(const std::string& path, RowReader& rows);
[[nodiscard]] Result<void> read_database(const std::string& path, RowReader& rows);

}  // namespace pantoum::cost
