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
// task.h, page_out at the stage's start, page_in at the next one's.
#include <Cbc_C_Interface.h>
#include <Clp_C_Interface.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "base/no_unwinding.h"
#include "plan/baselines/methods.h"
#include "plan/baselines/task.h"

namespace pantoum::plan::baseline {
namespace {

// ---- mixed-integer linear programs, built row by row and given to CBC; their relaxations, given to CLP ----

constexpr double kFree = 1e30;  // a side of a row that bounds nothing

// A variable, or a constant where the formulation fixes it.
struct Term {
  int32_t column = -1;  // -1: the constant
  double constant = 0;
};

// A weighted sum of terms.
class Sum {
 public:
  Sum& add(double weight, Term term) {
    if (term.column < 0)
      constant += weight * term.constant;
    else
      entries.emplace_back(term.column, weight);
    return *this;
  }
  std::vector<std::pair<int32_t, double>> entries;
  double constant = 0;
};

struct Program {
  // Minimised: the sum of cost * column.
  Term add_column(double least, double most, bool whole) {
    lower.push_back(least);
    upper.push_back(most);
    cost.push_back(0);
    integer.push_back(whole);
    return {static_cast<int32_t>(lower.size()) - 1, 0};
  }
  // Adds the row least <= sum <= most.
  void add_row(double least, const Sum& sum, double most) {
    const auto row = static_cast<int32_t>(row_lower.size());
    row_lower.push_back(least <= -kFree ? -kFree : least - sum.constant);
    row_upper.push_back(most >= kFree ? kFree : most - sum.constant);
    for (const auto& entry : sum.entries) elements.emplace_back(row, entry);
  }
  // Returns the sum of cost * value.
  double value(const std::vector<double>& values) const {
    return std::inner_product(values.begin(), values.end(), cost.begin(), 0.0);
  }
  // Do the rows from `first` on hold?
  bool holds(const std::vector<double>& values, size_t first) const {
    std::vector<double> sums(row_lower.size(), 0);
    for (const auto& [row, entry] : elements) sums[position_of(row)] += entry.second * values[position_of(entry.first)];
    for (size_t row = first; row < sums.size(); ++row)
      if (sums[row] < row_lower[row] - 1e-9 || sums[row] > row_upper[row] + 1e-9) return false;
    return true;
  }

