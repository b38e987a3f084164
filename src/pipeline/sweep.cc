#include "pipeline/sweep.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/files.h"
#include "base/inputs_in_use.h"
#include "base/json_reader.h"
#include "base/json_text.h"
#include "base/special_files.h"
#include "base/system_calls.h"
#include "base/units.h"
#include "check/claims.h"
#include "pipeline/reserve.h"
#include "plan/attempts/attempts.h"
#include "problem/cost_graph.h"
#include "problem/cost_graph_json.h"
#include "problem/objective_values.h"
#include "problem/plan_json.h"
#include "report/charts.h"

namespace pantoum::pipeline {

namespace {

constexpr const char* kOwnFolder = "give another folder with -o, or remove this one";

Failure cannot_write(const std::string& path) {
  return fail("E0901", fmt::format("cannot write the file: {}", std::strerror(errno)), path,
              "free some space or choose another place; what is finished is kept");
}

// E0280 with the keys in which the two questions differ.
Result<void> same_question(std::string_view line, const report::SweepHead& head, const std::string& where) {
  const bool is_json = base::parse_json(line, "E0281", where).has_value();  // and not too large
  const auto old = is_json ? nlohmann::ordered_json::parse(line, nullptr, false) : nlohmann::ordered_json();
  const auto own = report::to_json(head);
  if (!old.is_object()) return fail("E0281", "the first line of the sweep is no question", where, kOwnFolder);
  if (old == own) return {};
  std::vector<std::string> notes;
  for (const auto& [key, value] : own.items())
    if (!old.contains(key) || old[key] != value)
      notes.push_back(fmt::format("{}: {} there, {} asked for", key,
                                  old.contains(key) ? base::ascii_json(old[key]) : "nothing", base::ascii_json(value)));
  return fail("E0280", "the folder holds the sweep of another question", where, kOwnFolder, notes);
}

// The folder of a sweep: its rows as they come, its plans, and at the end its tables and pictures.
class SweepFolder {
 public:
  // Makes the folder, or takes up the rows that an earlier run of the same question finished; a line cut short is
  // dropped. E0280 it holds another question, or another program is writing there; E0281 it is damaged; E0901.
  [[nodiscard]] static Result<SweepFolder> open(const std::string& path, const report::SweepHead& head);

  [[nodiscard]] const std::vector<report::SweepRow>& rows() const { return rows_; }
  [[nodiscard]] const report::SweepRow* find(const std::string& planner, problem::Bytes ram) const;
  // The plan first, then the row: a row that is there has its plan. In place of an older one of its planner and budget.
  [[nodiscard]] Result<void> add(const report::SweepRow& row, const problem::Plan* plan);
  [[nodiscard]] Result<problem::Plan> plan_of(const report::SweepRow& row) const;
  [[nodiscard]] Result<void> write_results(const report::Sweep& sweep) const;

 private:
  struct Log;
  void keep(report::SweepRow row);
  SweepFolder(std::string path, std::shared_ptr<Log> log) : path_(std::move(path)), log_(std::move(log)) {}
  [[nodiscard]] std::string plan_path(const report::SweepRow& row) const;
  [[nodiscard]] Result<void> read_rows(std::string_view text, const report::SweepHead& head);

  std::string path_;
  std::shared_ptr<Log> log_;
  std::vector<report::SweepRow> rows_;
};

struct SweepFolder::Log {
  int file = -1;
  std::string path;
  Log(int opened, std::string named) : file(opened), path(std::move(named)) {}
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log() { ::close(file); }

