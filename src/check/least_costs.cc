#include "check/least_costs.h"
#include "check/engine_facts.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/lists.h"
#include "base/round_up.h"

namespace pantoum::check {
namespace {

// Sizes are rounded up to an alignment that may be huge: sums stop at what no arena has.
int64_t add(int64_t bytes, int64_t more) {
  constexpr int64_t kEnough = int64_t{1} << 61;
  return std::min(kEnough, bytes + std::min(kEnough, more));
}

class Accountant {
 public:
  Accountant(const CostGraph& graph, const Freedoms& freedoms, int64_t budget)
      : graph_(graph), free_(freedoms), budget_(budget) {
    for (size_t tensor = 0; tensor < graph.tensors.size(); ++tensor) tensor_of_[graph.tensors[tensor].id] = tensor;
    for (size_t op = 0; op < graph.ops.size(); ++op) {
      always_read_.push_back(always_read(graph.ops[op]));
      for (const int64_t output : graph.ops[op].outputs) producer_of_[tensor_of_.at(output)] = op;
    }
    find_duties();
  }

  LeastCosts run() {
    const PricedCosts costs = priced();
    return {.energy_j = costs.at(1, 0).cost, .time_s = costs.at(0, 1).cost, .ram_bytes = least_ram()};
  }

  PricedCosts priced() const {
    if (queues_) return priced_queues();
    std::vector<std::vector<PricedCosts::Costs>> ways;
    for (const Op& op : graph_.ops) {
      if (op.optional) continue;
      std::vector<PricedCosts::Costs>& of_op = ways.emplace_back();
      for (const Choice& choice : op.choices)
        if (permitted(op, choice)) of_op.push_back({down_.sum(choice.energy_j, idling(choice.time_s)), choice.time_s});
    }
    PricedCosts::Costs beside = must_move();
    if (graph_.device.pager.mode != PagerMode::kSync) beside.seconds = 0;
    beside.joules = down_.sum(beside.joules, idling(beside.seconds));
    return {std::move(ways), beside};
  }

 private:
  // Ops run side by side: their seconds are not added.
  PricedCosts priced_queues() const {
    const EngineFacts facts(graph_, free_, budget_);
    std::unordered_map<int64_t, const Op*> op_of;
    for (const Op& op : graph_.ops) op_of.emplace(op.id, &op);
    std::vector<std::vector<PricedCosts::Costs>> ways;
    for (size_t at = 0; at < facts.ops().size(); ++at) {
      if (op_of.at(graph_.order[at])->optional) continue;
      std::vector<PricedCosts::Costs>& of_op = ways.emplace_back();
      for (const EngineWay& way : facts.ops()[at].ways) of_op.push_back({down_.sum(way.joules, idling_beside(way)), 0});
    }
    PricedCosts::Costs beside{.joules = facts.moved().joules, .seconds = least_makespan(facts)};
    beside.joules = down_.sum(beside.joules, idling(beside.seconds));
    return {std::move(ways), beside};
  }

  const Tensor& tensor(size_t index) const { return graph_.tensors[index]; }
  int64_t size_of(size_t index) const {
    return base::round_up(tensor(index).bytes, std::max<int64_t>(1, graph_.device.align_bytes));
  }
  size_t input(const Op& op, int position) const { return tensor_of_.at(op.input(position)); }
  bool permitted(const Op& op, const Choice& choice) const {
    return free_.numerics || choice.numerics == op.choices.front().numerics;
  }

  // Without what is in rom, and what is streamed.
  std::set<size_t> reads(const Op& op, const Choice& choice) const {
    std::set<size_t> read;
    for (const int position : choice.reads)
      if (tensor(input(op, position)).start != Home::kRom && choice.reads_whole(position))
        read.insert(input(op, position));
    return read;
  }

