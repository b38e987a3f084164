#include <fmt/format.h>

#include <algorithm>

#include "base/foreign_text.h"
#include "base/units.h"
#include "problem/objective_values.h"
#include "problem/time_source.h"
#include "report/explain.h"
#include "report/names.h"

namespace pantoum::report {
namespace {

using base::show_bytes;

constexpr size_t kMost = 10;  // lines of one kind

std::string show_joules(double joules) {
  return joules == 0 ? "0 J" : base::show_joules(joules);
}
std::string show_seconds(double seconds) {
  return seconds == 0 ? "0 s" : base::show_seconds(seconds);
}

// "label    first line", and the following ones below it.
class Section {
 public:
  explicit Section(const char* label) : label_(label) {}
  void line(const std::string& text) {
    text_ += fmt::format("{:<10} {}\n", label_, base::one_line(text));
    label_ = "";
  }
  void more(size_t all) {
    if (all > kMost) line(fmt::format("and {} more (--format json has all)", all - kMost));
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  const char* label_;
  std::string text_;
};

std::string binds(const Explanation& why, const Names& names) {
  Section section("binds");
  const problem::Plan& plan = why.plan;
  if (why.ram_binds() && !plan.instructions.empty())
    section.line(fmt::format("RAM: peak {}, arena {} of {}, at instruction {} of {}, {}",
                             show_bytes(why.found.peak_bytes), show_bytes(why.found.arena_bytes),
                             show_bytes(plan.question.budget_bytes()), why.peak_instruction, plan.instructions.size(),
                             names.of(plan.instructions[why.peak_instruction])));
  if (why.deadline_binds())
    section.line(fmt::format("the deadline: {} of {}; without it {} in {}", show_seconds(why.found.time_s),
                             show_seconds(*plan.question.deadline),
                             show_joules(why.next.no_deadline->predicted.energy_j),
                             show_seconds(why.next.no_deadline->predicted.time_s)));
  if (section.text().empty()) section.line("nothing: with all the RAM in the world the step would cost the same");
  return section.text();
}

std::string at_peak(const Explanation& why, const Names& names) {
  Section section("at peak");
  for (size_t at = 0; at < std::min(kMost, why.at_peak.size()); ++at) {
    const Resident& resident = why.at_peak[at];
    section.line(fmt::format("{:>10}  {:<9} {}", show_bytes(resident.bytes), name_of(resident.role),
                             resident.tensor >= 0 ? names.tensor(resident.tensor) : ""));
  }
  section.more(why.at_peak.size());
  return section.text();
}

std::string sums(const Explanation& why) {
  Section time("time"), energy("energy");
  time.line(fmt::format("{} = {} computing + {} waiting for transfers ({})", show_seconds(why.found.time_s),
                        show_seconds(why.timeline.compute_s), show_seconds(why.timeline.stall_s),
                        base::one_line(problem::time_source(why.plan.graph.device))));
  energy.line(fmt::format("{} = {} computing + {} computing again + {} paging + {} idle (modelled)",
                          show_joules(why.found.energy_j), show_joules(why.energy.first_j),
                          show_joules(why.energy.again_j), show_joules(why.energy.paging_j),
                          show_joules(why.energy.idle_j)));
  return time.text() + energy.text();
}

std::string again(const Explanation& why, const Names& names) {
  Section section("again");
  for (size_t at = 0; at < std::min(kMost, why.again.size()); ++at) {
    const ComputedAgain& entry = why.again[at];
    section.line(fmt::format("{:>10} {:>10}  {}x  {}", show_joules(entry.energy_j), show_seconds(entry.seconds),
                             entry.times, names.op(entry.op)));
  }
  section.more(why.again.size());
  return section.text();
}

std::string paged(const Explanation& why, const Names& names) {
  Section section("paged");
  for (size_t at = 0; at < std::min(kMost, why.paged.size()); ++at) {
    const Paged& entry = why.paged[at];
    section.line(fmt::format("{:>10} {:>10}  {} hidden, {} waited for  {} out, {} in  {} {}",
                             show_joules(entry.energy_j), show_seconds(entry.seconds), show_seconds(entry.hidden_s),
                             show_seconds(entry.stall_s), entry.outs, entry.ins, show_bytes(entry.bytes),
                             names.tensor(entry.tensor)));
  }
  section.more(why.paged.size());
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
  for (size_t at = 0; at < std::min(kMost, waits.size()); ++at) {
    const Transfer& one = *waits[at];
    section.line(fmt::format("{:>10}  for {} {} at instruction {}: {:.6g} s to {:.6g} s, {}", show_seconds(one.stall_s),
                             one.out ? "page_out" : "page_in", names.tensor(one.tensor), one.instruction, one.begin_s,
                             one.end_s, hidden_by(one, why, names)));
  }
  section.more(waits.size());
  if (waits.empty() && !why.timeline.transfers.empty()) section.line("none: every transfer runs beside computes");
  return section.text();
}

std::string next(const Explanation& why) {
  Section section("next bytes");
  const auto saved = [&](const problem::Predicted& other) {
    const problem::Objective objective = why.plan.question.objective;
    return show_value(objective, value_of(why.plan) - value_of(why.plan.question, other));
  };
  for (const Probe& probe : why.next.probes)
    section.line(probe.more == 0 ? fmt::format("searching on in the same RAM saves {}", saved(probe.predicted))
                                 : fmt::format("+{:.0f}% ({}) saves {}", probe.more * 100,
                                               show_bytes(probe.ram_bytes - why.plan.question.budget_bytes()),
                                               saved(probe.predicted)));
  section.line(fmt::format("everything kept ({}) saves {}", show_bytes(why.next.unplanned.peak_bytes),
                           saved(why.next.unplanned)));
  return section.text();
}

}  // namespace

std::string to_text(const Explanation& why) {
  const Names names(why.plan.graph);
  return binds(why, names) + at_peak(why, names) + sums(why) + again(why, names) + paged(why, names) +
         stalls(why, names) + next(why);
}

}  // namespace pantoum::report
