// CSV: rows of numbers, with or without a line of names. Turned once into records of fixed size.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"

namespace pantoum::data {

// The fields of one line, without the spaces and quotes around them.
void split_csv_line(std::string_view line, char separator, std::vector<std::string_view>& fields);

// Returns the separator: ',' unless the line has no ',' but a ';' or a tab.
[[nodiscard]] char csv_separator(std::string_view line);

// Which columns are labels and which are features, in what order.
struct CsvColumns {
  size_t count = 0;
  std::vector<size_t> features, labels;
  bool has_header = false;
};

// From the first line: it is a header when one of its fields is no number. E0262 columns that are not there or do not
// fit what is wanted.
[[nodiscard]] Result<CsvColumns> csv_columns(const std::vector<std::string_view>& first, const Wanted& wanted,
                                             const std::vector<std::string>& label_columns, const std::string& where);

// Appends the bytes of `field` as `dtype`. E0261: the field is not a number of that type.
[[nodiscard]] Result<void> append_number(std::string_view field, base::DType dtype, std::vector<std::byte>& record);

}  // namespace pantoum::data
