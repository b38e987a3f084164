#include "pipeline/sweep_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_reader.h"
#include "base/json_text.h"
#include "base/system_calls.h"
#include "problem/plan_json.h"
#include "report/charts.h"

namespace pantoum::pipeline {
namespace {

constexpr const char* kOwnFolder = "give another folder with -o, or remove this one";

Failure cannot_write(const std::string& path) {
  return fail("E0901", fmt::format("cannot write the file: {}", std::strerror(errno)), path,
              "free some space or choose another place; what is finished is kept");
}

// E0280 with the keys in which the two questions differ.
Result<void> same_question(std::string_view line, const report::SweepHead& head, const std::string& where) {
  const bool is_json = base::parse_json(line, "E0281", where).has_value();  // and not too large
  const auto old = is_json ? nlohmann::ordered_json::parse(line, nullptr, false) : nlohmann::ordered_json();
  const auto own = report::to_json(head);
  if (!old.is_object()) return fail("E0281", "the first line of the sweep is no question", where, kOwnFolder);
  if (old == own) return {};
  std::vector<std::string> notes;
  for (const auto& [key, value] : own.items())
    if (!old.contains(key) || old[key] != value)
      notes.push_back(fmt::format("{}: {} there, {} asked for", key,
                                  old.contains(key) ? base::ascii_json(old[key]) : "nothing", base::ascii_json(value)));
  return fail("E0280", "the folder holds the sweep of another question", where, kOwnFolder, notes);
}

}  // namespace

struct SweepFolder::Log {
  int file = -1;
  std::string path;
  Log(int opened, std::string named) : file(opened), path(std::move(named)) {}
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log() { ::close(file); }

  [[nodiscard]] Result<void> append(const std::string& line) const {
    const std::string text = line + "\n";
    if (!base::write_all(file, text) || base::uninterrupted([&] { return ::fdatasync(file); }) != 0)
      return cannot_write(path);
    return {};
  }
};

namespace {

// Files that a killed sweep had not finished; the folder is ours alone.
void remove_parts(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> parts;
  std::error_code ignored;
  for (const auto& folder : {path, path / "plans"})
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
      if (entry.path().extension().string().starts_with(".part")) parts.push_back(entry.path());
  for (const auto& part : parts) std::filesystem::remove(part, ignored);
}

}  // namespace

Result<SweepFolder> SweepFolder::open(const std::string& path, const report::SweepHead& head) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path) / "plans", error);
  if (error) return fail("E0901", "cannot make the folder: " + error.message(), path, "choose another place with -o");
  const std::string name = (std::filesystem::path(path) / "sweep.jsonl").string();
  const int file = base::uninterrupted(
      [&] { return ::open(name.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666); });
  if (file < 0) return cannot_write(name);
  SweepFolder folder(path, std::make_shared<Log>(file, name));
  if (::flock(file, LOCK_EX | LOCK_NB) != 0)
    return fail("E0280", "another program is writing this sweep", name, "wait for it, or give another folder with -o");
  PANTOUM_ASSIGN(const std::string text, base::read_file(name));
  const size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  PANTOUM_TRY(folder.read_rows(std::string_view(text).substr(0, whole), head));
  if (whole < text.size() && ::ftruncate(file, static_cast<off_t>(whole)) != 0) return cannot_write(name);
  remove_parts(path);
  if (whole == 0) PANTOUM_TRY(folder.log_->append(base::ascii_json(report::to_json(head))));
  return folder;
}

Result<void> SweepFolder::read_rows(std::string_view text, const report::SweepHead& head) {
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (number == 1) {
      PANTOUM_TRY(same_question(line, head, log_->path));
      continue;
    }
    PANTOUM_ASSIGN(report::SweepRow row, report::parse_sweep_row(line, fmt::format("{}, line {}", log_->path, number)));
    keep(std::move(row));
  }
  return {};
}

const report::SweepRow* SweepFolder::find(const std::string& planner, problem::Bytes ram) const {
  for (const report::SweepRow& row : rows_)
    if (row.planner == planner && row.ram_bytes == ram) return &row;
  return nullptr;
}

Result<void> SweepFolder::add(const report::SweepRow& row, const problem::Plan* plan) {
  if (plan != nullptr) PANTOUM_TRY(problem::write_plan(*plan, plan_path(row)));
  PANTOUM_TRY(log_->append(base::ascii_json(report::to_json(row))));
  keep(row);
  return {};
}

void SweepFolder::keep(report::SweepRow row) {
  for (report::SweepRow& old : rows_)
    if (old.planner == row.planner && old.ram_bytes == row.ram_bytes) {
      old = std::move(row);
      return;
    }
  rows_.push_back(std::move(row));
}

Result<problem::Plan> SweepFolder::plan_of(const report::SweepRow& row) const {
  return problem::read_plan(plan_path(row));
}

std::string SweepFolder::plan_path(const report::SweepRow& row) const {
  return (std::filesystem::path(path_) / "plans" / fmt::format("{}-{}.plan.json", row.planner, row.ram_bytes)).string();
}

Result<void> SweepFolder::write_results(const report::Sweep& sweep) const {
  const std::filesystem::path folder(path_);
  PANTOUM_TRY(base::write_file_atomically((folder / "sweep.csv").string(), report::to_csv(sweep)));
  PANTOUM_TRY(base::write_file_atomically((folder / "sweep.json").string(), base::json_text(report::to_json(sweep))));
  return base::write_file_atomically((folder / "sweep.svg").string(), report::to_svg(sweep));
}

}  // namespace pantoum::pipeline
