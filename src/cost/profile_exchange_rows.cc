#include "cost/profile_exchange_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/foreign_text.h"

namespace pantoum::cost {
namespace {

constexpr std::array<const char*, 15> kColumns{
    "machine", "engine", "op",     "algorithm", "operands",        "attributes", "threads", "seconds",
    "low_s",   "high_s", "warm_s", "runs",      "workspace_bytes", "joules",     "meter"};
constexpr std::array<const char*, 4> kNeeded{"op", "algorithm", "operands", "seconds"};

template <class T>
std::optional<T> number_of(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// One row's fields by their names; keeps what is wrong with them.
class Fields {
 public:
  Fields(const std::map<std::string, size_t>& at, const std::vector<std::string>& fields) : at_(at), fields_(fields) {}

  [[nodiscard]] std::string text(const char* name) const {
    const auto column = at_.find(name);
    return column == at_.end() ? std::string() : fields_[column->second];
  }

  std::optional<double> number(const char* name) {
    const std::string field = text(name);
    if (field.empty()) return std::nullopt;
    const std::optional<double> value = number_of<double>(field);
    if (!value || !std::isfinite(*value)) wrong_ = fmt::format("{} is no number: '{}'", name, shown(field));
    return value;
  }

  int64_t whole(const char* name, int64_t none) {
    const std::string field = text(name);
    if (field.empty()) return none;
    const std::optional<int64_t> value = number_of<int64_t>(field);
    if (!value) wrong_ = fmt::format("{} is no whole number: '{}'", name, shown(field));
    return value.value_or(none);
  }

  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  static std::string shown(const std::string& field) {
    constexpr size_t kShown = 60;
    return base::one_line(field.size() <= kShown ? field : field.substr(0, kShown) + "...");
  }

  const std::map<std::string, size_t>& at_;
  const std::vector<std::string>& fields_;
  std::string wrong_;
};

// What no field may be, whatever it is for.
std::string wrong_field(const std::vector<std::string>& names, const std::vector<std::string>& fields) {
  for (size_t column = 0; column < fields.size(); ++column) {
    const std::string& field = fields[column];
    if (field.size() > kMostField)
      return fmt::format("{} has {} bytes; the most is {}", base::one_line(names[column]), field.size(), kMostField);
    if (field.find('\0') != std::string::npos)
      return fmt::format("{} has a NUL byte, which no text has", base::one_line(names[column]));
  }
  return "";
}

}  // namespace

std::string all_columns(const char* between) {
  std::string columns;
  for (const char* name : kColumns) columns += fmt::format("{}{}", columns.empty() ? "" : between, name);
  return columns;
}

std::string RowReader::set_columns(const std::vector<std::string>& names) {
  if (names.size() > kMostTableColumns) return fmt::format("it has more than {} columns", kMostTableColumns);
  for (size_t column = 0; column < names.size(); ++column) {
    const std::string& name = names[column];
    if (name.starts_with("x-")) continue;
    if (std::find(kColumns.begin(), kColumns.end(), name) == kColumns.end())
      return fmt::format("the column '{}' is not known here", base::one_line(name.substr(0, kMostTableColumns)));
    if (!at_.emplace(name, column).second) return fmt::format("the column '{}' stands twice", name);
  }
  names_ = names;
  for (const char* name : kNeeded)
    if (!at_.contains(name)) return fmt::format("there is no column '{}'", name);
  return "";
}

std::string RowReader::add(const std::vector<std::string>& fields) {
  if (fields.size() != names_.size())
    return fmt::format("it has {} fields, and {} are named", fields.size(), names_.size());
  if (rows_.size() == kMostTableRows) return fmt::format("the table has more than {} rows", kMostTableRows);
  if (std::string wrong = wrong_field(names_, fields); !wrong.empty()) return wrong;
  Fields row(at_, fields);
  OpKey key{.machine = machine_.empty() ? row.text("machine") : machine_,
            .op = row.text("op"),
            .algorithm = row.text("algorithm"),
            .operands = row.text("operands"),
            .attributes = row.text("attributes")};
  if (const std::string engine = row.text("engine"); !engine.empty()) key.engine = engine;
  if (key.attributes.empty()) key.attributes = "|";
  const int64_t threads = row.whole("threads", 1);
  const std::optional<double> seconds = row.number("seconds");
  const OpSample sample = {.seconds = seconds.value_or(0),
                           .low_s = row.number("low_s").value_or(seconds.value_or(0)),
                           .high_s = row.number("high_s").value_or(seconds.value_or(0)),
                           .warm_s = row.number("warm_s"),
                           .runs = row.whole("runs", 0),
                           .workspace_bytes = row.whole("workspace_bytes", 0),
                           .joules = row.number("joules"),
                           .meter = row.text("meter")};
  if (!row.wrong().empty()) return row.wrong();
  if (threads < 1 || !std::in_range<int>(threads))
    return fmt::format("threads is {}, and not from 1 to {}", threads, std::numeric_limits<int>::max());
  key.threads = static_cast<int>(threads);
  if (key.machine.empty()) return "nobody says which machine it is of: a column 'machine', or --machine";
  if (key.op.empty() || key.algorithm.empty() || key.operands.empty()) return "op, algorithm or operands is empty";
  if (!is_key(key)) return "it is no key of the store";
  if (!is_sample(sample)) return "its figures are no measurement: seconds above 0, low_s <= seconds <= high_s";
  rows_.push_back({std::move(key), sample});
  return "";
}

}  // namespace pantoum::cost
