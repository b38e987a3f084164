#include "plan/bound/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "base/lists.h"
#include "plan/bound/row.h"

namespace pantoum::plan {
namespace {

constexpr size_t kNamed = 3;  // tensors

// Do all choices read and write the same, and must every op run?
bool plain(const Model& model) {
  for (const Op& op : model.graph->ops) {
    if (op.optional) return false;
    for (const Choice& choice : op.choices)
      if (choice.reads.size() != op.inputs.size() || choice.writes.size() != op.outputs.size()) return false;
  }
  return true;
}

// Returns what is in RAM while a choice runs: inputs, and outputs that cannot take over an input's bytes.
std::set<TensorIndex> held_by(const ChoiceModel& choice) {
  std::set<TensorIndex> held(choice.reads.begin(), choice.reads.end());
  for (size_t write = 0; write < choice.writes.size(); ++write)
    if (!choice.shares[write].exists()) held.insert(choice.writes[write]);
  return held;
}

struct Offer {
  Bytes bytes;
  double price;
};

// Joules for not having a tensor in RAM across a stage.
double price_of(const Model& model, const TensorModel& tensor, bool paging, bool remat) {
  double price = 1e300;
  const bool stored = tensor.start == Home::kAux;
  if ((tensor.can_page && paging) || stored) price = tensor.in_j + (stored ? 0 : tensor.out_j);
  if (remat && tensor.can_drop && tensor.producer.exists()) {
    const OpModel& op = model.ops[tensor.producer];
    Bytes outputs = 0;  // an op that brings several outputs back is shared by them
    for (const TensorIndex output : op.choices.front().writes) outputs += model.tensors[output].size;
    const double share = outputs > 0 ? static_cast<double>(tensor.size) / static_cast<double>(outputs) : 0;
    price = std::min(price, share * cheapest(op, [](const ChoiceModel& choice) { return choice.joules; }));
  }
  return price;
}

double knapsack(std::vector<Offer>& offers, Bytes needed) {
  std::ranges::sort(offers, [](const Offer& a, const Offer& b) {
    return a.price * static_cast<double>(b.bytes) < b.price * static_cast<double>(a.bytes);
  });
  double paid = 0;
  for (const Offer& offer : offers) {
    if (needed <= 0 || offer.price > 1e200) break;
    const double part = std::min(1.0, static_cast<double>(needed) / static_cast<double>(offer.bytes));
    paid += part * offer.price;
    needed -= offer.bytes;
  }
  return paid;
}

// The most that any one stage must pay for its excess.
double memory_price(const Model& model, Bytes ram, bool paging, bool remat) {
  Indexed<TensorIndex, double> prices;
  for (const TensorModel& tensor : model.tensors) prices.push_back(price_of(model, tensor, paging, remat));
  double most = 0;
  std::vector<Offer> offers;
  for (const OpModel& op : model.ops) {
    Bytes live = model.staging + working_set(model, op);
    offers.clear();
    for (const Interval& interval : model.intervals) {
      if (interval.from >= op.stage || interval.to <= op.stage || interval.to == model.never()) continue;
      const TensorModel& tensor = model.tensors[interval.tensor];
      if (tensor.size == 0) continue;
      live += tensor.size;
      offers.push_back({tensor.size, prices[interval.tensor]});
    }
    live -= model.align - 1;  // what lies on top of the arena need not be rounded up
    if (live > ram) most = std::max(most, knapsack(offers, live - ram));
  }
  return most;
}

}  // namespace

Bytes working_set(const Model& model, const OpModel& op) {
  Bytes least = -1;
  for (const ChoiceModel& choice : op.choices) {
    Bytes bytes = choice.workspace;
    for (const TensorIndex tensor : held_by(choice)) bytes += model.tensors[tensor].size;
    if (least < 0 || bytes < least) least = bytes;
  }
  return std::max<Bytes>(0, least);
}

namespace {

struct Costs {
  Joules joules = 0;
  Seconds seconds = 0;
};

// Returns what transfers that must happen take. Seconds, and idle power over them, count only if the engine waits for
// them.
Costs must_move(const Model& model) {
  Costs moved;
  std::set<TensorIndex> from_storage;
  for (const OpModel& op : model.ops) {
    if (op.optional) continue;
    if (op.choices.size() == 1)
      for (const TensorIndex tensor : op.choices.front().reads)
        if (model.tensors[tensor].start == Home::kAux) from_storage.insert(tensor);
  }
  for (const TensorIndex tensor : from_storage)
    moved.joules += model.tensors[tensor].in_j, moved.seconds += model.tensors[tensor].in_s;
  for (const TensorModel& tensor : model.tensors)
    if (tensor.ends_in_aux && tensor.start != Home::kAux) moved.joules += tensor.out_j, moved.seconds += tensor.out_s;
  if (model.async) return {.joules = moved.joules};
  moved.joules += model.idle_w * moved.seconds;
  return moved;
}

// The least sum, at prices of a joule and a second, of what must run and move.
class PricedSum {
 public:
  explicit PricedSum(const Model& model) : moved_(must_move(model)) {
    for (const OpModel& op : model.ops) {
      if (op.optional) continue;
      std::vector<Costs>& ways = ways_.emplace_back();
      for (const ChoiceModel& choice : op.choices) ways.push_back({model.joules_of(choice), choice.seconds});
    }
  }

