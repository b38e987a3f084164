// One class, because all parts work on the same samples: kernels, the step, the fit, and what is put into the costs.
#include "cost/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <thread>
#include <unordered_map>

#include "cost/cache_context.h"
#include "cost/fit_model.h"
#include "cost/kernel_bench.h"
#include "cost/step_bench.h"
#include "cost/thread_counts.h"
#include "ir/op_registry.h"

namespace pantoum::cost {
namespace {

using Clock = KernelBench::Clock;

using problem::Choice;

constexpr Seconds kLeastSlice = 1e-3, kMostSlice = 20e-3, kSettlingSlice = 0.2;  // of one kernel's runs
constexpr size_t kFewWarmRuns = 3, kWarmRuns = 5;
constexpr Seconds kShortStep = 0.1, kLongStep = 0.5;  // of the step's rounds
constexpr Seconds kShortest = 1e-9;
constexpr double kOtherBits =
    0.95;  // a choice of another class of numerics must take less than this share of the first choice's seconds
constexpr double kModelled = 0.8;  // the same for a choice that was not measured, where the first choice was
constexpr double kRunsExpected =
    8;                          // of a kernel: one to warm up, three with cold caches, one more, three with warm caches
constexpr int kMostVisits = 3;  // how often a kernel is measured again that proves quicker every time
constexpr int kShareOfVisits =
    4;  // visits take a quarter of the time that measuring took; no limit where kernels are to settle
constexpr int64_t kLeastRunsOfMedian = 3;
constexpr double kQuicker =
    0.9;  // a kernel that now takes less than this share of its measured seconds was disturbed before
constexpr double kShareOfStep = 0.5;  // of the time that is left: what running the step may take
constexpr double kDisturbed = 1.15;   // a step that takes more than this times its kernels' seconds was disturbed
constexpr int kMostAgain = 6, kSameRuns = 2;
constexpr double kSame = 0.99;  // a run that takes less than this share of the last one is quicker
constexpr Seconds kMoment = 0.25;
constexpr double kShareOfWaiting = 0.2;  // of the time limit: what waiting for processors may take
constexpr Seconds kMostWaiting = 10, kWaitingMoment = 0.02;

// One kernel on some shapes.
struct Sample {
  const ir::Graph* graph;
  const ir::Op* op;
  const pt_kernel* kernel;
  Seconds modelled = 0;  // seconds by the device profile
  Bytes workspace = 0;
  uint32_t threads = 1;
  OpKey key = {};
  std::string text = {};  // of the key
  double fitted = 1;      // what the model's seconds are multiplied by
  double weight = 0;      // modelled seconds of all choices that use it
  double times = 0;       // how often the first program runs it, at first choices
  bool allowed = false;   // some op may be computed by this kernel
  std::optional<OpSample> found = {};
  bool visited_all = false;             // measuring it once more told nothing new
  std::optional<Seconds> in_step = {};  // seconds inside the first program's step
  [[nodiscard]] std::optional<Seconds> measured() const { return found ? std::optional(found->seconds) : std::nullopt; }
};

class Measuring {
 public:
  Measuring(const std::vector<Measurable>& programs, ProfileStore& store, const MeasuringLimits& limits)
      : programs_(programs),
        store_(&store),
        limits_(limits),
        deadline_(deadline_in(limits.seconds)),
        waiting_left_(std::min(kMostWaiting, kShareOfWaiting * limits.seconds)) {}

  MeasuredCosts run() {
    collect();
    look_up();
    take_step();
    measure();
    take_step_again();
    take_step_of_others();
    if (costs_.now > 0 || ran_step_) tell(true);
    apply();
    return std::move(costs_);
  }

 private:
  static Clock::time_point deadline_in(Seconds seconds) {
    constexpr Seconds kYear = 3.2e7;
    return Clock::now() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::clamp(seconds, 0.0, kYear)));
  }

