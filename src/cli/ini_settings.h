// Where MODEL is a model file of NNTrainer (.ini), options begin with its settings.
#pragma once

#include <string>

#include "base/contents.h"
#include "cli/cli.h"
#include "pantoum/model.hpp"
#include "pantoum/trainer.hpp"

namespace pantoum::cli {

// The structures that options are put into. Those that a verb does not have are null. They outlive the parsing.
struct IniTargets {
  ModelOptions* model = nullptr;
  TrainerOptions* trainer = nullptr;
  FitOptions* fit = nullptr;
  DataOptions* samples = nullptr;
  std::string* data = nullptr;  // the path of the training data
  bool trains = true;           // false: a file without a loss or an optimizer is good enough
};

// Whether the file is one of these contents, or, where there is none, has a name that ends so ("net.ini"): what an option that such a file makes needless asks.
[[nodiscard]] bool is_named_or_holds(const std::string& path, const char* ending, base::Contents contents);

// Adds that to the verb. A note tells each setting of the file that an option replaces.
//   errors  E0214 the file, or one that names no loss or no optimizer where none is given; E0201
void add_ini_settings(Verb& verb, const IniTargets& into);

}  // namespace pantoum::cli
