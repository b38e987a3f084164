#include <cstring>

#include "rewrite/rule.h"

namespace pantoum::rewrite {

std::span<const Rule> rules() {
  return {};
}

const Rule* find_rule(const char* name) {
  for (const Rule& rule : rules())
    if (std::strcmp(rule.name, name) == 0) return &rule;
  return nullptr;
}

}  // namespace pantoum::rewrite
