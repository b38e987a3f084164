#include "testing/exhaustive_engines.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "testing/random_graph.h"

namespace pantoum::plan_test {

using problem::Choice;
using problem::CostGraph;
using problem::Do;
using problem::Home;
using problem::Objective;
using problem::PagerMode;

namespace {

constexpr double kTick = 0.5e-3;
constexpr int64_t kUnit = 64;
constexpr double kRounding = 1e-10;

// A copy of the choice that streams some of its operands, and of these some more than once. Its seconds are whole ticks, as those of all transfers.
// `updated`: the input whose next the output is, which is often streamed with it; -1: none.
Choice streamed(const CostGraph& graph, const problem::Op& op, Choice choice, check::Random& random, int updated) {
  const problem::Pager& pager = graph.device.pager;
  problem::Stream& stream = choice.stream = {};
  const auto bytes = [&](int64_t tensor) { return graph.tensors[static_cast<size_t>(tensor)].bytes; };
  const bool both = updated >= 0 && random.chance(0.8);
  for (int read = 0; read < static_cast<int>(op.inputs.size()); ++read) {
    if (both && read == updated ? false : random.chance(0.4)) continue;
    const int64_t passes = random.chance(0.2) ? 2 : 1;
    stream.in.push_back(read);
    stream.bytes_in += passes * bytes(op.input(read));
    stream.transfers_in += passes * random.between(1, bytes(op.input(read)) / kUnit);
  }
  if (both || stream.in.empty() || random.chance(0.5)) {
    stream.out = {0};
    stream.bytes_out = bytes(op.output(0));
    stream.transfers_out = random.between(1, stream.bytes_out / kUnit);
  }
  const auto is_streamed = [](const std::vector<int>& positions, int at) {
    return std::ranges::find(positions, at) != positions.end();
  };
  std::erase_if(choice.overwrites, [&](const auto& pair) {
    return is_streamed(stream.out, pair.first) != is_streamed(stream.in, pair.second);
  });
  const auto known = std::ranges::find(choice.overwrites, std::pair{0, updated});
  if (!stream.out.empty() && known != choice.overwrites.end() && random.chance(0.8)) {
    stream.in_place = true;
    if (random.chance(0.8)) choice.overwrites = {{0, updated}};
    stream.bytes_out = kUnit * random.between(1, stream.bytes_out / kUnit);
    stream.transfers_out = random.between(1, stream.bytes_out / kUnit);
  }
  choice.algorithm += " streamed";
  choice.time_s = static_cast<double>(random.between(1, 8)) * kTick;
  choice.energy_j = static_cast<double>(random.between(1, 40)) * 1e-3;
  choice.workspace_bytes = random.chance(0.7) ? kUnit : 0;
  if (!random.chance(0.5)) return choice;
  const problem::ChoiceCosts costs = problem::costs_of(pager, choice);
  const auto ticks = [](double seconds) { return std::llround(seconds / kTick); };
  const int64_t in = ticks(costs.seconds_in), out = ticks(costs.seconds_out), alone = ticks(choice.time_s);
  const int64_t moving = pager.full_duplex ? std::max(in, out) : in + out;
  stream.async_s = static_cast<double>(random.between(std::max(alone, moving), alone + in + out)) * kTick;
  return choice;
}

}  // namespace

CostGraph tiny_engine_graph(uint64_t seed, const TinyEngineOptions& options) {
  check::Random random(seed * 977 + static_cast<uint64_t>(options.ops * 8 + options.engines) +
                       (options.streams ? 511 : 0) + (options.updates ? 65537 : 0));
  CostGraph graph;
  graph.name = "tiny" + std::to_string(seed);
  const auto ticks = [&](int64_t least, int64_t most) {
    return static_cast<double>(random.between(least, most)) * kTick;
  };
  const auto watts = [&](int64_t most) { return static_cast<double>(random.between(0, most)) * 0.25; };
  graph.device.name = "tiny";
  graph.device.ram_bytes = 1 << 20;
  graph.device.align_bytes = kUnit;
  graph.device.idle_w = watts(4);
  graph.device.engines.clear();
  const bool waits = random.chance(0.6);
  for (int engine = 0; engine < options.engines; ++engine) {
    problem::Engine& each = graph.device.engines.emplace_back();
    each.name = std::string(1, static_cast<char>('a' + engine));
    each.idle_w = watts(8);
    if (engine > 0 && waits && random.chance(0.7)) each.launch_s = ticks(0, 2);
    if (waits && random.chance(0.7)) each.handoff_s = ticks(0, 4);
  }
  if (options.paging) {
    problem::Pager& pager = graph.device.pager;
    pager.mode = random.chance(0.7) ? PagerMode::kAsync : PagerMode::kSync;
    pager.full_duplex = random.chance(0.5);
    pager.block_bytes = kUnit;
    for (problem::Link* link : {&pager.in, &pager.out})
      *link = {.latency_s = ticks(0, 2), .bytes_per_s = static_cast<double>(kUnit) / ticks(1, 4), .w = watts(4)};
  }
  const auto add_tensor = [&](Home start) {
    const auto id = static_cast<int64_t>(graph.tensors.size());
    graph.tensors.push_back({.id = id,
                             .name = "t" + std::to_string(id),
                             .bytes = kUnit * (random.chance(0.7) ? 1 : random.between(1, 3)),
                             .start = start});
    return id;
  };
  for (int64_t source = random.between(1, 2) + (options.updates ? 1 : 0); source > 0; --source)
    add_tensor(options.paging && random.chance(options.updates ? 0.7 : 0.4) ? Home::kAux : Home::kRam);
  const size_t sources = graph.tensors.size();
  // A tensor that starts somewhere and gets a next now; -1: none.
  const auto to_update = [&](int64_t op) -> int64_t {
    if (!options.updates || !random.chance(op + 1 == options.ops ? 1 : 0.4)) return -1;
    const size_t tensor = random.index(sources);
    return graph.tensors[tensor].next < 0 ? static_cast<int64_t>(tensor) : -1;
  };
  for (int op = 0; op < options.ops; ++op) {
    problem::Op& each = graph.ops.emplace_back();
    each.id = op;
    each.name = "op" + std::to_string(op);
    each.recompute = random.chance(0.8);
    for (int64_t reads = random.between(1, 2); reads > 0; --reads) {
      const int64_t last = static_cast<int64_t>(graph.tensors.size()) - 1;
      const int64_t input =
          random.chance(0.6) ? last - random.between(0, std::min<int64_t>(last, 2)) : random.between(0, last);
      if (std::ranges::find(each.inputs, input) == each.inputs.end()) each.inputs.push_back(input);
    }
    const int64_t old = to_update(op);
    int updated = -1;
    each.outputs = {add_tensor(Home::kNone)};
    if (old >= 0) {
      if (std::ranges::find(each.inputs, old) == each.inputs.end()) each.inputs.push_back(old);
      updated = static_cast<int>(std::ranges::find(each.inputs, old) - each.inputs.begin());
      problem::Tensor &from = graph.tensors[static_cast<size_t>(old)], &to = graph.tensors.back();
      from.next = to.id;
      to.bytes = from.bytes;
      if (random.chance(0.2)) to.bytes = kUnit * random.between(1, from.start == Home::kRam ? from.bytes / kUnit : 2);
      each.recompute = random.chance(0.2);
    }
    graph.order.push_back(op);
    const int64_t workspace = random.chance(0.2) ? kUnit : 0;
    for (int64_t choices = random.between(1, options.engines + 1); choices > 0; --choices) {
      Choice choice;
      choice.algorithm = "c" + std::to_string(choices);
      const int64_t first = random.between(0, options.engines - 1);
      choice.engines = {graph.device.engines[static_cast<size_t>(first)].name};
      if (options.engines > 1 && random.chance(0.2)) {
        const int64_t other = (first + 1 + random.between(0, options.engines - 2)) % options.engines;
        choice.engines.push_back(graph.device.engines[static_cast<size_t>(other)].name);
      }
      choice.time_s = ticks(1, 12);
      choice.energy_j = static_cast<double>(random.between(1, 40)) * 1e-3;
      choice.workspace_bytes = workspace;
      for (int read = 0; read < static_cast<int>(each.inputs.size()); ++read) choice.reads.push_back(read);
      choice.writes = {0};
      for (const int read : choice.reads)
        if (options.updates && random.chance(read != updated ? 0.25 : each.choices.empty() ? 1 : 0.7))
          choice.overwrites.emplace_back(0, read);
      each.choices.push_back(std::move(choice));
    }
    for (int64_t more = options.streams ? random.between(0, 2) : 0; more > 0; --more)
      each.choices.push_back(streamed(graph, each, each.choices[random.index(each.choices.size())], random, updated));
  }
  if (options.updates && !problem::has_queues(graph)) {  // else slots have the rules of one engine
    problem::Op& last = graph.ops.back();
    last.choices.push_back(streamed(graph, last, last.choices.front(), random, -1));
  }
  if (options.updates && random.chance(0.5)) {
    problem::Bytes& capacity = graph.device.pager.capacity_bytes = kUnit * random.between(0, 2);
    const bool both = random.chance(0.5);  // room for each update beside what it updates
    for (const problem::Tensor& tensor : graph.tensors) {
      if (tensor.start != Home::kAux) continue;
      capacity += tensor.bytes;
      if (both && tensor.next >= 0) capacity += graph.tensors[static_cast<size_t>(tensor.next)].bytes;
    }
  }
  if (options.paging && random.chance(0.4)) graph.tensors.back().end = Home::kAux;
  if (random.chance(0.3))
    graph.tensors.back().end = graph.tensors.back().end == Home::kNone ? Home::kRam : graph.tensors.back().end;
  if (graph.tensors.front().start == Home::kRam && graph.tensors.front().next < 0 && random.chance(0.3))
    graph.tensors.front().end = Home::kRam;
  return graph;
}

namespace {

struct Way {
  uint32_t engines = 0;
  int target = 0;  // which of the sets of engines that occur; 0: the pager
  int64_t seconds = 0, launch = 0;
  double joules = 0;
  int workspace = 0;
  std::vector<int> whole, streamed;          // what it reads in RAM and in storage
  bool out = false;                          // it writes to storage
  bool in_part = false;                      // it writes parts there
  std::vector<int> over;                     // whose bytes, in RAM or in storage, the output may take
  bool keeps_in = false, keeps_out = false;  // channels of the pager
};

struct TinyOp {
  std::vector<int> reads;  // by any way
  int writes = 0;
  bool again = true;
  std::vector<Way> ways;
};

struct TinyTensor {
  int units = 0;
  Home start = Home::kNone;
  bool ends_in_ram = false, ends_there = false;
  int home = -1;  // it has to end where this tensor started; -1: anywhere
  int old = -1;   // whose next it is; -1: nobody's
  int64_t in = 0, out = 0;
  double in_j = 0, out_j = 0;
};

// Offsets are in units, times in ticks.
struct TinyState {
  int64_t issuer = 0, end = 0, in_free = 0, out_free = 0;
  double joules = 0;
  std::vector<int64_t> engine_free;
  std::vector<int> at, home;                       // by tensor; -1: not there
  std::vector<int64_t> stored;                     // from when; -1: not there
  std::vector<int64_t> busy;                       // until when its slot is read or written
  int64_t slots = 0;                               // units of storage that have been given out
  uint32_t lost = 0;                               // tensors whose next has their slot
  std::vector<std::vector<int64_t>> ready, bytes;  // by tensor or unit, and target
  uint32_t computed = 0, used = 0;
  uint32_t useless = 0;  // tensors
};

class EngineSearch {
 public:
  EngineSearch(const CostGraph& graph, const problem::Question& question, double below, int64_t most_states)
      : graph_(graph), asked_(question), best_(below), states_left_(most_states) {
    const auto ticks = [](double seconds) { return static_cast<int64_t>(std::llround(seconds / kTick)); };
    for (const problem::Engine& engine : graph.device.engines) hand_off_.push_back(ticks(engine.handoff_s));
    targets_.push_back(0);
    for (const problem::Tensor& each : graph.tensors) {
      const problem::Pager& pager = graph.device.pager;
      TinyTensor& tensor = tensors_.emplace_back();
      tensor.units = static_cast<int>(each.bytes / kUnit);
      tensor.start = each.start;
      tensor.ends_in_ram = each.end == Home::kRam;
      tensor.ends_there = each.end == Home::kAux;
      if (pager.mode == PagerMode::kNone) continue;
      const double in = problem::transfer_seconds(pager, pager.in, each.bytes);
      const double out = problem::transfer_seconds(pager, pager.out, each.bytes);
      tensor.in = ticks(in), tensor.out = ticks(out);
      tensor.in_j = in * pager.in.w, tensor.out_j = out * pager.out.w;
    }
    for (size_t old = 0; old < tensors_.size(); ++old) {
      const problem::Tensor& each = graph.tensors[old];
      if (each.next < 0 && (each.start != Home::kRam || each.end != Home::kRam)) continue;
      TinyTensor& heir = tensors_[each.next < 0 ? old : static_cast<size_t>(each.next)];
      if (each.next >= 0) heir.old = static_cast<int>(old);
      if (each.start == Home::kRam) heir.home = static_cast<int>(old), heir.ends_in_ram = true;
      if (each.start == Home::kAux) heir.ends_there = true;
    }
    if (graph.device.pager.capacity_bytes >= 0) capacity_ = graph.device.pager.capacity_bytes / kUnit;
    for (const problem::Op& each : graph.ops) {
      TinyOp& op = ops_.emplace_back();
      for (const int64_t input : each.inputs) op.reads.push_back(static_cast<int>(input));
      op.writes = static_cast<int>(each.outputs.front());
      op.again = each.recompute && question.freedoms.recomputing;
      for (const Choice& choice : each.choices) {
        Way& way = op.ways.emplace_back();
        for (size_t engine = 0; engine < graph.device.engines.size(); ++engine)
          if (std::ranges::find(choice.engines, graph.device.engines[engine].name) != choice.engines.end()) {
            way.engines |= 1U << engine;
            way.launch = std::max(way.launch, ticks(graph.device.engines[engine].launch_s));
          }
        const auto known = std::ranges::find(targets_, way.engines);
        way.target = static_cast<int>(known - targets_.begin());
        if (known == targets_.end()) targets_.push_back(way.engines);
        const bool full = graph.device.pager.full_duplex;
        for (const int position : choice.reads)
          (choice.reads_whole(position) ? way.whole : way.streamed).push_back(static_cast<int>(each.input(position)));
        way.out = !choice.stream.out.empty();
        way.in_part = choice.stream.in_place;
        for (const auto& pair : choice.overwrites) way.over.push_back(static_cast<int>(each.input(pair.second)));
        way.keeps_in = !way.streamed.empty() || (way.out && !full);
        way.keeps_out = way.out && full;
        const problem::ChoiceCosts costs = problem::costs_of(graph.device.pager, choice);
        way.seconds = ticks(costs.seconds);
        way.joules = costs.joules;
        way.workspace = static_cast<int>(choice.workspace_bytes / kUnit);
      }
    }
    for (const TinyTensor& tensor : tensors_) {
      own_.push_back(needed_);
      needed_ += tensor.units;
    }
    for (const TinyOp& op : ops_) {
      own_work_.push_back(2 * needed_ + work_);
      work_ += std::ranges::max(op.ways, {}, &Way::workspace).workspace;
    }
    units_ = static_cast<int>(std::min<int64_t>(question.budget_bytes() / kUnit, 2 * needed_ + work_));
    plenty_ = units_ == 2 * needed_ + work_;
    best_plan_.question = question;
    best_plan_.graph = graph;
    best_plan_.predicted = problem::kNothingPredicted;
  }

