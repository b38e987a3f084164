#include "pipeline/choose_updates.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "autodiff/weight_parts.h"
#include "base/files.h"
#include "base/globs.h"
#include "base/lists.h"
#include "base/units.h"
#include "cost/device.h"
#include "pipeline/contributions.h"
#include "pipeline/prepare_training.h"
#include "plan/planner.h"
#include "plan/update_selection.h"

namespace pantoum::pipeline {
namespace {

using Clock = std::chrono::steady_clock;
using problem::CostGraph;
using Chosen = std::vector<char>;

constexpr size_t kMostTableBytes = size_t{16} << 20;
constexpr int kMostPlans = 12;
constexpr double kShareOfChoosing = 0.5;   // of the time limit
constexpr double kShareOfSelection = 0.1;  // one mixed-integer program
constexpr double kSelectionSeconds = 60;   // the same with a fixed effort, which no clock may decide

// What is shown has three digits, and is to be enough.
constexpr double kRoundedUp = 1.01;

constexpr const char* kOption = "--update-within";

// ---- the limit ----------------------------------------------------------------------------------

struct Limit {
  problem::Objective of = problem::Objective::kEnergy;  // kEnergy, kTime or kRam
  double value = 0;

  [[nodiscard]] std::string show(double other) const {
    if (of == problem::Objective::kRam) return base::show_bytes(static_cast<int64_t>(other));
    return of == problem::Objective::kTime ? base::show_seconds(other) : base::show_joules(other);
  }
};

Result<Limit> limit_of(const std::string& text) {
  std::optional<Limit> limit;
  if (const auto joules = base::parse_joules(text, kOption)) limit = {problem::Objective::kEnergy, *joules};
  if (const auto seconds = base::parse_seconds(text, kOption)) limit = {problem::Objective::kTime, *seconds};
  if (const auto bytes = base::parse_bytes(text, kOption))
    limit = {problem::Objective::kRam, static_cast<double>(*bytes)};
  if (limit && limit->value > 0) return *limit;
  return fail("E0126", fmt::format("'{}' is no energy, no time and no RAM above 0", text), kOption,
              "give what a step may take with its unit: 20mJ, 30ms or 206KiB");
}

template <class Value>
void not_above(std::optional<Value>& limit, Value most) {
  limit = limit ? std::min(*limit, most) : most;
}

// Makes the limit one of the plan's.
Result<void> take_limit(const Limit& limit, PlanRequest& request) {
  PlanOptions& settings = request.settings;
  problem::Question& question = request.options.question;
  if (limit.of == problem::Objective::kRam) {
    PANTOUM_ASSIGN(const cost::DeviceProfile device, cost::load_device(request.device));
    if (!question.budget) question.budget = device.device.ram_bytes;
    not_above(question.budget, static_cast<problem::Bytes>(limit.value));
    settings.ram = Bytes(*question.budget);
  } else if (limit.of == problem::Objective::kEnergy) {
    not_above(question.energy_limit, limit.value);
    settings.energy_limit_j = question.energy_limit;
  } else {
    not_above(settings.deadline.seconds, Seconds(limit.value));
  }
  return {};
}

Result<void> check_options(const ModelOptions& options) {
  if (!options.update_within)
    return fail("E0119", "--contributions are for --update-within, which is not there", "--contributions",
                "give what a step may take, as in --update-within 20mJ");
  if (!options.contributions)
    return fail("E0119", "--update-within chooses by contributions, and there are none", kOption,
                "name their table with --contributions");
  if (!options.train_channels.empty())
    return fail("E0113", "--update-within chooses the channels that are trained by its table", "--train-channels",
                "leave out --train-channels, and give the table a row for each share: conv5.weight=25%,0.1");
  if (options.inference) return fail("E0113", "--inference trains nothing", kOption, "leave out one of the two");
  if (options.feature_cache)
    return fail("E0113", "--feature-cache is for a frozen part that is known, and --update-within chooses it", kOption,
                "plan without --feature-cache first, then freeze with --freeze what the plan does not train");
  return {};
}

// ---- the model of the step ----------------------------------------------------------------------

// The rows of the table in the order of the tensors, and what it leaves out. Rows of one tensor are shares of its channels.
struct Table {
  std::vector<std::string> names;
  std::vector<std::string> shares;  // "": the whole tensor
  std::vector<autodiff::ShareOfWeight> sizes;
  std::vector<double> contribution;
  std::vector<std::string> unlisted;  // parameters that train, and that the table does not have

