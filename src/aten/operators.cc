#include "aten/operators.h"

#include <sstream>

namespace pantoum::aten {

const std::multimap<std::string, const OperatorEntry*>& all_operators() {
  static const auto entries = [] {
    std::multimap<std::string, const OperatorEntry*> all;
    for (const Family family : {element_operators, reduce_operators, move_operators, index_operators, product_operators,
                                window_operators, norm_operators, random_operators, loss_operators, resize_operators})
      for (const OperatorEntry& entry : family) {
        std::istringstream names(entry.names);
        for (std::string name; names >> name;) all.emplace(name, &entry);
      }
    return all;
  }();
  return entries;
}

const OperatorEntry* find_operator(const std::string& op) {
  if (!op.starts_with("aten.")) return nullptr;
  const auto found = all_operators().find(op.substr(5));
  return found == all_operators().end() ? nullptr : found->second;
}

}  // namespace pantoum::aten
