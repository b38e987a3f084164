#include "weights/safetensors_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace pantoum::weights {
namespace {

using Json = nlohmann::json;
constexpr size_t kMaxRank = 64;

struct Named {
  base::DType dtype;
  std::string_view name;
};

constexpr std::array<Named, PT_DTYPE_COUNT> kNames{{{base::DType::kF32, "F32"},
                                                    {base::DType::kI64, "I64"},
                                                    {base::DType::kI32, "I32"},
                                                    {base::DType::kU8, "U8"},
                                                    {base::DType::kBool, "BOOL"},
                                                    {base::DType::kF64, "F64"}}};

constexpr std::array<std::string_view, 8> kOthers{"I8", "I16", "U16", "U32", "F8_E4M3", "F8_E5M2", "U64", "C64"};

// What the next event may be. A header is two levels deep and no more:
//   { "__metadata__": {key: string, ...}, name: {"dtype": string, "shape": [..], "data_offsets": [begin, end]}, ... }
enum class At {
  kBefore,
  kTop,
  kTopValue,
  kMetadata,
  kTensor,
  kDtype,
  kShapeStart,
  kShape,
  kOffsetsStart,
  kOffsets,
  kAfter
};

class HeaderReader : public Json::json_sax_t {
 public:
  RawHeader header;
  std::string problem;

  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("a boolean"); }
  bool number_integer(number_integer_t) override { return refuse("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return refuse("a fraction or a number too large"); }
  bool binary(binary_t&) override { return refuse("binary data"); }

  bool number_unsigned(number_unsigned_t number) override {
    if (at_ == At::kShape) {
      if (entry().shape.size() == kMaxRank) return stop("the shape of '" + entry().name + "' is too long");
      entry().shape.push_back(number);
      return true;
    }
    if (at_ == At::kOffsets) {
      if (offsets_ == 2) return stop("'data_offsets' of '" + entry().name + "' has more than two numbers");
      entry().offsets[offsets_++] = number;
      return true;
    }
    return refuse("a number");
  }

  bool string(string_t& text) override {
    if (at_ == At::kDtype) {
      entry().dtype = text;
      at_ = At::kTensor;
      return true;
    }
    if (at_ == At::kMetadata && !key_.empty()) {
      if (!header.metadata.emplace(key_.substr(1), text).second)
        return stop("the metadata key '" + key_.substr(1) + "' stands twice");
      key_.clear();
      return true;
    }
    return refuse("a text");
  }

  bool start_object(size_t) override {
    if (at_ == At::kBefore) return go(At::kTop);
    if (at_ != At::kTopValue) return refuse("an object");
    if (key_ != "__metadata__") {
      header.tensors.emplace_back().name = key_;
      seen_ = 0;
      return go(At::kTensor);
    }
    if (metadata_seen_) return stop("'__metadata__' stands twice");
    metadata_seen_ = true;
    key_.clear();
    return go(At::kMetadata);
  }

  bool key(string_t& text) override {
    if (at_ == At::kTensor) return tensor_key(text);
    // A key of the metadata is kept with a marker before it, so that an empty key differs from no key.
    key_ = at_ == At::kMetadata ? "." + text : text;
    if (at_ == At::kTop) at_ = At::kTopValue;
    return true;
  }

  bool end_object() override {
    if (at_ == At::kTop) return go(At::kAfter);
    if (at_ == At::kTensor && seen_ != 7)
      return stop("the tensor '" + entry().name + "' lacks 'dtype', 'shape' or 'data_offsets'");
    return go(At::kTop);
  }

  bool start_array(size_t) override {
    if (at_ == At::kShapeStart) return go(At::kShape);
    if (at_ == At::kOffsetsStart) return go(At::kOffsets);
    return refuse("a list");
  }

  bool end_array() override {
    if (at_ == At::kOffsets && offsets_ != 2) return stop("'data_offsets' of '" + entry().name + "' needs two numbers");
    return go(At::kTensor);
  }

  bool parse_error(size_t position, const std::string&, const Json::exception& error) override {
    if (problem.empty())
      problem = "the header is not valid JSON at byte " + std::to_string(position) +
                (error.id == 406 ? ": a number is too large" : "");
    return false;
  }

 private:
  At at_ = At::kBefore;
  std::string key_;
  unsigned seen_ = 0;  // bits: dtype, shape, data_offsets
  size_t offsets_ = 0;
  bool metadata_seen_ = false;

  RawEntry& entry() { return header.tensors.back(); }

  bool go(At next) {
    at_ = next;
    return true;
  }

  bool stop(std::string why) {
    problem = std::move(why);
    return false;
  }

  bool refuse(const std::string& what) {
    const bool in_tensor = at_ >= At::kTensor && at_ <= At::kOffsets;
    return stop("the header holds " + what + " where the format has none" +
                (in_tensor ? ", in '" + entry().name + "'" : ""));
  }

  bool tensor_key(const std::string& name) {
    const unsigned bit = name == "dtype" ? 1U : name == "shape" ? 2U : name == "data_offsets" ? 4U : 0U;
    if (bit == 0) return stop("the tensor '" + entry().name + "' has the unknown key '" + name + "'");
    if ((seen_ & bit) != 0) return stop("the tensor '" + entry().name + "' has the key '" + name + "' twice");
    seen_ |= bit;
    offsets_ = 0;
    return go(bit == 1 ? At::kDtype : bit == 2 ? At::kShapeStart : At::kOffsetsStart);
  }
};

}  // namespace

Result<RawHeader> read_header_json(std::string_view text, const std::string& where) {
  HeaderReader reader;
  if (Json::sax_parse(text.begin(), text.end(), &reader)) return std::move(reader.header);
  return fail("E0240", reader.problem.empty() ? "the header is not valid JSON" : reader.problem, where,
              "the file is damaged or not safetensors; export the weights again");
}

std::string_view safetensors_name(base::DType dtype) {
  for (const Named& named : kNames)
    if (named.dtype == dtype) return named.name;
  return "?";
}

std::optional<base::DType> safetensors_dtype(std::string_view name) {
  for (const Named& named : kNames)
    if (named.name == name) return named.dtype;
  return std::nullopt;
}

bool is_other_safetensors_dtype(std::string_view name) {
  return std::ranges::find(kOthers, name) != kOthers.end();
}

}  // namespace pantoum::weights
