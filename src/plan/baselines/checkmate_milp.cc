#include "plan/baselines/checkmate_milp.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/baselines/forward_backward_boundary.h"

namespace pantoum::plan::baseline {

StageProgram::StageProgram(const Question& question, Bytes ram, bool paging) : question_(question), ram_(ram) {
  index();
  add_columns(paging);
  add_dependencies();
  add_carries(paging);
  add_memory();
  own_rows_ = program.row_lower.size();
}

void StageProgram::index() {
  ops_ = needed_in_order(question_);
  std::vector<int32_t> made_at(question_.model.tensors.size(), -1);
  reads_.resize(ops_.size());
  writes_.resize(ops_.size());
  for (int32_t op = 0; op < count(); ++op) {
    for (const int32_t tensor : question_.kernel(ops_[at(op)]).writes) {
      made_at[at(tensor)] = static_cast<int32_t>(made_.size());
      writes_[at(op)].push_back(made_at[at(tensor)]);
      made_.push_back(tensor);
      maker_.push_back(op);
    }
  }
  readers_.resize(made_.size());
  for (int32_t op = 0; op < count(); ++op)
    for (const int32_t tensor : question_.kernel(ops_[at(op)]).reads) {
      const int32_t made = made_at[at(tensor)];
      if (made < 0) continue;
      reads_[at(op)].push_back(made);
      readers_[at(made)].push_back(op);
    }
}

void StageProgram::add_columns(bool paging) {
  const auto stages = at(count()) + 1;
  compute_.assign(stages, std::vector<Term>(ops_.size()));
  for (auto* matrix : {&keep_, &stored_, &in_, &out_}) matrix->assign(stages, std::vector<Term>(made_.size()));
  const auto binary = [&] { return program.add_column(0, 1, true); };
  for (int32_t stage = 0; stage < count(); ++stage) {
    compute_[at(stage)][at(stage)] = {-1, 1};
    for (int32_t op = 0; op < stage; ++op) {
      if (!question_.model.ops[at(ops_[at(op)])].recomputable) continue;
      compute_[at(stage)][at(op)] = binary();
      computes_.push_back({stage, op, compute_[at(stage)][at(op)].column});
    }
    for (int32_t made = 0; made < static_cast<int32_t>(made_.size()); ++made) {
      if (maker_[at(made)] >= stage) continue;
      keep_[at(stage)][at(made)] = binary();
      if (!paging || !tensor(made).can_page) continue;
      stored_[at(stage)][at(made)] = maker_[at(made)] + 1 < stage ? binary() : Term{};
      in_[at(stage)][at(made)] = binary();
      out_[at(stage)][at(made)] = binary();
      ins_.push_back({stage, made, in_[at(stage)][at(made)].column});
      outs_.push_back({stage, made, out_[at(stage)][at(made)].column});
    }
  }
  for (size_t made = 0; made < made_.size(); ++made)
    keep_[at(count())][made] = {-1, tensor(static_cast<int32_t>(made)).ends_in_ram ? 1.0 : 0.0};
}

void StageProgram::add_dependencies() {
  for (int32_t stage = 0; stage < count(); ++stage)
    for (int32_t op = 0; op <= stage; ++op)
      for (const int32_t made : reads_[at(op)]) {
        Sum sum;
        sum.add(1, find(compute_, stage, maker_[at(made)])).add(1, find(keep_, stage, made));
        program.add_row(0, sum.add(-1, find(compute_, stage, op)), kFree);
      }
}

void StageProgram::add_carries(bool paging) {
  for (int32_t stage = 0; stage < count(); ++stage)
    for (int32_t made = 0; made < static_cast<int32_t>(made_.size()); ++made) {
      if (maker_[at(made)] > stage) continue;
      Sum keep, store, fetch, write;
      keep.add(1, find(keep_, stage, made)).add(1, find(compute_, stage, maker_[at(made)]));
      keep.add(1, find(in_, stage, made)).add(-1, find(keep_, stage + 1, made));
      program.add_row(0, keep, kFree);
      if (!paging || maker_[at(made)] >= stage || !tensor(made).can_page) continue;
      store.add(1, find(stored_, stage, made)).add(1, find(out_, stage, made));
      program.add_row(0, store.add(-1, find(stored_, stage + 1, made)), kFree);
      program.add_row(0, fetch.add(1, find(stored_, stage, made)).add(-1, find(in_, stage, made)), kFree);
      program.add_row(0, write.add(1, find(keep_, stage, made)).add(-1, find(out_, stage, made)), kFree);
    }
}

Bytes StageProgram::source_bytes() const {
  const Model& model = question_.model;
  Bytes bytes = model.staging;
  std::vector<char> read(model.tensors.size(), 0);
  for (const int32_t op : ops_)
    for (const int32_t tensor : question_.kernel(op).reads) read[at(tensor)] = 1;
  for (size_t tensor = 0; tensor < read.size(); ++tensor) {
    const problem::Home start = model.tensors[tensor].start;
    if (start == problem::Home::kRam || (start == problem::Home::kAux && read[tensor]))
      bytes += model.tensors[tensor].size;
  }
  return bytes;
}

double StageProgram::share(int32_t made) const {
  const auto& kernel = question_.kernel(ops_[at(maker_[at(made)])]);
  for (size_t write = 0; write < kernel.writes.size(); ++write) {
    const bool update = kernel.writes[write] == made_[at(made)] && kernel.over[write] >= 0 &&
                        question_.model.tensors[at(kernel.over[write])].producer < 0;
    if (update) return 0;
  }
  return static_cast<double>(tensor(made).size) / static_cast<double>(ram_);
}

void StageProgram::add_memory() {
  const double sources = static_cast<double>(source_bytes()) / static_cast<double>(ram_);
  for (int32_t stage = 0; stage < count(); ++stage) {
    Term before;
    for (int32_t op = 0; op <= stage; ++op) {
      const Term now = program.add_column(0, 1, false);
      Sum sum;
      sum.add(-1, now);
      for (const int32_t made : writes_[at(op)]) sum.add(share(made), find(compute_, stage, op));
      if (op == 0) {
        sum.add(1, {-1, sources});
        for (int32_t made = 0; made < static_cast<int32_t>(made_.size()); ++made)
          sum.add(share(made), find(keep_, stage, made));
      } else {
        sum.add(1, before);
        for (const auto* list : {&reads_[at(op - 1)], &writes_[at(op - 1)]})
          for (const int32_t made : *list)
            if (share(made) > 0) sum.add(-share(made), add_free(stage, made, op - 1));
      }
      program.add_row(0, sum, 0);
      before = now;
    }
  }
}

Term StageProgram::add_free(int32_t stage, int32_t made, int32_t op) {
  const Term free = program.add_column(0, 1, false);
  const auto at_most = [&](double constant, double weight, Term term) {
    Sum sum;
    program.add_row(0, sum.add(1, {-1, constant}).add(weight, term).add(-1, free), kFree);
  };
  at_most(0, 1, find(compute_, stage, op));
  at_most(1, -1, find(keep_, stage + 1, made));
  for (const int32_t reader : readers_[at(made)])
    if (reader > op && reader <= stage) at_most(1, -1, find(compute_, stage, reader));
  return free;
}

void StageProgram::limit_compute_seconds(Seconds most) {
  Sum sum;
  for (int32_t stage = 0; stage < count(); ++stage)
    for (int32_t op = 0; op <= stage; ++op)
      sum.add(question_.kernel(ops_[at(op)]).seconds / most, find(compute_, stage, op));
  program.add_row(-kFree, sum, 1);
}

void StageProgram::limit_transfers(double bytes_per_s) {
  for (int32_t stage = 0; stage < count(); ++stage) {
    Sum sum;
    for (int32_t made = 0; made < static_cast<int32_t>(made_.size()); ++made)
      for (const auto* matrix : {&in_, &out_})
        sum.add(static_cast<double>(tensor(made).bytes) / static_cast<double>(ram_), find(*matrix, stage, made));
    if (sum.entries.empty()) continue;
    for (int32_t op = 0; op <= stage; ++op)
      sum.add(-question_.kernel(ops_[at(op)]).seconds * bytes_per_s / static_cast<double>(ram_),
              find(compute_, stage, op));
    program.add_row(-kFree, sum, 0);
  }
}

void StageProgram::limit_cost(double most) {
  Sum sum;
  for (size_t column = 0; column < program.cost.size(); ++column)
    if (program.cost[column] != 0) sum.add(program.cost[column], {static_cast<int32_t>(column), 0});
  program.add_row(-kFree, sum, most);
}

std::vector<StageActions> StageProgram::stages(const std::vector<double>& values) const {
  std::vector<StageActions> stages(at(count()) + 1);
  const auto set = [&](Term term) { return term.column < 0 ? term.constant > 0.5 : values[at(term.column)] > 0.5; };
  for (int32_t stage = 0; stage < count(); ++stage) {
    for (int32_t op = 0; op <= stage; ++op)
      if (set(find(compute_, stage, op))) stages[at(stage)].compute.push_back(ops_[at(op)]);
    for (size_t made = 0; made < made_.size(); ++made) {
      if (set(in_[at(stage)][made])) stages[at(stage) + 1].page_in.push_back(made_[made]);
      if (set(out_[at(stage)][made])) stages[at(stage)].page_out.push_back(made_[made]);
    }
  }
  return stages;
}

StageProgram::Rounding StageProgram::round_kept(const std::vector<double>& values, double threshold) const {
  const auto value = [&](Term term) { return term.column < 0 ? term.constant : values[at(term.column)]; };
  Rounding rounding;
  const std::vector<char> none(made_.size(), 0);
  rounding.keep.assign(at(count()) + 1, none);
  rounding.in = rounding.keep;
  rounding.paged = none;
  for (int32_t stage = 0; stage <= count(); ++stage)
    for (size_t made = 0; made < made_.size(); ++made)
      rounding.keep[at(stage)][made] = value(keep_[at(stage)][made]) > threshold;
  for (int32_t made = 0; made < static_cast<int32_t>(made_.size()); ++made)
    for (int32_t stage = maker_[at(made)] + 2; stage < count(); ++stage) {
      if (rounding.keep[at(stage)][at(made)] || !rounding.keep[at(stage) + 1][at(made)]) continue;
      const double fetched = value(find(in_, stage, made)), computed = value(find(compute_, stage, maker_[at(made)]));
      if (fetched <= computed || fetched < 1e-6) continue;
      rounding.in[at(stage)][at(made)] = rounding.paged[at(made)] = 1;
      rounding.keep[at(maker_[at(made)]) + 1][at(made)] = 1;
    }
  return rounding;
}

void StageProgram::carry(Rounding& rounding) const {
  rounding.compute.assign(at(count()) + 1, std::vector<char>(ops_.size(), 0));
  for (int32_t stage = 0; stage < count(); ++stage) {
    std::vector<char>& runs = rounding.compute[at(stage)];
    const std::vector<char>& kept = rounding.keep[at(stage)];
    runs[at(stage)] = 1;
    for (size_t made = 0; made < made_.size(); ++made)
      if (rounding.keep[at(stage) + 1][made] && !kept[made] && !rounding.in[at(stage)][made])
        runs[at(maker_[made])] = 1;
    for (int32_t op = stage; op >= 0; --op)
      if (runs[at(op)])
        for (const int32_t made : reads_[at(op)])
          if (!kept[at(made)]) runs[at(maker_[at(made)])] = 1;
  }
}

std::vector<double> StageProgram::columns_of(const Rounding& rounding) const {
  std::vector<double> columns(program.cost.size(), 0);
  const auto set = [&](Term term, bool on) {
    if (term.column >= 0) columns[at(term.column)] = on ? 1 : 0;
  };
  for (int32_t stage = 0; stage < count(); ++stage) {
    for (int32_t op = 0; op <= stage; ++op) set(find(compute_, stage, op), rounding.compute[at(stage)][at(op)]);
    for (int32_t made = 0; made < static_cast<int32_t>(made_.size()); ++made) {
      const bool paged = rounding.paged[at(made)];
      set(find(keep_, stage, made), rounding.keep[at(stage)][at(made)]);
      set(find(in_, stage, made), rounding.in[at(stage)][at(made)]);
      set(find(out_, stage, made), paged && stage == maker_[at(made)] + 1);
      set(find(stored_, stage, made), paged && stage > maker_[at(made)] + 1);
    }
  }
  return columns;
}

std::vector<double> StageProgram::rounded(const std::vector<double>& values, double threshold) const {
  Rounding rounding = round_kept(values, threshold);
  carry(rounding);
  return columns_of(rounding);
}

namespace {

double value_of(const Program& program, const std::vector<double>& values) {
  double value = 0;
  for (size_t column = 0; column < values.size(); ++column) value += values[column] * program.cost[column];
  return value;
}

// The best rounding whose schedule fits by exact replay; none: empty.
std::vector<double> best_rounding(const Question& question, const StageProgram& program, bool paging) {
  std::vector<double> best;
  for (const double share : {1.0, 0.85, 0.7}) {
    if (question.elapsed() > question.options.time_limit / 4 || !best.empty()) break;
    StageProgram tighter(
        question, static_cast<Bytes>(share * static_cast<double>(question.options.question.budget_bytes())), paging);
    tighter.program.cost = program.program.cost;
    const Solution relaxed = relax(tighter.program, question.options.time_limit / 4);
    if (relaxed.values.empty()) break;
    for (const double threshold : {0.5, 0.3, 0.7, 0.1, 0.9}) {
      std::vector<double> columns = tighter.rounded(relaxed.values, threshold);
      if (!program.meets_limits(columns)) continue;
      const auto events = complete(question.model, question.choices, in_stages(program.stages(columns)));
      if (!events || peak_of(question.model, *events) > question.options.question.budget_bytes()) continue;
      if (best.empty() || value_of(program.program, columns) < value_of(program.program, best))
        best = std::move(columns);
    }
  }
  return best;
}

}  // namespace

Solution solve_or_round(const Question& question, const StageProgram& program, bool paging) {
  std::vector<double> rounding = best_rounding(question, program, paging);
  Solution solution = solve(program.program, question.left());
  const bool worse = solution.values.empty()
                         ? solution.verdict != Solution::Verdict::kInfeasible
                         : value_of(program.program, solution.values) > value_of(program.program, rounding) + 1e-9;
  if (rounding.empty() || !worse) return solution;
  return {Solution::Verdict::kIncumbent, std::move(rounding)};
}

Result<void> check_size(const Question& question) {
  const size_t ops = needed_in_order(question).size();
  if (ops <= static_cast<size_t>(kMostOps)) return {};
  return does_not_apply(question, fmt::format("too large for its program: {} ops (at most {})", ops, kMostOps));
}

Result<Plan> plan_of(const Question& question, const StageProgram& program, const Solution& solution,
                     const std::string& published) {
  if (solution.verdict == Solution::Verdict::kInfeasible) {
    Failure failure = no_schedule(question, "its program is infeasible");
    failure.value().notes.push_back(published);
    return failure;
  }
  if (solution.values.empty()) return no_schedule(question, "its solver found nothing within the time limit");
  PANTOUM_ASSIGN(const std::vector<Event> events,
                 complete(question.model, question.choices, in_stages(program.stages(solution.values))));
  return answer(question, events, published);
}

}  // namespace pantoum::plan::baseline