  std::vector<double> lower, upper, cost;  // by column
  std::vector<char> integer;
  std::vector<double> row_lower, row_upper;
  std::vector<std::pair<int32_t, std::pair<int32_t, double>>> elements;  // row, column, weight
};

struct Solution {
  enum class Verdict { kOptimal, kIncumbent, kInfeasible, kNothing } verdict = Verdict::kNothing;
  std::vector<double> values;  // by column; with kOptimal and kIncumbent
};

// The elements by column, as both solvers want them.
struct Columns {
  std::vector<CoinBigIndex> start;
  std::vector<int> row;
  std::vector<double> value;
};

Columns by_column(const Program& program) {
  Columns columns;
  columns.start.assign(program.lower.size() + 1, 0);
  for (const auto& [row, entry] : program.elements) ++columns.start[position_of(entry.first) + 1];
  std::partial_sum(columns.start.begin(), columns.start.end(), columns.start.begin());
  columns.row.resize(program.elements.size());
  columns.value.resize(program.elements.size());
  std::vector<CoinBigIndex> next(columns.start.begin(), columns.start.end() - 1);
  for (const auto& [row, entry] : program.elements) {
    const auto at = position_of(next[position_of(entry.first)]++);
    columns.row[at] = row;
    columns.value[at] = entry.second;
  }
  return columns;
}

// CBC with its default cuts and heuristics, one thread, silent. `start`: a solution to begin with, or null.
// Cost: `seconds`, exceeded by the root's linear program where that is large; nothing else ends it.
Solution solve(const Program& program, double seconds, const std::vector<double>* start = nullptr) {
  const base::NoUnwinding solving;
  const Columns columns = by_column(program);
  const std::unique_ptr<Cbc_Model, decltype(&Cbc_deleteModel)> model(Cbc_newModel(), Cbc_deleteModel);
  const int count = static_cast<int>(program.lower.size());
  Cbc_setLogLevel(model.get(), 0);
  Cbc_loadProblem(model.get(), count, static_cast<int>(program.row_lower.size()), columns.start.data(),
                  columns.row.data(), columns.value.data(), program.lower.data(), program.upper.data(),
                  program.cost.data(), program.row_lower.data(), program.row_upper.data());
  for (int column = 0; column < count; ++column)
    if (program.integer[position_of(column)]) Cbc_setInteger(model.get(), column);
  Cbc_setParameter(model.get(), "log", "0");
  Cbc_setParameter(model.get(), "timeMode", "elapsed");
  Cbc_setMaximumSeconds(model.get(), seconds);
  Cbc_setAllowableFractionGap(model.get(), 1e-6);
  if (start != nullptr) {
    std::vector<int> all(program.lower.size());
    std::iota(all.begin(), all.end(), 0);
    Cbc_setMIPStartI(model.get(), count, all.data(), start->data());
  }
  Cbc_solve(model.get());
  Solution solution;
  if (Cbc_isProvenInfeasible(model.get())) solution.verdict = Solution::Verdict::kInfeasible;
  const double* best = Cbc_bestSolution(model.get());
  if (best == nullptr) return solution;
  solution.values.assign(best, best + count);
  solution.verdict = Cbc_isProvenOptimal(model.get()) ? Solution::Verdict::kOptimal : Solution::Verdict::kIncumbent;
  return solution;
}

// The linear relaxation, by CLP. kOptimal, kInfeasible or kNothing.
Solution relax(const Program& program, double seconds) {
  const base::NoUnwinding solving;
  const Columns columns = by_column(program);
  const std::unique_ptr<Clp_Simplex, decltype(&Clp_deleteModel)> model(Clp_newModel(), Clp_deleteModel);
  Clp_setLogLevel(model.get(), 0);
  Clp_loadProblem(model.get(), static_cast<int>(program.lower.size()), static_cast<int>(program.row_lower.size()),
                  columns.start.data(), columns.row.data(), columns.value.data(), program.lower.data(),
                  program.upper.data(), program.cost.data(), program.row_lower.data(), program.row_upper.data());
  Clp_setMaximumSeconds(model.get(), seconds);
  Clp_initialSolve(model.get());
  Solution solution;
  if (Clp_isProvenPrimalInfeasible(model.get())) solution.verdict = Solution::Verdict::kInfeasible;
  if (!Clp_isProvenOptimal(model.get())) return solution;
  const double* values = Clp_getColSolution(model.get());
  solution.values.assign(values, values + program.lower.size());
  solution.verdict = Solution::Verdict::kOptimal;
  return solution;
}

// ---- the program ----

constexpr int32_t kMostOps = 128;  // beyond, the program has some 10^5 rows and no open solver gets anywhere

class CheckmateMilp {
 public:
  // `budget`: M. `paging`: with AUX, IN, OUT.
  CheckmateMilp(const Task& task, Bytes budget, bool paging) : task_(task), budget_(budget), paging_(paging) {
    index();
    add_columns();
    add_dependencies();
    add_carries();
    add_memory();
    own_rows_ = program.row_lower.size();
  }

  // The cost of every recomputation and transfer.
  template <class Compute, class In, class Out>
  void set_costs(Compute compute, In in, Out out) {
    for (const Cell& cell : computes_)
      program.cost[position_of(cell.column)] = compute(task_.kernel(ops_[cell.subject]));
    for (const Cell& cell : ins_) program.cost[position_of(cell.column)] = in(tensor(cell.subject));
    for (const Cell& cell : outs_) program.cost[position_of(cell.column)] = out(tensor(cell.subject));
  }

  // POET's deadline: computes alone
  void limit_compute_seconds(Seconds most) {
    Sum sum;
    for (int32_t stage = 0; stage < count(); ++stage)
      for (int32_t op = 0; op <= stage; ++op) sum.add(task_.kernel(ops_[op]).seconds / most, compute_[stage][op]);
    program.add_row(-kFree, sum, 1);
  }

