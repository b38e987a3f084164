#include "testing/random_case.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "check/replay.h"

namespace pantoum::check {
namespace {

using problem::Do;
using problem::Instruction;
using problem::Plan;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

void predict_nothing(Plan& plan) {
  plan.question.budget = int64_t{1} << 50;
  plan.predicted = {.peak_bytes = -1, .arena_bytes = -1, .time_s = kNone, .energy_j = kNone};
}

// Budget, deadline, predictions and bounds that just hold; false when the plan breaks a rule.
bool predict(Plan& plan, Random& random) {
  predict_nothing(plan);
  const Result<Found> found = replay(plan.graph, plan);
  if (!found) return false;
  plan.question.budget = found->arena_bytes + (random.chance(0.5) ? 0 : random.between(0, 1000));
  plan.predicted = {found->peak_bytes, found->arena_bytes, found->time_s, found->energy_j};
  if (random.chance(0.2)) plan.predicted.energy_j *= 1 + 1e-7;
  if (random.chance(0.1)) plan.predicted.peak_bytes = -1;
  if (random.chance(0.4)) plan.question.deadline = found->time_s * (random.chance(0.5) ? 1 : 1 + random.unit());
  if (random.chance(0.5)) plan.bound.energy_j = found->energy_j * (random.chance(0.3) ? 1 + 5e-7 : random.unit());
  if (random.chance(0.3)) plan.bound.time_s = found->time_s * (random.chance(0.3) ? 1 : random.unit());
  return true;
}

// Spoils of one kind each; a name of "" says that the plan has nothing of the kind.
class Spoiler {
 public:
  Spoiler(Plan& plan, Random& random) : plan_(plan), random_(random) {}

  std::string spoil() {
    using Way = std::string (Spoiler::*)();
    constexpr Way kWays[] = {
        &Spoiler::drop, &Spoiler::duplicate, &Spoiler::swap_near, &Spoiler::swap_far, &Spoiler::move, &Spoiler::shift,
        &Spoiler::shift, &Spoiler::workspace, &Spoiler::choice, &Spoiler::subject, &Spoiler::outputs, &Spoiler::initial,
        &Spoiler::staging, &Spoiler::budget, &Spoiler::deadline, &Spoiler::prediction, &Spoiler::bound,
        &Spoiler::free_early, &Spoiler::page_late, &Spoiler::pin, &Spoiler::no_budget,
        // Of graphs whose storage has slots:
        &Spoiler::slot, &Spoiler::slot, &Spoiler::one_slot, &Spoiler::no_page_out, &Spoiler::no_page_out,
        &Spoiler::stream_twice, &Spoiler::capacity, &Spoiler::stream, &Spoiler::stream};
    constexpr size_t kOfSlots = 9;
    const size_t ways = std::size(kWays) - (streams() ? 0 : kOfSlots);
    for (int attempt = 0; attempt < 20; ++attempt) {
      std::string name = (this->*kWays[random_.index(ways)])();
      if (!name.empty()) return name;
    }
    return "none";
  }

 private:
  std::vector<Instruction>& steps() { return plan_.instructions; }
  std::vector<Instruction>::iterator any() {
    return steps().begin() + static_cast<std::ptrdiff_t>(random_.index(steps().size()));
  }
  Instruction* any(Do what) {
    for (int attempt = 0; attempt < 20 && !steps().empty(); ++attempt)
      if (const auto step = any(); step->what == what) return &*step;
    return nullptr;
  }

