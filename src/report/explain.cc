#include "report/explain.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/foreign_text.h"
#include "base/units.h"
#include "problem/objective_values.h"
#include "problem/cost_graph.h"
#include "report/names.h"
#include "report/words.h"

namespace pantoum::report {

namespace {

constexpr double kWorth = 1e-9;  // a relative saving below this is rounding

double value_of(const problem::Plan& plan, const problem::Predicted& predicted) {
  return value_of(plan.question, predicted);
}

bool cheaper(const problem::Plan& plan, const problem::Predicted& other) {
  const double own = value_of(plan, plan.predicted);
  return value_of(plan, other) < own - kWorth * own;
}

size_t peak_of(const problem::Plan& plan) {
  const std::vector<TracePoint> trace = trace_memory(plan);
  const auto top = std::max_element(trace.begin(), trace.end(),
                                    [](const TracePoint& a, const TracePoint& b) { return a.ram_bytes < b.ram_bytes; });
  return static_cast<size_t>(top - trace.begin());
}

// Ops that run more than once, and what all computes cost.
std::vector<ComputedAgain> computed_again(const problem::Plan& plan, Energy& energy) {
  std::unordered_map<int64_t, const problem::Op*> ops;
  for (const problem::Op& op : plan.graph.ops) ops[op.id] = &op;
  std::unordered_map<int64_t, bool> computed;
  std::map<int64_t, ComputedAgain> again;
  for (const problem::Instruction& step : plan.instructions) {
    if (step.what != problem::Do::kCompute) continue;
    const problem::Choice& choice = ops.at(step.subject)->choices.at(static_cast<size_t>(step.choice));
    if (!std::exchange(computed[step.subject], true)) {
      energy.first_j += choice.energy_j;
      continue;
    }
    ComputedAgain& entry = again[step.subject];
    entry.op = step.subject;
    entry.times += 1;
    entry.seconds += choice.time_s;
    entry.energy_j += choice.energy_j;
    energy.again_j += choice.energy_j;
  }
  std::vector<ComputedAgain> found;
  found.reserve(again.size());
  for (const auto& [op, entry] : again) found.push_back(entry);
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.energy_j > b.energy_j; });
  return found;
}

std::vector<Paged> paged(const Timeline& timeline, Energy& energy) {
  std::map<int64_t, Paged> by_tensor;
  for (const Transfer& one : timeline.transfers) {
    Paged& entry = by_tensor[one.tensor];
    entry.tensor = one.tensor;
    (one.out ? entry.outs : entry.ins) += 1;
    entry.bytes = one.bytes;
    entry.seconds += one.end_s - one.begin_s;
    entry.hidden_s += one.hidden_s;
    entry.stall_s += one.stall_s;
    entry.energy_j += one.energy_j;
    energy.paging_j += one.energy_j;
  }
  std::vector<Paged> found;
  found.reserve(by_tensor.size());
  for (const auto& [tensor, entry] : by_tensor) found.push_back(entry);
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.energy_j != b.energy_j ? a.energy_j > b.energy_j : a.stall_s > b.stall_s;
  });
  return found;
}

// A bit for each engine of the device that some compute takes.
uint64_t engines_used(const problem::Plan& plan) {
  std::unordered_map<int64_t, const problem::Op*> ops;
  for (const problem::Op& op : plan.graph.ops) ops[op.id] = &op;
  uint64_t used = 0;
  for (const problem::Instruction& step : plan.instructions)
    if (step.what == problem::Do::kCompute)
      used |= problem::engines_of(plan.graph.device,
                                  ops.at(step.subject)->choices.at(static_cast<size_t>(step.choice)));
  return used;
}

const problem::Op& op_of(const problem::Plan& plan, int64_t id) {
  return *std::ranges::find(plan.graph.ops, id, &problem::Op::id);
}

