#include "settings/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdio>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/nearest_name.h"
#include "base/settings.h"
#include "base/units.h"

namespace pantoum::settings {
namespace {

using base::JsonNode;
using Texts = std::vector<std::string>;

constexpr double kMostNumber = 1e300;

bool is(const char* text, std::string_view other) {
  return text != nullptr && other == text;
}

std::string range_words(const Setting& setting, bool whole) {
  const bool ends = setting.most <= 1e9;
  const std::string least = fmt::format("{:g}", setting.least), most = fmt::format("{:g}", setting.most);
  if (!std::isfinite(setting.least)) return ends ? fmt::format("{} or less", most) : "";
  if (!ends) return setting.above ? fmt::format("above {}", least) : fmt::format("{} or more", least);
  if (whole) return fmt::format("from {:.0f} to {:.0f}", setting.least, setting.most);
  return fmt::format("{} {} to {}{}", setting.above ? "above" : "from", least, setting.below ? "below " : "", most);
}

// E0116 and its kin: a quantity has the code that its unit's errors have.
Result<void> in_range(double value, const Setting& setting, const std::string& where, const char* code = "E0116",
                      bool whole = false) {
  const bool high_enough = setting.above ? value > setting.least : value >= setting.least;
  const bool low_enough = setting.below ? value < setting.most : value <= setting.most;
  if (high_enough && low_enough && !std::isnan(value)) return {};
  const std::string range = range_words(setting, whole);
  return fail(code, fmt::format("{:g} is out of range", value), where,
              range.empty()                          ? "give a finite number"
              : range.find(" or ") != std::string::npos ? fmt::format("give a number of {}", range)
                                                        : fmt::format("give a number {}", range));
}

// The shortest exact words: "256KiB", "400GB", "100B".
std::string exact(Bytes bytes) {
  constexpr std::pair<const char*, int64_t> kUnits[] = {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
                                                        {"GB", 1'000'000'000}, {"MB", 1'000'000}, {"kB", 1000}};
  for (const auto& [unit, size] : kUnits)
    if (bytes.count() > 0 && bytes.count() % size == 0) return fmt::format("{}{}", bytes.count() / size, unit);
  return fmt::format("{}B", bytes.count());
}

std::string exact(Seconds seconds) {
  return fmt::format("{}s", seconds.count());
}

// ---- what every type of value is ----
//
// Value<T> says: type; schema(setting); json(value); read(node, value, setting); texts(value, setting);
// set(value, text, setting, where); check(value, setting, where). A list has `repeats`.

template <class T>
struct Value;

// Any value will do.
struct Unchecked {
  template <class T>
  static Result<void> check(const T&, const Setting&, const std::string&) {
    return {};
  }
};

Json with_range(Json schema, const Setting& setting) {
  if (std::isfinite(setting.least)) schema[setting.above ? "exclusiveMinimum" : "minimum"] = setting.least;
  if (std::isfinite(setting.most)) schema[setting.below ? "exclusiveMaximum" : "maximum"] = setting.most;
  return schema;
}

template <>
struct Value<bool> : Unchecked {
  static constexpr Type type = Type::flag;
  static Json schema(const Setting&) { return {{"type", "boolean"}}; }
  static Json json(bool value) { return value; }
  static void read(const JsonNode& node, bool& value, const Setting&) { value = node.boolean(); }
  static Texts texts(bool value, const Setting&) { return {value ? "on" : "off"}; }
  static Result<void> set(bool& value, const std::string& text, const Setting&, const std::string& where) {
    if (text != "on" && text != "off" && !text.empty())
      return fail("E0115", fmt::format("'{}' is neither on nor off", text), where, "write on or off");
    value = text != "off";
    return {};
  }
};

template <std::integral T>
struct Value<T> {
  static constexpr Type type = Type::whole;
  static Json schema(const Setting& setting) {
    Json schema{{"type", "integer"}};
    if (std::isfinite(setting.least)) schema["minimum"] = static_cast<int64_t>(setting.least);
    if (std::isfinite(setting.most)) schema["maximum"] = static_cast<int64_t>(setting.most);
    return schema;
  }
  static Json json(T value) { return value; }
  static void read(const JsonNode& node, T& value, const Setting& setting) {
    const auto end = [](double at, int64_t otherwise) {
      return std::isfinite(at) ? static_cast<int64_t>(at) : otherwise;
    };
    const int64_t most = std::is_same_v<T, int> ? INT32_MAX : base::kLargestInteger;
    value = static_cast<T>(node.integer(end(setting.least, std::is_unsigned_v<T> ? 0 : -most), end(setting.most, most)));
  }
  static Texts texts(T value, const Setting&) { return {fmt::format("{}", value)}; }
  static Result<void> set(T& value, const std::string& text, const Setting& setting, const std::string& where) {
    const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
      return fail("E0116", fmt::format("'{}' is no whole number", text), where, "give a whole number");
    return check(value, setting, where);
  }
  static Result<void> check(T value, const Setting& setting, const std::string& where) {
    return in_range(static_cast<double>(value), setting, where, "E0116", true);
  }
};

template <>
struct Value<double> {
  static constexpr Type type = Type::number;
  static const char* code(const Setting& setting) {
    return is(setting.unit, "J") ? "E0121" : is(setting.unit, "%") ? "E0112" : "E0116";
  }
  static Json schema(const Setting& setting) { return with_range({{"type", "number"}}, setting); }
  static Json json(double value) { return value; }
  static void read(const JsonNode& node, double& value, const Setting& setting) {
    value = node.number(std::max(setting.least, -kMostNumber), std::min(setting.most, kMostNumber));
    if ((setting.above && value == setting.least) || (setting.below && value == setting.most))
      node.error(fmt::format("must be {}", range_words(setting, false)));
  }
  static Texts texts(double value, const Setting& setting) {
    if (is(setting.unit, "J")) return {fmt::format("{}J", value)};
    if (is(setting.unit, "%")) return {fmt::format("{:.12g}%", value * 100)};
    return {fmt::format("{}", value)};
  }
  static Result<void> set(double& value, const std::string& text, const Setting& setting, const std::string& where) {
    if (is(setting.unit, "J")) {
      PANTOUM_ASSIGN(value, base::parse_joules(text, where));
    } else if (is(setting.unit, "%")) {
      PANTOUM_ASSIGN(value, base::parse_fraction(text, where));
    } else {
      PANTOUM_ASSIGN(value, base::parse_number(text, where));
    }
    return check(value, setting, where);
  }
  static Result<void> check(double value, const Setting& setting, const std::string& where) {
    return in_range(value, setting, where, code(setting));
  }
};

// A quantity whose unit is part of its type: as text with the unit, else as its number.
template <class Quantity, Type kType, auto kParse>
struct Counted {
  static constexpr Type type = kType;
  using Number = decltype(Quantity().count());
  static constexpr const char* code = kType == Type::bytes ? "E0110" : "E0111";
  static Json schema(const Setting& setting) { return Value<Number>::schema(setting); }
  static Json json(Quantity value) { return value.count(); }
  static void read(const JsonNode& node, Quantity& value, const Setting& setting) {
    Number count{};
    Value<Number>::read(node, count, setting);
    value = Quantity(count);
  }
  static Texts texts(Quantity value, const Setting&) { return {exact(value)}; }
  static Result<void> set(Quantity& value, const std::string& text, const Setting& setting, const std::string& where) {
    PANTOUM_ASSIGN(const Number count, kParse(text, where));
    value = Quantity(count);
    return check(value, setting, where);
  }
  static Result<void> check(Quantity value, const Setting& setting, const std::string& where) {
    return in_range(static_cast<double>(value.count()), setting, where, code);
  }
};

template <>
struct Value<Bytes> : Counted<Bytes, Type::bytes, base::parse_bytes> {};
template <>
struct Value<Seconds> : Counted<Seconds, Type::seconds, base::parse_seconds> {};

template <>
struct Value<Deadline> {
  static constexpr Type type = Type::deadline;
  static constexpr bool repeats = true;
  static constexpr double kMostTimes = 1e9, kMostSeconds = 3.2e9;  // later deadlines are none

  static Json part_schema() { return {{"type", Json::array({"number", "null"})}, {"minimum", 0}}; }
  static Json schema(const Setting&) {
    return {{"type", "object"},
            {"properties", {{"step_s", part_schema()}, {"relative", part_schema()}}},
            {"additionalProperties", false}};
  }
  static Json json(const Deadline& value) {
    return {{"step_s", value.seconds ? Json(value.seconds->count()) : Json()},
            {"relative", value.relative ? Json(*value.relative) : Json()}};
  }
  static void read(const JsonNode& node, Deadline& value, const Setting&) {
    if (!node.object({"step_s", "relative"})) return;
    value = {};
    if (node.has("step_s") && !node.need("step_s").null())
      value.seconds = Seconds(node.need("step_s").number(0, kMostNumber));
    if (node.has("relative") && !node.need("relative").null())
      value.relative = node.need("relative").number(0, kMostNumber);
  }
  static Texts texts(const Deadline& value, const Setting&) {
    Texts texts;
    if (value.seconds) texts.push_back(exact(*value.seconds));
    if (value.relative) texts.push_back(fmt::format("{}x", *value.relative));
    return texts;
  }
  static Result<void> set(Deadline& value, const std::string& text, const Setting& setting, const std::string& where) {
    if (!text.ends_with('x')) {
      PANTOUM_ASSIGN(const double seconds, base::parse_seconds(text, where));
      value.seconds = std::min(value.seconds.value_or(Seconds(seconds)), Seconds(seconds));
      return check(value, setting, where);
    }
    double factor = 0;
    const char* const last = text.data() + text.size() - 1;
    const auto [end, error] = std::from_chars(text.data(), last, factor);
    if (error != std::errc{} || end != last) factor = 0;
    value.relative = std::min(value.relative.value_or(factor), factor);
    if (Result<void> checked = check(value, setting, where); checked) return {};
    return fail("E0111", fmt::format("'{}' is no factor from 0 to {}", text, kMostTimes), where,
                "write 1.3x, or a time as in 450ms");
  }
  static Result<void> check(const Deadline& value, const Setting&, const std::string& where) {
    if (value.seconds && !(value.seconds->count() > 0 && value.seconds->count() <= kMostSeconds))
      return fail("E0111", "no step takes no time", where, "write a time as in 450ms, or 1.3x");
    if (value.relative && !(*value.relative > 0 && *value.relative <= kMostTimes))
      return fail("E0111", fmt::format("{} is no factor of a step's time", *value.relative), where, "give one as in 1.3");
    return {};
  }
};

template <>
struct Value<std::string> : Unchecked {
  static constexpr Type type = Type::text;
  static Json schema(const Setting&) { return {{"type", "string"}}; }
  static Json json(const std::string& value) { return value; }
  static void read(const JsonNode& node, std::string& value, const Setting&) { value = node.text(); }
  static Texts texts(const std::string& value, const Setting&) { return {value}; }
  static Result<void> set(std::string& value, const std::string& text, const Setting&, const std::string&) {
    value = text;
    return {};
  }
};

template <class T>
requires std::is_enum_v<T>
struct Value<T> : Unchecked {
  static constexpr Type type = Type::word;
  static Texts choices() {
    const auto names = names_of(T{});
    return {names.begin(), names.end()};
  }
  static Json schema(const Setting&) { return {{"enum", choices()}}; }
  static Json json(T value) { return choices()[static_cast<size_t>(value)]; }
  static void read(const JsonNode& node, T& value, const Setting&) { take(node.text(), value, node); }
  static Texts texts(T value, const Setting&) { return {choices()[static_cast<size_t>(value)]}; }
  static Result<void> set(T& value, const std::string& text, const Setting&, const std::string& where) {
    const Texts names = choices();
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end())
      return fail("E0115", fmt::format("'{}' is not known here", text), where,
                  fmt::format("{}use one of {}", base::hint_at(text, names), fmt::join(names, ", ")));
    value = static_cast<T>(found - names.begin());
    return {};
  }

 private:
  static void take(const std::string& text, T& value, const JsonNode& node) {
    const Texts names = choices();
    const auto found = std::find(names.begin(), names.end(), text);
    if (found != names.end()) value = static_cast<T>(found - names.begin());
    else if (node.raw() != nullptr)
      node.error(fmt::format("must be one of \"{}\", not \"{}\"", fmt::join(names, "\", \""), text));
  }
};

template <class T>
struct Value<std::optional<T>> {
  using Inner = Value<T>;
  static constexpr Type type = Inner::type;
  static Json schema(const Setting& setting) {
    Json schema = Inner::schema(setting);
    if (schema.contains("type")) schema["type"] = Json::array({schema["type"], "null"});
    return schema;
  }
  static Json json(const std::optional<T>& value) { return value ? Inner::json(*value) : Json(); }
  static void read(const JsonNode& node, std::optional<T>& value, const Setting& setting) {
    value.reset();
    if (!node.null()) Inner::read(node, value.emplace(), setting);
  }
  static Texts texts(const std::optional<T>& value, const Setting& setting) {
    return value ? Inner::texts(*value, setting) : Texts{};
  }
  static Result<void> set(std::optional<T>& value, const std::string& text, const Setting& setting,
                          const std::string& where) {
    return Inner::set(value.emplace(), text, setting, where);
  }
  static Result<void> check(const std::optional<T>& value, const Setting& setting, const std::string& where) {
    return value ? Inner::check(*value, setting, where) : Result<void>();
  }
};

// A list whose items are values of another type.
template <class Item>
struct Several {
  static constexpr bool repeats = true;
  using List = std::vector<Item>;
  using One = Value<Item>;

  static Json schema(const Setting& setting) { return {{"type", "array"}, {"items", One::schema(setting)}}; }
  static Json json(const List& values) {
    Json list = Json::array();
    for (const Item& each : values) list.push_back(One::json(each));
    return list;
  }
  static void read(const JsonNode& node, List& values, const Setting& setting) {
    values.assign(node.array(), Item{});
    for (size_t at = 0; at < values.size(); ++at) One::read(node.item(at), values[at], setting);
  }
  static Texts texts(const List& values, const Setting& setting) {
    Texts texts;
    for (const Item& each : values)
      for (std::string& text : One::texts(each, setting)) texts.push_back(std::move(text));
    return texts;
  }
  static Result<void> set(List& values, const std::string& text, const Setting& setting, const std::string& where) {
    return One::set(values.emplace_back(), text, setting, where);
  }
  static Result<void> check(const List& values, const Setting& setting, const std::string& where) {
    for (const Item& each : values) PANTOUM_TRY(One::check(each, setting, where));
    return {};
  }
};

template <>
struct Value<Texts> : Several<std::string> {
  static constexpr Type type = Type::texts;
};

// Numbers stand in one word: "1:2:0.5".
template <>
struct Value<std::vector<double>> : Several<double> {
  static constexpr Type type = Type::texts;
  static Texts texts(const List& values, const Setting&) {
    return values.empty() ? Texts{} : Texts{fmt::format("{}", fmt::join(values, ":"))};
  }
  static Result<void> set(List& values, const std::string& text, const Setting& setting, const std::string& where) {
    for (size_t begin = 0, end = 0; end < text.size() || begin == 0; begin = end + 1) {
      end = std::min(text.find(':', begin), text.size());
      Result<void> one = Value<double>::set(values.emplace_back(), text.substr(begin, end - begin), setting, where);
      if (!one && one.error().help.empty()) one.error().help = "give numbers with ':' between them, as 1:2:0.5";
      PANTOUM_TRY(one);
    }
    return {};
  }
};

// ---- a structure inside a setting ----

// The settings as "KEY=VALUE" or, of flags, "KEY"; those that are as by default are left out.
Texts words_of(const Fields& fields) {
  Texts words;
  for (const Field& field : fields) {
    if (field.is_default() || field.setting.shown == Shown::nowhere || field.setting.option != nullptr) continue;
    for (const std::string& text : field.texts())
      words.push_back(field.type == Type::flag && text == "on" ? field.setting.name
                                                               : fmt::format("{}={}", field.setting.name, text));
  }
  return words;
}

bool belongs_to(const Setting& setting, const std::string& name) {
  if (setting.only_of == nullptr) return true;
  return fmt::format(" {} ", setting.only_of).find(fmt::format(" {} ", name)) != std::string::npos;
}

// `kind` and `name` say in errors whose settings these are: "the loss mse".
Result<void> set_part(const Fields& fields, const std::string& key, const std::string& text, const std::string& kind,
                      const std::string& name, const std::string& where) {
  Texts names;
  for (const Field& field : fields) {
    const Setting& setting = field.setting;
    if (setting.shown == Shown::nowhere || !belongs_to(setting, name)) continue;
    if (key == setting.name) return field.set(text, where + " " + key);
    names.emplace_back(setting.name);
  }
  return fail("E0117", fmt::format("{} {} has no '{}'", kind, name, key), where,
              fmt::format("{}it has: {}", base::hint_at(key, names), fmt::join(names, " ")));
}

// How a part is written: "flip", "crop=N".
std::string word_of(const Field& field) {
  return field.setting.name + std::string(field.type == Type::flag ? "" : "=N");
}

template <class T>
concept Described = requires(T& value) { fields_of(value); } && (std::is_same_v<T, Metrics> ||
                                                                  std::is_same_v<T, Augmentation>);

template <Described T>
struct Value<T> {
  static constexpr Type type = Type::parts;
  static constexpr bool repeats = true;
  static Texts choices() {
    T value;
    Texts names;
    for (const Field& field : fields_of(value)) names.push_back(word_of(field));
    return names;
  }
  static Json schema(const Setting&) {
    T value;
    return schema_of(fields_of(value));
  }
  static Json json(const T& value) { return record_of(fields_of(const_cast<T&>(value))); }
  static Json planned(const T& value) {
    Json kept = Json::object();
    for (const Field& field : fields_of(const_cast<T&>(value)))
      if (field.setting.beside_plan != BesidePlan::taken) kept[field.key] = field.json();
    return kept;
  }
  static void read(const JsonNode& node, T& value, const Setting&) { read_record(fields_of(value), node); }
  static Texts texts(const T& value, const Setting&) { return words_of(fields_of(const_cast<T&>(value))); }
  static Result<void> set(T& value, const std::string& text, const Setting& setting, const std::string& where) {
    const size_t sign = text.find('=');
    const Fields fields = fields_of(value);
    const std::string key = text.substr(0, sign);
    Texts names;
    for (const Field& field : fields) {
      if (key == field.setting.name && (field.type == Type::flag || sign != std::string::npos))
        return field.set(sign == std::string::npos ? "" : text.substr(sign + 1), where);
      names.push_back(word_of(field));
    }
    return fail("E0115", fmt::format("'{}' is none of the {}", text, setting.name), where,
                fmt::format("{}use one of {}", base::hint_at(key, names), fmt::join(names, ", ")));
  }
  static Result<void> check(const T& value, const Setting&, const std::string& where) {
    for (const Field& field : fields_of(const_cast<T&>(value))) PANTOUM_TRY(field.check(where));
    return {};
  }
};

template <>
struct Value<Loss> {
  static Json schema(const Setting&) {
    Loss loss;
    return schema_of(fields_of(loss));
  }
  static Json json(const Loss& loss) { return record_of(fields_of(const_cast<Loss&>(loss))); }
  static void read(const JsonNode& node, Loss& loss, const Setting&) {
    read_record(fields_of(loss), node);
    if (!is_known(loss.name) && node.raw() != nullptr)
      node.error(fmt::format("name: must be one of \"{}\", not \"{}\"", fmt::join(kLossNames, "\", \""), loss.name));
  }
  static Texts texts(const Loss& loss, const Setting&) {
    std::string text = loss.output ? *loss.output + "=" + loss.name : loss.name;
    for (const std::string& word : words_of(fields_of(const_cast<Loss&>(loss)))) text += "," + word;
    return {text};
  }
  static Result<void> set(Loss& loss, const std::string& text, const Setting&, const std::string& where) {
    PANTOUM_ASSIGN(base::Settings words, base::parse_settings(text, where, true));
    if (const size_t sign = words.name.rfind('='); sign != std::string::npos) {
      loss.output = words.name.substr(0, sign);
      words.name.erase(0, sign + 1);
    }
    loss.name = words.name;
    PANTOUM_TRY(check_name(loss.name, where));
    for (const auto& [key, value] : words.values)
      PANTOUM_TRY(set_part(fields_of(loss), key, value, "the loss", loss.name, where));
    return {};
  }
  static Result<void> check(const Loss& loss, const Setting&, const std::string& where) {
    PANTOUM_TRY(check_name(loss.name, where));
    for (const Field& field : fields_of(const_cast<Loss&>(loss)))
      PANTOUM_TRY(field.check(fmt::format("Loss::{}", field.setting.name)));
    return {};
  }

 private:
  static bool is_known(const std::string& name) {
    return std::find(kLossNames.begin(), kLossNames.end(), name) != kLossNames.end();
  }
  static Result<void> check_name(const std::string& name, const std::string& where) {
    if (is_known(name)) return {};
    const Texts names(kLossNames.begin(), kLossNames.end());
    return fail("E0115", fmt::format("'{}' is no loss", name), where,
                fmt::format("{}use one of {}", base::hint_at(name, names), fmt::join(names, ", ")));
  }
};

template <>
struct Value<Losses> {
  static constexpr Type type = Type::losses;
  static constexpr bool repeats = true;
  using All = Several<Loss>;
  static Json schema(const Setting& setting) { return All::schema(setting); }
  static Json json(const Losses& losses) { return All::json(losses.terms()); }
  static void read(const JsonNode& node, Losses& losses, const Setting& setting) {
    All::read(node, losses.terms(), setting);
  }
  static Texts texts(const Losses& losses, const Setting& setting) { return All::texts(losses.terms(), setting); }
  static Result<void> set(Losses& losses, const std::string& text, const Setting& setting, const std::string& where) {
    return All::set(losses.terms(), text, setting, where);
  }
  static Result<void> check(const Losses& losses, const Setting& setting, const std::string& where) {
    if (losses.terms().empty()) return fail("E0115", "there is no loss", where, "name one");
    return All::check(losses.terms(), setting, where);
  }
};

// ---- optimizers ----

Optimizer optimizer_at(size_t index) {
  static const std::vector<Optimizer> all{Sgd{}, Adam{}, AdamW{}, RmsProp{}, Adagrad{}, SparseAdam{}, CustomUpdate{}};
  return all[index];
}
static_assert(std::variant_size_v<Optimizer> == kOptimizerNames.size());

Fields fields_of_alternative(Optimizer& optimizer) {
  return std::visit([](auto& one) { return fields_of(one); }, optimizer);
}

template <>
struct Value<Optimizer> {
  static constexpr Type type = Type::optimizer;
  static Texts choices() { return {kOptimizerNames.begin(), kOptimizerNames.end() - 1}; }  // custom ones have own names

  static Json schema(const Setting&) {
    Json any = Json::array();
    for (size_t at = 0; at < kOptimizerNames.size(); ++at) {
      Optimizer optimizer = optimizer_at(at);
      any.push_back(schema_of(fields_of_alternative(optimizer), {{"name", {{"const", kOptimizerNames[at]}}}}));
    }
    return {{"anyOf", any}};
  }
  // `whole`: with the settings that have options of their own.
  static Json json_of(const Optimizer& optimizer, bool whole) {
    Json json{{"name", kOptimizerNames[optimizer.index()]}};
    for (const Field& field : fields_of_alternative(const_cast<Optimizer&>(optimizer)))
      if (whole || field.setting.option == nullptr) json[field.key] = field.json();
    return json;
  }
  static Json json(const Optimizer& optimizer) { return json_of(optimizer, true); }
  static Json planned(const Optimizer& optimizer) { return json_of(optimizer, false); }
  static void read(const JsonNode& node, Optimizer& optimizer, const Setting&) {
    if (!node.is_object()) return;
    const JsonNode name = node.need("name");
    const std::string word = name.text();
    const auto* const found = std::find(kOptimizerNames.begin(), kOptimizerNames.end(), word);
    if (found == kOptimizerNames.end()) {
      if (name.raw() != nullptr)
        name.error(fmt::format("must be one of \"{}\", not \"{}\"", fmt::join(kOptimizerNames, "\", \""), word));
      return;
    }
    optimizer = optimizer_at(static_cast<size_t>(found - kOptimizerNames.begin()));
    read_record(fields_of_alternative(optimizer), node, {"name"});
  }
  static Texts texts(const Optimizer& optimizer, const Setting&) {
    std::string text = name_of(optimizer);
    for (const std::string& word : words_of(fields_of_alternative(const_cast<Optimizer&>(optimizer))))
      text += "," + word;
    return {text};
  }
  // Sets the optimizer from a word such as "adam,beta1=0.9".
  static Result<void> set(Optimizer& optimizer, const std::string& text, const Setting&, const std::string& where) {
    PANTOUM_ASSIGN(const base::Settings words, base::parse_settings(text, where, true));
    const Texts names = choices();
    const auto found = std::find(names.begin(), names.end(), words.name);
    if (found == names.end())
      return fail("E0115", fmt::format("'{}' is no optimizer", words.name), where,
                  fmt::format("{}use one of {}", base::hint_at(words.name, names), fmt::join(names, ", ")));
    optimizer = optimizer_at(static_cast<size_t>(found - names.begin()));
    for (const auto& [key, value] : words.values)
      PANTOUM_TRY(set_part(fields_of_alternative(optimizer), key, value, "the optimizer", words.name, where));
    return check(optimizer, {}, where);
  }
  static Result<void> check(const Optimizer& optimizer, const Setting&, const std::string& where) {
    for (const Field& field : fields_of_alternative(const_cast<Optimizer&>(optimizer)))
      PANTOUM_TRY(field.check(fmt::format("{} {}", where, field.setting.name)));
    const auto* sgd = std::get_if<Sgd>(&optimizer);
    if (sgd != nullptr && sgd->nesterov && sgd->momentum == 0)
      return fail("E0117", "Nesterov's step is one with momentum", where, "set momentum too, as in sgd,momentum=0.9,nesterov");
    return {};
  }
};

template <>
struct Value<ParameterGroup> {
  static Json schema(const Setting&) {
    ParameterGroup group;
    return schema_of(fields_of(group));
  }
  static Json json(const ParameterGroup& group) { return record_of(fields_of(const_cast<ParameterGroup&>(group))); }
  static void read(const JsonNode& node, ParameterGroup& group, const Setting&) {
    read_record(fields_of(group), node);
    if (group.names.empty()) node.error("names: must name parameters");
  }
  static Texts texts(const ParameterGroup& group, const Setting&) {
    std::string text = group.names;
    if (group.lr) text += fmt::format(",lr={}", *group.lr);
    if (group.weight_decay) text += fmt::format(",weight_decay={}", *group.weight_decay);
    return {text};
  }
  // Settings stand at the end: names may have commas too.
  static Result<void> set(ParameterGroup& group, const std::string& text, const Setting&, const std::string& where) {
    group.names = text;
    for (size_t comma = group.names.rfind(','); comma != std::string::npos; comma = group.names.rfind(',')) {
      const std::string last = group.names.substr(comma + 1);
      const size_t sign = last.find('=');
      if (sign == std::string::npos) break;
      PANTOUM_TRY(set_part(settings_of(group), last.substr(0, sign), last.substr(sign + 1), "the group",
                           group.names.substr(0, comma), where));
      group.names.erase(comma);
    }
    if (!group.lr && !group.weight_decay)
      return fail("E0115", fmt::format("'{}' gives neither a rate nor a decay", text), where,
                  "write GLOB,weight_decay=VALUE or GLOB,lr=LR, as in '*.bias,weight_decay=0'");
    return check(group, {}, where);
  }
  static Result<void> check(const ParameterGroup& group, const Setting&, const std::string& where) {
    if (group.names.empty())
      return fail("E0115", "a group names no parameters", where, "give a glob, as in '*.bias,weight_decay=0'");
    for (const Field& field : fields_of(const_cast<ParameterGroup&>(group))) PANTOUM_TRY(field.check(where));
    return {};
  }

 private:
  static Fields settings_of(ParameterGroup& group) {
    Fields fields = fields_of(group);
    std::erase_if(fields, [](const Field& field) { return field.type == Type::text; });
    return fields;
  }
};

template <>
struct Value<std::vector<ParameterGroup>> : Several<ParameterGroup> {
  static constexpr Type type = Type::groups;
};

template <>
struct Value<Normalization> {
  static Json schema(const Setting&) { return {{"type", "array"}, {"items", {{"type", "number"}}}}; }
  static Json json(const Normalization& value) { return Json::array({value.mean, value.deviation}); }
  static void read(const JsonNode& node, Normalization& value, const Setting&) {
    if (node.array() != 2) return node.error("must be a mean and a deviation");
    value = {static_cast<float>(node.item(0).number(-kMostNumber, kMostNumber)),
             static_cast<float>(node.item(1).number(0, kMostNumber))};
  }
  static Texts texts(const Normalization& value, const Setting&) {
    return {fmt::format("{},{}", value.mean, value.deviation)};
  }
  static Result<void> set(Normalization& value, const std::string& text, const Setting& setting,
                          const std::string& where) {
    char rest = 0;
    const int read = std::sscanf(text.c_str(), "%f,%f%c", &value.mean, &value.deviation, &rest);
    if (read == 2 && check(value, setting, where)) return {};
    return fail("E0120", fmt::format("'{}' is no mean and deviation", text), where,
                "write both, as in 0.286,0.353; once, or once for each channel");
  }
  static Result<void> check(const Normalization& value, const Setting&, const std::string& where) {
    if (std::isfinite(value.mean) && std::isfinite(value.deviation) && value.deviation > 0) return {};
    return fail("E0120", "a normalization needs a mean, and a deviation above 0", where);
  }
};

template <>
struct Value<std::vector<Normalization>> : Several<Normalization> {
  static constexpr Type type = Type::normalizations;
};

// ---- the list ----

template <class T>
concept HasChoices = requires { Value<T>::choices(); };
template <class T>
concept HasParts = requires(const T& value) { Value<T>::planned(value); };
template <class T>
concept Repeats = requires { Value<T>::repeats; };
template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

template <class T>
Texts choices_of() {
  if constexpr (is_optional<T>) return choices_of<typename T::value_type>();
  if constexpr (HasChoices<T>) return Value<T>::choices();
  return {};
}

std::string key_of(const Setting& setting, Type type) {
  return setting.name + std::string(type == Type::bytes ? "_bytes" : type == Type::seconds ? "_s" : "");
}

// Visits a description and collects the fields.
class Collector {
 public:
  explicit Collector(Fields& fields) : fields_(fields) {}

  void group(const char* name) { group_ = name; }

  template <class T>
  void field(T& value, const Setting& setting) {
    using Of = Value<T>;
    Field made{.setting = setting,
               .group = group_,
               .key = key_of(setting, Of::type),
               .type = Of::type,
               .optional = is_optional<T>,
               .repeats = Repeats<T>,
               .choices = choices_of<T>(),
               .schema = Of::schema(setting)};
    made.json = [&value] { return Of::json(value); };
    made.planned = made.json;
    if constexpr (HasParts<T>) made.planned = [&value] { return Of::planned(value); };
    made.texts = [&value, setting] { return Of::texts(value, setting); };
    made.read = [&value, setting](const JsonNode& node) { Of::read(node, value, setting); };
    made.set = [&value, setting](const std::string& text, const std::string& where) {
      return Of::set(value, text, setting, where);
    };
    made.check = [&value, setting](const std::string& where) { return Of::check(value, setting, where); };
    if constexpr (std::is_same_v<T, Losses>) made.clear = [&value] { value.terms().clear(); };
    else if constexpr (Repeats<T>) made.clear = [&value] { value = T{}; };
    if constexpr (std::is_same_v<T, bool>) set_flag(value, made);
    fields_.push_back(std::move(made));
    if constexpr (std::is_same_v<T, Optimizer>) add_parts(value);
  }

 private:
  Fields& fields_;
  std::string group_;

  // An option changes the default; "--no-paging" sets false. One that is on by default and is not named so takes on or off.
  static void set_flag(bool& value, Field& made) {
    if (made.setting.option == nullptr) return;
    const bool names_off = std::string_view(made.setting.option).starts_with("--no-");
    made.takes_value = value && !names_off;
    if (made.takes_value) made.choices = {"on", "off"};
    if (!names_off) return;
    made.set = [&value](const std::string&, const std::string&) -> Result<void> {
      value = false;
      return {};
    };
  }

  // The settings of optimizers that have options of their own, as the optimizer has them that is chosen.
  void add_parts(Optimizer& optimizer) {
    for (size_t at = 0; at < kOptimizerNames.size(); ++at) {
      Optimizer any = optimizer_at(at);
      for (const Field& part : fields_of_alternative(any)) {
        const std::string name = part.setting.name;
        const bool known = std::any_of(fields_.begin(), fields_.end(),
                                       [&](const Field& field) { return field.is_part && name == field.setting.name; });
        if (part.setting.option != nullptr && !known) fields_.push_back(part_of(optimizer, part));
      }
    }
  }

  static Field part_of(Optimizer& optimizer, const Field& part) {
    const std::string name = part.setting.name;
    const auto own = [&optimizer, name](const auto& with, auto otherwise) {
      for (const Field& field : fields_of_alternative(optimizer))
        if (name == field.setting.name) return with(field);
      return otherwise;
    };
    Field made{.setting = part.setting, .group = "training", .key = part.key, .type = part.type, .schema = part.schema};
    made.setting.recorded = false;
    made.setting.otherwise = "that of the optimizer";
    made.optional = made.is_part = true;
    made.json = made.planned = [own] { return own([](const Field& field) { return field.json(); }, Json()); };
    made.texts = [own] { return own([](const Field& field) { return field.texts(); }, Texts()); };
    made.is_default = [own] { return own([](const Field& field) { return field.is_default(); }, true); };
    made.read = [](const JsonNode&) {};
    made.check = [](const std::string&) { return Result<void>(); };  // the optimizer's
    made.set = [&optimizer, own, name](const std::string& text, const std::string& where) {
      return own([&](const Field& field) { return field.set(text, where); },
                 Result<void>(fail("E0117", fmt::format("the optimizer {} has no {}", name_of(optimizer), name), where,
                                   "leave it out, or choose another --optimizer")));
    };
    return made;
  }
};

template <class Options>
Fields collected(Options& options) {
  Fields fields;
  Collector collector(fields);
  describe(collector, options);
  return fields;
}

}  // namespace

const char* name_of(Type type) {
  constexpr const char* kNames[] = {"flag", "whole", "number", "bytes",     "seconds", "deadline",       "text",
                                    "word", "texts", "losses", "optimizer", "groups",  "normalizations", "parts"};
  return kNames[static_cast<size_t>(type)];
}

template <class Options>
Fields fields_of(Options& options) {
  static const std::vector<Json> usual = [] {
    Options defaults;
    std::vector<Json> values;
    for (const Field& field : collected(defaults)) values.push_back(field.json());
    return values;
  }();
  Fields fields = collected(options);
  for (size_t at = 0; at < fields.size(); ++at) {
    fields[at].usual = usual[at];
    if (!fields[at].is_default)
      fields[at].is_default = [json = fields[at].json, usual = usual[at]] { return json() == usual; };
  }
  return fields;
}

template Fields fields_of(Loss&);
template Fields fields_of(Metrics&);
template Fields fields_of(Sgd&);
template Fields fields_of(Adam&);
template Fields fields_of(AdamW&);
template Fields fields_of(RmsProp&);
template Fields fields_of(Adagrad&);
template Fields fields_of(SparseAdam&);
template Fields fields_of(CustomUpdate&);
template Fields fields_of(ParameterGroup&);
template Fields fields_of(ModelOptions&);
template Fields fields_of(Device&);
template Fields fields_of(PlanOptions&);
template Fields fields_of(Augmentation&);
template Fields fields_of(TrainerOptions&);
template Fields fields_of(FitOptions&);
template Fields fields_of(DataOptions&);
template Fields fields_of(FirmwareOptions&);

Json record_of(const Fields& fields) {
  Json record = Json::object();
  for (const Field& field : fields)
    if (field.setting.recorded) record[field.key] = field.json();
  return record;
}

void read_record(const Fields& fields, const JsonNode& node, std::vector<std::string> known) {
  for (const Field& field : fields)
    if (field.setting.recorded) known.push_back(field.key);
  if (!node.object(known)) return;
  for (const Field& field : fields)
    if (field.setting.recorded && node.has(field.key.c_str())) field.read(node.need(field.key.c_str()));
}

Json schema_of(const Fields& fields, const Json& more) {
  Json properties = more.is_null() ? Json::object() : more;
  for (const Field& field : fields)
    if (field.setting.recorded) {
      Json schema = field.schema;
      schema["description"] = field.setting.help;
      properties[field.key] = std::move(schema);
    }
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"patternProperties", {{"^x-", true}}},
          {"additionalProperties", false}};
}

