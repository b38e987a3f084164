#include "cost/profile_engines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/lists.h"
#include "base/nearest_name.h"
#include "cost/host_engines.h"
#include "cost/roofline.h"

namespace pantoum::cost {

using problem::Choice;

namespace {

std::string text_of_times(const std::string& engine, const OpKey& key) {
  return fmt::format("{}\x1f{}\x1f{}\x1f{}", engine, key.op, key.operands, key.attributes);
}

const EngineProfile& engine_named(const DeviceProfile& device, const std::string& name) {
  return *std::ranges::find(device.engines, name, &EngineProfile::name);
}

std::string on(const std::string& what, const std::string& engine) {
  return fmt::format("{}@{}", what, engine);
}

// Adds a choice to the op, computed as its choice `at` is.
void add_choice(BuiltCostGraph& built, size_t op, size_t at, Choice choice) {
  built.graph.ops[op].choices.push_back(std::move(choice));
  built.kernel_of[op].push_back(built.kernel_of[op][at]);
  built.computed_as[op].push_back(built.computed_as[op][at]);
  built.threads_of[op].push_back(0);
}

// Is choice `at` the first of its kernel and operands? Those after it are its clock levels.
bool is_first_of_kernel(const BuiltCostGraph& built, size_t op, size_t at) {
  const std::vector<Choice>& choices = built.graph.ops[op].choices;
  for (size_t before = 0; before < at; ++before)
    if (built.kernel_of[op][before] == built.kernel_of[op][at] && choices[before].reads == choices[at].reads)
      return false;
  return true;
}

// Offers the ops of one graph on one engine.
class Offer {
 public:
  Offer(BuiltCostGraph& built, const ir::Graph& graph, const DeviceProfile& device, const EngineProfile& engine,
        const EngineTimes& times)
      : built_(built), graph_(graph), device_(device), engine_(engine), times_(times) {}

  // `first`: how many choices each op has on the processor.
  EngineOffer run(const std::vector<size_t>& first) {
    EngineOffer offered{.engine = engine_.name};
    for (size_t op = 0; op < first.size(); ++op) {
      const size_t before = built_.graph.ops[op].choices.size();
      for (size_t at = 0; at < first[op]; ++at)
        if (is_first_of_kernel(built_, op, at)) add(op, at);
      if (built_.graph.ops[op].choices.size() == before) continue;
      ++(times_.has(engine_.name) ? offered.measured : offered.modelled);
    }
    return offered;
  }

 private:
  void add(size_t op, size_t at) {
    const pt_kernel& kernel = *built_.kernel_of[op][at];
    const ir::Op& as = built_.computed_as[op][at];
    Choice choice = built_.graph.ops[op].choices[at];
    const Work work = work_of(graph_, as, choice.workspace_bytes, &kernel);
    if (times_.has(engine_.name)) {
      const OpSample* sample = times_.find(engine_.name, op_key(graph_, as, kernel, 1, {}));
      if (sample == nullptr) return;
      choice.time_s = sample->seconds;
      choice.workspace_bytes = std::max(choice.workspace_bytes, sample->workspace_bytes);
      choice.energy_j = sample->joules.value_or(modelled_joules(engine_.compute, work, choice.time_s));
    } else if (engine_.is_modelled) {
      choice.time_s = modelled_seconds(engine_.compute, work) * slowdown_of(op, at);
      choice.energy_j = modelled_joules(engine_.compute, work, choice.time_s);
    } else {
      return;
    }
    choice.algorithm = on(kernel.algorithm_name, engine_.name);
    if (!engine_.same_bits) choice.numerics = on(choice.numerics, engine_.name);
    choice.engines = {engine_.name};
    if (takes_memory(work, engine_.compute.caches, device_.compute.bytes_per_s, choice.time_s))
      choice.engines.emplace_back(kMemory);
    add_choice(built_, op, at, std::move(choice));
  }

  // How many times slower than its work says the graph has the kernel: reference kernels, those in strips.
  [[nodiscard]] double slowdown_of(size_t op, size_t at) const {
    const auto seconds_of = [&](size_t choice) {
      return modelled_seconds(
          device_.compute, work_of(graph_, built_.computed_as[op][choice],
                                   built_.graph.ops[op].choices[choice].workspace_bytes, built_.kernel_of[op][choice]));
    };
    const double own = seconds_of(at), first = seconds_of(0);
    const std::vector<Choice>& choices = built_.graph.ops[op].choices;
    if (own <= 0 || first <= 0 || choices[0].time_s <= 0) return 1;
    return choices[at].time_s / own / (choices[0].time_s / first);
  }

