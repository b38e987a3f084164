#include "cli/resume.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/planning.h"
#include "weights/safetensors.h"

namespace pantoum::cli {

Result<std::optional<train::ResumePoint>> resume_point_of(const std::string& path, std::optional<uint64_t> seed,
                                                          std::optional<bool> shuffle) {
  if (path.empty()) return std::optional<train::ResumePoint>();
  PANTOUM_ASSIGN(train::ResumePoint point, train::find_resume_point(path));
  if (point.damaged) {
    print_warning(fmt::format("{}: {}; going on from the one before, {}, of step {}", path, point.damaged->message,
                              point.path, point.progress.step));
    for (const std::string& note : point.damaged->notes) print_warning(note);
  }
  if (seed && *seed != point.progress.seed)
    return fail("E0243", fmt::format("the resume point was made with the seed {}", point.progress.seed), point.path,
                "leave --seed out");
  if (shuffle && *shuffle != point.progress.shuffle)
    return fail("E0243",
                fmt::format("the resume point {}", point.progress.shuffle ? "shuffles the samples, and --shuffle is off here"
                                                                         : "takes the samples in the data's own order, and --shuffle is on here"),
                point.path, "leave --shuffle out: the order goes on as it was");
  return std::optional(std::move(point));
}

Result<void> check_resume_point(const train::ResumePoint& point, const ir::Graph& training) {
  PANTOUM_ASSIGN(const weights::SafetensorFile file, weights::open_safetensors(point.path));
  std::vector<train::PlanTensor> weights;
  std::vector<std::string> states;
  for (const ir::Value& value : training.values) {
    if (value.role == ir::Role::kState) states.push_back(value.name);
    if (value.role == ir::Role::kParameter || value.role == ir::Role::kBuffer)
      weights.push_back({.name = value.name, .dtype = value.type.dtype, .shape = value.type.shape});
  }
  // The step need not hold what the evaluation alone reads: the trainer looks at that.
  PANTOUM_TRY(train::check_same_model(file, weights, states, false));
  if (training.inputs.empty() || training.value(training.inputs.front()).type.shape.empty()) return {};
  const int64_t batch = training.value(training.inputs.front()).type.shape.front();
  if (batch == point.progress.batch || point.progress.batch == 0) return {};
  return fail("E0243",
              fmt::format("the resume point was made with batches of {}, this run has {}", point.progress.batch, batch),
              point.path, fmt::format("resume with --batch {}", point.progress.batch));
}

bool has_kernels_of(const train::ResumePoint& point, NamedKernels named) {
  return !named || (*named == Kernels::portable) == (point.progress.kernels == "portable");
}

Result<void> take_kernels_of(const train::ResumePoint& point, NamedKernels named, pipeline::PlanRequest& request) {
  if (named) return {};
  const std::string& kernels = point.progress.kernels;
  const bool portable = kernels == "portable";
  if (!portable && !kernels.starts_with("oneDNN "))  // then the release
    return fail("E0243", fmt::format("the resume point was computed by kernels that are not known here: '{}'", kernels),
                point.path, "name those that go on with --kernels; their bits may differ");
  using Choice = host::KernelSet::Choice;
  request.kernels = portable ? Choice::kPortable : Choice::kOneDnn;
  return {};
}

Error with_origin_of_kernels(Error error, NamedKernels named, const std::string& named_by) {
  if (error.code == "E0411" && !named && !named_by.empty())
    error.notes.insert(error.notes.begin(), named_by + " names these kernels; others give other bits");
  return error;
}

void note_other_bits(const train::ResumePoint& point, const std::string& kernels, int threads) {
  const train::Progress& before = point.progress;
  if (before.kernels != kernels)
    return print_note(
        fmt::format("until step {} the kernels '{}' computed, from now on '{}': the bits are others than "
                    "those of a run that was not interrupted",
                    before.step, before.kernels, kernels));
  if (!train::is_thread_independent(kernels) && before.threads != threads)
    print_note(
        fmt::format("until step {} {} threads computed, from now on {}: with the kernels '{}' the bits may be "
                    "others than those of a run that was not interrupted",
                    before.step, before.threads, threads, kernels));
}

train::OldCheckpoint old_checkpoint_of(const std::optional<train::ResumePoint>& point, const std::string& from,
                                       const std::string& checkpoint) {
  std::error_code ignored;
  const auto whole = [&](const std::string& path) { return std::filesystem::weakly_canonical(path, ignored); };
  if (!point || whole(from) != whole(checkpoint)) return train::OldCheckpoint::kForeign;
  return point->damaged ? train::OldCheckpoint::kDamaged : train::OldCheckpoint::kOwn;
}

}  // namespace pantoum::cli
