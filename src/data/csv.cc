#include "data/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <utility>

#include "data/array.h"
#include "data/cache.h"
#include "data/source.h"

namespace pantoum::data {
namespace {

constexpr size_t kTablePiece = 1 << 16, kLongestLine = 1 << 24, kMostColumns = 1 << 20, kShownColumns = 50;

template <class Number>
bool parse(std::string_view field, Number& value) {
  if (field.starts_with('+')) field.remove_prefix(1);
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  return error == std::errc{} && end == field.data() + field.size() && std::isfinite(static_cast<double>(value));
}

bool is_number(std::string_view field) {
  double value = 0;
  return parse(field, value);
}

template <class Number>
void append(Number value, std::vector<std::byte>& record) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  record.insert(record.end(), bytes, bytes + sizeof value);
}

// Calls `line` with every line of the file, without its end.
Result<void> for_each_line(const base::OwnedFile& file, const std::function<Result<void>(std::string_view)>& line) {
  std::string pending;
  std::vector<std::byte> piece(kTablePiece);
  const auto give = [&](std::string_view text) {
    if (text.ends_with('\r')) text.remove_suffix(1);
    return line(text);
  };
  for (uint64_t at = 0; at < file.size(); at += kTablePiece) {
    const auto part = std::span(piece).first(static_cast<size_t>(std::min<uint64_t>(kTablePiece, file.size() - at)));
    PANTOUM_TRY(file.read_at(at, part, "E0260"));
    std::string_view rest(reinterpret_cast<const char*>(part.data()), part.size());
    for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      pending.append(rest.substr(0, end));
      PANTOUM_TRY(give(pending));
      pending.clear();
      rest.remove_prefix(end + 1);
    }
    pending.append(rest);
    if (pending.size() > kLongestLine) return fail("E0261", "a line is longer than 16 MiB", file.path());
  }
  return pending.empty() ? Result<void>() : give(pending);
}

int64_t elements(const WantedTensor& tensor) {
  return base::TensorType{tensor.dtype, tensor.shape}.elements();
}

// One record: the inputs one after the other, then the label.
struct RecordLayout {
  std::vector<uint64_t> input_at;
  uint64_t label_at = 0, bytes = 0;
};

RecordLayout record_layout(const Wanted& wanted) {
  RecordLayout layout;
  for (const WantedTensor& input : wanted.inputs) {
    layout.input_at.push_back(layout.bytes);
    layout.bytes += static_cast<uint64_t>(base::TensorType{input.dtype, input.shape}.bytes());
  }
  layout.label_at = layout.bytes;
  if (!wanted.labels) return layout;
  layout.bytes += static_cast<uint64_t>(base::TensorType{wanted.label.dtype, wanted.label.shape}.bytes());
  return layout;
}

// Lines into records.
class CsvReader {
 public:
  CsvReader(const Place& place, std::string path, base::AtomicFile& out)
      : place_(place), path_(std::move(path)), out_(out) {
    for (const WantedTensor& input : place.wanted.inputs)
      types_.insert(types_.end(), static_cast<size_t>(elements(input)), input.dtype);
  }

  Result<void> read() {
    PANTOUM_ASSIGN(const base::OwnedFile file, base::OwnedFile::open_to_read(path_));
    PANTOUM_TRY(for_each_line(file, [this](std::string_view text) { return line(text); }));
    if (rows_ == 0) return fail("E0261", "the file holds no row of numbers", path_, "a row is a sample");
    return out_.flush();
  }

 private:
  const Place& place_;
  std::string path_;
  PieceWriter out_;
  std::vector<base::DType> types_;  // of the features, in order
  CsvColumns columns_;
  char separator_ = ',';
  uint64_t line_ = 0, rows_ = 0;
  std::vector<std::string_view> fields_;
  std::vector<std::byte> record_;