  [[nodiscard]] Result<void> append(const std::string& line) const {
    const std::string text = line + "\n";
    if (!base::write_all(file, text) || base::uninterrupted([&] { return ::fdatasync(file); }) != 0)
      return cannot_write(path);
    return {};
  }
};

// Files that a killed sweep had not finished; the folder is ours alone.
void remove_parts(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> parts;
  std::error_code ignored;
  for (const auto& folder : {path, path / "plans"})
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
      if (entry.path().extension().string().starts_with(".part")) parts.push_back(entry.path());
  for (const auto& part : parts) std::filesystem::remove(part, ignored);
}

// The files of the folder that a sweep writes or removes. E0125 one is an input; E0901 one is a pipe, a socket or a device.
Result<void> check_no_input_in_sweep(const std::filesystem::path& path) {
  std::error_code ignored;
  for (const auto& folder : {path, path / "plans"})
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      const std::string name = entry.path().filename().string();
      const bool is_ours = folder != path || name.starts_with("sweep.") || entry.path().extension().string().starts_with(".part");
      if (!is_ours) continue;
      PANTOUM_TRY(base::check_file(entry.path().string(), base::Access::write));
      PANTOUM_TRY(base::check_no_input(entry.path().string()));
    }
  return {};
}

Result<SweepFolder> SweepFolder::open(const std::string& path, const report::SweepHead& head) {
  const base::RecordInputs unrecorded(nullptr);  // a sweep goes on with its own files
  PANTOUM_TRY(check_no_input_in_sweep(path));
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path) / "plans", error);
  if (error) return fail("E0901", "cannot make the folder: " + error.message(), path, "choose another place with -o");
  const std::string name = (std::filesystem::path(path) / "sweep.jsonl").string();
  std::string why;
  const int file = base::open_own_file(name, O_RDWR | O_CREAT | O_APPEND, 0666, why);
  if (file < 0) return base::write_failure(name, why);
  SweepFolder folder(path, std::make_shared<Log>(file, name));
  if (::flock(file, LOCK_EX | LOCK_NB) != 0)
    return fail("E0280", "another program is writing this sweep", name, "wait for it, or give another folder with -o");
  PANTOUM_ASSIGN(const std::string text, base::read_file(name));
  const size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  PANTOUM_TRY(folder.read_rows(std::string_view(text).substr(0, whole), head));
  if (whole < text.size() && ::ftruncate(file, static_cast<off_t>(whole)) != 0) return cannot_write(name);
  remove_parts(path);
  if (whole == 0) PANTOUM_TRY(folder.log_->append(base::ascii_json(report::to_json(head))));
  return folder;
}

Result<void> SweepFolder::read_rows(std::string_view text, const report::SweepHead& head) {
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (number == 1) {
      PANTOUM_TRY(same_question(line, head, log_->path));
      continue;
    }
    PANTOUM_ASSIGN(report::SweepRow row, report::parse_sweep_row(line, fmt::format("{}, line {}", log_->path, number)));
    keep(std::move(row));
  }
  return {};
}

const report::SweepRow* SweepFolder::find(const std::string& planner, problem::Bytes ram) const {
  for (const report::SweepRow& row : rows_)
    if (row.planner == planner && row.ram_bytes == ram) return &row;
  return nullptr;
}

Result<void> SweepFolder::add(const report::SweepRow& row, const problem::Plan* plan) {
  if (plan != nullptr) PANTOUM_TRY(problem::write_plan(*plan, plan_path(row)));
  PANTOUM_TRY(log_->append(base::ascii_json(report::to_json(row))));
  keep(row);
  return {};
}

void SweepFolder::keep(report::SweepRow row) {
  for (report::SweepRow& old : rows_)
    if (old.planner == row.planner && old.ram_bytes == row.ram_bytes) {
      old = std::move(row);
      return;
    }
  rows_.push_back(std::move(row));
}

Result<problem::Plan> SweepFolder::plan_of(const report::SweepRow& row) const {
  return problem::read_plan(plan_path(row));
}

std::string SweepFolder::plan_path(const report::SweepRow& row) const {
  return (std::filesystem::path(path_) / "plans" / fmt::format("{}-{}.plan.json", row.planner, row.ram_bytes)).string();
}

