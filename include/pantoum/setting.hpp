// How a setting is described: once, beside the field of the public structure that holds it. Command line, help, man pages,
// completion, plan records, their JSON schema and the Python keywords are made from these descriptions.
//
// A structure of settings has a function `describe(visitor, structure)` beside it, which calls visitor.group(name) before
// the settings of a group, and visitor.field(value, setting) for each of its fields. The type of the field gives the type
// of the value, a structure that was made without arguments gives the default.
#pragma once

#include <cstdint>
#include <limits>

namespace pantoum {

// The help texts of `pantoum VERB` in which an option appears.
enum class Shown : uint8_t {
  common,    // --help, and all of the others
  more,      // --help-all
  research,  // --help-all, in a group of its own: switches for measurements and ablations
  nowhere    // it is no option
};

// What becomes of a value that is given beside a plan which was made with another one.
enum class BesidePlan : uint8_t {
  refused,   // it changes the planned step
  taken,     // it is a setting of the run
  not_less,  // a smaller value is refused
  not_more   // a larger value is refused
};

// What a text names.
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
  const char* option = nullptr;  // on the command line, as "--ram"; null: it is no option
  Shown shown = Shown::more;
  const char* otherwise = nullptr;  // what holds where the value is none: "the device's RAM"
  const char* unit = nullptr;       // of a number: "J", "%" (of 1), "pixels"
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool above = false, below = false;  // the least, or the most, is itself out of range
  Holds holds = Holds::text;
  const char* alone = nullptr;           // the value of an option that is given without one
  BesidePlan beside_plan = BesidePlan::refused;
  bool recorded = true;                  // a plan's record has it
  const char* only_of = nullptr;         // names of the losses that have it, between spaces; null: all of them
  bool list = false;                     // several values may stand in one word, with commas between them
};

}  // namespace pantoum
