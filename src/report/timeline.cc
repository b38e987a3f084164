#include "report/timeline.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/lists.h"
#include "plan/planner.h"

namespace pantoum::report {

namespace {

using check::Span;
using problem::Do;

class Reader {
 public:
  Reader(const problem::Plan& plan, const std::vector<Span>& spans) : plan_(plan), spans_(spans) {
    for (const problem::Tensor& tensor : plan.graph.tensors) bytes_[tensor.id] = tensor.bytes;
    for (const problem::Op& op : plan.graph.ops) ops_[op.id] = &op;
    timeline_.busy_s.assign(plan.graph.device.engines.size(), 0);
    free_s_.assign(plan.graph.device.engines.size(), 0);
  }

  Timeline read() {
    double now = 0, end = 0;
    for (size_t at = 0; at < plan_.instructions.size(); ++at) {
      const Do what = plan_.instructions[at].what;
      if (what == Do::kCompute) compute(at);
      if (what == Do::kPageIn || what == Do::kPageOut) transfer(at);
      if (what == Do::kFree) continue;
      end = std::max(end, spans_[at].end_s);
      if (what == Do::kCompute || blocks()) now = spans_[at].end_s;
    }
    for (size_t engine = 0; engine < free_s_.size(); ++engine)
      if (timeline_.busy_s[engine] > 0) add_gap(engine, Idle::kOver, end, plan_.instructions.size());
    if (several_)
      timeline_.stall_s = end - computing();
    else
      blame(end, end - now);
    for (Transfer& one : timeline_.transfers) find_overlaps(one);
    return std::move(timeline_);
  }

 private:
  [[nodiscard]] bool blocks() const { return plan_.graph.device.pager.mode == problem::PagerMode::kSync; }

  void compute(size_t at) {
    const Span& span = spans_[at];
    computes_.push_back(at);
    timeline_.compute_s += span.end_s - span.begin_s;
    const problem::Instruction& step = plan_.instructions[at];
    const problem::Choice& choice = ops_.at(step.subject)->choices.at(static_cast<size_t>(step.choice));
    const std::vector<problem::Engine>& engines = plan_.graph.device.engines;
    for (size_t engine = 0; engine < engines.size(); ++engine)
      if (choice.engines.empty() ? engine == 0 : base::contains(choice.engines, engines[engine].name)) {
        timeline_.busy_s[engine] += span.end_s - span.begin_s;
        add_gap(engine, kWhy[static_cast<size_t>(span.why)], span.ended_s, at);
        add_gap(engine, Idle::kHandOff, span.begin_s, at);
        free_s_[engine] = span.end_s;
      }
    blame(span.begin_s, span.begin_s - span.issue_s);
  }

  static constexpr std::array kWhy{Idle::kLaunch, Idle::kGang, Idle::kValue, Idle::kBytes};  // by check::Wait

  // The engine computes nothing until then.
  void add_gap(size_t engine, Idle why, double until, size_t instruction) {
    if (!several_ || until <= free_s_[engine]) return;
    timeline_.gaps.push_back({engine, why, free_s_[engine], until, instruction});
    free_s_[engine] = until;
  }

  void transfer(size_t at) {
    const problem::Pager& pager = plan_.graph.device.pager;
    const problem::Instruction& step = plan_.instructions[at];
    const bool out = step.what == Do::kPageOut;
    const Span& span = spans_[at];
    const problem::Link& link = out ? pager.out : pager.in;
    Transfer one{.instruction = at, .tensor = step.subject, .out = out, .bytes = bytes_.at(step.subject)};
    one.issue_s = span.issue_s, one.begin_s = span.begin_s, one.end_s = span.end_s;
    one.energy_j = problem::transfer_seconds(pager, link, one.bytes) * link.w;
    ending_at_[span.end_s] = timeline_.transfers.size();
    timeline_.transfers.push_back(std::move(one));
    if (blocks()) blame(span.end_s, span.end_s - span.issue_s);
  }

  // Whoever waits goes on at the very moment at which some transfer ends.
  void blame(double until, double seconds) {
    if (seconds <= 0 || several_) return;  // of several engines some compute while others wait
    timeline_.stall_s += seconds;
    const auto found = ending_at_.find(until);
    if (found != ending_at_.end()) timeline_.transfers[found->second].stall_s += seconds;
  }

