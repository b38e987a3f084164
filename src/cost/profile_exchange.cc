#include "cost/profile_exchange.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "cost/profile_exchange_rows.h"
#include "cost/profile_exchange_sqlite.h"

namespace pantoum::cost {
namespace {

std::string ending_of(const std::string& path) {
  return std::filesystem::path(path).extension().string();
}

Failure unknown_ending(const std::string& path) {
  return fail("E0117", "a table of times is a .csv, a .sql or a .db file", path, "name the file so");
}

Failure bad_row(const std::string& path, size_t line, const std::string& what) {
  return fail("E0276", what, fmt::format("{}:{}", path, line), "mend the line: nothing of the file was taken");
}

// As every reader of CSV takes it: quoted where it has a comma, a quote or a line's end.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string made = "\"";
  for (const char letter : text) made += letter == '"' ? "\"\"" : std::string(1, letter);
  return made + "\"";
}

std::string quoted_sql(const std::string& text) {
  std::string made = "'";
  for (const char letter : text) made += letter == '\'' ? "''" : std::string(1, letter);
  return made + "'";
}

std::vector<std::string> fields_of(const OpKey& key, const OpSample& of, std::string (*text)(const std::string&),
                                   const char* none) {
  // In SQL as a text: SQLite may read a number's last bit otherwise.
  const auto number = [&](double value) { return text(fmt::format("{}", value)); };
  return {text(key.machine),
          text(key.engine),
          text(key.op),
          text(key.algorithm),
          text(key.operands),
          text(key.attributes),
          fmt::format("{}", key.threads),
          number(of.seconds),
          number(of.low_s),
          number(of.high_s),
          of.warm_s ? number(*of.warm_s) : none,
          fmt::format("{}", of.runs),
          fmt::format("{}", of.workspace_bytes),
          of.joules ? number(*of.joules) : none,
          text(of.meter)};
}

// The fields of a CSV's records. A quoted one may hold line ends.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
  }

  // The next record; false: there is none. `wrong`: what is wrong with it, if anything.
  bool next(std::vector<std::string>& fields, std::string& wrong) {
    fields.clear();
    while (at_ < text_.size() && ends_line(text_[at_])) pass();
    if (at_ >= text_.size()) return false;
    begin_ = line_;
    while (true) {
      std::string field;
      if (!(text_.substr(at_).starts_with('"') ? quoted_field(field) : plain_field(field)))
        wrong = "its quotes do not end";
      fields.push_back(std::move(field));
      if (fields.size() > kMostTableColumns) wrong = fmt::format("it has more than {} fields", kMostTableColumns);
      if (!wrong.empty() || at_ >= text_.size() || text_[at_] != ',') return true;
      ++at_;
    }
  }
  [[nodiscard]] size_t line() const { return begin_; }

 private:
  static bool ends_line(char letter) { return letter == '\n' || letter == '\r'; }

  // A line ends with LF, CR LF or CR.
  char pass() {
    const char letter = text_[at_++];
    const bool of_a_pair = letter == '\n' && at_ >= 2 && text_[at_ - 2] == '\r';
    if (ends_line(letter) && !of_a_pair) ++line_;
    return letter;
  }

  bool plain_field(std::string& field) {
    while (at_ < text_.size() && text_[at_] != ',' && !ends_line(text_[at_])) field += text_[at_++];
    return true;
  }

  bool quoted_field(std::string& field) {
    ++at_;
    while (at_ < text_.size()) {
      const char letter = pass();
      if (letter != '"') {
        field += letter;
      } else if (at_ < text_.size() && text_[at_] == '"') {
        field += text_[at_++];
      } else {
        return at_ >= text_.size() || text_[at_] == ',' || ends_line(text_[at_]);
      }
    }
    return false;
  }

  std::string_view text_;
  size_t at_ = 0, line_ = 1, begin_ = 1;
};

Result<void> read_csv(const std::string& path, RowReader& rows) {
  PANTOUM_ASSIGN(const std::string text, base::read_file(path));
  CsvReader reader(text);
  std::vector<std::string> fields;
  std::string why;
  if (!reader.next(fields, why)) return bad_row(path, 1, "the file is empty");
  if (why.empty()) why = rows.set_columns(fields);
  while (why.empty() && reader.next(fields, why))
    if (why.empty()) why = rows.add(fields);
  if (!why.empty()) return bad_row(path, reader.line(), why);
  return {};
}

