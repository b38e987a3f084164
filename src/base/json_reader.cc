#include "base/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace pantoum::base {
namespace {

// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..." -> "at line 1, column 2: ..."
std::string reason(const char* what) {
  const char* found = std::strstr(what, "at line ");
  if (found != nullptr) return found;
  const char* bracket = std::strstr(what, "] ");
  return bracket != nullptr ? bracket + 2 : what;
}

// Builds the document from what the parser reads, and ends the parsing at the first thing that is not allowed. (The
// library's own builder with a callback looks through the whole of an array after each of its objects.)
class StrictBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return stop("it holds binary data"); }
  bool start_object(size_t) override { return open(nlohmann::json::object()); }
  bool start_array(size_t) override { return open(nlohmann::json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    const auto [place, is_new] = open_.back()->emplace(name, nullptr);
    if (!is_new) return stop(fmt::format("the key \"{}\" stands twice in one object", shortened(name)));
    member_ = &*place;
    return count();
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    return stop("the file is no JSON: " + shortened(reason(error.what())));
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] nlohmann::json& document() { return document_; }

 private:
  static std::string shortened(std::string text) {
    constexpr size_t kShown = 300;
    if (text.size() <= kShown) return text;
    text.resize(kShown);
    return text + "...";
  }

  bool stop(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  bool count() {
    if (++parts_ <= kMostJsonParts) return true;
    return stop(fmt::format("it has more than {} keys, values and brackets", kMostJsonParts));
  }

  // Puts the value at its place: it is the document itself, an item, or the member whose key has been read.
  bool put(nlohmann::json value) {
    if (open_.empty())
      last_ = &document_;
    else if (open_.back()->is_array())
      last_ = &open_.back()->emplace_back();
    else
      last_ = member_;
    *last_ = std::move(value);
    return count();
  }

  bool open(nlohmann::json value) {
    if (open_.size() == size_t{kDeepestJson})
      return stop(fmt::format("values are nested deeper than {}", kDeepestJson));
    if (!put(std::move(value))) return false;
    open_.push_back(last_);
    return true;
  }

  bool close() {
    open_.pop_back();
    return count();
  }

  nlohmann::json document_;
  std::vector<nlohmann::json*> open_;  // outermost first; the last item of an array alone may be open
  nlohmann::json *member_ = nullptr, *last_ = nullptr;
  int64_t parts_ = 0;
  std::string problem_;
};

// Is any text or number too long? The parser would copy it several times before the builder could refuse it.
bool has_long_token(std::string_view text) {
  bool in_text = false;
  size_t begin = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (at - begin > kLongestJsonText) return true;
    if (in_text && text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      in_text = !in_text;
      begin = at + 1;
    } else if (!in_text && std::string_view(",:[]{} \t\r\n").find(text[at]) != std::string_view::npos) {
      begin = at + 1;
    }
  }
  return text.size() - std::min(begin, text.size()) > kLongestJsonText;
}

const char* kind(const nlohmann::json& value) {
  switch (value.type()) {
    case nlohmann::json::value_t::null:
      return "null";
    case nlohmann::json::value_t::object:
      return "an object";
    case nlohmann::json::value_t::array:
      return "an array";
    case nlohmann::json::value_t::string:
      return "a string";
    case nlohmann::json::value_t::boolean:
      return "true or false";
    default:
      return "a number";
  }
}

}  // namespace

Result<nlohmann::json> parse_json(std::string_view text, const std::string& code, const std::string& where) {
  if (text.size() > kMostJsonBytes) return fail(code, fmt::format("it has more than {} bytes", kMostJsonBytes), where);
  if (text.find('\0') != std::string_view::npos) return fail(code, "it has a byte of 0", where);  // the parser ends there
  if (has_long_token(text))
    return fail(code, fmt::format("a text in it has more than {} bytes", kLongestJsonText), where);
  StrictBuilder builder;
  const bool whole = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  if (!whole) return fail(code, builder.problem(), where);
  return std::move(builder.document());
}

template <class Names>
bool JsonNode::has_only(const Names& known) const {
  if (!is_object()) return false;
  for (const auto& entry : value_->items()) {
    const std::string& key = entry.key();
    if (key.starts_with("x-") || std::find(known.begin(), known.end(), key) != known.end()) continue;
    error(fmt::format("the key \"{}\" is not known here", key), "remove it, or begin its name with x-");
    return false;
  }
  return true;
}

bool JsonNode::object(std::initializer_list<const char*> known) const {
  return has_only(known);
}

bool JsonNode::object(std::span<const char* const> known) const {
  return has_only(known);
}

bool JsonNode::object(const std::vector<std::string>& known) const {
  return has_only(known);
}

