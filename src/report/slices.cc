#include "report/slices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/round_up.h"
#include "base/units.h"
#include "problem/objective_values.h"
#include "report/names.h"
#include "report/words.h"

namespace pantoum::report {

using problem::Bytes;
using problem::Choice;
using problem::Op;

OpNeeds::OpNeeds(const problem::CostGraph& graph, const problem::Question& question)
    : graph_(graph), question_(question), idle_w_(graph.device.idle_w) {
  const Bytes unit = std::max<Bytes>(1, graph.device.align_bytes);
  for (const problem::Tensor& tensor : graph.tensors) bytes_[tensor.id] = base::round_up(tensor.bytes, unit);
}

// An output that takes over an input takes no bytes of its own; each input is taken over by one output.
Bytes OpNeeds::needed(const Op& op, const Choice& choice) const {
  std::set<int64_t> read;
  for (const int position : choice.reads)
    if (choice.reads_whole(position)) read.insert(op.input(position));
  Bytes sum = base::round_up(choice.workspace_bytes, std::max<Bytes>(1, graph_.device.align_bytes));
  for (const int64_t tensor : read) sum += bytes_of(tensor);
  for (const int out : choice.whole_writes()) {
    Bytes own = bytes_of(op.output(out));
    for (const auto& [output, input] : choice.overwrites) {
      if (!question_.freedoms.in_place || output != out || read.erase(op.input(input)) == 0) continue;
      own = std::max<Bytes>(0, own - bytes_of(op.input(input)));
      break;
    }
    sum += own;
  }
  return sum;
}

Bytes OpNeeds::streamed_once(const Op& op, const Choice& choice) const {
  Bytes sum = 0;
  for (const int position : choice.stream.in) sum += bytes_of(op.input(position));
  for (const int position : choice.stream.out) sum += bytes_of(op.output(position));
  return sum;
}

Way OpNeeds::way(const Op& op, size_t choice) const {
  const Choice& as = op.choices[choice];
  Way way{.choice = choice, .needs = needed(op, as), .costs = problem::costs_of(graph_.device.pager, as)};
  way.value = value_of(question_, way.costs.joules + idle_w_ * way.costs.seconds, way.costs.seconds);
  return way;
}

std::optional<Way> OpNeeds::whole(const Op& op) const {
  std::optional<Way> leanest;
  for (size_t choice = 0; choice < op.choices.size(); ++choice) {
    if (is_sliced(op.choices[choice])) continue;
    const Way one = way(op, choice);
    if (!leanest || one.needs < leanest->needs) leanest = one;
  }
  return leanest;
}

std::vector<Way> OpNeeds::best(const Op& op) const {
  std::vector<Way> ways;
  for (size_t choice = 0; choice < op.choices.size(); ++choice) ways.push_back(way(op, choice));
  std::ranges::stable_sort(
      ways, [](const Way& a, const Way& b) { return a.needs != b.needs ? a.needs < b.needs : a.value < b.value; });
  std::vector<Way> best;
  for (const Way& each : ways)
    if (best.empty() || each.value < best.back().value) best.push_back(each);
  std::ranges::reverse(best);
  return best;
}

WidestOp OpNeeds::widest_whole() const {
  WidestOp widest;
  for (const Op& op : graph_.ops)
    if (const std::optional<Way> whole = this->whole(op); whole && whole->needs > widest.bytes)
      widest = {op.id, whole->needs};
  return widest;
}

WidestOp OpNeeds::widest() const {
  WidestOp widest;
  const auto any = [](const Op& op) { return std::ranges::any_of(op.choices, is_sliced); };
  if (std::ranges::none_of(graph_.ops, any)) return widest;
  for (const Op& op : graph_.ops) {
    Bytes leanest = way(op, 0).needs;
    for (size_t choice = 1; choice < op.choices.size(); ++choice) leanest = std::min(leanest, way(op, choice).needs);
    if (!op.optional && leanest > widest.bytes) widest = {op.id, leanest};
  }
  return widest;
}

int64_t OpNeeds::beyond(Bytes budget) const {
  return std::ranges::count_if(graph_.ops, [&](const Op& op) {
    const std::optional<Way> whole = this->whole(op);
    return !whole || whole->needs > budget;
  });
}

bool is_sliced(const Choice& choice) {
  return choice.stream.any() || !choice.slices.empty();
}

std::string slices_text(const Choice& choice) {
  if (!is_sliced(choice)) return "whole";
  return choice.slices.empty() ? "slices" : fmt::format("{} slices", fmt::join(choice.slices, " x "));
}

SliceNeeds slice_needs(const OpNeeds& needs, Bytes budget) {
  return {.budget = budget, .beyond = needs.beyond(budget), .whole = needs.widest_whole(), .sliced = needs.widest()};
}

namespace {

using Json = nlohmann::ordered_json;

Json widest_json(const WidestOp& widest, const Names& names) {
  if (widest.op < 0) return nullptr;
  return {{"op", widest.op}, {"name", names.op(widest.op)}, {"bytes", widest.bytes}};
}

int64_t transfers_of(const Choice& choice) {
  return choice.stream.transfers_in + choice.stream.transfers_out;
}

}  // namespace

Json to_json(const SliceNeeds& needs, const Names& names) {
  return {{"budget_bytes", needs.budget},
          {"ops_beyond", needs.beyond},
          {"widest_whole", widest_json(needs.whole, names)},
          {"widest_in_slices", widest_json(needs.sliced, names)}};
}

Json ways_json(const OpNeeds& needs, const Op& op, std::optional<size_t> taken) {
  Json list = Json::array();
  for (const Way& way : needs.best(op)) {
    const Choice& choice = op.choices[way.choice];
    list.push_back({{"algorithm", choice.algorithm},
                    {"slices", choice.slices},
                    {"needs_bytes", way.needs},
                    {"workspace_bytes", choice.workspace_bytes},
                    {"bytes_in", choice.stream.bytes_in},
                    {"bytes_out", choice.stream.bytes_out},
                    {"transfers", transfers_of(choice)},
                    {"seconds", way.costs.seconds},
                    {"energy_j", way.costs.joules},
                    {"taken", taken == way.choice}});
  }
  return list;
}

std::vector<std::string> ways_text(const OpNeeds& needs, const Op& op, std::optional<size_t> taken, Bytes budget) {
  std::vector<std::string> lines;
  for (const Way& way : needs.best(op)) {
    if (way.needs > budget) lines.clear();  // the next one needs less
    const Choice& choice = op.choices[way.choice];
    lines.push_back(fmt::format("{:>10}  {:>10} {:>10}  {} in, {} out, {} transfers  {}{}", base::show_bytes(way.needs),
                                show_energy(way.costs.joules), show_time(way.costs.seconds),
                                base::show_bytes(choice.stream.bytes_in), base::show_bytes(choice.stream.bytes_out),
                                transfers_of(choice), slices_text(choice), taken == way.choice ? "  (taken)" : ""));
  }
  return lines;
}

std::string to_text(const SliceNeeds& needs, const Names& names) {
  std::string text;
  if (needs.whole.op >= 0)
    text = fmt::format("op {} needs the most RAM as a whole: {}", names.op(needs.whole.op),
                       base::show_bytes(needs.whole.bytes));
  if (needs.beyond > 0)
    text += fmt::format("{}{} ops exceed {} as a whole", text.empty() ? "" : "; ", needs.beyond,
                        base::show_bytes(needs.budget));
  if (needs.sliced.op >= 0)
    text += fmt::format("{}in slices op {} needs the most: {}", text.empty() ? "" : "; ", names.op(needs.sliced.op),
                        base::show_bytes(needs.sliced.bytes));
  return text;
}

}  // namespace pantoum::report
