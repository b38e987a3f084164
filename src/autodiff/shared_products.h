// One weight in many products (a recurrent network's time steps): its gradient as few products over stacked factors.
//
//   dW = dy_1' a_1 + ... + dy_T' a_T = [dy_1; ...; dy_T]' [a_1; ...; a_T]
//
// T thin products and their sum read and write the weight's size T times; the stacks move the factors once. Stacked is
// what moves fewer bytes that way, in the order of the forward ops, up to ir::kTallRows, so that the factors of few
// steps are in RAM together.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "ir/builder.h"

namespace pantoum::autodiff {

class SharedProducts {
 public:
  // `takes_part` by op: is it differentiated? `active` by value: does it want a gradient?
  SharedProducts(const ir::Graph& forward, const std::vector<char>& takes_part, const std::vector<char>& active);

  // Clears in `wanted` the op's inputs whose gradients come from a stack.
  void claim(const ir::Op& op, std::vector<char>& wanted) const;

  // A contribution to the gradient of a weight or a bias.
  struct Contribution {
    ir::ValueId value, part;
  };
  // The op was differentiated, with this gradient of its output (kNone: none flows); what its stack gives once it is
  // the last of it.
  [[nodiscard]] std::vector<Contribution> add(ir::Builder& builder, const ir::Op& op, ir::ValueId d_output);

 private:
  struct Stack {
    std::set<ir::ValueId> waiting;                                     // outputs of products not differentiated yet
    std::map<ir::ValueId, std::pair<ir::ValueId, ir::ValueId>> parts;  // output -> (left factor, output's gradient)
  };
  std::vector<char> active_;
  std::vector<Stack> stacks_;
  std::map<ir::ValueId, size_t> stack_of_;  // by a product's output

  [[nodiscard]] std::vector<Contribution> contributions(ir::Builder& builder, const ir::Op& op, ir::ValueId a,
                                                        ir::ValueId dy) const;
};

}  // namespace pantoum::autodiff
