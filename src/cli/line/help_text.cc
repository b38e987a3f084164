#include "cli/line/help_text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "cli/line/option_table.h"
#include "cli/line/paint.h"
#include "cli/line/verb_table.h"

namespace pantoum::cli {
namespace {

constexpr size_t kColumns = 80, kLeastColumns = 40, kWidestHeading = 24, kVerbIndent = 18;

size_t columns() {
  const char* text = std::getenv("COLUMNS");
  const long asked = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
  return asked <= 0 ? kColumns : std::clamp<size_t>(static_cast<size_t>(asked), kLeastColumns, kColumns);
}

// `text` behind `first`, broken at spaces; further lines begin with `indent` spaces. A word is never broken.
std::string wrapped(std::string line, const std::string& text, size_t indent, size_t width) {
  std::string all;
  size_t begin = 0;
  bool fresh = true;  // nothing of the text stands on the line yet
  while (begin < text.size()) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    if (!fresh && line.size() + 1 + word.size() > width) {
      all += line + "\n";
      line = std::string(indent, ' ');
      fresh = true;
    }
    line += (fresh ? "" : " ") + word;
    fresh = false;
  }
  return all + line + "\n";
}

std::string row(const std::string& heading, const std::string& text, size_t indent, size_t width) {
  std::string line = "  " + heading;
  if (line.size() + 2 > indent) return line + "\n" + wrapped(std::string(indent, ' '), text, indent, width);
  line.resize(indent, ' ');
  return wrapped(line, text, indent, width);
}

std::string heading(const std::string& text) {
  return "\n" + in(Ink::kHeading, text + ":", is_painted(STDOUT_FILENO)) + "\n";
}

// Breaks a command that is too long for a line, as a shell reads it.
std::string command(std::string_view text, size_t width) {
  std::string line = "  " + std::string(text), all;
  while (line.size() > width) {
    const size_t at = line.rfind(" -", width - 2);
    if (at == std::string::npos || at < 6) break;
    all += line.substr(0, at) + " \\\n";
    line = "      " + line.substr(at + 1);
  }
  return all + line + "\n";
}

size_t options_shown(const VerbFacts& verb) {
  size_t count = 0;
  for (const OptionFacts* option : verb.shown()) count += option->level == Shown::common ? 1 : 0;
  return count;
}

std::string options_text(const VerbFacts& verb, size_t width, bool all) {
  const size_t indent = width >= 70 ? kWidestHeading : 12;
  std::string text;
  for (const std::string& group : groups()) {
    const std::vector<const OptionFacts*> members = options_of(verb, group, all);
    if (members.empty()) continue;
    text += heading(title_of(group));
    for (const OptionFacts* option : members) text += row(heading_of(*option), described(*option), indent, width);
  }
  text += heading("help") + row("-h, --help", all ? "the options that most people need" : "this text", indent, width);
  const size_t count = verb.shown().size();
  const bool more = options_shown(verb) < count;
  if (more) text += row("--help-all", all ? "this text" : fmt::format("all {} options", count), indent, width);
  return text;
}

std::string help_of_verb(const VerbFacts& verb, bool all) {
  const size_t width = columns();
  std::string text = wrapped(verb.path() + ":", " " + verb.help, 2, width);
  text.insert(text.find(':') + 1, " ");
  const std::vector<std::string> usages = usages_of(verb);
  for (size_t at = 0; at < usages.size(); ++at)
    text += (at == 0 ? "\nusage: " : "       ") + std::string("pantoum ") + usages[at] + "\n";
  const std::vector<const OptionFacts*> positionals = verb.positionals();
  if (!positionals.empty()) text += "\n";
  for (const OptionFacts* option : positionals)
    text += row(option->name(), described(*option), width >= 70 ? kWidestHeading : 12, width);
  if (!verb.verbs.empty()) text += "\n";
  for (const auto& inner : verb.verbs) text += row(inner->name, inner->help, kVerbIndent, width);
  text += options_text(verb, width, all);
  const VerbRow* known = row_of_verb(table_name(verb));
  if (known == nullptr) return text;
  text += heading("examples");
  for (const std::string_view example : known->examples) text += command(example, width);
  return text;
}

std::string help_of_program(const ProgramFacts& program) {
  const size_t width = columns();
  std::string text = wrapped("", program.help, 0, width);
  text += fmt::format("\nusage: {} VERB ...\n", program.name);
  text += fmt::format(
      "\nstart here: {0} inspect net.onnx\n"
      "      then: {0} train net.onnx --data DIR --ram 64MiB -o out.safetensors\n",
      program.name);
  for (const VerbGroup& group : verb_groups()) {
    std::string rows;
    for (const auto& verb : program.verbs) {
      const VerbRow* known = row_of_verb(verb->name);
      if (!verb->hidden && known != nullptr && known->group == group.name)
        rows += row(verb->name, verb->help, kVerbIndent, width);
    }
    text += heading(fmt::format("{} ({})", group.name, group.says)) + rows;
  }
  std::string others;
  for (const auto& verb : program.verbs)
    if (!verb->hidden && row_of_verb(verb->name) == nullptr) others += row(verb->name, verb->help, kVerbIndent, width);
  if (!others.empty()) text += heading("more") + others;
  return text + heading("help") +
         row("help VERB", "options of a verb, with examples; VERB --help is the same", kVerbIndent, width) +
         row("-V, --version", "the version of this program", kVerbIndent, width) +
         row("-h, --help", "this text", kVerbIndent, width);
}

}  // namespace

