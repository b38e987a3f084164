#include "plan/order/order_problem.h"

#include <unordered_map>

#include "base/lists.h"
#include "base/round_up.h"

namespace pantoum::plan {
namespace {

class Condenser {
 public:
  Condenser(const Model& model, const Choices& choices)
      : model_(model), choices_(choices), needed_(needed_ops(model, choices)) {}

  OrderProblem run() {
    problem_.ops = Indexed<OpIndex, OrderOp>(model_.ops.size());
    add_tensors();
    for (const OpIndex op : model_.ops.indices()) add_op(op);
    add_holds();
    add_dependencies();
    add_first_live();
    return std::move(problem_);
  }

 private:
  void add_tensors() {
    for (const TensorModel& tensor : model_.tensors)
      problem_.tensors.push_back({.size = tensor.size,
                                  .from_start = tensor.start == Home::kRam,
                                  .loaded = tensor.start == Home::kAux,
                                  .kept = tensor.ends_in_ram || tensor.pinned});
  }

  void add_op(OpIndex op) {
    if (!needed_[op]) return;
    const ChoiceModel& choice = model_.chosen(op, choices_);
    OrderOp& entry = problem_.ops[op];
    entry.workspace = choice.workspace;
    entry.reads = choice.reads;
    for (const TensorIndex read : choice.reads) {
      problem_.tensors[read].users.push_back(op);
      problem_.tensors[read].readers.push_back(op);
    }
    for (size_t write = 0; write < choice.writes.size(); ++write) {
      problem_.tensors[choice.writes[write]].producer = op;
      const TensorIndex over = choice.over[write];
      entry.writes.push_back({choice.writes[write], may_be_taken(over, choice) ? over : TensorIndex()});
    }
  }

  // May the last reader take over the tensor's bytes? Only if the tensor has no duty afterwards.
  bool may_be_taken(TensorIndex tensor, const ChoiceModel& by) const {
    if (!tensor.exists() || !base::contains(by.reads, tensor)) return false;
    const TensorModel& entry = model_.tensors[tensor];
    return !entry.ends_in_ram && (entry.pinned || !entry.ends_in_aux || entry.start == Home::kAux);
  }

  // What is pinned or ends in storage stays for readers by other choices as well.
  void add_holds() {
    for (const OpIndex op : model_.ops.indices())
      for (const ChoiceModel& choice : model_.ops[op].choices)
        for (const TensorIndex read : choice.reads) add_hold(op, read);
  }

  void add_hold(OpIndex op, TensorIndex tensor) {
    const TensorModel& entry = model_.tensors[tensor];
    OrderTensor& held = problem_.tensors[tensor];
    if (!entry.pinned && !entry.ends_in_aux) return;
    if (held.loaded && held.readers.empty()) return;  // it never comes
    if (base::contains(held.users, op)) return;
    held.users.push_back(op);
    problem_.ops[op].holds.push_back(tensor);
    problem_.every_order = false;
  }

  void add_dependencies() {
    std::unordered_map<int64_t, OpIndex> producers, ops;
    std::unordered_map<int64_t, std::vector<OpIndex>> readers;
    for (const OpIndex op : model_.ops.indices()) ops.emplace(model_.ops[op].id, op);
    for (const Op& op : model_.graph->ops)
      for (const int64_t output : op.outputs) producers.emplace(output, ops.at(op.id));
    for (const Op& op : model_.graph->ops)
      for (const int64_t input : op.inputs) {
        readers[input].push_back(ops.at(op.id));
        if (const auto found = producers.find(input); found != producers.end())
          follow(found->second, ops.at(op.id), true);
      }
    for (const Tensor& tensor : model_.graph->tensors)
      if (const auto found = producers.find(tensor.next); tensor.next >= 0 && found != producers.end())
        put_last(found->second, readers[tensor.id], model_tensor(tensor));
    for (OrderOp& op : problem_.ops) sort_dependencies(op);
  }

  // The update stands behind the readers of what it updates where the model's order has it so. A step in another order
  // misses the home of what starts in RAM, if the reader reads it.
  void put_last(OpIndex update, const std::vector<OpIndex>& readers, TensorIndex updated) {
    const std::vector<OpIndex>& users = problem_.tensors[updated].users;
    const bool home = problem_.tensors[updated].from_start && problem_.tensors[updated].size > 0;
    for (const OpIndex reader : readers) {
      if (reader >= update) continue;
      const bool reads = base::contains(users, reader);
      follow(reader, update, home && reads);
      problem_.every_order = problem_.every_order && home && reads;
    }
  }

  TensorIndex model_tensor(const Tensor& tensor) const { return TensorIndex(&tensor - model_.graph->tensors.data()); }

  // `always`: in every order that ends with its tensors in place.
  void follow(OpIndex before, OpIndex after, bool always) {
    if (always) problem_.ops[after].always_before.push_back(before);
    problem_.ops[before].after.push_back(after);
    problem_.ops[after].before.push_back(before);
  }

  static void sort_dependencies(OrderOp& op) {
    for (std::vector<OpIndex>* list : {&op.before, &op.after, &op.always_before}) {
      base::make_set(*list);
    }
  }

  void add_first_live() {
    problem_.first_live = base::round_up(model_.staging, model_.align);
    problem_.opened_live = problem_.first_live;
    for (const OrderTensor& tensor : problem_.tensors) {
      if (!tensor.from_start) continue;
      problem_.first_live += tensor.size;
      if (tensor.kept || !tensor.users.empty()) problem_.opened_live += tensor.size;
    }
  }

  const Model& model_;
  const Choices& choices_;
  const Indexed<OpIndex, char> needed_;
  OrderProblem problem_;
};

}  // namespace

OrderProblem make_order_problem(const Model& model, const Choices& choices) {
  return Condenser(model, choices).run();
}

}  // namespace pantoum::plan
