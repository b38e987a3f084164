// The linear relaxation of all plans that keep the model's order of first computations.
//
// The stages 1..n+1 are cut into segments 0..K-1 at chosen boundaries (the last is the end). For a segment e after the
// definition segment of a tensor i, or of its op, in [0,1]:
//
//   S[e,i]  i is in RAM when e opens          R[e,o]  op o is recomputed in e, at least once
//   I[e,i]  i is paged in during e            X[i]    i is paged out, ever
//
// Every plan gives a point (the OR over a segment's stages), so a lower bound of the program is one of every plan.
//
//   need    S[e,i] + R[e,o] + I[e,i] >= 1          i, made by o, is read in e by a first computation
//   dep     R[e,p] <= S[e,i] + R[e,o] + I[e,i]     i is an input of p
//   carry   S[e+1,i] <= S[e,i] + R[e,o] + I[e,i]
//   stored  I[e,i] <= X[i]
//   memory  sum of m_i S[e+1,i] over the i that the boundary op does not touch  <=  the budget - its working set
//   time    T - sum of the seconds of R (and of I, X where the pager is synchronous)  >=  the first computations'
//   move    T >= the seconds of I and X on one channel
//   spend   the joules of R, I, X, the first computations and of being idle for T  <=  the energy limit
//
// Where transfers run beside compute, for some segments e, at the moment when e's boundary op starts:
//
//   W[e,i]  i is written to storage          F[e,i]  i was freed, and is still being written or waits for that
//
//   issued  W[e,i] + F[e,i] <= X[i]
//   flight  the memory row, with m_i F[e,i] added for all i, and m_i I[e',i] taken off for e' <= e (what is paged in
//           may still be on the way, to bytes that are being written out)
//   flow    (flow_cuts.cc) transfers take the time that there is for them
//
// i counts as 1 in its definition segment. Of an op's choices the rows take the cheapest and the leanest, and what all
// of them read.
//
// Of all orders, where the boundary ops are a chain (boundaries.h): an op whose window is one segment is first computed
// there by every plan, and all is as above. One with a wider window floats: R[e,o] counts its first computation too, in
// its window, and none of its reads and writes are for sure.
//
//   once    sum of R[e,o] over the window  >=  1
//   single  sum of R[e,o] over the window  <=  1       o is not recomputed
//   made    I[e,i] <= sum of R[e',o] over e' <= e      o floats and makes i
//   memory  with m_w (1 - sum of R[e',o] over e' <= e) for a pinned w whose bytes only o takes over, and o floats
//   window  (path_cuts.cc) what it reads was somewhere when it was first computed
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "plan/bound/boundaries.h"
#include "plan/bound/row.h"
#include "plan/simulate/model.h"

namespace pantoum::plan {

// The column of each segment and tensor (or op), or none.
template <class I>
class ColumnGrid {
 public:
  ColumnGrid() = default;
  ColumnGrid(Segment segments, size_t width) : width_(width), columns_(position_of(segments) * width) {}

  ColumnIndex& at(Segment segment, I index) { return columns_[place(segment, index)]; }
  ColumnIndex at(Segment segment, I index) const { return columns_[place(segment, index)]; }

 private:
  size_t place(Segment segment, I index) const { return position_of(segment) * width_ + position_of(index); }
  size_t width_ = 0;
  std::vector<ColumnIndex> columns_;
};

struct RelaxationOptions {
  Question question;                    // kRam: the least M that does as the budget, at most the budget given here
  double second_price = 0;              // kEnergy: what a second of the makespan costs beside idle power
  std::optional<Seconds> most_seconds;  // no plan worth finding takes longer
  bool any_order = false;               // of all orders of first computations; the boundary ops are a chain
};

// May anything ever be written to storage or read from it?
bool transfers(const Model& model);

class Relaxation {
 public:
  // `boundaries`: stages, ascending, the last is model.end(). Cost: linear in segments times (tensors + ops + reads).
  Relaxation(const Model& model, const RelaxationOptions& options, const std::vector<Stage>& boundaries);

