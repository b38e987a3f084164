#include "train/trainer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <span>

#include <utility>

#include "data/batch_loader.h"
#include "data/epoch_batches.h"
#include "host/engine.h"
#include "host/memory_meter.h"
#include "host/status_error.h"
#include "kernels/portable/update_group.h"
#include "runtime/plan_bytes.h"
#include "train/batch_queue.h"
#include "train/checkpoint.h"
#include "train/feature_cache.h"
#include "train/tensor_table.h"

namespace pantoum::train {

namespace {

constexpr uint32_t kAfterAll = UINT32_MAX;

// The last instruction that touches each tensor; kAfterAll where that is a transfer, which may be under way still.
Result<std::map<uint32_t, uint32_t>> last_uses(const pt_plan& plan, uint32_t program) {
  std::map<uint32_t, uint32_t> last;
  if (program >= plan.program_count) return fail("E0253", "the plan does not hold the program of the gradients");
  uint32_t instructions = 0;
  pt_code code = pt_program_code(&plan, program, &instructions);
  for (uint32_t instruction = 0; instruction < instructions; ++instruction) {
    pt_step step;
    pt_op_view view;
    if (pt_decode_step(&plan, &code, &step, &view) != PT_OK) return fail("E0251", "the binary plan is damaged");
    if (step.kind == PT_DO_COMPUTE) {
      for (unsigned operand = 0; operand < view.input_count + view.output_count; ++operand)
        last[view.tensors[operand]] = instruction;
    } else if (step.kind != PT_DO_FREE) {
      last[step.subject] = kAfterAll;
    }
  }
  return last;
}

}  // namespace

Result<FinalGradients> FinalGradients::of(const pt_plan& plan, uint32_t program, const std::vector<PlanTensor>& sums) {
  PANTOUM_ASSIGN(const auto last, last_uses(plan, program));
  FinalGradients made;
  made.program_ = program;
  for (const PlanTensor& sum : sums) {
    const auto used = last.find(pt_tensor_pair(&plan, sum.index));
    const bool in_ram = pt_tensor_home(&plan, sum.index) == PT_HOME_RAM;
    made.events_.push_back({in_ram && used != last.end() ? used->second : kAfterAll, sum});
  }
  std::stable_sort(made.events_.begin(), made.events_.end(),
                   [](const Event& a, const Event& b) { return a.instruction < b.instruction; });
  return made;
}

void FinalGradients::tell(uint32_t instruction) {
  for (; told_ < events_.size() && events_[told_].instruction <= instruction; ++told_)
    (*on_gradient_)(events_[told_].sum, events_[told_].data);
}

pt_status FinalGradients::run(host::Engine& engine, const pt_scalars& scalars, const OnGradient& on_gradient) {
  if (!on_gradient) return engine.run(program_, scalars);
  for (Event& event : events_) {
    std::byte* const data = engine.data(event.sum.index);
    event.data = data != nullptr ? std::span(data, event.sum.bytes) : std::span<std::byte>();
  }
  told_ = 0;
  on_gradient_ = &on_gradient;
  engine.observe(
      [](void* self, const pt_event* event) { static_cast<FinalGradients*>(self)->tell(event->instruction); }, this);
  const pt_status status = engine.run(program_, scalars);
  engine.observe(nullptr, nullptr);
  if (status == PT_OK) tell(kAfterAll);
  return status;
}

namespace {

constexpr size_t kPieceBytes = 1 << 16;

// One batch's results. Losses and errors are means: over the labels that are not ignored (counted), or over all; of a loss
// with class weights, over what the labels weigh (weighed, which is else counted).
struct BatchMeasures {
  double loss = 0, correct = 0, top5 = 0, counted = 0, weighed = 0, absolute_error = 0;
};

struct TermSums {
  double loss = 0, loss_weight = 0, weight = 0, correct = 0, top5 = 0, absolute_error = 0;

