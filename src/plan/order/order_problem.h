// A step of which everything is fixed but the order: each op runs once, by one choice, and every tensor is freed after
// its last reader.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "plan/simulate/model.h"

namespace pantoum::plan {

struct OrderOp {
  struct Write {
    TensorIndex tensor;
    TensorIndex over;  // whose bytes it takes over where no other reader is left; or none
  };
  std::vector<TensorIndex> reads;      // of its choice
  std::vector<TensorIndex> holds;      // others that a retained plan frees after it at the earliest
  std::vector<Write> writes;           // nothing where the op is not computed
  std::vector<OpIndex> before;         // ops that have to stand before it, distinct
  std::vector<OpIndex> after;          // ops that have to stand behind it, distinct
  std::vector<OpIndex> always_before;  // of `before`, those that no rule of this search alone puts there
  Bytes workspace = 0;
};

struct OrderTensor {
  Bytes size = 0;
  OpIndex producer;              // the op that writes it, where one does
  std::vector<OpIndex> users;    // ops that read or hold it, distinct
  std::vector<OpIndex> readers;  // those that read it
  bool from_start = false;       // in RAM when the step starts
  bool loaded = false;           // read from storage by its first reader
  bool kept = false;             // until the end of the step, unless it is taken over
};

struct OrderProblem {
  Indexed<OpIndex, OrderOp> ops;  // numbered as the model's, whose order is valid
  Indexed<TensorIndex, OrderTensor> tensors;
  Bytes first_live = 0;     // when the step starts
  Bytes opened_live = 0;    // once what nobody reads is freed
  bool every_order = true;  // every order that ends with its tensors in place keeps the rule that updates stand last,
                            // and nothing is held longer than it is read
};

// The model's order is one that may be changed; these choices are taken in any order. Cost: linear.
OrderProblem make_order_problem(const Model& model, const Choices& choices);

class OrderSteps {
 public:
  // A step is an op that is run, taken back or looked at.
  OrderSteps(int64_t steps, const std::stop_token& stop) : left_(steps), stop_(stop) {}
  void take(int64_t steps) { left_ -= steps; }
  bool spent() const { return left_ <= 0 || stop_.stop_requested(); }
  int64_t left() const { return left_; }

 private:
  int64_t left_;
  const std::stop_token& stop_;
};

}  // namespace pantoum::plan
