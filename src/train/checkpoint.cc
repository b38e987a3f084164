// A checkpoint is a safetensors file: tensors by name, and the progress of the run as metadata. check_tensors()
// comes before load_tensors(), so that a file that does not fit changes nothing.
#include "train/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "weights/safetensors.h"

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

// The first element of the tensor's bytes that is not finite; none where the tensor holds no reals.
std::optional<size_t> not_finite(const PlanTensor& tensor, std::span<const std::byte> piece) {
  if (tensor.dtype != base::DType::kF32) return std::nullopt;
  for (size_t at = 0; at + sizeof(float) <= piece.size(); at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, piece.data() + at, sizeof value);
    if (!std::isfinite(value)) return at / sizeof(float);
  }
  return std::nullopt;
}

Result<void> load_tensor(const weights::SafetensorFile& file, PlanTensor& tensor, host::Engine& engine,
                         std::span<std::byte> piece) {
  const weights::SafetensorEntry* entry = file.find(tensor.name);
  tensor.finite = true;
  if (entry == nullptr) std::fill(piece.begin(), piece.end(), std::byte{0});
  for (uint64_t at = 0; at < tensor.bytes; at += piece.size()) {
    const auto part = piece.first(static_cast<size_t>(std::min<uint64_t>(piece.size(), tensor.bytes - at)));
    if (entry != nullptr) PANTOUM_TRY(weights::read_tensor(file, *entry, at, part));
    tensor.finite = tensor.finite && !not_finite(tensor, part);
    PANTOUM_TRY(engine.write(tensor.index, at, part));
  }
  return {};
}

