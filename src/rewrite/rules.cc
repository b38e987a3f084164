// The table of substitutions. First what brings ops together, then what only takes work away, then what trades one form for
// another.
#include <algorithm>
#include <string_view>

#include "rewrite/rule.h"

namespace pantoum::rewrite {

std::span<const Rule> rules() {
  using enum Preserves;
  // name, what it does, what it preserves, tolerance, of inference alone
  static constexpr Rule kRules[] = {
      {"merge-equal-ops", "what is computed twice is computed once", kBits, 0, false, merge_equal_ops},
      {"merge-transposes", "a transpose of a transpose is one transpose, or none", kBits, 0, false, merge_transposes},
      {"merge-reshapes", "a view of a view is one view, or none", kBits, 0, false, merge_reshapes},
      {"fold-parameters", "ops on parameters are computed before the program runs", kValues, 1e-5, true,
       fold_parameters},
      {"sink-transpose", "transposes before a pointwise op become one behind it", kBits, 0, false, sink_transpose},
      {"sink-reshape", "views before a pointwise op become one behind it", kBits, 0, false, sink_reshape},
      {"sink-split", "the same pointwise op on all pieces of a split is done before it", kBits, 0, false, sink_split},
      {"drop-zero-terms", "x + 0 is x, but for the sign of a zero", kValues, 1e-7, false, drop_zero_terms},
      {"merge-scales", "two scalings in a row are one", kValues, 1e-6, false, merge_scales},
      {"fold-bias", "a vector added to a product or convolution is its bias", kValues, 1e-6, false, fold_bias},
      {"fold-batch-norm", "batch norm by stored statistics becomes part of the weights before it", kValues, 1e-5, true,
       fold_batch_norm},
      {"fold-scale-shift", "scalings and shifts of channels become part of the weights before them", kValues, 1e-5,
       true, fold_scale_shift},
      {"transpose-into-product", "a transpose before a product becomes its flag", kValues, 1e-5, false,
       transpose_into_product},
      {"transpose-of-product", "a transposed product is the product of the transposed factors", kValues, 1e-5, false,
       transpose_of_product},
      {"merge-convolutions", "convolutions of one image are one, the weights side by side", kValues, 1e-5, false,
       merge_convolutions},
      {"merge-convolution-batches", "convolutions with one weight are one over a larger batch", kValues, 1e-5, false,
       merge_convolution_batches},
      {"accumulate-convolutions", "the sum of two convolutions or of their gradients is one", kValues, 1e-5, false,
       accumulate_convolutions}};
  return kRules;
}

const Rule* find_rule(const char* name) {
  const auto found = std::ranges::find_if(
      rules(), [&](const Rule& rule) { return name != nullptr && std::string_view(rule.name) == name; });
  return found == rules().end() ? nullptr : &*found;
}

}  // namespace pantoum::rewrite
