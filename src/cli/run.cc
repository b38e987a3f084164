#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/output.h"

namespace pantoum::cli {
namespace {

nlohmann::ordered_json to_json(const Error& error) {
  return {{"error", error.code},  {"message", error.message}, {"where", error.where},
          {"notes", error.notes}, {"help", error.help},       {"exit", exit_code(error)}};
}

void print(const Error& error, bool json) {
  print_message(json ? base::ascii_json(to_json(error)) + "\n" : to_text(error));
}

bool wants_json(int argc, const char* const* argv) {
  for (int at = 1; at < argc; ++at) {
    const std::string word = argv[at];
    if (word == "--format=json" || (word == "--format" && at + 1 < argc && std::string(argv[at + 1]) == "json"))
      return true;
  }
  return false;
}

void add_verbs(CommandLine& line) {
  add_inspect(line);
  add_devices(line);
  add_operators(line);
  add_plan(line);
  add_sweep(line);
  add_explain(line);
  add_verify(line);
  add_train(line);
  add_export(line);
  add_emit(line);
  add_run_firmware(line);
  add_report(line);
  add_doctor(line);
}

}  // namespace

void add_common(Verb& verb, Common& common) {
  verb.add_option("--format", common.format, "text or json").one_of({"text", "json"});
}

int run(int argc, const char* const* argv) {
  CommandLine line(
      "pantoum",
      "Pantoum: trains neural networks inside a RAM budget; tensors return, computed again or read back from storage",
      PANTOUM_VERSION);
  add_verbs(line);
  const Result<std::optional<Action>> chosen = line.parse(argc, argv);
  if (!chosen) {
    print(chosen.error(), wants_json(argc, argv));
    return exit_code(chosen.error());
  }
  if (!*chosen) return 0;
  block_interrupts();
  try {
    const Result<int> done = (**chosen)();
    if (done) return *done;
    print(done.error(), wants_json(argc, argv));
    return exit_code(done.error());
  } catch (const std::bad_alloc&) {
    print(Error{"E0002", "out of memory", "", {}, "free some memory, or choose a smaller --ram or --batch"},
          wants_json(argc, argv));
  } catch (const std::exception& error) {
    print(Error{"E0001", fmt::format("internal error: {}", error.what()), "", {}, "please report this"},
          wants_json(argc, argv));
  }
  return 1;
}

}  // namespace pantoum::cli