Result<void> SweepFolder::write_results(const report::Sweep& sweep) const {
  const std::filesystem::path folder(path_);
  PANTOUM_TRY(base::write_file_atomically((folder / "sweep.csv").string(), report::to_csv(sweep)));
  PANTOUM_TRY(base::write_file_atomically((folder / "sweep.json").string(), base::json_text(report::to_json(sweep))));
  return base::write_file_atomically((folder / "sweep.svg").string(), report::to_svg(sweep));
}

using problem::Bytes;
using problem::CostGraph;
using report::SweepRow;
using report::SweepStatus;

Result<report::SweepHead> head_of(const CostGraph& graph, const SweepRequest& request) {
  PANTOUM_ASSIGN(const problem::Predicted unplanned, unplanned_step(graph, request.plan));
  PlanRequest smallest = request.plan;
  smallest.options.question.budget = request.budgets.front();
  PANTOUM_ASSIGN(const plan::PlanOptions options, planner_options(graph, smallest, unplanned));
  return report::SweepHead{.version = request.version,
                           .question = question_of(graph),
                           .name = graph.name,
                           .device = graph.device.name,
                           .time_source = problem::time_source(graph.device),
                           .options = options,
                           .reserve = request.plan.reserve,
                           .budgets = request.budgets,
                           .unplanned = unplanned};
}

// Gap and status, as the checker finds them; false where it finds the bound unproved.
bool set_gap(problem::Plan& plan, double gap) {
  plan.gap = 1;
  plan.asked_gap = gap;
  plan.status = problem::Status::kFeasible;
  const Result<check::Judgement> judged = check::judge(plan);
  if (!judged) return false;
  plan.gap = judged->gap;
  plan.status = plan.gap <= gap ? problem::Status::kOptimal : problem::Status::kFeasible;
  return true;
}

// The curve of one planner, from the smallest budget up.
class Curve {
 public:
  Curve(const SweptGraphs& graphs, const report::SweepHead& head, const plan::NamedPlanner& planner,
        const GraphInSlices& in_slices, SweepFolder& folder)
      : graphs_(graphs), head_(head), planner_(planner), in_slices_(in_slices), folder_(folder) {}

  // False: stopped.
  Result<bool> budget(Bytes ram) {
    if (const SweepRow* done = folder_.find(planner_.name, ram)) {
      PANTOUM_TRY(take_up(*done));
      return true;
    }
    SweepRow row{.planner = planner_.name, .ram_bytes = ram};
    if (head_.options.stop.stop_requested()) return false;
    if (ram < none_.min_ram_bound_bytes) {
      row.status = SweepStatus::kInfeasible;
      row.none = none_;
    } else {
      PANTOUM_TRY(ask(row));
      if (head_.options.stop.stop_requested()) return false;
    }
    PANTOUM_TRY(folder_.add(row, row.has_plan() ? &*last_ : nullptr));
    return true;
  }

  // A bound for more RAM is one for less: once all budgets are planned, each takes up the next larger one's where that
  // is higher, with its certificate.
  Result<void> carry_bounds_down() {
    for (size_t at = head_.budgets.size(); at-- > 1;) {
      const SweepRow *less = folder_.find(planner_.name, head_.budgets[at - 1]),
                     *more = folder_.find(planner_.name, head_.budgets[at]);
      if (less == nullptr || more == nullptr || !less->has_plan() || !more->has_plan()) continue;
      PANTOUM_ASSIGN(const problem::Plan from, folder_.plan_of(*more));
      PANTOUM_ASSIGN(problem::Plan to, folder_.plan_of(*less));
      if ((!from.certificate && from.lines.empty()) || bound_of(from).value_or(0) <= bound_of(to).value_or(0)) continue;
      to.certificate = from.certificate;
      to.lines = from.lines;
      to.bound.any_order = from.bound.any_order;
      bound_of(to.bound, to.question.objective) = bound_of(from);
      if (!set_gap(to, head_.options.gap)) continue;  // it is for another order
      SweepRow row = *less;
      describe(row, to);
      PANTOUM_TRY(folder_.add(row, &to));
    }
    return {};
  }

