// A structure of settings as a list of fields: each with its description, its value in words and in JSON, and readers for
// both. Example:
//
//   PlanOptions options;
//   for (const Field& field : fields_of(options))
//     if (field.setting.option != nullptr && !field.is_default()) print(field.setting.option, field.texts());
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json_reader.h"
#include "base/result.h"
#include "pantoum/data.hpp"
#include "pantoum/deploy.hpp"
#include "pantoum/model.hpp"
#include "pantoum/plan.hpp"
#include "pantoum/setting.hpp"
#include "pantoum/trainer.hpp"

namespace pantoum::settings {

using Json = nlohmann::ordered_json;

// The type of a value. Whether the value may be absent is Field::optional.
enum class Type : uint8_t {
  flag,
  whole,
  number,
  bytes,
  seconds,
  deadline,
  text,
  word,   // one of Field::choices
  texts,  // several texts
  losses,
  optimizer,
  groups,
  normalizations,
  parts  // a structure, written as KEY=VALUE,KEY
};
[[nodiscard]] const char* name_of(Type type);

// One field of a structure, which outlives it. What is read is put into the structure.
struct Field {
  Setting setting;
  std::string group, key;  // key: in JSON, with the unit behind its name: "ram_bytes"
  Type type = Type::text;
  bool optional = false, repeats = false;  // repeats: it may be given several times, and each adds a value
  bool takes_value = true;                 // false: the option alone changes the default
  std::vector<std::string> choices = {};
  Json schema = {}, usual = {};  // usual: the default
  // True for an optimizer's setting that has an option of its own. It is recorded inside the optimizer's JSON, under no key of its own.
  bool is_part = false;

  std::function<Json()> json = {};
  std::function<Json()> planned = {};  // the part of json() that is compared with a plan given by --plan
  std::function<bool()> is_default = {};
  // The value as the option reads it, one text for each time that the option is given; empty: there is no value.
  std::function<std::vector<std::string>()> texts = {};
  std::function<void(const base::JsonNode& node)> read = {};
  // Sets the field from one value of the option. `where` names the option in errors: E0110 to E0112, E0115 to E0117, E0121.
  std::function<Result<void>(const std::string& text, const std::string& where)> set = {};
  std::function<void()> clear = [] {};  // of a list, before its first value is set
  // Checks that the value is in its range; the errors are those of set().
  std::function<Result<void>(const std::string& where)> check = {};
};

using Fields = std::vector<Field>;

// The fields of a structure in the order of its description, each with the default of a structure that was made without
// arguments. For every structure that has a description.
template <class Options>
[[nodiscard]] Fields fields_of(Options& options);

// An object of all recorded fields.
[[nodiscard]] Json record_of(const Fields& fields);

// Reads the recorded fields that are there; one that is missing keeps its default. `known`: keys that belong to others.
// Errors are added to those of the node.
void read_record(const Fields& fields, const base::JsonNode& node, std::vector<std::string> known = {});

// The JSON schema of record_of's object; `more`: properties that others add.
[[nodiscard]] Json schema_of(const Fields& fields, const Json& more = {});

// Every field: name, option, group, type, default, range, unit, choices, help.
[[nodiscard]] Json listed(const Fields& fields);

// E0115 to E0117: the first value out of its range. `structure` names it: "PlanOptions".
[[nodiscard]] Result<void> check(const Fields& fields, const std::string& structure);

// E0231: a value of `given` that does not go with a plan that was made with `planned`. Both are fields of one structure.
[[nodiscard]] Result<void> check_beside_plan(const Fields& planned, const Fields& given);

// How users name the value that a range allows: "from 1 to 64", "above 0"; "": any.
[[nodiscard]] std::string range_of(const Setting& setting);

// The name of an optimizer on the command line and in records.
[[nodiscard]] std::string name_of(const Optimizer& optimizer);
[[nodiscard]] double& learning_rate(Optimizer& optimizer);

// All structures, all losses and optimizers: what `pantoum settings` prints.
[[nodiscard]] Json all_descriptions();

}  // namespace pantoum::settings
