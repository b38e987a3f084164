// The command line: one file per verb. Verbs return the process's exit code; only main prints errors.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/line/options.h"

namespace pantoum::cli {

struct Common {  // options that every verb has
  std::string format = "text";
  bool quiet = false;  // read before the verb acts: keep_quiet()
  [[nodiscard]] bool json() const { return format == "json"; }
};

// Each function adds one verb, with its options and its action.
void add_inspect(CommandLine& line);
void add_devices(CommandLine& line);
void add_operators(CommandLine& line);
void add_plan(CommandLine& line);
void add_profile(CommandLine& line);
void add_sweep(CommandLine& line);
void add_explain(CommandLine& line);
void add_verify(CommandLine& line);
void add_train(CommandLine& line);
void add_predict(CommandLine& line);
void add_eval(CommandLine& line);
void add_emit(CommandLine& line);
void add_run_firmware(CommandLine& line);
void add_export(CommandLine& line);
void add_report(CommandLine& line);
void add_doctor(CommandLine& line);
void add_completion(CommandLine& line);
// Verbs for packagers and tests, which --help does not list.
void add_man_pages(CommandLine& line);
void add_reference(CommandLine& line);
void add_settings(CommandLine& line);

void add_common(Verb& verb, Common& common);
// --plugin: what run() loads before the verb acts.
void add_plugins(Verb& verb);

// Runs the program: parses, acts, prints errors (as text, or as JSON with --format json) to stderr. Returns the exit
// code.
int run(int argc, const char* const* argv);

}  // namespace pantoum::cli
