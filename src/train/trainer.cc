#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "train/batch_loader.h"
#include "train/checkpoint.h"
#include "train/engine.h"
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
        piece_(kPieceBytes),
        inputs_(table_.inputs.size()),
        conversions_(table_.inputs.size()) {
    set_normalization({});
  }

  // Maps the arena and fills it.
  Result<void> start(const artifact::SafetensorFile& weights) {
    PANTOUM_TRY(engine_->start());
    for (size_t input = 0; input < inputs_.size(); ++input)
      inputs_[input] = {&table_.inputs[input], engine_->data(table_.inputs[input].index)};
    label_ = {&table_.label, engine_->data(table_.label.index)};
    return load_tensors(weights, table_, *engine_, piece_);
  }

  Result<StepStats> step(const artifact::Dataset& data, std::span<const uint32_t> indices) override {
    PANTOUM_TRY(check_data(data));
    if (indices.size() != static_cast<size_t>(table_.batch))
      return fail("E0001", fmt::format("internal: {} indices for a batch of {}", indices.size(), table_.batch));
    for (size_t row = 0; row < indices.size(); ++row) PANTOUM_TRY(load(data, indices[row], static_cast<int64_t>(row)));
    const uint64_t step = progress_.step + 1;
    const pt_status status = engine_->run(table_.train_program, {step, progress_.seed, progress_.lr});
    if (status != PT_OK) return status_failure(status, "step " + std::to_string(step));
    progress_.step = step;
    progress_.samples = data.count();
    const double loss = scalar(*table_.loss, 0);
    if (!std::isfinite(loss)) return diverged(step);
    return StepStats{step, loss};
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
  void set_normalization(const Normalization& normalization) override {
    normalize_ = make_normalize_table(normalization);
  }
  void set_lr(double lr) override { progress_.lr = lr; }

  Usage usage() const override {
    const pt_counters counters = engine_->counters();
    const FilePager* pager = engine_->pager();
    return {.arena_bytes = engine_->plan().arena_bytes,
            .rss_before_arena = engine_->rss_before_arena(),
            .high_water = read_resident_set().peak_bytes,
            .back_end_bytes = engine_->back_end_bytes(),
            .bytes_paged_in = counters.bytes_paged_in,
            .bytes_paged_out = counters.bytes_paged_out,
            .direct_io = pager != nullptr && pager->direct_io(),
            .io_backend = pager != nullptr ? pager->backend() : ""};
  }

 private:
  std::unique_ptr<Engine> engine_;
  TensorTable table_;
  Progress progress_;
  std::vector<std::byte> piece_;
  std::vector<BatchTensor> inputs_;
  std::vector<Conversion> conversions_;
  BatchTensor label_;
  Conversion label_conversion_ = Conversion::kNone;
  NormalizeTable normalize_{};

  // Cheap enough for every step: data sets may change between calls.
  Result<void> check_data(const artifact::Dataset& data) {
    if (data.inputs.size() != inputs_.size())
      return fail("E0262", fmt::format("the data have {} inputs, the model {}", data.inputs.size(), inputs_.size()), {},
                  "give one array of samples for each input of the model");
    if (data.labels == nullptr) return fail("E0262", "the data have no labels", {}, "give an array of labels");
    for (size_t input = 0; input < inputs_.size(); ++input) {
      PANTOUM_ASSIGN(conversions_[input], check_fit(*data.inputs[input], table_.inputs[input], true));
      if (data.inputs[input]->count() != data.labels->count())
        return fail(
            "E0262",
            fmt::format("there are {} samples but {} labels", data.inputs[input]->count(), data.labels->count()),
            table_.inputs[input].name, "make both from the same data");
    }
    PANTOUM_ASSIGN(label_conversion_, check_fit(*data.labels, table_.label, false));
    return {};
  }

  Result<void> load(const artifact::Dataset& data, int64_t index, int64_t row) {
    for (size_t input = 0; input < inputs_.size(); ++input)
      PANTOUM_TRY(load_row(*data.inputs[input], index, inputs_[input], row, conversions_[input], normalize_));
    return load_row(*data.labels, index, label_, row, label_conversion_, normalize_);
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
  Result<void> evaluate_batch(const artifact::Dataset& data, int64_t begin, int64_t real, Sums& sums);
  Result<double> loss_of_padding(const artifact::Dataset& data);
};

// Bytes of ones: -1 in every integer type, and labels below 0 are ignored.
void PlanTrainer::mask_row(int64_t row) {
  std::memset(label_.data + static_cast<size_t>(row) * table_.label.row_bytes(), 0xFF, table_.label.row_bytes());
}

// A batch's loss is a mean over its labels that are not ignored; for targets, over all.
double PlanTrainer::unmasked_labels() const {
  const size_t width = static_cast<size_t>(ir::size_of(table_.label.dtype)), elements = table_.label.bytes / width;
  size_t counted = 0;
  for (size_t element = 0; element < elements; ++element)  // little-endian: the sign is in the last byte
    if ((std::to_integer<unsigned>(label_.data[element * width + width - 1]) & 0x80U) == 0) ++counted;
  return static_cast<double>(counted);
}

Result<void> PlanTrainer::run_eval() {
  const pt_status status = engine_->run(*table_.eval_program, {progress_.step, progress_.seed, progress_.lr});
  if (status != PT_OK) return status_failure(status, "evaluation");
  return {};
}

// The mean loss of the first sample alone, which fills every row.
Result<double> PlanTrainer::loss_of_padding(const artifact::Dataset& data) {
  for (int64_t row = 0; row < table_.batch; ++row) PANTOUM_TRY(load(data, 0, row));
  PANTOUM_TRY(run_eval());
  return scalar(*table_.eval_loss, 0);
}

Result<void> PlanTrainer::evaluate_batch(const artifact::Dataset& data, int64_t begin, int64_t real, Sums& sums) {
  const bool masks = labels_can_be_masked();
  for (int64_t row = 0; row < table_.batch; ++row) {
    PANTOUM_TRY(load(data, row < real ? begin + row : 0, row));
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
    PANTOUM_ASSIGN(const double padded, loss_of_padding(data));
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
  PANTOUM_TRY(check_data(data));
  const int64_t count = data.count();
  if (count == 0) return fail("E0262", "there are no samples to evaluate", {}, "give a data set with test samples");
  Sums sums;
  for (int64_t begin = 0; begin < count; begin += table_.batch)
    PANTOUM_TRY(evaluate_batch(data, begin, std::min(table_.batch, count - begin), sums));
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
                                                                                .kernels = options.kernels,
                                                                                .pool = options.pool}));
  PANTOUM_ASSIGN(TensorTable table, make_tensor_table(engine->plan(), options.inputs, file));
  PANTOUM_TRY(check_tensors(file, table, false, "E0242"));
  auto trainer = std::make_unique<PlanTrainer>(std::move(engine), std::move(table), options);
  PANTOUM_TRY(trainer->start(file));
  return trainer;
}

}  // namespace pantoum::train