  void add_counted(const BatchMeasures& measures) {
    loss += measures.loss * measures.weighed;
    loss_weight += measures.weighed;
    weight += measures.counted;
    correct += measures.correct;
    top5 += measures.top5;
  }
  void add_means(const BatchMeasures& measures, double rows) {
    loss += measures.loss * rows;
    absolute_error += measures.absolute_error * rows;
    loss_weight += rows;
    weight += rows;
  }
};

using EvaluationSums = std::array<TermSums, kMaxLosses>;

// As many groups as the plan's updates name.
size_t group_count(const pt_plan& plan) {
  size_t count = 0;
  for (uint32_t op = 0; op < plan.op_count; ++op) {
    pt_op_view view;
    if (pt_decode_op(&plan, op, &view) != PT_OK) continue;
    const int place = pt_group_place(view.op);
    if (place >= 0 && view.int_count > place) count = std::max(count, static_cast<size_t>(view.ints[place]) + 1);
  }
  return count;
}

// Sets the labels of a row to -1 where they are classes, so that no loss counts them: bytes of ones are -1 in every integer type.
void mask_labels(const TensorTable& table, std::span<const data::BatchView> labels, int64_t row) {
  for (size_t term = 0; term < labels.size(); ++term) {
    if (!table.terms[term].correct) continue;
    const std::span<std::byte> bytes = labels[term].row(row);
    std::memset(bytes.data(), 0xFF, bytes.size());
  }
}

Evaluation evaluation_of(const EvaluationSums& sums, const TensorTable& table, int64_t samples) {
  Evaluation evaluation{.samples = samples, .term_count = table.terms.size()};
  for (size_t term = 0; term < table.terms.size(); ++term) {
    const LossTensors& tensors = table.terms[term];
    const auto mean = [&](double sum) { return sums[term].weight > 0 ? sum / sums[term].weight : 0; };
    TermEvaluation& entry = evaluation.terms[term];
    entry.loss = sums[term].loss_weight > 0 ? sums[term].loss / sums[term].loss_weight : 0;
    if (tensors.correct) entry.accuracy = mean(sums[term].correct);
    if (tensors.top5) entry.top5 = mean(sums[term].top5);
    if (tensors.absolute_error) entry.mean_absolute_error = mean(sums[term].absolute_error);
    evaluation.loss += entry.loss;
    if (entry.accuracy && !evaluation.has_accuracy) {
      evaluation.accuracy = *entry.accuracy;
      evaluation.has_accuracy = true;
    }
  }
  return evaluation;
}

class PlanTrainer final : public Trainer {
 public:
  PlanTrainer(std::unique_ptr<host::Engine> engine, TensorTable table, const TrainerOptions& options)
      : engine_(std::move(engine)),
        table_(std::move(table)),
        progress_{.seed = options.seed,
                  .lr = options.lr,
                  .schedule = options.schedule,
                  .groups = options.groups,
                  .plan_hash = options.plan_hash,
                  .batch = table_.batch,
                  .micro_batches = options.micro_batches,
                  .shuffle = options.preparation.shuffle,
                  .samples = options.samples,
                  .data = options.data,
                  .kernels = options.kernel_name,
                  .numerics = options.numerics,
                  .threads = options.threads},
        other_kernels_(options.other_kernels),
        encrypt_(options.encrypt),
        preparation_(options.preparation),
        piece_(kPieceBytes),
        loader_(options.preparation, table_.inputs.size(), table_.terms.size()),
        step_loader_(step_preparation(), step_inputs().size(), table_.terms.size()) {
    progress_.groups.resize(std::max(options.groups.size(), group_count(engine_->plan())));
    group_rates_.resize(progress_.groups.size());
    for (const PlanTensor& input : table_.inputs) model_batch_.push_back(view_of(input));
    for (const PlanTensor& input : step_inputs()) batch_.push_back(view_of(input));
    for (const LossTensors& term : table_.terms) {
      model_batch_.push_back(view_of(term.label));
      batch_.push_back(view_of(term.label));
    }
  }
  // In a forked process the threads are gone, and the page file is the parent's: what uses them is left alone, never destroyed.
  ~PlanTrainer() override {
    if (own_process()) {
      end_feed();
    } else {
      static_cast<void>(engine_.release());
      static_cast<void>(queue_.release());
    }
  }
  PlanTrainer(const PlanTrainer&) = delete;
  PlanTrainer& operator=(const PlanTrainer&) = delete;

  // Maps the arena and fills it.
  Result<void> start(const weights::SafetensorFile& weights, int64_t prefetch) {
    if (prefetch > 0) {
      PANTOUM_ASSIGN(queue_, BatchQueue::create(batch_, prefetch));
    }
    PANTOUM_TRY(engine_->start());
    attach(batch_, step_inputs());
    attach(model_batch_, table_.inputs);
    PANTOUM_TRY(load_tensors(weights, table_, *engine_, Source::kPlan, piece_));
    engine_->begin_measuring();
    return queue_ ? queue_->map() : Result<void>{};
  }

  // Finds which gradients become final when, if the update is a program of its own.
  Result<void> find_final_gradients() {
    if (!table_.update_program) return {};
    PANTOUM_ASSIGN(final_gradients_, FinalGradients::of(engine_->plan(), table_.train_program, table_.sums));
    return {};
  }

  void feed(data::BatchProducer producer, uint64_t last, int64_t samples) override {
    end_feed();
    producer_ = std::move(producer);
    progress_.samples = samples;
    if (queue_) queue_->begin(producer_, batches_done() + 1, last * static_cast<uint64_t>(progress_.micro_batches));
  }

  void end_feed() override {
    if (queue_) queue_->end();
    producer_ = nullptr;
  }

  Result<StepStats> step() override {
    PANTOUM_TRY(own_process());
    if (!producer_) return fail("E0001", "internal: a step without a feed");
    return run_step([&](uint64_t micro_batch) {
      const auto begun = std::chrono::steady_clock::now();
      const Result<void> made = next_batch(micro_batch);
      batch_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
      return made;
    });
  }

  Result<StepStats> gradients(const OnGradient& on_gradient) override {
    PANTOUM_TRY(own_process());
    if (!table_.update_program) return no_such_programs();
    if (!producer_) return fail("E0001", "internal: a step without a feed");
    return run_gradients([&](uint64_t micro_batch) { return next_batch(micro_batch); }, on_gradient);
  }

