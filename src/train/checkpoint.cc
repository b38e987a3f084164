// A checkpoint is a safetensors file: tensors by name, and the progress of the run as metadata. check_tensors()
// comes before load_tensors(), so that a file that does not fit changes nothing.
#include "train/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace pantoum::train {
namespace {

constexpr size_t kMaxNotes = 20;

std::string describe(base::DType dtype, const std::vector<int64_t>& shape) {
  return fmt::format("{} [{}]", base::name_of(dtype), fmt::join(shape, ", "));
}

void check_tensor(const weights::SafetensorFile& file, const PlanTensor& tensor, bool required,
                  std::vector<std::string>& problems) {
  const weights::SafetensorEntry* entry = file.find(tensor.name);
  if (entry == nullptr) {
    if (required)
      problems.push_back(fmt::format("'{}' {} is missing", tensor.name, describe(tensor.dtype, tensor.shape)));
  } else if (entry->dtype != tensor.dtype || entry->shape != tensor.shape) {
    problems.push_back(fmt::format("'{}' is {}, the model has {}", tensor.name, describe(entry->dtype, entry->shape),
                                   describe(tensor.dtype, tensor.shape)));
  }
}

Result<void> load_tensor(const weights::SafetensorFile& file, const PlanTensor& tensor, host::Engine& engine,
                         std::span<std::byte> piece) {
  const weights::SafetensorEntry* entry = file.find(tensor.name);
  if (entry == nullptr) std::fill(piece.begin(), piece.end(), std::byte{0});
  for (uint64_t at = 0; at < tensor.bytes; at += piece.size()) {
    const auto part = piece.first(static_cast<size_t>(std::min<uint64_t>(piece.size(), tensor.bytes - at)));
    if (entry != nullptr) PANTOUM_TRY(weights::read_tensor(file, *entry, at, part));
    PANTOUM_TRY(engine.write(tensor.index, at, part));
  }
  return {};
}

weights::SafetensorSource source_of(const PlanTensor& tensor, host::Engine& engine) {
  return {tensor.name, tensor.dtype, tensor.shape,
          [&engine, index = tensor.index](uint64_t at, std::span<std::byte> piece) {
            return engine.read(index, at, piece);
          }};
}

template <class Number>
bool parse(const weights::SafetensorFile& file, const std::string& key, Number& number) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) return false;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

Result<Schedule> read_schedule(const std::string& text, const std::string& path) {
  Result<Schedule> schedule = parse_schedule(text, path);
  if (!schedule) return fail("E0243", "the resume point's schedule is damaged: " + schedule.error().message, path);
  return schedule;
}

}  // namespace

Result<void> check_tensors(const weights::SafetensorFile& file, const TensorTable& table, bool states_too,
                           const char* code) {
  std::vector<std::string> problems;
  for (const PlanTensor& tensor : table.weights) check_tensor(file, tensor, true, problems);
  for (const PlanTensor& tensor : table.states) check_tensor(file, tensor, states_too, problems);
  if (problems.empty()) return {};
  const size_t count = problems.size();
  if (count > kMaxNotes) {
    problems.resize(kMaxNotes);
    problems.push_back(fmt::format("and {} more", count - kMaxNotes));
  }
  return fail(code,
              fmt::format("{} tensor{} of the model do{} not fit the file", count, count == 1 ? "" : "s",
                          count == 1 ? "es" : ""),
              file.path, "give weights of this very model", std::move(problems));
}

Result<void> load_tensors(const weights::SafetensorFile& file, const TensorTable& table, host::Engine& engine,
                          std::span<std::byte> piece) {
  for (const PlanTensor& tensor : table.weights) PANTOUM_TRY(load_tensor(file, tensor, engine, piece));
  for (const PlanTensor& tensor : table.states) PANTOUM_TRY(load_tensor(file, tensor, engine, piece));
  return clear_sums(table, engine, piece);
}

