#include "plan/baselines/checkmate_milp.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/baselines/forward_backward_boundary.h"

namespace pantoum::plan::baseline {

CheckmateMilp::CheckmateMilp(const Task& task, Bytes budget, bool paging)
    : task_(task), budget_(budget), paging_(paging) {
  index();
  add_columns();
  add_dependencies();
  add_carries();
  add_memory();
  own_rows_ = program.row_lower.size();
}

void CheckmateMilp::index() {
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

void CheckmateMilp::add_columns() {
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

void CheckmateMilp::add_dependencies() {
  for (int32_t stage = 0; stage < count(); ++stage)
    for (int32_t op = 0; op <= stage; ++op)
      for (const int32_t made : reads_[op]) {
        Sum sum;
        sum.add(1, find(compute_, stage, maker_[made])).add(1, find(retained_, stage, made));
        program.add_row(0, sum.add(-1, find(compute_, stage, op)), kFree);
      }
}

void CheckmateMilp::add_carries() {
  for (int32_t stage = 0; stage < count(); ++stage)
    for (const int32_t made : made_.indices()) {
      if (maker_[made] > stage) continue;
      Sum retain, store, fetch, write;
      retain.add(1, find(retained_, stage, made)).add(1, find(compute_, stage, maker_[made]));
      retain.add(1, find(in_, stage, made)).add(-1, find(retained_, stage + 1, made));
      program.add_row(0, retain, kFree);
      if (!paging_ || maker_[made] >= stage || !tensor(made).can_page) continue;
      store.add(1, find(stored_, stage, made)).add(1, find(out_, stage, made));
      program.add_row(0, store.add(-1, find(stored_, stage + 1, made)), kFree);
      program.add_row(0, fetch.add(1, find(stored_, stage, made)).add(-1, find(in_, stage, made)), kFree);
      program.add_row(0, write.add(1, find(retained_, stage, made)).add(-1, find(out_, stage, made)), kFree);
    }
}

Bytes CheckmateMilp::source_bytes() const {
  const Model& model = task_.model;
  Bytes bytes = model.staging;
  Indexed<TensorIndex, char> read(model.tensors.size(), 0);
  for (const OpIndex op : ops_)
    for (const TensorIndex tensor : task_.kernel(op).reads) read[tensor] = 1;
  for (const TensorIndex tensor : read.indices()) {
    const problem::Home start = model.tensors[tensor].start;
    if (start == problem::Home::kRam || (start == problem::Home::kAux && read[tensor]))
      bytes += model.tensors[tensor].size;
  }
  return bytes;
}

double CheckmateMilp::share(int32_t made) const {
  const auto& kernel = task_.kernel(ops_[maker_[made]]);
  for (size_t write = 0; write < kernel.writes.size(); ++write) {
    const bool update = kernel.writes[write] == made_[made] && kernel.over[write].exists() &&
                        task_.model.tensors[kernel.over[write]].producer == OpIndex();
    if (update) return 0;
  }
  return static_cast<double>(tensor(made).size) / static_cast<double>(budget_);
}

void CheckmateMilp::add_memory() {
  const double sources = static_cast<double>(source_bytes()) / static_cast<double>(budget_);
  for (int32_t stage = 0; stage < count(); ++stage) {
    Term before;
    for (int32_t op = 0; op <= stage; ++op) {
      const Term now = program.add_column(0, 1, false);
      Sum sum;
      sum.add(-1, now);
      for (const int32_t made : writes_[op]) sum.add(share(made), find(compute_, stage, op));
      if (op == 0) {
        sum.add(1, {-1, sources});
        for (const int32_t made : made_.indices()) sum.add(share(made), find(retained_, stage, made));
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

Term CheckmateMilp::add_free(int32_t stage, int32_t made, int32_t op) {
  const Term free = program.add_column(0, 1, false);
  const auto at_most = [&](double constant, double weight, Term term) {
    Sum sum;
    program.add_row(0, sum.add(1, {-1, constant}).add(weight, term).add(-1, free), kFree);
  };
  at_most(0, 1, find(compute_, stage, op));
  at_most(1, -1, find(retained_, stage + 1, made));
  for (const int32_t reader : readers_[made])
    if (reader > op && reader <= stage) at_most(1, -1, find(compute_, stage, reader));
  return free;
}

void CheckmateMilp::limit_compute_seconds(Seconds most) {
  Sum sum;
  for (int32_t stage = 0; stage < count(); ++stage)
    for (int32_t op = 0; op <= stage; ++op) sum.add(task_.kernel(ops_[op]).seconds / most, find(compute_, stage, op));
  program.add_row(-kFree, sum, 1);
}

void CheckmateMilp::limit_transfers(double bytes_per_s) {
  for (int32_t stage = 0; stage < count(); ++stage) {
    Sum sum;
    for (const int32_t made : made_.indices())
      for (const auto* matrix : {&in_, &out_})
        sum.add(static_cast<double>(tensor(made).bytes) / static_cast<double>(budget_), find(*matrix, stage, made));
    if (sum.entries.empty()) continue;
    for (int32_t op = 0; op <= stage; ++op)
      sum.add(-task_.kernel(ops_[op]).seconds * bytes_per_s / static_cast<double>(budget_), find(compute_, stage, op));
    program.add_row(-kFree, sum, 0);
  }
}

void CheckmateMilp::limit_cost(double most) {
  Sum sum;
  for (size_t column = 0; column < program.cost.size(); ++column)
    if (program.cost[column] != 0) sum.add(program.cost[column], {static_cast<int32_t>(column), 0});
  program.add_row(-kFree, sum, most);
}

std::vector<StageActions> CheckmateMilp::stages(const std::vector<double>& values) const {
  std::vector<StageActions> stages(ops_.size() + 1);
  const auto set = [&](Term term) {
    return term.column < 0 ? term.constant > 0.5 : values[base::position_of(term.column)] > 0.5;
  };
  for (int32_t stage = 0; stage < count(); ++stage) {
    for (int32_t op = 0; op <= stage; ++op)
      if (set(find(compute_, stage, op))) stages[base::position_of(stage)].compute.push_back(ops_[op]);
    for (const int32_t made : made_.indices()) {
      if (set(in_[stage][made])) stages[base::position_of(stage + 1)].page_in.push_back(made_[made]);
      if (set(out_[stage][made])) stages[base::position_of(stage)].page_out.push_back(made_[made]);
    }
  }
  return stages;
}

CheckmateMilp::Rounding CheckmateMilp::round_retained(const std::vector<double>& values, double threshold) const {
  const auto value = [&](Term term) {
    return term.column < 0 ? term.constant : values[base::position_of(term.column)];
  };
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
      const double fetched = value(find(in_, stage, made)), computed = value(find(compute_, stage, maker_[made]));
      if (fetched <= computed || fetched < 1e-6) continue;
      rounding.in[stage][made] = rounding.paged[made] = 1;
      rounding.retained[maker_[made] + 1][made] = 1;
    }
  return rounding;
}

void CheckmateMilp::carry(Rounding& rounding) const {
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

std::vector<double> CheckmateMilp::columns_of(const Rounding& rounding) const {
  std::vector<double> columns(program.cost.size(), 0);
  const auto set = [&](Term term, bool on) {
    if (term.column >= 0) columns[base::position_of(term.column)] = on ? 1 : 0;
  };
  for (int32_t stage = 0; stage < count(); ++stage) {
    for (int32_t op = 0; op <= stage; ++op) set(find(compute_, stage, op), rounding.compute[stage][op]);
    for (const int32_t made : made_.indices()) {
      const bool paged = rounding.paged[made];
      set(find(retained_, stage, made), rounding.retained[stage][made]);
      set(find(in_, stage, made), rounding.in[stage][made]);
      set(find(out_, stage, made), paged && stage == maker_[made] + 1);
      set(find(stored_, stage, made), paged && stage > maker_[made] + 1);
    }
  }
  return columns;
}

std::vector<double> CheckmateMilp::rounded(const std::vector<double>& values, double threshold) const {
  Rounding rounding = round_retained(values, threshold);
  carry(rounding);
  return columns_of(rounding);
}

namespace {

// The best rounding whose schedule fits by exact replay; none: empty.
std::vector<double> best_rounding(const Task& task, const CheckmateMilp& milp) {
  std::vector<double> best;
  for (const double share : {1.0, 0.85, 0.7}) {
    if (task.elapsed() > task.options.time_limit / 4 || !best.empty()) break;
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

}  // namespace

Solution solve_or_round(const Task& task, const CheckmateMilp& milp) {
  std::vector<double> rounding = best_rounding(task, milp);
  Solution solution = solve(milp.program, task.left());
  const bool worse = solution.values.empty()
                         ? solution.verdict != Solution::Verdict::kInfeasible
                         : milp.program.value(solution.values) > milp.program.value(rounding) + 1e-9;
  if (rounding.empty() || !worse) return solution;
  return {Solution::Verdict::kIncumbent, std::move(rounding)};
}

Result<Task> ask_small(const CostGraph& graph, const PlanOptions& options, const char* name) {
  PANTOUM_ASSIGN(Task task, ask(graph, options, name));
  const size_t ops = needed_in_order(task).size();
  if (ops <= base::position_of(kMostOps)) return task;
  return does_not_apply(task, fmt::format("too large for its program: {} ops (at most {})", ops, kMostOps));
}

bool may_page(const Task& task) {
  return task.model.paging && task.options.question.freedoms.paging;
}

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

}  // namespace pantoum::plan::baseline