  Result<StepStats> update() override {
    PANTOUM_TRY(own_process());
    if (!table_.update_program) return no_such_programs();
    if (!made_) return fail("E0105", "an update without gradients", "update", "make the gradients of a batch first");
    const StepStats made = *std::exchange(made_, std::nullopt);
    PANTOUM_TRY(run_program(*table_.update_program, 0, made.lr));
    ++progress_.step;
    return made;
  }

  Result<data::BatchProducer> epochs_of(const data::Dataset& data, std::span<uint32_t> indices) override {
    auto loader = std::make_shared<data::BatchLoader>(step_preparation(), step_inputs().size(), table_.terms.size());
    PANTOUM_TRY(loader->bind(data, batch_));
    return data::epoch_batches(std::move(loader),
                               {progress_.seed, table_.batch, progress_.micro_batches, progress_.shuffle}, indices);
  }

  Result<StepStats> step(const data::Dataset& data, std::span<const uint32_t> indices) override {
    PANTOUM_TRY(own_process());
    PANTOUM_TRY(step_loader_.bind(data, batch_));
    if (indices.size() != static_cast<size_t>(batch()))
      return fail("E0001", fmt::format("internal: {} indices for a batch of {}", indices.size(), batch()));
    progress_.samples = data.count();
    const auto rows = static_cast<size_t>(table_.batch);
    return run_step([&](uint64_t micro_batch) -> Result<void> {
      for (size_t row = 0; row < rows; ++row)
        PANTOUM_TRY(step_loader_.load(indices[micro_batch * rows + row], batch_, static_cast<int64_t>(row)));
      return {};
    });
  }

  Result<data::Dataset> make_features(const data::Dataset& data, const std::string& folder,
                                      std::stop_token stop) override;
  Result<Evaluation> evaluate(const data::Dataset& data, const std::function<bool()>& go_on) override;
  Result<void> predict(std::span<const data::SampleFile* const> files, const OnRows& take,
                       const std::function<bool()>& go_on) override;

  Result<void> save(const std::string& path, const std::string& kept) override {
    PANTOUM_TRY(own_process());
    return save_checkpoint(path, table_, *engine_, progress_, kept, piece_);
  }

  Result<void> resume(const std::string& path) override {
    PANTOUM_TRY(own_process());
    PANTOUM_ASSIGN(const weights::SafetensorFile file, weights::open_safetensors(path));
    PANTOUM_ASSIGN(Progress progress, read_progress(file));
    std::vector<std::string> states;
    for (const PlanTensor& state : table_.states) states.push_back(state.name);
    PANTOUM_TRY(check_same_model(file, table_.weights, states, true));
    PANTOUM_TRY(check_same_run(progress, path));
    PANTOUM_TRY(check_tensors(file, table_, Source::kResumePoint, "E0243"));
    made_.reset();
    spoilt_.reset();
    PANTOUM_TRY(load_tensors(file, table_, *engine_, Source::kResumePoint, piece_));
    progress.plan_hash = progress_.plan_hash;
    progress.numerics = progress_.numerics;
    progress.kernels = progress_.kernels;  // what computes from now on
    progress.threads = progress_.threads;
    if (!progress_.data.empty()) progress.data = progress_.data;
    if (progress.samples == 0) progress.samples = progress_.samples;
    progress_ = std::move(progress);
    engine_->begin_measuring();  // reading the file took memory that no step takes
    return {};
  }

  Result<void> load(const std::string& path) override {
    PANTOUM_TRY(own_process());
    PANTOUM_ASSIGN(const weights::SafetensorFile file, weights::open_safetensors(path));
    PANTOUM_TRY(check_tensors(file, table_, Source::kWeights, "E0242"));
    PANTOUM_TRY(check_computed(file));
    made_.reset();
    spoilt_.reset();
    PANTOUM_TRY(load_tensors(file, table_, *engine_, Source::kWeights, piece_));
    progress_.step = 0;
    progress_.best_so_far = {};
    engine_->begin_measuring();
    return {};
  }

  Result<void> take_state(const weights::SafetensorFile& file, uint64_t step) override {
    PANTOUM_TRY(own_process());
    if (step > kMostSteps) return fail("E0116", fmt::format("{} steps are more than a run has", step), file.path);
    const bool has_state = std::ranges::any_of(
        file.tensors, [](const weights::SafetensorEntry& each) { return each.name.starts_with("optim."); });
    if (has_state) {
      TensorTable states;
      states.states = table_.states;
      if (const Result<void> fits = check_tensors(file, states, Source::kResumePoint, "E0242"); !fits)
        return fail("E0242", "the optimizer state in the file is not of this run's optimizer", file.path,
                    "train with the optimizer that the file was written by, or begin with its weights alone",
                    fits.error().notes);
      PANTOUM_TRY(load_states(file, table_, *engine_, piece_));
    }
    progress_.step = step;
    engine_->begin_measuring();
    return {};
  }