  // Makes one sample for each key, and notes which sample each choice has.
  void collect() {
    for (const Measurable& program : programs_) {
      samples_of_.emplace_back(program.built.graph.ops.size());
      for (size_t op = 0; op < program.built.graph.ops.size(); ++op) add_op(program, op);
    }
    costs_.kernels = static_cast<size_t>(
        std::count_if(samples_.begin(), samples_.end(), [](const Sample& sample) { return sample.allowed; }));
  }

  void add_op(const Measurable& program, size_t op) {
    const std::vector<Choice>& choices = program.built.graph.ops[op].choices;
    for (size_t choice = 0; choice < choices.size(); ++choice) {
      const ir::Op& as = program.built.computed_as[op][choice];
      const pt_kernel* kernel = program.built.kernel_of[op][choice];
      const uint32_t threads = threads_of(program.built, op, choice);
      OpKey key = op_key(program.graph, as, *kernel, threads, limits_.machine);
      const auto [entry, is_new] = sample_of_.try_emplace(text_of(key), samples_.size());
      if (is_new) {
        samples_.push_back({&program.graph, &as, kernel, choices[choice].time_s, choices[choice].workspace_bytes,
                            threads, std::move(key), entry->first});
      }
      Sample& sample = samples_[entry->second];
      sample.weight += choices[choice].time_s;
      sample.allowed = sample.allowed || limits_.numerics || choices[choice].numerics == choices.front().numerics;
      if (samples_of_.size() == 1 && choice == 0) ++sample.times;
      samples_of_.back()[op].push_back(entry->second);
    }
  }

  [[nodiscard]] uint32_t threads_of(const BuiltCostGraph& built, size_t op, size_t choice) const {
    const uint32_t all = limits_.pool != nullptr ? limits_.pool->threads : 1;
    const int fewer = built.threads_of[op][choice];
    return fewer > 0 ? std::min(all, static_cast<uint32_t>(fewer)) : all;
  }

  // What the store has of a kernel. A device's table may have been measured on several threads.
  Result<std::optional<OpSample>> find(const OpKey& key) {
    if (limits_.pool == nullptr && limits_.threads > 1) {
      OpKey on_threads = key;
      on_threads.threads = limits_.threads;
      Result<std::optional<OpSample>> found = store_->find_op(on_threads);
      if (!found || *found) return found;
    }
    return store_->find_op(key);
  }

  // Takes known times from the store. A store that fails is not asked again.
  void look_up() {
    if (limits_.anew) return;
    for (size_t sample = 0; sample < samples_.size() && store_ != nullptr; ++sample) {
      if (!samples_[sample].allowed) continue;
      Result<std::optional<OpSample>> found = find(samples_[sample].key);
      if (!found) return leave_store(found.error());
      if (*found) samples_[sample].found = **found, ++costs_.known;
    }
  }

  void leave_store(const Error& error) {
    costs_.store_failure = error;
    store_ = nullptr;
  }

  // Finds the seconds of the first program's ops inside its step: in the store, or by running the step.
  void take_step() {
    if (limits_.in_step == nullptr || !limits_.runs_step || programs_.empty()) return;
    step_.emplace(step_of(std::vector<size_t>(programs_.front().built.graph.ops.size(), 0)));
    if (is_known(*step_)) return;
    runs_step_ = left() > 0;
    if (runs_step_) (void)run_step(*step_, kShareOfStep * left(), slice());
  }

  // Runs the step once more when all kernels are measured, because what disturbed the first rounds may be gone. Where the step
  // still seems disturbed, and where times are to settle, it runs again after a moment: virtual machines lose a processor for
  // seconds.
  void take_step_again() {
    if (!runs_step_) return;
    (void)run_step(*step_, left(), slice());
    int same = 0;
    const auto wanted = [&] { return is_disturbed() || (limits_.settle && same < kSameRuns); };
    for (int again = 0; again < kMostAgain && wanted() && left() > 2 * kMoment; ++again) {
      const Seconds before = seconds_of(*step_);
      std::this_thread::sleep_for(std::chrono::duration<double>(kMoment));
      if (!run_step(*step_, left(), kShortStep)) return;
      same = seconds_of(*step_) > kSame * before ? same + 1 : 0;
    }
  }

