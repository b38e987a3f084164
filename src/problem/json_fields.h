// One list of the keys of a JSON object serves its reader and its writer.
//
//   static void describe(JsonFields& fields, Link& link) {
//     fields.need("latency_s", link.latency_s);
//     fields.rare("w", link.w, 0.0);
//   }
//
// A structure with such a function is read by read_fields() and written by written_fields(), and so is a list of such
// structures or an optional one. A reader keeps what is wrong in the node's errors, with its path, and refuses keys that
// `describe` did not name.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/json_reader.h"

namespace pantoum::problem {

class JsonFields {
 public:
  using Json = nlohmann::ordered_json;
  using Words = std::span<const char* const>;

  // Reads the object. Numbers with a fraction are no more than `most`.
  JsonFields(const base::JsonNode& node, double most) : node_(&node), most_(most) {}
  // Writes into the object.
  explicit JsonFields(Json& json) : json_(&json) {}

  bool reads() const { return node_ != nullptr; }
  // Does the reader find the key? A writer answers `written`.
  bool has(const char* key, bool written = true) const { return reads() ? node_->has(key) : written; }

  // The key has to be there. Numbers are no less than `least`.
  template <class T>
  void need(const char* key, T& value, std::type_identity_t<T> least = {}) {
    if (reads())
      read(see(key), value, least);
    else
      (*json_)[key] = written(value);
  }
  // A reader leaves the value as it is where the key is missing.
  template <class T>
  void may(const char* key, T& value, std::type_identity_t<T> least = {}) {
    if (has(key)) need(key, value, least);
  }
  // The same, and a writer leaves the key out where the value is the usual one, or none.
  template <class T>
  void rare(const char* key, T& value, std::type_identity_t<T> usual) {
    if (has(key, value != usual)) need(key, value);
  }
  template <class T>
  void rare(const char* key, std::optional<T>& value) {
    if (!has(key, value.has_value())) return;
    if (reads()) value.emplace();
    need(key, *value);
  }
  // The key has to be there, with one of the words. The value is the word's position.
  template <class T>
  void words(const char* key, T& value, Words words) {
    if (reads())
      value = static_cast<T>(see(key).one_of(words));
    else
      (*json_)[key] = words[static_cast<size_t>(value)];
  }
  // The key has to be there. `read(node, value)` reads it.
  template <class T, class Read>
  void need_by(const char* key, T& value, const Read& read) {
    if (reads())
      read(see(key), value);
    else
      (*json_)[key] = written(value);
  }
  // The key has to be there, with an object that `describe_part(fields)` describes.
  template <class Describe>
  void part(const char* key, const Describe& describe_part) {
    if (reads())
      read_object(see(key), describe_part);
    else
      (*json_)[key] = object_of(describe_part);
  }
  // The key has to be there, with a list of objects, each described by `describe_item(fields, item)`.
  template <class T, class Describe>
  void list(const char* key, std::vector<T>& items, const Describe& describe_item) {
    if (reads()) {
      const base::JsonNode node = see(key);
      for (size_t index = 0, count = node.array(); index < count && !node.failed(); ++index)
        read_object(node.item(index), [&](JsonFields& fields) { describe_item(fields, items.emplace_back()); });
      return;
    }
    Json& json = (*json_)[key] = Json::array();
    for (T& item : items) json.push_back(object_of([&](JsonFields& fields) { describe_item(fields, item); }));
  }
  // The key "schema" has to be there, with this text.
  void schema(const char* text) {
    if (!reads()) {
      (*json_)["schema"] = text;
    } else if (const std::string found = see("schema").text(); found != text) {
      wrong(fmt::format("the schema is \"{}\", and this release reads \"{}\"", found, text));
    }
  }

  // Notes an error of the object that is read, or of one of its keys.
  void wrong(std::string message) const { node_->error(std::move(message)); }
  void wrong(const char* key, std::string message, std::string help = {}) const {
    node_->need(key).error(std::move(message), std::move(help));
  }
  // The array of this key in the object that is read: how many items it has.
  size_t count(const char* key) const { return node_->need(key).array(); }

  template <class T>
  static Json written(T& value) {
    if constexpr (requires(JsonFields & fields) { describe(fields, value); }) {
      return object_of([&](JsonFields& fields) { describe(fields, value); });
    } else if constexpr (requires { value.has_value(); }) {
      return value ? written(*value) : Json();
    } else if constexpr (requires { value.push_back(value.back()); } && !std::is_same_v<T, std::string> &&
                         !std::is_same_v<T, Json>) {
      Json json = Json::array();
      for (auto& item : value) json.push_back(written(item));
      return json;
    } else {
      return value;
    }
  }

  template <class T>
  void read(const base::JsonNode& node, T& value, const T& least = {}) const {
    if constexpr (requires(JsonFields & fields) { describe(fields, value); }) {
      read_object(node, [&](JsonFields& fields) { describe(fields, value); });
    } else if constexpr (std::is_same_v<T, bool>) {
      value = node.boolean();
    } else if constexpr (std::is_integral_v<T>) {
      value =
          static_cast<T>(node.integer(least, std::min<int64_t>(std::numeric_limits<T>::max(), base::kLargestInteger)));
    } else if constexpr (std::is_floating_point_v<T>) {
      value = node.number(least, most_);
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = node.text();
    } else if constexpr (requires { value.has_value(); }) {
      value.reset();
      if (!node.null()) read(node, value.emplace());
    } else {
      value.clear();
      for (size_t index = 0, count = node.array(); index < count && !node.failed(); ++index)
        read(node.item(index), value.emplace_back());
    }
  }

 private:
  base::JsonNode see(const char* key) {
    known_.push_back(key);
    return node_->need(key);
  }
  template <class Describe>
  void read_object(const base::JsonNode& node, const Describe& describe_part) const {
    if (!node.is_object()) return;
    JsonFields fields(node, most_);
    describe_part(fields);
    node.object(fields.known_);
  }
  template <class Describe>
  static Json object_of(const Describe& describe_part) {
    Json json = Json::object();
    JsonFields fields(json);
    describe_part(fields);
    return json;
  }

  const base::JsonNode* node_ = nullptr;
  Json* json_ = nullptr;
  double most_ = 0;
  std::vector<const char*> known_;  // the keys that were named so far
};

// The structure that the node has. What is wrong is kept in the node's errors.
template <class T>
T read_fields(const base::JsonNode& node, double most) {
  T value;
  JsonFields(node, most).read(node, value);
  return value;
}

// Takes a copy, because `describe` may change the structure.
template <class T>
nlohmann::ordered_json written_fields(T value) {
  return JsonFields::written(value);
}

}  // namespace pantoum::problem
