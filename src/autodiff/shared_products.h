// One weight in many products (a recurrent network's time steps): its gradient as few products over stacked factors.
//
//   dW = dy_1' a_1 + ... + dy_T' a_T = [dy_1; ...; dy_T]' [a_1; ...; a_T]
//
// T thin products and their sum read and write the weight's size T times; the stacks move the factors once. Stacked is
// what moves fewer bytes that way, up to ir::kTallRows, in the order of the forward ops.
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
  // The op was differentiated with this gradient of its first output.
  void add(const ir::Op& op, ir::ValueId d_output);
  // What the stacks of a weight or a bias give once every op that reads it was added; kNone: nothing.
  [[nodiscard]] ir::ValueId gradient(ir::Builder& builder, ir::ValueId value) const;

 private:
  struct Stack {
    bool trans_b = false;
    std::map<ir::ValueId, std::pair<ir::ValueId, ir::ValueId>> parts;  // output -> (left factor, output's gradient)
  };
  std::map<ir::ValueId, Stack> weights_, biases_;
  std::set<ir::ValueId> claimed_;  // outputs of the products that are stacked
};

}  // namespace pantoum::autodiff