  Joules energy_within(Seconds deadline) const { return at_best_price(deadline, true); }
  Seconds time_within(Joules limit) const { return at_best_price(limit, false); }

  // The least product lies at a corner of what the lines through the least sums leave. A line between those of a corner has
  // the slope between the plans that these touch: it cuts the corner off, or a plan is there.
  double product_above() const {
    std::vector<Line> lines{line_at(1, 0), line_at(0, 1)};
    const double scale = lines.front().touched.joules / lines.back().touched.seconds;
    for (int line = 0;; ++line) {
      size_t least = 0;
      for (size_t next = 1; next + 1 < lines.size(); ++next)
        if (product_at(lines[next], lines[next + 1]) < product_at(lines[least], lines[least + 1])) least = next;
      const Line &slow = lines[least], &fast = lines[least + 1];
      const double product = product_at(slow, fast);
      const double more = fast.touched.joules - slow.touched.joules;
      const double sooner = slow.touched.seconds - fast.touched.seconds;
      const double price = more / sooner;
      const bool apart = price > kApart * slow.second && (fast.joule == 0 || price * kApart < fast.second);
      const bool tells = more > 0 && sooner > 0 && apart && price > kFlattest * scale && price < kSteepest * scale;
      if (line == kLines || !tells) return product * kMargin;
      const Line between = line_at(1, price);
      if (product_at(slow, between) <= product * (1 + kGain) || product_at(between, fast) <= product * (1 + kGain))
        return product * kMargin;
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(least) + 1, between);
    }
  }

 private:
  static constexpr int kHalvings = 50, kLines = 30;
  static constexpr double kGain = 1e-9;  // of a line that cuts nothing off
  // Prices that are nearer, flatter or steeper tell less than rounding does. Stricter than the checker's
  // (check/least_costs.cc), which so draws all of these lines.
  static constexpr double kApart = 1.0002, kFlattest = 2e-5, kSteepest = 5e4;

  struct Sum {
    double cost = 0;
    Costs taken = {};
  };

  // joule * energy + second * makespan >= least, for every plan.
  struct Line {
    double joule = 1, second = 0, least = 0;
    Costs touched = {};  // by a plan where nothing else is paid
  };

  Line line_at(double joule, double second) const {
    const Sum sum = at(joule, second);
    return {joule, second, sum.cost * kMargin, sum.taken};
  }

  // Returns the product where two lines meet. The first line is the flatter one.
  static double product_at(const Line& slow, const Line& fast) {
    const double across = slow.joule * fast.second - fast.joule * slow.second;
    const Seconds time = (slow.joule * fast.least - fast.joule * slow.least) / across;
    const Joules energy = (slow.least * fast.second - fast.least * slow.second) / across;
    return std::max(0.0, energy) * std::max(0.0, time);
  }

