#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "base/files.h"
#include "base/json_text.h"
#include "cli/cli.h"
#include "cli/files/class_weights.h"
#include "cli/files/early_checks.h"
#include "cli/files/streams.h"
#include "cli/interrupt.h"
#include "cli/last_words.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "cli/run_log.h"
#include "ini/plugin.h"

namespace pantoum::cli {
namespace {

nlohmann::ordered_json to_json(const Error& error) {
  return {{"error", error.code},  {"message", error.message}, {"where", error.where},
          {"notes", error.notes}, {"help", error.help},       {"exit", exit_code(error)}};
}

int end_with(Error error, bool json) {
  if (memory_was_refused()) error.notes.push_back("memory was refused before (E0910), which may be the cause");
  print_message(json ? base::ascii_json(to_json(error)) + "\n" : to_text(error));
  return exit_code(error);
}

// Takes no memory: it is asked when there is none.
bool wants_json(int argc, const char* const* argv) {
  for (int at = 1; at < argc; ++at) {
    const std::string_view word = argv[at];
    if (word == "--format=json" || (word == "--format" && at + 1 < argc && std::string_view(argv[at + 1]) == "json"))
      return true;
  }
  return false;
}

void add_verbs(CommandLine& line) {
  add_inspect(line);
  add_devices(line);
  add_operators(line);
  add_plan(line);
  add_profile(line);
  add_sweep(line);
  add_explain(line);
  add_verify(line);
  add_train(line);
  add_predict(line);
  add_eval(line);
  add_export(line);
  add_emit(line);
  add_run_firmware(line);
  add_report(line);
  add_doctor(line);
  add_completion(line);
  add_man_pages(line);
  add_reference(line);
  add_settings(line);
}

}  // namespace

void add_plugins(Verb& verb) {
  static std::vector<std::string> loaded;  // load_plugins() reads what was given
  verb.add_option("--plugin", loaded,
                  "a shared object with operators and layer types of your own; may be given several times")
      .one_word_each();
}

void add_common(Verb& verb, Common& common) {
  verb.add_option("--format", common.format, "text or json").one_of({"text", "json"});
  verb.add_flag("--quiet", common.quiet, "print no progress and no notes; warnings, errors and results stay");
}

namespace {

// A thread of the standard library that the system did not give; anything else thrown is a mistake of ours.
Error error_of(const std::exception& thrown) {
  const auto* system = dynamic_cast<const std::system_error*>(&thrown);
  if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again)
    return {"E0905", "the system gives no thread", "", {}, "raise the limit (ulimit -u), or use fewer threads"};
  return {"E0001", fmt::format("internal error: {}", thrown.what()), "", {}, "please report this"};
}

// The action's exit code; what it printed must have got there.
Result<int> act(const Action& action) {
  PANTOUM_ASSIGN(const int code, action());
  PANTOUM_TRY(check_printed());
  return code;
}

// Copies the file that replaced standard output to standard output, if it was written, whether or not the action succeeded.
Result<void> pass_on(const Streams& streams) {
  std::error_code ignored;
  if (streams.output().empty() || !std::filesystem::exists(streams.output(), ignored)) return {};
  if (std::filesystem::exists(streams.output() + ".data", ignored))
    return fail("E0117", "the contents of the weights are a file of their own, which standard output has no place for",
                "--output -", "name a file, or leave --external-data out");
  PANTOUM_ASSIGN(const std::string bytes, base::read_file(streams.output()));
  print_bytes(bytes);
  return check_printed();
}

int end_with_names(Error error, const Streams& streams, bool json) {
  for (std::string* text : {&error.message, &error.where, &error.help}) *text = streams.with_names(std::move(*text));
  for (std::string& note : error.notes) note = streams.with_names(std::move(note));
  return end_with(std::move(error), json);
}

Result<int> act_with(const Action& action, const Streams& streams) {
  if (!streams.output().empty()) keep_stdout_for_a_file();
  name_in_messages([&streams](std::string text) { return streams.with_names(std::move(text)); });
  const Result<int> done = act(action);
  const Result<void> passed = pass_on(streams);
  name_in_messages({});
  if (done && !passed) return Failure(passed.error());
  return done;
}

// With `report --compare` every file is a log.
void take_logs_alone(const ProgramFacts& facts, std::vector<Given>& given) {
  const auto is_compare = [](const Given& each) { return each.option->name() == "--compare"; };
  if (std::none_of(given.begin(), given.end(), is_compare)) return;
  for (const OptionFacts* option : facts.verb("report")->positionals())
    for (Given& each : given)
      if (option->name() == "LOG" && each.option->positional()) each.option = option;
}

// Before any model is read.
Result<void> load_plugins(const std::vector<Given>& given) {
  for (const Given& each : given)
    if (each.option->name() == "--plugin") PANTOUM_TRY(ini::load_plugin(each.value));
  return {};
}

int run_line(int argc, const char* const* argv, bool json) {
  if (json) print_notes_as_json();
  CommandLine line(
      "pantoum",
      "Pantoum trains neural networks inside a RAM budget: by computing tensors again, or moving them to disk.",
      PANTOUM_VERSION);
  add_verbs(line);
  Streams streams;
  keep_command(argc, argv);
  // `pantoum --only-parse VERB ...` reads the words of a command line and does nothing else (tests/docs/test_commands.py).
  const bool only_parse = argc > 1 && std::string_view(argv[1]) == "--only-parse";
  if (only_parse) --argc, ++argv;
  const Result<AskedFor> asked = line.parse(
      argc, argv,
      [&](std::vector<Given>& given) -> Result<void> {
        if (only_parse) return {};
        take_logs_alone(line.facts(), given);
        if (std::any_of(given.begin(), given.end(), [](const Given& each) { return each.option->name() == "--quiet"; }))
          keep_quiet();
        PANTOUM_TRY(streams.replace(given));
        PANTOUM_TRY(load_plugins(given));
        PANTOUM_TRY(read_class_weights(given));
        PANTOUM_TRY(check_given(given, default_profile_store()));
        for (const std::string& option : passed_over(given))
          print_remark(
              "warning",
              option + " says nothing of a bare cost graph, which names its device and has the costs of its ops");
        return {};
      },
      only_parse);
  if (!asked) return end_with_names(asked.error(), streams, json);
  if (only_parse) return 0;
  const Action tell = [&] { return print_bytes(asked->text), Result<int>(0); };
  const Result<int> done = act_with(asked->action ? *asked->action : tell, streams);
  return done ? *done : end_with_names(done.error(), streams, json);
}

}  // namespace

int run(int argc, const char* const* argv) {
  const bool json = wants_json(argc, argv);
  keep_standard_files();
  try {
    try {
      if (const Result<void> stacks = keep_stacks(); !stacks) return end_with(stacks.error(), json);
      watch_interrupts();
      return run_line(argc, argv, json);
    } catch (const std::bad_alloc&) {
      return tell_out_of_memory(json);
    } catch (const std::exception& error) {
      return end_with(error_of(error), json);
    }
  } catch (const std::bad_alloc&) {  // there was none for the words of another error
    return tell_out_of_memory(json);
  }
}

}  // namespace pantoum::cli