  Result<void> line(std::string_view text) {
    if (++line_ == 1) {
      if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
      separator_ = csv_separator(text);
    }
    if (text.find_first_not_of(" \t") == std::string_view::npos) return {};
    if (static_cast<size_t>(std::count(text.begin(), text.end(), separator_)) >= kMostColumns)
      return fail("E0261", fmt::format("line {} has more than {} columns", line_, kMostColumns), path_,
                  "give so many numbers as NPY");
    split_csv_line(text, separator_, fields_);
    if (columns_.count == 0) {
      PANTOUM_ASSIGN(columns_, csv_columns(fields_, place_.wanted, place_.options.label_columns, path_));
      if (columns_.has_header) return {};
    }
    if (fields_.size() != columns_.count)
      return fail("E0261", fmt::format("line {} has {} columns, the first {}", line_, fields_.size(), columns_.count),
                  path_, "give every row the same number of columns");
    return row();
  }

  Result<void> row() {
    record_.clear();
    for (size_t feature = 0; feature < columns_.features.size(); ++feature)
      PANTOUM_TRY(number(columns_.features[feature], types_[feature]));
    for (const size_t column : columns_.labels)
      if (place_.wanted.labels) PANTOUM_TRY(number(column, place_.wanted.label.dtype));
    ++rows_;
    return out_.put(record_);
  }

  Result<void> number(size_t column, base::DType dtype) {
    Result<void> appended = append_number(fields_[column], dtype, record_);
    if (appended) return {};
    Error error = std::move(appended).error();
    error.where = fmt::format("{}:{}, column {}", path_, line_, column + 1);
    return Failure(std::move(error));
  }
};

}  // namespace

void split_csv_line(std::string_view line, char separator, std::vector<std::string_view>& fields) {
  fields.clear();
  const auto trim = [](std::string_view field) {
    const auto strip = [&](std::string_view characters) {
      while (!field.empty() && characters.find(field.front()) != std::string_view::npos) field.remove_prefix(1);
      while (!field.empty() && characters.find(field.back()) != std::string_view::npos) field.remove_suffix(1);
    };
    strip(" \t");
    if (field.size() >= 2 && field.front() == '"' && field.back() == '"') field = field.substr(1, field.size() - 2);
    return field;
  };
  bool quoted = false;
  size_t begin = 0;
  for (size_t at = 0; at <= line.size(); ++at) {
    if (at < line.size() && line[at] == '"') quoted = !quoted;
    if (at < line.size() && (quoted || line[at] != separator)) continue;
    fields.push_back(trim(line.substr(begin, at - begin)));
    begin = at + 1;
  }
}

char csv_separator(std::string_view line) {
  for (const char separator : {',', ';', '\t'})
    if (line.find(separator) != std::string_view::npos) return separator;
  return ',';
}

namespace {

std::string shown_columns(const std::vector<std::string_view>& columns) {
  const auto last = columns.begin() + static_cast<long>(std::min(columns.size(), kShownColumns));
  const std::string names = fmt::format("{}", fmt::join(columns.begin(), last, ", "));
  return last == columns.end() ? names : fmt::format("{} and {} more", names, columns.end() - last);
}

}  // namespace

