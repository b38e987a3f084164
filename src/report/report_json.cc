#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/foreign_text.h"
#include "base/json_reader.h"
#include "base/lists.h"
#include "plan/planner.h"
#include "problem/cost_graph.h"
#include "problem/objective_values.h"
#include "report/kinds.h"
#include "report/lifetimes.h"
#include "report/names.h"
#include "report/report.h"
#include "report/sweep_rows.h"
#include "report/timeline.h"
#include "report/words.h"
#include "settings/fields.h"

namespace pantoum::report {

namespace {

using Json = nlohmann::ordered_json;
using problem::Do;

template <class T>
Json null_unless(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json object_of(const std::string& text) {
  const Json read = text.empty() ? Json(nullptr) : Json::parse(text, nullptr, false);
  return read.is_object() ? read : Json(nullptr);
}

// A whole number above 0 of a plan's options, which are a stranger's.
Json positive(const Json& options, const char* key) {
  const bool there = options.is_object() && options.contains(key) && options[key].is_number_integer();
  return there && options[key] > 0 ? options[key] : Json(nullptr);
}

// Absent where the planner cannot tell.
std::optional<problem::UnplannedStep> unplanned_of(const problem::Plan& plan) {
  if (plan.unplanned) return plan.unplanned;
  Result<problem::UnplannedStep> step = unplanned_step(plan.graph, plan.question.freedoms.in_place);
  return step ? std::optional(std::move(*step)) : std::nullopt;
}

// A table as a list for each column: a step may have 10,000 ops and more.
class Columns {
 public:
  explicit Columns(std::initializer_list<const char*> names) {
    for (const char* name : names) lists_[name] = Json::array();
  }
  // One value for each column, in their order.
  void row(std::initializer_list<Json> values) {
    auto list = lists_.begin();
    for (const Json& value : values) (list++)->push_back(value);
  }
  [[nodiscard]] Json json() && { return std::move(lists_); }

 private:
  Json lists_ = Json::object();
};

class ReportWriter {
 public:
  explicit ReportWriter(const ReportRequest& request)
      : request_(request),
        plan_(request.plan.plan),
        names_(plan_.graph),
        kinds_(kinds_of(plan_.graph)),
        trace_(trace_memory(plan_)),
        unplanned_(unplanned_of(plan_)),
        why_(explain(request.plan, request.next.value_or(NextBytes{}))) {
    for (size_t at = 0; at < plan_.graph.ops.size(); ++at) op_at_[plan_.graph.ops[at].id] = at;
    for (size_t at = 0; at < plan_.graph.tensors.size(); ++at) tensor_at_[plan_.graph.tensors[at].id] = at;
    const double span = request.plan.found.time_s;
    tick_s_ = span > 0 ? std::pow(10, std::floor(std::log10(span)) - 6) : 1e-9;
  }

  Result<Json> write() {
    const PlanOfRuns planned{.ops = plan_.graph.ops.size(),
                             .device = plan_.graph.device.name,
                             .budget_bytes = plan_.question.budget_bytes(),
                             .arena_bytes = request_.plan.found.arena_bytes};
    PANTOUM_ASSIGN(Json runs, read_runs(request_.logs, &planned));
    Json json{{"schema", "pantoum.report/1"}, {"version", request_.version}};
    json["asked"] = asked();
    json["outcome"] = outcome();
    json["memory"] = memory();
    json["schedule"] = schedule();
    json["costs"] = costs();
    json["recomputed"] = rows_of(why_.again);
    json["paged"] = rows_of(why_.paged);
    json["streamed"] = rows_of(why_.streamed);
    json["more_ram"] = more_ram();
    json["runs"] = std::move(runs["runs"]);
    json["notes"] = std::move(runs["notes"]);
    json["warnings"] = std::move(runs["warnings"]);
    json["made_with"] = made_with(json["runs"]);
    put_words(json);
    return json;
  }

 private:
  [[nodiscard]] Json asked() const {
    const problem::Question& question = plan_.question;
    const Json model = object_of(plan_.model);
    Json json{{"name", plan_.graph.name},
              {"device", plan_.graph.device.name},
              {"batch", positive(model, "batch")},
              {"micro_batches", positive(model, "accumulate")},
              {"budget_bytes", null_unless(question.budget)},
              {"deadline_s", null_unless(question.deadline)},
              {"most_energy_j", null_unless(question.energy_limit)},
              {"objective", name_of(question.objective)},
              {"freedoms",
               {{"paging", question.freedoms.paging},
                {"recomputing", question.freedoms.recomputing},
                {"in_place", question.freedoms.in_place},
                {"reordering", question.freedoms.reordering},
                {"numerics", question.freedoms.numerics}}}};
    if (question.objective == problem::Objective::kWeighted)
      json["weights"] = {{"energy", question.weights.joule}, {"time", question.weights.second}};
    return json;
  }

  [[nodiscard]] Json outcome() const {
    const check::Found& found = request_.plan.found;
    Json json{{"status", plan_.status == problem::Status::kOptimal ? "optimal" : "feasible"},
              {"peak_bytes", found.peak_bytes},
              {"arena_bytes", found.arena_bytes},
              {"time_s", found.time_s},
              {"energy_j", found.energy_j},
              {"time_source", problem::time_source(plan_.graph.device)},
              {"energy_source", "modelled"},
              {"ops", plan_.graph.ops.size()},
              {"tensors", plan_.graph.tensors.size()},
              {"instructions", plan_.instructions.size()},
              {"computed", found.counts.compute},
              {"recomputed", found.counts.recompute},
              {"page_outs", found.counts.page_out},
              {"page_ins", found.counts.page_in},
              {"bytes_paged_out", found.bytes_out},
              {"bytes_paged_in", found.bytes_in},
              {"begins_in_storage_bytes", begins_in_storage()},
              {"bound_energy_j", null_unless(plan_.bound.energy_j)},
              {"bound_time_s", null_unless(plan_.bound.time_s)},
              {"bound_edp_js", null_unless(plan_.bound.edp_js)},
              {"bound_weighted", null_unless(plan_.bound.weighted)},
              {"bound_order", plan_.bound.any_order ? "any" : "plan"},
              {"gap", bound_of(plan_) ? Json(plan_.gap) : Json(nullptr)},
              {"planner", plan_.method},
              {"planning_s", plan_.solver_seconds}};
    json["unplanned"] = unplanned_ ? figures(unplanned_->figures) : Json(nullptr);
    return json;
  }

  [[nodiscard]] problem::Bytes begins_in_storage() const {
    problem::Bytes sum = 0;
    for (const problem::Tensor& tensor : plan_.graph.tensors)
      if (tensor.start == problem::Home::kAux) sum += tensor.bytes;
    return sum;
  }

  [[nodiscard]] Json memory() const {
    const RamOverTime planned = ram_over_time(trace_, request_.plan.spans);
    Json json{{"planned", {{"seconds", planned.seconds}, {"bytes", planned.bytes}}}, {"unplanned", nullptr}, {"peak", nullptr}};
    if (unplanned_ && !unplanned_->seconds.empty())
      json["unplanned"] = {{"seconds", unplanned_->seconds}, {"bytes", unplanned_->bytes}};
    if (!plan_.instructions.empty()) json["peak"] = peak();
    return json;
  }

  [[nodiscard]] const char* kind_of(const Resident& resident) const {
    using Role = Resident::Role;
    if (resident.role == Role::kWorkspace) return "workspace";
    if (resident.role == Role::kStaging) return "staging";
    if (resident.role == Role::kArriving || resident.role == Role::kLeaving) return "in flight";
    return name_of(kinds_.tensors.at(resident.tensor));
  }

  [[nodiscard]] Json peak() const {
    const problem::Instruction& step = plan_.instructions[why_.peak_instruction];
    Json holds = Json::array();
    std::map<std::string, std::pair<problem::Bytes, int64_t>> kinds;
    for (const Resident& resident : why_.at_peak) {
      const std::string kind = kind_of(resident);
      kinds[kind].first += resident.bytes;
      kinds[kind].second += 1;
      holds.push_back({{"name", resident.tensor >= 0 ? names_.tensor(resident.tensor) : kind},
                       {"kind", kind},
                       {"role", name_of(resident.role)},
                       {"bytes", resident.bytes}});
    }
    return {{"instruction", why_.peak_instruction},
            {"at_s", begin_of(why_.peak_instruction)},
            {"does", names_.of(step)},
            {"kinds", by_bytes(kinds)},
            {"holds", std::move(holds)}};
  }

  static Json by_bytes(const std::map<std::string, std::pair<problem::Bytes, int64_t>>& kinds) {
    Json list = Json::array();
    for (const auto& [kind, sum] : kinds)
      list.push_back({{"kind", kind}, {"bytes", sum.first}, {"tensors", sum.second}});
    std::stable_sort(list.begin(), list.end(), [](const Json& a, const Json& b) { return a["bytes"] > b["bytes"]; });
    return list;
  }

  [[nodiscard]] int64_t ticks(double seconds) const { return std::llround(seconds / tick_s_); }

  [[nodiscard]] Json schedule() const {
    Json made{{"tick_s", tick_s_},
              {"staging_bytes", plan_.graph.device.pager.staging_bytes},
              {"phases", phases()},
              {"ops", op_columns()},
              {"tensors", tensor_columns()},
              {"bars", bar_columns()},
              {"computes", compute_columns()},
              {"transfers", transfer_columns()}};
    if (problem::several_engines(plan_.graph.device)) made["engines"] = engine_lanes();
    return made;
  }

  // What each engine does: the computes that it takes, and when and why it does nothing.
  [[nodiscard]] Json engine_lanes() const {
    Json names = Json::array();
    Columns takes{"engine", "compute"}, gaps{"engine", "why", "begin", "end"};
    const std::vector<problem::Engine>& engines = plan_.graph.device.engines;
    for (const problem::Engine& engine : engines) names.push_back(engine.name);
    int64_t compute = 0;
    for (const problem::Instruction& step : plan_.instructions) {
      if (step.what != Do::kCompute) continue;
      const problem::Op& op = plan_.graph.ops[op_at_.at(step.subject)];
      const std::vector<std::string>& taken = op.choices.at(static_cast<size_t>(step.choice)).engines;
      for (size_t engine = 0; engine < engines.size(); ++engine)
        if (taken.empty() ? engine == 0 : base::contains(taken, engines[engine].name)) takes.row({engine, compute});
      ++compute;
    }
    for (const Gap& gap : why_.timeline.gaps)
      gaps.row({gap.engine, static_cast<int>(gap.why), ticks(gap.begin_s), ticks(gap.end_s)});
    return {{"names", std::move(names)}, {"takes", std::move(takes).json()}, {"gaps", std::move(gaps).json()}};
  }

  // When the first computations of each phase begin and end.
  [[nodiscard]] Json phases() const {
    std::map<Phase, std::pair<double, double>> spans;
    for (size_t at = 0; at < trace_.size(); ++at) {
      if (trace_[at].what != Do::kCompute || trace_[at].again) continue;
      const check::Span& span = request_.plan.spans[at];
      auto& [begin, end] =
          spans.emplace(kinds_.ops.at(trace_[at].subject), std::pair(span.begin_s, span.end_s)).first->second;
      end = std::max(end, span.end_s);
    }
    Json list = Json::array();
    for (const auto& [phase, span] : spans)
      list.push_back({{"phase", name_of(phase)}, {"begin_s", span.first}, {"end_s", span.second}});
    return list;
  }

  [[nodiscard]] Json op_columns() const {
    Columns columns{"name", "phase", "seconds", "energy_j"};
    for (const problem::Op& op : plan_.graph.ops)
      columns.row({names_.op(op.id), static_cast<int>(kinds_.ops.at(op.id)), op.choices.front().time_s,
                   op.choices.front().energy_j});
    return std::move(columns).json();
  }

  [[nodiscard]] Json tensor_columns() const {
    Columns columns{"name", "bytes", "kind"};
    for (const problem::Tensor& tensor : plan_.graph.tensors)
      columns.row({names_.tensor(tensor.id), tensor.bytes, static_cast<int>(kinds_.tensors.at(tensor.id))});
    return std::move(columns).json();
  }

  [[nodiscard]] int64_t place_of_op(int64_t id) const { return id < 0 ? -1 : static_cast<int64_t>(op_at_.at(id)); }

  [[nodiscard]] Json bar_columns() const {
    Columns columns{"tensor", "how", "begin", "end", "by", "first", "last"};
    for (const Bar& bar : lifetimes_of(plan_, request_.plan.spans))
      columns.row({tensor_at_.at(bar.tensor), static_cast<int>(bar.how), ticks(bar.begin_s), ticks(bar.end_s),
                   place_of_op(bar.by), place_of_op(bar.first), place_of_op(bar.last)});
    return std::move(columns).json();
  }

  [[nodiscard]] Json compute_columns() const {
    Columns columns{"op", "begin", "end", "again", "workspace", "until", "slices", "from_storage", "to_storage"};
    for (size_t at = 0; at < trace_.size(); ++at) {
      if (trace_[at].what != Do::kCompute) continue;
      const problem::Op& op = plan_.graph.ops[op_at_.at(trace_[at].subject)];
      const check::Span& span = request_.plan.spans[at];
      const problem::Choice& choice = op.choices.at(static_cast<size_t>(plan_.instructions[at].choice));
      const problem::ChoiceCosts costs = problem::costs_of(plan_.graph.device.pager, choice);
      columns.row({op_at_.at(op.id), ticks(span.begin_s), ticks(span.end_s), trace_[at].again ? 1 : 0,
                   choice.workspace_bytes, ticks(at + 1 < trace_.size() ? begin_of(at + 1) : span.end_s),
                   is_sliced(choice) ? 1 : 0, ticks(costs.seconds_in), ticks(costs.seconds_out)});
    }
    return std::move(columns).json();
  }

  // When an instruction changes what is in RAM.
  [[nodiscard]] double begin_of(size_t instruction) const {
    const check::Span& span = request_.plan.spans[instruction];
    return trace_[instruction].what == Do::kCompute ? span.begin_s : span.issue_s;
  }

  [[nodiscard]] Json transfer_columns() const {
    Columns columns{"tensor", "out", "begin", "end", "hidden", "stall", "energy_j"};
    for (const Transfer& one : why_.timeline.transfers)
      columns.row({tensor_at_.at(one.tensor), one.out ? 1 : 0, ticks(one.begin_s), ticks(one.end_s),
                   ticks(one.hidden_s), ticks(one.stall_s), one.energy_j});
    return std::move(columns).json();
  }

  struct KindSum {
    int64_t computed = 0, again = 0;
    double seconds = 0, again_s = 0, energy_j = 0, again_j = 0;
  };

  [[nodiscard]] std::map<std::string, KindSum> sums_by_kind() const {
    std::map<std::string, KindSum> sums;
    for (size_t at = 0; at < trace_.size(); ++at) {
      if (trace_[at].what != Do::kCompute) continue;
      const problem::Op& op = plan_.graph.ops[op_at_.at(trace_[at].subject)];
      const problem::Choice& choice = op.choices.at(static_cast<size_t>(plan_.instructions[at].choice));
      KindSum& sum = sums[kind_of_op(op.name)];
      sum.computed += 1, sum.seconds += choice.time_s, sum.energy_j += choice.energy_j;
      if (trace_[at].again) sum.again += 1, sum.again_s += choice.time_s, sum.again_j += choice.energy_j;
    }
    return sums;
  }

  [[nodiscard]] Json costs() const {
    Json kinds = Json::array();
    double again_s = 0;
    for (const auto& [kind, sum] : sums_by_kind()) {
      kinds.push_back({{"kind", kind},
                       {"computed", sum.computed},
                       {"recomputed", sum.again},
                       {"seconds", sum.seconds},
                       {"recomputed_s", sum.again_s},
                       {"energy_j", sum.energy_j},
                       {"recomputed_j", sum.again_j}});
      again_s += sum.again_s;
    }
    std::stable_sort(kinds.begin(), kinds.end(),
                     [](const Json& a, const Json& b) { return a["seconds"] > b["seconds"]; });
    double transfer_s = 0, hidden_s = 0;
    for (const Transfer& one : why_.timeline.transfers) transfer_s += one.end_s - one.begin_s, hidden_s += one.hidden_s;
    Json made{{"time",
               {{"first_s", std::max(0.0, why_.timeline.compute_s - again_s)},
                {"again_s", again_s},
                {"stall_s", why_.timeline.stall_s}}},
              {"energy", to_json(why_.energy)},
              {"transfers",
               {{"count", why_.timeline.transfers.size()},
                {"seconds", transfer_s},
                {"hidden_s", hidden_s},
                {"stall_s", why_.timeline.stall_s}}},
              {"storage", storage_times()},
              {"kinds", std::move(kinds)}};
    if (!problem::several_engines(plan_.graph.device)) return made;
    made["engines"] = engine_times(why_);
    if (plan_.one_engine) made["one_engine_s"] = plan_.one_engine->time_s;
    return made;
  }

  // How long the storage is read and written: for tensors as a whole, and for slices.
  [[nodiscard]] Json storage_times() const {
    double paged_in = 0, paged_out = 0, sliced_in = 0, sliced_out = 0;
    for (const Transfer& one : why_.timeline.transfers) (one.out ? paged_out : paged_in) += one.end_s - one.begin_s;
    for (const problem::Instruction& step : plan_.instructions) {
      if (step.what != Do::kCompute) continue;
      const problem::Op& op = plan_.graph.ops[op_at_.at(step.subject)];
      const problem::ChoiceCosts costs =
          problem::costs_of(plan_.graph.device.pager, op.choices.at(static_cast<size_t>(step.choice)));
      sliced_in += costs.seconds_in, sliced_out += costs.seconds_out;
    }
    return {
        {"paged_in_s", paged_in}, {"paged_out_s", paged_out}, {"sliced_in_s", sliced_in}, {"sliced_out_s", sliced_out}};
  }

  template <class Entry>
  [[nodiscard]] Json rows_of(const std::vector<Entry>& all) const {
    Json list = Json::array();
    for (const Entry& entry : all) list.push_back(to_json(entry, names_));
    return list;
  }

  [[nodiscard]] Json more_ram() const {
    Json probes = Json::array();
    if (request_.next)
      for (const Probe& probe : request_.next->probes) probes.push_back(to_json(probe));
    return {{"probes", std::move(probes)},
            {"sweep", request_.sweep != nullptr ? sweep_json(*request_.sweep) : Json(nullptr)}};
  }

  static Json sweep_json(const Sweep& sweep) {
    Json rows = Json::array();
    for (const SweepRow& row : sweep.rows) rows.push_back(to_json(row));
    return {{"name", sweep.head.name},
            {"device", sweep.head.device},
            {"time_source", sweep.head.time_source},
            {"unplanned", figures(sweep.head.unplanned)},
            {"rows", std::move(rows)}};
  }

  static Followed followed_by(const Json& runs) {
    Followed followed = Followed::kByNothing;
    for (const Json& run : runs) {
      if (run["board"].is_null()) return Followed::kByTraining;
      followed = Followed::kByBoard;
    }
    return followed;
  }

  // The last command that a host's log tells; "": none.
  static std::string command_of_logs(const Json& runs) {
    std::string command;
    for (const Json& run : runs)
      if (run["board"].is_null() && run["plan"].is_object() && run["plan"].contains("command"))
        command = line_of(run["plan"]["command"].get<std::vector<std::string>>());
    return command;
  }

  [[nodiscard]] Json made_with(const Json& runs) const {
    const Json model = object_of(plan_.model), request = object_of(plan_.request);
    const std::string told = command_of_logs(runs);
    return {{"command", told.empty() ? command_of(model, request, asked(), followed_by(runs)) : told},
            {"command_of_log", !told.empty()},
            {"plan_file", request_.plan_file},
            {"trace_file", request_.trace_file.empty() ? Json(nullptr) : Json(request_.trace_file)},
            {"plan_schema", "pantoum.plan/2"},
            {"structure_hash", fmt::format("{:016x}", problem::structure_hash(plan_.graph))},
            {"costs_of", plan_.graph.device.costs_of},
            {"model", model},
            {"request", request}};
  }

  const ReportRequest& request_;
  const problem::Plan& plan_;
  const Names names_;
  const Kinds kinds_;
  const std::vector<TracePoint> trace_;  // by instruction
  const std::optional<problem::UnplannedStep> unplanned_;
  const Explanation why_;
  std::unordered_map<int64_t, size_t> op_at_, tensor_at_;
  double tick_s_ = 1e-9;
};

}  // namespace

Result<Json> report_json(const ReportRequest& request) {
  return ReportWriter(request).write();
}

namespace {

using Json = nlohmann::ordered_json;
using settings::Field;

// The options of what a plan keeps under these fields, but those named in `without`. A value of another type than an
// option's is none: plan files are a stranger's.
template <class Options>
std::string options_of(const Json& record, const std::vector<std::string>& without = {}) {
  if (!record.is_object()) return "";
  const nlohmann::json known(record);
  Options options;
  std::string words;
  for (const Field& field : settings::fields_of(options)) {
    base::JsonErrors errors{"E0230", "", {}};
    if (!field.is_part && known.contains(field.key)) field.read(base::JsonNode(known.at(field.key), errors));
    const bool is_out = std::find(without.begin(), without.end(), field.setting.name) != without.end();
    if (errors.first || is_out || field.setting.option == nullptr || field.is_default()) continue;
    for (const std::string& text : field.texts())
      words += fmt::format(" {}{}", field.setting.option, field.takes_value ? " " + base::shell_word(text) : "");
  }
  return words;
}

// The question of a bare cost graph, as a plan of a model keeps it.
Json request_of_question(const Json& asked) {
  Json request = Json::object();
  if (!asked.is_object()) return request;
  const auto take = [&](const Json& from, const char* key, const char* as) {
    if (from.contains(key) && !from[key].is_null()) request[as] = from[key];
  };
  take(asked, "budget_bytes", "ram_bytes");
  take(asked, "most_energy_j", "energy_limit_j");
  take(asked, "objective", "objective");
  if (asked.contains("deadline_s") && !asked["deadline_s"].is_null())
    request["deadline"] = {{"step_s", asked["deadline_s"]}};
  if (asked.contains("freedoms") && asked["freedoms"].is_object())
    for (const char* freedom : {"paging", "recomputing", "in_place", "reordering"})
      take(asked["freedoms"], freedom, freedom);
  return request;
}

}  // namespace

std::string line_of(const std::vector<std::string>& words) {
  std::string line = "pantoum";
  for (const std::string& word : words) {
    const bool option = word.size() > 1 && word.starts_with('-') && base::shell_word(word) == "./" + word;
    line += " " + (option ? word : base::shell_word(word));
  }
  return line;
}

std::string command_of(const Json& model, const Json& request, const Json& asked, Followed followed) {
  if (!model.is_object())
    return "pantoum plan --costgraph GRAPH.json" + options_of<PlanOptions>(request_of_question(asked)) +
           " -o plan.json";
  const bool trains = followed == Followed::kByTraining;
  const bool has_path = model.contains("path") && model["path"].is_string();
  std::string line = fmt::format("pantoum {} {}", trains ? "train" : "plan",
                                 has_path ? base::shell_word(model["path"].get<std::string>()) : "MODEL.onnx");
  line += options_of<ModelOptions>(model) + options_of<Device>(request);
  if (trains)
    return line + options_of<PlanOptions>(request, {"steps", "samples"}) + " --data DATA -o trained.safetensors";
  const char* board = "\npantoum emit plan.json --target TARGET --data DATA -o project\npantoum run-firmware project";
  return line + options_of<PlanOptions>(request) + " -o plan.json" + (followed == Followed::kByBoard ? board : "");
}

}  // namespace pantoum::report
