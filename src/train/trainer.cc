#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "train/batch_loader.h"
#include "train/batch_queue.h"
#include "train/checkpoint.h"
#include "train/engine.h"
#include "train/epoch_batches.h"
#include "train/memory_meter.h"
#include "train/status_error.h"
#include "train/tensor_table.h"

namespace pantoum::train {
namespace {

constexpr size_t kPieceBytes = 1 << 16;

class PlanTrainer final : public Trainer {
 public:
  PlanTrainer(std::unique_ptr<Engine> engine, TensorTable table, const TrainerOptions& options)
      : engine_(std::move(engine)),
        table_(std::move(table)),
        progress_{.seed = options.seed, .lr = options.lr, .plan_hash = options.plan_hash, .batch = table_.batch},
        preparation_(options.preparation),
        piece_(kPieceBytes),
        loader_(options.preparation, table_.inputs.size() + 1) {
    for (const PlanTensor& input : table_.inputs) batch_.push_back(view_of(input));
    batch_.push_back(view_of(table_.label));
  }
  ~PlanTrainer() override { end_feed(); }
  PlanTrainer(const PlanTrainer&) = delete;
  PlanTrainer& operator=(const PlanTrainer&) = delete;

  // Maps the arena and fills it.
  Result<void> start(const artifact::SafetensorFile& weights, int64_t prefetch) {
    if (prefetch > 0) {
      PANTOUM_ASSIGN(queue_, BatchQueue::create(batch_, prefetch));
    }
    PANTOUM_TRY(engine_->start());
    for (size_t input = 0; input < table_.inputs.size(); ++input) attach(batch_[input], table_.inputs[input]);
    attach(batch_.back(), table_.label);
    if (queue_) PANTOUM_TRY(queue_->map());
    return load_tensors(weights, table_, *engine_, piece_);
  }

  void feed(BatchProducer producer, uint64_t last, int64_t samples) override {
    end_feed();
    producer_ = std::move(producer);
    progress_.samples = samples;
    if (queue_) queue_->begin(producer_, progress_.step + 1, last);
  }

  void end_feed() override {
    if (queue_) queue_->end();
    producer_ = nullptr;
  }

  Result<StepStats> step() override {
    if (!producer_) return fail("E0001", "internal: a step without a feed");
    if (queue_) {
      PANTOUM_TRY(queue_->take(batch_));
    } else {
      PANTOUM_TRY(producer_(progress_.step + 1, batch_));
    }
    return run_step();
  }

  Result<BatchProducer> epochs_of(const artifact::Dataset& data, std::span<uint32_t> indices) override {
    auto loader = std::make_shared<BatchLoader>(preparation_, batch_.size());
    PANTOUM_TRY(loader->bind(data, batch_));
    return epoch_batches(std::move(loader), progress_.seed, table_.batch, indices);
  }

  Result<StepStats> step(const artifact::Dataset& data, std::span<const uint32_t> indices) override {
    PANTOUM_TRY(loader_.bind(data, batch_));
    if (indices.size() != static_cast<size_t>(table_.batch))
      return fail("E0001", fmt::format("internal: {} indices for a batch of {}", indices.size(), table_.batch));
    for (size_t row = 0; row < indices.size(); ++row) PANTOUM_TRY(load(indices[row], static_cast<int64_t>(row)));
    progress_.samples = data.count();
    return run_step();
  }

  Result<Evaluation> evaluate(const artifact::Dataset& data) override;

  Result<void> save(const std::string& path) override { return save_checkpoint(path, table_, *engine_, progress_); }

  Result<void> resume(const std::string& path) override {
    PANTOUM_ASSIGN(const artifact::SafetensorFile file, artifact::open_safetensors(path));
    PANTOUM_ASSIGN(Progress progress, read_progress(file));
    if (progress.plan_hash != progress_.plan_hash)
      return fail("E0243", "the resume point is of another model", path,
                  "resume with the model and options it was made with",
                  {"it has " + progress.plan_hash + ", this run " + progress_.plan_hash});
    if (progress.batch != table_.batch)
      return fail(
          "E0243",
          fmt::format("the resume point was made with batches of {}, this run has {}", progress.batch, table_.batch),
          path, fmt::format("resume with --batch {}", progress.batch));
    PANTOUM_TRY(check_tensors(file, table_, true, "E0243"));
    PANTOUM_TRY(load_tensors(file, table_, *engine_, piece_));
    progress_ = std::move(progress);
    return {};
  }

