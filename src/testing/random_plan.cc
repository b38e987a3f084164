// The naive executor behind random_case: it has all the RAM that it wants.
#include <algorithm>
#include <map>
#include <set>

#include "testing/random_case.h"

namespace pantoum::check {
namespace {

using problem::Choice;
using problem::CostGraph;
using problem::Do;
using problem::Home;
using problem::Instruction;
using problem::Op;
using problem::PagerMode;
using problem::Plan;
using problem::Tensor;

struct Place {
  int64_t at, size;
};

bool apart(Place a, Place b) {
  return a.size == 0 || b.size == 0 || a.at + a.size <= b.at || b.at + b.size <= a.at;
}

class Executor {
 public:
  Executor(const CostGraph& graph, uint64_t seed)
      : graph_(graph), random_(seed), paging_(random_.unit()), dropping_(random_.unit()) {
    for (const Tensor& tensor : graph.tensors) tensor_of_[tensor.id] = &tensor;
    for (const Op& op : graph.ops) {
      op_of_[op.id] = &op;
      for (const int64_t output : op.outputs) producer_of_[output] = &op;
      for (const int64_t input : op.inputs) ++readers_left_[input];
    }
    storage_ = graph.device.pager.mode != PagerMode::kNone;
    if (std::ranges::any_of(graph.ops, streams)) share_slots();
  }

  Plan run() {
    start();
    for (const int64_t id : graph_.order) {
      const Op& op = *op_of_.at(id);
      if (!op.optional || random_.chance(0.6)) compute(op, random_choice(op), 0);
      for (const int64_t input : op.inputs) --readers_left_[input];
      if (op.recompute && random_.chance(0.04)) compute(op, random_choice(op), 0);
      move_at_random();
    }
    end();
    place_storage();
    return std::move(plan_);
  }

 private:
  void start() {
    if (graph_.device.pager.staging_bytes > 0) {
      plan_.staging_at = free_offset(graph_.device.pager.staging_bytes, {}, false);
      held_[kStaging] = {plan_.staging_at, graph_.device.pager.staging_bytes};
    }
    for (const Tensor& tensor : graph_.tensors) {
      if (tensor.start == Home::kAux) stored_.insert(tensor.id);
      if (tensor.start != Home::kRam) continue;
      const int64_t at = free_offset(tensor.bytes, {}, false);
      plan_.initial[tensor.id] = at;
      held_[tensor.id] = {at, tensor.bytes};
      if (tensor.next >= 0 || tensor.end == Home::kRam) reserved_.push_back({at, tensor.bytes});
    }
  }

  // ---- storage ----------------------------------------------------------------------------------

  static bool streams(const Op& op) {
    return std::ranges::any_of(op.choices, [](const Choice& choice) { return choice.stream.any(); });
  }

  // Where choices stream, who takes whose slot is known from the start.
  void share_slots() {
    streams_ = true;
    plan_.question.freedoms.one_slot = random_.chance(0.5);
    if (!plan_.question.freedoms.one_slot) return;
    for (const Tensor& old : graph_.tensors)
      if (old.next >= 0 && tensor_of_.at(old.next)->bytes <= old.bytes && random_.chance(0.7))
        slot_of_[old.next] = old.id;
  }

  // The tensor is in storage; the one whose slot it takes is there no more.
  void store(int64_t tensor) {
    stored_.insert(tensor);
    ever_stored_.insert(tensor);
    if (const auto old = slot_of_.find(tensor); old != slot_of_.end() && tensor_of_.at(tensor)->bytes > 0)
      stored_.erase(old->second);
  }

  // The tensor's slot is not its next's by now.
  bool has_slot(int64_t tensor) const {
    const int64_t next = tensor_of_.at(tensor)->next;
    const auto heir = slot_of_.find(next);
    return heir == slot_of_.end() || !stored_.contains(next);
  }