  // The seconds in which at least one engine computes.
  [[nodiscard]] double computing() const {
    std::vector<size_t> by_begin = computes_;
    std::ranges::sort(by_begin, {}, [&](size_t at) { return spans_[at].begin_s; });
    double seconds = 0, until = 0;
    for (const size_t at : by_begin) {
      seconds += std::max(0.0, spans_[at].end_s - std::max(until, spans_[at].begin_s));
      until = std::max(until, spans_[at].end_s);
    }
    return seconds;
  }

  void find_overlaps(Transfer& one) const {
    auto compute = several_ ? computes_.begin()
                            : std::partition_point(computes_.begin(), computes_.end(),
                                                   [&](size_t at) { return spans_[at].end_s <= one.begin_s; });
    for (; compute != computes_.end() && (several_ || spans_[*compute].begin_s < one.end_s); ++compute) {
      const Span& span = spans_[*compute];
      const double seconds = std::min(span.end_s, one.end_s) - std::max(span.begin_s, one.begin_s);
      if (seconds <= 0) continue;
      one.computes.push_back({*compute, seconds});
      one.hidden_s = std::min(one.hidden_s + seconds, several_ ? one.end_s - one.begin_s : HUGE_VAL);
    }
  }

  const problem::Plan& plan_;
  const std::vector<Span>& spans_;
  const bool several_ = problem::several_engines(plan_.graph.device);
  std::unordered_map<int64_t, problem::Bytes> bytes_;
  std::unordered_map<int64_t, const problem::Op*> ops_;
  std::unordered_map<double, size_t> ending_at_;  // second -> transfer
  std::vector<size_t> computes_;                  // instructions
  std::vector<double> free_s_;                    // by engine: what it did until then is known
  Timeline timeline_;
};

}  // namespace

std::array<double, kIdle.size()> Timeline::idle_s(size_t engine) const {
  std::array<double, kIdle.size()> seconds{};
  for (const Gap& gap : gaps)
    if (gap.engine == engine) seconds[static_cast<size_t>(gap.why)] += gap.end_s - gap.begin_s;
  return seconds;
}

Timeline timeline_of(const problem::Plan& plan, const std::vector<Span>& spans) {
  return Reader(plan, spans).read();
}

namespace {

class Tracer {
 public:
  explicit Tracer(const problem::Plan& plan) {
    for (const problem::Tensor& tensor : plan.graph.tensors) bytes_[tensor.id] = tensor.bytes;
    for (const problem::Op& op : plan.graph.ops) ops_[op.id] = &op;
    for (const problem::Tensor& tensor : plan.graph.tensors)
      if (tensor.start == problem::Home::kRam) enter(tensor.id, plan.initial.at(tensor.id));
    staging_ = plan.graph.device.pager.staging_bytes;
    now_ += staging_;
  }

  // Call it after step(instruction). It leaves out a tensor of no bytes.
  [[nodiscard]] std::vector<Resident> residents(const problem::Instruction& instruction) const {
    std::vector<Resident> found;
    for (const auto& [tensor, offset] : at_)
      if (bytes_.at(tensor) > 0)
        found.push_back({.tensor = tensor, .bytes = bytes_.at(tensor), .role = role_of(tensor, instruction)});
    if (staging_ > 0) found.push_back({.bytes = staging_, .role = Resident::Role::kStaging});
    if (instruction.what == problem::Do::kCompute) {
      const problem::Bytes workspace =
          ops_.at(instruction.subject)->choices.at(static_cast<size_t>(instruction.choice)).workspace_bytes;
      if (workspace > 0) found.push_back({.bytes = workspace, .role = Resident::Role::kWorkspace});
    }
    return found;
  }

  TracePoint step(const problem::Instruction& instruction) {
    TracePoint point{.what = instruction.what, .subject = instruction.subject};
    switch (instruction.what) {
      case problem::Do::kCompute:
        compute(instruction, point);
        break;
      case problem::Do::kPageIn:
        enter(instruction.subject, instruction.at.at(0));
        break;
      case problem::Do::kFree:
        leave(instruction.subject);
        break;
      case problem::Do::kPageOut:
        break;
    }
    point.ram_bytes = std::max(point.ram_bytes, now_);
    return point;
  }

 private:
  void enter(int64_t tensor, problem::Bytes at) {
    if (at_.emplace(tensor, at).second) now_ += bytes_[tensor];
  }
  void leave(int64_t tensor) {
    if (at_.erase(tensor) > 0) now_ -= bytes_[tensor];
  }