 private:
  Result<void> take_up(const SweepRow& row) {
    if (row.status == SweepStatus::kInfeasible) none_ = row.none;
    if (!row.has_plan()) return {};
    PANTOUM_ASSIGN(last_, folder_.plan_of(row));
    return {};
  }

  Result<void> ask(SweepRow& row) {
    plan::PlanOptions options = head_.options;
    options.question.budget = row.ram_bytes - head_.reserve;
    options.warm_start = last_ ? &*last_ : nullptr;
    plan::Infeasible none;
    Result<problem::Plan> plan = plan_of_budget(row.ram_bytes, options, none);
    if (!plan && !last_) return set_infeasible(plan.error(), none, row);
    row.carried = last_ && (!plan || value_of(*last_) <= value_of(*plan));
    if (row.carried)
      carry(plan ? &*plan : nullptr, options);
    else
      last_ = std::move(*plan);
    PANTOUM_ASSIGN(row.found, checked(last_->graph, *last_, planner_.name));
    describe(row, *last_);
    return {};
  }

  // Where some op exceeds the budget as a whole, no graph without slices has a plan.
  Result<problem::Plan> plan_of_budget(Bytes ram, const plan::PlanOptions& options, plan::Infeasible& none) const {
    if (planner_.name == plan::kOwnPlanner && in_slices_) {
      PANTOUM_ASSIGN(const std::optional<CostGraph> sliced, in_slices_(ram));
      if (sliced) return planned(*sliced, options, none);
    }
    return best_plan(options, none);
  }

  // The best plan over all graphs. Among plans of the same cost, the last plan's graph wins.
  Result<problem::Plan> best_plan(const plan::PlanOptions& options, plan::Infeasible& none) const {
    Result<problem::Plan> best = planned(graphs_.front(), options, none);
    const size_t count = planner_.name == plan::kOwnPlanner ? graphs_.size() : 1;
    for (size_t at = 1; at < count && !options.stop.stop_requested(); ++at) {
      plan::Infeasible other_none;
      Result<problem::Plan> other = planned(graphs_[at], options, other_none);
      if (best ? other && is_better(*other, *best)
               : other || plan::says_less(other.error(), other_none, best.error(), none))
        best = std::move(other), none = std::move(other_none);
    }
    return best;
  }

  Result<problem::Plan> planned(const CostGraph& graph, plan::PlanOptions options, plan::Infeasible& none) const {
    const bool of_another = last_ && problem::structure_hash(last_->graph) != problem::structure_hash(graph);
    if (of_another) options.warm_start = nullptr;
    return planner_.plan(graph, options, &none);
  }

  bool is_better(const problem::Plan& plan, const problem::Plan& than) const {
    if (value_of(plan) != value_of(than)) return value_of(plan) < value_of(than);
    return last_ && problem::structure_hash(last_->graph) == problem::structure_hash(plan.graph);
  }

  // The last plan answers this budget too; a bound is that of this budget's own question.
  void carry(const problem::Plan* fresh, const plan::PlanOptions& options) {
    last_->question.budget = options.question.budget_bytes();
    last_->bound = fresh ? fresh->bound : problem::Bound{};
    last_->certificate = fresh ? fresh->certificate : std::nullopt;
    last_->lines = fresh ? fresh->lines : std::vector<problem::Certificate>{};
    if (!set_gap(*last_, options.gap)) {  // the fresh plan's bound is of another order
      last_->bound = {}, last_->certificate.reset(), last_->lines.clear();
      (void)set_gap(*last_, options.gap);
    }
    last_->solver_seconds = fresh ? fresh->solver_seconds : 0;
  }

  static void describe(SweepRow& row, const problem::Plan& plan) {
    row.status = plan.status == problem::Status::kOptimal ? SweepStatus::kOptimal : SweepStatus::kFeasible;
    row.bound = plan.bound;
    row.gap = plan.gap;
    row.seconds = plan.solver_seconds;
  }