using Read = Result<void> (*)(const std::string&, RowReader&);

// A pipe that is no data base would be waited for.
Result<void> check_file(const std::string& path, bool is_database) {
  std::error_code none;
  const std::filesystem::file_status status = std::filesystem::status(path, none);
  const auto refused = [&](const char* what) { return fail("E0201", what, path, "name a .csv, a .sql or a .db file"); };
  if (!std::filesystem::exists(status)) return refused("there is no such file");
  if (std::filesystem::is_directory(status)) return refused("cannot read the file: it is a folder");
  if (is_database && !std::filesystem::is_regular_file(status))
    return refused("cannot read the file: a data base has to be a regular file, and it is none");
  return {};
}

// A store, or nothing, or an empty file: what else stands there is not ours to replace.
Result<void> check_replaceable(const std::string& path) {
  std::error_code none;
  const auto refused = [&](const std::string& why) {
    return fail("E0275", "the table cannot take the place of what stands there: " + why, path,
                "name another file with --export");
  };
  for (const char* beside : {"-journal", "-wal"})
    if (std::filesystem::exists(path + beside, none))
      return refused(fmt::format("{}{} beside it says that another program writes to it", path, beside));
  if (!std::filesystem::exists(path, none)) return {};
  if (!std::filesystem::is_regular_file(path, none)) return refused("it is no regular file");
  const Result<void> checked = ProfileStore::check(path);
  return checked ? Result<void>{} : refused(checked.error().message);
}

Result<int64_t> export_database(ProfileStore& store, const std::string& path) {
  PANTOUM_TRY(check_replaceable(path));
  PANTOUM_ASSIGN(const std::unique_ptr<ProfileStore> copy, ProfileStore::open(":memory:"));
  int64_t written = 0;
  PANTOUM_TRY(copy->begin());
  PANTOUM_TRY(store.each_op([&](const OpKey& key, const OpSample& sample) {
    ++written;
    return copy->put_op(key, sample);
  }));
  PANTOUM_TRY(copy->commit());
  PANTOUM_ASSIGN(const std::string bytes, copy->bytes());
  PANTOUM_TRY(base::write_file_atomically(path, bytes));
  return written;
}

}  // namespace

Result<int64_t> export_profile(ProfileStore& store, const std::string& path) {
  const std::string ending = ending_of(path);
  if (ending == ".db") return export_database(store, path);
  if (ending != ".csv" && ending != ".sql") return unknown_ending(path);
  int64_t written = 0;
  const bool sql = ending == ".sql";
  std::string text = sql ? fmt::format("CREATE TABLE op_costs({});\n", all_columns(", ")) : all_columns(",") + "\n";
  PANTOUM_TRY(store.each_op([&](const OpKey& key, const OpSample& sample) -> Result<void> {
    ++written;
    const std::vector<std::string> fields =
        sql ? fields_of(key, sample, quoted_sql, "NULL") : fields_of(key, sample, quoted, "");
    text += sql ? fmt::format("INSERT INTO op_costs VALUES({});\n", fmt::join(fields, ", "))
                : fmt::format("{}\n", fmt::join(fields, ","));
    return {};
  }));
  PANTOUM_TRY(base::write_file_atomically(path, text));
  return written;
}

Result<std::vector<ProfileRow>> read_profile(const std::string& path, const std::string& machine) {
  const std::string ending = ending_of(path);
  const Read read = ending == ".csv"   ? read_csv
                    : ending == ".sql" ? read_sql
                    : ending == ".db"  ? read_database
                                       : nullptr;
  if (read == nullptr) return unknown_ending(path);
  PANTOUM_TRY(check_file(path, ending == ".db"));
  RowReader rows(machine);
  PANTOUM_TRY(read(path, rows));
  return rows.take();
}

Result<void> keep_profile(ProfileStore& store, const std::vector<ProfileRow>& rows) {
  PANTOUM_TRY(store.begin());
  for (const ProfileRow& row : rows) {
    const Result<void> put = store.put_op(row.key, row.sample);
    if (put) continue;
    (void)store.roll_back();
    return put;
  }
  return store.commit();
}

}  // namespace pantoum::cost
