#include "base/output_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <utility>

#include "base/files.h"
#include "base/system_calls.h"

namespace pantoum::base {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Failure no_folder(const std::string& path) {
  const bool is_link = errno == ELOOP || errno == ENOTDIR;
  return fail("E0901",
              is_link ? "no folder is there, or a symbolic link to one" : "cannot open the folder: " + system_reason(),
              path, is_link ? "name the folder itself; no output follows a link" : "choose another place");
}

// "a/b/c" -> "a/b" and "c"; "c" -> "" and "c".
std::pair<std::string, std::string> split_name(const std::string& name) {
  const size_t slash = name.rfind('/');
  if (slash == std::string::npos) return {"", name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

bool stays_inside(std::string_view name) {
  while (true) {
    const size_t end = std::min(name.find('/'), name.size());
    const std::string_view part = name.substr(0, end);
    if (part.empty() || part == "." || part == ".." || part.find('\0') != std::string_view::npos) return false;
    if (end == name.size()) return true;
    name.remove_prefix(end + 1);
  }
}

Failure leads_out(const std::string& path) {
  return fail("E0901", "the name leads out of the folder", path, "choose another name");
}

}  // namespace

Result<OutputFolder> OutputFolder::open(const std::string& path) {
  std::string plain = path;
  while (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();  // "link/" would be followed
  std::error_code error;
  std::filesystem::create_directories(plain, error);
  const int folder = uninterrupted([&] { return ::open(plain.c_str(), kFolderFlags); });
  if (folder < 0 && error)
    return fail("E0901", "cannot make the folder: " + error.message(), path, "choose another place");
  if (folder < 0) return no_folder(path);
  return OutputFolder(OwnedFile(folder, plain, 0));
}

Result<OwnedFile> OutputFolder::enter(const std::string& name) const {
  OwnedFile at(::fcntl(folder_.descriptor(), F_DUPFD_CLOEXEC, 0), folder_.path(), 0);
  std::string_view rest = name;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('/'), rest.size());
    const std::string part(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::string path = at.path() + "/" + part;
    if (::mkdirat(at.descriptor(), part.c_str(), 0777) != 0 && errno != EEXIST) return no_folder(path);
    const int folder = uninterrupted([&] { return ::openat(at.descriptor(), part.c_str(), kFolderFlags); });
    if (folder < 0) return no_folder(path);
    at = OwnedFile(folder, path, 0);
  }
  return at;
}

Result<void> OutputFolder::write(const std::string& name, std::string_view contents) const {
  if (!stays_inside(name)) return leads_out(path_of(name));
  const auto [folder_name, file_name] = split_name(name);
  PANTOUM_ASSIGN(const OwnedFile folder, enter(folder_name));
  return replace_file_in(folder.descriptor(), file_name, contents, path_of(name));
}

bool OutputFolder::has(const std::string& name) const {
  struct stat status {};
  return ::fstatat(folder_.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

bool OutputFolder::is_empty() const {
  std::error_code error;
  bool empty = false;
  do empty = std::filesystem::is_empty(folder_.path(), error);
  while (error == std::errc::interrupted);
  return empty && !error;
}

Result<std::shared_ptr<const TemporaryPath>> TemporaryPath::create(const std::string& name) {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  std::string folder = (error ? std::filesystem::path("/tmp") : parent) / "pantoum-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr)
    return fail("E0901", "cannot make a temporary folder: " + system_reason(), folder,
                "free some space there, or name another folder for temporary files in TMPDIR");
  return std::make_shared<const TemporaryPath>(std::move(folder), name);
}

TemporaryPath::~TemporaryPath() {
  if (process_ != ::getpid()) return;
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace pantoum::base