  Result<void> own_process() const override {
    if (process_ == ::getpid()) return {};
    return fail("E0108", "this process was forked from the one that made the trainer, and lacks its threads", {},
                "make a trainer in the new process, or fork before");
  }

  const TensorTable& tensors() const override { return table_; }
  Result<void> read(const PlanTensor& tensor, std::span<std::byte> data) override {
    PANTOUM_TRY(own_process());
    return engine_->read(tensor.index, 0, data);
  }
  Result<void> write(const PlanTensor& tensor, std::span<const std::byte> data) override {
    PANTOUM_TRY(own_process());
    PANTOUM_TRY(check_sources(tensor, data));
    return engine_->write(tensor.index, 0, data);
  }
  std::span<std::byte> view(const PlanTensor& tensor) override {
    std::byte* const data = engine_->data(tensor.index);
    return data != nullptr ? std::span(data, tensor.bytes) : std::span<std::byte>();
  }

  uint64_t steps_done() const override { return progress_.step; }
  int64_t batch() const override { return table_.batch * progress_.micro_batches; }
  uint64_t seed() const override { return progress_.seed; }
  void set_lr(double lr) override { progress_.lr = lr; }
  const std::vector<GroupRates>& groups() const override { return progress_.groups; }
  void set_group(size_t group, const GroupRates& rates) override { progress_.groups[group] = rates; }
  void set_total_steps(uint64_t steps) override { total_steps_ = steps; }
  BestSoFar best_so_far() const override { return progress_.best_so_far; }
  void set_best_so_far(const BestSoFar& best_so_far) override { progress_.best_so_far = best_so_far; }

  double batch_seconds() const override { return batch_seconds_; }
  Usage usage() const override {
    const pt_counters counters = engine_->counters();
    const host::FilePager* pager = engine_->pager();
    const host::Engine::Ram ram = engine_->ram();
    return {.arena_bytes = engine_->plan().arena_bytes,
            .rss_before_arena = ram.beside_arena,
            .high_water = ram.most,
            .queue_bytes = queue_ ? queue_->bytes() : 0,
            .back_end_bytes = engine_->back_end_bytes(),
            .bytes_paged_in = counters.bytes_paged_in,
            .bytes_paged_out = counters.bytes_paged_out,
            .storage_bytes = engine_->plan().storage_bytes,
            .direct_io = pager != nullptr && pager->direct_io(),
            .io_backend = pager != nullptr ? pager->backend() : "",
            .cipher = pager != nullptr ? pager->cipher() : "off",
            .encryption_bytes = pager != nullptr ? pager->encryption_bytes() : 0};
  }

 private:
  const ::pid_t process_ = ::getpid();
  std::unique_ptr<host::Engine> engine_;
  TensorTable table_;
  double batch_seconds_ = 0;
  Progress progress_;
  std::vector<pt_group> group_rates_;  // of the step that runs
  bool other_kernels_, encrypt_;
  data::Preparation preparation_;
  std::vector<std::byte> piece_;
  // Views into the arena: the inputs, then the labels of each loss, that a step reads, and that the model reads.
  std::vector<data::BatchView> batch_, model_batch_;
  data::BatchLoader loader_, step_loader_;  // of the model's batches, of a step's
  data::BatchProducer producer_;
  std::unique_ptr<BatchQueue> queue_;  // calls producer_: goes first
  uint64_t total_steps_ = 0;
  FinalGradients final_gradients_;                         // where the update is apart
  std::optional<StepStats> made_;                          // gradients that no update has taken yet
  std::set<std::pair<std::string, std::string>> renewed_;  // what PyTorch computed and of what: the former was written

  // Has a weight these contents?
  Result<bool> holds(const PlanTensor& tensor, std::span<const std::byte> data) {
    for (uint64_t at = 0; at < tensor.bytes; at += piece_.size()) {
      const auto part = std::span(piece_).first(std::min<size_t>(piece_.size(), tensor.bytes - at));
      PANTOUM_TRY(engine_->read(tensor.index, at, part));
      if (std::memcmp(part.data(), data.data() + at, part.size()) != 0) return false;
    }
    return true;
  }

  // What PyTorch computed of a tensor is written before it; else a step would go on with what the old contents gave.
  Result<void> check_sources(const PlanTensor& tensor, std::span<const std::byte> data) {
    std::vector<std::pair<std::string, std::string>> used;
    for (const auto& [name, sources] : table_.computed) {
      if (name == tensor.name)
        for (const std::string& source : sources) renewed_.emplace(name, source);
      if (std::ranges::find(sources, tensor.name) == sources.end()) continue;
      used.emplace_back(name, tensor.name);
      if (renewed_.contains(used.back())) continue;
      PANTOUM_ASSIGN(const bool same, holds(tensor, data));
      if (!same)
        return fail("E0262",
                    fmt::format("PyTorch computed '{}' of '{}', whose contents are replaced", name, tensor.name),
                    tensor.name,
                    "in Python, load_state_dict computes it again; elsewhere capture the module again, or write "
                    "what is computed first");
    }
    for (const auto& pair : used) renewed_.erase(pair);
    return {};
  }

