#include "plan/realize/predict.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace pantoum::plan {

namespace {

struct Block {
  Bytes at = 0, size = 0;
  Seconds ready = 0, busy = 0;
};

bool overlap(const Block& block, Bytes at, Bytes size) {
  return block.size > 0 && size > 0 && block.at < at + size && at < block.at + block.size;
}

class PlanRunner {
 public:
  PlanRunner(const CostGraph& graph, const Plan& plan, const EngineSeconds& taken)
      : graph_(graph), plan_(plan), taken_(taken) {
    for (size_t tensor = 0; tensor < graph.tensors.size(); ++tensor) index_.emplace(graph.tensors[tensor].id, tensor);
    for (const Op& op : graph.ops) ops_.emplace(op.id, &op);
    const size_t count = graph.tensors.size();
    block_.resize(count);
    in_ram_.assign(count, 0);
    stored_.assign(count, -1);
  }

  std::optional<Predicted> run() {
    if (!start()) return std::nullopt;
    for (const Instruction& step : plan_.instructions) {
      if (!issue(step)) return std::nullopt;
      if (freed_.size() > 64) std::erase_if(freed_, [&](const Block& block) { return block.busy <= now_; });
    }
    found_.time_s = end_;
    found_.energy_j = joules_ + graph_.device.idle_w * end_;
    return found_;
  }

 private:
  bool start() {
    const Bytes staging = graph_.device.pager.staging_bytes;
    if (staging > 0) hold(plan_.staging_at, staging);
    for (size_t tensor = 0; tensor < graph_.tensors.size(); ++tensor) {
      if (graph_.tensors[tensor].start == Home::kAux) stored_[tensor] = 0;
      if (graph_.tensors[tensor].start != Home::kRam) continue;
      const auto at = plan_.initial.find(graph_.tensors[tensor].id);
      if (at == plan_.initial.end()) return false;
      arrive(tensor, at->second);
    }
    return true;
  }

  void hold(Bytes at, Bytes size) {
    live_ += size;
    found_.peak_bytes = std::max(found_.peak_bytes, live_);
    found_.arena_bytes = std::max(found_.arena_bytes, at + size);
  }
  void arrive(size_t tensor, Bytes at) {
    hold(at, graph_.tensors[tensor].bytes);
    in_ram_[tensor] = 1;
    block_[tensor] = {at, graph_.tensors[tensor].bytes, 0, 0};
  }
  Seconds wait_for(Bytes at, Bytes size) const {
    Seconds wait = 0;
    for (const Block& block : freed_)
      if (overlap(block, at, size)) wait = std::max(wait, block.busy);
    return wait;
  }

  bool issue(const Instruction& step) {
    if (step.what == Do::kCompute) return compute(step);
    const auto found = index_.find(step.subject);
    if (found == index_.end()) return false;
    const size_t tensor = found->second;
    if (step.what == Do::kPageIn) return page_in(tensor, step.at.at(0));
    if (!in_ram_[tensor]) return false;
    if (step.what == Do::kPageOut) {
      const Seconds end = transfer(true, block_[tensor]);
      block_[tensor].busy = std::max(block_[tensor].busy, end);
      stored_[tensor] = end;
      return true;
    }
    in_ram_[tensor] = 0;
    live_ -= block_[tensor].size;
    freed_.push_back(block_[tensor]);
    return true;
  }

  bool page_in(size_t tensor, Bytes at) {
    if (in_ram_[tensor] || stored_[tensor] < 0) return false;
    const Seconds wait = std::max(wait_for(at, graph_.tensors[tensor].bytes), stored_[tensor]);
    arrive(tensor, at);
    block_[tensor].ready = wait;
    const Seconds end = transfer(false, block_[tensor]);
    block_[tensor].ready = block_[tensor].busy = end;
    return true;
  }

  Seconds transfer(bool out, const Block& block) {
    const Pager& pager = graph_.device.pager;
    const Link& link = out ? pager.out : pager.in;
    const Seconds seconds = problem::transfer_seconds(pager, link, block.size);
    Seconds& free_from = out && pager.full_duplex ? out_free_ : in_free_;
    const Seconds end = std::max({block.ready, now_, free_from}) + seconds;
    free_from = end;
    joules_ += seconds * link.w;
    end_ = std::max(end_, end);
    if (pager.mode == PagerMode::kSync)
      now_ = end;
    else if (taken_)
      now_ += taken_(out, block.size);
    end_ = std::max(end_, now_);
    return end;
  }