  BuiltCostGraph& built_;
  const ir::Graph& graph_;
  const DeviceProfile& device_;
  const EngineProfile& engine_;
  const EngineTimes& times_;
};

}  // namespace

Result<std::vector<std::string>> parse_engine_names(const std::string& text, const DeviceProfile& device,
                                                    const std::string& where) {
  if (text == kProcessor) return std::vector<std::string>();
  const std::vector<std::string> known = engine_names(device);
  const auto refuse = [&](const std::string& what, const std::string& help) {
    return fail(
        "E0115", what, where,
        known.size() == 1 ? fmt::format("device '{}' has the one engine cpu: leave it out", device.device.name) : help);
  };
  const std::string all = fmt::format("{}", fmt::join(known, ","));
  std::vector<std::string> names;
  std::istringstream list(text + ",");
  for (std::string name; std::getline(list, name, ',');) {
    if (!base::contains(known, name))
      return refuse(fmt::format("device '{}' has no engine '{}'", device.device.name, name),
                    fmt::format("{}name some of {}", base::hint_at(name, known), all));
    if (base::contains(names, name)) return refuse(fmt::format("engine '{}' stands twice", name), "name it once");
    names.push_back(name);
  }
  if (!base::contains(names, std::string(kProcessor)))
    return refuse("the processor is not among the engines", "every plan begins with it, as in " + all);
  std::ranges::sort(names, {}, [&](const std::string& name) { return std::ranges::find(known, name) - known.begin(); });
  return names;
}

Result<EngineTimes> EngineTimes::read(ProfileStore& store, const std::string& machine) {
  EngineTimes times;
  PANTOUM_TRY(store.each_op([&](const OpKey& key, const OpSample& sample) -> Result<void> {
    if (key.machine != machine || key.engine == kProcessor) return {};
    const auto [known, added] = times.samples_.try_emplace(text_of_times(key.engine, key), sample);
    if (!added && sample.seconds < known->second.seconds) known->second = sample;
    return {};
  }));
  return times;
}

const OpSample* EngineTimes::find(const std::string& engine, const OpKey& key) const {
  const auto found = samples_.find(text_of_times(engine, key));
  return found == samples_.end() ? nullptr : &found->second;
}

bool EngineTimes::has(const std::string& engine) const {
  const auto first = samples_.lower_bound(engine + "\x1f");
  return first != samples_.end() && first->first.starts_with(engine + "\x1f");
}

std::vector<EngineOffer> add_profile_engines(BuiltCostGraph& built, const ir::Graph& graph, const DeviceProfile& device,
                                            const std::vector<std::string>& names, const EngineTimes& times) {
  std::vector<size_t> first;
  for (size_t op = 0; op < built.graph.ops.size(); ++op) {
    std::vector<Choice>& choices = built.graph.ops[op].choices;
    first.push_back(choices.size());
    for (size_t at = 0; at < choices.size(); ++at) {
      const Work work = work_of(graph, built.computed_as[op][at], choices[at].workspace_bytes, built.kernel_of[op][at]);
      if (takes_memory(work, device.compute.caches, device.compute.bytes_per_s, choices[at].time_s))
        choices[at].engines.emplace_back(kMemory);
    }
  }
  std::vector<EngineOffer> offers;
  for (const std::string& name : names) {
    if (name == kProcessor) continue;
    const EngineProfile& engine = engine_named(device, name);
    built.graph.device.engines.push_back({engine.name, engine.idle_w, engine.launch_s, engine.handoff_s});
    offers.push_back(Offer(built, graph, device, engine, times).run(first));
  }
  built.with_threads = static_cast<uint8_t>((1U << built.graph.device.engines.size()) - 1);
  if (device.compute.bytes_per_s > 0) built.graph.device.engines.push_back({.name = kMemory});
  return offers;
}

bool take_profile_engines(BuiltCostGraph& built, const CostGraph& given) {
  BuiltCostGraph with = built;
  if (with.graph.ops.size() != given.ops.size()) return false;
  for (size_t op = 0; op < given.ops.size(); ++op) {
    std::vector<Choice>& choices = with.graph.ops[op].choices;
    const std::vector<Choice>& wanted = given.ops[op].choices;
    const size_t first = choices.size();
    if (wanted.size() < first) return false;
    for (size_t at = 0; at < first; ++at) choices[at].engines = wanted[at].engines;
    for (size_t at = first; at < wanted.size(); ++at) {
      size_t as = 0;
      const std::string kernel = wanted[at].algorithm.substr(0, wanted[at].algorithm.rfind('@'));
      while (as < first && (kernel != with.kernel_of[op][as]->algorithm_name || choices[as].reads != wanted[at].reads))
        ++as;
      if (as == first) return false;
      add_choice(with, op, as, wanted[at]);
    }
  }
  with.graph.device.engines = given.device.engines;
  const auto threads =
      std::ranges::count_if(given.device.engines, [](const auto& engine) { return engine.name != kMemory; });
  with.with_threads = static_cast<uint8_t>((1U << threads) - 1);
  built = std::move(with);
  return true;
}

}  // namespace pantoum::cost