  // PORT's bandwidth: a stage moves what its computes cover
  void limit_transfers(double bytes_per_s) {
    for (int32_t stage = 0; stage < count(); ++stage) {
      Sum sum;
      for (const int32_t made : made_.indices())
        for (const auto* matrix : {&in_, &out_})
          sum.add(static_cast<double>(tensor(made).bytes) / static_cast<double>(budget_), (*matrix)[stage][made]);
      if (sum.entries.empty()) continue;
      for (int32_t op = 0; op <= stage; ++op)
        sum.add(-task_.kernel(ops_[op]).seconds * bytes_per_s / static_cast<double>(budget_), compute_[stage][op]);
      program.add_row(-kFree, sum, 0);
    }
  }

  // of the costs set last
  void limit_cost(double most) {
    Sum sum;
    for (size_t column = 0; column < program.cost.size(); ++column)
      if (program.cost[column] != 0) sum.add(program.cost[column], {static_cast<int32_t>(column), 0});
    program.add_row(-kFree, sum, most);
  }

  bool paging() const { return paging_; }

  // Do the rows of the three functions above hold?
  bool meets_limits(const std::vector<double>& values) const { return program.holds(values, own_rows_); }

  Indexed<int32_t, StageActions> stages(const std::vector<double>& values) const {
    List<StageActions> stages(ops_.size() + 1);
    const auto set = [&](Term term) {
      return term.column < 0 ? term.constant > 0.5 : values[position_of(term.column)] > 0.5;
    };
    for (int32_t stage = 0; stage < count(); ++stage) {
      for (int32_t op = 0; op <= stage; ++op)
        if (set(compute_[stage][op])) stages[stage].compute.push_back(ops_[op]);
      for (const int32_t made : made_.indices()) {
        if (set(in_[stage][made])) stages[stage + 1].page_in.push_back(made_[made]);
        if (set(out_[stage][made])) stages[stage].page_out.push_back(made_[made]);
      }
    }
    return stages;
  }

  // Two-phase rounding (Checkmate), to a solution's columns: S where the relaxation has more than `threshold`, and the
  // fewest R that carry it. With paging, what comes back more by IN than by R is fetched, written right after it is
  // made.
  std::vector<double> rounded(const std::vector<double>& values, double threshold) const {
    Rounding rounding = round_retained(values, threshold);
    carry(rounding);
    return columns_of(rounding);
  }

  Program program;

 private:
  struct Cell {
    int32_t stage, subject, column;  // subject: index into ops_ or made_
  };
  // Lists by stage, by made tensor, or by op in the order of the stages. One counts with all of these numbers.
  template <class T>
  using List = Indexed<int32_t, T>;
  template <class T>
  using Matrix = List<List<T>>;  // [stage][op or what is made]

  int32_t count() const { return static_cast<int32_t>(ops_.size()); }
  const TensorModel& tensor(int32_t made) const { return task_.model.tensors[made_[made]]; }

  struct Rounding {
    Matrix<char> retained, in, compute;
    List<char> paged;  // by made tensor
  };
  Rounding round_retained(const std::vector<double>& values, double threshold) const {
    const auto value = [&](Term term) { return term.column < 0 ? term.constant : values[position_of(term.column)]; };
    Rounding rounding;
    const List<char> none(made_.size(), 0);
    rounding.retained.assign(ops_.size() + 1, none);
    rounding.in = rounding.retained;
    rounding.paged = none;
    for (int32_t stage = 0; stage <= count(); ++stage)
      for (const int32_t made : made_.indices())
        rounding.retained[stage][made] = value(retained_[stage][made]) > threshold;
    for (const int32_t made : made_.indices())
      for (int32_t stage = maker_[made] + 2; stage < count(); ++stage) {
        if (rounding.retained[stage][made] || !rounding.retained[stage + 1][made]) continue;
        const double fetched = value(in_[stage][made]), computed = value(compute_[stage][maker_[made]]);
        if (fetched <= computed || fetched < 1e-6) continue;
        rounding.in[stage][made] = rounding.paged[made] = 1;
        rounding.retained[maker_[made] + 1][made] = 1;
      }
    return rounding;
  }