  [[nodiscard]] size_t size() const { return names.size(); }
  [[nodiscard]] std::string row(size_t item) const {
    return shares[item].empty() ? names[item] : names[item] + "=" + shares[item];
  }
  // By row: the number of the tensor.
  [[nodiscard]] std::vector<int> tensors() const {
    std::vector<int> numbers;
    for (size_t item = 0; item < size(); ++item)
      numbers.push_back(item == 0 ? 0 : numbers.back() + (names[item] != names[item - 1] ? 1 : 0));
    return numbers;
  }
};

std::string glob_of(const std::string& name) {
  std::string glob;
  for (const char letter : name) {
    if (std::string_view("*?[]\\").find(letter) != std::string_view::npos) glob += '\\';
    glob += letter;
  }
  return glob;
}

// `forward`: tells the channels of a weight.
Result<Table> read_table(const std::string& path, const ir::Graph& training, const ir::Graph& forward) {
  PANTOUM_ASSIGN(const std::string text, base::read_file(path));
  if (text.size() > kMostTableBytes)
    return fail("E0126", fmt::format("the table has more than {}", base::show_bytes(kMostTableBytes)), path,
                "give one row for each tensor that may be trained");
  std::vector<std::string> trainable, others;
  for (const ir::Value& value : training.values) {
    if (value.producer != ir::kNone || value.role == ir::Role::kState) continue;
    const bool trains = value.role == ir::Role::kParameter && value.next != ir::kNone;
    (trains ? trainable : others).push_back(value.name);
  }
  PANTOUM_ASSIGN(const auto rows, parse_contributions(text, path, trainable, others));
  std::map<std::string, std::vector<std::pair<std::string, double>>> shares;  // by tensor
  for (const auto& [row, contribution] : rows) {
    const size_t equals = base::contains(trainable, row) ? row.size() : row.rfind('=');
    shares[row.substr(0, equals)].emplace_back(equals < row.size() ? row.substr(equals + 1) : "", contribution);
  }
  Table table;
  for (const std::string& name : trainable) {
    if (!shares.contains(name)) table.unlisted.push_back(name);
    for (const auto& [share, contribution] : shares[name]) {
      autodiff::ShareOfWeight size;
      if (!share.empty()) {
        PANTOUM_ASSIGN(size, autodiff::share_of_weight(forward, name, share));
      }
      table.names.push_back(name), table.shares.push_back(share), table.sizes.push_back(size);
      table.contribution.push_back(contribution);
    }
  }
  return table;
}

// Freezes what is not chosen. What --train names among it is not named any more: no tensor may be named by both.
ModelRequest with_chosen(ModelRequest model, const Table& table, const Chosen& chosen) {
  ModelOptions& options = model.options;
  const std::vector<std::string> train = std::exchange(options.train, {});
  for (const std::string& name : table.unlisted) options.freeze.push_back(glob_of(name));
  std::set<std::string> trained;
  for (size_t item = 0; item < chosen.size(); ++item) {
    if (!chosen[item]) continue;
    trained.insert(table.names[item]);
    if (!table.shares[item].empty())
      options.train_channels.push_back(glob_of(table.names[item]) + "=" + table.shares[item]);
  }
  for (const std::string& name : std::set<std::string>(table.names.begin(), table.names.end())) {
    if (!trained.contains(name))
      options.freeze.push_back(glob_of(name));
    else if (base::matches_any(train, name))
      options.train.push_back(glob_of(name));
  }
  return model;
}

double cheapest(const problem::Op& op, problem::Objective of, problem::Watts idle_w) {
  double least = std::numeric_limits<double>::infinity();
  for (const problem::Choice& choice : op.choices)
    least = std::min(least, of == problem::Objective::kTime ? choice.time_s : choice.energy_j + idle_w * choice.time_s);
  return least;
}

// The parts of a step: its ops; for RAM, behind them, the tensors that backward retains and those that an update has.
class StepModel {
 public:
  StepModel(const Program& training, const Table& table, problem::Objective of)
      : ir_(training.graph), cost_(training.cost), producer_(training.cost.graph.tensors.size(), -1) {
    const CostGraph& graph = cost_.graph;
    for (const problem::Op& op : graph.ops)
      for (const int64_t output : op.outputs) producer_[at(output)] = static_cast<int>(op.id);
    const bool ram = of == problem::Objective::kRam;
    for (const problem::Op& op : graph.ops) {
      made_.cost.push_back(ram ? 0 : cheapest(op, of, problem::idle_watts(graph)));
      made_.needs.emplace_back();
      for (const int64_t input : op.inputs)
        if (producer_[at(input)] >= 0) made_.needs.back().push_back(producer_[at(input)]);
    }
    for (const ir::ValueId result : ir_.results) add_always(result);
    for (const ir::Value& value : ir_.values)
      if (value.role == ir::Role::kBuffer && value.next != ir::kNone) add_always(value.next);
    if (ram) add_retained();
    made_.contribution = table.contribution;
    made_.group = table.tensors();
    add_items(table, ram);
  }

