#include "report/lifetimes.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace pantoum::report {
namespace {

using problem::Do;
using problem::Home;

class Lives {
 public:
  Lives(const problem::Plan& plan, const std::vector<check::Span>& spans) : plan_(plan), spans_(spans) {
    for (const problem::Op& op : plan.graph.ops) ops_[op.id] = &op;
    for (const problem::Tensor& tensor : plan.graph.tensors) {
      if (tensor.start == Home::kRam) {
        open({.tensor = tensor.id, .how = How::kFromStart});
        offset_[tensor.id] = plan.initial.at(tensor.id);
      }
      if (tensor.start == Home::kAux) away_[tensor.id] = 0;
    }
  }

  std::vector<Bar> read() {
    for (size_t at = 0; at < plan_.instructions.size(); ++at) follow(plan_.instructions[at], spans_[at]);
    for (const auto& [tensor, bar] : open_) bars_[bar].end_s = end_;
    std::stable_sort(bars_.begin(), bars_.end(), [](const Bar& a, const Bar& b) { return a.begin_s < b.begin_s; });
    return std::move(bars_);
  }

 private:
  void follow(const problem::Instruction& step, const check::Span& span) {
    end_ = std::max(end_, span.end_s);
    if (step.what == Do::kCompute) return compute(step, span);
    if (step.what == Do::kFree) return close(step.subject, span.issue_s);
    if (step.what == Do::kPageOut) return;
    come_back(step.subject, How::kInStorage, span.issue_s);
    open({.tensor = step.subject, .how = How::kPagedIn, .begin_s = span.issue_s});
    offset_[step.subject] = step.at.at(0);
  }

  void compute(const problem::Instruction& step, const check::Span& span) {
    const problem::Op& op = *ops_.at(step.subject);
    const problem::Choice& choice = op.choices.at(static_cast<size_t>(step.choice));
    for (const int position : choice.reads) use(op.inputs[static_cast<size_t>(position)], op.id);
    const bool again = !computed_.insert(op.id).second;
    for (const auto& [output, input] : choice.overwrites) take_over(op, choice, step, output, input, span.begin_s);
    const std::vector<int> writes = choice.whole_writes();
    for (size_t written = 0; written < writes.size(); ++written) {
      const int64_t tensor = op.output(writes[written]);
      if (open_.contains(tensor)) continue;  // recomputed in place, beside one that is missed
      come_back(tensor, How::kDropped, span.begin_s);
      open({.tensor = tensor, .how = again ? How::kRecomputed : How::kComputed, .begin_s = span.begin_s, .by = op.id});
      offset_[tensor] = step.at.at(written);
    }
  }

  void take_over(const problem::Op& op, const problem::Choice& choice, const problem::Instruction& step, int output,
                 int input, double now) {
    const int64_t source = op.inputs[static_cast<size_t>(input)];
    const std::vector<int> writes = choice.whole_writes();
    const auto written = std::ranges::find(writes, output);
    if (written == writes.end() || !open_.contains(source)) return;
    if (offset_[source] == step.at.at(static_cast<size_t>(written - writes.begin()))) close(source, now);
  }

  void use(int64_t tensor, int64_t op) {
    const auto found = open_.find(tensor);
    if (found == open_.end()) return;  // read in place, from ROM
    Bar& bar = bars_[found->second];
    if (bar.first < 0) bar.first = op;
    bar.last = op;
  }

  void open(Bar bar) {
    open_[bar.tensor] = bars_.size();
    bars_.push_back(bar);
  }

  void close(int64_t tensor, double now) {
    const auto found = open_.find(tensor);
    if (found == open_.end()) return;
    bars_[found->second].end_s = now;
    away_[tensor] = now;
    open_.erase(found);
  }

  void come_back(int64_t tensor, How from, double now) {
    const auto since = away_.find(tensor);
    if (since != away_.end()) bars_.push_back({.tensor = tensor, .how = from, .begin_s = since->second, .end_s = now});
  }

  const problem::Plan& plan_;
  const std::vector<check::Span>& spans_;
  std::unordered_map<int64_t, const problem::Op*> ops_;
  std::unordered_map<int64_t, size_t> open_;  // tensor -> its bar
  std::unordered_map<int64_t, double> away_;  // since when
  std::unordered_map<int64_t, problem::Bytes> offset_;
  std::unordered_set<int64_t> computed_;
  std::vector<Bar> bars_;
  double end_ = 0;
};

}  // namespace

std::vector<Bar> lifetimes_of(const problem::Plan& plan, const std::vector<check::Span>& spans) {
  return Lives(plan, spans).read();
}

}  // namespace pantoum::report