  std::optional<EngineOptimum> run() {
    TinyState state;
    state.engine_free.assign(hand_off_.size(), 0);
    state.at.assign(tensors_.size(), -1);
    state.stored.assign(tensors_.size(), -1);
    state.ready.assign(tensors_.size(), std::vector<int64_t>(targets_.size(), 0));
    state.bytes.assign(static_cast<size_t>(units_), std::vector<int64_t>(targets_.size(), 0));
    state.busy.assign(tensors_.size(), 0);
    for (size_t tensor = 0; tensor < tensors_.size(); ++tensor)
      if (tensors_[tensor].start == Home::kAux) state.stored[tensor] = 0, state.slots += tensors_[tensor].units;
    if (capacity_ < 0 || state.slots <= capacity_) place_initial(state, 0);
    while (!open_.empty() && states_left_ >= 0) {
      const auto [least, at] = open_.top();
      open_.pop();
      if (least >= best_ * (1 - kRounding)) break;
      parent_ = at;
      const TinyState from = nodes_[at].state;
      nodes_[at].state = {};  // not needed any more
      if (finished(from)) {   // nothing is left, so it is the least
        keep(from, at);
        break;
      }
      expand(from);
    }
    if (states_left_ < 0) return std::nullopt;
    return EngineOptimum{best_, best_plan_};
  }

