#include "report/timeline.h"

#include <algorithm>
#include <unordered_map>

namespace pantoum::report {
namespace {

using check::Span;
using problem::Do;

class Reader {
 public:
  Reader(const problem::Plan& plan, const std::vector<Span>& spans) : plan_(plan), spans_(spans) {
    for (const problem::Tensor& tensor : plan.graph.tensors) bytes_[tensor.id] = tensor.bytes;
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
    blame(span.begin_s, span.begin_s - span.issue_s);
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
    if (seconds <= 0) return;
    timeline_.stall_s += seconds;
    const auto found = ending_at_.find(until);
    if (found != ending_at_.end()) timeline_.transfers[found->second].stall_s += seconds;
  }

  void find_overlaps(Transfer& one) const {
    auto compute = std::partition_point(computes_.begin(), computes_.end(),
                                        [&](size_t at) { return spans_[at].end_s <= one.begin_s; });
    for (; compute != computes_.end() && spans_[*compute].begin_s < one.end_s; ++compute) {
      const Span& span = spans_[*compute];
      const double seconds = std::min(span.end_s, one.end_s) - std::max(span.begin_s, one.begin_s);
      if (seconds <= 0) continue;
      one.computes.push_back({*compute, seconds});
      one.hidden_s += seconds;
    }
  }

  const problem::Plan& plan_;
  const std::vector<Span>& spans_;
  std::unordered_map<int64_t, problem::Bytes> bytes_;
  std::unordered_map<double, size_t> ending_at_;  // second -> transfer
  std::vector<size_t> computes_;                  // instructions
  Timeline timeline_;
};

}  // namespace

Timeline timeline_of(const problem::Plan& plan, const std::vector<Span>& spans) {
  return Reader(plan, spans).read();
}

}  // namespace pantoum::report
