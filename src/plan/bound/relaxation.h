// The linear relaxation of all plans that keep the model's order of first computations.
//
// The stages 1..n+1 are cut into epochs 0..K-1 at chosen boundaries (the last is the end). For an epoch e after the one
// in which a tensor i, or its op, is first computed, in [0,1]:
//   S[e,i]  i is in RAM when e opens          R[e,o]  op o is computed again in e, at least once
//   I[e,i]  i is paged in during e            X[i]    i is paged out, ever
// Every plan gives a point (the OR over an epoch's stages), so a lower bound of the program is one of every plan.
//   need    S[e,i] + R[e,o] + I[e,i] >= 1     i, made by o, is read in e by a first computation
//   dep     R[e,p] <= S[e,i] + R[e,o] + I[e,i]        i is an input of p
//   carry   S[e+1,i] <= S[e,i] + R[e,o] + I[e,i]
//   stored  I[e,i] <= X[i]
//   memory  sum of m_i S[e+1,i] over i that the boundary's op does not touch  <=  ram - its working set
//   time    T - sum of seconds of R (and of I, X where the pager is synchronous)  >=  the first computations'
//   move    T >= the seconds of I and X on one channel
//   spend   the joules of R, I, X, the first computations and of being idle for T  <=  most_energy
// Where transfers run beside compute, for some epochs e, at the moment when e's boundary op starts:
//   W[e,i]  i is written to storage          F[e,i]  i was freed, and is still being written or waits for that
//   issued  W[e,i] + F[e,i] <= X[i]
//   flight  the memory row, with m_i F[e,i] added for all i, and m_i I[e',i] taken off for e' <= e (what is paged in
//           may be on the way still, to bytes that are being written out)
//   flow    (flow_cuts.h) transfers take the time that there is for them
// i first computed in e itself counts as there (1). Choices: the cheapest, the leanest; what all of them read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "plan/simulate/model.h"
#include "problem/certificate.h"
#include "problem/question.h"

namespace pantoum::plan {

using problem::Certificate;
using problem::Question;
using problem::Rule;

struct Column {
  double cost = 0, lower = 0, upper = 1;
};

struct Term {
  int32_t column = 0;
  double factor = 0;
};

struct Row {  // sum of terms >= lower
  std::vector<Term> terms;
  double lower = 0;
  Rule rule = Rule::kNeed;
  std::vector<int64_t> of;
};

struct RelaxationOptions {
  Question question;                    // kRam: the least M that does as the budget, at most the budget given here
  double second_price = 0;              // kEnergy: what a second of the makespan costs beside idle power
  std::optional<Seconds> most_seconds;  // no plan worth finding takes longer
};

class Relaxation {
 public:
  // `boundaries`: stages, ascending, the last is model.end(). Cost: linear in epochs times (tensors + ops + reads).
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
  [[nodiscard]] int32_t epochs() const { return static_cast<int32_t>(boundaries_.size()); }
  [[nodiscard]] int32_t boundary(int32_t epoch) const { return boundaries_[static_cast<size_t>(epoch)]; }
  [[nodiscard]] int32_t epoch_of(int32_t stage) const { return epoch_of_[static_cast<size_t>(stage)]; }
  // The epoch in which the tensor is first had: -1 in RAM from the start; storage and optional ops give nothing first.
  [[nodiscard]] int32_t birth(int32_t tensor) const { return birth_[static_cast<size_t>(tensor)]; }
  [[nodiscard]] bool born(int32_t tensor) const { return born_[static_cast<size_t>(tensor)] != 0; }

