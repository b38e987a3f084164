// What is supported, for docs/operators.md.
#pragma once

#include <span>
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

// Operators of opset 21 that Pantoum refuses, and why: what a refusal says and what docs/operators.md lists.

struct RefusedOperator {
  const char* op_type;  // of ai.onnx
  const char* why;
  const char* help;
};

[[nodiscard]] std::span<const RefusedOperator> refused_operators();

// What to say of an operator that is neither lowered nor folded, of whatever domain: it may be none of ONNX at all.
[[nodiscard]] RefusedOperator refusal_of(const std::string& domain, const std::string& op_type);

// The words of a table's cell, between blanks.
[[nodiscard]] std::vector<std::string> words_of(const std::string& text);

}  // namespace pantoum::import