 private:
  static size_t index(int number) { return static_cast<size_t>(number); }

  // ---- placing ----------------------------------------------------------------------------------

  static bool apart(int a, int a_size, int b, int b_size) { return a + a_size <= b || b + b_size <= a; }

  void place_initial(TinyState& state, size_t tensor) {
    if (tensor == tensors_.size()) {
      state.home = state.at;
      return go_on(TinyState(state));
    }
    if (tensors_[tensor].start != Home::kRam) return place_initial(state, tensor + 1);
    for (int at = 0; at + tensors_[tensor].units <= units_; ++at) {
      bool free = at == own_[tensor] || !plenty_;
      for (size_t other = 0; other < tensor; ++other)
        free =
            free && (state.at[other] < 0 || apart(at, tensors_[tensor].units, state.at[other], tensors_[other].units));
      if (!free) continue;
      state.at[tensor] = at;
      place_initial(state, tensor + 1);
      state.at[tensor] = -1;
    }
  }

  // Where RAM is plenty each tensor has two places of its own, so that it need not wait for the last use of its bytes.
  bool may_stand(int tensor, int at) const {
    const int home = tensors_[index(tensor)].home;
    return !plenty_ || at == own_[index(tensor)] || at == needed_ + own_[index(tensor)] ||
           (home >= 0 && at == own_[index(home)]);
  }