  void carry(Rounding& rounding) const {
    rounding.compute.assign(ops_.size() + 1, List<char>(ops_.size(), 0));
    for (int32_t stage = 0; stage < count(); ++stage) {
      List<char>& runs = rounding.compute[stage];
      const List<char>& retained = rounding.retained[stage];
      runs[stage] = 1;
      for (const int32_t made : made_.indices())
        if (rounding.retained[stage + 1][made] && !retained[made] && !rounding.in[stage][made]) runs[maker_[made]] = 1;
      for (int32_t op = stage; op >= 0; --op)
        if (runs[op])
          for (const int32_t made : reads_[op])
            if (!retained[made]) runs[maker_[made]] = 1;
    }
  }

  std::vector<double> columns_of(const Rounding& rounding) const {
    std::vector<double> columns(program.cost.size(), 0);
    const auto set = [&](Term term, bool on) {
      if (term.column >= 0) columns[position_of(term.column)] = on ? 1 : 0;
    };
    for (int32_t stage = 0; stage < count(); ++stage) {
      for (int32_t op = 0; op <= stage; ++op) set(compute_[stage][op], rounding.compute[stage][op]);
      for (const int32_t made : made_.indices()) {
        const bool paged = rounding.paged[made];
        set(retained_[stage][made], rounding.retained[stage][made]);
        set(in_[stage][made], rounding.in[stage][made]);
        set(out_[stage][made], paged && stage == maker_[made] + 1);
        set(stored_[stage][made], paged && stage > maker_[made] + 1);
      }
    }
    return columns;
  }

  void index() {
    ops_ = List<OpIndex>(needed_in_order(task_));
    Indexed<TensorIndex, int32_t> made_at(task_.model.tensors.size(), -1);
    reads_.resize(ops_.size());
    writes_.resize(ops_.size());
    for (int32_t op = 0; op < count(); ++op) {
      for (const TensorIndex tensor : task_.kernel(ops_[op]).writes) {
        made_at[tensor] = static_cast<int32_t>(made_.size());
        writes_[op].push_back(made_at[tensor]);
        made_.push_back(tensor);
        maker_.push_back(op);
      }
    }
    readers_.resize(made_.size());
    for (int32_t op = 0; op < count(); ++op)
      for (const TensorIndex tensor : task_.kernel(ops_[op]).reads) {
        const int32_t made = made_at[tensor];
        if (made < 0) continue;
        reads_[op].push_back(made);
        readers_[made].push_back(op);
      }
  }

  void add_columns() {
    const size_t stages = ops_.size() + 1;
    compute_.assign(stages, List<Term>(ops_.size()));
    for (auto* matrix : {&retained_, &stored_, &in_, &out_}) matrix->assign(stages, List<Term>(made_.size()));
    const auto binary = [&] { return program.add_column(0, 1, true); };
    for (int32_t stage = 0; stage < count(); ++stage) {
      compute_[stage][stage] = {-1, 1};
      for (int32_t op = 0; op < stage; ++op) {
        if (!task_.model.ops[ops_[op]].recomputable) continue;
        compute_[stage][op] = binary();
        computes_.push_back({stage, op, compute_[stage][op].column});
      }
      for (const int32_t made : made_.indices()) {
        if (maker_[made] >= stage) continue;
        retained_[stage][made] = binary();
        if (!paging_ || !tensor(made).can_page) continue;
        stored_[stage][made] = maker_[made] + 1 < stage ? binary() : Term{};
        in_[stage][made] = binary();
        out_[stage][made] = binary();
        ins_.push_back({stage, made, in_[stage][made].column});
        outs_.push_back({stage, made, out_[stage][made].column});
      }
    }
    for (const int32_t made : made_.indices()) retained_[count()][made] = {-1, tensor(made).ends_in_ram ? 1.0 : 0.0};
  }

  // A row: the weighted sum of these terms is no less than 0.
  void need(std::initializer_list<std::pair<double, Term>> terms) {
    Sum sum;
    for (const auto& [weight, term] : terms) sum.add(weight, term);
    program.add_row(0, sum, kFree);
  }