  // Could the choice run now, if its inputs were where it wants them?
  bool may_stream(const Op& op, const Choice& choice) const {
    const problem::Stream& stream = choice.stream;
    if (!stream.any()) return true;
    if (!storage_) return false;
    for (const int in : stream.in)
      if (tensor_of_.at(op.input(in))->start == Home::kRom) return false;
    return std::ranges::all_of(stream.out, [&](int out) { return may_stream_out(op, choice, out); });
  }

  bool may_stream_out(const Op& op, const Choice& choice, int out) const {
    const int64_t output = op.output(out);
    if (stored_.contains(output)) return false;
    if (held_.contains(output) && (locked_.contains(output) || tensor_of_.at(output)->pinned)) return false;
    const auto shared = slot_of_.find(output);
    bool knows = true, paired = false;
    if (shared != slot_of_.end())
      for (const int in : choice.stream.in)
        if (op.input(in) == shared->second) knows = false;
    for (const auto& [to, from] : choice.overwrites) {
      if (to != out) continue;
      const bool same = shared != slot_of_.end() && op.input(from) == shared->second;
      if (choice.stream.in_place && !same) return false;
      if (same) knows = paired = true;
    }
    return knows && (paired || !choice.stream.in_place);
  }

  // ---- places -----------------------------------------------------------------------------------

  [[nodiscard]] bool is_free(Place place, const std::vector<Place>& taken, bool heed_reserved) const {
    const auto meets = [&](Place other) { return !apart(place, other); };
    if (std::any_of(taken.begin(), taken.end(), meets)) return false;
    if (heed_reserved && std::any_of(reserved_.begin(), reserved_.end(), meets)) return false;
    return std::all_of(held_.begin(), held_.end(), [&](const auto& entry) { return apart(place, entry.second); });
  }

  int64_t free_offset(int64_t size, const std::vector<Place>& taken, bool heed_reserved = true) {
    const int64_t align = graph_.device.align_bytes;
    int64_t top = 0;
    for (const auto& [tensor, place] : held_) top = std::max(top, place.at + place.size);
    for (const Place& place : taken) top = std::max(top, place.at + place.size);
    for (const Place& place : reserved_) top = std::max(top, place.at + place.size);
    for (int attempt = 0; attempt < 8; ++attempt) {
      const int64_t at = random_.between(0, top * 3 / 2 / align) * align;
      if (is_free({at, size}, taken, heed_reserved)) return at;
    }
    return (top + align - 1) / align * align;
  }

  // ---- computing --------------------------------------------------------------------------------

  int random_choice(const Op& op, int64_t needed = -1) {
    std::vector<int> good;
    for (size_t choice = 0; choice < op.choices.size(); ++choice) {
      const auto& writes = op.choices[choice].writes;
      const auto makes = [&](int position) { return op.outputs[static_cast<size_t>(position)] == needed; };
      if (!may_stream(op, op.choices[choice]) && !random_.chance(0.02)) continue;
      if (needed < 0 || std::any_of(writes.begin(), writes.end(), makes)) good.push_back(static_cast<int>(choice));
    }
    return good.empty() ? 0 : good[random_.index(good.size())];
  }

  bool bring(int64_t tensor, int depth) {
    if (held_.contains(tensor) || tensor_of_.at(tensor)->start == Home::kRom) return true;
    if (stored_.contains(tensor) && (random_.chance(0.8) || !producer_of_.contains(tensor))) return page_in(tensor);
    const auto producer = producer_of_.find(tensor);
    if (producer == producer_of_.end() || depth > 12) return false;
    const bool allowed = producer->second->recompute || !computed_.contains(producer->second->id);
    if (allowed && compute(*producer->second, random_choice(*producer->second, tensor), depth + 1) &&
        held_.contains(tensor))
      return true;
    return stored_.contains(tensor) && page_in(tensor);
  }

  // What is streamed has to be in storage.
  bool bring_to_storage(int64_t tensor, int depth) {
    if (stored_.contains(tensor)) return true;
    if (!storage_ || tensor_of_.at(tensor)->start == Home::kRom || !bring(tensor, depth)) return false;
    if (!stored_.contains(tensor) && has_slot(tensor)) page_out(tensor);
    return stored_.contains(tensor);
  }

