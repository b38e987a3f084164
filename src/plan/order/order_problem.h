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

// What the search for an order is made of: a bound, a beam, and local search.

// ---- what no order can do without ----
//
// While op u runs, in whatever order and without recomputation and paging, these are live:
//
//   - its operands and its workspace, less what its outputs may take over;
//   - a tensor that an ancestor of u (or the start) has made and a descendant of u reads, or that is kept to the end;
//   - of an op r that is neither before nor behind u: if it comes after u, its inputs that are made before u; if it
//     comes before, its outputs that are read behind u. At least the smaller of the two. An input counts for one r
//     alone. So an update that may come at any time counts with its parameter, old or new.
//
// The most of these over all u, and of what is there when the step starts, is a bound.
// Cost: ops times (ops + tensors); beyond kMostBoundedOps the working sets alone, once stopped less.
inline constexpr size_t kMostBoundedOps = 8000;
Bytes order_bound(const OrderProblem& problem, const std::stop_token& stop);

// ---- beam ----
//
// Dynamic programming over the sets of ops that have run: of all orders of a set only the one with the least peak so
// far goes on. Where there are too many sets of one size, the `width` best of them do: a beam.
//
// Dominance: ops that may run now, that take no more live bytes on the way than the peak so far and leave no more than
// before, run at once. No order is lost: to run them later frees the same bytes later. So what hangs loosely (updates
// and the gradients that only they read) does not multiply the sets, and at an articulation point all orders meet in
// one set.
struct BeamResult {
  std::vector<OpIndex> order;  // of a peak below `below`; empty: none was found
  Bytes peak = 0;
  bool exact = false;  // no set was left out: no order has a smaller peak, or, without one, none is below
};

// Peaks up to `floor` are as good as `floor`. Deterministic.
BeamResult beam_search(const OrderProblem& problem, Bytes floor, Bytes below, size_t width, OrderSteps& steps);

// ---- local search ----
//
// Local search over topological orders: an op, with all that hangs on it, is put later or earlier.
// What is made small first.
enum class OrderGoal : uint8_t {
  kPeak,       // the peak; at the same peak, the bytes over the threshold, summed over the places
  kFewestOver  // the bytes over the threshold; then the peak
};

// Moves, drawn at random and aimed at the peak:
//   delay    of the places [first, last], the op at `first` and what depends on it there goes behind the rest
//   advance  of the places [first, last], the op at `last` and what it depends on there goes before the rest
// An op, a chain or a whole independent branch, whatever hangs together. Kept where what is made small does not grow, and
// where it stays, nor does the sum of the live bytes.
// Ends when no step is left, or it is as small as it can be: the peak at `floor`, nothing over the threshold.
// Deterministic.
std::vector<OpIndex> improve_order(const OrderProblem& problem, const std::vector<OpIndex>& order, OrderGoal goal,
                                   Bytes floor, Bytes threshold, OrderSteps& steps);

}  // namespace pantoum::plan