Result<CsvColumns> csv_columns(const std::vector<std::string_view>& first, const Wanted& wanted,
                               const std::vector<std::string>& label_columns, const std::string& where) {
  CsvColumns columns{.count = first.size()};
  columns.has_header = !std::all_of(first.begin(), first.end(), is_number);
  size_t wanted_features = 0;
  for (const WantedTensor& input : wanted.inputs) wanted_features += static_cast<size_t>(elements(input));
  auto label_count = static_cast<size_t>(elements(wanted.label));
  if (!wanted.labels)  // what is no feature is not read: the columns named, or the last
    label_count =
        !label_columns.empty() ? label_columns.size() : first.size() - std::min(wanted_features, first.size());
  for (const std::string& wish : label_columns) {
    size_t column = first.size();
    if (columns.has_header) column = static_cast<size_t>(std::find(first.begin(), first.end(), wish) - first.begin());
    if (column == first.size() && !parse(std::string_view(wish), column)) column = first.size();
    if (column >= first.size())
      return fail("E0262", fmt::format("there is no column '{}'", wish), where,
                  fmt::format("name one of {} with --label-column, or its number from 0",
                              columns.has_header ? shown_columns(first) : fmt::format("the {} columns", first.size())));
    columns.labels.push_back(column);
  }
  if (label_columns.empty())
    for (size_t last = std::min(label_count, first.size()); last > 0; --last)
      columns.labels.push_back(first.size() - last);
  for (size_t column = 0; column < first.size(); ++column)
    if (std::find(columns.labels.begin(), columns.labels.end(), column) == columns.labels.end())
      columns.features.push_back(column);
  if (columns.labels.size() != label_count || columns.features.size() != wanted_features)
    return fail(
        "E0262",
        fmt::format("the data do not fit the model: {} columns of features and {} of labels, the model wants {} "
                    "and {}",
                    columns.features.size(), columns.labels.size(), wanted_features, label_count),
        where, "leave out what the model does not read; name the labels' columns with --label-column");
  return columns;
}

Result<void> append_number(std::string_view field, base::DType dtype, std::vector<std::byte>& record) {
  if (field.empty()) return fail("E0261", "a number is missing", {}, "fill the gaps, or leave the row out");
  float real = 0;
  if (!parse(field, real))
    return fail("E0261", fmt::format("'{}' is no finite number", field.substr(0, 32)), {},
                "write classes as numbers from 0 on, and leave other text out");
  if (dtype == base::DType::kF32) {
    append(real, record);
    return {};
  }
  int64_t whole = 0;
  if (!parse(field, whole)) {
    whole = std::abs(real) < 1e6F ? static_cast<int64_t>(real) : 0;
    if (static_cast<float>(whole) != real)
      return fail("E0261", fmt::format("'{}' is no whole number, as a class or an index is", field.substr(0, 32)), {},
                  "write classes as numbers from 0 on");
  }
  if (dtype == base::DType::kI64) {
    append(whole, record);
  } else if (dtype == base::DType::kI32 && whole == static_cast<int32_t>(whole)) {
    append(static_cast<int32_t>(whole), record);
  } else {
    return fail("E0261", fmt::format("'{}' does not fit {}", field.substr(0, 32), base::name_of(dtype)));
  }
  return {};
}