  // A compute under way: what it reads and writes, whose bytes it takes, and when it can begin.
  struct Compute {
    Seconds begin = 0;
    std::vector<size_t> reads, writes, dying;
  };

  bool compute(const Instruction& step) {
    const auto known = ops_.find(step.subject);
    if (known == ops_.end() || step.choice < 0 || static_cast<size_t>(step.choice) >= known->second->choices.size())
      return false;
    const Op& op = *known->second;
    const Choice& choice = op.choices[static_cast<size_t>(step.choice)];
    Compute work{.begin = now_};
    if (step.at.size() != choice.writes.size() || !wait_for_inputs(op, choice, work)) return false;
    for (size_t write = 0; write < choice.writes.size(); ++write)
      wait_for_output(index_.at(op.outputs[static_cast<size_t>(choice.writes[write])]), step.at[write], work);
    if (choice.workspace_bytes > 0)
      work.begin = std::max(work.begin, wait_for(step.workspace_at, choice.workspace_bytes));
    finish(step, choice, work);
    return true;
  }

  bool wait_for_inputs(const Op& op, const Choice& choice, Compute& work) const {
    for (const int position : choice.reads) {
      const size_t tensor = index_.at(op.inputs[static_cast<size_t>(position)]);
      if (graph_.tensors[tensor].start == Home::kRom) continue;
      if (!in_ram_[tensor]) return false;
      work.begin = std::max(work.begin, block_[tensor].ready);
      work.reads.push_back(tensor);
    }
    return true;
  }

  // Recomputing in place and overwriting wait for the last use of those bytes, a page_out included.
  void wait_for_output(size_t tensor, Bytes at, Compute& work) const {
    work.writes.push_back(tensor);
    if (in_ram_[tensor]) {
      work.begin = std::max(work.begin, block_[tensor].busy);
      return;
    }
    const Bytes size = graph_.tensors[tensor].bytes;
    work.begin = std::max(work.begin, wait_for(at, size));
    for (const size_t source : work.reads) {
      if (!overlap(block_[source], at, size)) continue;
      work.begin = std::max(work.begin, block_[source].busy);
      if (std::find(work.dying.begin(), work.dying.end(), source) == work.dying.end()) work.dying.push_back(source);
    }
  }

  void finish(const Instruction& step, const Choice& choice, const Compute& work) {
    const Seconds end = work.begin + choice.time_s;
    const Bytes workspace = choice.workspace_bytes;
    for (const size_t tensor : work.reads) block_[tensor].busy = std::max(block_[tensor].busy, end);
    for (const size_t source : work.dying) {
      in_ram_[source] = 0;
      live_ -= block_[source].size;
    }
    for (size_t write = 0; write < work.writes.size(); ++write) {
      const size_t tensor = work.writes[write];
      if (!in_ram_[tensor]) arrive(tensor, step.at[write]);
      block_[tensor].ready = block_[tensor].busy = end;
    }
    if (workspace > 0) {
      found_.peak_bytes = std::max(found_.peak_bytes, live_ + workspace);
      found_.arena_bytes = std::max(found_.arena_bytes, step.workspace_at + workspace);
      freed_.push_back({step.workspace_at, workspace, end, end});
    }
    now_ = end;
    end_ = std::max(end_, end);
    joules_ += choice.energy_j;
  }

  const CostGraph& graph_;
  const Plan& plan_;
  const EngineSeconds& taken_;
  std::unordered_map<int64_t, size_t> index_;
  std::unordered_map<int64_t, const Op*> ops_;
  std::vector<Block> block_;
  std::vector<char> in_ram_;
  std::vector<Seconds> stored_;  // from when the copy in storage is whole; -1: none
  std::vector<Block> freed_;
  Bytes live_ = 0;
  Seconds now_ = 0, in_free_ = 0, out_free_ = 0, end_ = 0;
  Joules joules_ = 0;
  Predicted found_;
};

}  // namespace

std::optional<Predicted> predict(const CostGraph& graph, const Plan& plan, const EngineSeconds& taken) {
  return PlanRunner(graph, plan, taken).run();
}

}  // namespace pantoum::plan