  [[nodiscard]] static Seconds seconds_of(const MeasuredStep& step) {
    Seconds sum = 0;
    step.each([&](const problem::Op&, size_t, const OpKey& key) { sum += step.find(key).value_or(0); });
    return sum;
  }

  // Do the ops take clearly more inside the step than their kernels take alone?
  [[nodiscard]] bool is_disturbed() const {
    const BuiltCostGraph& built = programs_.front().built;
    const auto cold = cold_shares(built.graph, limits_.cache_bytes);
    const double usual = usual_warmth();
    Seconds in_step = 0, by_kernel = 0;
    step_->each([&](const problem::Op& op, size_t choice, const OpKey& key) {
      const size_t sample = sample_of_.at(text_of(key));
      if (!samples_[sample].found) return;
      in_step += step_->find(key).value_or(0);
      by_kernel += seconds_of(sample, 0, cold[static_cast<size_t>(op.id)][choice], usual);
    });
    return in_step > kDisturbed * by_kernel;
  }

  // Runs the step twice with the choices that seem quicker than the first ones: their own ratio says more than that of the first
  // choice.
  void take_step_of_others() {
    if (!step_ || !step_->is_found()) return;
    const std::vector<size_t> choices = quickest_choices();
    if (std::all_of(choices.begin(), choices.end(), [](size_t choice) { return choice == 0; })) return;
    step_of_others_.emplace(step_of(choices));
    if (is_known(*step_of_others_)) return;
    for (int run = 0; run < 2 && left() > 0; ++run) (void)run_step(*step_of_others_, left(), slice());
  }

  // Were both choices measured, and do they read and write the same values? (The result of an optional op is not in the step.)
  [[nodiscard]] bool can_stand_for_first(size_t op, size_t choice) const {
    const std::vector<size_t>& of_op = samples_of_.front()[op];
    const std::vector<ir::Op>& as = programs_.front().built.computed_as[op];
    return samples_[of_op.front()].found && samples_[of_op[choice]].found && as[choice].inputs == as.front().inputs &&
           as[choice].outputs == as.front().outputs;
  }

  // The quickest choice of each op of the first program.
  [[nodiscard]] std::vector<size_t> quickest_choices() const {
    const BuiltCostGraph& built = programs_.front().built;
    const auto cold = cold_shares(built.graph, limits_.cache_bytes);
    const double usual = usual_warmth();
    std::vector<size_t> quickest(built.graph.ops.size(), 0);
    for (size_t op = 0; op < quickest.size(); ++op) {
      const std::vector<size_t>& of_op = samples_of_.front()[op];
      const auto seconds = [&](size_t choice) { return seconds_of(of_op[choice], 0, cold[op][choice], usual); };
      for (size_t choice = 1; choice < of_op.size(); ++choice)
        if (can_stand_for_first(op, choice) && seconds(choice) < seconds(quickest[op])) quickest[op] = choice;
    }
    return quickest;
  }

  [[nodiscard]] MeasuredStep step_of(const std::vector<size_t>& choices) const {
    const Measurable& program = programs_.front();
    std::vector<OpKey> keys(choices.size());
    for (size_t op = 0; op < keys.size(); ++op)
      if (!samples_of_.front()[op].empty()) keys[op] = samples_[samples_of_.front()[op][choices[op]]].key;
    return {program.graph, program.built, choices, std::move(keys)};
  }

  bool is_known(MeasuredStep& step) {
    if (limits_.anew || store_ == nullptr) return false;
    const Result<bool> known = step.look_up(*store_);
    if (!known) leave_store(known.error());
    if (!known || !*known) return false;
    remember(step);
    return true;
  }

  // Keeps the seconds inside the step with each sample. Those of the step of first choices are not replaced.
  void remember(const MeasuredStep& step) {
    for (size_t sample = 0; sample < samples_.size(); ++sample)
      if (&step == &*step_ || !step_->find(samples_[sample].key))
        samples_[sample].in_step = step.find(samples_[sample].key);
  }

  [[nodiscard]] Seconds slice() const { return limits_.settle ? kLongStep : kShortStep; }

