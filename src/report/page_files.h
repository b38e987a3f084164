// The files of src/report/page, which are compiled into the program.
#pragma once

#include <string_view>

namespace pantoum::report {

// Returns the text of the file `name`, which has to be a file of that folder.
[[nodiscard]] std::string_view page_file(std::string_view name);

}  // namespace pantoum::report