  // Columns; -1 where there is none (it would be 0).
  [[nodiscard]] int32_t in_ram(int32_t epoch, int32_t tensor) const { return find(s_, epoch, tensor, tensors_); }
  [[nodiscard]] int32_t again(int32_t epoch, int32_t op) const { return find(r_, epoch, op, ops_); }
  [[nodiscard]] int32_t paged_in(int32_t epoch, int32_t tensor) const { return find(i_, epoch, tensor, tensors_); }
  [[nodiscard]] int32_t paged_out(int32_t tensor) const { return x_[static_cast<size_t>(tensor)]; }
  [[nodiscard]] int32_t written(int32_t epoch, int32_t tensor) const { return find(w_, epoch, tensor, tensors_); }
  [[nodiscard]] int32_t in_flight(int32_t epoch, int32_t tensor) const { return find(f_, epoch, tensor, tensors_); }
  [[nodiscard]] int32_t makespan() const { return whole_; }
  // Epochs of W and F.
  [[nodiscard]] const std::vector<int32_t>& flow_epochs() const { return flow_epochs_; }
  [[nodiscard]] bool flows(int32_t epoch) const {
    return std::binary_search(flow_epochs_.begin(), flow_epochs_.end(), epoch);
  }
  // What every choice of the op reads.
  [[nodiscard]] const std::vector<int32_t>& reads(int32_t op) const {
    return reads_[static_cast<size_t>(op)];
  }  // Do all choices of the boundary's op read the tensor, or must it be in RAM at the end?
  [[nodiscard]] bool read_at_boundary(int32_t epoch, int32_t tensor) const;
  // Does any choice of the op read or write the tensor?
  [[nodiscard]] bool touches(int32_t op, int32_t tensor) const {
    return touched_[static_cast<size_t>(op)].contains(tensor);
  }
  // Bytes left for what the op does not touch while it runs in the epoch: the budget less its working set, and less
  // what is pinned.
  [[nodiscard]] Bytes room_beside(int32_t epoch, int32_t op) const;
  // Tensors read in the epoch by first computations, distinct, that are not first computed there.
  [[nodiscard]] const std::vector<int32_t>& needs(int32_t epoch) const { return needs_[static_cast<size_t>(epoch)]; }
  // The tensor is there at the epoch's opening or by its first computation in it, whatever the columns say.
  [[nodiscard]] bool given(int32_t epoch, int32_t tensor) const {
    return born(tensor) && (birth(tensor) == epoch || (birth(tensor) < 0 && epoch == 0));
  }

 private:
  static int32_t find(const std::vector<int32_t>& columns, int32_t epoch, int32_t index, int32_t count) {
    return columns[static_cast<size_t>(epoch) * static_cast<size_t>(count) + static_cast<size_t>(index)];
  }
  int32_t add_column(double cost, std::optional<Certificate::Decision> decision);
  void read_model();
  void find_last_uses();
  void add_columns();
  void add_rows();
  void add_memory_rows();
  void add_time_rows();
  void add_energy_row();
  [[nodiscard]] double second_cost() const;
  [[nodiscard]] bool timed() const;
  void add_flow_columns();
  void add_flow_rows();
  bool available(int32_t epoch, int32_t tensor, std::vector<Term>& terms) const;

  const Model& model_;
  const RelaxationOptions options_;
  const int32_t tensors_, ops_;
  std::vector<int32_t> boundaries_, epoch_of_, birth_, last_;
  std::vector<char> born_;
  std::vector<int32_t> s_, r_, i_, x_, w_, f_, flow_epochs_;
  bool flows_ = false;
  std::vector<std::vector<int32_t>> reads_, needs_;
  std::vector<std::set<int32_t>> touched_;  // by op
  std::vector<int32_t> pinned_;             // pinned tensors that start in RAM
  std::vector<int32_t> replaced_;           // by tensor: the first stage at which an output may take its bytes
  Bytes room_ = 0;
  std::vector<Column> columns_;
  std::vector<std::optional<Certificate::Decision>> decisions_;  // by column
  std::vector<Row> rows_;
  double constant_ = 0;
  int32_t whole_ = -1, need_ = -1;  // columns: T, M
};

// Stages at which the memory of a plan that keeps everything exceeds `ram` (all of them, at most `most`: those that
// press hardest in slices of equal number), and the end.
[[nodiscard]] std::vector<int32_t> choose_boundaries(const Model& model, Bytes ram, int32_t most);

}  // namespace pantoum::plan