  std::set<size_t> always_read(const Op& op) const {
    std::set<size_t> always = reads(op, op.choices.front());
    for (const Choice& choice : op.choices) {
      if (!permitted(op, choice)) continue;
      const std::set<size_t> read = reads(op, choice);
      std::erase_if(always, [&](size_t each) { return !read.contains(each); });
    }
    return always;
  }

  // The step ends where the next one starts.
  void find_duties() {
    ends_in_ram_.assign(graph_.tensors.size(), false);
    ends_in_aux_.assign(graph_.tensors.size(), false);
    for (size_t index = 0; index < graph_.tensors.size(); ++index) {
      const Tensor& each = tensor(index);
      if (each.end == Home::kRam) ends_in_ram_[index] = true;
      if (each.end == Home::kAux) ends_in_aux_[index] = true;
      if (each.next < 0) continue;
      if (each.start == Home::kRam) ends_in_ram_[tensor_of_.at(each.next)] = true;
      if (each.start == Home::kAux) ends_in_aux_[tensor_of_.at(each.next)] = true;
    }
  }

  // ---- joules and seconds -----------------------------------------------------------------------

  PricedCosts::Costs must_move() const {
    const Pager& pager = graph_.device.pager;
    PricedCosts::Costs moved;
    const auto add = [&](const Link& link, size_t index) {
      const double seconds = transfer(link, tensor(index).bytes);
      moved.seconds = down_.sum(moved.seconds, seconds);
      moved.joules = down_.sum(moved.joules, down_.product(seconds, link.w));
    };
    for (const size_t index : read_from_storage()) add(pager.in, index);
    for (size_t index = 0; index < graph_.tensors.size(); ++index)
      if (ends_in_aux_[index] && tensor(index).start != Home::kAux) add(pager.out, index);
    return moved;
  }

  // Several engines run side by side: the longest chain, what each must run at the least, and all of them together.
  double least_makespan(const EngineFacts& facts) const {
    const Pager& pager = graph_.device.pager;
    const EngineFacts::Moved& moved = facts.moved();
    double most = std::max({facts.longest(), facts.mean_load(), moved.in_s, moved.out_s});
    if (!pager.full_duplex) most = std::max(most, down_.sum(moved.in_s, moved.out_s));
    for (int32_t engine = 0; engine < facts.engines(); ++engine) most = std::max(most, facts.load(engine));
    return most;
  }

  // The idle power of an engine counts at least while a choice takes it.
  double idling_beside(const EngineWay& way) const {
    double watts = 0;
    for (size_t engine = 0; engine < graph_.device.engines.size(); ++engine)
      if (way.takes(static_cast<int32_t>(engine))) watts = down_.sum(watts, graph_.device.engines[engine].idle_w);
    return down_.product(watts, way.seconds);
  }

  // Joules.
  double idling(double seconds) const { return down_.product(idle_w_, seconds); }

  std::set<size_t> read_from_storage() const {
    std::set<size_t> read;
    for (size_t op = 0; op < graph_.ops.size(); ++op)
      for (const size_t index : always_read_[op])
        if (!graph_.ops[op].optional && tensor(index).start == Home::kAux) read.insert(index);
    return read;
  }

  double transfer(const Link& link, int64_t bytes) const {
    const int64_t block = std::max<int64_t>(1, graph_.device.pager.block_bytes);
    return down_.sum(link.latency_s, down_.quotient(base::round_up(bytes, block), link.bytes_per_s));
  }

  // ---- RAM --------------------------------------------------------------------------------------

  // A tensor that is pinned from the start; it stays until its successor takes over its bytes.
  struct Pinned {
    size_t tensor = 0, successor = kNobody;
    int64_t bytes = 0;
    std::vector<bool> until = {};  // by op: is it first computed no later than the successor? Else: is not known
  };
  static constexpr size_t kNobody = SIZE_MAX;
  static constexpr int64_t kMarks = int64_t{1} << 26;