  Sum at(double joule, double second) const {
    const auto priced = [&](const Costs& costs) { return joule * costs.joules + second * costs.seconds; };
    Sum sum{.cost = priced(moved_), .taken = moved_};
    for (const std::vector<Costs>& ways : ways_) {
      const auto best = std::ranges::min_element(ways, {}, [&](const Costs& one) { return priced(one); });
      sum.cost += priced(*best);
      sum.taken = {sum.taken.joules + best->joules, sum.taken.seconds + best->seconds};
    }
    return sum;
  }

  // Finds the best price by halving: a price is too low if more is taken than the limit allows.
  double at_best_price(double limit, bool limits_time) const {
    const Costs cheapest = at(1, 0).taken;
    if (cheapest.joules <= 0 || cheapest.seconds <= 0) return 0;
    const double second = cheapest.joules / cheapest.seconds;  // where both count the same
    double most = 0, below = 0, above = 1;
    for (int halving = 0; halving < kHalvings; ++halving) {
      const double share = (below + above) / 2;
      const double price = share / (1 - share) * (limits_time ? second : 1 / second);
      const Sum sum = limits_time ? at(1, price) : at(price, 1);
      most = std::max(most, sum.cost * kMargin - price * limit);
      ((limits_time ? sum.taken.seconds : sum.taken.joules) > limit ? below : above) = share;
    }
    return most;
  }

  std::vector<std::vector<Costs>> ways_;
  Costs moved_;
};

}  // namespace

Bounds lower_bounds(const Model& model) {
  const Costs moved = must_move(model);
  Bounds bounds{.energy = moved.joules, .time = moved.seconds};
  for (const OpModel& op : model.ops) {
    if (op.optional) continue;
    bounds.energy += cheapest(op, [&](const ChoiceModel& choice) { return model.joules_of(choice); });
    bounds.time += cheapest(op, [](const ChoiceModel& choice) { return choice.seconds; });
  }
  bounds.energy *= kMargin;
  bounds.time *= kMargin;
  return bounds;
}

Bounds lower_bounds(const Model& model, const Question& question) {
  Bounds bounds = lower_bounds(model);
  const bool in_time = question.objective == Objective::kEnergy && question.deadline;
  const bool spared = question.objective == Objective::kTime && question.energy_limit;
  const bool product = question.objective == Objective::kEdp;
  if (!in_time && !spared && !product) return bounds;
  const PricedSum priced(model);
  if (in_time) bounds.energy = std::max(bounds.energy, priced.energy_within(*question.deadline));
  if (spared) bounds.time = std::max(bounds.time, priced.time_within(*question.energy_limit));
  if (product) bounds.product = std::max(bounds.energy * bounds.time * kMargin, priced.product_above());
  return bounds;
}

Joules stage_priced_energy(const Model& model, Bytes ram, bool paging, bool remat) {
  const Joules least = lower_bounds(model).energy;
  // Transfers that must happen anyway are not paid a second time: the memory term counts only where none are.
  if (must_move(model).joules > 0 || !plain(model) || !model.uses(Switch::kStagePrice)) return least;
  return least + memory_price(model, ram, paging, remat) * kMargin;
}