  // Frees what stands in these bytes, and says when they are free for a target. Adds the instructions.
  int64_t take(TinyState& state, int at, int units, int target, std::vector<problem::Instruction>& steps) const {
    int64_t when = 0;
    for (int unit = at; unit < at + units; ++unit) when = std::max(when, state.bytes[index(unit)][index(target)]);
    for (size_t tensor = 0; tensor < tensors_.size(); ++tensor)
      if (state.at[tensor] >= 0 && !apart(at, units, state.at[tensor], tensors_[tensor].units))
        drop(state, tensor, steps);
    return when;
  }
  static void drop(TinyState& state, size_t tensor, std::vector<problem::Instruction>& steps) {
    state.at[tensor] = -1;
    steps.push_back({.what = Do::kFree, .subject = static_cast<int64_t>(tensor), .at = {}});
  }

  int64_t hand_off(uint32_t one, uint32_t other) const {
    if (one == 0 || other == 0) return 0;  // the pager
    int64_t most = 0;
    for (size_t engine = 0; engine < hand_off_.size(); ++engine)
      if (((one ^ other) >> engine & 1) != 0) most = std::max(most, hand_off_[engine]);
    return most;
  }
  void use(TinyState& state, int at, int units, uint32_t who, int64_t until) const {
    for (int unit = at; unit < at + units; ++unit)
      for (size_t target = 0; target < targets_.size(); ++target) {
        int64_t& free = state.bytes[index(unit)][target];
        free = std::max(free, until + hand_off(who, targets_[target]));
      }
  }
  void make(TinyState& state, int tensor, int at, uint32_t who, int64_t end) const {
    state.at[index(tensor)] = at;
    for (size_t target = 0; target < targets_.size(); ++target)
      state.ready[index(tensor)][target] = end + hand_off(who, targets_[target]);
    use(state, at, tensors_[index(tensor)].units, who, end);
  }

