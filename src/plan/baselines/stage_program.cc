#include "plan/baselines/stage_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/baselines/turn.h"

namespace pantoum::plan::baseline {

StageProgram::StageProgram(const Question& question, Bytes ram, bool paging) : question_(question), ram_(ram) {
  index();
  add_columns(paging);
  add_dependencies();
  add_carries(paging);
  add_memory();
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
      if (!question_.model.ops[at(ops_[at(op)])].again) continue;
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
    const cost::Home start = model.tensors[tensor].start;
    if (start == cost::Home::kRam || (start == cost::Home::kAux && read[tensor])) bytes += model.tensors[tensor].size;
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

std::vector<StageActions> StageProgram::rounded(const std::vector<double>& values) const {
  std::vector<StageActions> stages(at(count()));
  const auto kept = [&](int32_t stage, int32_t made) {
    const Term term = find(keep_, stage, made);
    return term.column < 0 ? term.constant > 0.5 : values[at(term.column)] > 0.5;
  };
  for (int32_t stage = 0; stage < count(); ++stage) {
    std::vector<char> runs(ops_.size(), 0);
    runs[at(stage)] = 1;
    for (int32_t made = 0; made < static_cast<int32_t>(made_.size()); ++made)
      if (kept(stage + 1, made) && !kept(stage, made)) runs[at(maker_[at(made)])] = 1;
    for (int32_t op = stage; op >= 0; --op) {
      if (!runs[at(op)]) continue;
      for (const int32_t made : reads_[at(op)])
        if (!kept(stage, made)) runs[at(maker_[at(made)])] = 1;
    }
    for (int32_t op = 0; op <= stage; ++op)
      if (runs[at(op)]) stages[at(stage)].compute.push_back(ops_[at(op)]);
  }
  return stages;
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
