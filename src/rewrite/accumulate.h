// The sum of two products as one: the addition happens where the product adds up anyway (what beta = 1 is for).
#pragma once

#include "rewrite/bilinear.h"

namespace pantoum::rewrite {

// The addition at `at` of two bilinear ops of one kind; nothing where they do not fit.
[[nodiscard]] std::optional<ir::Graph> accumulate(const ir::Graph& graph, ir::OpId at);

}  // namespace pantoum::rewrite