  const Model& model() const { return model_; }
  const RelaxationOptions& options() const { return options_; }
  const Columns& columns() const { return columns_; }
  const std::vector<Row>& rows() const { return rows_; }
  // Returns what the column decides of a plan. The makespan decides nothing that is 0 or 1.
  const std::optional<Certificate::Decision>& decision(ColumnIndex column) const { return decisions_[column]; }
  double constant() const { return constant_; }  // paid by every plan, beside the columns
  // That, and what the columns are sure to cost: the first computations of all ops that must run.
  double paid() const { return constant_ + floating_; }
  // > 0: there is no T, as nothing but work can make a plan longer, and no limit does: R pays for its seconds, and the
  // constant for those of the first computations. What a second costs: the multiplier of the time row in a certificate.
  double work_price() const { return work_price_; }
  Segment segments() const { return static_cast<Segment>(boundaries_.size()); }
  Stage boundary(Segment segment) const { return boundaries_[segment]; }
  // The op that ends the segment; not of the last one.
  OpIndex boundary_op(Segment segment) const { return Model::op_of(boundary(segment)); }
  Segment segment_of(Stage stage) const { return segment_of_[stage]; }
  // The segments in which the op can first be computed: one, but for an op that floats.
  Segment first_segment(OpIndex op) const { return windows_.first[op]; }
  Segment last_segment(OpIndex op) const { return windows_.last[op]; }
  bool floats(OpIndex op) const { return !model_.ops[op].optional && first_segment(op) < last_segment(op); }
  // The segment in which the tensor can first be had: -1 in RAM from the start. It is had there for sure where it is
  // defined: storage, optional ops and those that float define nothing.
  Segment definition_segment(TensorIndex tensor) const { return definition_segment_[tensor]; }
  bool defined(TensorIndex tensor) const { return defined_[tensor] != 0; }

  // Columns; none where there is none (it would be 0).
  ColumnIndex in_ram(Segment segment, TensorIndex tensor) const { return s_.at(segment, tensor); }
  ColumnIndex recomputed(Segment segment, OpIndex op) const { return r_.at(segment, op); }
  ColumnIndex paged_in(Segment segment, TensorIndex tensor) const { return i_.at(segment, tensor); }
  ColumnIndex paged_out(TensorIndex tensor) const { return x_[tensor]; }
  ColumnIndex written(Segment segment, TensorIndex tensor) const { return w_.at(segment, tensor); }
  ColumnIndex in_flight(Segment segment, TensorIndex tensor) const { return f_.at(segment, tensor); }
  ColumnIndex makespan() const { return makespan_; }
  // Segments of W and F, ascending.
  const std::vector<Segment>& flow_segments() const { return flow_segments_; }
  bool flows(Segment segment) const {
    return std::binary_search(flow_segments_.begin(), flow_segments_.end(), segment);
  }
  // Returns what every choice of the op reads.
  const std::vector<TensorIndex>& reads(OpIndex op) const { return reads_[op]; }
  // Do all choices of the boundary op read the tensor, or must it be in RAM at the end?
  bool read_at_boundary(Segment segment, TensorIndex tensor) const;
  // Does any choice of the op read or write the tensor?
  bool touches(OpIndex op, TensorIndex tensor) const { return touched_[op].contains(tensor); }
  // Bytes for what the op does not touch while it runs in the segment: the budget less its working set, and less what
  // is pinned.
  Bytes budget_beside(Segment segment, OpIndex op) const;
  // Tensors read in the segment by first computations, distinct, of which it is not the definition segment.
  const std::vector<TensorIndex>& needs(Segment segment) const { return needs_[segment]; }
  // The tensor is in RAM when the segment opens or from its first computation in it, whatever the columns say.
  bool available(Segment segment, TensorIndex tensor) const {
    const Segment definition = definition_segment(tensor);
    return defined(tensor) && (definition == segment || (definition < 0 && segment == 0));
  }

 protected:
  // Makes empty tables, which the builder in relaxation.cc fills.
  struct Empty {};
  Relaxation(Empty, const Model& model, const RelaxationOptions& options, const std::vector<Stage>& boundaries)
      : model_(model),
        options_(options),
        boundaries_(boundaries),
        defined_(model.tensors.size()),
        x_(model.tensors.size()) {}

  const Model& model_;
  RelaxationOptions options_;
  Indexed<Segment, Stage> boundaries_;
  Indexed<Stage, Segment> segment_of_;
  Windows windows_;
  Indexed<TensorIndex, Segment> definition_segment_, last_use_;
  Indexed<TensorIndex, char> defined_;
  ColumnGrid<TensorIndex> s_, i_, w_, f_;
  ColumnGrid<OpIndex> r_;
  Indexed<TensorIndex, ColumnIndex> x_;
  ColumnIndex makespan_, least_budget_;  // T, M
  std::vector<Segment> flow_segments_;
  bool flows_ = false;
  Indexed<OpIndex, std::vector<TensorIndex>> reads_;
  Indexed<Segment, std::vector<TensorIndex>> needs_;
  Indexed<OpIndex, std::set<TensorIndex>> touched_;
  std::vector<TensorIndex> pinned_;         // that start in RAM
  Indexed<TensorIndex, Segment> replaced_;  // the first segment in which an output may take its bytes
  Indexed<TensorIndex, OpIndex> taker_;     // the op whose output may, where it is the only one
  Bytes budget_ = 0;                        // without the staging buffer, and with what need not be rounded up
  Columns columns_;
  Indexed<ColumnIndex, std::optional<Certificate::Decision>> decisions_;
  std::vector<Row> rows_;
  double constant_ = 0, floating_ = 0, work_price_ = 0;
};

}  // namespace pantoum::plan