  bool compute(const Op& op, int number, int depth) {
    if (computed_.contains(op.id) && !op.recompute) return false;
    const Choice& choice = op.choices[static_cast<size_t>(number)];
    std::set<int64_t> locked_now;
    bool there = true;
    for (const int position : choice.reads) {
      const int64_t input = op.inputs[static_cast<size_t>(position)];
      if (!there) break;
      if (!choice.reads_whole(position)) {
        there = bring_to_storage(input, depth);
        continue;
      }
      there = bring(input, depth);
      if (there && locked_.insert(input).second) locked_now.insert(input);
    }
    for (const int64_t input : locked_now) locked_.erase(input);
    // What was brought may have made what this one is to make.
    if (there && !may_stream(op, choice) && !random_.chance(0.02)) return false;
    if (there) emit(op, choice, number);
    return there;
  }

  void emit(const Op& op, const Choice& choice, int number) {
    Instruction step{.what = Do::kCompute, .subject = op.id, .choice = number, .at = {}};
    std::vector<Place> taken;
    std::vector<int64_t> taken_over;
    for (const int position : choice.stream.out)
      if (const int64_t output = op.output(position); held_.contains(output) && !tensor_of_.at(output)->pinned)
        free(output);
    const std::vector<int> writes = whole_outputs(choice);
    for (const int position : writes) {
      const int64_t output = op.outputs[static_cast<size_t>(position)];
      const int64_t size = tensor_of_.at(output)->bytes;
      int64_t at = -1;
      if (held_.contains(output)) {
        at = held_.at(output).at;
        page_out_at_random(output);
      } else if (const int64_t source = place_to_take(op, choice, position, taken_over); source >= 0) {
        at = held_.at(source).at;
        taken_over.push_back(source);
        page_out_at_random(source);
      } else {
        at = free_offset(size, taken, !random_.chance(0.05));
      }
      step.at.push_back(at);
      taken.push_back({at, size});
    }
    if (choice.workspace_bytes > 0)
      step.workspace_at = free_offset(choice.workspace_bytes, taken, !random_.chance(0.1));
    for (const int64_t source : taken_over) held_.erase(source);
    for (size_t output = 0; output < writes.size(); ++output)
      held_[op.outputs[static_cast<size_t>(writes[output])]] = taken[output];
    for (const int position : choice.stream.out) store(op.output(position));
    computed_.insert(op.id);
    plan_.instructions.push_back(std::move(step));
  }

  static std::vector<int> whole_outputs(const Choice& choice) {
    std::vector<int> whole = choice.writes;
    std::erase_if(whole, [&](int position) { return !choice.writes_whole(position); });
    return whole;
  }

  // An input whose bytes the output takes over: one that nobody misses, or the one that the output succeeds.
  int64_t place_to_take(const Op& op, const Choice& choice, int position, const std::vector<int64_t>& taken_over) {
    for (const auto& [out, in] : choice.overwrites) {
      if (out != position) continue;
      const int64_t source = op.inputs[static_cast<size_t>(in)];
      const int64_t output = op.outputs[static_cast<size_t>(out)];
      const Tensor& old = *tensor_of_.at(source);
      const bool successor = old.next == output;
      const bool fits = held_.contains(source) && held_.at(source).size >= tensor_of_.at(output)->bytes &&
                        tensor_of_.at(output)->bytes > 0;
      const bool last = position == last_overwrite(choice, position, in) && fits;
      if (!last || locked_.contains(source) || std::count(taken_over.begin(), taken_over.end(), source) > 0) continue;
      if (successor ? random_.chance(0.95) : spare(source, op) && random_.chance(0.8)) return source;
    }
    return -1;
  }

