// Strict reading of JSON documents: every value is asked for by name and type, and the first error is kept with its
// path.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pantoum::base {

inline constexpr int kDeepestJson = 32;
inline constexpr uint64_t kMostJsonBytes = uint64_t{1} << 28;
inline constexpr size_t kLongestJsonText = 1 << 20;                 // bytes of a text, a key or a number
inline constexpr int64_t kMostJsonParts = int64_t{1} << 22;         // keys, values, opened and closed brackets
inline constexpr int64_t kLargestInteger = (int64_t{1} << 53) - 1;  // what every JSON reader keeps exactly

// Text -> document. Refuses, with line and column, what is no JSON (NaN and Infinity too), a key that stands twice in
// an object, nesting deeper than kDeepestJson, more
// than kMostJsonBytes, kLongestJsonText or kMostJsonParts. `code` is the error's code, `where` names the source.
[[nodiscard]] Result<nlohmann::json> parse_json(std::string_view text, const std::string& code,
                                                const std::string& where);

// Where the first error of one document is kept.
struct JsonErrors {
  std::string code, where;
  std::optional<Error> first;
};

// One value of a document. Reading goes on after an error, with defaults; the caller asks `errors.first` at the end.
// A node points to its parent (for the path), which must outlive it.
class JsonNode {
 public:
  JsonNode(const nlohmann::json& value, JsonErrors& errors, std::string prefix = {})
      : value_(&value), errors_(&errors), prefix_(std::move(prefix)) {}

  // An object with none but the `known` keys (and "x-..." ones), or an error.
  bool object(std::initializer_list<const char*> known) const;
  bool object(std::span<const char* const> known) const;
  bool object(const std::vector<std::string>& known) const;
  [[nodiscard]] bool is_object() const;  // whatever its keys are, or an error
  [[nodiscard]] bool has(const char* key) const;
  [[nodiscard]] JsonNode need(const char* key) const;  // missing: an error
  [[nodiscard]] JsonNode item(size_t index) const;     // of an array
  [[nodiscard]] size_t array() const;                  // how many items; no array: an error, 0
  [[nodiscard]] std::vector<std::pair<int64_t, int64_t>> integers_by_id() const;  // {"3": 17}

  [[nodiscard]] bool null() const;
  [[nodiscard]] bool is_text() const;
  [[nodiscard]] int64_t integer(int64_t least, int64_t most) const;
  [[nodiscard]] double number(double least, double most) const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::string text() const;
  // The index of the text in `words`; any other value is an error, 0.
  [[nodiscard]] size_t one_of(std::span<const char* const> words) const;
  [[nodiscard]] size_t one_of(std::initializer_list<const char*> words) const;
  [[nodiscard]] const nlohmann::json* raw() const { return value_; }

  void error(std::string message, std::string help = {}) const;
  [[nodiscard]] bool failed() const { return errors_->first.has_value(); }  // is an error known of the document?
  [[nodiscard]] std::string path() const;

 private:
  template <class Names>
  [[nodiscard]] bool has_only(const Names& known) const;
  JsonNode(const nlohmann::json* value, const JsonNode* parent, const char* key, size_t index)
      : value_(value), errors_(parent->errors_), parent_(parent), key_(key), index_(index) {}

  const nlohmann::json* value_;  // null after an error
  JsonErrors* errors_;
  const JsonNode* parent_ = nullptr;
  const char* key_ = nullptr;  // null: an item of an array
  size_t index_ = 0;
  std::string prefix_;
};

}  // namespace pantoum::base
