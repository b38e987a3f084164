#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/interrupt.h"

namespace pantoum::cli {
namespace {

nlohmann::ordered_json to_json(const Error& error) {
  return {{"error", error.code},  {"message", error.message}, {"where", error.where},
          {"notes", error.notes}, {"help", error.help},       {"exit", exit_code(error)}};
}

void print(const Error& error, bool json) {
  const std::string text = json ? to_json(error).dump() + "\n" : to_text(error);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

bool wants_json(int argc, const char* const* argv) {
  for (int at = 1; at < argc; ++at) {
    const std::string word = argv[at];
    if (word == "--format=json" || (word == "--format" && at + 1 < argc && std::string(argv[at + 1]) == "json"))
      return true;
  }
  return false;
}

}  // namespace

void add_common(CLI::App& verb, Common& common) {
  verb.add_option("--format", common.format, "text or json")->check(CLI::IsMember({"text", "json"}));
}

int run(int argc, const char* const* argv) {
  CLI::App app{
      "Pantoum: trains neural networks inside a RAM budget; tensors return, computed again or read back from storage"};
  app.name("pantoum");
  app.set_version_flag("--version", PANTOUM_VERSION);
  app.require_subcommand(1);
  Action chosen;
  add_inspect(app, chosen);
  add_devices(app, chosen);
  add_operators(app, chosen);
  const Words words(argv + std::min(argc, 2), argv + argc);
  add_plan(app, chosen, words);
  add_sweep(app, chosen);
  add_explain(app, chosen);
  add_verify(app, chosen);
  add_train(app, chosen);
  add_export(app, chosen);
  add_emit(app, chosen);
  add_run_firmware(app, chosen);
  add_report(app, chosen);
  add_doctor(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    print(Error{"E0100", error.what(), "command line", {}, "pantoum --help, or pantoum VERB --help"},
          wants_json(argc, argv));
    return 2;
  }
  block_interrupts();
  try {
    const Result<int> done = chosen();
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