std::optional<NextWay> next_way(const OpNeeds& needs, const problem::Op& op, size_t choice) {
  const auto moved = [&](const Way& way) {
    const problem::Stream& stream = op.choices[way.choice].stream;
    return stream.bytes_in + stream.bytes_out;
  };
  const Way own = needs.way(op, choice);
  std::vector<Way> others = needs.best(op);
  std::ranges::reverse(others);  // the least RAM first
  for (const Way& other : others)
    if (other.needs > own.needs && other.value < own.value - kWorth * own.value)
      return NextWay{.more_bytes = other.needs - own.needs,
                     .less_moved = moved(own) - moved(other),
                     .saves_s = own.costs.seconds - other.costs.seconds,
                     .saves_j = own.costs.joules - other.costs.joules};
  return std::nullopt;
}

// What is told of the op's choice, and of others beside it.
void compare_ways(const problem::Plan& plan, const OpNeeds& needs, Streamed& entry) {
  const problem::Op& op = op_of(plan, entry.op);
  const auto choice = static_cast<size_t>(entry.choice);
  entry.slices = op.choices[choice].slices;
  entry.needs_bytes = needs.way(op, choice).needs;
  if (const std::optional<Way> whole = needs.whole(op)) entry.whole_bytes = whole->needs;
  entry.once_bytes = needs.streamed_once(op, op.choices[choice]);
  entry.next = next_way(needs, op, choice);
}

std::vector<Streamed> streamed(const problem::Plan& plan, const check::Found& step, Energy& energy) {
  std::unordered_map<int64_t, const problem::Op*> ops;
  for (const problem::Op& op : plan.graph.ops) ops[op.id] = &op;
  std::map<int64_t, Streamed> by_op;
  for (const problem::Instruction& instruction : plan.instructions) {
    if (instruction.what != problem::Do::kCompute) continue;
    const problem::Choice& choice = ops.at(instruction.subject)->choices.at(static_cast<size_t>(instruction.choice));
    if (!is_sliced(choice)) continue;
    const problem::ChoiceCosts costs = problem::costs_of(plan.graph.device.pager, choice);
    Streamed& entry = by_op[instruction.subject];
    entry.op = instruction.subject;
    entry.choice = instruction.choice;
    entry.algorithm = choice.algorithm;
    entry.workspace_bytes = std::max(entry.workspace_bytes, choice.workspace_bytes);
    entry.bytes_in += choice.stream.bytes_in;
    entry.bytes_out += choice.stream.bytes_out;
    entry.transfers += choice.stream.transfers_in + choice.stream.transfers_out;
    entry.seconds += costs.seconds;
    entry.moving_s += costs.seconds_in + costs.seconds_out;
    entry.energy_j += costs.joules - choice.energy_j;
    energy.paging_j += costs.joules - choice.energy_j;
  }
  const OpNeeds needs(plan.graph, plan.question);
  const auto moved = static_cast<double>(step.bytes_in + step.bytes_out);
  std::vector<Streamed> found;
  found.reserve(by_op.size());
  for (auto& [op, entry] : by_op) {
    compare_ways(plan, needs, entry);
    if (moved > 0) entry.moved_share = static_cast<double>(entry.bytes_in + entry.bytes_out) / moved;
    if (step.time_s > 0) entry.time_share = entry.seconds / step.time_s;
    found.push_back(std::move(entry));
  }
  std::ranges::stable_sort(found, std::greater(), &Streamed::moving_s);
  return found;
}

}  // namespace

bool Explanation::ram_binds() const {
  return cheaper(plan, next.unplanned);
}

bool Explanation::deadline_binds() const {
  return next.no_deadline && cheaper(plan, next.no_deadline->predicted);
}

Result<CheckedPlan> check_plan(problem::Plan plan) {
  CheckedPlan made{std::move(plan), {}, {}};
  PANTOUM_ASSIGN(made.found, check::replay(made.plan.graph, made.plan, made.plan.question, &made.spans));
  made.plan.predicted = {made.found.peak_bytes, made.found.arena_bytes, made.found.time_s, made.found.energy_j};
  return made;
}

