#include "check/engine_facts.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <unordered_map>

#include "base/lists.h"
#include "base/round_up.h"

namespace pantoum::check {
namespace {

const Rounded kLow{Rounding::kDown};

double transfer(const Pager& pager, const Link& link, int64_t bytes) {
  const int64_t blocks = base::round_up(bytes, std::max<int64_t>(1, pager.block_bytes));
  return kLow.sum(link.latency_s, kLow.quotient(blocks, link.bytes_per_s));
}

template <class Of>
double least_way(const EngineOp& op, const Of& of) {
  double least = HUGE_VAL;
  for (const EngineWay& way : op.ways) least = std::min(least, of(way));
  return least;
}

}  // namespace

EngineFacts::EngineFacts(const CostGraph& graph, const Freedoms& freedoms, int64_t budget)
    : blocks_(graph.device.pager.mode == PagerMode::kSync) {
  for (const problem::Engine& engine : graph.device.engines) hand_offs_.push_back(engine.handoff_s);
  add_tensors(graph);
  add_ops(graph, freedoms, budget);
  find_what_runs(graph);
  find_heads();
  find_tails();
}

void EngineFacts::add_tensors(const CostGraph& graph) {
  const Pager& pager = graph.device.pager;
  const bool pages = pager.mode != PagerMode::kNone;
  for (const Tensor& each : graph.tensors) {
    Stored& tensor = tensors_.emplace_back();
    if (each.start == Home::kAux) tensor.earliest = transfer(pager, pager.in, each.bytes);
    if (!pages) continue;
    tensor.into = transfer(pager, pager.out, each.bytes);
    tensor.back = transfer(pager, pager.in, each.bytes);
  }
}

namespace {

// Seconds and joules of a choice, with what it streams.
void add_costs(const Pager& pager, const Choice& choice, EngineWay& way) {
  const Stream& stream = choice.stream;
  way.seconds = choice.time_s;
  way.joules = choice.energy_j;
  if (!stream.any()) return;
  double both = 0;
  const auto add = [&](const Link& link, int64_t bytes, int64_t transfers) {
    if (bytes == 0) return;
    const double latency = kLow.product(static_cast<double>(transfers), link.latency_s);
    const double seconds = kLow.sum(latency, kLow.quotient(bytes, link.bytes_per_s));
    both = kLow.sum(both, seconds);
    way.joules = kLow.sum(way.joules, kLow.product(seconds, link.w));
  };
  add(pager.in, stream.bytes_in, stream.transfers_in);
  add(pager.out, stream.bytes_out, stream.transfers_out);
  const bool beside = pager.mode == PagerMode::kAsync && stream.async_s;
  way.seconds = beside ? *stream.async_s : kLow.sum(way.seconds, both);
}

// The bytes that a choice takes at least while it runs: the staging buffer, what it reads and writes whole, less what an output
// may take over, and its workspace. Rounded up to the alignment, but for the topmost block.
int64_t working_set(const CostGraph& graph, const Op& op, const Choice& choice,
                    const std::unordered_map<int64_t, int32_t>& tensor_of) {
  constexpr int64_t kEnough = int64_t{1} << 61;
  const int64_t align = std::max<int64_t>(1, graph.device.align_bytes);
  std::vector<int64_t> held;
  const auto tensor = [&](int64_t id) -> const Tensor& { return graph.tensors[static_cast<size_t>(tensor_of.at(id))]; };
  for (const int position : choice.reads)
    if (choice.reads_whole(position) && tensor(op.input(position)).start != Home::kRom)
      held.push_back(op.input(position));
  for (const int position : choice.writes) {
    const auto overwrites = [&](const auto& pair) { return pair.first == position; };
    if (choice.writes_whole(position) && std::ranges::none_of(choice.overwrites, overwrites))
      held.push_back(op.output(position));
  }
  base::make_set(held);
  const auto add = [&](int64_t sum, int64_t bytes) {
    return std::min(kEnough, sum + std::min(kEnough, base::round_up(bytes, align)));
  };
  int64_t bytes = add(0, choice.workspace_bytes);
  for (const int64_t each : held) bytes = add(bytes, tensor(each).bytes);
  return bytes + graph.device.pager.staging_bytes - (align - 1);
}

}  // namespace

void EngineFacts::add_ops(const CostGraph& graph, const Freedoms& freedoms, int64_t budget) {
  std::unordered_map<int64_t, int32_t> tensor_of;
  std::unordered_map<int64_t, const Op*> op_of;
  std::map<std::string, uint64_t> bit_of;
  const std::vector<problem::Engine>& engines = graph.device.engines;
  for (size_t tensor = 0; tensor < graph.tensors.size(); ++tensor)
    tensor_of.emplace(graph.tensors[tensor].id, static_cast<int32_t>(tensor));
  ends_there_.assign(tensors_.size(), false);
  for (size_t tensor = 0; tensor < tensors_.size(); ++tensor) {
    const Tensor& each = graph.tensors[tensor];
    if (each.end == Home::kAux) ends_there_[tensor] = true;
    if (each.next >= 0 && each.start == Home::kAux) ends_there_[static_cast<size_t>(tensor_of.at(each.next))] = true;
  }
  for (const Op& op : graph.ops) op_of.emplace(op.id, &op);
  for (size_t engine = 0; engine < engines.size(); ++engine) bit_of[engines[engine].name] = uint64_t{1} << engine;
  for (const int64_t id : graph.order) {
    const Op& of = *op_of.at(id);
    EngineOp& op = ops_.emplace_back();
    for (const int64_t output : of.outputs)
      tensors_[static_cast<size_t>(tensor_of.at(output))].maker = static_cast<int32_t>(ops_.size()) - 1;
    const auto permitted = [&](const Choice& choice) {
      return freedoms.numerics || choice.numerics == of.choices.front().numerics;
    };
    const auto fits = [&](const Choice& choice) {
      const Stream& stream = choice.stream;
      if (stream.any() && graph.device.pager.mode == PagerMode::kNone) return false;
      if (stream.in_place && !freedoms.one_slot) return false;
      const bool pages = std::ranges::any_of(stream.out, [&](int position) {
        return !ends_there_[static_cast<size_t>(tensor_of.at(of.output(position)))];
      });
      return (freedoms.paging || !pages) && working_set(graph, of, choice, tensor_of) <= budget;
    };
    const bool any_fits =
        std::ranges::any_of(of.choices, [&](const Choice& choice) { return permitted(choice) && fits(choice); });
    for (const Choice& choice : of.choices) {
      if (!permitted(choice) || (any_fits && !fits(choice))) continue;
      EngineWay& way = op.ways.emplace_back();
      add_costs(graph.device.pager, choice, way);
      for (const int position : choice.stream.in) way.streams_in.push_back(tensor_of.at(of.input(position)));
      for (const int position : choice.stream.out) way.streams_out.push_back(tensor_of.at(of.output(position)));
      for (const int position : choice.reads)
        if (const int32_t read = tensor_of.at(of.input(position));
            graph.tensors[static_cast<size_t>(read)].start != Home::kRom)
          way.reads.push_back(read);
      for (const int position : choice.writes) way.writes.push_back(tensor_of.at(of.output(position)));
      way.engines = choice.engines.empty() ? 1 : 0;
      for (const std::string& name : choice.engines) way.engines |= bit_of.at(name);
      for (size_t engine = 0; engine < engines.size(); ++engine)
        if (way.takes(static_cast<int32_t>(engine))) way.launch = std::max(way.launch, engines[engine].launch_s);
    }
  }
}

// What is not optional, what must be there at the end, and what makes what these read.
void EngineFacts::find_what_runs(const CostGraph& graph) {
  std::unordered_map<int64_t, const Op*> op_of;
  for (const Op& op : graph.ops) op_of.emplace(op.id, &op);
  for (size_t at = 0; at < ops_.size(); ++at) ops_[at].runs = !op_of.at(graph.order[at])->optional;
  std::vector<bool> read_there(tensors_.size(), false);
  for (size_t at = ops_.size(); at-- > 0;) {
    EngineOp& op = ops_[at];
    if (!op.runs) continue;
    std::vector<int32_t> always = op.ways.front().reads;
    for (const EngineWay& way : op.ways)
      std::erase_if(always, [&](int32_t read) { return !base::contains(way.reads, read); });
    for (const int32_t read : always) {
      const int32_t maker = tensors_[static_cast<size_t>(read)].maker;
      const auto streams = [&](const EngineWay& way) { return base::contains(way.streams_in, read); };
      if (std::ranges::none_of(op.ways, streams)) read_there[static_cast<size_t>(read)] = true;
      if (maker < 0 || base::contains(op.before, maker)) continue;
      ops_[static_cast<size_t>(maker)].runs = true;
      op.before.push_back(maker);
      ++edges_;
      ops_[static_cast<size_t>(maker)].after.push_back(static_cast<int32_t>(at));
    }
  }
  const Pager& pager = graph.device.pager;
  for (size_t tensor = 0; tensor < tensors_.size(); ++tensor) {
    const bool starts_there = graph.tensors[tensor].start == Home::kAux;
    const auto add = [&](const Link& link, double& sum) {
      const double seconds = transfer(pager, link, graph.tensors[tensor].bytes);
      sum = kLow.sum(sum, seconds);
      moved_.joules = kLow.sum(moved_.joules, kLow.product(seconds, link.w));
      return seconds;
    };
    const int32_t maker = tensors_[tensor].maker;
    const bool streamed = maker >= 0 && std::ranges::any_of(op(maker).ways, [&](const EngineWay& way) {
                            return base::contains(way.streams_out, static_cast<int32_t>(tensor));
                          });
    if (starts_there && read_there[tensor]) add(pager.in, moved_.in_s);
    if (!starts_there && ends_there_[tensor] && !streamed) tensors_[tensor].out = add(pager.out, moved_.out_s);
  }
}

double EngineFacts::hand_off(uint64_t one, uint64_t other) const {
  double most = 0;
  for (uint64_t apart = one ^ other; apart != 0; apart &= apart - 1)
    most = std::max(most, hand_offs_[static_cast<size_t>(std::countr_zero(apart))]);
  return most;
}

// From the end of one computation to when another can have the tensor that it made, at least. Storage costs no hand-off.
double EngineFacts::delay(const EngineWay& made, const EngineWay& way, int32_t tensor) const {
  const Stored& stored = tensors_[static_cast<size_t>(tensor)];
  const bool from_storage = base::contains(way.streams_in, tensor),
             to_storage = base::contains(made.streams_out, tensor);
  if (from_storage) return to_storage ? 0 : stored.into;
  if (to_storage) return stored.back;
  return std::min(hand_off(made.engines, way.engines), kLow.sum(stored.into, stored.back));
}

// The choice cannot read the tensor earlier.
double EngineFacts::arrival(int32_t tensor, const EngineWay& way) const {
  const Stored& stored = tensors_[static_cast<size_t>(tensor)];
  if (stored.maker < 0) return base::contains(way.streams_in, tensor) ? 0 : stored.earliest;
  double first = HUGE_VAL;
  for (const EngineWay& made : op(stored.maker).ways)
    if (base::contains(made.writes, tensor))
      first = std::min(first, kLow.sum(kLow.sum(made.begin, made.seconds), delay(made, way, tensor)));
  return std::isinf(first) ? 0 : first;
}

void EngineFacts::find_heads() {
  for (EngineOp& op : ops_) {
    for (EngineWay& way : op.ways) {
      way.begin = way.launch;
      for (const int32_t read : way.reads) way.begin = std::max(way.begin, arrival(read, way));
    }
    op.head = least_way(op, [](const EngineWay& way) { return way.begin; });
    if (op.runs)
      longest_ =
          std::max(longest_, least_way(op, [](const EngineWay& way) { return kLow.sum(way.begin, way.seconds); }));
  }
}

double EngineFacts::wait(int32_t from, const EngineWay& way) const {
  double least = HUGE_VAL;
  for (const EngineWay& made : op(from).ways) {
    double soonest = HUGE_VAL;  // of what it reads
    for (const int32_t written : made.writes)
      if (base::contains(way.reads, written)) soonest = std::min(soonest, delay(made, way, written));
    least = std::min(least, std::isinf(soonest) ? hand_off(made.engines, way.engines) : soonest);
  }
  return std::isinf(least) ? 0 : least;
}

void EngineFacts::find_tails() {
  for (size_t at = ops_.size(); at-- > 0;) {
    EngineOp& op = ops_[at];
    for (const EngineWay& way : op.ways)
      for (const int32_t written : way.writes) op.tail = std::max(op.tail, tensors_[static_cast<size_t>(written)].out);
    for (const int32_t next : op.after) {
      const EngineOp& reader = this->op(next);
      const double more = least_way(
          reader, [&](const EngineWay& way) { return kLow.sum(wait(static_cast<int32_t>(at), way), way.seconds); });
      op.tail = std::max(op.tail, kLow.sum(more, reader.tail));
    }
    if (!op.runs) continue;
    const double end = least_way(op, [](const EngineWay& way) { return kLow.sum(way.begin, way.seconds); });
    longest_ = std::max(longest_, kLow.sum(end, op.tail));
  }
}

double EngineFacts::load(int32_t engine) const {
  double sum = engine == 0 && blocks_ ? kLow.sum(moved_.in_s, moved_.out_s) : 0;
  for (const EngineOp& op : ops_)
    if (op.runs)
      sum = kLow.sum(sum, least_way(op, [&](const EngineWay& way) {
                       const double launch = engine == 0 ? way.launch : 0;
                       return way.takes(engine) ? kLow.sum(launch, way.seconds) : launch;
                     }));
  return sum;
}

double EngineFacts::mean_load() const {
  double sum = 0;
  for (const EngineOp& op : ops_)
    if (op.runs)
      sum = kLow.sum(sum, least_way(op, [](const EngineWay& way) {
                       return kLow.sum(way.launch, kLow.product(way.seconds, std::popcount(way.engines)));
                     }));
  return std::max(0.0, down(sum / static_cast<double>(hand_offs_.size())));
}

std::vector<bool> EngineFacts::reached(int32_t from, std::vector<int32_t> EngineOp::*next) const {
  std::vector<bool> seen(ops_.size(), false);
  std::vector<int32_t> waiting{from};
  while (!waiting.empty()) {
    const int32_t at = waiting.back();
    waiting.pop_back();
    for (const int32_t each : op(at).*next) {
      if (seen[static_cast<size_t>(each)]) continue;
      seen[static_cast<size_t>(each)] = true;
      waiting.push_back(each);
    }
  }
  return seen;
}

std::vector<int32_t> EngineFacts::between(int32_t from, int32_t to) const {
  std::vector<int32_t> ops;
  const std::vector<bool> behind = from < 0 ? std::vector<bool>(ops_.size(), true) : reached(from, &EngineOp::after);
  const std::vector<bool> ahead = to < 0 ? std::vector<bool>(ops_.size(), true) : reached(to, &EngineOp::before);
  for (size_t at = 0; at < ops_.size(); ++at)
    if (ops_[at].runs && behind[at] && ahead[at]) ops.push_back(static_cast<int32_t>(at));
  return ops;
}

}  // namespace pantoum::check