  [[nodiscard]] plan::UpdateProblem take() && { return std::move(made_); }

 private:
  const ir::Graph& ir_;
  const cost::BuiltCostGraph& cost_;
  std::vector<int> producer_;  // by tensor: the op; -1: none
  plan::UpdateProblem made_;

  static size_t at(int64_t id) { return static_cast<size_t>(id); }

  int64_t tensor_of(ir::ValueId value) const { return cost_.tensor_of[static_cast<size_t>(value)]; }

  int producer_of(ir::ValueId value) const { return tensor_of(value) < 0 ? -1 : producer_[at(tensor_of(value))]; }

  void add_always(ir::ValueId value) {
    if (const int op = producer_of(value); op >= 0) made_.always.push_back(op);
  }

  std::vector<char> forward_ops() const {
    std::vector<char> forward(cost_.graph.ops.size(), 0);
    std::vector<int> open = made_.always;
    while (!open.empty()) {
      const size_t op = at(open.back());
      open.pop_back();
      if (std::exchange(forward[op], 1) != 0) continue;
      open.insert(open.end(), made_.needs[op].begin(), made_.needs[op].end());
    }
    return forward;
  }

  // What the forward pass makes or is given, and an op of backward reads, stays in RAM until then.
  void add_retained() {
    const std::vector<char> forward = forward_ops();
    std::set<int64_t> given;
    for (const ir::ValueId input : ir_.inputs) given.insert(tensor_of(input));
    std::map<int64_t, int> part_of;  // by tensor
    for (size_t op = 0; op < forward.size(); ++op) {
      if (forward[op]) continue;
      for (const int64_t input : cost_.graph.ops[op].inputs) {
        const int producer = producer_[at(input)];
        if (producer >= 0 ? !forward[at(producer)] : !given.contains(input)) continue;
        const auto [part, added] = part_of.emplace(input, static_cast<int>(made_.cost.size()));
        if (added) add_part(static_cast<double>(cost_.graph.tensors[at(input)].bytes));
        made_.needs[op].push_back(part->second);
      }
    }
  }

  void add_part(double cost) {
    made_.cost.push_back(cost);
    made_.needs.emplace_back();
  }

  // An update makes the next contents of the parameter and of its optimizer state.
  void add_items(const Table& table, bool ram) {
    std::multimap<std::string, size_t> items_of;
    for (size_t item = 0; item < table.size(); ++item) items_of.emplace(table.names[item], item);
    std::vector<std::set<int>> updates(table.size());
    std::vector<int64_t> bytes(table.size(), 0), own(table.size(), 0);
    for (const ir::Value& value : ir_.values) {
      if (value.producer != ir::kNone || value.next == ir::kNone) continue;
      const bool is_state = value.role == ir::Role::kState;
      const auto [begin, end] = items_of.equal_range(is_state ? parameter_of(value.name) : value.name);
      for (auto item = begin; item != end; ++item) {
        if (const int op = producer_of(value.next); op >= 0) updates[item->second].insert(op);
        bytes[item->second] += is_state ? value.type.bytes() : 2 * value.type.bytes();  // with the gradient
        if (!is_state) own[item->second] = value.type.bytes();
      }
    }
    const std::vector<std::set<int>> readers = readers_of_ops();
    for (size_t item = 0; item < table.size(); ++item) {
      const autodiff::ShareOfWeight& size = table.sizes[item];
      if (table.shares[item].empty())
        made_.parts.emplace_back(updates[item].begin(), updates[item].end());
      else
        made_.parts.push_back({add_share(with_gradients(updates[item], own[item], readers), size)});
      if (!ram) continue;
      made_.parts.back().push_back(static_cast<int>(made_.cost.size()));
      add_part(size.ratio * static_cast<double>(bytes[item]));
    }
  }

