#include <nlohmann/json.hpp>

#include "problem/cost_graph.h"
#include "problem/objective_values.h"
#include "report/explain.h"
#include "report/names.h"

namespace pantoum::report {
namespace {

using Json = nlohmann::ordered_json;

template <class T, class Show>
Json list_of(const std::vector<T>& all, Show show) {
  Json list = Json::array();
  for (const T& each : all) list.push_back(show(each));
  return list;
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

Json again(const Explanation& why, const Names& names) {
  return list_of(why.again, [&](const ComputedAgain& entry) -> Json {
    return {{"op", entry.op},
            {"name", names.op(entry.op)},
            {"times", entry.times},
            {"seconds", entry.seconds},
            {"energy_j", entry.energy_j}};
  });
}

Json paged(const Explanation& why, const Names& names) {
  return list_of(why.paged, [&](const Paged& entry) -> Json {
    return {{"tensor", entry.tensor},
            {"name", names.tensor(entry.tensor)},
            {"bytes", entry.bytes},
            {"out", entry.outs},
            {"in", entry.ins},
            {"seconds", entry.seconds},
            {"hidden_s", entry.hidden_s},
            {"stall_s", entry.stall_s},
            {"energy_j", entry.energy_j}};
  });
}

Json next(const Explanation& why) {
  const problem::Predicted& own = why.plan.predicted;
  return list_of(why.next.probes, [&](const Probe& probe) -> Json {
    return {{"more", probe.more},
            {"ram_bytes", probe.ram_bytes},
            {"energy_j", probe.predicted.energy_j},
            {"time_s", probe.predicted.time_s},
            {"saves_j", own.energy_j - probe.predicted.energy_j},
            {"saves_s", own.time_s - probe.predicted.time_s}};
  });
}

}  // namespace

Json to_json(const Explanation& why) {
  const Names names(why.plan.graph);
  return {
      {"name", why.plan.graph.name},
      {"device", why.plan.graph.device.name},
      {"objective", name_of(why.plan.question.objective)},
      {"energy_source", "modelled"},
      {"time_source", problem::time_source(why.plan.graph.device)},
      {"binds", binds(why, names)},
      {"peak",
       {{"instruction", why.peak_instruction}, {"bytes", why.found.peak_bytes}, {"holds", at_peak(why, names)}}},
      {"time",
       {{"makespan_s", why.found.time_s}, {"compute_s", why.timeline.compute_s}, {"stall_s", why.timeline.stall_s}}},
      {"energy",
       {{"total_j", why.found.energy_j},
        {"first_j", why.energy.first_j},
        {"again_j", why.energy.again_j},
        {"paging_j", why.energy.paging_j},
        {"idle_j", why.energy.idle_j}}},
      {"recomputed", again(why, names)},
      {"paged", paged(why, names)},
      {"transfers", transfers(why, names)},
      {"next_bytes", next(why)},
      {"unplanned",
       {{"peak_bytes", why.next.unplanned.peak_bytes},
        {"energy_j", why.next.unplanned.energy_j},
        {"time_s", why.next.unplanned.time_s}}}};
}

}  // namespace pantoum::report
