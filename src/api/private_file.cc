#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "api/access.h"

namespace pantoum::api {

Result<std::shared_ptr<const PrivateFile>> PrivateFile::create(const std::string& name) {
  std::error_code failed;
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(failed);
  std::string folder = ((failed ? std::filesystem::path("/tmp") : temporary) / "pantoum-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr)
    return fail("E0901", "no private folder can be made for temporary files", folder,
                "free some space there, or name another folder in TMPDIR");
  return std::make_shared<const PrivateFile>(folder, (std::filesystem::path(folder) / name).string());
}

PrivateFile::~PrivateFile() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace pantoum::api