  // Of weights that hold a tensor and not what PyTorch computed of it: the contents have to be those that there are.
  Result<void> check_computed(const weights::SafetensorFile& file) {
    std::vector<std::string> others;
    for (const PlanTensor& tensor : table_.weights) {
      const bool stale = std::ranges::any_of(table_.computed, [&](const auto& each) {
        return file.find(each.first) == nullptr && std::ranges::find(each.second, tensor.name) != each.second.end();
      });
      const weights::SafetensorEntry* entry = stale ? file.find(tensor.name) : nullptr;
      if (entry == nullptr) continue;
      std::vector<std::byte> contents(static_cast<size_t>(entry->bytes));
      PANTOUM_TRY(weights::read_tensor(file, *entry, 0, contents));
      PANTOUM_ASSIGN(const bool same, holds(tensor, contents));
      if (!same) others.push_back(fmt::format("'{}'", tensor.name));
    }
    if (others.empty()) return {};
    return fail("E0242", "PyTorch computed other tensors of some that have other contents in the weights", file.path,
                "in Python, load_state_dict computes them again; elsewhere capture the module again",
                std::move(others));
  }

  // The bytes come with the arena.
  static data::BatchView view_of(const PlanTensor& tensor) {
    return {tensor.name, tensor.dtype, tensor.shape, std::span(static_cast<std::byte*>(nullptr), tensor.bytes)};
  }
  std::span<std::byte> bytes_of(const PlanTensor& tensor) {
    return std::span(engine_->data(tensor.index), tensor.bytes);
  }
  void attach(std::vector<data::BatchView>& batch, const std::vector<PlanTensor>& inputs) {
    for (size_t input = 0; input < inputs.size(); ++input) batch[input].data = bytes_of(inputs[input]);
    for (size_t term = 0; term < table_.terms.size(); ++term)
      batch[inputs.size() + term].data = bytes_of(table_.terms[term].label);
  }

  [[nodiscard]] const std::vector<PlanTensor>& step_inputs() const {
    return table_.features.empty() ? table_.inputs : table_.features;
  }
  [[nodiscard]] bool is_input(const PlanTensor& tensor) const {
    return std::any_of(table_.inputs.begin(), table_.inputs.end(),
                       [&](const PlanTensor& input) { return input.index == tensor.index; });
  }
  // Features are as the backbone made them.
  [[nodiscard]] data::Preparation step_preparation() const {
    return table_.features.empty() ? preparation_ : data::Preparation{};
  }

  Result<void> load(int64_t index, int64_t row) { return loader_.load(index, model_batch_, row); }

  // Batches are numbered from 1 on, as a producer is asked for them.
  [[nodiscard]] uint64_t batches_done() const {
    return progress_.step * static_cast<uint64_t>(progress_.micro_batches);
  }

  // `fetch` fills the batch with each micro-batch in turn.
  template <class Fetch>
  Result<StepStats> run_step(const Fetch& fetch) {
    if (table_.update_program) {
      PANTOUM_TRY(run_gradients(fetch, {}));
      return update();
    }
    const double lr = set_rates();
    Result<double> loss = run_micro_batches(fetch, lr, {});
    if (!loss) {  // what was added up belongs to no step
      if (progress_.micro_batches > 1) (void)clear_sums(table_, *engine_, piece_);
      return Failure(std::move(loss).error());
    }
    ++progress_.step;
    if (!std::isfinite(*loss)) return diverged(progress_.step);
    spoilt_.reset();
    return StepStats{progress_.step, *loss, lr};
  }

  // The first half of a step: nothing but the sums and running statistics has changed.
  template <class Fetch>
  Result<StepStats> run_gradients(const Fetch& fetch, const OnGradient& on_gradient) {
    made_.reset();
    PANTOUM_TRY(clear_sums(table_, *engine_, piece_));
    const double lr = set_rates();
    PANTOUM_ASSIGN(const double loss, run_micro_batches(fetch, lr, on_gradient));
    if (!std::isfinite(loss))
      return fail("E0701", fmt::format("the loss of step {} is not finite", progress_.step + 1), {},
                  "use a smaller --lr; the parameters are as they were before the step");
    made_ = {progress_.step + 1, loss, lr};
    return *made_;
  }

  // The rates of the step that comes: of the groups, and of what is in none.
  double set_rates() {
    const auto rate = [&](double lr) { return rate_at(progress_.schedule, lr, progress_.step, total_steps_); };
    for (size_t group = 0; group < group_rates_.size(); ++group) {
      const GroupRates& own = progress_.groups[group];
      group_rates_[group] = {own.lr ? rate(*own.lr) : -1, own.weight_decay.value_or(-1)};
    }
    return rate(progress_.lr);
  }

  static Failure no_such_programs() {
    return fail("E0105", "the plan has a step as one program, not gradients and update apart", {},
                "plan the model again with split_update");
  }

  Result<void> next_batch(uint64_t micro_batch) {
    return queue_ ? queue_->take(batch_) : producer_(batches_done() + micro_batch + 1, batch_);
  }