  void compute(const problem::Instruction& instruction, TracePoint& point) {
    const problem::Op& op = *ops_.at(instruction.subject);
    const problem::Choice& choice = op.choices.at(static_cast<size_t>(instruction.choice));
    point.again = !computed_.insert(op.id).second;
    for (const auto& [output, input] : choice.overwrites) {
      const int64_t source = op.inputs[static_cast<size_t>(input)];
      const auto found = at_.find(source);
      if (found != at_.end() && found->second == offset_of(choice, instruction, output) && bytes_[source] > 0)
        leave(source);
    }
    const std::vector<int> writes = choice.whole_writes();
    for (size_t written = 0; written < writes.size(); ++written)
      enter(op.output(writes[written]), instruction.at.at(written));
    point.ram_bytes = now_ + choice.workspace_bytes;
  }

  [[nodiscard]] Resident::Role role_of(int64_t tensor, const problem::Instruction& instruction) const {
    using Role = Resident::Role;
    const bool own = instruction.subject == tensor;
    if (instruction.what == problem::Do::kPageIn) return own ? Role::kArriving : Role::kHeld;
    if (instruction.what == problem::Do::kPageOut) return own ? Role::kLeaving : Role::kHeld;
    if (instruction.what == problem::Do::kFree) return Role::kHeld;
    const problem::Op& op = *ops_.at(instruction.subject);
    const problem::Choice& choice = op.choices.at(static_cast<size_t>(instruction.choice));
    for (const int position : choice.writes)
      if (op.output(position) == tensor) return Role::kWritten;
    for (const int position : choice.reads)
      if (op.input(position) == tensor && choice.reads_whole(position)) return Role::kRead;
    return Role::kHeld;
  }

  static problem::Bytes offset_of(const problem::Choice& choice, const problem::Instruction& instruction, int output) {
    const std::vector<int> writes = choice.whole_writes();
    const auto position = std::ranges::find(writes, output);
    return position == writes.end() ? -1 : instruction.at.at(static_cast<size_t>(position - writes.begin()));
  }

  std::unordered_map<int64_t, problem::Bytes> bytes_, at_;
  std::unordered_map<int64_t, const problem::Op*> ops_;
  std::set<int64_t> computed_;
  problem::Bytes now_ = 0, staging_ = 0;
};

}  // namespace

std::vector<TracePoint> trace_memory(const problem::Plan& plan) {
  Tracer tracer(plan);
  std::vector<TracePoint> points;
  points.reserve(plan.instructions.size());
  for (const problem::Instruction& instruction : plan.instructions) points.push_back(tracer.step(instruction));
  return points;
}

RamOverTime ram_over_time(const std::vector<TracePoint>& trace, const std::vector<check::Span>& spans) {
  RamOverTime ram;
  problem::Bytes top = 0;
  for (const TracePoint& point : trace) top = std::max(top, point.ram_bytes);
  for (size_t at = 0; at < trace.size(); ++at) {
    const double now = trace[at].what == problem::Do::kCompute ? spans[at].begin_s : spans[at].issue_s;
    const bool brief = !ram.seconds.empty() && ram.seconds.back() == now && ram.bytes.back() < top;  // it lasted for no time
    if (brief) ram.bytes.back() = trace[at].ram_bytes;
    if (brief || (at > 0 && ram.bytes.back() == trace[at].ram_bytes)) continue;
    ram.seconds.push_back(now);
    ram.bytes.push_back(trace[at].ram_bytes);
  }
  return ram;
}

Result<problem::UnplannedStep> unplanned_step(const problem::CostGraph& graph, bool in_place) {
  PANTOUM_ASSIGN(problem::Plan plan, plan::unplanned(graph, {.question = {.freedoms = {.in_place = in_place}}}));
  problem::UnplannedStep step{.figures = plan.predicted, .seconds = {}, .bytes = {}};
  plan.graph = graph;
  plan.question.budget.reset();
  std::vector<check::Span> spans;
  if (!check::replay(graph, plan, plan.question, &spans)) return step;
  RamOverTime ram = ram_over_time(trace_memory(plan), spans);
  step.seconds = std::move(ram.seconds);
  step.bytes = std::move(ram.bytes);
  return step;
}

std::vector<Resident> residents_at(const problem::Plan& plan, size_t instruction) {
  Tracer tracer(plan);
  for (size_t at = 0; at <= instruction; ++at) static_cast<void>(tracer.step(plan.instructions.at(at)));
  std::vector<Resident> found = tracer.residents(plan.instructions.at(instruction));
  std::sort(found.begin(), found.end(), [](const Resident& a, const Resident& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.tensor < b.tensor;
  });
  return found;
}

}  // namespace pantoum::report