  int64_t least_ram() {
    const int64_t staging = graph_.device.pager.staging_bytes;
    int64_t most = staging;
    for (size_t index = 0; index < graph_.tensors.size(); ++index)
      if (tensor(index).start == Home::kRam) most = add(most, size_of(index));
    const std::vector<Pinned> pinned = find_pinned();
    for (size_t op = 0; op < graph_.ops.size(); ++op)
      if (!graph_.ops[op].optional) most = std::max(most, add(staging, leanest(op, pinned)));
    return std::max<int64_t>(1, most - (std::max<int64_t>(1, graph_.device.align_bytes) - 1));
  }

  int64_t leanest(size_t op, const std::vector<Pinned>& pinned) const {
    int64_t least = INT64_MAX;
    for (const Choice& choice : graph_.ops[op].choices)
      if (permitted(graph_.ops[op], choice)) least = std::min(least, held_bytes(op, choice, pinned));
    return least;
  }

  // While one choice runs: inputs, outputs that can take over nothing, workspace, what is pinned besides.
  int64_t held_bytes(size_t index, const Choice& choice, const std::vector<Pinned>& pinned) const {
    const Op& op = graph_.ops[index];
    std::set<size_t> held = reads(op, choice);
    for (const int position : choice.writes)
      if (choice.writes_whole(position) && !takes_over(op, choice, position))
        held.insert(tensor_of_.at(op.output(position)));
    int64_t bytes = base::round_up(choice.workspace_bytes, std::max<int64_t>(1, graph_.device.align_bytes));
    for (const size_t each : held) bytes = add(bytes, size_of(each));
    return add(add(bytes, staying_beside(held)), leaving_beside(index, held, pinned));
  }

  // Returns the bytes of what is pinned until the end and not touched by the op.
  int64_t staying_beside(const std::set<size_t>& held) const {
    int64_t bytes = staying_bytes_;
    for (const size_t each : held) {
      const auto stay = stay_of_.find(each);
      if (stay == stay_of_.end()) continue;
      const bool counted = each == stay->second.successor && held.contains(stay->second.tensor);
      if (!counted) bytes = std::max<int64_t>(0, bytes - stay->second.bytes);
    }
    return bytes;
  }

  static int64_t leaving_beside(size_t op, const std::set<size_t>& held, const std::vector<Pinned>& leaving) {
    int64_t bytes = 0;
    for (const Pinned& each : leaving)
      if (each.until[op] && !held.contains(each.tensor) && !held.contains(each.successor))
        bytes = add(bytes, each.bytes);
    return bytes;
  }

  // May the output take over the input's bytes in RAM? Where there are several queues any of an output's pairs counts, else
  // the last.
  bool may_take(const Op& op, const Choice& choice, std::pair<int, int> pair) const {
    const auto names_it = [&](const auto& each) { return each.first == pair.first; };
    const auto last = std::find_if(choice.overwrites.rbegin(), choice.overwrites.rend(), names_it);
    if (!choice.reads_whole(pair.second) || (!queues_ && *last != pair)) return false;
    const Tensor& from = tensor(input(op, pair.second));
    const int64_t output = op.output(pair.first);
    const bool allowed = from.next == output || (free_.in_place && !from.pinned);
    return allowed && from.start != Home::kRom && tensor(tensor_of_.at(output)).bytes <= from.bytes;
  }

  bool takes_over(const Op& op, const Choice& choice, int position) const {
    return std::ranges::any_of(choice.overwrites, [&](const std::pair<int, int>& pair) {
      return pair.first == position && may_take(op, choice, pair);
    });
  }

  // Tensors whose bytes are taken until the end, by the tensor or its successor, go to stay_of_. The others are
  // returned, as far as bounded work allows.
  std::vector<Pinned> find_pinned() {
    const std::unordered_map<size_t, size_t> successors = takers();
    std::vector<Pinned> leaving;
    for (size_t index = 0; index < graph_.tensors.size(); ++index) {
      if (!tensor(index).pinned || tensor(index).start != Home::kRam) continue;
      Pinned each{.tensor = index, .bytes = size_of(index)};
      const auto successor = successors.find(index);
      if (successor == successors.end()) {
        add_staying(each);
      } else if (each.successor = successor->second; stays_to_the_end(each.successor)) {
        each.bytes = std::min(each.bytes, size_of(each.successor));
        add_staying(each);
      } else if (static_cast<int64_t>((leaving.size() + 1) * graph_.ops.size()) <= kMarks) {
        each.until = computed_before(producer_of_.at(each.successor));
        leaving.push_back(std::move(each));
      }
    }
    return leaving;
  }

