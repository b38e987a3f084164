#include "report/trace_events.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "problem/cost_graph.h"
#include "report/kinds.h"
#include "report/names.h"
#include "report/timeline.h"

namespace pantoum::report {
namespace {

using Json = nlohmann::ordered_json;
using problem::Do;

constexpr int kProcess = 1;
constexpr double kMicrosecond = 1e-6;

class TraceWriter {
 public:
  explicit TraceWriter(const CheckedPlan& checked)
      : plan_(checked.plan),
        spans_(checked.spans),
        names_(plan_.graph),
        kinds_(kinds_of(plan_.graph)),
        memory_(trace_memory(plan_)) {
    for (const problem::Op& op : plan_.graph.ops) ops_[op.id] = &op;
    for (const problem::Engine& engine : plan_.graph.device.engines) track(engine.name.empty() ? "engine" : engine.name);
    if (plan_.graph.device.pager.mode != problem::PagerMode::kNone)
      out_ = track("page out"), in_ = track("page in"), stalls_ = track("stalls");
  }

  Json write() {
    Json events = Json::array();
    name_tracks(events);
    const Timeline timeline = timeline_of(plan_, spans_);
    std::vector<Json> timed = computes();
    for (const Transfer& one : timeline.transfers) add_transfer(one, timed);
    for (const Gap& gap : timeline.gaps)
      timed.push_back(slice(std::string("idle: ") + kIdle[static_cast<size_t>(gap.why)], "idle",
                            static_cast<int>(gap.engine) + 1, gap.begin_s, gap.end_s,
                            {{"next_instruction", gap.instruction}}));
    add_memory(timed);
    std::stable_sort(timed.begin(), timed.end(),
                     [](const Json& a, const Json& b) { return a["ts"].get<double>() < b["ts"].get<double>(); });
    for (Json& event : timed) events.push_back(std::move(event));
    return {{"displayTimeUnit", "ms"},
            {"otherData",
             {{"name", plan_.graph.name},
              {"device", plan_.graph.device.name},
              {"time_source", problem::time_source(plan_.graph.device)}}},
            {"traceEvents", std::move(events)}};
  }

 private:
  int track(const std::string& name) {
    tracks_.push_back(name);
    return static_cast<int>(tracks_.size());
  }

  void name_tracks(Json& events) const {
    const std::string process = plan_.graph.name + " on " + plan_.graph.device.name;
    events.push_back({{"ph", "M"}, {"name", "process_name"}, {"pid", kProcess}, {"args", {{"name", process}}}});
    for (size_t at = 0; at < tracks_.size(); ++at) {
      const int id = static_cast<int>(at) + 1;
      events.push_back(
          {{"ph", "M"}, {"name", "thread_name"}, {"pid", kProcess}, {"tid", id}, {"args", {{"name", tracks_[at]}}}});
      events.push_back(
          {{"ph", "M"}, {"name", "thread_sort_index"}, {"pid", kProcess}, {"tid", id}, {"args", {{"sort_index", id}}}});
    }
  }

  static Json slice(std::string name, const char* category, int track, double begin_s, double end_s, Json args) {
    return {{"ph", "X"},
            {"name", std::move(name)},
            {"cat", category},
            {"pid", kProcess},
            {"tid", track},
            {"ts", begin_s / kMicrosecond},
            {"dur", std::max(0.0, end_s - begin_s) / kMicrosecond},
            {"args", std::move(args)}};
  }

  // The tracks of the engines that the op takes.
  [[nodiscard]] std::vector<int> tracks_of(const problem::Choice& choice) const {
    std::vector<int> tracks;
    for (const std::string& engine : choice.engines)
      tracks.push_back(static_cast<int>(std::ranges::find(tracks_, engine) - tracks_.begin()) + 1);
    if (tracks.empty()) tracks.push_back(1);
    return tracks;
  }

  [[nodiscard]] std::vector<Json> computes() const {
    std::vector<Json> events;
    for (size_t at = 0; at < plan_.instructions.size(); ++at) {
      const problem::Instruction& step = plan_.instructions[at];
      if (step.what != Do::kCompute) continue;
      const problem::Choice& choice = ops_.at(step.subject)->choices.at(static_cast<size_t>(step.choice));
      for (const int track : tracks_of(choice))
        events.push_back(slice(names_.op(step.subject), memory_[at].again ? "recompute" : "compute", track,
                               spans_[at].begin_s, spans_[at].end_s,
                               {{"instruction", at},
                                {"phase", name_of(kinds_.ops.at(step.subject))},
                                {"algorithm", choice.algorithm},
                                {"energy_j", choice.energy_j},
                                {"workspace_bytes", choice.workspace_bytes}}));
    }
    return events;
  }

  void add_transfer(const Transfer& one, std::vector<Json>& events) const {
    events.push_back(slice(names_.tensor(one.tensor), one.out ? "page_out" : "page_in", one.out ? out_ : in_,
                           one.begin_s, one.end_s,
                           {{"instruction", one.instruction},
                            {"bytes", one.bytes},
                            {"issued_us", one.issue_s / kMicrosecond},
                            {"hidden_us", one.hidden_s / kMicrosecond},
                            {"stall_us", one.stall_s / kMicrosecond},
                            {"energy_j", one.energy_j}}));
    if (one.stall_s > 0)
      events.push_back(slice(std::string("wait for page ") + (one.out ? "out " : "in ") + names_.tensor(one.tensor),
                             "stall", stalls_, one.end_s - one.stall_s, one.end_s, {{"instruction", one.instruction}}));
  }

  void add_memory(std::vector<Json>& events) const {
    for (size_t at = 0; at < memory_.size(); ++at) {
      if (at > 0 && memory_[at].ram_bytes == memory_[at - 1].ram_bytes) continue;
      const check::Span& span = spans_[at];
      const double now = memory_[at].what == Do::kCompute ? span.begin_s : span.issue_s;
      events.push_back({{"ph", "C"},
                        {"name", "RAM"},
                        {"pid", kProcess},
                        {"ts", now / kMicrosecond},
                        {"args", {{"bytes", memory_[at].ram_bytes}}}});
    }
  }

  const problem::Plan& plan_;
  const std::vector<check::Span>& spans_;
  const Names names_;
  const Kinds kinds_;
  const std::vector<TracePoint> memory_;
  std::unordered_map<int64_t, const problem::Op*> ops_;
  std::vector<std::string> tracks_;
  int out_ = 0, in_ = 0, stalls_ = 0;
};

}  // namespace

nlohmann::ordered_json trace_events(const CheckedPlan& plan) {
  return TraceWriter(plan).write();
}

}  // namespace pantoum::report