  // By op: the ops that read its outputs.
  std::vector<std::set<int>> readers_of_ops() const {
    std::vector<std::set<int>> readers(cost_.graph.ops.size());
    for (const problem::Op& op : cost_.graph.ops)
      for (const int64_t input : op.inputs)
        if (const int producer = producer_[at(input)]; producer >= 0)
          readers[at(producer)].insert(static_cast<int>(op.id));
    return readers;
  }

  // The updates of a weight, and what makes its gradient for them alone: ops whose outputs have the weight's size.
  std::set<int> with_gradients(std::set<int> ops, int64_t bytes, const std::vector<std::set<int>>& readers) const {
    std::vector<int> open(ops.begin(), ops.end());
    while (!open.empty()) {
      const problem::Op& op = cost_.graph.ops[at(open.back())];
      open.pop_back();
      for (const int64_t input : op.inputs) {
        const int producer = producer_[at(input)];
        if (producer < 0 || ops.contains(producer) || cost_.graph.tensors[at(input)].bytes != bytes) continue;
        if (!std::ranges::includes(ops, readers[at(producer)])) continue;
        ops.insert(producer);
        open.push_back(producer);
      }
    }
    return ops;
  }

  // One part in place of these ops: a share of their costs, and for RAM of what they retain.
  int add_share(const std::set<int>& ops, const autodiff::ShareOfWeight& size) {
    double cost = 0;
    std::set<int> needs;
    for (const int op : ops) {
      cost += size.ratio * made_.cost[at(op)];
      needs.insert(made_.needs[at(op)].begin(), made_.needs[at(op)].end());
    }
    std::vector<int> others;
    for (const int need : needs) {
      const bool is_tensor = at(need) >= cost_.graph.ops.size();
      if (!is_tensor && ops.contains(need)) continue;
      others.push_back(is_tensor && size.cuts_input ? static_cast<int>(made_.cost.size()) : need);
      if (is_tensor && size.cuts_input) add_part(size.ratio * made_.cost[at(need)]);
    }
    add_part(cost);
    made_.needs.back() = std::move(others);
    return static_cast<int>(made_.cost.size()) - 1;
  }

  // "optim.momentum.fc.weight" is of fc.weight.
  static std::string parameter_of(const std::string& state) {
    const size_t what = state.find('.');
    const size_t name = what == std::string::npos ? what : state.find('.', what + 1);
    return name == std::string::npos ? "" : state.substr(name + 1);
  }
};

// ---- plans of chosen updates --------------------------------------------------------------------

// Finds, with the planner, the largest limit of the model whose selection has a plan.
class Search {
 public:
  Search(const ModelRequest& model, const PlanRequest& request, const Table& table, const plan::UpdateProblem& problem,
         const Limit& limit)
      : model_(model), request_(request), table_(table), problem_(problem), limit_(limit) {
    seconds_ = request.options.effort > 0 ? kSelectionSeconds : kShareOfSelection * request.options.time_limit;
    most_seconds_ = kShareOfChoosing * request.options.time_limit;
    request_.options.time_limit *= kShareOfChoosing / kMostPlans;
    request_.rewrite.search = false;
  }