  void add_dependencies() {
    for (int32_t stage = 0; stage < count(); ++stage)
      for (int32_t op = 0; op <= stage; ++op)
        for (const int32_t made : reads_[op])
          need({{1, compute_[stage][maker_[made]]}, {1, retained_[stage][made]}, {-1, compute_[stage][op]}});
  }

  void add_carries() {
    for (int32_t stage = 0; stage < count(); ++stage)
      for (const int32_t made : made_.indices()) {
        if (maker_[made] > stage) continue;
        need({{1, retained_[stage][made]},
              {1, compute_[stage][maker_[made]]},
              {1, in_[stage][made]},
              {-1, retained_[stage + 1][made]}});
        if (!paging_ || maker_[made] >= stage || !tensor(made).can_page) continue;
        need({{1, stored_[stage][made]}, {1, out_[stage][made]}, {-1, stored_[stage + 1][made]}});
        need({{1, stored_[stage][made]}, {-1, in_[stage][made]}});
        need({{1, retained_[stage][made]}, {-1, out_[stage][made]}});
      }
  }

  void add_memory() {
    const double sources = static_cast<double>(source_bytes()) / static_cast<double>(budget_);
    for (int32_t stage = 0; stage < count(); ++stage) {
      Term before;
      for (int32_t op = 0; op <= stage; ++op) {
        const Term now = program.add_column(0, 1, false);
        Sum sum;
        sum.add(-1, now);
        for (const int32_t made : writes_[op]) sum.add(share(made), compute_[stage][op]);
        if (op == 0) {
          sum.add(1, {-1, sources});
          for (const int32_t made : made_.indices()) sum.add(share(made), retained_[stage][made]);
        } else {
          sum.add(1, before);
          for (const auto* list : {&reads_[op - 1], &writes_[op - 1]})
            for (const int32_t made : *list)
              if (share(made) > 0) sum.add(-share(made), add_free(stage, made, op - 1));
        }
        program.add_row(0, sum, 0);
        before = now;
      }
    }
  }

  Term add_free(int32_t stage, int32_t made, int32_t op) {
    const Term free = program.add_column(0, 1, false);
    const auto at_most = [&](double constant, double weight, Term term) {
      need({{1, {-1, constant}}, {weight, term}, {-1, free}});
    };
    at_most(0, 1, compute_[stage][op]);
    at_most(1, -1, retained_[stage + 1][made]);
    for (const int32_t reader : readers_[made])
      if (reader > op && reader <= stage) at_most(1, -1, compute_[stage][reader]);
    return free;
  }

  Bytes source_bytes() const {
    const Model& model = task_.model;
    Bytes bytes = model.staging;
    Indexed<TensorIndex, char> read(model.tensors.size(), 0);
    for (const OpIndex op : ops_)
      for (const TensorIndex tensor : task_.kernel(op).reads) read[tensor] = 1;
    for (const TensorIndex tensor : read.indices()) {
      const Home start = model.tensors[tensor].start;
      if (start == Home::kRam || (start == Home::kAux && read[tensor])) bytes += model.tensors[tensor].size;
    }
    return bytes;
  }