// What a file gets of a tensor. Reading fails with E0701 where training made a value that is not finite: a buffer that began with an infinity
// may keep it.
weights::SafetensorSource source_of(const PlanTensor& tensor, host::Engine& engine) {
  return {tensor.name, tensor.dtype, tensor.shape,
          [&engine, &tensor](uint64_t at, std::span<std::byte> piece) -> Result<void> {
            PANTOUM_TRY(engine.read(tensor.index, at, piece));
            if (!tensor.changes || !tensor.finite) return {};
            if (const auto element = not_finite(tensor, piece))
              return fail(
                  "E0701",
                  fmt::format("'{}' is not finite (element {}): nothing was saved", tensor.name, at / 4 + *element),
                  tensor.name,
                  "a smaller learning rate, or a bound for gradients (--clip-norm); go back to the last file");
            return {};
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

Failure damaged(const weights::SafetensorFile& file, const std::string& what) {
  return fail("E0243", "the resume point contradicts itself: " + what, file.path,
              "resume from an older one, or begin with these weights: --weights");
}

Result<Schedule> read_schedule(const std::string& text, const std::string& path) {
  Result<Schedule> schedule = parse_schedule(text, path);
  if (!schedule) return fail("E0243", "the resume point's schedule is damaged: " + schedule.error().message, path);
  return schedule;
}

std::string text_of(const weights::SafetensorFile& file, const std::string& key) {
  const auto found = file.metadata.find(key);
  return found == file.metadata.end() ? "" : found->second;
}

// "0.1,0.01 -,0": rate and weight decay of each group, - where it has none.
std::string text_of(const std::vector<GroupRates>& groups) {
  const auto words = [](const std::optional<double>& value) { return value ? fmt::format("{}", *value) : "-"; };
  std::string text;
  for (const GroupRates& group : groups)
    text += fmt::format("{}{},{}", text.empty() ? "" : " ", words(group.lr), words(group.weight_decay));
  return text;
}

bool parse_rate(const std::string& text, std::optional<double>& value) {
  if (text == "-") return true;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  value = number;
  return error == std::errc{} && end == text.data() + text.size() && std::isfinite(number) && number >= 0;
}

Result<std::vector<GroupRates>> read_groups(const weights::SafetensorFile& file) {
  std::vector<GroupRates> groups;
  std::istringstream words(text_of(file, "groups"));
  for (std::string word; words >> word;) {
    const size_t comma = word.find(',');
    GroupRates& group = groups.emplace_back();
    if (comma == std::string::npos || !parse_rate(word.substr(0, comma), group.lr) ||
        !parse_rate(word.substr(comma + 1), group.weight_decay))
      return damaged(file, fmt::format("'{}' is no rate and weight decay of a group", word));
  }
  return groups;
}

Result<void> read_numbers(const weights::SafetensorFile& file, Progress& progress) {
  BestSoFar& best = progress.best_so_far;
  const bool whole = parse(file, "step", progress.step) && parse(file, "seed", progress.seed) &&
                     parse(file, "lr", progress.lr) && parse(file, "batch", progress.batch) &&
                     parse(file, "micro_batches", progress.micro_batches) && parse(file, "samples", progress.samples) &&
                     parse(file, "threads", progress.threads) && parse(file, "best", best.best) &&
                     parse(file, "best_step", best.best_step) && parse(file, "judged_step", best.judged_step) &&
                     parse(file, "stale", best.stale);
  if (whole && file.metadata.contains("plan_hash")) return {};
  return fail("E0243",
              "the file is no resume point: its metadata lack one of step, seed, lr, batch, micro_batches, samples, "
              "threads, best, best_step, judged_step, stale and plan_hash, or it is no number",
              file.path, "to begin with these weights, use --weights");
}

Result<void> read_words(const weights::SafetensorFile& file, Progress& progress) {
  progress.plan_hash = text_of(file, "plan_hash");
  progress.data = text_of(file, "data");
  progress.kernels = text_of(file, "kernels");
  progress.numerics = text_of(file, "numerics");
  const std::string shuffle = text_of(file, "shuffle");
  if (shuffle != "on" && shuffle != "off") return damaged(file, fmt::format("shuffle is '{}'", shuffle));
  progress.shuffle = shuffle == "on";
  PANTOUM_ASSIGN(progress.schedule, read_schedule(text_of(file, "schedule"), file.path));
  PANTOUM_ASSIGN(progress.groups, read_groups(file));
  return {};
}

// What no run writes, though the sums are right.
Result<void> check_progress(const weights::SafetensorFile& file, const Progress& progress) {
  const BestSoFar& best = progress.best_so_far;
  if (progress.step > kMostSteps) return damaged(file, fmt::format("{} steps", progress.step));
  if (!std::isfinite(progress.lr) || progress.lr < 0)
    return damaged(file, fmt::format("a learning rate of {}", progress.lr));
  if (progress.batch < 1 || progress.micro_batches < 1)
    return damaged(file, fmt::format("{} micro-batches of {} samples", progress.micro_batches, progress.batch));
  if (progress.samples < 0 || progress.threads < 0)
    return damaged(file, fmt::format("{} samples, {} threads", progress.samples, progress.threads));
  if (!std::isfinite(best.best) || best.best_step > best.judged_step || best.judged_step > progress.step)
    return damaged(file, fmt::format("the best of {} at step {}, judged at {}, of {} steps", best.best, best.best_step,
                                     best.judged_step, progress.step));
  EpochPlace told;
  const EpochPlace place = place_of(progress);
  if (!parse(file, "epoch", told.epoch) || !parse(file, "position", told.position) || told.epoch != place.epoch ||
      told.position != place.position)
    return damaged(file, fmt::format("{} steps on {} samples end at step {} of epoch {}, and it says {} of {}",
                                     progress.step, progress.samples, place.position, place.epoch,
                                     text_of(file, "position"), text_of(file, "epoch")));
  return {};
}

// What the plan does not know of a file of weights: constants of its program may have been computed from it.
void check_others(const weights::SafetensorFile& file, const TensorTable& table, std::vector<std::string>& problems) {
  std::set<std::string_view> known;
  for (const auto* tensors : {&table.weights, &table.constants, &table.states, &table.sums})
    for (const PlanTensor& tensor : *tensors) known.insert(tensor.name);
  for (const weights::SafetensorEntry& entry : file.tensors)
    if (!known.contains(entry.name) && !entry.name.starts_with("optim.") && !entry.name.starts_with("accumulated.") &&
        !entry.name.ends_with("num_batches_tracked"))
      problems.push_back(
          fmt::format("'{}' {} is fixed in the plan, or of another model: weights of the model itself "
                      "are compared with it",
                      entry.name, describe(entry.dtype, entry.shape)));
}

}  // namespace

Result<void> check_tensors(const weights::SafetensorFile& file, const TensorTable& table, Source source,
                           const char* code) {
  std::vector<std::string> problems;
  if (source == Source::kWeights) check_others(file, table, problems);
  for (const PlanTensor& tensor : table.weights)
    check_tensor(file, tensor, source != Source::kWeights || !table.computed.contains(tensor.name), problems);
  for (const PlanTensor& tensor : table.constants)
    if (source == Source::kPlan) check_tensor(file, tensor, true, problems);
  for (const PlanTensor& tensor : table.states) check_tensor(file, tensor, source == Source::kResumePoint, problems);
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

namespace {

// What tells the file from a checkpoint of these weights: the first few, with the number of those that are left out.
std::vector<std::string> other_weights(const weights::SafetensorFile& file, const std::vector<PlanTensor>& weights,
                                       bool all) {
  constexpr size_t kShown = 5;
  std::vector<std::string> others;
  std::set<std::string_view> known;
  for (const PlanTensor& tensor : weights) {
    known.insert(tensor.name);
    const weights::SafetensorEntry* entry = file.find(tensor.name);
    const std::string own = describe(tensor.dtype, tensor.shape);
    if (entry == nullptr)
      others.push_back(fmt::format("it lacks '{}' {}, which this model has", tensor.name, own));
    else if (entry->dtype != tensor.dtype || entry->shape != tensor.shape)
      others.push_back(fmt::format("'{}' is {} in it, and {} in this model", tensor.name,
                                   describe(entry->dtype, entry->shape), own));
  }
  for (const weights::SafetensorEntry& entry : file.tensors)
    if (all && !known.contains(entry.name) && !entry.name.starts_with("optim.") &&
        !entry.name.starts_with("accumulated."))
      others.push_back(
          fmt::format("it has '{}' {}, which this model lacks", entry.name, describe(entry.dtype, entry.shape)));
  if (others.size() <= kShown) return others;
  const size_t more = others.size() - kShown;
  others.resize(kShown);
  others.push_back(fmt::format("and {} more", more));
  return others;
}

// "momentum" of "optim.momentum.fc.weight": what an optimizer keeps of each parameter.
std::set<std::string> kinds_of_states(const std::vector<std::string>& names) {
  constexpr std::string_view kState = "optim.";
  std::set<std::string> kinds;
  for (const std::string& name : names)
    if (name.starts_with(kState))
      kinds.insert(name.substr(kState.size(), name.find('.', kState.size()) - kState.size()));
  return kinds;
}

std::string words_of(const std::set<std::string>& kinds) {
  return kinds.empty() ? "nothing (sgd without momentum)" : fmt::format("{}", fmt::join(kinds, ", "));
}

}  // namespace

Result<void> check_same_model(const weights::SafetensorFile& file, const std::vector<PlanTensor>& weights,
                              const std::vector<std::string>& states, bool all) {
  if (std::vector<std::string> others = other_weights(file, weights, all); !others.empty())
    return fail("E0243", "the resume point is of another model", file.path,
                "resume with the model that it was made of, and its --freeze", std::move(others));
  std::vector<std::string> kept;
  for (const weights::SafetensorEntry& entry : file.tensors) kept.push_back(entry.name);
  const std::set<std::string> kinds = kinds_of_states(kept), own = kinds_of_states(states);
  if (kinds == own) return {};
  return fail(
      "E0243", "the resume point is of another optimizer", file.path,
      "resume with the --optimizer and the settings it was made with",
      {fmt::format("of each parameter it keeps {}, and the optimizer of this run {}", words_of(kinds), words_of(own))});
}

Result<void> load_tensors(const weights::SafetensorFile& file, TensorTable& table, host::Engine& engine, Source source,
                          std::span<std::byte> piece) {
  for (PlanTensor& tensor : table.weights)
    if (file.find(tensor.name) != nullptr || !table.computed.contains(tensor.name))
      PANTOUM_TRY(load_tensor(file, tensor, engine, piece));
  for (PlanTensor& tensor : table.constants)
    if (source == Source::kPlan) PANTOUM_TRY(load_tensor(file, tensor, engine, piece));
  PANTOUM_TRY(load_states(file, table, engine, piece));
  return clear_sums(table, engine, piece);
}

Result<void> load_states(const weights::SafetensorFile& file, TensorTable& table, host::Engine& engine,
                         std::span<std::byte> piece) {
  for (PlanTensor& tensor : table.states) PANTOUM_TRY(load_tensor(file, tensor, engine, piece));
  return {};
}

Result<void> clear_sums(const TensorTable& table, host::Engine& engine, std::span<std::byte> piece) {
  std::fill(piece.begin(), piece.end(), std::byte{0});
  for (const PlanTensor& tensor : table.sums)
    for (uint64_t at = 0; at < tensor.bytes; at += piece.size())
      PANTOUM_TRY(engine.write(tensor.index, at,
                               piece.first(static_cast<size_t>(std::min<uint64_t>(piece.size(), tensor.bytes - at)))));
  return {};
}

EpochPlace place_of(const Progress& progress) {
  const auto samples = static_cast<uint64_t>(std::max<int64_t>(progress.samples, 0));
  const uint64_t per_epoch =
      samples / static_cast<uint64_t>(progress.batch) / static_cast<uint64_t>(progress.micro_batches);
  if (per_epoch == 0) return {};
  return {progress.step / per_epoch, progress.step % per_epoch};
}

Result<void> save_checkpoint(const std::string& path, const TensorTable& table, host::Engine& engine,
                             const Progress& progress, const std::string& kept, std::span<std::byte> piece) {
  std::vector<weights::SafetensorSource> sources;
  sources.reserve(table.weights.size() + table.states.size());
  for (const PlanTensor& tensor : table.weights) sources.push_back(source_of(tensor, engine));
  for (const PlanTensor& tensor : table.states) sources.push_back(source_of(tensor, engine));
  const EpochPlace place = place_of(progress);
  std::map<std::string, std::string> metadata{
      {"step", std::to_string(progress.step)},
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
      {"data", progress.data},
      {"kernels", progress.kernels},
      {"threads", std::to_string(progress.threads)},
      {"thread_independent", is_thread_independent(progress.kernels) ? "yes" : "no"},
      {"epoch", std::to_string(place.epoch)},
      {"position", std::to_string(place.position)}};
  if (!progress.groups.empty()) metadata.emplace("groups", text_of(progress.groups));
  if (!progress.numerics.empty()) metadata.emplace("numerics", progress.numerics);
  return weights::write_safetensors(path, sources, metadata, kept, piece);
}

bool is_thread_independent(const std::string& kernels) {
  return kernels == "portable";
}

Result<Progress> read_progress(const weights::SafetensorFile& file) {
  if (!file.has_sums())
    return fail("E0243", "the file has no checksums, so it is no resume point of this release", file.path,
                "to begin with these weights, use --weights");
  Progress progress;
  PANTOUM_TRY(read_numbers(file, progress));
  PANTOUM_TRY(read_words(file, progress));
  PANTOUM_TRY(check_progress(file, progress));
  return progress;
}

namespace {

Result<ResumePoint> open_point(const std::string& path) {
  ResumePoint point{.path = path};
  PANTOUM_ASSIGN(const weights::SafetensorFile file, weights::open_safetensors(path));
  PANTOUM_ASSIGN(point.progress, read_progress(file));
  return point;
}

// Not what was written, in contrast to what is whole and of no use.
bool is_damage(const Error& error) {
  constexpr std::array<std::string_view, 4> kDamage{"E0201", "E0240", "E0241", "E0244"};
  return std::find(kDamage.begin(), kDamage.end(), error.code) != kDamage.end();
}

}  // namespace

std::string previous_checkpoint(const std::string& path) {
  return path + ".previous";
}

Result<ResumePoint> find_resume_point(const std::string& path) {
  Result<ResumePoint> newest = open_point(path);
  if (newest || !is_damage(newest.error())) return newest;
  Result<ResumePoint> before = open_point(previous_checkpoint(path));
  if (before) {
    before->damaged = newest.error();
    return before;
  }
  Error error = newest.error();
  error.notes.push_back("nor can the one before be resumed from: " + previous_checkpoint(path) + ": " +
                        before.error().message);
  return Failure(std::move(error));
}

}  // namespace pantoum::train
