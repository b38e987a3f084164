// Descriptions of settings. Each setting is described once, beside its field of a public structure. Command line, help, man pages,
// completion, plan records, their JSON schema and the Python keywords are made from these descriptions.
//
// A structure of settings has a function `describe(visitor, structure)` beside it, which calls visitor.group(name) before
// the settings of a group, and visitor.field(value, setting) for each of its fields. The type of the value is the type of the field; the default is
// the value of the field in a default-constructed structure.
#pragma once

#include <cstdint>
#include <limits>

namespace pantoum {

// The help texts of `pantoum VERB` in which an option appears.
enum class Shown : uint8_t {
  common,    // --help, and all of the others
  more,      // --help-all
  research,  // --help-all, in a group of its own: switches for measurements and ablations
  nowhere    // in none: the setting has no option
};

// The treatment of a value that is given together with a plan, if the plan was made with another value.
enum class BesidePlan : uint8_t {
  refused,   // refused: the setting changes the planned step
  taken,     // accepted: the setting is one of the run
  not_less,  // a smaller value is refused
  not_more   // a larger value is refused
};

// What the text of a setting names.
enum class Holds : uint8_t {
  text,
  glob,         // of names, as fnmatch(3) reads it
  weights,      // a safetensors file that is read
  plan,         // a plan file that is read
  data,         // a file or folder of samples
  model,        // an ONNX file that is read
  device,       // a device profile: its name, or a .toml file
  store,        // a file that is read and written
  output,       // a file that is written
  folder,       // a folder that is written to
  page_folder,  // a folder that is there, or a file in it
  board         // a board's name
};

struct Setting {
  const char* name;  // of the field; in plan records and in Python
  const char* help;  // what the value is, as one sentence without a full stop; not its default
  const char* option = nullptr;  // on the command line, such as "--ram"; null: the setting has no option
  Shown shown = Shown::more;
  const char* otherwise = nullptr;  // the effect of a value that is nullopt: "the device's RAM"
  const char* unit = nullptr;       // of a number: "J", "%" (of 1), "pixels"
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool above = false, below = false;  // the lower (above) or upper (below) limit itself is out of range
  Holds holds = Holds::text;
  const char* alone = nullptr;           // the value if the option is given without a value
  BesidePlan beside_plan = BesidePlan::refused;
  bool recorded = true;                  // the record of a plan contains the setting
  const char* only_of = nullptr;         // the losses that have the setting, separated by spaces; null: all losses
  bool list = false;                     // one word may contain several values, separated by commas
};

}  // namespace pantoum
