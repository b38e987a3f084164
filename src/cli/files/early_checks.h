// Checks files, folders and devices before any work is done.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/line/facts.h"

namespace pantoum::cli {

// Every option that names a file, a folder or a device, against its kind. The codes are those of the room that would find
// it later (`store`: the profile store where none is named): E0125 an output that is an input or another output, E0118 what only a model has, of a cost graph; E0201 absent or unreadable, E0202 E0220 E0230 E0240 E0290 something else, E0262 data, E0270 a device,
// E0275 a profile store, E0294 a project, E0297 a board, E0901 an output, E0902 a folder for the page file.
[[nodiscard]] Result<void> check_given(const std::vector<Given>& given, const std::string& store);

// Options that say nothing of what was given: how a model is trained, or on which device, beside a cost graph, which has
// its device and the costs of its ops in it.
[[nodiscard]] std::vector<std::string> passed_over(const std::vector<Given>& given);

}  // namespace pantoum::cli
