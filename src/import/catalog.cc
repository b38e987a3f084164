#include "import/catalog.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "import/fold.h"
#include "import/operator_forms.h"
#include "import/operators.h"
#include "import/refused_operators.h"
#include "ir/op_registry.h"

namespace pantoum::import {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

// The last op makes the result.
bool has_gradient(const std::vector<std::string>& made_of) {
  return made_of.empty() || std::ranges::any_of(ir::all_op_defs(), [&](const ir::OpDef& def) {
           return made_of.back() == def.name && def.gradient != nullptr;
         });
}

}  // namespace

std::vector<CatalogEntry> operator_catalog() {
  std::vector<CatalogEntry> catalog;
  for (const auto family : all_operators()) {
    for (const OperatorEntry& entry : family) {
      const std::vector<std::string> made_of = words_of(entry.made_of);
      catalog.push_back(
          {entry.op_type, true, is_folded(entry.op_type), has_gradient(made_of), made_of, entry.note, ""});
    }
  }
  for (const OperatorEntry& entry : folded_operators()) catalog.push_back({.op_type = entry.op_type, .folded = true});
  const auto add_refused = [&](const char* op_type) {
    if (std::ranges::find(catalog, op_type, &CatalogEntry::op_type) != catalog.end()) return;
    const RefusedOperator refused = refusal_of("", op_type);
    catalog.push_back({.op_type = op_type, .note = refused.why, .help = refused.help});
  };
  for (const OperatorFormText& form : operator_forms()) add_refused(form.op_type);
  for (const RefusedOperator& refused : refused_operators()) add_refused(refused.op_type);  // deprecated ones, too
  std::ranges::sort(catalog, {}, &CatalogEntry::op_type);
  return catalog;
}

}  // namespace pantoum::import