  Result<void> set_infeasible(const Error& error, plan::Infeasible& none, SweepRow& row) {
    if (error.code == "E0301")
      row.status = SweepStatus::kInfeasible;
    else if (error.code == "E0302")
      row.status = SweepStatus::kNotFound;
    else if (error.code == "E0304")
      row.status = SweepStatus::kNotApplicable;
    else
      return Failure(error);
    none.min_plan.reset(), none.refusal.reset();
    if (none.why.empty() || row.status == SweepStatus::kNotFound) none.why = error.message;
    none = with_reserve(std::move(none), head_.reserve);
    row.none = none;
    if (row.status == SweepStatus::kInfeasible) none_ = std::move(none);
    return {};
  }

  const SweptGraphs& graphs_;
  const report::SweepHead& head_;
  const plan::NamedPlanner& planner_;
  const GraphInSlices& in_slices_;
  SweepFolder& folder_;
  std::optional<problem::Plan> last_;  // of the largest budget so far
  plan::Infeasible none_;              // of the largest budget that was proved infeasible
};

// Sorts the rows by planner, in the order of planners(), then by budget: the order of the runs does not matter.
std::vector<SweepRow> sorted(std::vector<SweepRow> rows) {
  const std::vector<plan::NamedPlanner> all = plan::planners();
  const auto rank = [&](const SweepRow& row) {
    return std::find_if(all.begin(), all.end(),
                        [&](const plan::NamedPlanner& known) { return known.name == row.planner; });
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const SweepRow& a, const SweepRow& b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : a.ram_bytes < b.ram_bytes;
  });
  return rows;
}

Result<void> draw_curves(const SweptGraphs& graphs, const SweepRequest& request, const report::SweepHead& head,
                         SweepFolder& folder) {
  for (const plan::NamedPlanner& planner : request.planners) {
    Curve curve(graphs, head, planner, request.in_slices, folder);
    for (size_t at = 0; at < request.budgets.size(); ++at) {
      if (request.started) request.started(planner.name, at);
      PANTOUM_ASSIGN(const bool done, curve.budget(request.budgets[at]));
      if (!done) return {};
    }
    PANTOUM_TRY(curve.carry_bounds_down());
  }
  return {};
}

}  // namespace

std::string question_of(const CostGraph& graph) {
  const std::string text = base::ascii_json(problem::to_json(graph));
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

std::string kept_costs(const std::string& folder, size_t graph) {
  const std::string name = graph == 0 ? "measured" : fmt::format("measured-{}", graph);
  return (std::filesystem::path(folder) / (name + ".costgraph.json")).string();
}

Result<SweptGraphs> with_kept_costs(SweptGraphs graphs, const std::string& folder) {
  SweptGraphs kept;
  std::error_code none;
  for (std::string path; path = kept_costs(folder, kept.size()), std::filesystem::exists(path, none);) {
    PANTOUM_ASSIGN(CostGraph graph, problem::read_cost_graph(path));
    kept.push_back(std::move(graph));
  }
  if (kept.empty()) return graphs;
  const CostGraph &first = kept.front(), &now = graphs.front();
  const bool same = problem::structure_hash(first) == problem::structure_hash(now) && first.name == now.name &&
                    first.device.name == now.device.name;
  return same ? std::move(kept) : std::move(graphs);
}

Result<report::Sweep> run_sweep(const SweptGraphs& graphs, const SweepRequest& request) {
  PANTOUM_ASSIGN(report::SweepHead head, head_of(graphs.front(), request));
  PANTOUM_ASSIGN(SweepFolder folder, SweepFolder::open(request.folder, head));
  // Times that were measured later would change the question: a sweep keeps the times that it began with.
  for (size_t at = 0; request.keeps_costs && at < graphs.size(); ++at)
    PANTOUM_TRY(problem::write_cost_graph(graphs[at], kept_costs(request.folder, at)));
  PANTOUM_TRY(draw_curves(graphs, request, head, folder));
  report::Sweep sweep{.head = std::move(head), .rows = sorted(folder.rows())};
  PANTOUM_TRY(folder.write_results(sweep));
  return sweep;
}

namespace {

constexpr int64_t kMostBudgets = 10000;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char letter : text) {
    if (letter == separator)
      parts.emplace_back();
    else
      parts.back() += letter;
  }
  return parts;
}