  // The mean loss of the batches of a step.
  template <class Fetch>
  Result<double> run_micro_batches(const Fetch& fetch, double lr, const OnGradient& on_gradient) {
    if (!table_.loss) return fail("E0105", "the plan gives outputs, and trains nothing", {}, "plan the training step");
    const auto count = static_cast<uint64_t>(progress_.micro_batches);
    double sum = 0;
    for (uint64_t batch = 0; batch < count; ++batch) {
      const bool last = batch + 1 == count, adding = !last && !table_.update_program;
      PANTOUM_TRY(fetch(batch));
      PANTOUM_TRY(last && on_gradient
                      ? status_of(final_gradients_.run(*engine_, scalars_of(batch, lr), on_gradient))
                      : run_program(adding ? *table_.accumulate_program : table_.train_program, batch, lr));
      sum += scalar(adding ? *table_.accumulate_loss : *table_.loss, 0);
    }
    return sum / static_cast<double>(count);
  }

  [[nodiscard]] pt_scalars scalars_of(uint64_t batch, double lr) const {
    constexpr uint64_t kSeeds = 0x9E3779B97F4A7C15;  // apart from each other: dropout must not repeat itself
    return {progress_.step + 1, progress_.seed + batch * kSeeds, lr, group_rates_.data(),
            static_cast<uint32_t>(group_rates_.size())};
  }

  Result<void> run_program(uint32_t program, uint64_t batch, double lr) {
    return status_of(engine_->run(program, scalars_of(batch, lr)));
  }

  [[nodiscard]] Result<void> status_of(pt_status status) const {
    if (status != PT_OK) return host::status_failure(status, "step " + std::to_string(progress_.step + 1));
    return {};
  }

  double scalar(const PlanTensor& tensor, size_t element) {
    float value = 0;
    std::memcpy(&value, engine_->data(tensor.index) + element * sizeof value, sizeof value);
    return static_cast<double>(value);
  }

  std::optional<uint64_t> spoilt_;  // the step since which no loss was finite
  Failure diverged(uint64_t step) {
    if (spoilt_ && *spoilt_ < step)
      return fail(
          "E0701",
          fmt::format("the loss of step {} is not finite: step {} has spoilt the parameters in RAM", step, *spoilt_),
          {}, "go back to a checkpoint with --resume, or begin again");
    spoilt_ = step;
    return fail("E0701", fmt::format("the loss of step {} is not finite", step), {},
                "use a smaller --lr, and go on from the last checkpoint: this step has spoilt the "
                "parameters in RAM");
  }

  // E0243 where the resume point is not of this very run.
  [[nodiscard]] Result<void> check_same_run(const Progress& point, const std::string& path) const;

