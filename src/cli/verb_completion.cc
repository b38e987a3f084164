#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/output_folder.h"
#include "cli/cli.h"
#include "cli/line/manual.h"
#include "cli/output.h"
#include "pipeline/request_json.h"
#include "settings/fields.h"

namespace pantoum::cli {
namespace {

Result<int> write_man_pages(const ProgramFacts& program, const std::string& folder) {
  PANTOUM_ASSIGN(const base::OutputFolder place, base::OutputFolder::open(folder));
  for (const auto& [name, text] : man_pages(program)) PANTOUM_TRY(place.write(name, text));
  return 0;
}

}  // namespace

void add_completion(CommandLine& line) {
  auto shell = std::make_shared<std::string>();
  Verb verb = line.add_verb("completion", "a script that completes verbs and options in bash, zsh or fish");
  verb.add_option("SHELL", *shell, "bash, zsh or fish").required().one_of({"bash", "zsh", "fish"});
  verb.does([shell, &program = line.facts()]() -> Result<int> {
    print_result(completion_script(*shell, program));
    return 0;
  });
}

void add_man_pages(CommandLine& line) {
  auto folder = std::make_shared<std::string>();
  Verb verb = line.add_verb("man-pages", "pantoum.1 and a page of every verb, made from the options");
  verb.add_option("-o,--output", *folder, "the folder").required().is(Kind::kFolder);
  verb.hidden().does([folder, &program = line.facts()] { return write_man_pages(program, *folder); });
}

void add_reference(CommandLine& line) {
  auto common = std::make_shared<Common>();
  Verb verb = line.add_verb("reference", "docs/cli.md");
  add_common(verb, *common);
  verb.hidden().does([&program = line.facts()]() -> Result<int> {
    print_result(reference_page(program));
    return 0;
  });
}

void add_settings(CommandLine& line) {
  Verb verb = line.add_verb("settings", "every setting, with its type, default, range and help, as JSON");
  verb.hidden().does([]() -> Result<int> {
    nlohmann::ordered_json all = settings::all_descriptions();
    all["record"] = pipeline::record_schemas();
    print_json(all, 1);
    return 0;
  });
}

}  // namespace pantoum::cli