Result<void> clear_sums(const TensorTable& table, host::Engine& engine, std::span<std::byte> piece) {
  std::fill(piece.begin(), piece.end(), std::byte{0});
  for (const PlanTensor& tensor : table.sums)
    for (uint64_t at = 0; at < tensor.bytes; at += piece.size())
      PANTOUM_TRY(engine.write(tensor.index, at,
                               piece.first(static_cast<size_t>(std::min<uint64_t>(piece.size(), tensor.bytes - at)))));
  return {};
}

Result<void> save_checkpoint(const std::string& path, const TensorTable& table, host::Engine& engine,
                             const Progress& progress) {
  std::vector<weights::SafetensorSource> sources;
  sources.reserve(table.weights.size() + table.states.size());
  for (const PlanTensor& tensor : table.weights) sources.push_back(source_of(tensor, engine));
  for (const PlanTensor& tensor : table.states) sources.push_back(source_of(tensor, engine));
  const int64_t per_step = progress.batch * progress.micro_batches;
  const int64_t per_epoch = per_step > 0 ? progress.samples / per_step : 0;
  const uint64_t steps_per_epoch = static_cast<uint64_t>(std::max<int64_t>(per_epoch, 1));
  return weights::write_safetensors(
      path, sources,
      {{"step", std::to_string(progress.step)},
       {"seed", std::to_string(progress.seed)},
       {"lr", fmt::format("{}", progress.lr)},  // the shortest text that reads back the same
       {"schedule", to_text(progress.schedule)},
       {"best", fmt::format("{}", progress.best_so_far.best)},
       {"best_step", std::to_string(progress.best_so_far.best_step)},
       {"judged_step", std::to_string(progress.best_so_far.judged_step)},
       {"stale", std::to_string(progress.best_so_far.stale)},
       {"plan_hash", progress.plan_hash},
       {"batch", std::to_string(progress.batch)},
       {"micro_batches", std::to_string(progress.micro_batches)},
       {"shuffle", progress.shuffle ? "on" : "off"},
       {"samples", std::to_string(progress.samples)},
       {"epoch", std::to_string(per_epoch > 0 ? progress.step / steps_per_epoch : 0)},
       {"position", std::to_string(per_epoch > 0 ? progress.step % steps_per_epoch : 0)}});
}

Result<Progress> read_progress(const weights::SafetensorFile& file) {
  Progress progress;
  const bool whole = parse(file, "step", progress.step) && parse(file, "seed", progress.seed) &&
                     parse(file, "lr", progress.lr) && parse(file, "batch", progress.batch) &&
                     parse(file, "samples", progress.samples) && progress.samples >= 0;
  const auto hash = file.metadata.find("plan_hash");
  if (!whole || !std::isfinite(progress.lr) || hash == file.metadata.end())
    return fail("E0243", "the file is no resume point: its metadata lack step, seed, lr, batch, samples or plan_hash",
                file.path, "to begin with these weights, use --weights");
  progress.plan_hash = hash->second;
  if (file.metadata.contains("micro_batches") && !parse(file, "micro_batches", progress.micro_batches))
    return fail("E0243", "the resume point's number of micro-batches is damaged", file.path);
  const auto shuffle = file.metadata.find("shuffle");  // older points lack it
  progress.shuffle = shuffle == file.metadata.end() || shuffle->second != "off";
  if (const auto schedule = file.metadata.find("schedule"); schedule != file.metadata.end()) {
    PANTOUM_ASSIGN(progress.schedule, read_schedule(schedule->second, file.path));
  }
  BestSoFar best_so_far;  // of a run that judges nothing, or an older one's: none
  if (parse(file, "best", best_so_far.best) && parse(file, "best_step", best_so_far.best_step) &&
      parse(file, "judged_step", best_so_far.judged_step) && parse(file, "stale", best_so_far.stale))
    progress.best_so_far = best_so_far;
  return progress;
}

}  // namespace pantoum::train