Json listed(const Fields& fields) {
  constexpr const char* kShown[] = {"common", "more", "research", "nowhere"};
  constexpr const char* kBesidePlan[] = {"refused", "taken", "not_less", "not_more"};
  constexpr const char* kHolds[] = {"text",  "glob",   "weights", "plan",        "data", "model", "device",
                                    "store", "output", "folder",  "page_folder", "board"};
  Json list = Json::array();
  for (const Field& field : fields) {
    const Setting& setting = field.setting;
    Json one{{"name", setting.name}, {"key", field.key}, {"type", name_of(field.type)}, {"optional", field.optional}};
    if (!field.group.empty()) one["group"] = field.group;
    if (setting.option != nullptr) one["option"] = setting.option;
    one["default"] = field.usual;
    if (setting.otherwise != nullptr) one["otherwise"] = setting.otherwise;
    if (setting.unit != nullptr) one["unit"] = setting.unit;
    if (std::isfinite(setting.least)) one["least"] = setting.least;
    if (std::isfinite(setting.most)) one["most"] = setting.most;
    if (setting.above) one["above"] = true;
    if (setting.below) one["below"] = true;
    if (!field.choices.empty()) one["choices"] = field.choices;
    if (setting.holds != Holds::text) one["holds"] = kHolds[static_cast<size_t>(setting.holds)];
    if (setting.only_of != nullptr) one["only_of"] = setting.only_of;
    one["shown"] = kShown[static_cast<size_t>(setting.shown)];
    one["beside_plan"] = kBesidePlan[static_cast<size_t>(setting.beside_plan)];
    one["recorded"] = setting.recorded;
    if (field.is_part) one["part_of"] = "optimizer";
    one["help"] = setting.help;
    list.push_back(std::move(one));
  }
  return list;
}

