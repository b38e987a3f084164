#include "data/array_writer.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/foreign_text.h"
#include "base/owned_file.h"

namespace pantoum::data {
namespace {

constexpr unsigned kMode = 0644;

uint64_t row_bytes(const WrittenArray& array) {
  return static_cast<uint64_t>(base::TensorType{array.dtype, array.shape}.bytes());
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

const char* numpy_type(base::DType dtype) {
  switch (dtype) {
    case base::DType::kI64:
      return "<i8";
    case base::DType::kI32:
      return "<i4";
    case base::DType::kU8:
      return "|u1";
    case base::DType::kBool:
      return "|b1";
    default:
      return "<f4";
  }
}

// The header of NPY 1.0: data begin at a multiple of 64.
std::string npy_header(const WrittenArray& array, int64_t count) {
  std::string shape = fmt::format("{},", count);
  for (const int64_t extent : array.shape) shape += fmt::format(" {},", extent);
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", numpy_type(array.dtype), shape);
  constexpr size_t kBefore = 10;
  text.append((64 - (kBefore + text.size() + 1) % 64) % 64, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xFF);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

class NpyWriter final : public ArrayWriter {
 public:
  explicit NpyWriter(base::AtomicFile file) : file_(std::move(file)) {}
  Result<void> begin(const WrittenArray& array, int64_t count) {
    return file_.append(bytes_of(npy_header(array, count)));
  }
  Result<void> put(size_t /*array*/, std::span<const std::byte> rows) override { return file_.append(rows); }
  Result<void> finish() override { return file_.commit(); }

 private:
  base::AtomicFile file_;
};

// Members that are stored, each as long as its rows will be; their checksums are put in at the end.
class NpzWriter final : public ArrayWriter {
 public:
  NpzWriter(base::AtomicFile file, std::vector<WrittenArray> arrays)
      : file_(std::move(file)), arrays_(std::move(arrays)) {}

  Result<void> begin(int64_t count) {
    for (const WrittenArray& array : arrays_) {
      Member member{.name = array.name + ".npy", .at = size_};
      const std::string header = npy_header(array, count);
      member.bytes = header.size() + row_bytes(array) * static_cast<uint64_t>(count);
      member.crc = static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(header.data()), header.size()));
      PANTOUM_TRY(append(local_header(member) + header));
      member.next = size_;
      PANTOUM_TRY(append_zeros(member.bytes - header.size()));
      members_.push_back(std::move(member));
    }
    return {};
  }

  Result<void> put(size_t array, std::span<const std::byte> rows) override {
    Member& member = members_[array];
    PANTOUM_TRY(file_.rewrite(member.next, rows));
    member.crc = static_cast<uint32_t>(crc32_z(member.crc, reinterpret_cast<const Bytef*>(rows.data()), rows.size()));
    member.next += rows.size();
    return {};
  }

  Result<void> finish() override {
    const uint64_t begin = size_;
    std::string directory;
    for (const Member& member : members_) {
      PANTOUM_TRY(file_.rewrite(member.at, bytes_of(local_header(member))));
      directory += central_header(member);
    }
    PANTOUM_TRY(append(directory));
    std::string end = number(0x06054b50, 4) + number(0, 4);
    for (int twice = 0; twice < 2; ++twice) end += number(members_.size(), 2);
    PANTOUM_TRY(append(end + number(directory.size(), 4) + number(begin, 4) + number(0, 2)));
    return file_.commit();
  }

 private:
  struct Member {
    std::string name;
    uint64_t at = 0, next = 0, bytes = 0;  // of its header in the file, of the rows that come, of it all
    uint32_t crc = 0;
  };

  static std::string number(uint64_t value, int bytes) {
    std::string text;
    for (int byte = 0; byte < bytes; ++byte) text += static_cast<char>(value >> (8 * byte) & 0xFF);
    return text;
  }
  // Version 2.0, names in UTF-8, stored, the first day that ZIP knows.
  static std::string common(const Member& member) {
    return number(20, 2) + number(0x800, 2) + number(0, 2) + number(0, 2) + number(0x21, 2) + number(member.crc, 4) +
           number(member.bytes, 4) + number(member.bytes, 4) + number(member.name.size(), 2) + number(0, 2);
  }
  static std::string local_header(const Member& member) { return number(0x04034b50, 4) + common(member) + member.name; }
  static std::string central_header(const Member& member) {
    return number(0x02014b50, 4) + number(20, 2) + common(member) + number(0, 2) + number(0, 2) + number(0, 2) +
           number(0, 4) + number(member.at, 4) + member.name;
  }

  Result<void> append(std::string_view text) {
    size_ += text.size();
    return file_.append(bytes_of(text));
  }
  Result<void> append_zeros(uint64_t bytes) {
    static constexpr std::array<std::byte, 4096> kZeros{};
    size_ += bytes;
    for (; bytes > 0; bytes -= std::min<uint64_t>(bytes, kZeros.size()))
      PANTOUM_TRY(file_.append(std::span(kZeros).first(std::min<uint64_t>(bytes, kZeros.size()))));
    return {};
  }

  base::AtomicFile file_;
  const std::vector<WrittenArray> arrays_;
  std::vector<Member> members_;
  uint64_t size_ = 0;
};

class CsvWriter final : public ArrayWriter {
 public:
  CsvWriter(base::AtomicFile file, std::vector<WrittenArray> arrays)
      : file_(std::move(file)), arrays_(std::move(arrays)), waiting_(arrays_.size()) {}