  // ---- instructions -----------------------------------------------------------------------------

  void try_compute(const TinyState& state, size_t number, size_t chosen) {
    const TinyOp& op = ops_[number];
    const Way& way = op.ways[chosen];
    if ((state.computed >> number & 1) != 0 && !op.again) return;
    for (const int read : way.whole)
      if (state.at[index(read)] < 0) return;
    for (const int read : way.streamed)
      if (state.stored[index(read)] < 0) return;
    if (way.out) {
      if (state.stored[index(op.writes)] < 0 && may_store(op.writes))
        for_each_slot(state, op.writes, &way, [&](bool takes) { place_work(state, number, chosen, 0, -1, takes); });
      return;
    }
    const int units = tensors_[index(op.writes)].units;
    for (int at = 0; at + units <= units_; ++at) {
      if (!may_stand(op.writes, at)) continue;
      if (beside_inputs(state, way, at, units)) place_work(state, number, chosen, at, -1, false);
      for (const int source : way.over)  // in its place
        if (state.at[index(source)] == at && tensors_[index(source)].units >= units &&
            (asked_.freedoms.in_place || tensors_[index(op.writes)].old == source))
          place_work(state, number, chosen, at, source, false);
    }
  }

  bool beside_inputs(const TinyState& state, const Way& way, int at, int size) const {
    return std::ranges::all_of(
        way.whole, [&](int read) { return apart(at, size, state.at[index(read)], tensors_[index(read)].units); });
  }

  // `over`: whose bytes the output takes over, or -1; `takes_slot`: it takes the slot of the tensor whose next it is.
  void place_work(const TinyState& state, size_t number, size_t chosen, int at, int over, bool takes_slot) {
    const TinyOp& op = ops_[number];
    const Way& way = op.ways[chosen];
    const int units = way.out ? 0 : tensors_[index(op.writes)].units;
    for (int work = plenty_ ? own_work_[number] : 0; work + way.workspace <= units_; ++work) {
      if (way.workspace > 0 &&
          (!beside_inputs(state, way, work, way.workspace) || !apart(at, units, work, way.workspace)))
        continue;
      compute(state, number, chosen, at, work, over, takes_slot);
      if (way.workspace == 0 || plenty_) break;
    }
  }

  void compute(const TinyState& from, size_t number, size_t chosen, int at, int work, int over, bool takes_slot) {
    const TinyOp& op = ops_[number];
    const Way& way = op.ways[chosen];
    TinyState state = from;
    if (state.at[index(op.writes)] >= 0) drop(state, index(op.writes), steps_);
    int64_t begin = state.issuer + way.launch;
    if ((way.engines & 1) == 0) state.issuer = begin;
    for (size_t engine = 0; engine < hand_off_.size(); ++engine)
      if ((way.engines >> engine & 1) != 0) begin = std::max(begin, state.engine_free[engine]);
    for (const int read : way.whole) begin = std::max(begin, state.ready[index(read)][index(way.target)]);
    for (const int read : way.streamed) begin = std::max(begin, state.stored[index(read)]);
    if (way.keeps_in) begin = std::max(begin, state.in_free);
    if (way.keeps_out) begin = std::max(begin, state.out_free);
    const int units = tensors_[index(op.writes)].units;
    if (way.out) begin = std::max(begin, give_slot(state, op.writes, takes_slot));
    const int source_at = over < 0 ? -1 : std::exchange(state.at[index(over)], -1);  // nobody frees it
    if (!way.out) begin = std::max(begin, take(state, at, units, way.target, steps_));
    if (over >= 0) state.at[index(over)] = source_at;
    if (way.workspace > 0) begin = std::max(begin, take(state, work, way.workspace, way.target, steps_));
    const int64_t end = begin + way.seconds;
    if ((way.engines & 1) != 0) state.issuer = end;
    for (size_t engine = 0; engine < hand_off_.size(); ++engine)
      if ((way.engines >> engine & 1) != 0) state.engine_free[engine] = end;
    for (const int read : way.whole) use(state, state.at[index(read)], tensors_[index(read)].units, way.engines, end);
    for (const int read : way.streamed) state.busy[index(read)] = std::max(state.busy[index(read)], end);
    if (over >= 0) state.at[index(over)] = -1;
    if (way.workspace > 0) use(state, work, way.workspace, way.engines, end);
    if (way.keeps_in) state.in_free = end;
    if (way.keeps_out) state.out_free = end;
    if (way.out)
      store(state, index(op.writes), end);
    else
      make(state, op.writes, at, way.engines, end);
    state.end = std::max(state.end, end);
    state.joules += way.joules;
    state.computed |= 1U << number;
    state.used |= way.engines;
    steps_.push_back({.what = Do::kCompute,
                      .subject = static_cast<int64_t>(number),
                      .choice = static_cast<int>(chosen),
                      .at = way.out ? std::vector<int64_t>{} : std::vector<int64_t>{at * kUnit},
                      .workspace_at = way.workspace > 0 ? work * kUnit : -1});
    go_on(std::move(state));
    steps_.clear();
  }