  // of M
  double share(int32_t made) const {
    const auto& kernel = task_.kernel(ops_[maker_[made]]);
    for (size_t write = 0; write < kernel.writes.size(); ++write) {
      const bool update = kernel.writes[write] == made_[made] && kernel.over[write].exists() &&
                          task_.model.tensors[kernel.over[write]].producer == OpIndex();
      if (update) return 0;
    }
    return static_cast<double>(tensor(made).size) / static_cast<double>(budget_);
  }

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

// Returns what the whole step costs without recomputation, which is the unit of a program's costs; 1 if it costs
// nothing.
template <class Cost>
double cost_unit(const Task& task, Cost cost) {
  double whole = 0;
  for (const OpIndex op : task.model.ops.indices()) whole += cost(task.kernel(op));
  return whole > 0 ? whole : 1;
}

// The best rounding whose schedule fits by exact replay; none: empty.
std::vector<double> best_rounding(const Task& task, const CheckmateMilp& milp) {
  std::vector<double> best;
  for (const double share : {1.0, 0.85, 0.7}) {
    if (task.time.elapsed() > task.options.time_limit / 4 || !best.empty()) break;
    CheckmateMilp tighter(task, static_cast<Bytes>(share * static_cast<double>(task.options.question.budget_bytes())),
                          milp.paging());
    tighter.program.cost = milp.program.cost;
    const Solution relaxed = relax(tighter.program, task.options.time_limit / 4);
    if (relaxed.values.empty()) break;
    for (const double threshold : {0.5, 0.3, 0.7, 0.1, 0.9}) {
      std::vector<double> columns = tighter.rounded(relaxed.values, threshold);
      if (!milp.meets_limits(columns)) continue;
      const auto events = complete(task.model, task.choices, in_stages(milp.stages(columns)));
      if (!events || peak_of(task.model, *events) > task.options.question.budget_bytes()) continue;
      if (best.empty() || milp.program.value(columns) < milp.program.value(best)) best = std::move(columns);
    }
  }
  return best;
}

// The program's solution within the time left, or a rounding of its relaxation where that is better and fits: CBC often
// has none for 60 ops in a minute. (Begun from the rounding CBC does worse than from nothing.)
Solution solve_or_round(const Task& task, const CheckmateMilp& milp) {
  std::vector<double> rounding = best_rounding(task, milp);
  Solution solution = solve(milp.program, task.time.left());
  const bool worse = solution.values.empty()
                         ? solution.verdict != Solution::Verdict::kInfeasible
                         : milp.program.value(solution.values) > milp.program.value(rounding) + 1e-9;
  if (rounding.empty() || !worse) return solution;
  return {Solution::Verdict::kIncumbent, std::move(rounding)};
}

// The task of a question that is small enough. E0304 where it is not; E0300 as ask().
Result<Task> ask_small(const CostGraph& graph, const PlanOptions& options, const char* name) {
  PANTOUM_ASSIGN(Task task, ask(graph, options, name));
  const size_t ops = needed_in_order(task).size();
  if (ops <= position_of(kMostOps)) return task;
  return does_not_apply(task, fmt::format("too large for its program: {} ops (at most {})", ops, kMostOps));
}

// Does the question let the method page on this device?
bool may_page(const Task& task) {
  return task.model.paging && task.options.question.freedoms.paging;
}

// The plan of a solution, or why there is none.
Result<Plan> plan_of(const Task& task, const CheckmateMilp& milp, const Solution& solution,
                     const std::string& published) {
  if (solution.verdict == Solution::Verdict::kInfeasible) {
    Failure failure = no_schedule(task, "its program is infeasible");
    failure.error().notes.push_back(published);
    return failure;
  }
  if (solution.values.empty()) return no_schedule(task, "its solver found nothing within the time limit");
  return plan_schedule(task, in_stages(milp.stages(solution.values)), published);
}

constexpr const char* kPublished =
    "as published, its memory row does not count workspaces, and counts sources throughout";

// Recomputation alone; costs relative to the whole step's.
CheckmateMilp recompute_milp(const Task& task, double share) {
  CheckmateMilp milp(task, static_cast<Bytes>(share * static_cast<double>(task.options.question.budget_bytes())),
                     false);
  const double unit = cost_unit(task, [&](const ChoiceModel& kernel) { return task.price(kernel); });
  milp.set_costs([&](const ChoiceModel& kernel) { return task.price(kernel) / unit; },
                 [](const TensorModel&) { return 0; }, [](const TensorModel&) { return 0; });
  return milp;
}

constexpr const char* kPoetAsPublished =
    "as published, its memory row does not count workspaces, and counts sources throughout; its deadline row does not "
    "count transfers";

constexpr const char* kPortAsPublished =
    "as published, its memory row does not count workspaces, and a stage can move only what its computes cover";

}  // namespace

// Checkmate (Jain, Jain, Nrusimha, Gholami, Abbeel, Keutzer, Stoica, Gonzalez, MLSys 2020): the program without paging; minimises
// the cost of the computes (joules or seconds, as the objective is; the paper: seconds). It never pages. A time-out with an
// incumbent gives the incumbent, or a rounding that is better. E0304 beyond kMostOps.
Result<Plan> checkmate(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Task task, ask_small(graph, options, "checkmate"));
  const CheckmateMilp milp = recompute_milp(task, 1);
  return plan_of(task, milp, solve_or_round(task, milp), kPublished);
}

// Its relaxation within (1 - e) of the budget, then two-phase rounding: S where it is more than half, and the fewest R
// that S allows. The paper's e is 0.1; here 0, 0.1, ... 0.4 are tried until the rounded schedule fits.
Result<Plan> checkmate_lp(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Task task, ask_small(graph, options, "checkmate-lp"));
  Result<Plan> plan = no_schedule(task, "its linear program was not solved within the time limit");
  for (const double share : {1.0, 0.9, 0.8, 0.7, 0.6}) {
    if (plan || task.out_of_time()) break;
    const CheckmateMilp milp = recompute_milp(task, share);
    const Solution solution = relax(milp.program, task.time.left());
    if (solution.verdict == Solution::Verdict::kInfeasible && share == 1.0)
      plan = no_schedule(task, "its linear program is infeasible");
    if (solution.values.empty()) break;
    plan = plan_schedule(task, in_stages(milp.stages(milp.rounded(solution.values, 0.5))), kPublished);
  }
  return plan;
}

