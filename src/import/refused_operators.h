// Operators of opset 21 that Pantoum refuses, and why: what a refusal says and what docs/operators.md lists.
#pragma once

#include <span>
#include <string>

namespace pantoum::import {

struct RefusedOperator {
  const char* op_type;  // of ai.onnx
  const char* why;
  const char* help;
};

[[nodiscard]] std::span<const RefusedOperator> refused_operators();

// What to say of an operator that is neither lowered nor folded, of whatever domain: it may be none of ONNX at all.
[[nodiscard]] RefusedOperator refusal_of(const std::string& domain, const std::string& op_type);

}  // namespace pantoum::import
