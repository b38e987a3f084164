#include "plan/bound/precedence.h"

#include <algorithm>

#include "plan/bound/bounds.h"

namespace pantoum::plan {
namespace {

using Reads = Indexed<OpIndex, std::vector<TensorIndex>>;

std::vector<TensorIndex> common_reads_of(const OpModel& op) {
  std::vector<TensorIndex> common = op.choices.front().reads;
  for (const ChoiceModel& choice : op.choices)
    std::erase_if(common, [&](TensorIndex tensor) {
      return std::find(choice.reads.begin(), choice.reads.end(), tensor) == choice.reads.end();
    });
  return common;
}

// By op: the segment that it ends, or -1.
Indexed<OpIndex, Segment> ends_of(const Model& model, const std::vector<Stage>& boundaries) {
  Indexed<OpIndex, Segment> ends(model.ops.size(), -1);
  for (size_t segment = 0; segment + 1 < boundaries.size(); ++segment)
    ends[Model::op_of(boundaries[segment])] = static_cast<Segment>(segment);
  return ends;
}

using OpSet = std::vector<bool>;

void add(OpSet& set, const OpSet& more) {
  for (size_t op = 0; op < set.size(); ++op) set[op] = set[op] || more[op];
}

// By op: those that come before it in every order.
Indexed<OpIndex, OpSet> ancestors_of(const Model& model, const Reads& reads) {
  Indexed<OpIndex, OpSet> before(model.ops.size(), OpSet(model.ops.size()));
  for (const OpIndex op : model.ops.indices())
    for (const TensorIndex tensor : reads[op])
      if (const OpIndex maker = model.tensors[tensor].producer; maker.exists()) {
        add(before[op], before[maker]);
        before[op][base::position_of(maker)] = true;
      }
  return before;
}

bool comes_back(const Model& model, const TensorModel& tensor) {
  const bool stored = tensor.start == Home::kAux || tensor.can_page || (tensor.ends_in_aux && model.paging);
  return stored || (tensor.producer.exists() && model.ops[tensor.producer].recomputable);
}

bool touches(const OpModel& op, TensorIndex tensor) {
  const auto lists = [&](const std::vector<TensorIndex>& list) {
    return std::find(list.begin(), list.end(), tensor) != list.end();
  };
  return std::any_of(op.choices.begin(), op.choices.end(),
                     [&](const ChoiceModel& choice) { return lists(choice.reads) || lists(choice.writes); });
}

}  // namespace

Indexed<OpIndex, Bytes> surely_held(const Model& model) {
  const Reads reads = common_reads(model);
  const Indexed<OpIndex, OpSet> before = ancestors_of(model, reads);
  Indexed<TensorIndex, std::vector<OpIndex>> readers(model.tensors.size());
  for (const OpIndex op : model.ops.indices())
    for (const TensorIndex tensor : reads[op])
      if (!model.ops[op].optional) readers[tensor].push_back(op);
  Indexed<OpIndex, Bytes> held;
  for (const OpModel& op : model.ops) held.push_back(working_set(model, op));
  for (const TensorIndex tensor : model.tensors.indices()) {
    const TensorModel& entry = model.tensors[tensor];
    const bool there = entry.producer.exists() || entry.start == Home::kRam;
    if (!there || entry.size == 0 || comes_back(model, entry)) continue;
    for (const OpIndex op : model.ops.indices()) {
      const size_t place = base::position_of(op);
      const bool made = !entry.producer.exists() || before[op][base::position_of(entry.producer)];
      const bool wanted = entry.ends_in_ram || std::any_of(readers[tensor].begin(), readers[tensor].end(),
                                                           [&](OpIndex reader) { return before[reader][place]; });
      if (made && wanted && !touches(model.ops[op], tensor)) held[op] += entry.size;
    }
  }
  return held;
}

Reads common_reads(const Model& model) {
  Reads reads;
  for (const OpModel& op : model.ops) reads.push_back(common_reads_of(op));
  return reads;
}

// Ops stand behind those that make what they read, so one pass in the model's order gives what comes before each, and
// one against it what comes after. An optional op between two others counts: the later one cannot do without it.
Windows windows_of(const Model& model, const Reads& reads, const std::vector<Stage>& boundaries) {
  const Indexed<OpIndex, Segment> ends = ends_of(model, boundaries);
  const auto last = static_cast<Segment>(boundaries.size()) - 1;
  Windows windows{.first = Indexed<OpIndex, Segment>(model.ops.size(), 0),
                  .last = Indexed<OpIndex, Segment>(model.ops.size(), last)};
  for (const OpIndex op : model.ops.indices())
    for (const TensorIndex tensor : reads[op])
      if (const OpIndex maker = model.tensors[tensor].producer; maker.exists())
        windows.first[op] = std::max({windows.first[op], windows.first[maker], ends[maker] + 1});
  for (const OpIndex op : model.ops.indices().descending()) {
    if (ends[op] >= 0) windows.last[op] = ends[op];
    for (const TensorIndex tensor : reads[op])
      if (const OpIndex maker = model.tensors[tensor].producer; maker.exists())
        windows.last[maker] = std::min(windows.last[maker], windows.last[op]);
  }
  return windows;
}

std::vector<Stage> heaviest_chain(const Model& model, const Indexed<Stage, double>& weights) {
  const Reads reads = common_reads(model);
  Indexed<OpIndex, double> heaviest(model.ops.size(), 0);  // of the chains that end with the op
  Indexed<OpIndex, OpIndex> before(model.ops.size());
  OpIndex end;
  const auto weight = [&](OpIndex op) { return model.ops[op].optional ? 0 : weights[model.ops[op].stage]; };
  for (const OpIndex op : model.ops.indices()) {
    for (const TensorIndex tensor : reads[op]) {
      const OpIndex maker = model.tensors[tensor].producer;
      if (maker.exists() && (!before[op].exists() || heaviest[maker] > heaviest[before[op]])) before[op] = maker;
    }
    heaviest[op] = weight(op) + (before[op].exists() ? heaviest[before[op]] : 0);
    if (!end.exists() || heaviest[op] > heaviest[end]) end = op;
  }
  std::vector<Stage> chain;
  for (OpIndex op = end; op.exists(); op = before[op])
    if (weight(op) > 0) chain.push_back(model.ops[op].stage);
  std::reverse(chain.begin(), chain.end());
  return chain;
}

}  // namespace pantoum::plan
