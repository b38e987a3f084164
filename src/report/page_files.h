// The files of src/report/page, compiled in.
#pragma once

#include <string_view>

namespace pantoum::report {

// Its text; the name is one of the folder's.
[[nodiscard]] std::string_view page_file(std::string_view name);

}  // namespace pantoum::report