  static void store(TinyState& state, size_t tensor, int64_t end) { state.stored[tensor] = state.busy[tensor] = end; }

  // Calls visit(false) if the tensor may have a slot of its own, and visit(true) if it may take that of the tensor whose next
  // it is and gains by that. `way`: it is streamed by it; null: paged out.
  template <class Visit>
  void for_each_slot(const TinyState& state, int tensor, const Way* way, const Visit& visit) {
    const int units = tensors_[index(tensor)].units, old = tensors_[index(tensor)].old;
    const bool in_part = way != nullptr && way->in_part;
    if (!in_part && (state.lost >> tensor & 1) == 0 && (capacity_ < 0 || state.slots + units <= capacity_))
      visit(false);
    if (!asked_.freedoms.one_slot || old < 0 || state.stored[index(old)] < 0 || tensors_[index(old)].units < units ||
        (!in_part && capacity_ < 0))
      return;
    const auto has = [&](const std::vector<int>& list) { return std::ranges::find(list, old) != list.end(); };
    if (way != nullptr && has(way->streamed) && !has(way->over)) return;
    if (in_part && std::ranges::any_of(way->over, [&](int source) { return source != old; })) return;
    visit(true);
  }
  // Returns from when on the slot is free.
  int64_t give_slot(TinyState& state, int tensor, bool takes) const {
    if (!takes) {
      state.slots += tensors_[index(tensor)].units;
      return 0;
    }
    const int old = tensors_[index(tensor)].old;
    state.stored[index(old)] = -1;
    state.lost |= 1U << old;
    return state.busy[index(old)];
  }

  bool may_store(int tensor) const { return asked_.freedoms.paging || tensors_[index(tensor)].ends_there; }

  void page_out(const TinyState& from, size_t number) {
    const TinyTensor& tensor = tensors_[number];
    if (from.at[number] < 0 || from.stored[number] >= 0 || !may_store(static_cast<int>(number))) return;
    for_each_slot(from, static_cast<int>(number), nullptr, [&](bool takes) {
      TinyState state = from;
      const int64_t free = give_slot(state, static_cast<int>(number), takes);
      transfer(state, graph_.device.pager.full_duplex ? state.out_free : state.in_free,
               std::max(free, state.ready[number][0]), tensor.out, tensor.out_j, [&](int64_t end) {
                 use(state, state.at[number], tensor.units, 0, end);
                 store(state, number, end);
               });
      steps_.push_back({.what = Do::kPageOut, .subject = static_cast<int64_t>(number), .at = {}});
      go_on(std::move(state));
      steps_.clear();
    });
  }

  void page_in(const TinyState& from, size_t number) {
    const TinyTensor& tensor = tensors_[number];
    if (from.at[number] >= 0 || from.stored[number] < 0) return;
    for (int at = 0; at + tensor.units <= units_; ++at) {
      if (!may_stand(static_cast<int>(number), at)) continue;
      TinyState state = from;
      const int64_t free = take(state, at, tensor.units, 0, steps_);
      transfer(state, state.in_free, std::max(free, state.stored[number]), tensor.in, tensor.in_j, [&](int64_t end) {
        make(state, static_cast<int>(number), at, 0, end);
        state.busy[number] = std::max(state.busy[number], end);
      });
      steps_.push_back({.what = Do::kPageIn, .subject = static_cast<int64_t>(number), .at = {at * kUnit}});
      go_on(std::move(state));
      steps_.clear();
    }
  }

  void transfer(TinyState& state, int64_t& channel, int64_t earliest, int64_t ticks, double joules,
                const std::function<void(int64_t)>& moved) const {
    const int64_t end = std::max({channel, state.issuer, earliest}) + ticks;
    channel = end;
    if (graph_.device.pager.mode == PagerMode::kSync) state.issuer = end;
    state.end = std::max(state.end, end);
    state.joules += joules;
    moved(end);
  }