  std::string drop() {
    if (steps().empty()) return {};
    steps().erase(any());
    return "drop";
  }
  std::string duplicate() {
    if (steps().empty()) return {};
    const Instruction copy = *any();
    steps().insert(any(), copy);
    return "duplicate";
  }
  std::string swap_near() {
    if (steps().size() < 2) return {};
    const size_t first = random_.index(steps().size() - 1);
    std::swap(steps()[first], steps()[first + 1]);
    return "swap near";
  }
  std::string swap_far() {
    if (steps().size() < 3) return {};
    std::iter_swap(any(), any());
    return "swap far";
  }
  std::string move() {
    if (steps().size() < 3) return {};
    const auto from = any();
    const Instruction moved = *from;
    steps().erase(from);
    steps().insert(any(), moved);
    return "move";
  }
  std::string shift() {
    if (steps().empty()) return {};
    const auto step = any();
    if (step->at.empty()) return {};
    const int64_t align = random_.chance(0.2) ? 1 : plan_.graph.device.align_bytes;
    int64_t& at = step->at[random_.index(step->at.size())];
    at = std::max<int64_t>(0, at + align * random_.between(-40, 40));
    return "shift";
  }
  std::string workspace() {
    Instruction* step = any(Do::kCompute);
    if (step == nullptr || step->workspace_at < 0) return {};
    step->workspace_at =
        random_.chance(0.3) ? -1 : step->workspace_at + plan_.graph.device.align_bytes * random_.between(0, 20);
    return "workspace";
  }
  std::string choice() {
    Instruction* step = any(Do::kCompute);
    if (step == nullptr) return {};
    step->choice = static_cast<int>(random_.between(0, 3));
    return "choice";
  }
  std::string subject() {
    if (steps().empty()) return {};
    any()->subject = random_.chance(0.3) ? 987654 : any()->subject;
    return "subject";
  }
  std::string outputs() {
    Instruction* step = any(Do::kCompute);
    if (step == nullptr) return {};
    if (step->at.empty() || random_.chance(0.5)) {
      step->at.push_back(random_.between(0, 4096));
    } else {
      step->at.pop_back();
    }
    return "outputs";
  }
  std::string initial() {
    if (plan_.initial.empty()) return {};
    auto entry = std::next(plan_.initial.begin(), static_cast<std::ptrdiff_t>(random_.index(plan_.initial.size())));
    if (random_.chance(0.3)) {
      plan_.initial.erase(entry);
    } else {
      entry->second = random_.between(0, 4096);
    }
    return "initial";
  }
  std::string staging() {
    if (plan_.staging_at < 0) return {};
    plan_.staging_at = random_.chance(0.3) ? -1 : random_.between(0, 4096);
    return "staging";
  }
  std::string budget() {
    if (plan_.predicted.arena_bytes < 1) return {};
    plan_.question.budget = random_.between(0, plan_.predicted.arena_bytes - 1);
    return "budget";
  }
  std::string deadline() {
    if (!(plan_.predicted.time_s > 0)) return {};
    plan_.question.deadline = plan_.predicted.time_s * (random_.chance(0.5) ? 1 - 1e-7 : random_.unit());
    return "deadline";
  }
  std::string prediction() {
    problem::Predicted& predicted = plan_.predicted;
    const double factor = random_.chance(0.5) ? 1 + 1e-5 : 1 - random_.unit() * 0.5;
    switch (random_.between(0, 3)) {
      case 0:
        predicted.time_s *= factor;
        break;
      case 1:
        predicted.energy_j *= factor;
        break;
      case 2:
        predicted.peak_bytes += random_.between(1, 100);
        break;
      default:
        predicted.arena_bytes += random_.between(1, 100);
    }
    return "prediction";
  }
  std::string bound() {
    if (!(plan_.predicted.energy_j > 0) || !(plan_.predicted.time_s > 0)) return {};
    const double factor = random_.chance(0.5) ? 1 + 1e-5 : 1 + random_.unit();
    if (random_.chance(0.5)) {
      plan_.bound.energy_j = plan_.predicted.energy_j * factor;
    } else {
      plan_.bound.time_s = plan_.predicted.time_s * factor;
    }
    return "bound";
  }
  // A fault of the graph: what is pinned has an op that overwrites it with another tensor than its next.
  std::string pin() {
    std::vector<int64_t> sources;
    for (const problem::Op& op : plan_.graph.ops)
      for (const problem::Choice& choice : op.choices)
        for (const auto& [out, in] : choice.overwrites) sources.push_back(op.inputs[static_cast<size_t>(in)]);
    if (sources.empty()) return {};
    const int64_t source = sources[random_.index(sources.size())];
    for (problem::Tensor& tensor : plan_.graph.tensors)
      if (tensor.id == source) tensor.pinned = true;
    return "pin";
  }
  bool streams() const {
    return std::ranges::any_of(plan_.graph.ops, [](const problem::Op& op) {
      return std::ranges::any_of(op.choices, [](const problem::Choice& choice) { return choice.stream.any(); });
    });
  }
  // In storage: elsewhere, where another one is, or nowhere.
  std::string slot() {
    if (plan_.storage.empty()) return {};
    const auto entry = [&] {
      return std::next(plan_.storage.begin(), static_cast<std::ptrdiff_t>(random_.index(plan_.storage.size())));
    };
    const auto moved = entry();
    const int64_t block = plan_.graph.device.pager.block_bytes;
    switch (random_.between(0, 3)) {
      case 0:
        plan_.storage.erase(moved);
        break;
      case 1:
        moved->second = entry()->second;
        break;
      case 2:
        moved->second = std::max<int64_t>(0, moved->second + block * random_.between(-3, 3));
        break;
      default:
        moved->second += random_.between(1, 40);
    }
    return "slot";
  }
  std::string one_slot() {
    plan_.question.freedoms.one_slot = !plan_.question.freedoms.one_slot;
    return "one slot";
  }
  std::string no_page_out() {
    Instruction* step = any(Do::kPageOut);
    if (step == nullptr) return {};
    steps().erase(steps().begin() + (step - steps().data()));
    return "no page_out";
  }
  // What was streamed out already is computed again.
  std::string stream_twice() {
    Instruction* step = any(Do::kCompute);
    if (step == nullptr) return {};
    const Instruction copy = *step;
    steps().push_back(copy);
    return "stream twice";
  }
  // Of the graph: a stream with another figure or position, which may be as good as the old one.
  std::string stream() {
    problem::Op& op = plan_.graph.ops[random_.index(plan_.graph.ops.size())];
    problem::Choice& choice = op.choices[random_.index(op.choices.size())];
    problem::Stream& stream = choice.stream;
    if (!stream.any()) return {};
    const int64_t block = plan_.graph.device.pager.block_bytes;
    switch (random_.between(0, 7)) {
      case 0:
        stream.bytes_in = std::max<int64_t>(0, stream.bytes_in + block * random_.between(-2, 2));
        break;
      case 1:
        stream.bytes_out = std::max<int64_t>(0, stream.bytes_out + block * random_.between(-2, 2));
        break;
      case 2:
        (random_.chance(0.5) ? stream.bytes_in : stream.bytes_out) += random_.between(1, 20);
        break;
      case 3:
        (random_.chance(0.5) ? stream.transfers_in : stream.transfers_out) *= random_.between(0, 3);
        break;
      case 4:
        stream.in_place = !stream.in_place;
        break;
      case 5:
        stream.async_s = stream.async_s.value_or(choice.time_s) * (random_.chance(0.5) ? 0.5 : 2);
        break;
      case 6:
        if (!stream.out.empty()) stream.in.swap(stream.out);
        break;
      default:
        (random_.chance(0.5) ? stream.in : stream.out).push_back(static_cast<int>(random_.between(0, 2)));
    }
    return "stream";
  }
  std::string capacity() {
    if (plan_.storage.empty()) return {};
    int64_t most = 0;
    for (const auto& [tensor, at] : plan_.storage) most = std::max(most, at);
    plan_.graph.device.pager.capacity_bytes = most + random_.between(0, 600);
    return "capacity";
  }
  std::string no_budget() {
    plan_.question.budget.reset();
    return "no budget";
  }
  std::string free_early() { return shift_in_time(Do::kFree, -3, "free early"); }
  std::string page_late() { return shift_in_time(Do::kPageIn, 3, "page late"); }
  std::string shift_in_time(Do what, int64_t most, const char* name) {
    Instruction* step = any(what);
    if (step == nullptr) return {};
    const auto from = step - steps().data();
    const auto last = static_cast<std::ptrdiff_t>(steps().size()) - 1;
    const auto to = std::clamp<std::ptrdiff_t>(
        from + random_.between(std::min<int64_t>(1, most), std::max<int64_t>(-1, most)), 0, last);
    const Instruction moved = *step;
    steps().erase(steps().begin() + from);
    steps().insert(steps().begin() + to, moved);
    return name;
  }

  Plan& plan_;
  Random& random_;
};

}  // namespace

RandomCase random_case(uint64_t seed, const RandomGraphOptions& options) {
  Random random(seed * 2 + 1);
  const problem::CostGraph graph = random_cost_graph(random.bits(), options);
  RandomCase result{random_plan(graph, random.bits()), "none"};
  predict(result.plan, random);
  if (random.chance(0.45)) return result;
  result.mutation = Spoiler(result.plan, random).spoil();
  const bool in_the_stream = result.mutation != "budget" && result.mutation != "deadline" &&
                             result.mutation != "prediction" && result.mutation != "bound" &&
                             result.mutation != "no budget";
  if (in_the_stream && random.chance(0.6)) {  // what still holds is predicted anew, so that its figures are compared
    Plan again = result.plan;
    if (predict(again, random)) result.plan = std::move(again);
  }
  return result;
}

}  // namespace pantoum::check
