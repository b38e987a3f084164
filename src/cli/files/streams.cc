#include "cli/files/streams.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/owned_file.h"
#include "base/special_files.h"
#include "base/system_calls.h"

namespace pantoum::cli {
namespace {

bool is_output(Kind kind) {
  return kind == Kind::kOutput || kind == Kind::kOutputOne || kind == Kind::kFolder;
}

bool is_input(Kind kind) {
  return kind >= Kind::kModel && kind <= Kind::kLog;
}

// What a shell makes of <(...) can be read once, as a stream can.
bool is_pipe(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode) &&
         base::why_no_file(path, base::Access::read).empty();
}

Result<std::string> all_of(int file, const std::string& where) {
  std::string text;
  char piece[1 << 16];
  while (true) {
    const ssize_t got = base::uninterrupted([&] { return ::read(file, piece, sizeof piece); });
    if (got < 0)
      return fail("E0201", fmt::format("cannot read {}: {}", where, base::system_reason()), where, "name a file");
    if (got == 0) return text;
    if (text.size() > base::kMostFileBytes)
      return fail("E0201", fmt::format("{} has more than {} bytes", where, base::kMostFileBytes), where, "name a file");
    text.append(piece, static_cast<size_t>(got));
  }
}

bool wants_json(const std::vector<Given>& given) {
  for (const Given& each : given)
    if (each.option->name() == "--format" && each.value == "json") return true;
  return false;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  if (from.empty()) return;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

}  // namespace

Result<std::string> Streams::path_of(const std::string& name) {
  if (!folder_) {
    PANTOUM_ASSIGN(folder_, base::TemporaryPath::create(""));
  }
  return folder_->path() + name;
}

Result<void> Streams::take_input(Given& given) {
  if (!input_.empty())
    return fail("E0117", "standard input can be read once", given.option->name() + " -", "name a file");
  PANTOUM_ASSIGN(input_, path_of("standard-input"));
  PANTOUM_ASSIGN(const std::string text, all_of(STDIN_FILENO, "standard input"));
  given.value = input_;
  return base::write_file_atomically(input_, text);
}

Result<void> Streams::take_pipe(Given& given) {
  const base::OwnedFile file(::open(given.value.c_str(), O_RDONLY | O_CLOEXEC), given.value, 0);
  if (file.descriptor() < 0) return {};  // the code that opens it next reports why
  PANTOUM_ASSIGN(const std::string text, all_of(file.descriptor(), given.value));
  PANTOUM_ASSIGN(const std::string path, path_of(fmt::format("pipe-{}", pipes_.size())));
  pipes_.emplace_back(path, given.value);
  given.value = path;
  return base::write_file_atomically(path, text);
}

Result<void> Streams::take_output(Given& given, bool json) {
  const std::string where = given.option->name() + " -";
  if (given.option->kind == Kind::kFolder)
    return fail("E0117", "a folder cannot be written to standard output", where, "name a folder");
  if (given.option->kind == Kind::kOutput)
    return fail("E0117",
                "this file cannot be written to standard output: a run writes others beside it, or goes on with it",
                where, "name a file");
  if (!output_.empty())
    return fail("E0117", "two files cannot share standard output", where, "name a file for one of them");
  if (json)
    return fail("E0117", "--format json writes to standard output, too", where, "name a file, or leave --format out");
  PANTOUM_ASSIGN(output_, path_of("standard-output"));
  given.value = output_;
  return {};
}

Result<void> Streams::replace(std::vector<Given>& given) {
  const bool json = wants_json(given);
  for (Given& each : given) {
    if (is_input(each.option->kind) && is_pipe(each.value)) PANTOUM_TRY(take_pipe(each));
    if (each.value != "-") continue;
    if (is_output(each.option->kind)) {
      PANTOUM_TRY(take_output(each, json));
    } else if (is_input(each.option->kind)) {
      PANTOUM_TRY(take_input(each));
    }
  }
  return {};
}

std::string Streams::with_names(std::string text) const {
  for (const auto& [ours, theirs] : pipes_) replace_all(text, ours, theirs);
  replace_all(text, input_, "standard input");
  replace_all(text, output_, "standard output");
  return text;
}

}  // namespace pantoum::cli