  // Waits until every thread has a processor: what is measured while two threads share one holds for fewer threads.
  void await_processors() {
    while (limits_.pool != nullptr && !limits_.stop.stop_requested()) {
      const Seconds wait = std::min({kWaitingMoment, waiting_left_, left()});
      if (wait <= 0 || are_processors_present(*limits_.pool, limits_.slowest)) return;
      std::this_thread::sleep_for(std::chrono::duration<double>(wait));
      waiting_left_ -= wait;
    }
  }

  bool run_step(MeasuredStep& step, Seconds share, Seconds slice) {
    if (share <= 0 || limits_.stop.stop_requested()) return false;
    await_processors();
    Seconds expected = 0;
    step.each([&](const problem::Op& op, size_t choice, const OpKey& key) {
      const std::optional<Seconds> measured = samples_[sample_of_.at(text_of(key))].measured();
      expected += step.find(key).value_or(measured.value_or(op.choices[choice].time_s));
    });
    const bool ran = step.run({.pool = limits_.pool,
                               .memory = limits_.memory_bytes,
                               .slice = slice,
                               .expected = expected,
                               .deadline = std::min(deadline_, deadline_in(share)),
                               .stop = limits_.stop});
    if (!ran) return false;
    ran_step_ = true;
    remember(step);
    if (store_ == nullptr) return true;
    if (const Result<void> kept = step.keep(*store_); !kept) leave_store(kept.error());
    return true;
  }

  // Computes the ratios: what the first program's ops took inside its step over what their kernels' times say.
  void compare_with_step(const std::vector<std::vector<double>>& cold, double usual) {
    if (!step_) return;
    struct Sums {
      Seconds in_step = 0, by_kernel = 0;
      void add(Seconds taken, Seconds guessed) { in_step += taken, by_kernel += guessed; }
      [[nodiscard]] double factor() const { return in_step / std::max(by_kernel, kShortest); }
    };
    std::map<std::string, Sums> of_op, of_kind, of_other;
    Sums all;
    const auto by_kernel_of = [&](const problem::Op& op, size_t choice, size_t sample) {
      return seconds_of(sample, op.choices[choice].time_s, cold[static_cast<size_t>(op.id)][choice], usual);
    };
    step_->each([&](const problem::Op& op, size_t choice, const OpKey& key) {
      const std::optional<Seconds> seconds = step_->find(key);
      if (!seconds) return;
      const size_t sample = sample_of_.at(text_of(key));
      const Seconds by_kernel = by_kernel_of(op, choice, sample);
      of_op[text_of(key)].add(*seconds, by_kernel);
      if (!samples_[sample].found) return;  // the ratio holds the model's error, which says nothing about other kernels
      for (Sums* sums : {&of_kind[key.op], &all}) sums->add(*seconds, by_kernel);
    });
    if (step_of_others_)
      step_of_others_->each([&](const problem::Op& op, size_t choice, const OpKey& key) {
        const std::optional<Seconds> seconds = choice > 0 ? step_of_others_->find(key) : std::nullopt;
        if (seconds) of_other[text_of(key)].add(*seconds, by_kernel_of(op, choice, sample_of_.at(text_of(key))));
      });
    StepFactors& found = *limits_.in_step;
    for (const auto& [key, sums] : of_op) found.of_op[key] = sums.factor();
    for (const auto& [key, sums] : of_other) found.of_other[key] = sums.factor();
    for (const auto& [kind, sums] : of_kind) found.of_kind[kind] = sums.factor();
    found.usual = all.by_kernel > 0 ? all.factor() : 1;
  }

  // The ratio for a choice of an op whose first choice is the sample `first`.
  [[nodiscard]] double factor_of(size_t first, size_t choice) const {
    if (limits_.in_step == nullptr || !limits_.in_step->usual) return 1;
    const StepFactors& found = *limits_.in_step;
    if (const auto other = found.of_other.find(samples_[choice].text); choice != first && other != found.of_other.end())
      return other->second;
    const bool alike = samples_[first].found || !samples_[choice].found;  // both were measured, or both modelled
    const auto known = found.of_op.find(samples_[first].text);
    if (alike && known != found.of_op.end()) return known->second;
    const auto of_kind = found.of_kind.find(samples_[first].key.op);
    return of_kind != found.of_kind.end() ? of_kind->second : *found.usual;
  }