// POET (Patil, Jain, Dutta, Stoica, Gonzalez, ICML 2022), Algorithm 1, as published.
//
// The program with paging: minimises the joules of computes, page-ins and page-outs. Its deadline
// row counts computes alone, so a plan may miss the deadline by exact replay (E0302); its memory row counts neither
// workspaces nor transfers in flight. On a device without storage it recomputes only, as the paper says.
Result<Plan> poet(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Task task, ask_small(graph, options, "poet"));
  CheckmateMilp milp(task, options.question.budget_bytes(), may_page(task));
  const Joules unit = cost_unit(task, [](const ChoiceModel& kernel) { return kernel.joules; });
  milp.set_costs([&](const ChoiceModel& kernel) { return kernel.joules / unit; },
                 [&](const TensorModel& tensor) { return tensor.in_j / unit; },
                 [&](const TensorModel& tensor) { return tensor.out_j / unit; });
  if (options.question.deadline) milp.limit_compute_seconds(*options.question.deadline);
  return plan_of(task, milp, solve_or_round(task, milp), kPoetAsPublished);
}

// PORT (Singhvi, DeLoye, Shanbhag, Patil, Gonzalez, 2024), the program for one engine.
//
// POET's program with another objective: first the fewest seconds of computes (its alpha objective), then, among those,
// the fewest transfers (beta). A bandwidth row per stage: what the stage moves is at most what its computes cover, no
// stall, so tight budgets turn infeasible. The one bandwidth of the paper is the slower direction's; latencies are not
// in the row. Its memory row counts neither workspaces nor transfers in flight. The compute times are the device's;
// POET's deadline is not in it.
Result<Plan> port(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Task task, ask_small(graph, options, "port"));
  CheckmateMilp milp(task, options.question.budget_bytes(), may_page(task));
  const Pager& pager = graph.device.pager;
  if (milp.paging()) milp.limit_transfers(std::min(pager.in.bytes_per_s, pager.out.bytes_per_s));
  const Seconds unit = cost_unit(task, [](const ChoiceModel& kernel) { return kernel.seconds; });
  const auto nothing = [](const TensorModel&) { return 0.0; };
  milp.set_costs([&](const ChoiceModel& kernel) { return kernel.seconds / unit; }, nothing, nothing);
  const Solution alpha = solve_or_round(task, milp);
  if (alpha.verdict != Solution::Verdict::kOptimal || !milp.paging() || task.out_of_time())
    return plan_of(task, milp, alpha, kPortAsPublished);
  milp.limit_cost(milp.program.value(alpha.values) + 1e-7);
  const auto one = [](const TensorModel&) { return 1.0; };
  milp.set_costs([](const ChoiceModel&) { return 0.0; }, one, one);
  const Solution beta = solve(milp.program, task.time.left(), &alpha.values);
  return plan_of(task, milp, beta.values.empty() ? alpha : beta, kPortAsPublished);
}

}  // namespace pantoum::plan::baseline
