// The NPY header: a Python dictionary literal with exactly the keys descr, fortran_order and shape.
#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "data/format.h"

namespace pantoum::data {
namespace {

struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  std::vector<uint64_t> shape;
};

constexpr size_t kMaxRank = 32;  // numpy's own limit

class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : rest_(text) {}

  // nullopt: the text is not such a dictionary.
  std::optional<NpyHeader> read() {
    NpyHeader header;
    unsigned seen = 0;
    if (!take('{')) return std::nullopt;
    while (!take('}')) {
      const std::optional<std::string> key = quoted();
      if (!key || !take(':')) return std::nullopt;
      const unsigned bit = *key == "descr" ? 1U : *key == "fortran_order" ? 2U : *key == "shape" ? 4U : 0U;
      if (bit == 0 || (seen & bit) != 0 || !value(bit, header)) return std::nullopt;
      seen |= bit;
      if (!take(',') && !peek('}')) return std::nullopt;
    }
    skip();
    return seen == 7 && rest_.empty() ? std::optional(std::move(header)) : std::nullopt;
  }

 private:
  std::string_view rest_;

  void skip() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }
  bool peek(char wanted) {
    skip();
    return !rest_.empty() && rest_[0] == wanted;
  }
  bool take(char wanted) {
    if (!peek(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool word(std::string_view wanted) {
    skip();
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(wanted.size());
    return true;
  }
  std::optional<std::string> quoted() {
    const char quote = peek('"') ? '"' : '\'';
    if (!take(quote)) return std::nullopt;
    const size_t end = rest_.find(quote);
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }
  bool value(unsigned bit, NpyHeader& header) {
    if (bit == 4) return shape(header.shape);
    if (bit == 2) {
      header.fortran_order = word("True");
      return header.fortran_order || word("False");
    }
    const std::optional<std::string> text = quoted();
    if (text) header.descr = *text;
    return text.has_value();
  }
  bool shape(std::vector<uint64_t>& extents) {
    if (!take('(')) return false;
    while (!take(')')) {
      skip();
      uint64_t extent = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (error != std::errc{} || extents.size() == kMaxRank) return false;
      extents.push_back(extent);
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      if (!take(',') && !peek(')')) return false;
    }
    return true;
  }
};

Result<base::DType> dtype_of(const std::string& descr, const std::string& where, bool doubles) {
  if (descr == "|u1" || descr == "<u1" || descr == ">u1") return base::DType::kU8;
  if (descr == "|b1") return base::DType::kBool;
  if (descr == "<i4") return base::DType::kI32;
  if (descr == "<i8") return base::DType::kI64;
  if (descr == "<f4") return base::DType::kF32;
  if (descr == "<f8" && doubles) return base::DType::kF64;
  std::string help = "save it as float32, int64, int32 or uint8 in little-endian order";
  if (descr == "<f8") help = "save it in single precision: numpy.save(path, x.astype(numpy.float32))";
  return fail("E0261", fmt::format("NPY elements of type '{}' are not supported", descr.substr(0, 32)), where, help);
}

}  // namespace

Result<ArrayLayout> read_npy_header(std::span<const std::byte> start, uint64_t file_size, const std::string& where,
                                    bool doubles) {
  const Failure damaged = fail("E0261", "the NPY header is damaged or cut short", where, "copy or make the file again");
  if (!is_npy(start) || start.size() < 10) return damaged;
  const int version = std::to_integer<int>(start[6]);
  if (version < 1 || version > 3)
    return fail("E0261", fmt::format("the NPY version {} is not supported", version), where, "versions 1 to 3 are");
  const size_t length_bytes = version == 1 ? 2 : 4;
  if (start.size() < 8 + length_bytes) return damaged;
  uint64_t length = 0;
  for (size_t byte = length_bytes; byte-- > 0;) length = length << 8 | std::to_integer<uint64_t>(start[8 + byte]);
  ArrayLayout layout;
  layout.data_at = 8 + length_bytes + length;
  if (layout.data_at > start.size()) return damaged;
  const auto text = start.subspan(8 + length_bytes, static_cast<size_t>(length));
  const auto header = LiteralReader({reinterpret_cast<const char*>(text.data()), text.size()}).read();
  if (!header) return damaged;
  PANTOUM_ASSIGN(layout.dtype, dtype_of(header->descr, where, doubles));
  if (header->fortran_order && header->shape.size() > 1)
    return fail("E0261", "the NPY array is in Fortran order, so that its samples are scattered", where,
                "save it in C order: numpy.save(path, numpy.ascontiguousarray(x))");
  return complete_layout(std::move(layout), header->shape, file_size, where);
}

}  // namespace pantoum::data
