// The command line: one file per verb. Verbs return the process's exit code; errors are printed by main alone.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pantoum/result.h"

namespace pantoum::cli {

// What a verb does once its options are parsed; its value is the exit code.
using Action = std::function<Result<int>()>;
using Words = std::vector<std::string>;

struct Common {  // options that every verb has
  std::string format = "text";
  [[nodiscard]] bool json() const { return format == "json"; }
};

// Each adds its sub-command to `app` and puts its action into `chosen` when that sub-command was given.
void add_inspect(CLI::App& app, Action& chosen);
void add_devices(CLI::App& app, Action& chosen);
void add_operators(CLI::App& app, Action& chosen);
// `words`: those of the command line behind the verb; they outlive the action.
void add_plan(CLI::App& app, Action& chosen, const Words& words);
void add_sweep(CLI::App& app, Action& chosen);
void add_explain(CLI::App& app, Action& chosen);
void add_verify(CLI::App& app, Action& chosen);
void add_train(CLI::App& app, Action& chosen);
void add_emit(CLI::App& app, Action& chosen);
void add_run_firmware(CLI::App& app, Action& chosen);
void add_export(CLI::App& app, Action& chosen);
void add_report(CLI::App& app, Action& chosen);
void add_doctor(CLI::App& app, Action& chosen);

void add_common(CLI::App& verb, Common& common);

// Runs the program: parses, acts, prints errors (as text, or as JSON with --format json) to stderr. Returns the exit
// code.
int run(int argc, const char* const* argv);

}  // namespace pantoum::cli
