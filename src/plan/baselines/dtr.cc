// Dynamic Tensor Rematerialization (Kirisame, Lyubomirsky, Haan, Brennan, He, Roesch, Chen, Tatlock, ICLR 2021).
//
// Runs the step in its order as a cache would. When an output does not fit, the tensor with the least
//
//   h_DTR(t) = (c(t) + sum of c over the evicted neighborhood of t) / (m(t) * s(t))
//
// is evicted: c the seconds to compute it, m its bytes, s the seconds since its last access, the evicted neighborhood
// (exact, the paper's e*) the evicted tensors that are reached through evicted tensors up or down. What is asked for
// and evicted is recomputed, recursively; inputs of a running op are locked. What the program needs no more is
// evicted at once (eager eviction), unless it can never be recomputed. Sources in RAM and what must end there are
// never evicted; sources in storage are fetched, their seconds of transfer in the place of c. The plan frees as
// task.h does, never later than DTR, and writes in place, so the cache is given the largest share of a grid around
// the budget whose plan fits.
#include <fmt/format.h>

#include <algorithm>

#include "base/lists.h"
#include "base/round_up.h"
#include "plan/baselines/methods.h"
#include "plan/baselines/task.h"

namespace pantoum::plan::baseline {
namespace {

class Cache {
 public:
  Cache(const Task& task, Bytes budget) : task_(task), model_(task.model), budget_(budget) {
    const size_t count = model_.tensors.size();
    in_ram_.assign(count, 0);
    known_.assign(count, 0);
    lost_.assign(count, 0);
    locks_.assign(count, 0);
    uses_.assign(count, 0);
    used_s_.assign(count, 0);
    readers_.resize(count);
    live_bytes_ = base::round_up(model_.staging, model_.align);
    for (const TensorIndex tensor : model_.tensors.indices())
      if (model_.tensors[tensor].start == Home::kRam) in_ram_[tensor] = 1, live_bytes_ += model_.tensors[tensor].size;
  }

  Result<std::vector<Action>> run() {
    const std::vector<OpIndex> ops = needed_in_order(task_);
    for (const OpIndex op : ops)
      for (const TensorIndex tensor : task_.kernel(op).reads) ++uses_[tensor], readers_[tensor].push_back(op);
    for (const OpIndex op : ops) {
      if (task_.out_of_time()) return no_schedule(task_, "its time limit is over");
      PANTOUM_TRY(compute(op, 0));
      for (const TensorIndex tensor : task_.kernel(op).reads) {
        --uses_[tensor];
        forget_if_done(tensor);
      }
      for (const TensorIndex tensor : task_.kernel(op).writes) forget_if_done(tensor);
    }
    return std::move(actions_);
  }

 private:
  const TensorModel& tensor(TensorIndex index) const { return model_.tensors[index]; }
  double seconds(TensorIndex index) const {
    return !tensor(index).producer.exists() ? tensor(index).in_s : task_.kernel(tensor(index).producer).seconds;
  }

  Result<void> compute(OpIndex op, int depth) {
    const ChoiceModel& how = task_.kernel(op);
    if (depth > kMostDepth || actions_.size() > 200 * model_.ops.size() + 10000)
      return no_schedule(task_, "it thrashes: recomputations evict one another");
    for (const TensorIndex read : how.reads) ++locks_[read];
    for (const TensorIndex read : how.reads)
      if (!in_ram_[read]) PANTOUM_TRY(fetch(read, depth));
    Bytes fresh = 0;
    for (const TensorIndex write : how.writes) {
      ++locks_[write];
      if (!in_ram_[write]) fresh += tensor(write).size;
    }
    for (size_t write = 0; write < how.writes.size(); ++write)
      if (!in_ram_[how.writes[write]] && gives_its_bytes(how.over[write]))
        fresh -= tensor(how.writes[write]).size, lose(how.over[write]);
    PANTOUM_TRY(evict_for(fresh + how.workspace, op));
    actions_.push_back(computing(op));
    now_s_ += how.seconds;
    live_bytes_ += fresh;
    for (const TensorIndex write : how.writes) {
      in_ram_[write] = known_[write] = 1;
      used_s_[write] = now_s_;
      --locks_[write];
    }
    for (const TensorIndex read : how.reads) {
      --locks_[read];
      used_s_[read] = now_s_;
    }
    return {};
  }

  // A source that the op reads as the last: an updated parameter. It cannot be rematerialized.
  bool gives_its_bytes(TensorIndex source) const {
    return source.exists() && in_ram_[source] && tensor(source).start == Home::kRam && uses_[source] == 1 &&
           locks_[source] == 1 && !tensor(source).ends_in_ram;
  }
  void lose(TensorIndex source) { in_ram_[source] = 0, lost_[source] = 1; }

