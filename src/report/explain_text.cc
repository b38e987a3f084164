#include <fmt/format.h>

#include <algorithm>

#include "base/foreign_text.h"
#include "base/units.h"
#include "problem/cost_graph.h"
#include "problem/objective_values.h"
#include "report/explain.h"
#include "report/names.h"
#include "report/words.h"

namespace pantoum::report {
namespace {

using base::show_bytes;

constexpr size_t kMost = 10;  // lines of one kind

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

std::string binds(const Explanation& why, const Names& names) {
  Section section("binds");
  const problem::Plan& plan = why.plan;
  if (why.ram_binds() && !plan.instructions.empty())
    section.line(fmt::format("RAM: peak {}, arena {} of {}, at instruction {} of {}, {}",
                             show_bytes(why.found.peak_bytes), show_bytes(why.found.arena_bytes),
                             show_bytes(plan.question.budget_bytes()), why.peak_instruction, plan.instructions.size(),
                             names.of(plan.instructions[why.peak_instruction])));
  if (why.deadline_binds())
    section.line(fmt::format("the deadline: {} of {}; without it {} in {}", show_time(why.found.time_s),
                             show_time(*plan.question.deadline), show_energy(why.next.no_deadline->predicted.energy_j),
                             show_time(why.next.no_deadline->predicted.time_s)));
  if (section.text().empty()) section.line("nothing: with all the RAM in the world the step would cost the same");
  return section.text();
}

std::string at_peak(const Explanation& why, const Names& names) {
  Section section("at peak");
  section.list(why.at_peak, [&](const Resident& resident) {
    return fmt::format("{:>10}  {:<9} {}", show_bytes(resident.bytes), name_of(resident.role),
                       resident.tensor >= 0 ? names.tensor(resident.tensor) : "");
  });
  return section.text();
}

std::string sums(const Explanation& why) {
  Section time("time"), energy("energy");
  time.line(fmt::format("{} = {} computing + {} waiting for transfers ({})", show_time(why.found.time_s),
                        show_time(why.timeline.compute_s), show_time(why.timeline.stall_s),
                        base::one_line(problem::time_source(why.plan.graph.device))));
  energy.line(fmt::format("{} = {} computing + {} computing again + {} paging + {} idle (modelled)",
                          show_energy(why.found.energy_j), show_energy(why.energy.first_j),
                          show_energy(why.energy.again_j), show_energy(why.energy.paging_j),
                          show_energy(why.energy.idle_j)));
  return time.text() + energy.text();
}

std::string again(const Explanation& why, const Names& names) {
  Section section("again");
  section.list(why.again, [&](const ComputedAgain& entry) {
    return fmt::format("{:>10} {:>10}  {}x  {}", show_energy(entry.energy_j), show_time(entry.seconds), entry.times,
                       names.op(entry.op));
  });
  return section.text();
}

std::string paged(const Explanation& why, const Names& names) {
  Section section("paged");
  section.list(why.paged, [&](const Paged& entry) {
    return fmt::format("{:>10} {:>10}  {} hidden, {} waited for  {} out, {} in  {} {}", show_energy(entry.energy_j),
                       show_time(entry.seconds), show_time(entry.hidden_s), show_time(entry.stall_s), entry.outs,
                       entry.ins, show_bytes(entry.bytes), names.tensor(entry.tensor));
  });
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