  Result<void> run() {
    const double all = plan::cost_of_updates(problem_, Chosen(table_.size(), 1));
    const std::optional<plan::UpdateSelection> least = plan::cheapest_update(problem_);
    double high = limit_.of == problem::Objective::kRam ? all : limit_.value, low = least->cost, next = high;
    while (may_go_on() && low <= high * (1 + 1e-9)) {
      const auto selected = plan::select_updates(problem_, next, seconds_);
      if (!selected || selected->contribution <= (best_ ? best_->contribution : 0)) {
        if (next >= high) break;  // nothing below contributes more
        low = next;
      } else if (failed_.contains(selected->chosen)) {
        high = std::min(next, below(selected->cost));
      } else {
        PANTOUM_ASSIGN(const bool fits, fits_limit(*selected));
        if (fits && next >= high && plans_ == 1) optimal_ = selected->optimal;
        if (fits && next >= high) break;
        fits ? low = next : high = std::min(next, below(selected->cost));
      }
      next = high - low <= 1e-3 * high ? high : (low + high) / 2;
    }
    const bool may_fit = limit_.of == problem::Objective::kRam || least->cost <= limit_.value * (1 + 1e-9);
    if (!best_ && may_fit && !failed_.contains(least->chosen)) PANTOUM_TRY(fits_limit(*least));
    if (best_ && limit_.of == problem::Objective::kRam) PANTOUM_TRY(add_more());
    return {};
  }

  [[nodiscard]] const std::optional<plan::UpdateSelection>& best() const { return best_; }
  [[nodiscard]] problem::Plan& best_plan() { return plan_; }
  [[nodiscard]] bool optimal() const { return optimal_; }
  [[nodiscard]] int plans() const { return plans_; }

  // E0307 with what the cheapest tensor takes, or why no step of this model has a plan at all.
  Error refusal(const PlanRequest& without_limit) {
    const auto least = plan::cheapest_update(problem_);
    const size_t item = static_cast<size_t>(std::ranges::find(least->chosen, 1) - least->chosen.begin());
    PlanRequest request = limit_.of == problem::Objective::kRam ? request_ : without_limit;
    request.options.time_limit = request_.options.time_limit;
    request.rewrite.search = false;
    Result<Compiled> compiled = compile_model(with_chosen(model_, table_, least->chosen), request);
    if (!compiled) return compiled.error();
    plan::Infeasible none;
    const Result<void> planned = plan_model(*compiled, request, nullptr, &none);
    const check::Found& found = compiled->training().found;
    double value = static_cast<double>(none.min_ram_bytes);
    if (limit_.of != problem::Objective::kRam) {
      if (!planned) return with_leaner_options(planned.error(), *compiled, request);
      value = limit_.of == problem::Objective::kTime ? found.time_s : found.energy_j;
    } else if (value <= 0) {
      return planned ? Error{"E0307", "no tensor can be trained", kOption, {}, ""} : planned.error();
    }
    return {"E0307",
            fmt::format("no tensor of the table can be trained within {}: the cheapest, '{}' alone, takes {}",
                        limit_.show(limit_.value), table_.row(item), limit_.show(value)),
            kOption,
            {},
            fmt::format("give {} or more", limit_.show(kRoundedUp * value))};
  }

 private:
  ModelRequest model_;
  PlanRequest request_;
  const Table& table_;
  const plan::UpdateProblem& problem_;
  Limit limit_;
  std::optional<plan::UpdateSelection> best_;
  problem::Plan plan_;  // of the best
  std::set<Chosen> failed_;
  bool optimal_ = false;
  int plans_ = 0;
  Clock::time_point begin_ = Clock::now();
  problem::Seconds seconds_ = 0, most_seconds_ = 0;

  bool may_go_on() const {
    const bool in_time =
        request_.options.effort > 0 || std::chrono::duration<double>(Clock::now() - begin_).count() <= most_seconds_;
    return plans_ < kMostPlans && in_time && !request_.options.stop.stop_requested();
  }

  static double below(double cost) { return cost * (1 - 1e-7); }

  // Plans the selection; remembers it as the best one, or as one that has no plan.
  Result<bool> fits_limit(const plan::UpdateSelection& selected) {
    ++plans_;
    PANTOUM_ASSIGN(Compiled compiled, compile_model(with_chosen(model_, table_, selected.chosen), request_));
    plan::Infeasible none;
    if (const Result<void> planned = plan_model(compiled, request_, nullptr, &none); !planned) {
      if (planned.error().code != "E0301" && planned.error().code != "E0302") return Failure(planned.error());
      failed_.insert(selected.chosen);
      return false;
    }
    best_ = selected;
    plan_ = std::move(compiled.training().plan);
    plan_.graph = std::move(compiled.training().cost.graph);
    return true;
  }