Result<void> check(const Fields& fields, const std::string& structure) {
  for (const Field& field : fields) {
    Result<void> checked = field.check(fmt::format("{}::{}", structure, field.setting.name));
    if (checked) continue;
    Error error = std::move(checked).error();
    for (const char* of_words : {"E0110", "E0111", "E0112", "E0121"})  // a value of the structure has its unit
      if (error.code == of_words) error.code = "E0116";
    return Failure(std::move(error));
  }
  return {};
}

Result<void> check_beside_plan(const Fields& planned, const Fields& given) {
  for (size_t at = 0; at < given.size(); ++at) {
    const Setting& setting = given[at].setting;
    const Json asked = given[at].planned(), made = planned[at].planned();
    if (setting.beside_plan == BesidePlan::taken || asked == made) continue;
    const bool numbers = asked.is_number() && made.is_number();
    if (numbers && setting.beside_plan == BesidePlan::not_less && asked > made) continue;
    if (numbers && setting.beside_plan == BesidePlan::not_more && asked < made) continue;
    const auto words = [](const Field& field) {
      const Texts texts = field.texts();
      if (!field.takes_value && field.type == Type::flag) return std::string(field.is_default() ? "off" : "on");
      return texts.empty() ? std::string("none") : fmt::format("{}", fmt::join(texts, " "));
    };
    const std::string option = setting.option == nullptr ? setting.name : setting.option;
    return fail("E0231",
                fmt::format("{} is {} here, and the plan was made with {}", option, words(given[at]), words(planned[at])),
                option, fmt::format("leave {} out to train as planned, or plan again with it", option));
  }
  return {};
}

