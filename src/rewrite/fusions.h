// Several ops that are one op: less to keep for the gradient, and one pass over memory in place of many. Each takes a
// valid graph and returns it with what it found; names of outputs stay.
#pragma once

#include "ir/graph.h"

namespace pantoum::rewrite {

// Before autodiff.

// matmul + a vector that lives between steps -> matmul with a bias. The same bits.
[[nodiscard]] ir::Graph fuse_product_bias(ir::Graph graph);

// x / 2 (1 + erf(x / sqrt 2)) and its approximation by tanh, however they are written -> gelu. The same up to the rounding of
// the constants that the exporter wrote: 5e-5 for inputs between -5 and 6.
[[nodiscard]] ir::Graph fuse_gelu(ir::Graph graph);

// softmax(steps(Q K')) V, where the steps are scalings by a number, masks added and masks that choose a number, and
// where nobody else reads scores or weights -> attention: the scores are no tensor, forward or backward, which makes
// them again. Its portable kernels give the same bits; products of a back end round otherwise when they are made in
// blocks. What stays: dropout of the weights, masks that a trained parameter reaches (they want a gradient as large as the
// scores), products with a bias or with factors of fewer batches, and more steps than PT_ATTENTION_STEPS.
[[nodiscard]] ir::Graph fuse_attention(ir::Graph graph);

// Of a training step.

// Batch norm + a cheap activation (PT_NORM_ACTIVATIONS) that alone reads it -> batch_norm_act, a pass over memory less;
// the gradient of that activation + batch_norm_grad -> batch_norm_act_grad, which tells the slope from what the norm
// read: neither the activated image nor its signs are kept for it. The same bits. Also of evaluation.
[[nodiscard]] ir::Graph fuse_norm_activation(ir::Graph graph);

// conv2d or matmul (+ what is added to it, element for element) (+ an activation of PT_EPILOGUES), each of which alone
// reads the one before it -> conv2d_act, matmul_act, a pass over memory less each. They stand where the product stood:
// nothing waits for them. Where a gradient needs what the activation read, the ops stay; leaky relu's is told from its
// output. The same bits; a product that gives NaN gives, under relu by a back end's kernels, infinity. `by_back_end`:
// products run by one: activations that it finishes, and nothing is written over what is added.
[[nodiscard]] ir::Graph fuse_epilogues(ir::Graph graph, bool by_back_end);

// conv2d_dx + the gradient of the activation before that convolution -> conv2d_dz, which may be written over what the
// activation's gradient reads: dX never stands beside it. The same bits. Gradients with alternatives (compact_activations)
// stay.
[[nodiscard]] ir::Graph fuse_conv_gradient(ir::Graph graph);

// A weight's gradient + the update that alone reads it -> one op, whose kernels make the gradient in their workspace,
// or in strips, each finished and then applied: the gradient is no tensor. The same bits. Where that op would hold more
// than the gradient (the image that its gradient, made of the same dY, is written over otherwise), the two stay.
[[nodiscard]] ir::Graph fuse_updates(ir::Graph graph);

}  // namespace pantoum::rewrite
