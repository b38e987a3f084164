#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>

#include "aten/operators.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "import/catalog.h"
#include "ir/op_registry.h"

namespace pantoum::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kHead =
    "# Operators\n\n"
    "`pantoum operators` prints this table.\n\n"
    "## ONNX\n\n"
    "Domain ai.onnx, opsets 11 to 21, in the form that each opset gives an operator (attributes that became inputs, "
    "and so on). Tensors are\n"
    "float32 unless the notes say otherwise. *Becomes* names the ops below; several are a decomposition, whose "
    "gradient is "
    "that of its parts.\n"
    "*Folded* operators are computed while importing where their operands are known, whatever their types; those "
    "without ops are supported in\n"
    "that way alone. *Gradient*: an operator without a gradient runs only forward, and no gradient passes through it.\n"
    "int64, int32, uint8 and bool are computed in their own type, folded or at run time, and no gradient passes: sums "
    "and "
    "products wrap as in\n"
    "numpy, x / 0 and the rest of it are 0, the least integer divided by -1 is itself. A cast keeps the low bits of an "
    "integer, and of a\n"
    "floating-point number the nearest integer towards zero that the type holds (0 of a NaN).\n\n"
    "| operator | gradient | becomes | folded | notes |\n| --- | --- | --- | --- | --- |\n";

constexpr const char* kRefused =
    "\n### Refused\n\n"
    "With the rows above, every operator of opset 21. `inspect` and every verb that reads a model say the same of a "
    "node.\n\n"
    "| refused | why | what to do |\n| --- | --- | --- |\n";

constexpr const char* kAten = R"(
## ATen

The operators of [torch graphs](torch-graph.md). The Python package decomposes a module into these, by PyTorch's own decompositions.

Gradients pass: {}.

No gradient passes, as in PyTorch: {}.
)";

constexpr const char* kOwn =
    "\n## Ops of Pantoum\n\n"
    "The ops of a training step, under their names in plans; [ops.h](../include/pantoum/ops.h) has operands, "
    "attributes and "
    "meaning. *In place*: its\n"
    "result may be written over an input. An op that is not repeatable has an effect that must happen only once in a "
    "step.\n\n"
    "| op | id | inputs | outputs | integers | reals | gradient | in place | repeatable |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";

const char* yes_or_no(bool holds) {
  return holds ? "yes" : "no";
}

std::string range_of(int least, int most) {
  if (least == ir::kAny) return "any";
  if (most == ir::kAny) return fmt::format("{} or more", least);
  return least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
}

std::string row_of(const import::CatalogEntry& entry) {
  const std::string becomes =
      entry.made_of.empty() ? "a view, or nothing" : fmt::format("{}", fmt::join(entry.made_of, ", "));
  return fmt::format("| {} | {} | {} | {} | {} |\n", entry.op_type, entry.lowered ? yes_or_no(entry.gradient) : "",
                     entry.lowered ? becomes : "", entry.folded ? "yes" : "", entry.note);
}

bool is_refused(const import::CatalogEntry& entry) {
  return !entry.lowered && !entry.folded;
}

std::string rows_of_operators() {
  std::string run, refused;
  for (const import::CatalogEntry& entry : import::operator_catalog()) {
    if (!is_refused(entry)) run += row_of(entry);
    if (is_refused(entry)) refused += fmt::format("| {} | {} | {} |\n", entry.op_type, entry.note, entry.help);
  }
  return kHead + run + kRefused + refused;
}

std::string row_of(const ir::OpDef& def) {
  const ir::Signature& has = def.signature;
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", def.name, static_cast<int>(def.kind),
                     range_of(has.min_inputs, has.max_inputs), range_of(has.min_outputs, has.max_outputs),
                     range_of(has.ints, has.ints), range_of(has.reals, has.reals), yes_or_no(def.gradient != nullptr),
                     yes_or_no(def.in_place != nullptr), yes_or_no(def.recompute));
}

// Returns the operators of torch graphs by name; the value is whether a gradient passes the operator.
std::map<std::string, bool> aten_operators() {
  std::map<std::string, bool> all;
  for (const auto& [name, entry] : aten::all_operators()) all.emplace(name, entry->gradient);
  return all;
}

std::string aten_lists() {
  std::vector<std::string> with, without;
  for (const auto& [name, gradient] : aten_operators()) (gradient ? with : without).push_back(name);
  return fmt::format(fmt::runtime(kAten), fmt::join(with, ", "), fmt::join(without, ", "));
}

Json to_json() {
  Json onnx = Json::array(), own = Json::array(), torch = Json::array();
  for (const auto& [name, gradient] : aten_operators()) torch.push_back({{"operator", name}, {"gradient", gradient}});
  for (const import::CatalogEntry& entry : import::operator_catalog()) {
    onnx.push_back({{"operator", entry.op_type},
                    {"runs", entry.lowered},
                    {"folded", entry.folded},
                    {"gradient", entry.gradient},
                    {"becomes", entry.made_of},
                    {"notes", entry.note},
                    {"refused", is_refused(entry)},
                    {"help", entry.help}});
  }
  for (const ir::OpDef& def : ir::all_op_defs()) {
    own.push_back({{"op", def.name}, {"id", static_cast<int>(def.kind)}, {"gradient", def.gradient != nullptr}});
  }
  return {{"onnx", onnx}, {"aten", torch}, {"ops", own}};
}

}  // namespace

void add_operators(CommandLine& line) {
  auto common = std::make_shared<Common>();
  Verb verb = line.add_verb("operators", "the operators of ONNX that run and train here, and the ops they become");
  add_common(verb, *common);
  verb.does([common]() -> Result<int> {
    std::string text = rows_of_operators() + aten_lists() + kOwn;
    for (const ir::OpDef& def : ir::all_op_defs()) text += row_of(def);
    common->json() ? print_json(to_json(), 1) : print_result(text);
    return 0;
  });
}

}  // namespace pantoum::cli