  // The last pair of an output counts: -1 when that is not (position, in).
  static int last_overwrite(const Choice& choice, int position, int in) {
    int source = -1;
    for (const auto& [out, each] : choice.overwrites)
      if (out == position) source = each;
    return source == in ? position : -1;
  }

  // Can `tensor` leave RAM (before `reader` counts as done) and the step still be finished?
  bool spare(int64_t tensor, const Op& reader) {
    const auto reads = std::count(reader.inputs.begin(), reader.inputs.end(), tensor);
    if (tensor_of_.at(tensor)->pinned || tensor_of_.at(tensor)->end == Home::kRam) return false;
    return stored_.contains(tensor) ||
           (readers_left_[tensor] <= reads && tensor_of_.at(tensor)->end == Home::kNone && !is_successor(tensor));
  }

  bool is_successor(int64_t tensor) const {
    return std::any_of(graph_.tensors.begin(), graph_.tensors.end(),
                       [&](const Tensor& each) { return each.next == tensor; });
  }

  // ---- moving -----------------------------------------------------------------------------------

  bool page_in(int64_t tensor) {
    const int64_t size = tensor_of_.at(tensor)->bytes;
    int64_t at = free_offset(size, {}, !random_.chance(0.1));
    const auto home = plan_.initial.find(tensor);
    if (home != plan_.initial.end() && is_free({home->second, size}, {}, false) && random_.chance(0.9))
      at = home->second;
    page_in_at(tensor, at);
    return true;
  }

  void page_in_at(int64_t tensor, int64_t at) {
    plan_.instructions.push_back({.what = Do::kPageIn, .subject = tensor, .at = {at}});
    held_[tensor] = {at, tensor_of_.at(tensor)->bytes};
  }

  void page_out(int64_t tensor) {
    if (!has_slot(tensor)) return;
    plan_.instructions.push_back({.what = Do::kPageOut, .subject = tensor, .at = {}});
    store(tensor);
  }

  // Directly before its bytes are written: they are waited for.
  void page_out_at_random(int64_t tensor) {
    if (storage_ && random_.chance(0.3 * paging_)) page_out(tensor);
  }

  void free(int64_t tensor) {
    plan_.instructions.push_back({.what = Do::kFree, .subject = tensor, .at = {}});
    held_.erase(tensor);
  }

  bool recoverable(int64_t tensor, int depth) {
    if (held_.contains(tensor) || stored_.contains(tensor) || tensor_of_.at(tensor)->start == Home::kRom) return true;
    const auto producer = producer_of_.find(tensor);
    if (producer == producer_of_.end() || !producer->second->recompute || depth > 8) return false;
    const auto& inputs = producer->second->inputs;
    return std::all_of(inputs.begin(), inputs.end(), [&](int64_t input) { return recoverable(input, depth + 1); });
  }

  void move_at_random() {
    std::vector<int64_t> candidates;
    for (const auto& [tensor, place] : held_)
      if (tensor != kStaging) candidates.push_back(tensor);
    for (const int64_t tensor : candidates) {
      if (storage_ && random_.chance(0.25 * paging_) && !(stored_.contains(tensor) && random_.chance(0.8)))
        page_out(tensor);
      const Tensor& each = *tensor_of_.at(tensor);
      if (each.pinned) continue;
      const bool done =
          readers_left_[tensor] <= 0 && each.end == Home::kNone && each.start != Home::kRam && !is_successor(tensor);
      if (done ? random_.chance(0.8) : stored_.contains(tensor) ? random_.chance(0.5 * paging_) : drops(tensor))
        free(tensor);
    }
    if (!storage_ || !random_.chance(0.3 * paging_)) return;
    for (const int64_t tensor : stored_)
      if (!held_.contains(tensor) && random_.chance(0.3)) {
        page_in(tensor);
        return;
      }
  }

  bool drops(int64_t tensor) {
    if (!random_.chance(0.3 * dropping_) || is_successor(tensor)) return false;
    const Place place = held_.at(tensor);
    held_.erase(tensor);
    const bool good = recoverable(tensor, 0);
    held_[tensor] = place;
    return good;
  }

