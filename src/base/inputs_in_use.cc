#include "base/inputs_in_use.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <string_view>

#include "base/files.h"
#include "base/foreign_text.h"

namespace pantoum::base {
namespace {

namespace fs = std::filesystem;
using Status = struct stat;

// Of the whole process: objects of several threads guard their files in it.
struct Register {
  std::mutex guard;
  std::map<const InputsInUse*, std::vector<std::string>> paths;
};

Register& all_inputs() {
  static Register& kept = *new Register;  // objects may end after static ones
  return kept;
}

thread_local InputsInUse* recorded_into = nullptr;

bool is_same(const Status& one, const Status& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// Does the file begin as one that Pantoum writes beside data: JSON, a page or picture of text, safetensors, nothing?
bool is_own_output(const fs::path& path, const Status& status) {
  std::string head = read_part(path, 0, 9);
  head.resize(9);
  uint64_t header = 0;
  for (size_t at = 8; at-- > 0;) header = header << 8 | static_cast<unsigned char>(head[at]);
  const bool is_safetensors = head[8] == '{' && header >= 2 && header < static_cast<uint64_t>(status.st_size);
  const bool is_json = head[0] == '{' && (head[1] == '"' || head[1] == '\n' || head[1] == ' ');
  const bool is_markup = head[0] == '<' && (head[1] == '!' || head[1] == 's');
  return status.st_size == 0 || is_safetensors || is_json || is_markup;
}

bool is_data_of(const fs::path& folder, const Status& output) {
  std::error_code failed;
  using Walk = fs::recursive_directory_iterator;
  for (Walk each(folder, fs::directory_options::skip_permission_denied, failed), end; each != end && !failed;
       each.increment(failed)) {
    if (each->is_directory(failed) && each->path().filename().string().starts_with('.'))
      each.disable_recursion_pending();
    Status status{};
    if (::stat(each->path().c_str(), &status) == 0 && is_same(status, output))
      return !is_own_output(each->path(), status);
  }
  return false;
}

bool is_read_from(const Status& output, const std::string& input) {
  Status status{};
  if (::stat(input.c_str(), &status) != 0) return false;
  return S_ISDIR(status.st_mode) ? is_data_of(input, output) : is_same(status, output);
}

Result<void> check_status(const Status& output, const std::string& shown) {
  if (!S_ISREG(output.st_mode)) return {};
  Register& all = all_inputs();
  const std::lock_guard lock(all.guard);
  for (const auto& [owner, paths] : all.paths)
    for (const std::string& input : paths)
      if (is_read_from(output, input)) return input_failure(shown, input, shown);
  return {};
}

}  // namespace

FileIdentity identity_of_file(const std::string& path) {
  Status status{};
  if (::stat(path.c_str(), &status) == 0) return {status.st_dev, status.st_ino, ""};
  std::error_code failed;
  fs::path whole = fs::absolute(path, failed);
  for (int attempt = 0; attempt < 2; ++attempt) {  // as the system reads it, then without "absent/.."
    if (::stat(whole.parent_path().c_str(), &status) == 0)
      return {status.st_dev, status.st_ino, whole.filename().string()};
    whole = whole.lexically_normal();
  }
  return {0, 0, whole.string()};
}

bool is_read_from(const std::string& output, const std::string& input) {
  Status status{};
  return ::stat(output.c_str(), &status) == 0 && S_ISREG(status.st_mode) && is_read_from(status, input);
}

InputsInUse::InputsInUse() {
  Register& all = all_inputs();
  const std::lock_guard lock(all.guard);
  all.paths[this];
}

InputsInUse::~InputsInUse() {
  Register& all = all_inputs();
  const std::lock_guard lock(all.guard);
  all.paths.erase(this);
}

void InputsInUse::add(const std::string& path) {
  std::error_code failed;
  if (path.empty()) return;
  std::string whole = fs::absolute(path, failed).string();  // the process may go to another folder
  if (failed) whole = path;
  Register& all = all_inputs();
  const std::lock_guard lock(all.guard);
  std::vector<std::string>& mine = all.paths[this];
  if (std::find(mine.begin(), mine.end(), whole) == mine.end()) mine.push_back(std::move(whole));
}

std::vector<std::string> InputsInUse::paths() const {
  Register& all = all_inputs();
  const std::lock_guard lock(all.guard);
  return all.paths[this];
}

void InputsInUse::add_all(const InputsInUse* other) {
  if (other != nullptr)
    for (const std::string& path : other->paths()) add(path);
}

RecordInputs::RecordInputs(InputsInUse* into) : before_(std::exchange(recorded_into, into)) {}

RecordInputs::~RecordInputs() {
  recorded_into = before_;
}

void record_input(const std::string& path) {
  if (recorded_into != nullptr) recorded_into->add(path);
}

Failure input_failure(const std::string& output, const std::string& input, const std::string& where) {
  return fail("E0125", fmt::format("the output {} is a file that is read, {}", one_line(output), one_line(input)),
              where, "name another file for the output; nothing was changed");
}

Result<void> check_no_input(const std::string& path) {
  return check_no_input_in(AT_FDCWD, path, path);
}

Result<void> check_no_input_in(int folder, const std::string& name, const std::string& shown) {
  if (name.find('\0') != std::string::npos)  // the system would take the part before it
    return fail("E0116", "the path has a byte of 0", one_line(shown), "name a file without it");
  Status status{};
  if (::fstatat(folder, name.c_str(), &status, 0) != 0) return {};  // there is nothing to lose
  return check_status(status, shown);
}

}  // namespace pantoum::base
