// The folder of an emitted project: what `emit` wrote there is replaced, what is anybody else's is left alone.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/output_folder.h"

namespace pantoum::emit {

struct ProjectFile {
  std::string name, text;  // name: inside the folder
};

class ProjectFolder {
 public:
  // A new or empty folder, or that of a project. E0294 others' files are in it; E0901.
  static Result<ProjectFolder> open(const std::string& folder);

  // Says in model/files.txt that these are the project's, before they are written, so that a project that is written
  // in part is known as one. E0294 a file that `emit` did not write stands in the place of one; E0901.
  Result<void> claim(const std::vector<std::string>& names);

  // Claims, then replaces file by file. E0294, E0901.
  Result<void> replace(const std::vector<ProjectFile>& files);

  bool has(const std::string& name) const { return folder_.has(name); }
  std::string path_of(const std::string& name) const { return folder_.path_of(name); }

 private:
  explicit ProjectFolder(base::OutputFolder folder) : folder_(std::move(folder)) {}

  base::OutputFolder folder_;
  std::set<std::string> own_;
};

}  // namespace pantoum::emit