  void add_staying(const Pinned& each) {
    staying_bytes_ = add(staying_bytes_, each.bytes);
    stay_of_[each.tensor] = each;
    if (each.successor != kNobody) stay_of_[each.successor] = each;
  }

  // Returns for each tensor the one that may take over its bytes.
  std::unordered_map<size_t, size_t> takers() const {
    std::unordered_map<size_t, size_t> takers;
    for (const Op& op : graph_.ops)
      for (const Choice& choice : op.choices)
        for (const std::pair<int, int>& pair : choice.overwrites)
          if (permitted(op, choice) && may_take(op, choice, pair))
            takers[input(op, pair.second)] = tensor_of_.at(op.output(pair.first));
    return takers;
  }

  // Says for each op whether it is `last`, or is first computed before `last` whatever the order.
  std::vector<bool> computed_before(size_t last) const {
    std::vector<bool> before(graph_.ops.size(), false);
    std::vector<size_t> waiting{last};
    while (!waiting.empty()) {
      const size_t op = waiting.back();
      waiting.pop_back();
      if (before[op]) continue;
      before[op] = true;
      for (const size_t read : always_read_[op])
        if (const auto producer = producer_of_.find(read); producer != producer_of_.end())
          waiting.push_back(producer->second);
    }
    return before;
  }

  // Once it is made, nothing can bring it back, and it must be there at the end.
  bool stays_to_the_end(size_t index) const {
    const bool storage = graph_.device.pager.mode != PagerMode::kNone;
    const bool pages = storage && !tensor(index).pinned && (free_.paging || ends_in_aux_[index]);
    const bool again = free_.recomputing && graph_.ops[producer_of_.at(index)].recompute;
    const bool overwritten = tensor(index).next >= 0;  // and computed once more
    return ends_in_ram_[index] && !(again && (overwritten || !tensor(index).pinned)) && !pages;
  }