bool JsonNode::is_object() const {
  if (value_ != nullptr && !value_->is_object()) error(fmt::format("must be an object, not {}", kind(*value_)));
  return value_ != nullptr && value_->is_object();
}

bool JsonNode::has(const char* key) const {
  return value_ != nullptr && value_->is_object() && value_->contains(key);
}

JsonNode JsonNode::need(const char* key) const {
  if (!has(key)) {
    if (value_ != nullptr) error(fmt::format("the key \"{}\" is missing", key));
    return {nullptr, this, key, 0};
  }
  return {&*value_->find(key), this, key, 0};
}

JsonNode JsonNode::item(size_t index) const {
  const bool there = value_ != nullptr && value_->is_array() && index < value_->size();
  return {there ? &(*value_)[index] : nullptr, this, nullptr, index};
}

size_t JsonNode::array() const {
  if (value_ == nullptr) return 0;
  if (value_->is_array()) return value_->size();
  error(fmt::format("must be an array, not {}", kind(*value_)));
  return 0;
}

std::vector<std::pair<int64_t, int64_t>> JsonNode::integers_by_id() const {
  std::vector<std::pair<int64_t, int64_t>> entries;
  if (value_ == nullptr) return entries;
  if (!value_->is_object()) {
    error(fmt::format("must be an object, not {}", kind(*value_)));
    return entries;
  }
  for (const auto& entry : value_->items()) {
    const std::string& key = entry.key();
    int64_t id = -1;
    const auto [end, problem] = std::from_chars(key.data(), key.data() + key.size(), id);
    const bool plain = problem == std::errc() && end == key.data() + key.size() && std::to_string(id) == key;
    if (!plain || id < 0 || id > kLargestInteger) {
      error(fmt::format("the key \"{}\" is no id", key));
      return entries;
    }
    const JsonNode node{&entry.value(), this, key.c_str(), 0};
    entries.emplace_back(id, node.integer(0, kLargestInteger));
  }
  return entries;
}

bool JsonNode::null() const {
  return value_ != nullptr && value_->is_null();
}

bool JsonNode::is_text() const {
  return value_ != nullptr && value_->is_string();
}

int64_t JsonNode::integer(int64_t least, int64_t most) const {
  if (value_ == nullptr) return least;
  if (!value_->is_number_integer()) {
    error(fmt::format("must be an integer, not {}", value_->is_number() ? "a number with a fraction" : kind(*value_)));
    return least;
  }
  const bool huge = value_->is_number_unsigned() && value_->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  const int64_t value = huge ? INT64_MAX : value_->get<int64_t>();
  if (huge || value < least || value > most) {
    error(fmt::format("must be between {} and {}, not {}", least, most, value_->dump()));
    return least;
  }
  return value;
}

double JsonNode::number(double least, double most) const {
  if (value_ == nullptr) return least;
  if (!value_->is_number()) {
    error(fmt::format("must be a number, not {}", kind(*value_)));
    return least;
  }
  const double value = value_->get<double>();
  if (!std::isfinite(value) || value < least || value > most) {
    error(fmt::format("must be between {} and {}, not {}", least, most, value_->dump()));
    return least;
  }
  return value;
}

bool JsonNode::boolean() const {
  if (value_ == nullptr) return false;
  if (value_->is_boolean()) return value_->get<bool>();
  error(fmt::format("must be true or false, not {}", kind(*value_)));
  return false;
}

std::string JsonNode::text() const {
  if (value_ == nullptr) return {};
  if (value_->is_string()) return value_->get<std::string>();
  error(fmt::format("must be a string, not {}", kind(*value_)));
  return {};
}

size_t JsonNode::one_of(std::initializer_list<const char*> words) const {
  return one_of(std::span(words.begin(), words.size()));
}

size_t JsonNode::one_of(std::span<const char* const> words) const {
  const std::string value = text();
  std::string listed;
  size_t index = 0;
  for (const char* word : words) {
    if (value == word) return index;
    listed += fmt::format("{}\"{}\"", index == 0 ? "" : ", ", word);
    ++index;
  }
  if (value_ != nullptr) error(fmt::format("must be one of {}, not \"{}\"", listed, value));
  return 0;
}

void JsonNode::error(std::string message, std::string help) const {
  if (errors_->first) return;
  const std::string place = path();
  std::string where = errors_->where;
  if (!place.empty()) where += (where.empty() ? "" : ": ") + place;
  errors_->first = Error{errors_->code, std::move(message), std::move(where), {}, std::move(help)};
}

std::string JsonNode::path() const {
  if (parent_ == nullptr) return prefix_;
  const std::string before = parent_->path();
  if (key_ == nullptr) return before + fmt::format("[{}]", index_);
  return before.empty() ? std::string(key_) : before + "." + key_;
}

}  // namespace pantoum::base