  // Evaluation.
  Result<void> run_eval();
  Result<void> evaluate_batch(int64_t begin, int64_t real, EvaluationSums& sums);
  [[nodiscard]] BatchMeasures measured(size_t term);
  Result<void> take_off_padding(double rows, EvaluationSums& sums);
};

Result<void> PlanTrainer::check_same_run(const Progress& point, const std::string& path) const {
  const auto refuse = [&](const std::string& why, const std::string& help, std::vector<std::string> notes = {}) {
    return fail("E0243", "the resume point " + why, path, help, std::move(notes));
  };
  // why: the hash is of the step that kernels of such a kind are given; where others go on, the tensors' names, types and
  // shapes must do.
  const bool others_go_on = other_kernels_ && point.kernels != progress_.kernels;
  if (point.batch != table_.batch)
    return refuse(fmt::format("was made with batches of {}, this run has {}", point.batch, table_.batch),
                  fmt::format("resume with --batch {}", point.batch));
  if (point.micro_batches != progress_.micro_batches)
    return refuse(fmt::format("was made with {} micro-batches a step, this run has {}", point.micro_batches,
                              progress_.micro_batches),
                  fmt::format("resume with --accumulate {}", point.micro_batches));
  if (!others_go_on && point.plan_hash != progress_.plan_hash)
    return refuse("is of another model with the same weights, or of another step of it",
                  "resume with the model, --loss, --freeze, --train-channels, --disable and settings of the "
                  "--optimizer it was made with",
                  {"the step's hash is " + point.plan_hash + " in it, and " + progress_.plan_hash + " here"});
  if (progress_.samples > 0 && point.samples > 0 && point.samples != progress_.samples)
    return refuse(fmt::format("was made with {} samples, this run has {}", point.samples, progress_.samples),
                  "resume with the data set it was made with");
  if (!progress_.data.empty() && point.data != progress_.data)
    return refuse("was made with another data set",
                  "resume with the data set it was made with, or begin with its weights: --weights",
                  {fmt::format("the fingerprint is '{}' in it, and {} here", point.data, progress_.data)});
  if (!others_go_on && !progress_.kernels.empty() && point.kernels != progress_.kernels)
    return refuse(fmt::format("was computed by the kernels '{}', this run has '{}'", point.kernels, progress_.kernels),
                  "their bits differ; where that is wanted, name the kernels with --kernels");
  if (point.groups.size() != progress_.groups.size())
    return refuse(fmt::format("has {} groups of parameters, this run {}", point.groups.size(), progress_.groups.size()),
                  "resume with each --group it was made with");
  if (!others_go_on && point.numerics != progress_.numerics)
    return refuse("was computed by other algorithms, or from another graph, than this plan's",
                  "resume without --plan: the resume point says what goes on");
  return {};
}

Result<data::Dataset> PlanTrainer::make_features(const data::Dataset& data, const std::string& folder,
                                                 std::stop_token stop) {
  PANTOUM_TRY(own_process());
  if (table_.features.empty()) return fail("E0105", "the plan holds no program 'features'", {}, "plan the model again");
  PANTOUM_TRY(loader_.bind(data, model_batch_));
  std::vector<data::BatchView> made;  // the types that a step reads, where the program leaves them
  for (size_t feature = 0; feature < table_.features.size(); ++feature) {
    made.push_back(view_of(table_.features[feature]));
    made.back().data = bytes_of(table_.made_features[feature]);
  }
  PANTOUM_ASSIGN(const std::shared_ptr<FeatureCache> cache, FeatureCache::create(folder, data.count(), made, encrypt_));
  // An input that the head reads too is kept before the backbone runs, which may put other things in its place.
  const auto keep = [&](bool inputs, int64_t begin, int64_t rows) -> Result<void> {
    for (size_t feature = 0; feature < made.size(); ++feature)
      for (int64_t row = 0; row < rows && inputs == is_input(table_.made_features[feature]); ++row)
        PANTOUM_TRY(cache->put(begin + row, feature, made[feature], row));
    return {};
  };
  for (int64_t begin = 0; begin < data.count(); begin += table_.batch) {
    if (stop.stop_requested()) return fail("E0999", "interrupted while features were made; nothing was trained yet");
    const int64_t real = std::min(table_.batch, data.count() - begin);
    for (int64_t row = 0; row < table_.batch; ++row) PANTOUM_TRY(load(row < real ? begin + row : begin, row));
    PANTOUM_TRY(keep(true, begin, real));
    const pt_status status = engine_->run(*table_.features_program, {0, progress_.seed, 0});
    if (status != PT_OK) return host::status_failure(status, "making features");
    PANTOUM_TRY(keep(false, begin, real));
  }
  return FeatureCache::as_dataset(cache, data);
}

Result<void> PlanTrainer::run_eval() {
  const pt_status status = engine_->run(*table_.eval_program, {progress_.step, progress_.seed, progress_.lr});
  if (status != PT_OK) return host::status_failure(status, "evaluation");
  return {};
}

BatchMeasures PlanTrainer::measured(size_t term) {
  const LossTensors& tensors = table_.terms[term];
  const auto read = [&](const std::optional<PlanTensor>& tensor) { return tensor ? scalar(*tensor, 0) : 0; };
  BatchMeasures measures{.loss = read(tensors.loss),
                         .correct = read(tensors.correct),
                         .top5 = read(tensors.top5),
                         .absolute_error = read(tensors.absolute_error)};
  if (tensors.correct) measures.counted = scalar(*tensors.correct, 1);
  measures.weighed = tensors.label_weight ? scalar(*tensors.label_weight, 0) : measures.counted;
  return measures;
}

// What rows that only fill the batch have added, where they cannot be masked: the means of the first sample alone,
// which fills every row.
Result<void> PlanTrainer::take_off_padding(double rows, EvaluationSums& sums) {
  for (int64_t row = 0; row < table_.batch; ++row) PANTOUM_TRY(load(0, row));
  PANTOUM_TRY(run_eval());
  for (size_t term = 0; term < table_.terms.size(); ++term)
    if (!table_.terms[term].correct) sums[term].add_means(measured(term), -rows);
  return {};
}

Result<void> PlanTrainer::evaluate_batch(int64_t begin, int64_t real, EvaluationSums& sums) {
  for (int64_t row = 0; row < table_.batch; ++row) {
    PANTOUM_TRY(load(row < real ? begin + row : 0, row));
    if (row >= real) mask_labels(table_, std::span(model_batch_).subspan(table_.inputs.size()), row);
  }
  PANTOUM_TRY(run_eval());
  bool unmasked = false;
  for (size_t term = 0; term < table_.terms.size(); ++term) {
    if (table_.terms[term].correct) {
      sums[term].add_counted(measured(term));
    } else {
      sums[term].add_means(measured(term), static_cast<double>(table_.batch));
      unmasked = true;
    }
  }
  if (!unmasked || real == table_.batch) return {};
  return take_off_padding(static_cast<double>(table_.batch - real), sums);
}

Result<Evaluation> PlanTrainer::evaluate(const data::Dataset& data, const std::function<bool()>& go_on) {
  PANTOUM_TRY(own_process());
  const auto no_loss = [](const LossTensors& term) { return !term.loss.has_value(); };
  if (!table_.eval_program || std::any_of(table_.terms.begin(), table_.terms.end(), no_loss))
    return fail("E0105", "the plan holds no program 'eval' with a result 'eval.loss'", {},
                "plan the model again with evaluation");
  PANTOUM_TRY(loader_.bind(data, model_batch_));
  const int64_t count = data.count();
  if (count == 0) return fail("E0262", "there are no samples to evaluate", {}, "give a data set with test samples");
  EvaluationSums sums;
  for (int64_t begin = 0; begin < count; begin += table_.batch) {
    if (go_on && !go_on()) return fail("E0999", "interrupted while the model was evaluated");
    PANTOUM_TRY(evaluate_batch(begin, std::min(table_.batch, count - begin), sums));
  }
  const Evaluation evaluation = evaluation_of(sums, table_, count);
  if (!std::isfinite(evaluation.loss))
    return fail("E0701", "the loss of the evaluation is not finite", {},
                "use a smaller --lr, and go on from the last checkpoint with --resume");
  return evaluation;
}

Result<void> PlanTrainer::predict(std::span<const data::SampleFile* const> files, const OnRows& take,
                                  const std::function<bool()>& go_on) {
  PANTOUM_TRY(own_process());
  if (!table_.predict_program || table_.outputs.empty())
    return fail(
        "E0105", "the plan holds no program 'predict': it gives no outputs", {},
        "plan the model again: plans of earlier releases lack it, and one whose outputs do not fit its RAM does");
  std::vector<data::BatchView> batch;
  for (const size_t at : table_.prediction_reads) batch.push_back(model_batch_[at]);
  if (files.size() != batch.size())
    return fail("E0262",
                fmt::format("the data have {} inputs, the outputs are made of {}", files.size(), batch.size()));
  const int64_t count = files.empty() ? 0 : files.front()->count();
  if (count == 0) return fail("E0262", "there are no samples to predict", {}, "give one or more");
  for (size_t at = 0; at < files.size(); ++at)
    if (files[at]->count() != count)
      return fail("E0262", fmt::format("there are {} samples here and {} elsewhere", files[at]->count(), count),
                  std::string(batch[at].name), "give as many of each");
  data::BatchLoader loader(preparation_, batch.size(), 0);
  PANTOUM_TRY(loader.bind(files, batch));
  for (int64_t begin = 0; begin < count; begin += table_.batch) {
    if (go_on && !go_on()) return fail("E0999", "interrupted while outputs were made");
    const int64_t real = std::min(table_.batch, count - begin);
    for (int64_t row = 0; row < table_.batch; ++row)
      PANTOUM_TRY(loader.load(row < real ? begin + row : begin, batch, row));
    const pt_status status = engine_->run(*table_.predict_program, {progress_.step, progress_.seed, progress_.lr});
    if (status != PT_OK) return host::status_failure(status, "the outputs");
    for (size_t output = 0; output < table_.outputs.size(); ++output)
      PANTOUM_TRY(take(
          output, begin,
          bytes_of(table_.outputs[output]).first(static_cast<uint64_t>(real) * table_.outputs[output].row_bytes())));
  }
  return {};
}

}  // namespace

Result<std::vector<const data::SampleFile*>> prediction_files(const TensorTable& table, const data::Dataset& data) {
  std::vector<const data::SampleFile*> files;
  for (const size_t at : table.prediction_reads) {
    const size_t label = at - table.inputs.size();
    const data::SampleFile* file = nullptr;
    if (at < table.inputs.size()) {
      if (data.inputs.size() == table.inputs.size()) file = data.inputs[at].get();
    } else {
      file = label == 0                         ? data.labels.get()
             : label <= data.more_labels.size() ? data.more_labels[label - 1].get()
                                                : nullptr;
    }
    if (file == nullptr)
      return fail("E0262", "the data lack a tensor that the outputs are made of", table.batch_tensor(at).name,
                  "give an array of samples for it");
    files.push_back(file);
  }
  return files;
}

Result<std::unique_ptr<Trainer>> Trainer::create(std::vector<std::byte> plan, const std::string& weights,
                                                 const TrainerOptions& options) {
  PANTOUM_ASSIGN(const weights::SafetensorFile file, weights::open_safetensors(weights));
  PANTOUM_ASSIGN(std::unique_ptr<host::Engine> engine,
                 host::Engine::open(std::move(plan), {.page_file = options.page_file,
                                                      .threads = options.threads,
                                                      .direct_io = options.direct_io,
                                                      .encrypt = options.encrypt,
                                                      .kernels = options.kernels,
                                                      .pool = options.pool,
                                                      .engines = options.engines,
                                                      .engine_processors = options.engine_processors,
                                                      .opencl_device = options.opencl_device}));
  PANTOUM_ASSIGN(TensorTable table, make_tensor_table(engine->plan(), {options.inputs, options.features}, file));
  PANTOUM_TRY(check_tensors(file, table, Source::kPlan, "E0242"));
  if (options.micro_batches < 1 || (options.micro_batches > 1 && !table.accumulate_program && !table.update_program))
    return fail("E0253", fmt::format("the plan has no program for steps of {} micro-batches", options.micro_batches),
                {}, "plan the model again with --accumulate");
  auto trainer = std::make_unique<PlanTrainer>(std::move(engine), std::move(table), options);
  PANTOUM_TRY(trainer->find_final_gradients());
  PANTOUM_TRY(trainer->start(file, options.prefetch));
  return trainer;
}

}  // namespace pantoum::train