std::string range_of(const Setting& setting) {
  return range_words(setting, false);
}

std::string name_of(const Optimizer& optimizer) {
  if (const auto* custom = std::get_if<CustomUpdate>(&optimizer)) return custom->name;
  return kOptimizerNames[optimizer.index()];
}

double& learning_rate(Optimizer& optimizer) {
  return std::visit([](auto& one) -> double& { return one.lr; }, optimizer);
}

namespace {

template <class Options>
Json description() {
  Options options;
  return listed(fields_of(options));
}

}  // namespace

Json all_descriptions() {
  Json optimizers = Json::object();
  for (size_t at = 0; at < kOptimizerNames.size(); ++at) {
    Optimizer optimizer = optimizer_at(at);
    optimizers[kOptimizerNames[at]] = listed(fields_of_alternative(optimizer));
  }
  return {{"model", description<ModelOptions>()},   {"device", description<Device>()},
          {"plan", description<PlanOptions>()},     {"data", description<DataOptions>()},
          {"trainer", description<TrainerOptions>()}, {"fit", description<FitOptions>()},
          {"firmware", description<FirmwareOptions>()}, {"metrics", description<Metrics>()},
          {"augment", description<Augmentation>()}, {"loss", description<Loss>()},
          {"group", description<ParameterGroup>()},
          {"losses", Json(kLossNames)},             {"optimizers", std::move(optimizers)}};
}

}  // namespace pantoum::settings
