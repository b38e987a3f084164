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
//   flow    (flow_cuts.h) transfers take the time that there is for them
//
// i counts as 1 in its definition segment. Of an op's choices the rows take the cheapest and the leanest, and what all
// of them read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "plan/bound/row.h"
#include "plan/simulate/model.h"

namespace pantoum::plan {

using problem::Certificate;

struct RelaxationOptions {
  Question question;                    // kRam: the least M that does as the budget, at most the budget given here
  double second_price = 0;              // kEnergy: what a second of the makespan costs beside idle power
  std::optional<Seconds> most_seconds;  // no plan worth finding takes longer
};

class Relaxation {
 public:
  // `boundaries`: stages, ascending, the last is model.end(). Cost: linear in segments times (tensors + ops + reads).
  Relaxation(const Model& model, const RelaxationOptions& options, const std::vector<int32_t>& boundaries);

  [[nodiscard]] const Model& model() const { return model_; }
  [[nodiscard]] const RelaxationOptions& options() const { return options_; }
  [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  // What the column says of a plan; of the makespan nothing that is 0 or 1.
  [[nodiscard]] const std::optional<Certificate::Decision>& decision(int32_t column) const {
    return decisions_[static_cast<size_t>(column)];
  }
  [[nodiscard]] double constant() const { return constant_; }  // paid by every plan, beside the columns
  [[nodiscard]] int32_t segments() const { return static_cast<int32_t>(boundaries_.size()); }
  [[nodiscard]] int32_t boundary(int32_t segment) const { return boundaries_[static_cast<size_t>(segment)]; }
  [[nodiscard]] int32_t segment_of(int32_t stage) const { return segment_of_[static_cast<size_t>(stage)]; }
  // The segment in which the tensor is first had: -1 in RAM from the start. Storage and optional ops define nothing.
  [[nodiscard]] int32_t definition_segment(int32_t tensor) const {
    return definition_segment_[static_cast<size_t>(tensor)];
  }
  [[nodiscard]] bool defined(int32_t tensor) const { return defined_[static_cast<size_t>(tensor)] != 0; }

  // Columns; -1 where there is none (it would be 0).
  [[nodiscard]] int32_t in_ram(int32_t segment, int32_t tensor) const { return find(s_, segment, tensor, tensors_); }
  [[nodiscard]] int32_t recomputed(int32_t segment, int32_t op) const { return find(r_, segment, op, ops_); }
  [[nodiscard]] int32_t paged_in(int32_t segment, int32_t tensor) const { return find(i_, segment, tensor, tensors_); }
  [[nodiscard]] int32_t paged_out(int32_t tensor) const { return x_[static_cast<size_t>(tensor)]; }
  [[nodiscard]] int32_t written(int32_t segment, int32_t tensor) const { return find(w_, segment, tensor, tensors_); }
  [[nodiscard]] int32_t in_flight(int32_t segment, int32_t tensor) const { return find(f_, segment, tensor, tensors_); }
  [[nodiscard]] int32_t makespan() const { return makespan_; }
  // Segments of W and F, ascending.
  [[nodiscard]] const std::vector<int32_t>& flow_segments() const { return flow_segments_; }
  [[nodiscard]] bool flows(int32_t segment) const {
    return std::binary_search(flow_segments_.begin(), flow_segments_.end(), segment);
  }
  // What every choice of the op reads.
  [[nodiscard]] const std::vector<int32_t>& reads(int32_t op) const { return reads_[static_cast<size_t>(op)]; }
  // Do all choices of the boundary op read the tensor, or must it be in RAM at the end?
  [[nodiscard]] bool read_at_boundary(int32_t segment, int32_t tensor) const;
  // Does any choice of the op read or write the tensor?
  [[nodiscard]] bool touches(int32_t op, int32_t tensor) const {
    return touched_[static_cast<size_t>(op)].contains(tensor);
  }
  // Bytes for what the op does not touch while it runs in the segment: the budget less its working set, and less what
  // is pinned.
  [[nodiscard]] Bytes budget_beside(int32_t segment, int32_t op) const;
  // Tensors read in the segment by first computations, distinct, of which it is not the definition segment.
  [[nodiscard]] const std::vector<int32_t>& needs(int32_t segment) const {
    return needs_[static_cast<size_t>(segment)];
  }
  // The tensor is in RAM when the segment opens or from its first computation in it, whatever the columns say.
  [[nodiscard]] bool available(int32_t segment, int32_t tensor) const {
    const int32_t definition = definition_segment(tensor);
    return defined(tensor) && (definition == segment || (definition < 0 && segment == 0));
  }

 private:
  static int32_t find(const std::vector<int32_t>& columns, int32_t segment, int32_t index, int32_t count) {
    return columns[static_cast<size_t>(segment) * static_cast<size_t>(count) + static_cast<size_t>(index)];
  }
  int32_t add_column(double cost, std::optional<Certificate::Decision> decision);
  void find_segments();
  void find_definitions();
  void find_pinned();
  void find_needs();
  void find_last_uses();
  [[nodiscard]] int32_t last_use_of_outputs(const OpModel& op) const;
  void add_columns();
  void add_tensor_columns(int32_t tensor);
  void add_op_columns(int32_t op);
  void add_rows();
  void add_tensor_rows(int32_t segment, int32_t tensor);
  void add_memory_rows();
  [[nodiscard]] Row memory_row(Rule rule, int32_t segment) const;
  void add_time_rows();
  void add_energy_row();
  [[nodiscard]] double second_cost() const;
  [[nodiscard]] bool timed() const;
  void add_flow_columns();
  void add_flow_rows();
  void add_flow_rows(int32_t segment);
  bool presence(int32_t segment, int32_t tensor, std::vector<Term>& terms) const;

  const Model& model_;
  const RelaxationOptions options_;
  const int32_t tensors_, ops_;
  std::vector<int32_t> boundaries_, segment_of_, definition_segment_, last_use_;
  std::vector<char> defined_;
  std::vector<int32_t> s_, r_, i_, x_, w_, f_, flow_segments_;
  bool flows_ = false;
  std::vector<std::vector<int32_t>> reads_, needs_;
  std::vector<std::set<int32_t>> touched_;  // by op
  std::vector<int32_t> pinned_;             // pinned tensors that start in RAM
  std::vector<int32_t> replaced_;           // by tensor: the first stage at which an output may take its bytes
  Bytes budget_ = 0;                        // without the staging buffer, and with what need not be rounded up
  std::vector<Column> columns_;
  std::vector<std::optional<Certificate::Decision>> decisions_;  // by column
  std::vector<Row> rows_;
  double constant_ = 0;
  int32_t makespan_ = -1, least_budget_ = -1;  // columns: T, M
};

}  // namespace pantoum::plan