  [[nodiscard]] bool is_wanted(const Sample& sample) const {
    if (!sample.allowed) return false;
    return !sample.found || (limits_.settle && (!is_settled(*sample.found) || !sample.found->warm_s)) ||
           (limits_.energy_of && !sample.found->joules);
  }

  [[nodiscard]] std::vector<size_t> heaviest_first() const {
    std::vector<size_t> order;
    for (size_t sample = 0; sample < samples_.size(); ++sample)
      if (is_wanted(samples_[sample])) order.push_back(sample);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return samples_[a].weight > samples_[b].weight; });
    return order;
  }

  [[nodiscard]] Seconds left() const { return std::chrono::duration<double>(deadline_ - Clock::now()).count(); }

  void measure() {
    const std::vector<size_t> order = heaviest_first();
    if (order.empty() || left() <= 0) return;
    await_processors();
    KernelBench bench(limits_.pool, limits_.cold_footprint, limits_.memory_bytes);
    const Clock::time_point begin = Clock::now();
    for (size_t done = 0; done < order.size(); ++done) {
      if (limits_.stop.stop_requested() || left() <= 0) break;
      measure(bench, order[done], order.size() - done);
      tell(false);
    }
    const auto taken = Clock::now() - begin;
    await_processors();
    visits_end_ = limits_.settle ? deadline_ : std::min(deadline_, Clock::now() + taken / kShareOfVisits);
    for (int visit = 0; visit < kMostVisits && visit_again(bench, order); ++visit) {
    }
  }

  // Runs each kernel a few times more, because other work of the machine may have disturbed it when it was measured. A kernel that
  // is quicker now is measured again. Returns whether any was.
  bool visit_again(KernelBench& bench, const std::vector<size_t>& order) {
    bool quicker = false;
    for (const size_t at : order) {
      Sample& sample = samples_[at];
      if (!sample.found || sample.visited_all) continue;
      const std::chrono::duration<double> left = visits_end_ - Clock::now();
      if (limits_.stop.stop_requested() || left.count() <= kRunsExpected * sample.found->seconds) return false;
      bench.take_threads(sample.threads);
      const auto measured = [&](Seconds slice, size_t warm_runs) {
        const BenchLimits limits{.slice = slice, .deadline = visits_end_, .warm_runs = warm_runs};
        return bench.measure(*sample.graph, *sample.op, *sample.kernel, limits);
      };
      std::optional<OpSample> now = measured(kLeastSlice, 0);
      sample.visited_all = !now || now->seconds >= kQuicker * sample.found->seconds;
      if (sample.visited_all) continue;
      const bool settles = limits_.settle;
      now = measured(settles ? kSettlingSlice : kMostSlice, settles ? kWarmRuns : kFewWarmRuns);
      const bool whole = now && now->runs >= kLeastRunsOfMedian;  // else the deadline came first
      if (!whole || now->seconds >= sample.found->seconds) continue;
      if (!now->warm_s && sample.found->warm_s) now->warm_s = std::min(*sample.found->warm_s, now->seconds);
      now->joules = sample.found->joules, now->meter = sample.found->meter;
      sample.found = std::move(now);
      keep(at);
      quicker = true;
    }
    return quicker;
  }

  void tell(bool last) const {
    const auto done = std::count_if(samples_.begin(), samples_.end(), [](const Sample& sample) {
      return sample.allowed && (sample.found || sample.in_step);
    });
    if (limits_.progress) limits_.progress(static_cast<size_t>(done), costs_.kernels, last);
  }

  void measure(KernelBench& bench, size_t at, size_t waiting) {
    Sample& sample = samples_[at];
    if (kRunsExpected * sample.modelled * measured_over_modelled() > left()) return;
    bench.take_threads(sample.threads);
    if (bench.bytes_of(*sample.graph, *sample.op, *sample.kernel) > limits_.memory_bytes) {
      ++costs_.too_large;
      return;
    }
    const Seconds most = limits_.settle ? kSettlingSlice : kMostSlice;
    const BenchLimits limits{.slice = std::clamp(left() / static_cast<double>(waiting), kLeastSlice, most),
                             .deadline = deadline_,
                             .warm_runs = limits_.settle ? kWarmRuns : kFewWarmRuns};
    std::optional<OpSample> found = bench.measure(*sample.graph, *sample.op, *sample.kernel, limits);
    if (!found) return;
    if (limits_.energy_of) {
      if (const auto energy = limits_.energy_of(bench.runner(*sample.graph, *sample.op, *sample.kernel)))
        found->joules = energy->joules, found->meter = energy->meter;
    } else if (sample.found) {
      found->joules = sample.found->joules, found->meter = sample.found->meter;
    }
    costs_.known -= sample.found ? 1 : 0;
    sample.found = std::move(found);
    ++costs_.now;
    const double times = sample.modelled > 0 ? sample.weight / sample.modelled : 0;
    measured_so_far_ += times * sample.found->seconds, modelled_so_far_ += times * sample.modelled;
    keep(at);
  }

  [[nodiscard]] double measured_over_modelled() const {
    return measured_so_far_ > 0 && modelled_so_far_ > 0 ? measured_so_far_ / modelled_so_far_ : 1;
  }

  void keep(size_t at) {
    if (store_ == nullptr) return;
    const Result<void> kept = store_->put_op(samples_[at].key, *samples_[at].found);
    if (!kept) leave_store(kept.error());
  }

  void apply() {
    fit();
    tell_found();
    bool any = false;
    for (size_t sample = 0; sample < samples_.size(); ++sample)
      any = any || samples_[sample].found || samples_[sample].in_step;
    if (!any) return;
    for (size_t program = 0; program < programs_.size(); ++program) apply_to(program);
  }

  // Fits the model to what was measured, and notes for every sample the fitted model's seconds over the profile's. What the profile
  // says beside the work (that a kernel is slow by its nature) stays as it is.
  void fit() {
    std::vector<MeasuredRow> rows;
    std::vector<Work> works;
    for (const Sample& sample : samples_) {
      works.push_back(work_of(*sample.graph, *sample.op, sample.workspace, sample.kernel));
      const Seconds plain = modelled_seconds(limits_.compute, works.back());
      if (!sample.found || !(sample.modelled > 0)) continue;
      rows.push_back(
          {std::string(ir::name_of(sample.op->kind)), works.back(), sample.found->seconds * plain / sample.modelled});
    }
    const FittedModel fitted = fit_model(rows, limits_.compute);
    for (size_t at = 0; at < samples_.size(); ++at) {
      const Seconds plain = modelled_seconds(limits_.compute, works[at]);
      const Seconds now = fitted.seconds(std::string(ir::name_of(samples_[at].op->kind)), works[at]);
      samples_[at].fitted = !rows.empty() && plain > 0 && std::isfinite(now) ? now / plain : 1;
    }
  }

  void tell_found() {
    for (size_t number = 0; number < samples_.size(); ++number) {
      const Sample& sample = samples_[number];
      if (!sample.allowed) continue;
      costs_.unsettled += sample.found && !is_settled(*sample.found) ? 1 : 0;
      costs_.found.push_back({sample.key, sample.times, sample.modelled * sample.fitted, sample.found, sample.in_step});
    }
    const auto weight = [](const FoundKernel& of) { return of.times * usual_seconds(of); };
    std::stable_sort(costs_.found.begin(), costs_.found.end(),
                     [&](const FoundKernel& a, const FoundKernel& b) { return weight(a) > weight(b); });
  }

  // The seconds with warm caches over those with cold ones, of all that was measured.
  [[nodiscard]] double usual_warmth() const {
    double cold = 0, warm = 0;
    for (const Sample& sample : samples_) {
      if (!sample.found || !sample.found->warm_s) continue;
      cold += sample.weight / std::max(sample.modelled, 1e-12) * sample.found->seconds;
      warm += sample.weight / std::max(sample.modelled, 1e-12) * std::min(*sample.found->warm_s, sample.found->seconds);
    }
    return cold > 0 ? warm / cold : 1;
  }

  // The seconds of a sample in a step that finds `cold_share` of the op's bytes beyond the caches.
  [[nodiscard]] Seconds seconds_of(size_t number, Seconds modelled, double cold_share, double usual) const {
    const std::optional<OpSample>& found = samples_[number].found;
    const Seconds cold = found ? found->seconds : modelled * samples_[number].fitted;
    const Seconds warm = found && found->warm_s ? std::min(*found->warm_s, cold) : found ? cold : cold * usual;
    return limits_.cache_bytes > 0 ? warm + (cold - warm) * cold_share : cold;
  }

  // A choice counts as quicker only below this share of the first choice's seconds: two measurements of one kernel differ a
  // little, a model and a measurement differ more.
  [[nodiscard]] static double what_it_has_to_gain(const Sample& of_first, const Sample& sample, const Choice& choice,
                                                  const Choice& first) {
    if (!sample.found) return of_first.found ? kModelled : 1;
    return choice.numerics != first.numerics ? kOtherBits : 1;
  }

  void apply_to(size_t program) {
    const auto cold = cold_shares(programs_[program].built.graph, limits_.cache_bytes);
    const double usual = usual_warmth();
    if (program == 0) compare_with_step(cold, usual);
    double measured = 0, all = 0;
    for (problem::Op& op : programs_[program].built.graph.ops) {
      const auto id = static_cast<size_t>(op.id);
      const std::vector<size_t>& of_op = samples_of_[program][id];
      for (size_t at = 0; at < of_op.size(); ++at) {
        Choice& choice = op.choices[at];
        const Choice& first = op.choices.front();
        const Sample& sample = samples_[of_op[at]];
        choice.time_s = factor_of(of_op.front(), of_op[at]) * seconds_of(of_op[at], choice.time_s, cold[id][at], usual);
        if (at > 0 &&
            choice.time_s > what_it_has_to_gain(samples_[of_op.front()], sample, choice, first) * first.time_s)
          choice.time_s = std::max(choice.time_s, first.time_s);
        if (limits_.compute.active_w > 0)
          choice.energy_j = choice.time_s * watts_on(limits_.compute, static_cast<int>(sample.threads));
        if (sample.found && sample.found->joules)
          choice.energy_j = *sample.found->joules * (choice.time_s / sample.found->seconds);
        if (at > 0) continue;
        all += choice.time_s;
        measured += sample.found || sample.in_step ? choice.time_s : 0;
      }
    }
    if (program == 0 && all > 0) costs_.share = measured / all;
  }

  const std::vector<Measurable>& programs_;
  ProfileStore* store_;  // null: nothing is kept
  const MeasuringLimits& limits_;
  Clock::time_point deadline_, visits_end_;
  Seconds waiting_left_;
  std::vector<Sample> samples_;
  std::unordered_map<std::string, size_t> sample_of_;
  std::vector<std::vector<std::vector<size_t>>> samples_of_;  // the sample of each choice, by program and op
  std::optional<MeasuredStep> step_;                          // the first program's step at first choices
  std::optional<MeasuredStep> step_of_others_;                // the same step with the choices that seem quicker
  bool runs_step_ = false, ran_step_ = false;                 // the step is to be run; it was run
  Seconds measured_so_far_ = 0, modelled_so_far_ = 0;
  MeasuredCosts costs_;
};

}  // namespace

Seconds usual_seconds(const FoundKernel& found) {
  if (found.in_step_s) return *found.in_step_s;
  return found.sample ? found.sample->seconds : found.modelled_s;
}

MeasuredCosts measure_costs(const std::vector<Measurable>& programs, ProfileStore& store,
                            const MeasuringLimits& limits) {
  return Measuring(programs, store, limits).run();
}

}  // namespace pantoum::cost