Explanation explain(const CheckedPlan& checked, NextBytes next) {
  const auto& [plan, found, spans] = checked;
  Explanation why{.plan = plan, .found = found, .timeline = timeline_of(plan, spans), .next = std::move(next)};
  if (!plan.instructions.empty()) {
    why.peak_instruction = peak_of(plan);
    why.at_peak = residents_at(plan, why.peak_instruction);
  }
  why.again = computed_again(plan, why.energy);
  why.paged = paged(why.timeline, why.energy);
  why.streamed = streamed(plan, found, why.energy);
  if (!why.streamed.empty()) why.slices = slice_needs({plan.graph, plan.question}, plan.question.budget_bytes());
  problem::Watts idle_w = plan.graph.device.idle_w;
  const uint64_t used = engines_used(plan);
  for (size_t engine = 0; engine < plan.graph.device.engines.size(); ++engine)
    if ((used >> engine & 1) != 0) idle_w += plan.graph.device.engines[engine].idle_w;
  why.energy.idle_j = idle_w * found.time_s;
  return why;
}

namespace {

using Json = nlohmann::ordered_json;

template <class T, class Show>
Json list_of(const std::vector<T>& all, Show show) {
  Json list = Json::array();
  for (const T& each : all) list.push_back(show(each));
  return list;
}

}  // namespace

Json engine_times(const Explanation& why) {
  Json engines = Json::array();
  for (size_t engine = 0; engine < why.timeline.busy_s.size(); ++engine) {
    engines.push_back({{"name", why.plan.graph.device.engines[engine].name}, {"busy_s", why.timeline.busy_s[engine]}});
    if (!problem::several_engines(why.plan.graph.device)) continue;
    Json& idle = engines.back()["idle_s"];
    const auto seconds = why.timeline.idle_s(engine);
    for (size_t reason = 0; reason < seconds.size(); ++reason) idle[kIdle[reason]] = seconds[reason];
  }
  return engines;
}

namespace {

Json time_of(const Explanation& why) {
  Json time{{"makespan_s", why.found.time_s},
            {"compute_s", why.timeline.compute_s},
            {"stall_s", why.timeline.stall_s},
            {"engines", engine_times(why)}};
  if (why.plan.one_engine) time["one_engine_s"] = why.plan.one_engine->time_s;
  return time;
}

Json binds(const Explanation& why, const Names& names) {
  const problem::Plan& plan = why.plan;
  Json list = Json::array();
  if (why.ram_binds() && !plan.instructions.empty())
    list.push_back({{"what", "ram"},
                    {"instruction", why.peak_instruction},
                    {"does", names.of(plan.instructions[why.peak_instruction])},
                    {"peak_bytes", why.found.peak_bytes},
                    {"arena_bytes", why.found.arena_bytes},
                    {"budget_bytes", plan.question.budget_bytes()}});
  if (why.deadline_binds())
    list.push_back({{"what", "deadline"},
                    {"deadline_s", *plan.question.deadline},
                    {"time_s", why.found.time_s},
                    {"without",
                     {{"energy_j", why.next.no_deadline->predicted.energy_j},
                      {"time_s", why.next.no_deadline->predicted.time_s}}}});
  return list;
}

Json at_peak(const Explanation& why, const Names& names) {
  return list_of(why.at_peak, [&](const Resident& resident) {
    Json entry{{"tensor", resident.tensor >= 0 ? Json(resident.tensor) : Json(nullptr)}};
    if (resident.tensor >= 0) entry["name"] = names.tensor(resident.tensor);
    entry["bytes"] = resident.bytes;
    entry["role"] = name_of(resident.role);
    return entry;
  });
}

Json transfers(const Explanation& why, const Names& names) {
  return list_of(why.timeline.transfers, [&](const Transfer& one) -> Json {
    return {{"instruction", one.instruction},
            {"direction", one.out ? "out" : "in"},
            {"tensor", one.tensor},
            {"name", names.tensor(one.tensor)},
            {"bytes", one.bytes},
            {"issue_s", one.issue_s},
            {"begin_s", one.begin_s},
            {"end_s", one.end_s},
            {"energy_j", one.energy_j},
            {"hidden_s", one.hidden_s},
            {"stall_s", one.stall_s},
            {"computes", list_of(one.computes, [&](const Overlap& overlap) -> Json {
               return {{"instruction", overlap.instruction},
                       {"op", names.op(why.plan.instructions[overlap.instruction].subject)},
                       {"seconds", overlap.seconds}};
             })}};
  });
}

Json next(const Explanation& why) {
  const problem::Predicted& own = why.plan.predicted;
  return list_of(why.next.probes, [&](const Probe& probe) {
    Json json = to_json(probe);
    json["saves_j"] = own.energy_j - probe.predicted.energy_j;
    json["saves_s"] = own.time_s - probe.predicted.time_s;
    return json;
  });
}

}  // namespace

