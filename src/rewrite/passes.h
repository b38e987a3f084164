// Several ops that are one op: less to keep for the gradient, and one pass over memory in place of many. Each takes a
// valid graph and returns it with what it found; names of outputs stay.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ir/graph.h"
#include "pantoum/pantoum.h"

namespace pantoum::rewrite {

// Before autodiff.

// matmul + a vector that lives between steps -> matmul with a bias. The same bits.
[[nodiscard]] ir::Graph fuse_product_bias(ir::Graph graph);

// x / 2 (1 + erf(x / sqrt 2)) and its approximation by tanh, however they are written -> gelu. The same up to the rounding of
// the constants that the exporter wrote: 5e-5 for inputs between -5 and 6.
[[nodiscard]] ir::Graph fuse_gelu(ir::Graph graph);

// The gates of an LSTM's time step and its states, written out (nn.LSTMCell, as it is exported): a sum of two values
// [N,4H] in four parts, f c + i tanh(g), o tanh(c') -> lstm_cell. The same up to the rounding of the activations.
[[nodiscard]] ir::Graph fuse_lstm_cell(ir::Graph graph);

// softmax(steps(Q K')) V, where the steps are scalings by a number, masks added and masks that choose a number, and
// where nobody else reads scores or weights -> attention: the scores are no tensor, forward or backward, which makes
// them again. Its portable kernels give the same bits; products of a back end round otherwise when they are made in
// blocks. What stays: dropout of the weights, masks that a trained parameter reaches (they want a gradient as large as the
// scores), products with a bias or with factors of fewer batches, and more steps than PT_ATTENTION_STEPS.
[[nodiscard]] ir::Graph fuse_attention(ir::Graph graph);

// Passes over a training step.

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

// Backward needs less of an activation than forward made: its signs for relu, a tap per window for max pooling.

// The same step with more ways to compute it: beside an activation that backward reads for gradients of relu, leaky
// relu and max pooling alone, an optional op that makes its signs or taps, and on each gradient an alternative that
// reads those in place of the activation. Which it is, is the planner's choice; values are the same bit for bit. An
// activation that some other op of backward needs (a convolution's, for its weight's gradient) is left alone: nothing
// would be saved.
//   graph  a training step, valid
[[nodiscard]] ir::Graph compact_activations(const ir::Graph& graph);

// Computes again what backward reads of a normalized image, from the image that the normalization keeps anyway.

// Behind a batch norm stand its activation, a sum with a skip connection, a concatenation: cheap ops of which backward
// reads the results (a convolution's weight gradient reads its image), while the gradient of the norm reads what the
// norm read. Such results are made again right before backward reads them first, from that image and the statistics of
// the batch, by ops of the same bits; the first ones are free after forward. Of a convolution, norm and activation one
// full image is kept in place of two. Only where the step then takes less RAM, as it would run without a plan; results
// that do not lower its peak are kept.
//   graph    valid; a training step (nothing happens to others)
//   returns  the step with the same bits, names of outputs, parameters and states
//   cost     a walk through the graph for each such result; for very large graphs, for some of them
[[nodiscard]] ir::Graph remake_activations(const ir::Graph& graph);

// Images in blocks of channels: convolutions, and what stands between them, on the layouts that a back end is fast
// with.

// The facts that a back end states about its kernels; see pt_back_end.
struct BlockKernels {
  uint32_t block = 0;  // channels; 0: none
  std::function<int(uint16_t op, const pt_tensor& x, const pt_tensor& y, const uint32_t w[4], const int64_t* ints)>
      weight_layout;
};

// The same step with another layout of its images. A convolution that the back end has a kernel for takes and gives
// blocks; ops that work element by element, normalize, pool, join, split or reduce images follow their operands; all
// others, and everything that outlives the step, stay as they are. Reorders are ops of the graph, one per value and
// layout. Names of parameters, states, inputs, labels and results are untouched; values without readers are dropped.
//   graph    valid; training or evaluation
//   cost     linear in the graph, and one question to the back end per convolution
[[nodiscard]] ir::Graph block_channels(const ir::Graph& graph, const BlockKernels& kernels);

// The RAM that a step takes without a plan.

// By op: the bytes that tensors made by the step take while it runs, in the order of the graph, freed after their last
// use, written in place where ops may. Convolutions hold their weight, or its gradient, twice: back ends want it in
// another layout. Without what the step begins with, and without workspaces.
//   cost  linear in the graph
[[nodiscard]] std::vector<ir::Bytes> unplanned_bytes(const ir::Graph& graph);

}  // namespace pantoum::rewrite
