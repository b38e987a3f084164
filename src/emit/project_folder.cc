#include "emit/project_folder.h"

#include <sstream>
#include <utility>

#include "base/files.h"
#include "base/inputs_in_use.h"

namespace pantoum::emit {
namespace {

constexpr const char* kList = "model/files.txt";

std::string text_of(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  return text;
}

}  // namespace

Result<ProjectFolder> ProjectFolder::open(const std::string& path) {
  const base::RecordInputs unrecorded(nullptr);  // a project's own files are made again
  PANTOUM_ASSIGN(base::OutputFolder folder, base::OutputFolder::open(path));
  ProjectFolder project(std::move(folder));
  if (project.has(kList)) {
    PANTOUM_ASSIGN(const std::string text, base::read_file(project.path_of(kList)));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) project.own_.insert(line);
    for (const std::string& name : project.own_) PANTOUM_TRY(base::check_no_input(project.path_of(name)));
    PANTOUM_TRY(base::check_no_input(project.path_of(kList)));
    return project;
  }
  if (project.folder_.is_empty()) return project;
  return fail("E0294", "the folder holds files that `pantoum emit` did not write", path,
              "give a new or an empty folder, or that of an earlier project; nothing was changed");
}

Result<void> ProjectFolder::claim(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (has(name) && !own_.contains(name))
      return fail("E0294", "a file stands there that `pantoum emit` did not write", path_of(name),
                  "move it to another place or name; nothing was changed");
  own_.insert(names.begin(), names.end());
  own_.insert(kList);
  return folder_.write(kList, text_of(own_));
}

Result<void> ProjectFolder::replace(const std::vector<ProjectFile>& files) {
  std::vector<std::string> names;
  names.reserve(files.size());
  for (const ProjectFile& file : files) names.push_back(file.name);
  PANTOUM_TRY(claim(names));
  for (const ProjectFile& file : files) PANTOUM_TRY(folder_.write(file.name, file.text));
  return {};
}

}  // namespace pantoum::emit