  uint64_t steps_done() const override { return progress_.step; }
  int64_t batch() const override { return table_.batch; }
  uint64_t seed() const override { return progress_.seed; }
  void set_lr(double lr) override { progress_.lr = lr; }

  Usage usage() const override {
    const pt_counters counters = engine_->counters();
    const FilePager* pager = engine_->pager();
    return {.arena_bytes = engine_->plan().arena_bytes,
            .rss_before_arena = engine_->rss_before_arena(),
            .high_water = read_resident_set().peak_bytes,
            .queue_bytes = queue_ ? queue_->bytes() : 0,
            .bytes_paged_in = counters.bytes_paged_in,
            .bytes_paged_out = counters.bytes_paged_out,
            .direct_io = pager != nullptr && pager->direct_io(),
            .io_backend = pager != nullptr ? pager->backend() : ""};
  }

 private:
  std::unique_ptr<Engine> engine_;
  TensorTable table_;
  Progress progress_;
  Preparation preparation_;
  std::vector<std::byte> piece_;
  std::vector<BatchView> batch_;  // in the arena: the inputs, then the label
  BatchLoader loader_;
  BatchProducer producer_;
  std::unique_ptr<BatchQueue> queue_;  // calls producer_: goes first

  // The bytes come with the arena.
  static BatchView view_of(const PlanTensor& tensor) {
    return {tensor.name, tensor.dtype, tensor.shape, std::span(static_cast<std::byte*>(nullptr), tensor.bytes)};
  }
  void attach(BatchView& view, const PlanTensor& tensor) {
    view.data = std::span(engine_->data(tensor.index), tensor.bytes);
  }

  Result<void> load(int64_t index, int64_t row) { return loader_.load(index, batch_, row); }

  // On what the batch holds.
  Result<StepStats> run_step() {
    const uint64_t step = progress_.step + 1;
    const pt_status status = engine_->run(table_.train_program, {step, progress_.seed, progress_.lr});
    if (status != PT_OK) return status_failure(status, "step " + std::to_string(step));
    progress_.step = step;
    const double loss = scalar(*table_.loss, 0);
    if (!std::isfinite(loss)) return diverged(step);
    return StepStats{step, loss};
  }

  double scalar(const PlanTensor& tensor, size_t element) {
    float value = 0;
    std::memcpy(&value, engine_->data(tensor.index) + element * sizeof value, sizeof value);
    return static_cast<double>(value);
  }

  static Failure diverged(uint64_t step) {
    return fail("E0701", fmt::format("the loss of step {} is not finite", step), {},
                "use a smaller --lr, and go on from the last checkpoint with --resume: this step has spoilt the "
                "parameters in RAM");
  }

