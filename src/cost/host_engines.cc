#include "cost/host_engines.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>

#include "cost/roofline.h"

namespace pantoum::cost {
namespace {

constexpr double kShareOfBandwidth = 0.5;
constexpr int kMostProcessor = 4095;

// Takes a number from the front of the text. -1: there is none.
int take_number(std::string_view& text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0 || number > kMostProcessor) return -1;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

Failure no_engines(const std::string& what, const std::string& where, const std::string& meant = "") {
  const std::string hint = meant.empty() ? "" : fmt::format("did you mean {}? ", meant);
  return fail("E0115", what, where,
              hint +
                  "name the processors of each engine, as in cpu0,cpu1 or cpu0-3,cpu4-7; cpu is all of them, and "
                  "opencl0 behind them the first OpenCL device");
}

// Returns the processors of "cpu2" or "cpu0-3"; empty: the text is neither.
std::vector<int> processors_of(std::string_view text) {
  if (!text.starts_with("cpu")) return {};
  text.remove_prefix(3);
  const int first = take_number(text);
  int last = first;
  if (first >= 0 && text.starts_with("-")) {
    text.remove_prefix(1);
    last = take_number(text);
  }
  if (first < 0 || last < first || !text.empty()) return {};
  std::vector<int> processors;
  for (int processor = first; processor <= last; ++processor) processors.push_back(processor);
  return processors;
}

// Reads "opencl" or "opencl1". None: the text is neither.
std::optional<int> device_of(std::string_view text) {
  if (!text.starts_with("opencl")) return std::nullopt;
  text.remove_prefix(6);
  if (text.empty()) return 0;
  const int number = take_number(text);
  return number >= 0 && text.empty() ? std::optional(number) : std::nullopt;
}

// Are the choice's engines several, without the bandwidth of memory?
bool is_gang(const problem::Choice& choice) {
  return std::ranges::count_if(choice.engines, [](const std::string& name) { return name != kMemory; }) > 1;
}

// The engine that the text is in another case, or between spaces; empty: none.
std::string engine_meant_by(const std::string& text) {
  std::string meant;
  for (const char letter : text)
    if (letter != ' ') meant += static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter);
  return meant == "cpu" || device_of(meant) || !processors_of(meant).empty() ? meant : "";
}

}  // namespace

bool takes_memory(const Work& work, const std::vector<CacheLevel>& caches, double bytes_per_s, Seconds seconds) {
  const bool fits_a_cache = !caches.empty() && work.footprint <= static_cast<double>(caches.back().bytes);
  return bytes_per_s > 0 && !fits_a_cache && work.bytes > kShareOfBandwidth * bytes_per_s * seconds;
}

Result<std::vector<HostEngine>> parse_engines(const std::string& text, const std::string& where) {
  std::vector<HostEngine> engines;
  if (text == "cpu") return engines;
  std::set<int> taken;
  bool has_all = false, has_device = false;
  std::istringstream names(text);
  for (std::string name; std::getline(names, name, ',');) {
    if (const std::optional<int> device = device_of(name)) {
      if (engines.empty())
        return no_engines(fmt::format("the first engine is '{}', and no processors", name), where, "cpu," + name);
      if (std::exchange(has_device, true)) return no_engines("two engines are OpenCL devices", where);
      engines.push_back({fmt::format("opencl{}", *device), 0, device});
      continue;
    }
    const std::vector<int> processors = processors_of(name);
    if (processors.empty() && name != "cpu")
      return no_engines(fmt::format("'{}' is no engine", name), where, engine_meant_by(name));
    if (has_all || (name == "cpu" && !taken.empty()))
      return no_engines("'cpu' is all processors, and others are named beside it", where);
    has_all = name == "cpu";
    for (const int processor : processors)
      if (!taken.insert(processor).second)
        return no_engines(fmt::format("two engines have processor {}", processor), where);
    engines.push_back({name, static_cast<int>(processors.size()), std::nullopt, processors});
  }
  if (text.empty() || text.back() == ',') return no_engines("an engine has no name", where);
  if (engines.size() > PT_MAX_ENGINES)
    return fail("E0115",
                fmt::format("{} engines are more than the {} that a plan can have", engines.size(), PT_MAX_ENGINES),
                where, "give several processors to one engine, as in cpu0-3");
  if (engines.size() == 1)
    return fail("E0115", "one engine alone computes as without this setting", where,
                "leave it out, and give --threads");
  return engines;
}