  // RAM does not add up: what the model left out may fit all the same.
  Result<void> add_more() {
    std::vector<size_t> left;
    for (size_t item = 0; item < table_.size(); ++item)
      if (!best_->chosen[item] && problem_.contribution[item] > 0) left.push_back(item);
    std::ranges::stable_sort(left, std::ranges::greater(), [&](size_t item) { return problem_.contribution[item]; });
    for (const size_t item : left) {
      if (!may_go_on()) break;
      plan::UpdateSelection more = *best_;
      more.contribution += problem_.contribution[item];
      for (size_t other = 0; other < more.chosen.size(); ++other)  // a larger share takes the place of another
        if (more.chosen[other] && problem_.group[other] == problem_.group[item]) {
          more.chosen[other] = 0;
          more.contribution -= problem_.contribution[other];
        }
      if (more.contribution <= best_->contribution) continue;
      more.chosen[item] = 1;
      more.cost = plan::cost_of_updates(problem_, more.chosen);
      if (failed_.contains(more.chosen)) continue;
      PANTOUM_ASSIGN([[maybe_unused]] const bool fits, fits_limit(more));
    }
    return {};
  }
};

// The step that the model of costs is made of: no norm joins its gradients, and it is one program.
ModelRequest model_of_costs(ModelRequest model) {
  model.options.clip_norm.reset();
  model.options.accumulate = 1;
  model.options.split_update = false;
  return model;
}

ChosenUpdates chosen_updates(const std::string& within, const Table& table, const Search& search,
                             const problem::Predicted& all) {
  ChosenUpdates updates{.within = within,
                        .of_tensors = table.tensors().empty() ? 0 : table.tensors().back() + 1,
                        .contribution = search.best()->contribution,
                        .best = search.optimal(),
                        .plans = search.plans(),
                        .all = all};
  std::map<std::string, double> most;  // of the shares of a tensor
  for (size_t item = 0; item < table.size(); ++item) {
    most[table.names[item]] = std::max(most[table.names[item]], table.contribution[item]);
    if (search.best()->chosen[item]) updates.tensors.push_back(table.row(item));
  }
  for (const auto& [name, contribution] : most) updates.of_all += contribution;
  return updates;
}

}  // namespace

Result<void> choose_updates(ModelRequest& model, PlanRequest& request) {
  if (!model.options.update_within && !model.options.contributions) return {};
  const Clock::time_point begin = Clock::now();
  PANTOUM_TRY(check_options(model.options));
  const std::string within = *model.options.update_within, path = *model.options.contributions;
  PANTOUM_ASSIGN(const Limit limit, limit_of(within));
  ModelRequest plain = model;
  plain.options.update_within.reset(), plain.options.contributions.reset();
  PlanRequest limited = request, costed = request;
  PANTOUM_TRY(take_limit(limit, limited));
  costed.rewrite.search = false;

  PANTOUM_ASSIGN(Compiled whole, make_graphs(model_of_costs(plain), costed, {}));
  PANTOUM_ASSIGN(const Table table, read_table(path, whole.training().graph, whole.evaluation().graph));
  PANTOUM_TRY(add_costs(whole, costed, {}));
  const plan::UpdateProblem problem = StepModel(whole.training(), table, limit.of).take();
  PANTOUM_ASSIGN(const problem::Predicted all, unplanned_step(whole.training().cost.graph, request));
  Search search(plain, limited, table, problem, limit);
  PANTOUM_TRY(search.run());
  if (!search.best()) return Failure(search.refusal(request));

  model = with_chosen(plain, table, search.best()->chosen);
  model.updates = chosen_updates(within, table, search, all);
  request = limited;
  const double taken = std::chrono::duration<double>(Clock::now() - begin).count();
  request.options.time_limit =
      std::max(request.options.time_limit - taken, (1 - kShareOfChoosing) * request.options.time_limit);
  // The plan that was found is where planning starts, so that there is one: of ops in slices the graphs are made later.
  if (request.options.warm_start == nullptr && !problem::has_queues(search.best_plan().graph)) {
    request.start = std::make_shared<const problem::Plan>(std::move(search.best_plan()));
    request.options.warm_start = request.start.get();
  }
  return {};
}

}  // namespace pantoum::pipeline