std::vector<const OptionFacts*> options_of(const VerbFacts& verb, const std::string& group, bool all) {
  std::vector<const OptionFacts*> members;
  for (const OptionFacts* option : verb.shown())
    if (option->group == group && (all || option->level == Shown::common)) members.push_back(option);
  return members;
}

std::string title_of(const std::string& group) {
  if (group == groups().back()) return "more options";
  return group == "research" ? "research (for measurements and comparisons)" : group;
}

std::string heading_of(const OptionFacts& option) {
  std::string text = fmt::format("{}", fmt::join(option.names, ", "));
  const std::string value = value_word(option);
  if (value.empty() || option.positional()) return text;
  return text + (option.alone ? "[=" + value + "]" : " " + value);
}

std::string described(const OptionFacts& option) {
  std::string text = option.help;
  const bool tells_all = std::all_of(option.choices.begin(), option.choices.end(),
                                     [&](const std::string& name) { return text.find(name) != std::string::npos; });
  constexpr size_t kMostTold = 12;
  const bool few = option.kind == Kind::kWord || (option.kind == Kind::kText && option.choices.size() <= kMostTold);
  if (few && !tells_all)
    text += fmt::format("{}{}", text.empty() ? "" : "; ", listed(option.choices));
  const bool tells_range = option.within && option.within->second < 100'000;
  if (tells_range) text += fmt::format(" ({})", range_words(option));
  if (option.required && !option.needless && !option.positional()) text += " (required)";
  if (!option.shown_default.empty() && !option.flag) text += fmt::format(" (default{})", option.shown_default);
  return text;
}

std::string table_name(const VerbFacts& verb) {
  const std::string path = verb.path();
  return path.substr(std::min(path.size(), path.find(' ') + 1));
}

std::vector<std::string> usages_of(const VerbFacts& verb) {
  const VerbRow* known = row_of_verb(table_name(verb));
  if (known == nullptr) return {table_name(verb) + " [options]"};
  std::vector<std::string> lines;
  std::string rest(known->usage);
  lines.push_back(table_name(verb) + (rest.empty() ? "" : " ") + rest.substr(0, rest.find('\n')));
  while (rest.find('\n') != std::string::npos) {
    rest.erase(0, rest.find('\n') + 1);
    lines.push_back(rest.substr(0, rest.find('\n')));
  }
  return lines;
}

std::string help_of(const VerbFacts& verb, const ProgramFacts& program, bool all) {
  return verb.parent == nullptr ? help_of_program(program) : help_of_verb(verb, all);
}

}  // namespace pantoum::cli
