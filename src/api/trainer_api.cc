#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "api/access.h"
#include "pantoum/trainer.hpp"
#include "settings/fields.h"
#include "train/run_loop.h"
#include "train/tensor_table.h"
#include "train/trainer.h"

namespace pantoum {

struct Trainer::Impl {
  Plan plan;
  std::shared_ptr<const host::KernelSet> kernels;
  std::unique_ptr<train::Trainer> trainer;
  std::string page_folder;
  std::string resumed_from;
  std::unique_ptr<base::InputsInUse> inputs = std::make_unique<base::InputsInUse>();  // the plan guards others

  // The call that runs, from whose callbacks the user's code may call again.
  enum class Work { kNone, kFit, kPrograms } work = Work::kNone;

  // Ends the work when it goes, by an exception of a callback too.
  class Begun {
   public:
    Begun(Work& work, Work to) : work_(&work), before_(std::exchange(work, to)) {}
    Begun(Begun&& other) noexcept : work_(std::exchange(other.work_, nullptr)), before_(other.before_) {}
    Begun& operator=(Begun&&) = delete;
    ~Begun() {
      if (work_ != nullptr) *work_ = before_;
    }

   private:
    Work* work_;
    Work before_;
  };
  // E0105: a callback of a call that still runs asks for what would take its batches or wait for itself. Callbacks of fit may evaluate.
  [[nodiscard]] Result<Begun> begin(Work to, const char* where, bool is_evaluation = false) {
    if (work == Work::kNone || (work == Work::kFit && is_evaluation)) return Begun(work, to);
    return fail("E0105", fmt::format("the trainer still runs {}, whose callback calls this", work == Work::kFit ? "fit" : "a step or an evaluation"),
                where, "call it when that call has returned; a callback of fit may evaluate, read and save");
  }

  [[nodiscard]] const Access::PlanImpl& planned() const { return Access::impl(plan); }
  template <class Change>
  [[nodiscard]] Result<void> set_group(size_t group, double value, const char* where, const Change& change);
  [[nodiscard]] Result<void> predict(std::span<const data::SampleFile* const> files, const OnRows& take,
                                     const std::function<bool()>& go_on = {});
  template <class Half>
  [[nodiscard]] Result<StepStats> on_batch(const Batch& batch, const char* where, const Half& half);
};

namespace {

constexpr uint64_t kLabelBytes = uint64_t{8} << 20;  // as many labels are looked at before the first step
constexpr auto kBetweenProgress = std::chrono::milliseconds(100);

Evaluation public_evaluation(const train::Evaluation& from) {
  Evaluation made{.loss = from.loss, .losses = {}, .samples = from.samples};
  if (from.has_accuracy) made.accuracy = from.accuracy;
  if (from.term_count > 0) {
    made.top5 = from.terms[0].top5;
    made.mean_absolute_error = from.terms[0].mean_absolute_error;
  }
  for (size_t term = 0; term < from.term_count; ++term) made.losses.push_back(from.terms[term].loss);
  return made;
}

EpochStats public_epoch(const train::RunEvent& event) {
  EpochStats made{
      .epoch = event.epoch, .step = event.step, .mean_loss = event.mean_loss, .evaluation = {}, .best = event.best};
  if (event.evaluation) made.evaluation = public_evaluation(*event.evaluation);
  return made;
}

FitSummary public_summary(const train::RunSummary& from) {
  FitSummary made{.steps = from.steps,
                  .ran = from.ran,
                  .loss = from.loss,
                  .seconds = from.seconds,
                  .evaluation = {},
                  .stopped = from.interrupted,
                  .out_of_time = from.out_of_time,
                  .stopped_early = from.stopped_early,
                  .checkpoint = from.checkpoint};
  if (from.evaluation) made.evaluation = public_evaluation(*from.evaluation);
  return made;
}

// Calls back after every step; progress no more often than kBetweenProgress, and after the last step.
class Callbacks {
 public:
  explicit Callbacks(const FitOptions& options) : options_(options) {}

