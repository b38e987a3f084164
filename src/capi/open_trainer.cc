#include "capi/open_trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/checksum.h"
#include "capi/sized_struct.h"
#include "runtime/plan_bytes.h"

namespace pantoum::capi {
namespace {

constexpr uint32_t kMostThreads = 4096;
constexpr uint32_t kMostMicroBatches = 1 << 20;

// Whether an op of the plan names an algorithm of a fast back end. A plan that cannot be opened needs none: the trainer
// says what is wrong with it.
bool needs_back_end(const std::vector<std::byte>& bytes) {
  pt_plan plan{};
  if (pt_plan_open(&plan, bytes.data(), bytes.size()) != PT_OK) return false;
  for (uint32_t op = 0; op < plan.op_count; ++op) {
    pt_op_view view;
    if (pt_decode_op(&plan, op, &view) == PT_OK && view.algorithm >= PT_FIRST_BACK_END_ALGORITHM) return true;
  }
  return false;
}

Result<std::shared_ptr<const host::KernelSet>> kernels_of(const std::vector<std::byte>& plan, int threads) {
  using Choice = host::KernelSet::Choice;
  auto kernels = host::KernelSet::open(needs_back_end(plan) ? Choice::kOneDnn : Choice::kPortable, threads);
  if (kernels || kernels.error().code != "E0411") return kernels;
  Error error = kernels.error();
  error.where = "the plan, which was made for these kernels";
  return fail(error.code, error.message, error.where, error.help + ": plan the model again then", error.notes);
}

Result<void> check(const pt_train_options& options, const char* function) {
  if (!std::isfinite(options.learning_rate) || options.learning_rate < 0)
    return misuse("the learning rate is negative or not finite", function);
  if (options.threads > kMostThreads) return misuse("there are more than 4096 threads", function);
  if (options.accumulate > kMostMicroBatches) return misuse("a step has more than 1048576 batches", function);
  if (options.plain_pages > 1 || options.cached_pages > 1)
    return misuse("plain_pages and cached_pages are 0 or 1", function);
  return {};
}

Result<train::TrainerOptions> trainer_options(const pt_train_options& options, const char* function) {
  PANTOUM_TRY(check(options, function));
  train::TrainerOptions made{.page_file = options.page_file != nullptr ? options.page_file : "",
                             .threads = static_cast<int>(options.threads),
                             .direct_io = options.cached_pages == 0,
                             .encrypt = options.plain_pages == 0,
                             .seed = options.seed,
                             .lr = options.learning_rate > 0 ? options.learning_rate : 0.01,
                             .micro_batches = std::max<uint32_t>(1, options.accumulate)};
  if (options.schedule != nullptr) {
    PANTOUM_ASSIGN(made.schedule, train::parse_schedule(options.schedule, "schedule"));
  }
  return made;
}

// The features program runs on a data set, which this library never has.
Result<void> check_programs(const std::vector<std::byte>& bytes) {
  pt_plan plan{};
  if (pt_plan_open(&plan, bytes.data(), bytes.size()) != PT_OK || pt_plan_program(&plan, "features") < 0) return {};
  return fail("E0253", "the plan keeps what a frozen part of the model gives, and so trains on a data set alone", {},
              "plan the model again without --feature-cache");
}

// What the step that runs was given. A producer is asked for each batch in turn.
data::BatchProducer given_batches(Handle& handle) {
  return [&handle](uint64_t number, std::span<const data::BatchView> batch) -> Result<void> {
    const size_t first = (number - 1) % handle.micro_batches * batch.size();
    if (handle.pending.size() < first + batch.size()) return fail("E0001", "internal: a batch that was not given");
    for (size_t tensor = 0; tensor < batch.size(); ++tensor)
      std::memcpy(batch[tensor].data.data(), handle.pending[first + tensor].data, batch[tensor].data.size());
    return {};
  };
}

}  // namespace

Result<void> open_trainer(Handle& handle, std::vector<std::byte> plan, const std::string& weights,
                          const pt_train_options& options, const char* function) {
  PANTOUM_ASSIGN(train::TrainerOptions made, trainer_options(options, function));
  PANTOUM_TRY(check_programs(plan));
  PANTOUM_ASSIGN(handle.kernels, kernels_of(plan, made.threads));
  handle.micro_batches = static_cast<uint32_t>(made.micro_batches);
  made.plan_hash = base::checksum_text(base::checksum_of(plan));
  made.kernels = handle.kernels->table();
  made.kernel_name = handle.kernels->name();
  made.pool = handle.kernels->pool();
  PANTOUM_ASSIGN(handle.trainer, train::Trainer::create(std::move(plan), weights, made));
  handle.trainer->set_total_steps(options.total_steps);
  handle.trainer->feed(given_batches(handle), 0, 0);
  return {};
}

}  // namespace pantoum::capi
