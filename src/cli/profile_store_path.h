// Where measured times are kept unless --profile-store names a file.
#pragma once

#include <string>

namespace pantoum::cli {

// "" where the user has no folder.
[[nodiscard]] std::string default_profile_store();

}  // namespace pantoum::cli