void add_engines(BuiltCostGraph& built, const ir::Graph& graph, const DeviceProfile& device,
                 const std::vector<HostEngine>& engines, Seconds hand_off, const std::vector<DeviceWay>& ways,
                 const std::vector<EngineSeconds>& seconds) {
  problem::Device& of = built.graph.device;
  const problem::Watts idle_w = of.engines.front().idle_w;  // of the whole processor
  std::vector<std::string> all;
  of.engines.clear();
  std::string of_device;
  for (const HostEngine& engine : engines) {
    of.engines.push_back({.name = engine.name, .handoff_s = hand_off});
    const auto bit = static_cast<uint8_t>(1U << (of.engines.size() - 1));
    built.computing |= bit;
    if (engine.opencl) {
      of_device = engine.name;
      continue;
    }
    built.with_threads |= bit;
    all.push_back(engine.name);
  }
  of.engines.front().idle_w = idle_w;
  of.engines.push_back({.name = kMemory});
  std::vector<problem::Choice> of_ways;
  for (const DeviceWay& way : ways) {
    const problem::Choice& like = built.graph.ops[way.op].choices[way.like];
    const Work work = work_of(graph, built.computed_as[way.op][way.like], way.workspace, way.kernel);
    problem::Choice choice = like;
    choice.algorithm = way.kernel->algorithm_name;
    choice.numerics = way.kernel->numerics;
    choice.engines = {of_device};
    if (takes_memory(work, device.compute.caches, device.compute.bytes_per_s, way.seconds))
      choice.engines.emplace_back(kMemory);
    choice.workspace_bytes = way.workspace;
    choice.time_s = way.seconds;
    if (like.time_s > 0) choice.energy_j *= way.seconds / like.time_s;
    of_ways.push_back(std::move(choice));
  }
  for (size_t op = 0; op < built.graph.ops.size(); ++op) {
    std::vector<problem::Choice>& choices = built.graph.ops[op].choices;
    const size_t first = choices.size();
    for (size_t at = 0; at < first; ++at) {
      const Work work = work_of(graph, built.computed_as[op][at], choices[at].workspace_bytes, built.kernel_of[op][at]);
      const problem::Choice plain = choices[at];
      const auto on = [&](std::vector<std::string> names, Seconds taken) {
        problem::Choice choice = plain;
        if (plain.time_s > 0) choice.energy_j *= taken / plain.time_s;
        choice.time_s = taken;
        choice.engines = std::move(names);
        if (takes_memory(work, device.compute.caches, device.compute.bytes_per_s, taken))
          choice.engines.emplace_back(kMemory);
        return choice;
      };
      bool placed = false;
      for (size_t number = 0; number < engines.size(); ++number) {
        const HostEngine& engine = engines[number];
        if (engine.opencl || built.threads_of[op][at] != engine.threads) continue;
        const bool own = number < seconds.size() && op < seconds[number].size() && at < seconds[number][op].size();
        const Seconds taken = own ? seconds[number][op][at] : plain.time_s;
        if (std::exchange(placed, true)) {
          choices.push_back(on({engine.name}, taken));
          built.kernel_of[op].push_back(built.kernel_of[op][at]);
          built.computed_as[op].push_back(built.computed_as[op][at]);
          built.threads_of[op].push_back(built.threads_of[op][at]);
        } else {
          choices[at] = on({engine.name}, taken);
        }
      }
      if (!placed) choices[at] = on(all, plain.time_s);
    }
  }
  for (size_t at = 0; at < ways.size(); ++at) {
    const DeviceWay& way = ways[at];
    built.graph.ops[way.op].choices.push_back(std::move(of_ways[at]));
    built.kernel_of[way.op].push_back(way.kernel);
    built.computed_as[way.op].push_back(built.computed_as[way.op][way.like]);
    built.threads_of[way.op].push_back(0);
  }
}

Result<void> take_out_gangs(BuiltCostGraph& built, bool other_bits) {
  for (size_t op = 0; op < built.graph.ops.size(); ++op) {
    std::vector<problem::Choice>& choices = built.graph.ops[op].choices;
    for (size_t at = 0; at < choices.size(); ++at) {
      if (!is_gang(choices[at])) continue;
      size_t by = 0;
      while (by < choices.size() && (is_gang(choices[by]) || built.kernel_of[op][by] != built.kernel_of[op][at] ||
                                     choices[by].reads != choices[at].reads))
        ++by;
      if (by == choices.size() || (choices[by].numerics != choices[at].numerics && !other_bits))
        return fail("E0117",
                    fmt::format("op '{}' has no kernel '{}' of the same bits on one engine", built.graph.ops[op].name,
                                choices[at].algorithm),
                    "--no-gangs", "allow other bits with --allow-numerics-change, or leave out --no-gangs");
      choices[at] = choices[by];
      built.computed_as[op][at] = built.computed_as[op][by];
      built.threads_of[op][at] = built.threads_of[op][by];
    }
  }
  return {};
}

}  // namespace pantoum::cost