Failure no_range(const std::string& text, const std::string& option, const std::string& why) {
  return fail("E0110", fmt::format("'{}' is no range of budgets: {}", text, why), option,
              "write from, to and how many, as in 64KiB:1MiB:16, or a list as in 64KiB,128KiB");
}

Result<std::vector<int64_t>> parse_range(const std::string& text, const std::vector<std::string>& parts,
                                         const std::string& option) {
  PANTOUM_ASSIGN(const int64_t low, base::parse_bytes(parts[0], option));
  PANTOUM_ASSIGN(const int64_t high, base::parse_bytes(parts[1], option));
  if (low > high) return no_range(text, option, "it runs downward");
  int64_t count = 0;
  const std::string& number = parts[2];
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), count);
  if (error != std::errc{} || end != number.data() + number.size() || count < 2 || count > kMostBudgets)
    return no_range(text, option, fmt::format("'{}' is no number of budgets (2 to {})", number, kMostBudgets));
  return even_budgets(low, high, count);
}

}  // namespace

Result<std::vector<int64_t>> parse_budgets(const std::string& text, const std::string& option) {
  const std::vector<std::string> range = split(text, ':');
  std::vector<int64_t> budgets;
  if (range.size() == 3) {
    PANTOUM_ASSIGN(budgets, parse_range(text, range, option));
  } else if (range.size() == 1) {
    for (const std::string& part : split(text, ',')) {
      PANTOUM_ASSIGN(budgets.emplace_back(), base::parse_bytes(part, option));
    }
  } else {
    return no_range(text, option, "it has not three parts");
  }
  std::sort(budgets.begin(), budgets.end());
  budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
  if (budgets.front() == 0)
    return fail("E0300", "a budget of 0 bytes", option,
                "give the RAM that the step may use, as in --ram 64KiB:1MiB:16");
  return budgets;
}

Result<plan::Infeasible> least_ram(const CostGraph& graph, PlanRequest request) {
  request.options.question.budget = request.reserve + 1;
  plan::Infeasible none;
  const auto planned = plan_cost_graph(graph, request, &none);
  if (!planned && none.min_ram_bytes == 0) return Failure(planned.error());
  return none;
}

std::vector<int64_t> even_budgets(int64_t low, int64_t high, int64_t count) {
  const int64_t steps = std::max<int64_t>(1, count - 1), all = std::max<int64_t>(0, high - low);
  std::vector<int64_t> budgets;
  for (int64_t at = 0; at < count; ++at) budgets.push_back(low + all / steps * at + all % steps * at / steps);
  budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
  return budgets;
}

Result<std::vector<int64_t>> budgets_by_themselves(const CostGraph& graph, const PlanRequest& request,
                                                   const GraphInSlices& in_slices) {
  constexpr int64_t kBudgets = 8, kStep = 1024;
  std::optional<CostGraph> sliced;
  if (in_slices) {
    PANTOUM_ASSIGN(sliced, in_slices(request.reserve + 1));
  }
  PANTOUM_ASSIGN(const plan::Infeasible least, least_ram(sliced ? *sliced : graph, request));
  PANTOUM_ASSIGN(const problem::Predicted unplanned, unplanned_step(graph, request));
  std::vector<int64_t> budgets =
      even_budgets(least.min_ram_bytes, unplanned.peak_bytes + request.reserve, kBudgets);
  for (int64_t& budget : budgets) budget = (budget + kStep - 1) / kStep * kStep;
  budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
  return budgets;
}

}  // namespace pantoum::pipeline
