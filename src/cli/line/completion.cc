#include "cli/line/manual.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace pantoum::cli {
namespace {

// What a shell offers for a value: names, files, folders, or nothing.
enum class Offer : uint8_t { kNothing, kNames, kFiles, kFolders };

Offer offer_of(const OptionFacts& option) {
  if (!option.choices.empty()) return Offer::kNames;
  switch (option.kind) {
    case Kind::kFolder:
    case Kind::kProject:
    case Kind::kSweep:
    case Kind::kPageFolder:
      return Offer::kFolders;
    default:
      return option.kind >= Kind::kModel ? Offer::kFiles : Offer::kNothing;
  }
}

std::vector<const VerbFacts*> all_verbs(const VerbFacts& program) {
  std::vector<const VerbFacts*> all;
  for (const auto& verb : program.verbs) {
    if (verb->hidden) continue;
    all.push_back(verb.get());
    for (const auto& inner : verb->verbs) all.push_back(inner.get());
  }
  return all;
}

std::vector<std::string> verb_names(const VerbFacts& verb) {
  std::vector<std::string> names;
  for (const auto& each : verb.verbs)
    if (!each->hidden) names.push_back(each->name);
  return names;
}

std::string key_of(const VerbFacts& verb) {
  const std::string path = verb.path();
  return path.substr(path.find(' ') + 1);
}

std::string all_options(const VerbFacts& verb) {
  std::vector<std::string> names;
  for (const OptionFacts* option : verb.shown()) names.insert(names.end(), option->names.begin(), option->names.end());
  names.emplace_back("--help");
  return fmt::format("{}", fmt::join(names, " "));
}

// The words that a positional of the verb may be.
std::string positional_names(const VerbFacts& verb) {
  std::vector<std::string> names = verb_names(verb);
  for (const OptionFacts* option : verb.positionals())
    names.insert(names.end(), option->choices.begin(), option->choices.end());
  return fmt::format("{}", fmt::join(names, " "));
}

std::string bash_values(const VerbFacts& verb) {
  std::string rows;
  for (const OptionFacts* option : verb.shown()) {
    if (option->flag) continue;
    const Offer offer = offer_of(*option);
    const std::string reply = offer == Offer::kNames
                                  ? fmt::format("_pantoum_words '{}'", fmt::join(option->choices, " "))
                              : offer == Offer::kFiles   ? "_pantoum_files"
                              : offer == Offer::kFolders ? "_pantoum_folders"
                                                         : ":";
    rows += fmt::format("    '{} '{}) {}; return ;;\n", key_of(verb),
                        fmt::join(option->names, fmt::format("|'{} '", key_of(verb))), reply);
  }
  return rows;
}

constexpr const char* kBashHead =
    R"(# bash completion of pantoum; made by `pantoum completion bash`.
_pantoum_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$word"); }
_pantoum_files() { compopt -o filenames 2> /dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$word"); }
_pantoum_folders() { compopt -o filenames 2> /dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$word"); }
_pantoum() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb= at
  # --option=value is three words to bash.
  if [[ $word == "=" ]]; then word=; elif [[ $before == "=" ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((at = 1; at < COMP_CWORD; at++)); do
    [[ ${COMP_WORDS[at]} == -* ]] && break
    case "$verb ${COMP_WORDS[at]}" in
)";

}  // namespace

namespace {

std::string bash_script(const ProgramFacts& program) {
  std::string script = kBashHead;
  for (const VerbFacts* verb : all_verbs(program)) {
    const bool inner = verb->parent->parent != nullptr;
    script += fmt::format("      '{} {}') verb='{}' ;;\n", inner ? verb->parent->name : "", verb->name, key_of(*verb));
  }
  script += "    esac\n  done\n  COMPREPLY=()\n  case \"$verb $before\" in\n";
  for (const VerbFacts* verb : all_verbs(program)) script += bash_values(*verb);
  script += "  esac\n  case $verb in\n";
  for (const VerbFacts* verb : all_verbs(program)) {
    script += fmt::format("    '{}')\n      if [[ $word == -* ]]; then _pantoum_words '{}'", key_of(*verb),
                          all_options(*verb));
    const std::string names = positional_names(*verb);
    if (!names.empty())
      script += fmt::format("; else _pantoum_words '{}'", names);
    else if (!verb->positionals().empty())
      script += "; else _pantoum_files";
    script += "; fi ;;\n";
  }
  script += fmt::format("    *) _pantoum_words '{} help --help --version' ;;\n  esac\n}}\n",
                        fmt::join(verb_names(program), " "));
  return script + "complete -F _pantoum pantoum\n";
}

// Inside single quotes, and without what _arguments reads as its own.
std::string zsh_text(const std::string& text) {
  std::string safe;
  for (const char letter : text) {
    if (letter == '\'') {
      safe += "'\\''";
    } else if (letter == '[' || letter == ']' || letter == ':' || letter == '\\') {
      safe += std::string("\\") + letter;
    } else {
      safe += letter;
    }
  }
  return safe;
}

std::string zsh_value(const OptionFacts& option) {
  switch (offer_of(option)) {
    case Offer::kNames:
      return fmt::format("({})", fmt::join(option.choices, " "));
    case Offer::kFiles:
      return "_files";
    case Offer::kFolders:
      return "_files -/";
    case Offer::kNothing:
      break;
  }
  return " ";
}

std::string zsh_options(const VerbFacts& verb) {
  std::string rows;
  for (const OptionFacts* option : verb.shown())
    for (const std::string& name : option->names)
      rows += fmt::format("        '{}{}[{}]{}' \\\n", option->repeatable ? "*" : "", name, zsh_text(option->help),
                          option->flag ? "" : fmt::format(":{}:{}", value_word(*option), zsh_value(*option)));
  int place = 1;
  if (!verb.verbs.empty()) rows += fmt::format("        '1:verb:({})' \\\n", fmt::join(verb_names(verb), " "));
  for (const OptionFacts* option : verb.positionals())
    rows += fmt::format("        '{}:{}:{}' \\\n", place++, option->name(), zsh_value(*option));
  return rows + "        '--help[this verb]'\n";
}

std::string zsh_script(const ProgramFacts& program) {
  std::string script =
      "#compdef pantoum\n# zsh completion of pantoum; made by `pantoum completion zsh`.\n_pantoum() {\n"
      "  if (( CURRENT == 2 )); then\n    local -a verbs=(\n";
  for (const auto& verb : program.verbs)
    if (!verb->hidden) script += fmt::format("      '{}:{}'\n", verb->name, zsh_text(verb->help));
  script +=
      "      'help:options of a verb'\n    )\n    _describe verb verbs\n    return\n  fi\n"
      "  local verb=$words[2]\n  (( CURRENT-- )); shift words\n"
      "  if [[ $verb == devices && ( $words[2] == list || $words[2] == show ) && CURRENT -gt 2 ]]; then\n"
      "    verb=\"$verb $words[2]\"; (( CURRENT-- )); shift words\n  fi\n  case $verb in\n";
  for (const VerbFacts* verb : all_verbs(program))
    script += fmt::format("    '{}')\n      _arguments \\\n{}      ;;\n", key_of(*verb), zsh_options(*verb));
  return script + "  esac\n}\n_pantoum \"$@\"\n";
}

std::string fish_text(const std::string& text) {
  std::string safe;
  for (const char letter : text)
    safe += letter == '\'' || letter == '\\' ? std::string("\\") + letter : std::string(1, letter);
  return "'" + safe + "'";
}

std::string fish_option(const OptionFacts& option, const std::string& condition) {
  std::string row = fmt::format("complete -c pantoum -n '{}'", condition);
  for (const std::string& name : option.names)
    row += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  const Offer offer = offer_of(option);
  if (!option.flag) row += " -r";
  if (offer == Offer::kNames) row += fmt::format(" -f -a '{}'", fmt::join(option.choices, " "));
  if (offer == Offer::kNothing && !option.flag) row += " -f";
  if (offer == Offer::kFolders) row += " -f -a '(__fish_complete_directories)'";
  return row + " -d " + fish_text(option.help) + "\n";
}

std::string fish_script(const ProgramFacts& program) {
  std::string script = "# fish completion of pantoum; made by `pantoum completion fish`.\n";
  for (const auto& verb : program.verbs)
    if (!verb->hidden)
      script += fmt::format("complete -c pantoum -n __fish_use_subcommand -f -a {} -d {}\n", verb->name,
                            fish_text(verb->help));
  script += "complete -c pantoum -n __fish_use_subcommand -l version -s V -d 'the version of this program'\n";
  for (const VerbFacts* verb : all_verbs(program)) {
    const bool inner = verb->parent->parent != nullptr;
    std::string condition = "__fish_seen_subcommand_from " + verb->name;
    if (inner) condition += "; and __fish_seen_subcommand_from " + verb->parent->name;
    for (const OptionFacts* option : verb->shown()) script += fish_option(*option, condition);
    if (const std::string names = positional_names(*verb); !names.empty())
      script += fmt::format("complete -c pantoum -n '{}' -f -a '{}'\n", condition, names);
  }
  return script;
}

}  // namespace

std::string completion_script(const std::string& shell, const ProgramFacts& program) {
  if (shell == "bash") return bash_script(program);
  if (shell == "zsh") return zsh_script(program);
  return shell == "fish" ? fish_script(program) : "";
}

}  // namespace pantoum::cli