  // ---- the search -------------------------------------------------------------------------------

  double idle_watts(uint32_t used) const {
    double watts = graph_.device.idle_w;
    for (size_t engine = 0; engine < hand_off_.size(); ++engine)
      if ((used >> engine & 1) != 0) watts += graph_.device.engines[engine].idle_w;
    return watts;
  }
  bool energy() const { return asked_.objective == Objective::kEnergy; }
  double value(double joules, int64_t end, uint32_t used) const {
    const double seconds = static_cast<double>(end) * kTick;
    return energy() ? joules + seconds * idle_watts(used) : seconds;
  }

  // What is left takes at least so much more: the longest chain, and all engines together.
  std::pair<int64_t, double> left(const TinyState& state) const {
    std::vector<int64_t> done(tensors_.size(), state.issuer);
    int64_t end = state.end, load = 0;
    double joules = state.joules;
    for (const int64_t free : state.engine_free) load += std::max(free, state.issuer);
    for (size_t number = 0; number < ops_.size(); ++number) {
      if ((state.computed >> number & 1) != 0) continue;
      int64_t begin = state.issuer, least = INT64_MAX, together = INT64_MAX;
      double cheapest = HUGE_VAL;
      for (const int read : ops_[number].reads) begin = std::max(begin, done[index(read)]);
      for (const Way& way : ops_[number].ways) {
        least = std::min(least, way.seconds);
        together = std::min(together, way.seconds * std::popcount(way.engines));
        cheapest = std::min(cheapest, way.joules);
      }
      done[index(ops_[number].writes)] = begin + least;
      end = std::max(end, begin + least);
      load += together;
      joules += cheapest;
    }
    const auto engines = static_cast<int64_t>(hand_off_.size());
    return {std::max(end, (load + engines - 1) / engines), joules};
  }

  // What is of no use any more is gone: nothing that is still to be computed, once or again, reads it.
  void forget(TinyState& state) const {
    std::vector<bool> needed(tensors_.size(), false);
    for (size_t tensor = 0; tensor < tensors_.size(); ++tensor)
      needed[tensor] = tensors_[tensor].ends_in_ram || (tensors_[tensor].ends_there && state.stored[tensor] < 0);
    for (size_t number = ops_.size(); number-- > 0;) {
      if ((state.computed >> number & 1) != 0 && !(ops_[number].again && needed[index(ops_[number].writes)])) continue;
      for (const int read : ops_[number].reads) needed[index(read)] = true;
    }
    state.useless = 0;
    for (size_t tensor = 0; tensor < tensors_.size(); ++tensor)
      if (!needed[tensor]) state.useless |= 1U << tensor;
  }

  void go_on(TinyState&& state) {
    if (--states_left_ < 0) return;
    const auto [end, joules] = left(state);
    if (asked_.deadline && static_cast<double>(end) * kTick > *asked_.deadline * (1 + kRounding)) return;
    if (asked_.energy_limit &&
        joules + static_cast<double>(end) * kTick * idle_watts(state.used) > *asked_.energy_limit * (1 + kRounding))
      return;
    const double least = value(joules, end, state.used);
    if (least >= best_ * (1 - kRounding)) return;
    forget(state);
    if (!is_new(state)) return;
    open_.push({least, nodes_.size()});
    nodes_.push_back({std::move(state), parent_, steps_});
  }

  void expand(const TinyState& state) {
    for (size_t op = 0; op < ops_.size(); ++op) {
      if ((state.computed >> op & 1) != 0 && (state.useless >> ops_[op].writes & 1) != 0) continue;
      for (size_t way = 0; way < ops_[op].ways.size(); ++way) try_compute(state, op, way);
    }
    if (graph_.device.pager.mode == PagerMode::kNone) return;
    for (size_t tensor = 0; tensor < tensors_.size(); ++tensor) {
      if ((state.useless >> tensor & 1) != 0) continue;
      page_in(state, tensor);
      page_out(state, tensor);
    }
  }

  bool finished(const TinyState& state) const {
    if (state.computed != (1U << ops_.size()) - 1) return false;
    for (size_t tensor = 0; tensor < tensors_.size(); ++tensor) {
      if (tensors_[tensor].ends_there && state.stored[tensor] < 0) return false;
      const int home = tensors_[tensor].home;
      const bool there = home >= 0 ? state.at[tensor] == state.home[index(home)] : state.at[tensor] >= 0;
      if (tensors_[tensor].ends_in_ram && !there) return false;
    }
    return true;
  }

