// The op families, one file each (ops_<family>.cc); op_registry.cc collects them.
#pragma once

#include <vector>

#include "ir/op_registry.h"

namespace pantoum::ir {

[[nodiscard]] std::vector<OpDef> product_ops();
[[nodiscard]] std::vector<OpDef> attention_ops();
[[nodiscard]] std::vector<OpDef> conv_ops();
[[nodiscard]] std::vector<OpDef> epilogue_ops();
[[nodiscard]] std::vector<OpDef> binary_ops();
[[nodiscard]] std::vector<OpDef> select_ops();
[[nodiscard]] std::vector<OpDef> unary_ops();
[[nodiscard]] std::vector<OpDef> unary_grad_ops();
[[nodiscard]] std::vector<OpDef> rows_ops();
[[nodiscard]] std::vector<OpDef> norm_ops();
[[nodiscard]] std::vector<OpDef> pool_ops();
[[nodiscard]] std::vector<OpDef> resize_ops();
[[nodiscard]] std::vector<OpDef> reduce_ops();
[[nodiscard]] std::vector<OpDef> scan_ops();
[[nodiscard]] std::vector<OpDef> move_ops();
[[nodiscard]] std::vector<OpDef> index_ops();
[[nodiscard]] std::vector<OpDef> scatter_ops();
[[nodiscard]] std::vector<OpDef> random_ops();
[[nodiscard]] std::vector<OpDef> loss_ops();
[[nodiscard]] std::vector<OpDef> recurrent_ops();
[[nodiscard]] std::vector<OpDef> sequence_ops();
[[nodiscard]] std::vector<OpDef> compact_ops();
[[nodiscard]] std::vector<OpDef> gradient_ops();
[[nodiscard]] std::vector<OpDef> update_ops();
[[nodiscard]] std::vector<OpDef> product_update_ops();
[[nodiscard]] std::vector<OpDef> nchwc_ops();
[[nodiscard]] std::vector<OpDef> alias_ops();
[[nodiscard]] std::vector<OpDef> custom_ops();

}  // namespace pantoum::ir