namespace {

// The op that forces slices, and its choice in the plan.
struct Ways {
  const problem::Op* op = nullptr;
  std::optional<size_t> taken;
};

std::optional<Ways> ways_of_widest(const Explanation& why) {
  const int64_t widest = why.slices->whole.op >= 0 ? why.slices->whole.op : why.slices->sliced.op;
  if (widest < 0) return std::nullopt;
  Ways ways{.op = &op_of(why.plan, widest)};
  for (const problem::Instruction& step : why.plan.instructions)
    if (step.what == problem::Do::kCompute && step.subject == widest) ways.taken = static_cast<size_t>(step.choice);
  return ways;
}

}  // namespace

Json figures(const problem::Predicted& step) {
  return {{"peak_bytes", step.peak_bytes}, {"time_s", step.time_s}, {"energy_j", step.energy_j}};
}

Json to_json(const Probe& probe) {
  return {{"more", probe.more},
          {"ram_bytes", probe.ram_bytes},
          {"time_s", probe.predicted.time_s},
          {"energy_j", probe.predicted.energy_j}};
}

Json to_json(const Energy& energy) {
  return {{"first_j", energy.first_j},
          {"again_j", energy.again_j},
          {"paging_j", energy.paging_j},
          {"idle_j", energy.idle_j}};
}

Json to_json(const ComputedAgain& entry, const Names& names) {
  return {{"op", entry.op},
          {"name", names.op(entry.op)},
          {"times", entry.times},
          {"seconds", entry.seconds},
          {"energy_j", entry.energy_j}};
}

Json to_json(const Paged& entry, const Names& names) {
  return {{"tensor", entry.tensor},
          {"name", names.tensor(entry.tensor)},
          {"bytes", entry.bytes},
          {"out", entry.outs},
          {"in", entry.ins},
          {"seconds", entry.seconds},
          {"hidden_s", entry.hidden_s},
          {"stall_s", entry.stall_s},
          {"energy_j", entry.energy_j}};
}

Json to_json(const Streamed& entry, const Names& names) {
  Json json{{"op", entry.op},
            {"name", names.op(entry.op)},
            {"algorithm", entry.algorithm},
            {"slices", entry.slices},
            {"workspace_bytes", entry.workspace_bytes},
            {"needs_bytes", entry.needs_bytes},
            {"whole_bytes", entry.whole_bytes ? Json(*entry.whole_bytes) : Json(nullptr)},
            {"bytes_in", entry.bytes_in},
            {"bytes_out", entry.bytes_out},
            {"once_bytes", entry.once_bytes},
            {"transfers", entry.transfers},
            {"seconds", entry.seconds},
            {"moving_s", entry.moving_s},
            {"energy_j", entry.energy_j},
            {"moved_share", entry.moved_share},
            {"time_share", entry.time_share},
            {"next", nullptr}};
  if (entry.next)
    json["next"] = {{"more_bytes", entry.next->more_bytes},
                    {"less_moved_bytes", entry.next->less_moved},
                    {"saves_s", entry.next->saves_s},
                    {"saves_j", entry.next->saves_j}};
  return json;
}

Json slices_json(const Explanation& why, const Names& names) {
  if (!why.slices) return nullptr;
  Json json = to_json(*why.slices, names);
  json["ways"] = Json::array();
  if (const std::optional<Ways> of = ways_of_widest(why))
    json["ways"] = ways_json(OpNeeds(why.plan.graph, why.plan.question), *of->op, of->taken);
  return json;
}

