// The rules that every row of a table of times keeps, whatever file it stands in.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cost/profile_exchange.h"

namespace pantoum::cost {

inline constexpr size_t kMostTableColumns = 1 << 10;

// Columns by name -> keys and samples; "" and absent columns are what is not known.
class RowReader {
 public:
  explicit RowReader(std::string machine) : machine_(std::move(machine)) {}

  // What is wrong with the names; "": nothing.
  [[nodiscard]] std::string set_columns(const std::vector<std::string>& names);
  // What is wrong with the row; "": nothing, and it is taken.
  [[nodiscard]] std::string add(const std::vector<std::string>& fields);
  [[nodiscard]] std::vector<ProfileRow> take() { return std::move(rows_); }
  [[nodiscard]] size_t count() const { return rows_.size(); }

 private:
  std::string machine_;
  std::vector<std::string> names_;
  std::map<std::string, size_t> at_;
  std::vector<ProfileRow> rows_;
};

// The names of all columns, as they are written.
[[nodiscard]] std::string all_columns(const char* between);

}  // namespace pantoum::cost