  void keep(const TinyState& state, size_t node) {
    best_ = value(state.joules, state.end, state.used);
    std::vector<size_t> way;
    for (size_t at = node; at != SIZE_MAX; at = nodes_[at].parent) way.push_back(at);
    best_plan_.instructions.clear();
    for (auto at = way.rbegin(); at != way.rend(); ++at)
      best_plan_.instructions.insert(best_plan_.instructions.end(), nodes_[*at].steps.begin(), nodes_[*at].steps.end());
    best_plan_.initial.clear();
    best_plan_.storage.clear();
    int64_t slot = 0;
    for (size_t tensor = 0; tensor < tensors_.size(); ++tensor) {
      if (tensors_[tensor].start == Home::kRam)
        best_plan_.initial[static_cast<int64_t>(tensor)] = state.home[tensor] * kUnit;
      if (state.stored[tensor] < 0 && (state.lost >> tensor & 1) == 0) continue;
      const int old = tensors_[tensor].old;
      if (old >= 0 && (state.lost >> old & 1) != 0) continue;
      best_plan_.storage[static_cast<int64_t>(tensor)] = slot;
      if ((state.lost >> tensor & 1) != 0) best_plan_.storage[graph_.tensors[tensor].next] = slot;
      slot += tensors_[tensor].units * kUnit;
    }
    for (size_t tensor = 0; tensor < tensors_.size(); ++tensor)
      if (state.at[tensor] >= 0 && !tensors_[tensor].ends_in_ram)
        best_plan_.instructions.push_back({.what = Do::kFree, .subject = static_cast<int64_t>(tensor), .at = {}});
  }

  // False: a state that is as good has been here.
  bool is_new(const TinyState& state) {
    std::string key;
    std::vector<int64_t> times{state.issuer, state.end, std::max(state.in_free, state.issuer),
                               std::max(state.out_free, state.issuer)};
    const auto add = [&](int64_t time) { times.push_back(std::max(time, state.issuer)); };
    for (const int64_t each : state.engine_free) add(each);
    if (capacity_ >= 0) times.push_back(state.slots);
    for (size_t tensor = 0; tensor < tensors_.size(); ++tensor) {
      if (graph_.tensors[tensor].next >= 0 && asked_.freedoms.one_slot) {
        const bool stored = state.stored[tensor] >= 0;
        key += stored ? 's' : (state.lost >> tensor & 1) != 0 ? 'l' : 'n';
        if (stored) add(state.busy[tensor]);
      }
      if ((state.useless >> tensor & 1) != 0) {
        key += '-';
        continue;
      }
      key += static_cast<char>(state.at[tensor] + 1);
      key += state.stored[tensor] >= 0 ? '1' : '0';
      if (const int home = tensors_[tensor].home; home >= 0) key += static_cast<char>(state.home[index(home)]);
      if (state.stored[tensor] >= 0) add(state.stored[tensor]);
      if (state.at[tensor] >= 0)
        for (const int64_t each : state.ready[tensor]) add(each);
    }
    for (const std::vector<int64_t>& unit : state.bytes)
      for (const int64_t each : unit) add(each);
    if (energy() || asked_.energy_limit) {
      key += static_cast<char>(state.used);
      times.push_back(static_cast<int64_t>(std::ceil(state.joules * 1e9)));
    }
    key.append(reinterpret_cast<const char*>(&state.computed), sizeof state.computed);
    std::vector<std::vector<int64_t>>& seen = seen_[key];
    const auto no_later = [](const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
      for (size_t at = 0; at < a.size(); ++at)
        if (a[at] > b[at]) return false;
      return true;
    };
    for (const std::vector<int64_t>& each : seen)
      if (no_later(each, times)) return false;
    std::erase_if(seen, [&](const std::vector<int64_t>& each) { return no_later(times, each); });
    seen.push_back(std::move(times));
    return true;
  }

  const CostGraph& graph_;
  const problem::Question& asked_;
  std::vector<int64_t> hand_off_;
  std::vector<uint32_t> targets_;  // sets of engines
  std::vector<TinyTensor> tensors_;
  std::vector<TinyOp> ops_;
  int units_ = 0, needed_ = 0, work_ = 0;
  bool plenty_ = false;
  int64_t capacity_ = -1;            // of the storage; -1: not limited
  std::vector<int> own_, own_work_;  // by tensor, by op: offsets
  double best_;
  problem::Plan best_plan_;
  std::vector<problem::Instruction> steps_;
  std::unordered_map<std::string, std::vector<std::vector<int64_t>>> seen_;
  struct Node {
    TinyState state;
    size_t parent = SIZE_MAX;
    std::vector<problem::Instruction> steps;
  };
  using Open = std::pair<double, size_t>;  // the least value, and the node
  std::vector<Node> nodes_;
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open_;
  size_t parent_ = SIZE_MAX;
  int64_t states_left_;
};

}  // namespace

std::optional<EngineOptimum> best_engine_plan(const CostGraph& graph, const problem::Question& question, double below,
                                              int64_t most_states) {
  return EngineSearch(graph, question, below, most_states).run();
}

}  // namespace pantoum::plan_test