  const CostGraph& graph_;
  const Freedoms& free_;
  const int64_t budget_;
  const bool queues_ = problem::has_queues(graph_);
  const double idle_w_ = problem::idle_watts(graph_);
  const Rounded down_{Rounding::kDown};
  std::unordered_map<int64_t, size_t> tensor_of_;
  std::unordered_map<size_t, size_t> producer_of_;  // op of a tensor
  std::vector<std::set<size_t>> always_read_;       // by op
  std::vector<bool> ends_in_ram_, ends_in_aux_;     // by tensor
  std::unordered_map<size_t, Pinned> stay_of_;      // by tensor and by successor
  int64_t staying_bytes_ = 0;
};

}  // namespace

LeastCosts least_costs(const CostGraph& graph, const Freedoms& freedoms, int64_t budget) {
  return Accountant(graph, freedoms, budget).run();
}

PricedCosts priced_costs(const CostGraph& graph, const Freedoms& freedoms, int64_t budget) {
  return Accountant(graph, freedoms, budget).priced();
}

namespace {

const Rounded kDown{Rounding::kDown};

// Exact at a price of 1.
double at_price(double price, double figure) {
  return price == 1 ? figure : kDown.product(price, figure);
}

constexpr int kHalvings = 50;  // of the range of prices
// The planner's constants (plan/bound/bounds.cc) are stricter: it draws fewer of the same lines, so that what it claims is proved.
constexpr size_t kLines = 60;
constexpr double kApart = 1.0001;  // prices that are nearer tell less than the rounding of where lines meet
constexpr double kFlattest = 1e-5, kSteepest = 1e5;  // nor do prices beyond these, times the least joules a second

}  // namespace

PricedCosts::PricedCosts(std::vector<std::vector<Costs>> ways, Costs moved) : ways_(std::move(ways)), moved_(moved) {}

PricedCosts::Sum PricedCosts::at(double joule, double second) const {
  const auto priced = [&](const Costs& costs) {
    return kDown.sum(at_price(joule, costs.joules), at_price(second, costs.seconds));
  };
  Sum sum{.cost = priced(moved_), .taken = moved_};
  for (const std::vector<Costs>& ways : ways_) {
    const Costs* best = nullptr;
    double least = HUGE_VAL;
    for (const Costs& way : ways)
      if (const double cost = priced(way); best == nullptr || cost < least) best = &way, least = cost;
    sum.cost = kDown.sum(sum.cost, least);
    sum.taken = {sum.taken.joules + best->joules, sum.taken.seconds + best->seconds};
  }
  return sum;
}

double PricedCosts::energy_within(double deadline) const {
  return at_best_price(deadline, true);
}

double PricedCosts::time_within(double energy_limit) const {
  return at_best_price(energy_limit, false);
}

// Finds the best price by halving: a price is too low if more is taken than the limit allows.
double PricedCosts::at_best_price(double limit, bool limits_time) const {
  const Costs cheapest = at(1, 0).taken;
  if (cheapest.joules <= 0 || cheapest.seconds <= 0) return 0;
  const double second = cheapest.joules / cheapest.seconds;  // where both count the same
  double most = 0, below = 0, above = 1;
  for (int halving = 0; halving < kHalvings; ++halving) {
    const double share = (below + above) / 2;
    const double price = share / (1 - share) * (limits_time ? second : 1 / second);
    const auto [cost, taken] = limits_time ? at(1, price) : at(price, 1);
    most = std::max(most, sum_down(cost, -up(price * limit)));
    ((limits_time ? taken.seconds : taken.joules) > limit ? below : above) = share;
  }
  return most;
}

// Splits the range of prices between known plans whose lines leave the least product. The new price is the slope
// between the range's plans. A range is done once no plan lies below that slope.
std::vector<PricedCosts::Line> PricedCosts::lines_below_product() const {
  struct Range {
    Line slow, fast;       // the fast one of the time alone has an infinite price
    Costs thrifty, quick;  // what the plans take that these touch
    double product = 0;
  };
  const Sum thrifty = at(1, 0), quick = at(0, 1);
  const double scale = thrifty.taken.joules / quick.taken.seconds;
  const auto with_product = [&](Range range) {
    const bool last = std::isinf(range.fast.second);
    const double time =
        last ? quick.cost : (range.fast.least - range.slow.least) / (range.fast.second - range.slow.second);
    range.product = std::max(0.0, time) * std::max(0.0, range.slow.least - range.slow.second * time);
    return range;
  };
  std::vector<Line> lines{{0, thrifty.cost}};
  std::vector<Range> open{with_product({lines.front(), {HUGE_VAL, 0}, thrifty.taken, quick.taken})};
  while (lines.size() < kLines) {
    const auto least = std::ranges::min_element(open, {}, &Range::product);
    const Range range = *least;
    const double more = range.quick.joules - range.thrifty.joules, sooner = range.thrifty.seconds - range.quick.seconds;
    const double price = more / sooner;
    const bool apart = price > kApart * range.slow.second && price * kApart < range.fast.second;
    if (!(more > 0 && sooner > 0 && apart && price > kFlattest * scale && price < kSteepest * scale)) break;
    const Sum sum = at(1, price);
    const Line line{price, sum.cost};
    lines.push_back(line);
    *least = with_product({range.slow, line, range.thrifty, sum.taken});
    open.push_back(with_product({line, range.fast, sum.taken, range.quick}));
  }
  return lines;
}

}  // namespace pantoum::check