namespace {

// A pinned tensor keeps its bytes until its successor, if any, takes them over; that one may be evicted where it can be
// paged in or recomputed.
struct Tenant {
  TensorIndex tensor, heir;
  Bytes bytes = 0;
  Indexed<Stage, char> before;  // is the op always computed before the successor? Empty: the bytes stay taken
  bool there_at(const OpModel& op) const { return before.empty() || before[op.stage] != 0; }
};

// Says for each stage whether its op must be computed before `last` is. An op must if every choice of a later such op
// reads what it makes.
Indexed<Stage, char> stages_before(const Model& model, const OpModel& last) {
  Indexed<Stage, char> before(position_of(model.end()), 0);
  before[last.stage] = 1;
  for (Stage stage = last.stage; stage > 0; --stage) {
    if (!before[stage]) continue;
    for (const TensorIndex tensor : common_reads(model.ops[Model::op_of(stage)]))
      if (const OpIndex producer = model.tensors[tensor].producer; producer.exists())
        before[model.ops[producer].stage] = 1;
  }
  return before;
}

std::vector<Tenant> tenants_of(const Model& model) {
  std::vector<Tenant> tenants;
  Indexed<TensorIndex, TensorIndex> heirs(model.tensors.size());
  for (const OpModel& op : model.ops)
    for (const ChoiceModel& choice : op.choices)
      for (size_t write = 0; write < choice.writes.size(); ++write)
        if (choice.shares[write].exists()) heirs[choice.shares[write]] = choice.writes[write];
  for (const TensorIndex tensor : model.tensors.indices()) {
    const TensorModel& entry = model.tensors[tensor];
    if (!entry.pinned || entry.start != Home::kRam || entry.size == 0) continue;
    Tenant tenant{.tensor = tensor, .heir = heirs[tensor], .bytes = entry.size, .before = {}};
    if (tenant.heir.exists()) {
      const TensorModel& heir = model.tensors[tenant.heir];
      const OpModel& update = model.ops[heir.producer];
      const bool retained =
          heir.pinned || !(heir.can_page || update.recomputable || (heir.ends_in_aux && model.paging));
      if (retained && heir.ends_in_ram)
        tenant.bytes = std::min(entry.size, heir.size);
      else
        tenant.before = stages_before(model, update);
    }
    tenants.push_back(std::move(tenant));
  }
  return tenants;
}

// The leanest choice of an op, with the bytes that are in RAM while it runs under it.
struct Leanest {
  const ChoiceModel* choice = nullptr;
  Bytes bytes = 0;
};

Leanest leanest_of(const Model& model, const OpModel& op, const std::vector<Tenant>& tenants) {
  Leanest leanest;
  for (const ChoiceModel& choice : op.choices) {
    const std::set<TensorIndex> held = held_by(choice);
    Bytes bytes = model.staging + choice.workspace;
    for (const TensorIndex tensor : held) bytes += model.tensors[tensor].size;
    for (const Tenant& tenant : tenants)
      if (tenant.there_at(op) && !held.contains(tenant.tensor) && !held.contains(tenant.heir)) bytes += tenant.bytes;
    if (leanest.choice == nullptr || bytes < leanest.bytes) leanest = {&choice, bytes};
  }
  return leanest;
}

// The names and sizes of the largest tensors that the choice reads or writes; of one that holds none whole, its workspace.
std::string largest_of(const Model& model, const ChoiceModel& choice) {
  std::vector<TensorIndex> held(choice.reads);
  held.insert(held.end(), choice.writes.begin(), choice.writes.end());
  std::ranges::stable_sort(held, std::greater{}, [&](TensorIndex tensor) { return model.tensors[tensor].size; });
  held.erase(std::unique(held.begin(), held.end()), held.end());
  std::string names;
  for (size_t at = 0; at < std::min(kNamed, held.size()); ++at) {
    const TensorModel& tensor = model.tensors[held[at]];
    for (const Tensor& given : model.graph->tensors)
      if (given.id == tensor.id)
        names += fmt::format("{}{} {:.1f} KiB", names.empty() ? "" : ", ", given.name,
                             static_cast<double>(tensor.size) / 1024);
  }
  if (names.empty()) names = fmt::format("{:.1f} KiB of workspace", static_cast<double>(choice.workspace) / 1024);
  return names;
}

}  // namespace

WorkingSet least_ram(const Model& model) {
  Bytes start = model.staging;
  for (const TensorModel& tensor : model.tensors)
    if (tensor.start == Home::kRam) start += tensor.size;
  WorkingSet worst{start, "what is in RAM when the step starts"};
  const std::vector<Tenant> tenants = tenants_of(model);
  for (const OpModel& op : model.ops) {
    if (op.optional) continue;
    const Leanest leanest = leanest_of(model, op, tenants);
    if (leanest.choice == nullptr || leanest.bytes <= worst.bytes) continue;
    worst.bytes = leanest.bytes;
    for (const Op& given : model.graph->ops)
      if (given.id == op.id)
        worst.why = fmt::format("op {} needs together {}", given.name, largest_of(model, *leanest.choice));
  }
  worst.bytes -= model.align - 1;  // what lies on top of the arena need not be rounded up
  worst.bytes = std::max<Bytes>(1, worst.bytes);
  return worst;
}

}  // namespace pantoum::plan
