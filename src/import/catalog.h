// What is supported, for docs/operators.md.
#pragma once

#include <string>
#include <vector>

namespace pantoum::import {

struct CatalogEntry {
  std::string op_type;               // of ONNX's own domain
  bool lowered = false;              // into ops of the graph
  bool folded = false;               // computed while importing where its operands are known
  bool gradient = false;             // a gradient passes through it
  std::vector<std::string> made_of;  // the ops that it may become; none: a view of the same bytes, or nothing at all
  std::string note;                  // limits, in a few words; of an operator that is neither: why it is refused
  std::string help;                  // and what to do
};

// Every operator of opset 21 once, sorted by name.
[[nodiscard]] std::vector<CatalogEntry> operator_catalog();

}  // namespace pantoum::import