  Result<void> fetch(TensorIndex index, int depth) {
    if (!tensor(index).producer.exists() && tensor(index).start != Home::kAux)
      return no_schedule(task_, fmt::format("a recomputation needs tensor {} after its update", tensor(index).id));
    if (tensor(index).start == Home::kAux) {
      PANTOUM_TRY(evict_for(tensor(index).size, {}));
      actions_.push_back(moving(Do::kPageIn, index));
      now_s_ += tensor(index).in_s;
      live_bytes_ += tensor(index).size;
      in_ram_[index] = known_[index] = 1;
      return {};
    }
    const OpIndex op = tensor(index).producer;
    const auto& writes = task_.kernel(op).writes;
    if (!base::contains(writes, index))
      return does_not_apply(task_, fmt::format("op {} makes tensor {} by another of its kernels only",
                                               model_.ops[op].id, tensor(index).id));
    return compute(op, depth + 1);
  }

  bool evictable(TensorIndex index) const {
    const TensorModel& entry = tensor(index);
    if (!in_ram_[index] || locks_[index] > 0 || !entry.can_drop || entry.ends_in_ram || entry.size == 0) return false;
    if (!entry.producer.exists()) return true;
    const auto& reads = task_.kernel(entry.producer).reads;
    return std::ranges::none_of(reads, [&](TensorIndex read) { return lost_[read]; });
  }

  Result<void> evict_for(Bytes bytes, OpIndex op) {
    while (live_bytes_ + bytes > budget_) {
      TensorIndex victim;
      double least = 0;
      for (const TensorIndex index : model_.tensors.indices()) {
        if (!evictable(index)) continue;
        const double stale = now_s_ - used_s_[index] + 1e-12;
        const double h = (seconds(index) + neighborhood(index)) / (static_cast<double>(tensor(index).size) * stale);
        if (!victim.exists() || h < least) victim = index, least = h;
      }
      if (!victim.exists())
        return no_schedule(task_, !op.exists() ? "nothing is left to evict"
                                               : fmt::format("nothing is left to evict before op {}, which needs {} "
                                                             "bytes beside {}",
                                                             model_.ops[op].id, bytes, live_bytes_));
      release(victim);
    }
    return {};
  }

  void release(TensorIndex index) {
    in_ram_[index] = 0;
    live_bytes_ -= tensor(index).size;
  }

  void forget_if_done(TensorIndex index) {
    const TensorModel& entry = tensor(index);
    const bool done = uses_[index] == 0 && !entry.ends_in_ram && entry.can_drop;
    if (done && in_ram_[index]) release(index);
  }

  // Seconds to compute the evicted tensors that hang together with it, each op once.
  double neighborhood(TensorIndex index) {
    seen_.assign(model_.ops.size(), 0);
    const OpIndex own = tensor(index).producer;
    if (own.exists()) seen_[own] = 1;
    return up(index) + down(index);
  }
  bool evicted(TensorIndex index) const { return known_[index] && !in_ram_[index]; }

  double visit(TensorIndex index, bool upwards) {
    const OpIndex op = tensor(index).producer;
    if (!evicted(index) || !op.exists() || seen_[op]) return 0;
    seen_[op] = 1;
    return task_.kernel(op).seconds + (upwards ? up(index) : down(index));
  }
  double up(TensorIndex index) {
    double sum = 0;
    if (tensor(index).producer.exists())
      for (const TensorIndex read : task_.kernel(tensor(index).producer).reads) sum += visit(read, true);
    return sum;
  }
  double down(TensorIndex index) {
    double sum = 0;
    for (const OpIndex reader : readers_[index])
      for (const TensorIndex write : task_.kernel(reader).writes) sum += visit(write, false);
    return sum;
  }

  static constexpr int kMostDepth = 1500;
  const Task& task_;
  const Model& model_;
  const Bytes budget_;
  Bytes live_bytes_ = 0;
  Seconds now_s_ = 0;
  Indexed<TensorIndex, char> in_ram_, known_, lost_;    // by tensor; made or fetched before; overwritten by an update
  Indexed<TensorIndex, int32_t> locks_, uses_;          // by tensor; reads that the program has still ahead
  Indexed<TensorIndex, Seconds> used_s_;                // by tensor: its last access
  Indexed<TensorIndex, std::vector<OpIndex>> readers_;  // by tensor: ops
  Indexed<OpIndex, char> seen_;                         // by op
  std::vector<Action> actions_;
};

}  // namespace

Result<Plan> dtr(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Task task, ask(graph, options, "dtr"));
  Result<Plan> plan = no_schedule(task, "its time limit is over");
  bool judged = false;
  for (const double share : {2.0, 1.6, 1.4, 1.25, 1.15, 1.1, 1.05, 1.0, 0.97, 0.94, 0.9}) {
    if (plan || task.out_of_time()) break;
    Result<std::vector<Action>> actions =
        Cache(task, static_cast<Bytes>(share * static_cast<double>(options.question.budget_bytes()))).run();
    if (!actions) {  // with less it would fail sooner
      if (!judged) plan = Failure(std::move(actions).error());
      break;
    }
    plan = plan_schedule(task, *actions);
    judged = true;
  }
  return plan;
}

}  // namespace pantoum::plan::baseline
