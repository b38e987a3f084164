// The program of Checkmate (Jain et al., MLSys 2020), and what POET (Patil et al., ICML 2022) and PORT add to it.
//
// n ops in their order; stage t ends with the first computation of op t. An op may write several tensors, so what is
// retained and moved is indexed by tensor x (made by op p(x)), what is computed by op k. M is the budget, m are bytes.
//
//   R[t,k]       op k is computed in stage t              R[t,t] = 1; R[t,k] = 0 for k > t, and where k runs only once
//   S[t,x]       x is in RAM when stage t opens           S[t,x] = 0 for p(x) >= t; S[n,x] = x must end in RAM
//   FREE[t,x,k]  x is freed right after op k in stage t   k reads or writes x
//   U[t,k]       bytes in RAM while op k runs in stage t
//   AUX[t,x]     x is in storage when stage t opens
//   IN, OUT[t,x] x is moved during stage t (there at t + 1)
//
//   R[t,j] <= R[t,p(x)] + S[t,x]                          x is read by j
//   S[t+1,x] <= S[t,x] + R[t,p(x)] (+ IN[t,x])
//   AUX[t+1,x] <= AUX[t,x] + OUT[t,x];  IN[t,x] <= AUX[t,x];  OUT[t,x] <= S[t,x]
//   U[t,0] = sources + sum of m S[t,.] + R[t,0] m(0)
//   U[t,k] = U[t,k-1] - sum of m FREE[t,.,k-1] + R[t,k] m(k)  <=  M
//   FREE[t,x,k] <= R[t,k];  FREE[t,x,k] <= 1 - S[t+1,x];  FREE[t,x,k] <= 1 - R[t,j] for the readers j > k of x
//
// The last row is FREE = R[t,k] (1 - S[t+1,x]) product of (1 - R[t,j]), factor by factor. The papers add the factors
// up, 1 - FREE <= hazards <= kappa (1 - FREE): the same integer points, but a weaker relaxation and FREE integer; with
// that CBC found no solution of a 40-op chain in 30 s, with this one in 4 s.
//
// As published, the memory row counts no workspace, and sources (parameters, the batch) throughout, wherever they
// start; an updated parameter takes no bytes of its own. What a matrix means in instructions: in_stages() of
// schedule.h, page_out at the stage's start, page_in at the next one's.
#pragma once

#include <vector>

#include "plan/baselines/program.h"
#include "plan/baselines/schedule.h"
#include "plan/baselines/task.h"

namespace pantoum::plan::baseline {

inline constexpr int32_t kMostOps = 128;  // beyond, the program has some 10^5 rows and no open solver gets anywhere

class CheckmateMilp {
 public:
  // `budget`: M. `paging`: with AUX, IN, OUT.
  CheckmateMilp(const Task& task, Bytes budget, bool paging);

  // The cost of every recomputation and transfer.
  template <class Compute, class In, class Out>
  void set_costs(Compute compute, In in, Out out) {
    for (const Cell& cell : computes_)
      program.cost[base::position_of(cell.column)] = compute(task_.kernel(ops_[cell.subject]));
    for (const Cell& cell : ins_) program.cost[base::position_of(cell.column)] = in(tensor(cell.subject));
    for (const Cell& cell : outs_) program.cost[base::position_of(cell.column)] = out(tensor(cell.subject));
  }
  void limit_compute_seconds(Seconds most);  // POET's deadline: computes alone
  void limit_transfers(double bytes_per_s);  // PORT's bandwidth: a stage moves what its computes cover
  void limit_cost(double most);              // of the costs set last

  [[nodiscard]] bool paging() const { return paging_; }

  // Do the rows of the three functions above hold?
  [[nodiscard]] bool meets_limits(const std::vector<double>& values) const { return program.holds(values, own_rows_); }

  [[nodiscard]] std::vector<StageActions> stages(const std::vector<double>& values) const;
  // Two-phase rounding (Checkmate), to a solution's columns: S where the relaxation has more than `threshold`, and the
  // fewest R that carry it. With paging, what comes back more by IN than by R is fetched, written right after it is
  // made.
  [[nodiscard]] std::vector<double> rounded(const std::vector<double>& values, double threshold) const;

  Program program;

 private:
  struct Cell {
    int32_t stage, subject, column;  // subject: index into ops_ or made_
  };
  // By stage, or by what is made, or by op in the order of the stages: one counts with all of these.
  template <class T>
  using List = Indexed<int32_t, T>;
  template <class T>
  using Matrix = List<List<T>>;  // [stage][op or what is made]

  [[nodiscard]] int32_t count() const { return static_cast<int32_t>(ops_.size()); }
  [[nodiscard]] const TensorModel& tensor(int32_t made) const { return task_.model.tensors[made_[made]]; }
  [[nodiscard]] Term find(const Matrix<Term>& matrix, int32_t stage, int32_t subject) const {
    return matrix[stage][subject];
  }
  struct Rounding {
    Matrix<char> retained, in, compute;
    List<char> paged;  // by made tensor
  };
  [[nodiscard]] Rounding round_retained(const std::vector<double>& values, double threshold) const;
  void carry(Rounding& rounding) const;
  [[nodiscard]] std::vector<double> columns_of(const Rounding& rounding) const;
  void index();
  void add_columns();
  void add_dependencies();
  void add_carries();
  void add_memory();
  Term add_free(int32_t stage, int32_t made, int32_t op);
  [[nodiscard]] Bytes source_bytes() const;
  [[nodiscard]] double share(int32_t made) const;  // of M

  const Task& task_;
  const Bytes budget_;
  const bool paging_;
  size_t own_rows_ = 0;
  List<OpIndex> ops_;                          // in the order of the stages
  List<TensorIndex> made_;                     // what they write
  List<int32_t> maker_;                        // by what is made: position in ops_
  List<std::vector<int32_t>> reads_, writes_;  // by op: of what is made
  List<std::vector<int32_t>> readers_;         // by what is made: ops
  Matrix<Term> compute_, retained_, stored_, in_, out_;
  std::vector<Cell> computes_, ins_, outs_;  // what is not fixed
};

// What the whole step costs without recomputation, as the unit of a program's costs; 1 where it costs nothing.
template <class Cost>
[[nodiscard]] double cost_unit(const Task& task, Cost cost) {
  double whole = 0;
  for (const OpIndex op : task.model.ops.indices()) whole += cost(task.kernel(op));
  return whole > 0 ? whole : 1;
}

// The task of a question that is small enough. E0304 where it is not; E0300 as ask().
[[nodiscard]] Result<Task> ask_small(const CostGraph& graph, const PlanOptions& options, const char* name);

// Does the question let the method page on this device?
[[nodiscard]] bool may_page(const Task& task);

// The program's solution within the time left, or a rounding of its relaxation where that is better and fits: CBC often
// has none for 60 ops in a minute. (Begun from the rounding CBC does worse than from nothing.)
[[nodiscard]] Solution solve_or_round(const Task& task, const CheckmateMilp& milp);

// The plan of a solution, or why there is none.
[[nodiscard]] Result<Plan> plan_of(const Task& task, const CheckmateMilp& milp, const Solution& solution,
                                   const std::string& published);

}  // namespace pantoum::plan::baseline