  void step(const FitProgress& from) {
    if (options_.on_batch) options_.on_batch({.step = from.step, .loss = from.loss, .lr = from.lr});
    if (!options_.on_progress) return;
    const auto now = std::chrono::steady_clock::now();
    if (from.step != from.total_steps && now - last_ < kBetweenProgress) return;
    last_ = now;
    options_.on_progress(from);
  }

  void event(const train::RunEvent& event) const {
    if (options_.on_epoch && event.kind == train::RunEvent::Kind::kEpoch) options_.on_epoch(public_epoch(event));
  }

 private:
  const FitOptions& options_;
  std::chrono::steady_clock::time_point last_;
};

bool is_one_file(const std::string& path, const std::string& other) {
  return !other.empty() && base::identity_of_file(path) == base::identity_of_file(other);
}

Result<train::RunOptions> run_options(const FitOptions& options, const std::string& resumed_from,
                                      Callbacks& callbacks) {
  PANTOUM_TRY(settings::check(settings::fields_of(const_cast<FitOptions&>(options)), "FitOptions"));
  train::RunOptions made{.epochs = options.epochs,
                         .checkpoint_every = options.checkpoint_every.value_or(0),
                         .checkpoint = options.checkpoint.value_or(""),
                         .old_checkpoint = options.checkpoint && is_one_file(*options.checkpoint, resumed_from)
                                               ? train::OldCheckpoint::kOwn
                                               : train::OldCheckpoint::kForeign,
                         .judge = {.by_accuracy = options.judge == Judge::accuracy,
                                   .patience = options.patience.value_or(0),
                                   .best = options.keep_best.value_or("")},
                         .max_seconds = options.max_time.value_or(Seconds(0)).count(),
                         .on_evaluated = options.on_evaluated,
                         .stop = options.stop};
  made.progress = [&callbacks](const FitProgress& progress) { callbacks.step(progress); };
  made.log = [&callbacks](const train::RunEvent& event) { callbacks.event(event); };
  return made;
}

// An exception of the user's code on the thread that makes batches would end the process.
data::BatchProducer guarded(Producer producer) {
  return [producer = std::move(producer)](uint64_t number, std::span<const data::BatchView> batch) -> Result<void> {
    std::vector<TensorView> views;
    views.reserve(batch.size());
    for (const data::BatchView& view : batch)
      views.push_back({view.name, api::public_type(view.dtype), view.shape, view.data});
    try {
      return producer(number, views);
    } catch (const std::exception& thrown) {
      return fail("E0107", fmt::format("the producer threw: {}", thrown.what()), fmt::format("batch {}", number));
    } catch (...) {
      return fail("E0107", "the producer threw", fmt::format("batch {}", number));
    }
  };
}

// The first thing that the user's code threw is kept: an exception must not pass the runtime, which is C.
train::OnGradient guarded(const OnGradient& on_gradient, std::optional<Error>& thrown) {
  return [&](const train::PlanTensor& sum, std::span<std::byte> data) {
    if (thrown) return;
    const auto refuse = [&](const std::string& what) {
      thrown = Error{.code = "E0107", .message = "on_gradient threw" + what, .where = sum.name};
    };
    try {
      on_gradient({sum.name, api::public_type(sum.dtype), sum.shape, data});
    } catch (const std::exception& exception) {
      refuse(std::string(": ") + exception.what());
    } catch (...) {
      refuse("");
    }
  };
}

TensorInfo public_tensor(const train::PlanTensor& tensor, bool in_ram) {
  return {.name = tensor.name,
          .dtype = api::public_type(tensor.dtype),
          .shape = tensor.shape,
          .in_ram = in_ram,
          .changes = tensor.changes};
}

// The sums of gradients, if the update is a program of its own; else the update empties them.
std::span<const train::PlanTensor> gradients_of(const train::TensorTable& table) {
  return table.update_program ? std::span(table.sums) : std::span<const train::PlanTensor>();
}

Result<const train::PlanTensor*> find_tensor(const train::TensorTable& table, const std::string& name) {
  for (const std::span<const train::PlanTensor> all :
       {std::span(table.weights), std::span(table.states), gradients_of(table)})
    for (const train::PlanTensor& tensor : all)
      if (tensor.name == name) return &tensor;
  return fail("E0104", fmt::format("there is no weight or state '{}'", name), name,
              "Trainer::tensors() names them all");
}

Failure other_size(const std::string& name, size_t given, uint64_t bytes) {
  return fail("E0262", fmt::format("{} bytes for '{}', which has {}", given, name, bytes), name);
}

}  // namespace

namespace {

constexpr const char* kOtherOutputs =
    "give the module outputs with the batch as their first dimension, or plan with more RAM";

}  // namespace

Trainer::Trainer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

Result<Trainer> Trainer::create(const Plan& plan, const TrainerOptions& options) {
  const Access::PlanImpl& planned = Access::impl(plan);
  if (planned.step.model.options.inference)
    return fail("E0105", "the plan is of inference: nothing trains", "Trainer::create", "plan without inference");
  auto impl = std::make_unique<Impl>(Impl{.plan = plan, .page_folder = options.page_file.value_or("")});
  // Threads of its own: trainers of one plan run side by side.
  using Choice = host::KernelSet::Choice;
  PANTOUM_ASSIGN(impl->kernels, host::KernelSet::open(
                                    planned.step.kernels->back_end() != nullptr ? Choice::kOneDnn : Choice::kPortable,
                                    planned.step.threads));
  PANTOUM_ASSIGN(const train::TrainerOptions settings,
                 pipeline::trainer_options(planned.step, *impl->kernels, options));
  PANTOUM_ASSIGN(impl->trainer, train::Trainer::create(planned.step.binary, planned.weights->path(), settings));
  impl->inputs->add(options.weights.value_or(""));
  if (options.weights) PANTOUM_TRY(impl->trainer->load(*options.weights));
  return Trainer(std::move(impl));
}

template <class Change>
Result<void> Trainer::Impl::set_group(size_t group, double value, const char* where, const Change& change) {
  const std::vector<train::GroupRates>& groups = trainer->groups();
  if (group >= groups.size())
    return fail("E0104", fmt::format("there is no group {}: the model has {}", group, groups.size()), where,
                "plan the model with groups");
  if (!std::isfinite(value) || value < 0)
    return fail("E0116", fmt::format("{} is negative or not finite", value), where);
  train::GroupRates rates = groups[group];
  change(rates);
  trainer->set_group(group, rates);
  return {};
}

// Runs `half`, which takes the batches of a step from the feed, on what a caller gave.
template <class Half>
Result<StepStats> Trainer::Impl::on_batch(const Batch& batch, const char* where, const Half& half) {
  PANTOUM_TRY(trainer->own_process());
  if (!planned().step.features.empty())
    return fail("E0105", "a plan with a feature cache trains on a data set", where, "use Trainer::fit");
  PANTOUM_ASSIGN(const int64_t samples, api::check_arrays(planned().batch, batch));
  if (samples != trainer->batch())
    return fail("E0262", fmt::format("{} samples for a step of {}", samples, trainer->batch()), where,
                "give whole steps; the last samples of an epoch may be left out");
  PANTOUM_ASSIGN(const Dataset checked, Dataset::from_arrays(plan, batch));
  PANTOUM_TRY(data::check_labels(Access::impl(checked)->data, planned().step.labels));
  PANTOUM_ASSIGN(const Begun begun, begin(Work::kPrograms, where));
  const uint64_t first = trainer->steps_done() * static_cast<uint64_t>(planned().step.model.options.accumulate) + 1;
  trainer->feed(
      [&](uint64_t number, std::span<const data::BatchView> views) -> Result<void> {
        for (size_t at = 0; at < views.size(); ++at)
          std::memcpy(views[at].data.data(), batch[at].bytes().data() + (number - first) * views[at].data.size(),
                      views[at].data.size());
        return {};
      },
      trainer->steps_done() + 1, 0);
  const std::unique_lock turn = kernels->turn();
  Result<StepStats> made = half();
  trainer->end_feed();
  return made;
}

Result<StepStats> Trainer::step(const Batch& batch) {
  return impl_->on_batch(batch, "Trainer::step", [&] { return impl_->trainer->step(); });
}

Result<StepStats> Trainer::gradients(const Batch& batch, const OnGradient& on_gradient) {
  std::optional<Error> thrown;
  train::OnGradient tell;
  if (on_gradient) tell = guarded(on_gradient, thrown);
  Result<StepStats> made =
      impl_->on_batch(batch, "Trainer::gradients", [&] { return impl_->trainer->gradients(tell); });
  if (thrown) return Failure(*std::move(thrown));
  return made;
}

Result<StepStats> Trainer::update() {
  PANTOUM_TRY(impl_->trainer->own_process());
  PANTOUM_ASSIGN(const Impl::Begun begun, impl_->begin(Impl::Work::kPrograms, "Trainer::update"));
  const std::unique_lock turn = impl_->kernels->turn();
  return impl_->trainer->update();
}

Result<FitSummary> Trainer::fit(const Dataset& train, const FitOptions& options, const Dataset& test) {
  PANTOUM_TRY(impl_->trainer->own_process());
  PANTOUM_ASSIGN(const Impl::Begun begun, impl_->begin(Impl::Work::kFit, "Trainer::fit"));
  Callbacks callbacks(options);
  PANTOUM_ASSIGN(train::RunOptions run, run_options(options, impl_->resumed_from, callbacks));
  const data::Dataset whole = api::shared(train);  // what a frozen backbone gives refers to it
  data::TrainTest data{api::shared(train), api::shared(test)};
  if (data.train.count() == 0)
    return fail("E0262", "the data set has no samples", "Trainer::fit", "give one with samples");
  PANTOUM_TRY(train::check_length(impl_->trainer->batch(), data.train.count(), options.epochs));
  for (const data::Dataset* each : {&data.train, &data.test})
    if (each->count() > 0) PANTOUM_TRY(data::check_labels(*each, impl_->planned().step.labels, kLabelBytes));
  if (!impl_->planned().step.features.empty()) {
    PANTOUM_ASSIGN(data.train, impl_->trainer->make_features(whole, impl_->page_folder, options.stop));
  }
  PANTOUM_ASSIGN(const train::RunSummary summary, train::run_training(*impl_->trainer, data, run));
  return public_summary(summary);
}

Result<FitSummary> Trainer::fit(Producer producer, const FitOptions& options, const Dataset& test) {
  PANTOUM_TRY(impl_->trainer->own_process());
  if (!producer) return fail("E0120", "there is no producer", "Trainer::fit");
  if (!impl_->planned().step.features.empty())
    return fail("E0105", "a plan with a feature cache trains on a data set", "Trainer::fit", "give it a data set");
  PANTOUM_ASSIGN(const Impl::Begun begun, impl_->begin(Impl::Work::kFit, "Trainer::fit"));
  Callbacks callbacks(options);
  PANTOUM_ASSIGN(const train::RunOptions run, run_options(options, impl_->resumed_from, callbacks));
  const data::Dataset tested = api::shared(test);
  const train::ProducedData data{.produce = guarded(std::move(producer)),
                                 .steps_per_epoch = options.steps_per_epoch.value_or(0),
                                 .test = tested.count() > 0 ? &tested : nullptr};
  PANTOUM_ASSIGN(const train::RunSummary summary, train::run_training(*impl_->trainer, data, run));
  return public_summary(summary);
}

Result<Evaluation> Trainer::evaluate(const Dataset& data, const std::function<bool()>& go_on) {
  PANTOUM_TRY(impl_->trainer->own_process());
  PANTOUM_ASSIGN(const Impl::Begun begun, impl_->begin(Impl::Work::kPrograms, "Trainer::evaluate", true));
  const std::unique_lock turn = impl_->kernels->turn();
  PANTOUM_ASSIGN(const train::Evaluation evaluation, impl_->trainer->evaluate(api::shared(data), go_on));
  return public_evaluation(evaluation);
}

std::vector<BatchTensor> Trainer::prediction_inputs() const {
  const train::TensorTable& table = impl_->trainer->tensors();
  std::vector<BatchTensor> inputs;
  for (const size_t at : table.prediction_reads) {
    const train::PlanTensor& tensor = table.batch_tensor(at);
    inputs.push_back({tensor.name, api::public_type(tensor.dtype), tensor.shape, at >= table.inputs.size()});
  }
  return inputs;
}

std::vector<BatchTensor> Trainer::outputs() const {
  std::vector<BatchTensor> outputs;
  for (const train::PlanTensor& tensor : impl_->trainer->tensors().outputs)
    outputs.push_back({.name = tensor.name, .dtype = api::public_type(tensor.dtype), .shape = tensor.shape});
  return outputs;
}

Result<void> Trainer::Impl::predict(std::span<const data::SampleFile* const> files, const OnRows& take,
                                    const std::function<bool()>& go_on) {
  const std::string& lack = planned().step.no_prediction;
  if (!lack.empty()) return fail("E0105", "the plan gives no outputs: " + lack, "Trainer::predict", kOtherOutputs);
  PANTOUM_ASSIGN(const Begun begun, begin(Work::kPrograms, "Trainer::predict", true));
  const std::unique_lock turn = kernels->turn();
  return trainer->predict(files, take, go_on);
}

Result<void> Trainer::predict(const Batch& inputs, std::span<const std::span<std::byte>> into,
                              const std::function<bool()>& go_on) {
  PANTOUM_TRY(impl_->trainer->own_process());
  const std::vector<BatchTensor> wanted = prediction_inputs(), made = outputs();
  PANTOUM_ASSIGN(const int64_t count, api::check_arrays(wanted, inputs));
  const auto owned = api::samples_of(wanted, inputs, count);
  std::vector<const data::SampleFile*> files;
  files.reserve(owned.size());
  for (const auto& each : owned) files.push_back(each.get());
  if (into.size() != made.size())
    return fail("E0262", fmt::format("room for {} outputs, and there are {}", into.size(), made.size()),
                "Trainer::predict", "see Trainer::outputs()");
  std::vector<size_t> row_bytes;
  for (size_t at = 0; at < made.size(); ++at) {
    row_bytes.push_back(impl_->trainer->tensors().outputs[at].row_bytes());
    if (into[at].size() != row_bytes[at] * static_cast<size_t>(count))
      return other_size(made[at].name, into[at].size(), row_bytes[at] * static_cast<size_t>(count));
  }
  const auto copy = [&](size_t output, int64_t first, std::span<const std::byte> rows) -> Result<void> {
    std::memcpy(into[output].data() + static_cast<size_t>(first) * row_bytes[output], rows.data(), rows.size());
    return {};
  };
  return impl_->predict(files, copy, go_on);
}

Result<std::vector<Output>> Trainer::predict(const Batch& inputs) {
  PANTOUM_ASSIGN(const int64_t count, api::check_arrays(prediction_inputs(), inputs));
  std::vector<Output> made;
  std::vector<std::span<std::byte>> into;
  for (BatchTensor& output : outputs()) {
    output.shape.front() = count;
    const size_t bytes = impl_->trainer->tensors().outputs[made.size()].row_bytes() * static_cast<size_t>(count);
    made.push_back({std::move(output.name), output.dtype, std::move(output.shape), std::vector<std::byte>(bytes)});
  }
  into.reserve(made.size());
  for (Output& output : made) into.emplace_back(output.bytes);
  PANTOUM_TRY(predict(inputs, into));
  return made;
}

Result<void> Trainer::predict(const Dataset& data, const OnRows& take) {
  PANTOUM_TRY(impl_->trainer->own_process());
  const data::Dataset samples = api::shared(data);
  PANTOUM_ASSIGN(const auto files, train::prediction_files(impl_->trainer->tensors(), samples));
  return impl_->predict(files, take);
}

Result<void> Trainer::save(const std::string& path) {
  return impl_->trainer->save(path);
}

Result<void> Trainer::resume(const std::string& path) {
  PANTOUM_TRY(impl_->trainer->resume(path));
  impl_->resumed_from = path;
  return {};
}

Result<TensorView> Trainer::tensor(const std::string& name) {
  PANTOUM_ASSIGN(const train::PlanTensor* const tensor, find_tensor(impl_->trainer->tensors(), name));
  const std::span<std::byte> bytes = impl_->trainer->view(*tensor);
  if (bytes.empty())
    return fail("E0105", fmt::format("'{}' lives in storage between steps", name), name,
                "copy it with Trainer::read, or plan with more RAM");
  return TensorView{tensor->name, api::public_type(tensor->dtype), tensor->shape, bytes};
}

Result<void> Trainer::read(const std::string& name, std::span<std::byte> data) {
  PANTOUM_ASSIGN(const train::PlanTensor* const tensor, find_tensor(impl_->trainer->tensors(), name));
  if (data.size() != tensor->bytes) return other_size(name, data.size(), tensor->bytes);
  return impl_->trainer->read(*tensor, data);
}

Result<void> Trainer::write(const std::string& name, std::span<const std::byte> data) {
  PANTOUM_ASSIGN(const train::PlanTensor* const tensor, find_tensor(impl_->trainer->tensors(), name));
  if (data.size() != tensor->bytes) return other_size(name, data.size(), tensor->bytes);
  return impl_->trainer->write(*tensor, data);
}

std::vector<TensorInfo> Trainer::tensors() const {
  const train::TensorTable& table = impl_->trainer->tensors();
  std::vector<TensorInfo> all;
  const auto add = [&](std::span<const train::PlanTensor> tensors, bool is_state, bool is_gradient) {
    for (const train::PlanTensor& tensor : tensors) {
      TensorInfo& info = all.emplace_back(public_tensor(tensor, !impl_->trainer->view(tensor).empty()));
      info.is_state = is_state, info.is_gradient = is_gradient;
    }
  };
  add(table.weights, false, false);
  add(table.states, true, false);
  add(gradients_of(table), false, true);
  return all;
}

uint64_t Trainer::steps_done() const {
  return impl_->trainer->steps_done();
}

int64_t Trainer::samples_per_step() const {
  return impl_->trainer->batch();
}

Result<void> Trainer::set_learning_rate(double lr) {
  if (!std::isfinite(lr) || lr < 0)
    return fail("E0116", fmt::format("the learning rate {} is negative or not finite", lr), "set_learning_rate");
  impl_->trainer->set_lr(lr);
  return {};
}

std::vector<ParameterGroup> Trainer::groups() const {
  std::vector<ParameterGroup> groups = impl_->planned().step.model.options.groups;
  for (size_t at = 0; at < groups.size(); ++at) {
    groups[at].lr = impl_->trainer->groups()[at].lr;
    groups[at].weight_decay = impl_->trainer->groups()[at].weight_decay;
  }
  return groups;
}

Result<void> Trainer::set_group_rate(size_t group, double lr) {
  return impl_->set_group(group, lr, "set_group_rate", [&](train::GroupRates& rates) { rates.lr = lr; });
}

Result<void> Trainer::set_group_decay(size_t group, double weight_decay) {
  return impl_->set_group(group, weight_decay, "set_group_decay",
                          [&](train::GroupRates& rates) { rates.weight_decay = weight_decay; });
}

Usage Trainer::usage() const {
  const train::Usage usage = impl_->trainer->usage();
  return {.arena_bytes = usage.arena_bytes,
          .steps = impl_->trainer->steps_done(),
          .bytes_paged_in = usage.bytes_paged_in,
          .bytes_paged_out = usage.bytes_paged_out,
          .io_backend = usage.io_backend,
          .cipher = usage.cipher,
          .rss_growth_bytes = usage.high_water > usage.rss_before_arena ? usage.high_water - usage.rss_before_arena : 0};
}

}  // namespace pantoum