  void end() {
    for (const Tensor& tensor : graph_.tensors) {
      const bool successor_in_ram = tensor.start == Home::kRam && (tensor.next >= 0 || tensor.end == Home::kRam);
      const int64_t successor = tensor.next >= 0 ? tensor.next : tensor.id;
      if (successor_in_ram) bring_home(successor, plan_.initial.at(tensor.id), tensor.id);
      if (tensor.start != Home::kRam && tensor.end == Home::kRam) (void)bring(tensor.id, 0);
      const bool successor_in_storage = tensor.start == Home::kAux && tensor.next >= 0;
      if (successor_in_storage) end_in_storage(successor);
      if (tensor.end == Home::kAux) end_in_storage(tensor.id);
    }
  }

  void end_in_storage(int64_t tensor) {
    if (!stored_.contains(tensor) && bring(tensor, 0) && held_.contains(tensor)) page_out(tensor);
  }

  void bring_home(int64_t successor, int64_t home, int64_t old) {
    if (held_.contains(successor) && held_.at(successor).at == home) return;
    if (successor != old && held_.contains(old) && !tensor_of_.at(old)->pinned) free(old);
    if (held_.contains(successor) && !storage_) return;  // stuck: a broken plan
    if (held_.contains(successor) && !stored_.contains(successor)) page_out(successor);
    if (held_.contains(successor) && !tensor_of_.at(successor)->pinned) free(successor);
    if (!held_.contains(successor) && stored_.contains(successor)) page_in_at(successor, home);
  }

  void place_storage() {
    const bool slots = problem::has_queues(graph_);
    if (!slots && !random_.chance(0.5)) return;
    for (const Tensor& tensor : graph_.tensors)
      if (tensor.start == Home::kAux) ever_stored_.insert(tensor.id);
    int64_t top = 0;
    if (slots) return place_slots();
    for (const int64_t tensor : ever_stored_) {
      plan_.storage[tensor] = top;
      top += tensor_of_.at(tensor)->bytes + random_.between(0, 3);
    }
  }

  // Whole blocks; now and then a tensor's next takes its slot.
  void place_slots() {
    const int64_t block = graph_.device.pager.block_bytes;
    if (!streams_) plan_.question.freedoms.one_slot = random_.chance(0.3);
    int64_t top = 0;
    for (const int64_t tensor : ever_stored_) {
      plan_.storage[tensor] = top;
      top += (tensor_of_.at(tensor)->bytes + block - 1) / block * block + random_.between(0, 2) * block;
    }
    if (streams_) {
      for (const auto& [next, old] : slot_of_)
        if (ever_stored_.contains(next) && ever_stored_.contains(old)) plan_.storage[next] = plan_.storage[old];
      return;
    }
    for (const int64_t tensor : ever_stored_)
      if (const int64_t next = tensor_of_.at(tensor)->next; ever_stored_.contains(next) && random_.chance(0.3))
        plan_.storage[next] = plan_.storage[tensor];
  }

  static constexpr int64_t kStaging = -1;

  const CostGraph& graph_;
  Random random_;
  double paging_, dropping_;  // how much of either this plan does
  bool storage_ = false, streams_ = false;
  Plan plan_;
  std::map<int64_t, const Tensor*> tensor_of_;
  std::map<int64_t, const Op*> op_of_, producer_of_;
  std::map<int64_t, int64_t> readers_left_;
  std::map<int64_t, Place> held_;
  std::vector<Place> reserved_;
  std::map<int64_t, int64_t> slot_of_;  // a tensor's next -> the tensor whose slot it takes
  std::set<int64_t> stored_, ever_stored_, computed_, locked_;
};

}  // namespace

Plan random_plan(const CostGraph& graph, uint64_t seed) {
  Plan plan = Executor(graph, seed).run();
  plan.graph = graph;
  return plan;
}

}  // namespace pantoum::check