  Result<void> begin() {
    std::string line;
    for (const WrittenArray& array : arrays_)
      for (const std::string& column : columns_of(array)) line += (line.empty() ? "" : ",") + base::csv_field(column);
    return file_.append(bytes_of(line + "\n"));
  }

  Result<void> put(size_t array, std::span<const std::byte> rows) override {
    waiting_[array].assign(rows.begin(), rows.end());
    if (array + 1 < arrays_.size()) return {};
    std::string text;
    const size_t count = rows.size() / row_bytes(arrays_[array]);
    for (size_t row = 0; row < count; ++row) add_row(row, text);
    return file_.append(bytes_of(text));
  }

  Result<void> finish() override { return file_.commit(); }

 private:
  static std::vector<std::string> columns_of(const WrittenArray& array) {
    if (!array.columns.empty()) return array.columns;
    if (array.shape.empty()) return {array.name};
    std::vector<std::string> columns;
    std::vector<int64_t> at(array.shape.size(), 0);
    for (int64_t left = base::TensorType{array.dtype, array.shape}.elements(); left > 0; --left) {
      columns.push_back(fmt::format("{}[{}]", array.name, fmt::join(at, ",")));
      for (size_t dim = at.size(); dim-- > 0 && ++at[dim] == array.shape[dim];) at[dim] = 0;
    }
    return columns;
  }

  void add_row(size_t row, std::string& text) const {
    const size_t begin = text.size();
    for (size_t at = 0; at < arrays_.size(); ++at) {
      const WrittenArray& array = arrays_[at];
      const auto element = static_cast<size_t>(base::size_of(array.dtype));
      const std::span bytes = std::span(waiting_[at]).subspan(row * row_bytes(array), row_bytes(array));
      for (size_t begins = 0; begins < bytes.size(); begins += element) {
        if (text.size() > begin) text += ',';
        add_element(array, bytes.data() + begins, text);
      }
    }
    text += '\n';
  }

  template <class T>
  static T read(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }

  static void add_element(const WrittenArray& array, const std::byte* from, std::string& text) {
    if (array.dtype == base::DType::kF32) {  // the shortest that reads back as the same bits
      fmt::format_to(std::back_inserter(text), "{}", read<float>(from));
      return;
    }
    const int64_t value = array.dtype == base::DType::kI64   ? read<int64_t>(from)
                          : array.dtype == base::DType::kI32 ? read<int32_t>(from)
                                                             : read<uint8_t>(from);
    if (value >= 0 && static_cast<size_t>(value) < array.values.size())
      text += base::csv_field(array.values[static_cast<size_t>(value)]);
    else
      fmt::format_to(std::back_inserter(text), "{}", value);
  }

  base::AtomicFile file_;
  const std::vector<WrittenArray> arrays_;
  std::vector<std::vector<std::byte>> waiting_;  // the rows of each array, until those of the last one are there
};

// Two arrays of one name would be one member.
void make_names_differ(std::vector<WrittenArray>& arrays) {
  for (size_t at = 0; at < arrays.size(); ++at) {
    std::replace(arrays[at].name.begin(), arrays[at].name.end(), '/', '_');
    const auto is_taken = [&](const std::string& name) {
      return std::any_of(arrays.begin(), arrays.begin() + static_cast<std::ptrdiff_t>(at),
                         [&](const WrittenArray& before) { return before.name == name; });
    };
    const std::string own = arrays[at].name;
    for (int number = 2; is_taken(arrays[at].name); ++number) arrays[at].name = fmt::format("{}_{}", own, number);
  }
}

template <class Writer, class... Begin>
Result<std::unique_ptr<ArrayWriter>> begun(std::unique_ptr<Writer> writer, Begin&&... begin) {
  PANTOUM_TRY(writer->begin(std::forward<Begin>(begin)...));
  return std::unique_ptr<ArrayWriter>(std::move(writer));
}

}  // namespace

Result<std::unique_ptr<ArrayWriter>> open_array_writer(const std::string& path, std::vector<WrittenArray> arrays,
                                                       int64_t count) {
  const std::string ending = std::filesystem::path(path).extension().string();
  const bool is_npz = ending == ".npz", is_npy = ending == ".npy";
  if (!is_npz && !is_npy && ending != ".csv" && !ending.empty())
    return fail("E0117", fmt::format("the ending '{}' names no format of arrays", ending), path,
                "name a file as out.npy, out.npz or out.csv");
  if (is_npy && arrays.size() != 1)
    return fail("E0117", fmt::format("an NPY file holds one array, and there are {}", arrays.size()), path,
                "name an .npz or a .csv");
  make_names_differ(arrays);
  uint64_t bytes = 0;
  for (const WrittenArray& array : arrays) bytes += row_bytes(array) * static_cast<uint64_t>(count) + 1024;
  if (is_npz && bytes > std::numeric_limits<uint32_t>::max())
    return fail("E0117", "the arrays take more than the 4 GiB of an NPZ file", path,
                "predict in parts, or write a .csv");
  PANTOUM_ASSIGN(base::AtomicFile file, base::AtomicFile::create(path, kMode));
  if (is_npz && file.is_direct())
    return fail("E0117", "an NPZ file is not written to a device or a pipe", path, "name a file, or write a .csv");
  if (is_npy) return begun(std::make_unique<NpyWriter>(std::move(file)), arrays.front(), count);
  if (is_npz) return begun(std::make_unique<NpzWriter>(std::move(file), std::move(arrays)), count);
  return begun(std::make_unique<CsvWriter>(std::move(file), std::move(arrays)));
}

}  // namespace pantoum::data
