#include "cli/line/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/foreign_text.h"
#include "cli/line/help_text.h"
#include "cli/line/option_table.h"
#include "cli/line/verb_table.h"

namespace pantoum::cli {
namespace {

// Escapes text for mdoc, so that no line begins with a dot or an apostrophe, and a backslash is printed.
std::string roff(const std::string& text) {
  std::string safe;
  for (const char letter : text) {
    if (letter == '\\') {
      safe += "\\e";
    } else if (letter == '-') {
      safe += "\\-";
    } else {
      safe += letter;
    }
  }
  if (safe.starts_with('.') || safe.starts_with('\'')) safe.insert(0, "\\&");
  return safe;
}

// Sentences on lines of their own, as mdoc wants them.
std::string paragraph(const std::string& text) {
  std::string lines = roff(text);
  for (size_t at = lines.find(". "); at != std::string::npos; at = lines.find(". ", at + 2)) lines[at + 1] = '\n';
  return lines + "\n";
}

std::string page_name(const VerbFacts& verb) {
  std::string name = verb.path();
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

// Escapes an argument of a macro, which mdoc would otherwise read as another macro or as punctuation.
std::string argument(const std::string& text) {
  return "\\&" + roff(text);
}

std::string head_of(const VerbFacts& verb) {
  std::string title = page_name(verb);
  std::transform(title.begin(), title.end(), title.begin(), [](unsigned char letter) { return std::toupper(letter); });
  return fmt::format(".Dd $Mdocdate$\n.Dt {} 1\n.Os\n.Sh NAME\n.Nm {}\n.Nd {}\n", title, page_name(verb),
                     roff(verb.help));
}

std::string options_section(const VerbFacts& verb) {
  std::string text;
  for (const OptionFacts* option : verb.positionals())
    text += fmt::format(".It Ar {}\n{}", argument(option->name()), paragraph(described(*option)));
  for (const std::string& group : groups())
    for (const OptionFacts* option : options_of(verb, group)) {
      std::string heading;
      for (const std::string& name : option->names)
        heading += fmt::format("{}Fl {}", heading.empty() ? ".It " : " , ", roff(name.substr(1)));
      const std::string value = value_word(*option);
      text += heading + (value.empty() ? "" : " Ar " + argument(value)) + "\n" + paragraph(described(*option));
    }
  return text.empty() ? "" : ".Bl -tag -width Ds\n" + text + ".El\n";
}

std::string examples_section(const VerbFacts& verb) {
  const VerbRow* known = row_of_verb(table_name(verb));
  if (known == nullptr) return "";
  std::string text = ".Sh EXAMPLES\n";
  for (const std::string_view example : known->examples)
    text += fmt::format(".Dl {}\n", argument(std::string(example)));
  return text;
}

std::string verb_page(const VerbFacts& verb) {
  std::string text = head_of(verb) + ".Sh SYNOPSIS\n";
  for (const std::string& usage : usages_of(verb)) text += fmt::format(".Nm pantoum\n.Ar {}\n", argument(usage));
  text += ".Sh DESCRIPTION\n" + paragraph(verb.help + ".") + ".Pp\nThe options are:\n" + options_section(verb);
  return text + examples_section(verb) + ".Sh SEE ALSO\n.Xr pantoum 1\n";
}

std::string program_page(const ProgramFacts& program, const std::vector<const VerbFacts*>& verbs) {
  VerbFacts title;
  title.name = program.name, title.help = "trains neural networks inside a RAM budget";
  std::string text = head_of(title) + ".Sh SYNOPSIS\n.Nm\n.Ar VERB\n.Op Ar options\n.Sh DESCRIPTION\n" +
                     paragraph(program.help) + ".Pp\nThe verbs are:\n.Bl -tag -width Ds\n";
  std::vector<std::string> names;
  for (const VerbFacts* verb : verbs) {
    names.push_back(page_name(*verb));
    text += fmt::format(".It Ic {}\n{}", argument(table_name(*verb)), paragraph(verb->help));
  }
  text +=
      ".El\n.Sh ENVIRONMENT\n.Bl -tag -width Ds\n.It Ev NO_COLOR\nmessages have no colours\n"
      ".It Ev CLICOLOR_FORCE\nmessages have colours, in a pipe too\n.It Ev XDG_CACHE_HOME\n"
      "where times that were measured are kept\n.It Ev TMPDIR\ntemporary files\n.El\n";
  text +=
      ".Sh EXIT STATUS\n0 done, 1 internal error, 2 usage, 3 input, 4 unsupported, 5 proved infeasible,\n"
      "6 limit without a plan, 7 gap not reached, 8 verification, 9 device or storage,\n130 interrupted.\n";
  std::sort(names.begin(), names.end());
  std::string pages;
  for (const std::string& name : names) pages += fmt::format("{}.Xr {} 1", pages.empty() ? "" : " ,\n", name);
  return text + ".Sh SEE ALSO\n" + pages + "\n";
}

std::vector<const VerbFacts*> pages_of(const ProgramFacts& program) {
  std::vector<const VerbFacts*> all;
  for (const auto& verb : program.verbs) {
    if (verb->hidden) continue;
    all.push_back(verb.get());
    for (const auto& inner : verb->verbs) all.push_back(inner.get());
  }
  return all;
}

std::string rows_of(const VerbFacts& verb) {
  std::string text;
  for (const std::string& group : groups()) {
    const std::vector<const OptionFacts*> members = options_of(verb, group);
    if (members.empty()) continue;
    text += fmt::format("\n| {} | |\n| --- | --- |\n", title_of(group));
    for (const OptionFacts* option : members) {
      std::string says = base::markdown_text(described(*option));
      text += fmt::format("| `{}` | {} |\n", heading_of(*option), says);
    }
  }
  return text;
}

std::string reference_of(const VerbFacts& verb) {
  std::string text = fmt::format("\n## {}\n\n{}.\n\n```\n", table_name(verb), base::markdown_text(verb.help));
  for (const std::string& usage : usages_of(verb)) text += "pantoum " + usage + "\n";
  text += "```\n";
  if (!verb.positionals().empty()) text += "\n";
  for (const OptionFacts* option : verb.positionals())
    text += fmt::format("* `{}`: {}\n", option->name(), base::markdown_text(described(*option)));
  text += rows_of(verb);
  const VerbRow* known = row_of_verb(table_name(verb));
  if (known == nullptr) return text;
  text += "\n```\n";
  for (const std::string_view example : known->examples) text += std::string(example) + "\n";
  return text + "```\n";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> man_pages(const ProgramFacts& program) {
  const std::vector<const VerbFacts*> verbs = pages_of(program);
  std::vector<std::pair<std::string, std::string>> pages;
  pages.emplace_back(program.name + ".1", program_page(program, verbs));
  for (const VerbFacts* verb : verbs) pages.emplace_back(page_name(*verb) + ".1", verb_page(*verb));
  return pages;
}

std::string reference_page(const ProgramFacts& program) {
  std::string text =
      "# The command line\n\n`pantoum VERB "
      "--help-all` says the same.\n\n| verb | |\n| --- | --- |\n";
  const std::vector<const VerbFacts*> verbs = pages_of(program);
  for (const VerbFacts* verb : verbs)
    text += fmt::format("| [{0}](#{1}) | {2} |\n", table_name(*verb), page_name(*verb).substr(program.name.size() + 1),
                        base::markdown_text(verb->help));
  for (const VerbFacts* verb : verbs) text += reference_of(*verb);
  return text;
}

}  // namespace pantoum::cli