  // Evaluation.
  struct Sums {
    double loss = 0, loss_weight = 0, correct = 0, counted = 0;
  };
  [[nodiscard]] bool labels_can_be_masked() const {
    return table_.label.dtype == ir::DType::kI64 || table_.label.dtype == ir::DType::kI32;
  }
  void mask_row(int64_t row);
  double unmasked_labels() const;
  Result<void> run_eval();
  Result<void> evaluate_batch(int64_t begin, int64_t real, Sums& sums);
  Result<double> loss_of_padding();
};

// Bytes of ones: -1 in every integer type, and labels below 0 are ignored.
void PlanTrainer::mask_row(int64_t row) {
  std::memset(batch_.back().row(row).data(), 0xFF, table_.label.row_bytes());
}

// A batch's loss is a mean over its labels that are not ignored; for targets, over all.
double PlanTrainer::unmasked_labels() const {
  const size_t width = static_cast<size_t>(ir::size_of(table_.label.dtype)), elements = table_.label.bytes / width;
  size_t counted = 0;
  for (size_t element = 0; element < elements; ++element)  // little-endian: the sign is in the last byte
    if ((std::to_integer<unsigned>(batch_.back().data[element * width + width - 1]) & 0x80U) == 0) ++counted;
  return static_cast<double>(counted);
}

Result<void> PlanTrainer::run_eval() {
  const pt_status status = engine_->run(*table_.eval_program, {progress_.step, progress_.seed, progress_.lr});
  if (status != PT_OK) return status_failure(status, "evaluation");
  return {};
}

// The mean loss of the first sample alone, which fills every row.
Result<double> PlanTrainer::loss_of_padding() {
  for (int64_t row = 0; row < table_.batch; ++row) PANTOUM_TRY(load(0, row));
  PANTOUM_TRY(run_eval());
  return scalar(*table_.eval_loss, 0);
}

Result<void> PlanTrainer::evaluate_batch(int64_t begin, int64_t real, Sums& sums) {
  const bool masks = labels_can_be_masked();
  for (int64_t row = 0; row < table_.batch; ++row) {
    PANTOUM_TRY(load(row < real ? begin + row : 0, row));
    if (row >= real && masks) mask_row(row);
  }
  const double weight = masks ? unmasked_labels() : static_cast<double>(table_.batch);
  PANTOUM_TRY(run_eval());
  if (table_.eval_correct) {
    sums.correct += scalar(*table_.eval_correct, 0);
    sums.counted += scalar(*table_.eval_correct, 1);
  }
  if (weight == 0) return {};
  double loss = scalar(*table_.eval_loss, 0) * weight;
  const auto padding = static_cast<double>(table_.batch - real);
  if (!masks && padding > 0) {
    PANTOUM_ASSIGN(const double padded, loss_of_padding());
    loss -= padding * padded;
  }
  sums.loss += loss;
  sums.loss_weight += masks ? weight : static_cast<double>(real);
  return {};
}

Result<Evaluation> PlanTrainer::evaluate(const artifact::Dataset& data) {
  if (!table_.eval_program || !table_.eval_loss)
    return fail("E0105", "the plan holds no program 'eval' with a result 'eval.loss'", {},
                "plan the model again with evaluation");
  PANTOUM_TRY(loader_.bind(data, batch_));
  const int64_t count = data.count();
  if (count == 0) return fail("E0262", "there are no samples to evaluate", {}, "give a data set with test samples");
  Sums sums;
  for (int64_t begin = 0; begin < count; begin += table_.batch)
    PANTOUM_TRY(evaluate_batch(begin, std::min(table_.batch, count - begin), sums));
  Evaluation evaluation{.samples = count, .has_accuracy = table_.eval_correct.has_value()};
  if (sums.loss_weight > 0) evaluation.loss = sums.loss / sums.loss_weight;
  if (sums.counted > 0) evaluation.accuracy = sums.correct / sums.counted;
  if (!std::isfinite(evaluation.loss))
    return fail("E0701", "the loss of the evaluation is not finite", {},
                "use a smaller --lr, and go on from the last checkpoint with --resume");
  return evaluation;
}

}  // namespace

Result<std::unique_ptr<Trainer>> Trainer::create(std::vector<std::byte> plan, const std::string& weights,
                                                 const TrainerOptions& options) {
  PANTOUM_ASSIGN(const artifact::SafetensorFile file, artifact::open_safetensors(weights));
  PANTOUM_ASSIGN(std::unique_ptr<Engine> engine, Engine::open(std::move(plan), {.page_file = options.page_file,
                                                                                .threads = options.threads,
                                                                                .direct_io = options.direct_io,
                                                                                .kernels = options.kernels}));
  PANTOUM_ASSIGN(TensorTable table, make_tensor_table(engine->plan(), options.inputs, file));
  PANTOUM_TRY(check_tensors(file, table, false, "E0242"));
  auto trainer = std::make_unique<PlanTrainer>(std::move(engine), std::move(table), options);
  PANTOUM_TRY(trainer->start(file, options.prefetch));
  return trainer;
}

}  // namespace pantoum::train