Json to_json(const Explanation& why) {
  const Names names(why.plan.graph);
  Json energy{{"total_j", why.found.energy_j}};
  energy.update(to_json(why.energy));
  return {{"name", why.plan.graph.name},
          {"device", why.plan.graph.device.name},
          {"objective", name_of(why.plan.question.objective)},
          {"energy_source", "modelled"},
          {"time_source", problem::time_source(why.plan.graph.device)},
          {"binds", binds(why, names)},
          {"peak",
           {{"instruction", why.peak_instruction}, {"bytes", why.found.peak_bytes}, {"holds", at_peak(why, names)}}},
          {"time", time_of(why)},
          {"energy", std::move(energy)},
          {"recomputed", list_of(why.again, [&](const ComputedAgain& entry) { return to_json(entry, names); })},
          {"paged", list_of(why.paged, [&](const Paged& entry) { return to_json(entry, names); })},
          {"streamed", list_of(why.streamed, [&](const Streamed& entry) { return to_json(entry, names); })},
          {"slices", slices_json(why, names)},
          {"transfers", transfers(why, names)},
          {"next_bytes", next(why)},
          {"unplanned", figures(why.next.unplanned)}};
}

namespace {

using base::show_bytes;

constexpr size_t kMost = 10;  // lines of one kind

constexpr std::array kIdleWords{"to be launched", "for an engine of its gang", "for a value",
                                "for bytes",      "for a hand-off",            "after its last op"};  // by Idle

// "label    first line", and the following ones below it.
class Section {
 public:
  explicit Section(const char* label) : label_(label) {}
  void line(const std::string& text) {
    text_ += fmt::format("{:<10} {}\n", label_, base::one_line(text));
    label_ = "";
  }
  // A line for each of the first ones, and how many there are more.
  template <class T, class Show>
  void list(const std::vector<T>& all, Show show) {
    for (size_t at = 0; at < std::min(kMost, all.size()); ++at) line(show(all[at]));
    if (all.size() > kMost) line(fmt::format("and {} more (--format json has all)", all.size() - kMost));
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  const char* label_;
  std::string text_;
};

std::string binds_text(const Explanation& why, const Names& names) {
  Section section("binds");
  const problem::Plan& plan = why.plan;
  if (why.ram_binds() && !plan.instructions.empty())
    section.line(fmt::format("RAM: peak {}, arena {} of {}, at instruction {} of {}, {}",
                             show_bytes(why.found.peak_bytes), show_bytes(why.found.arena_bytes),
                             show_bytes(plan.question.budget_bytes()), why.peak_instruction, plan.instructions.size(),
                             names.of(plan.instructions[why.peak_instruction])));
  if (why.deadline_binds())
    section.line(fmt::format("the deadline: {} of {}; without it {} in {}", show_time(why.found.time_s),
                             show_time(*plan.question.deadline),
                             show_energy(why.next.no_deadline->predicted.energy_j),
                             show_time(why.next.no_deadline->predicted.time_s)));
  if (section.text().empty()) section.line("nothing: with all the RAM in the world the step would cost the same");
  return section.text();
}

std::string at_peak_text(const Explanation& why, const Names& names) {
  Section section("at peak");
  section.list(why.at_peak, [&](const Resident& resident) {
    return fmt::format("{:>10}  {:<9} {}", show_bytes(resident.bytes), name_of(resident.role),
                       resident.tensor >= 0 ? names.tensor(resident.tensor) : "");
  });
  return section.text();
}

// " 338 us  cpu1 computes; 12 us for a value, 3 us a hand-off, 40 us nothing left".
std::string engine_text(const Explanation& why, size_t engine) {
  std::string text = fmt::format("{:>10}  {} computes", show_time(why.timeline.busy_s[engine]),
                                 base::one_line(why.plan.graph.device.engines[engine].name));
  const auto seconds = why.timeline.idle_s(engine);
  const char* between = "; waits ";
  for (size_t reason = 0; reason < seconds.size(); ++reason) {
    if (seconds[reason] <= 0) continue;
    const bool over = reason == static_cast<size_t>(Idle::kOver);
    text += fmt::format("{}{} {}", over ? "; " : between, show_time(seconds[reason]), kIdleWords[reason]);
    between = ", ";
  }
  return text;
}

std::string sums(const Explanation& why) {
  Section time("time"), energy("energy");
  const std::string source = base::one_line(problem::time_source(why.plan.graph.device));
  if (const problem::Device& device = why.plan.graph.device; problem::several_engines(device)) {
    time.line(fmt::format("{}, of which no engine computes for {} ({})", show_time(why.found.time_s),
                          show_time(why.timeline.stall_s), source));
    for (size_t engine = 0; engine < device.engines.size(); ++engine) time.line(engine_text(why, engine));
    if (why.plan.one_engine && why.plan.one_engine->time_s > 0) {
      const double less = 100 * (1 - why.found.time_s / why.plan.one_engine->time_s);
      time.line(fmt::format("{:>10}  on one engine: {:.1f}% {} by several", show_time(why.plan.one_engine->time_s),
                            std::abs(less), less < 0 ? "more" : "less"));
    }
  } else {
    double moving_s = 0;
    for (const Streamed& entry : why.streamed) moving_s += entry.moving_s;
    time.line(fmt::format("{} = {} computing{} + {} waiting for transfers ({})", show_time(why.found.time_s),
                          show_time(why.timeline.compute_s),
                          moving_s > 0 ? fmt::format(", {} of it moving slices,", show_time(moving_s)) : "",
                          show_time(why.timeline.stall_s), source));
  }
  energy.line(fmt::format("{} = {} computing + {} computing again + {} paging + {} idle (modelled)",
                          show_energy(why.found.energy_j), show_energy(why.energy.first_j),
                          show_energy(why.energy.again_j), show_energy(why.energy.paging_j),
                          show_energy(why.energy.idle_j)));
  return time.text() + energy.text();
}

std::string again_text(const Explanation& why, const Names& names) {
  Section section("again");
  section.list(why.again, [&](const ComputedAgain& entry) {
    return fmt::format("{:>10} {:>10}  {}x  {}", show_energy(entry.energy_j), show_time(entry.seconds), entry.times,
                       names.op(entry.op));
  });
  return section.text();
}

std::string paged_text(const Explanation& why, const Names& names) {
  Section section("paged");
  section.list(why.paged, [&](const Paged& entry) {
    return fmt::format("{:>10} {:>10}  {} hidden, {} waited for  {} out, {} in  {} {}", show_energy(entry.energy_j),
                       show_time(entry.seconds), show_time(entry.hidden_s), show_time(entry.stall_s), entry.outs,
                       entry.ins, show_bytes(entry.bytes), names.tensor(entry.tensor));
  });
  return section.text();
}

// "needs 18.0 KiB (18.00 MiB as a whole), moves 1.0 x its operands, 12% of the step's bytes; 9.0 KiB more RAM: saves 41 mJ and moves 1.0 MiB less".
std::string beside_whole(const Explanation& why, const Streamed& entry) {
  std::string text = "needs " + show_bytes(entry.needs_bytes);
  if (entry.whole_bytes) text += fmt::format(" ({} as a whole)", show_bytes(*entry.whole_bytes));
  if (entry.once_bytes > 0)
    text += fmt::format(", moves {:.3g} times what it streams, {:.1f}% of the step's bytes in {:.1f}% of its time",
                        static_cast<double>(entry.bytes_in + entry.bytes_out) / static_cast<double>(entry.once_bytes),
                        100 * entry.moved_share, 100 * entry.time_share);
  if (!entry.next) return text + "; with more RAM no way of it costs less";
  const bool by_time = why.plan.question.objective == problem::Objective::kTime;
  text += fmt::format("; with {} more it saves {}", show_bytes(entry.next->more_bytes),
                      by_time ? show_time(entry.next->saves_s) : show_energy(entry.next->saves_j));
  if (entry.next->less_moved != 0)
    text += fmt::format(" and moves {} {}", show_bytes(std::abs(entry.next->less_moved)),
                        entry.next->less_moved > 0 ? "less" : "more");
  return text;
}

std::string streamed_text(const Explanation& why, const Names& names) {
  Section section("streams");
  for (size_t at = 0; at < std::min(kMost, why.streamed.size()); ++at) {
    const Streamed& entry = why.streamed[at];
    const std::string slices =
        entry.slices.empty() ? ""
                             : slices_text(op_of(why.plan, entry.op).choices[static_cast<size_t>(entry.choice)]) + ", ";
    section.line(fmt::format("{:>10} {:>10}  of it {} moving  {}{} in, {} out, {} transfers  workspace {}  {} ({})",
                             show_energy(entry.energy_j), show_time(entry.seconds), show_time(entry.moving_s), slices,
                             show_bytes(entry.bytes_in), show_bytes(entry.bytes_out), entry.transfers,
                             show_bytes(entry.workspace_bytes), names.op(entry.op), entry.algorithm));
    section.line("                       " + beside_whole(why, entry));
  }
  if (why.streamed.size() > kMost)
    section.line(fmt::format("and {} more (--format json has all)", why.streamed.size() - kMost));
  return section.text();
}

// The op that forces slices and the one that sets the least RAM, and what each count of slices of the first costs.
std::string slices_section(const Explanation& why, const Names& names) {
  Section section("slices");
  if (!why.slices) return "";
  section.line(to_text(*why.slices, names));
  const std::optional<Ways> of = ways_of_widest(why);
  if (!of) return section.text();
  section.line(fmt::format("{}: what its ways need in RAM, take and move", names.op(of->op->id)));
  section.list(ways_text(OpNeeds(why.plan.graph, why.plan.question), *of->op, of->taken, why.slices->budget),
               [](const std::string& line) { return line; });
  return section.text();
}

std::string hidden_by(const Transfer& one, const Explanation& why, const Names& names) {
  if (one.computes.empty()) return "beside nothing";
  const auto longest = std::max_element(one.computes.begin(), one.computes.end(),
                                        [](const Overlap& a, const Overlap& b) { return a.seconds < b.seconds; });
  std::string text = "beside " + names.op(why.plan.instructions[longest->instruction].subject);
  if (one.computes.size() > 1) text += fmt::format(" and {} more", one.computes.size() - 1);
  return text;
}

// The transfers that make the step wait, the longest wait first.
std::string stalls(const Explanation& why, const Names& names) {
  std::vector<const Transfer*> waits;
  for (const Transfer& one : why.timeline.transfers)
    if (one.stall_s > 0) waits.push_back(&one);
  std::stable_sort(waits.begin(), waits.end(),
                   [](const Transfer* a, const Transfer* b) { return a->stall_s > b->stall_s; });
  Section section("waits");
  section.list(waits, [&](const Transfer* one) {
    return fmt::format("{:>10}  for {} {} at instruction {}: {:.6g} s to {:.6g} s, {}", show_time(one->stall_s),
                       one->out ? "page_out" : "page_in", names.tensor(one->tensor), one->instruction, one->begin_s,
                       one->end_s, hidden_by(*one, why, names));
  });
  if (waits.empty() && !why.timeline.transfers.empty()) section.line("none: every transfer runs beside computes");
  return section.text();
}

std::string next_text(const Explanation& why) {
  Section section("next bytes");
  const auto saved = [&](const problem::Predicted& other) {
    const problem::Objective objective = why.plan.question.objective;
    const double less = value_of(why.plan) - value_of(why.plan.question, other);
    return less > 0 ? show_value(objective, less) : "nothing";
  };
  for (const Probe& probe : why.next.probes)
    section.line(probe.more == 0 ? fmt::format("searching on in the same RAM saves {}", saved(probe.predicted))
                                 : fmt::format("+{:.3g}% ({}) saves {}", probe.more * 100,
                                               show_bytes(probe.ram_bytes - why.plan.question.budget_bytes()),
                                               saved(probe.predicted)));
  const problem::Objective objective = why.plan.question.objective;
  const double less = value_of(why.plan) - value_of(why.plan.question, why.next.unplanned);
  section.line(fmt::format("the unplanned step ({}) {}", show_bytes(why.next.unplanned.peak_bytes),
                           less >= 0 ? "saves " + show_value(objective, less)
                                     : "costs " + show_value(objective, -less) + " more"));
  return section.text();
}

}  // namespace

std::string to_text(const Explanation& why) {
  const Names names(why.plan.graph);
  return binds_text(why, names) + at_peak_text(why, names) + sums(why) + again_text(why, names) +
         paged_text(why, names) + slices_section(why, names) + streamed_text(why, names) + stalls(why, names) +
         next_text(why);
}

}  // namespace pantoum::report