namespace {

// The names of the columns of features; "column 1" where the file has no header.
Result<std::vector<std::string>> feature_names(const std::string& path, const Place& place) {
  PANTOUM_ASSIGN(const base::OwnedFile file, base::OwnedFile::open_to_read(path));
  std::string start(static_cast<size_t>(std::min<uint64_t>(file.size(), kTablePiece)), ' ');
  PANTOUM_TRY(file.read_at(0, std::as_writable_bytes(std::span(start)), "E0260"));
  std::string_view line = start;
  if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  line.remove_prefix(std::min(line.find_first_not_of(" \t\r\n"), line.size()));
  line = line.substr(0, line.find_first_of("\r\n"));
  std::vector<std::string_view> fields;
  split_csv_line(line, csv_separator(line), fields);
  PANTOUM_ASSIGN(const CsvColumns columns, csv_columns(fields, place.wanted, place.options.label_columns, path));
  std::vector<std::string> names;
  for (const size_t column : columns.features)
    names.push_back(columns.has_header ? fmt::format("'{}'", fields[column].substr(0, 64))
                                       : fmt::format("{}", column + 1));
  return names;
}

// The features, as numbers, of one row.
Result<void> read_row(const Dataset& data, int64_t row, std::vector<std::byte>& buffer, std::vector<double>& values) {
  values.clear();
  for (const auto& input : data.inputs) {
    buffer.resize(static_cast<size_t>(sample_bytes(*input)));
    PANTOUM_TRY(input->read(row, buffer));
    const auto append = [&](auto zero) {
      for (size_t at = 0; at < buffer.size(); at += sizeof zero) {
        std::memcpy(&zero, buffer.data() + at, sizeof zero);
        values.push_back(static_cast<double>(zero));
      }
    };
    if (input->dtype() == base::DType::kF32) append(0.0F);
    if (input->dtype() == base::DType::kI64) append(int64_t{0});
    if (input->dtype() == base::DType::kI32) append(int32_t{0});
  }
  return {};
}

// Warns of each column of features that counts the rows up by one, as an index does. A table's only column may do so.
Result<void> warn_of_index(const std::string& path, const Place& place, Dataset& data) {
  constexpr int64_t kLeastRows = 10, kRowsLooked = 10000;
  constexpr size_t kWidest = 10000;
  const int64_t rows = std::min(data.count(), kRowsLooked);
  std::vector<std::byte> buffer;
  std::vector<double> first, values;
  if (rows < kLeastRows) return {};
  PANTOUM_TRY(read_row(data, 0, buffer, first));
  if (first.size() < 2 || first.size() > kWidest) return {};
  std::vector<bool> counts(first.size(), true);
  for (int64_t row = 1; row < rows && std::find(counts.begin(), counts.end(), true) != counts.end(); ++row) {
    PANTOUM_TRY(read_row(data, row, buffer, values));
    for (size_t at = 0; at < first.size(); ++at)
      if (values[at] != first[at] + static_cast<double>(row)) counts[at] = false;
  }
  if (std::find(counts.begin(), counts.end(), true) == counts.end()) return {};
  PANTOUM_ASSIGN(const std::vector<std::string> names, feature_names(path, place));
  for (size_t at = 0; at < counts.size() && at < names.size(); ++at)
    if (counts[at])
      data.warnings.push_back(
          fmt::format("the column {} of {} counts up by one from row to row, like an index: leave it out of the table and the "
                      "model, as it says nothing of a sample, and its size can make the loss grow without bounds",
                      names[at], path));
  return {};
}

}  // namespace

FoundSamples find_csv(const Place& place) {
  std::string path = place.path;
  if (place.wanted.inputs.empty()) return std::optional<Dataset>();
  if (place.is_folder) {
    path += fmt::format("/{}.csv", place.split_name());
    place.tried->push_back(fmt::format("looked for {}.csv", place.split_name()));
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) return std::optional<Dataset>();
  } else if (!place.is_file(".csv") || place.split == Split::kTest) {
    return std::optional<Dataset>();
  }
  std::string key;
  PANTOUM_ASSIGN(key, identity_of(path));
  for (const WantedTensor& input : place.wanted.inputs)
    key += "\n" + base::to_text(base::TensorType{input.dtype, input.shape});
  if (place.wanted.labels)
    key += "\n" + base::to_text(base::TensorType{place.wanted.label.dtype, place.wanted.label.shape});
  for (const std::string& column : place.options.label_columns) key += "\n" + column;
  PANTOUM_ASSIGN(const std::string records,
                 cached_file(place.cache_folder(), std::filesystem::path(path).stem().string(), key,
                             [&](base::AtomicFile& out) { return CsvReader(place, path, out).read(); }));
  PANTOUM_ASSIGN(base::OwnedFile opened, base::OwnedFile::open_to_read(records));
  const auto file = std::make_shared<base::OwnedFile>(std::move(opened));
  const RecordLayout layout = record_layout(place.wanted);
  const auto field = [&](uint64_t at, const WantedTensor& tensor) {
    return array_samples(file, record_field(file->size(), 0, layout.bytes, at, tensor.dtype, tensor.shape));
  };
  Dataset data{.format = "CSV"};
  for (size_t input = 0; input < place.wanted.inputs.size(); ++input)
    data.inputs.push_back(field(layout.input_at[input], place.wanted.inputs[input]));
  if (place.wanted.labels) data.labels = field(layout.label_at, place.wanted.label);
  PANTOUM_TRY(warn_of_index(path, place, data));
  return std::optional(std::move(data));
}

}  // namespace pantoum::data
