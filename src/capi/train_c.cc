// The functions of pantoum/train.h: each finds its trainer, checks what it was given, and asks src/train.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/checksum.h"
#include "base/files.h"
#include "capi/handle.h"
#include "data/memory_samples.h"
#include "host/engine.h"
#include "host/thread_pool.h"
#include "runtime/plan_bytes.h"
#include "train/tensor_table.h"

namespace pantoum::capi {

namespace {

// Options of the caller's version. E0150 `size` was not set, or is wrong.
template <class Options>
[[nodiscard]] Result<Options> options_of(const Options* given, const char* function) {
  Options options{};
  options.size = sizeof options;
  if (given == nullptr) return options;
  if (!is_size_of<Options>(given->size))
    return misuse(
        given->size > sizeof options ? "the options are larger than those of this libpantoum_train"
                                     : "the options' size is not set",
        function,
        "set .size = sizeof of the struct, and all else to zero; use a libpantoum_train that is as new as the header");
  std::memcpy(&options, given, given->size);
  options.size = sizeof options;
  return options;
}

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

// With the number of threads in `made`. A plan has room for what its kernels need on the threads that it was made for.
Result<void> create_trainer(Handle& handle, std::vector<std::byte> plan, const std::string& weights,
                            train::TrainerOptions& made) {
  PANTOUM_ASSIGN(handle.kernels, kernels_of(plan, made.threads));
  made.kernels = handle.kernels->table();
  made.kernel_name = handle.kernels->name();
  made.pool = handle.kernels->pool();
  PANTOUM_ASSIGN(handle.trainer, train::Trainer::create(std::move(plan), weights, made));
  return {};
}

Result<void> open_trainer(Handle& handle, std::vector<std::byte> plan, const std::string& weights,
                          const pt_train_options& options, const char* function) {
  PANTOUM_ASSIGN(train::TrainerOptions made, trainer_options(options, function));
  PANTOUM_TRY(check_programs(plan));
  handle.micro_batches = static_cast<uint32_t>(made.micro_batches);
  made.plan_hash = base::checksum_text(base::checksum_of(plan));
  made.threads = host::allowed_threads(made.threads);
  Result<void> created = create_trainer(handle, plan, weights, made);
  while (!created && created.error().where == host::kTooManyThreads && options.threads == 0 && made.threads > 1) {
    --made.threads;
    handle.kernels.reset();  // a back end has one number of threads at a time
    created = create_trainer(handle, plan, weights, made);
  }
  PANTOUM_TRY(created);
  handle.trainer->set_total_steps(options.total_steps);
  handle.trainer->feed(given_batches(handle), 0, 0);
  return {};
}

using train::PlanTensor;
using train::TensorTable;

// ---- opening ----

Result<std::vector<std::byte>> read_plan(const char* path, const char* function) {
  if (path == nullptr) return misuse("the plan's name is a null pointer", function);
  PANTOUM_ASSIGN(const std::string text, base::read_file(path));
  const auto bytes = std::as_bytes(std::span(text));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

Result<std::vector<std::byte>> copy_plan(const void* plan, size_t bytes, const char* function) {
  if (plan == nullptr) return misuse("the plan is a null pointer", function);
  const auto* const begin = static_cast<const std::byte*>(plan);
  return std::vector<std::byte>(begin, begin + bytes);
}

Result<void> open(Handle& handle, Result<std::vector<std::byte>> plan, const char* weights,
                  const pt_train_options* options, const char* function) {
  PANTOUM_TRY(plan);
  if (weights == nullptr) return misuse("the name of the weights is a null pointer", function);
  PANTOUM_ASSIGN(const pt_train_options known, options_of(options, function));
  return open_trainer(handle, std::move(*plan), weights, known, function);
}

// Makes the handle first, so that it can tell what was wrong.
template <class ReadPlan>
int open_handle(pt_trainer** trainer, const char* weights, const pt_train_options* options, const char* function,
                const ReadPlan& plan) noexcept {
  try {
    if (trainer == nullptr)
      return failed(error_without_trainer(),
                    {.code = "E0150", .message = "the place for the trainer is a null pointer", .where = function});
    *trainer = nullptr;
    pt_trainer* const made = enter(std::make_shared<Handle>());
    *trainer = made;
    return call(made, function, [&](Handle& handle) {
      const base::RecordInputs recorded(&handle.inputs);
      return open(handle, plan(), weights, options, function);
    });
  } catch (...) {
    return failed(error_without_trainer(), caught(function));
  }
}

// Work on a trainer that was opened without an error.
template <class Work>
int with_trainer(const pt_trainer* trainer, const char* function, const Work& work) noexcept {
  return call(trainer, function, [&](Handle& handle) -> Result<void> {
    if (handle.trainer == nullptr)
      return misuse("the trainer could not be opened", function, "close it, and open it again");
    return work(handle, *handle.trainer);
  });
}

// ---- tensors ----

// The tensors of a kind, in order; empty if there is no such kind.
std::vector<const PlanTensor*> tensors_of(const TensorTable& table, int kind) {
  std::vector<const PlanTensor*> tensors;
  if (kind == PT_TRAIN_LABEL)
    for (const train::LossTensors& term : table.terms) tensors.push_back(&term.label);
  if (kind == PT_TRAIN_INPUT)
    for (const PlanTensor& input : table.inputs) tensors.push_back(&input);
  if (kind == PT_TRAIN_OUTPUT)
    for (const PlanTensor& output : table.outputs) tensors.push_back(&output);
  if (kind == PT_TRAIN_ASKED)
    for (const size_t at : table.prediction_reads) tensors.push_back(&table.batch_tensor(at));
  if (kind == PT_TRAIN_WEIGHT)
    for (const PlanTensor& weight : table.weights) tensors.push_back(&weight);
  if (kind == PT_TRAIN_STATE)
    for (const PlanTensor& state : table.states) tensors.push_back(&state);
  return tensors;
}

Result<void> check_kind(int kind, const char* function) {
  if (kind >= PT_TRAIN_INPUT && kind <= PT_TRAIN_ASKED) return {};
  return misuse(fmt::format("there is no kind of tensors {}", kind), function, "use a pt_train_kind");
}

pt_train_tensor describe(const PlanTensor& tensor, int kind) {
  pt_train_tensor made{};
  made.size = sizeof made;
  made.name = tensor.name.c_str();
  made.bytes = tensor.bytes;
  made.rank = static_cast<int32_t>(tensor.shape.size());
  std::copy(tensor.shape.begin(), tensor.shape.end(), made.dims);
  made.dtype = static_cast<int32_t>(tensor.dtype);
  made.kind = kind;
  return made;
}

struct Found {
  const PlanTensor* tensor;
  int kind;
};

Result<Found> find_tensor(const TensorTable& table, const char* name, const char* function) {
  if (name == nullptr) return misuse("the tensor's name is a null pointer", function);
  for (const int kind : {PT_TRAIN_WEIGHT, PT_TRAIN_STATE})
    for (const PlanTensor* tensor : tensors_of(table, kind))
      if (tensor->name == name) return Found{tensor, kind};
  return fail("E0151", fmt::format("the plan has no weight or state '{}'", name), function,
              "pt_train_tensor_at lists them");
}

Failure wrong_size(const std::string& name, uint64_t given, uint64_t wanted, const char* function) {
  return fail("E0152", fmt::format("'{}' takes {} bytes, {} were given", name, wanted, given), function,
              "pt_train_tensor_at tells shapes and types");
}

// Finds it and checks pointer and size.
Result<const PlanTensor*> tensor_to_copy(const train::Trainer& trainer, const char* name, const void* data,
                                         size_t bytes, const char* function) {
  PANTOUM_ASSIGN(const Found found, find_tensor(trainer.tensors(), name, function));
  if (data == nullptr) return misuse("the data are a null pointer", function);
  if (bytes != found.tensor->bytes) return wrong_size(found.tensor->name, bytes, found.tensor->bytes, function);
  return found.tensor;
}

// ---- batches ----

std::vector<const PlanTensor*> batch_tensors(const TensorTable& table) {
  std::vector<const PlanTensor*> tensors = tensors_of(table, PT_TRAIN_INPUT);
  const std::vector<const PlanTensor*> labels = tensors_of(table, PT_TRAIN_LABEL);
  tensors.insert(tensors.end(), labels.begin(), labels.end());
  return tensors;
}

Result<void> check_one(const PlanTensor& tensor, const pt_train_data& data, uint64_t wanted, const char* function) {
  if (data.data == nullptr) return misuse("the data of '" + tensor.name + "' are a null pointer", function);
  if (data.bytes != wanted) return wrong_size(tensor.name, data.bytes, wanted, function);
  return {};
}

Result<void> check_count(size_t given, size_t wanted, const char* function) {
  if (given == wanted) return {};
  return fail("E0152", fmt::format("{} tensors are wanted, {} were given", wanted, given), function,
              "give as many as pt_train_count says: of a step all inputs, then all labels, of each batch");
}

Result<void> check_batch(const Handle& handle, const TensorTable& table, std::span<const pt_train_data> given,
                         const char* function) {
  if (given.data() == nullptr) return misuse("the batch is a null pointer", function);
  const size_t inputs = table.inputs.size(), tensors = inputs + table.terms.size();
  PANTOUM_TRY(check_count(given.size(), tensors * handle.micro_batches, function));
  for (size_t at = 0; at < given.size(); ++at) {
    const size_t which = at % tensors;
    const PlanTensor& tensor = which < inputs ? table.inputs[which] : table.terms[which - inputs].label;
    PANTOUM_TRY(check_one(tensor, given[at], tensor.bytes, function));
  }
  return {};
}

// ---- evaluation ----

// E0152: so many samples have no size in bytes.
Result<void> check_samples(const PlanTensor& tensor, uint64_t samples, uint64_t given, const char* function) {
  if (samples <= std::numeric_limits<int64_t>::max() / tensor.row_bytes()) return {};
  return wrong_size(tensor.name, given, std::numeric_limits<uint64_t>::max(), function);
}

Result<data::Dataset> samples_of(const TensorTable& table, std::span<const pt_train_data> given, uint64_t samples,
                                 const char* function) {
  const std::vector<const PlanTensor*> tensors = batch_tensors(table);
  if (given.data() == nullptr) return misuse("the samples are a null pointer", function);
  PANTOUM_TRY(check_count(given.size(), tensors.size(), function));
  if (samples == 0) return fail("E0262", "there are no samples to evaluate", function, "give at least one");
  data::Dataset data;
  for (size_t at = 0; at < tensors.size(); ++at) {
    const PlanTensor& tensor = *tensors[at];
    PANTOUM_TRY(check_samples(tensor, samples, given[at].bytes, function));
    PANTOUM_TRY(check_one(tensor, given[at], samples * tensor.row_bytes(), function));
    auto array = data::memory_samples(tensor.dtype, {tensor.shape.begin() + 1, tensor.shape.end()},
                                      static_cast<int64_t>(samples),
                                      {static_cast<const std::byte*>(given[at].data), given[at].bytes});
    if (at < table.inputs.size())
      data.inputs.push_back(std::move(array));
    else if (data.labels == nullptr)
      data.labels = std::move(array);
    else
      data.more_labels.push_back(std::move(array));
  }
  return data;
}

// The samples that a prediction reads.
Result<std::vector<std::unique_ptr<data::SampleFile>>> asked_of(const TensorTable& table,
                                                                std::span<const pt_train_data> given, uint64_t samples,
                                                                const char* function) {
  const std::vector<const PlanTensor*> tensors = tensors_of(table, PT_TRAIN_ASKED);
  if (given.data() == nullptr) return misuse("the samples are a null pointer", function);
  PANTOUM_TRY(check_count(given.size(), tensors.size(), function));
  if (samples == 0) return fail("E0262", "there are no samples to predict", function, "give at least one");
  std::vector<std::unique_ptr<data::SampleFile>> files;
  for (size_t at = 0; at < tensors.size(); ++at) {
    const PlanTensor& tensor = *tensors[at];
    PANTOUM_TRY(check_samples(tensor, samples, given[at].bytes, function));
    PANTOUM_TRY(check_one(tensor, given[at], samples * tensor.row_bytes(), function));
    files.push_back(data::memory_samples(tensor.dtype, {tensor.shape.begin() + 1, tensor.shape.end()},
                                         static_cast<int64_t>(samples),
                                         {static_cast<const std::byte*>(given[at].data), given[at].bytes}));
  }
  return files;
}

Result<void> check_room(const TensorTable& table, std::span<const pt_train_room> rooms, uint64_t samples,
                        const char* function) {
  if (rooms.data() == nullptr) return misuse("the room for the outputs is a null pointer", function);
  PANTOUM_TRY(check_count(rooms.size(), table.outputs.size(), function));
  for (size_t at = 0; at < rooms.size(); ++at) {
    const PlanTensor& output = table.outputs[at];
    PANTOUM_TRY(check_samples(output, samples, rooms[at].bytes, function));
    PANTOUM_TRY(check_one(output, {rooms[at].data, rooms[at].bytes}, samples * output.row_bytes(), function));
  }
  return {};
}

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

pt_train_evaluation described(const train::Evaluation& found) {
  pt_train_evaluation made{};
  made.size = sizeof made;
  made.loss = found.loss;
  made.accuracy = found.has_accuracy ? found.accuracy : kNone;
  made.samples = static_cast<uint64_t>(found.samples);
  made.term_count = static_cast<uint32_t>(found.term_count);
  for (size_t term = 0; term < found.term_count; ++term) {
    const train::TermEvaluation& of = found.terms[term];
    made.terms[term] = {of.loss, of.accuracy.value_or(kNone), of.top5.value_or(kNone),
                        of.mean_absolute_error.value_or(kNone)};
  }
  return made;
}

// ---- figures ----

pt_train_usage described(Handle& handle) {
  const train::Usage& used = handle.usage = handle.trainer->usage();
  handle.kernel_name = handle.kernels->name();
  return {sizeof(pt_train_usage),
          handle.trainer->steps_done(),
          static_cast<uint64_t>(handle.trainer->batch()),
          used.arena_bytes,
          used.rss_before_arena,
          used.high_water,
          used.bytes_paged_in,
          used.bytes_paged_out,
          used.storage_bytes,
          handle.kernel_name.c_str(),
          handle.usage.io_backend.c_str(),
          handle.usage.cipher.c_str()};
}

Result<void> check_path(const char* path, const char* function) {
  if (path == nullptr) return misuse("the file's name is a null pointer", function);
  return {};
}

Result<void> check_group(const train::Trainer& trainer, size_t group, double value, const char* function) {
  if (group >= trainer.groups().size())
    return misuse(fmt::format("there are {} groups, none has the index {}", trainer.groups().size(), group), function);
  if (std::isfinite(value) && value >= 0) return {};
  return misuse("the value is negative or not finite", function);
}

}  // namespace

}  // namespace pantoum::capi

using namespace pantoum::capi;
using pantoum::Result;
using pantoum::train::Trainer;

int pt_train_open(pt_trainer** trainer, const char* plan, const char* weights, const pt_train_options* options) {
  return open_handle(trainer, weights, options, __func__, [&, name = __func__] { return read_plan(plan, name); });
}

int pt_train_open_plan(pt_trainer** trainer, const void* plan, size_t plan_bytes, const char* weights,
                       const pt_train_options* options) {
  return open_handle(trainer, weights, options, __func__,
                     [&, name = __func__] { return copy_plan(plan, plan_bytes, name); });
}

void pt_train_close(pt_trainer* trainer) {
  try {
    if (const std::shared_ptr<Handle> used = find(trainer); used == nullptr || is_in_call(*used)) return;
    const std::shared_ptr<Handle> handle = remove(trainer);
    if (handle == nullptr) return;
    const std::lock_guard lock(handle->guard);  // a call that another thread is in ends first
    handle->trainer.reset();
  } catch (...) {  // a lock that the system refuses: the memory stays with who holds it
  }
}

const pt_train_error* pt_train_last_error(const pt_trainer* trainer) {
  try {
    const std::shared_ptr<Handle> handle = find(trainer);
    if (handle == nullptr) return tell(error_without_trainer());
    if (is_in_call(*handle)) return tell(handle->error);
    const std::lock_guard lock(handle->guard);
    return tell(handle->error);
  } catch (...) {
    return &out_of_memory();
  }
}

int pt_train_count(pt_trainer* trainer, int kind, size_t* count) {
  return with_trainer(trainer, __func__, [&, name = __func__](Handle&, Trainer& of) -> Result<void> {
    PANTOUM_TRY(check_kind(kind, name));
    if (count == nullptr) return misuse("the count has no place: a null pointer", name);
    *count = tensors_of(of.tensors(), kind).size();
    return {};
  });
}

int pt_train_tensor_at(pt_trainer* trainer, int kind, size_t index, pt_train_tensor* tensor) {
  return with_trainer(trainer, __func__, [&, name = __func__](Handle&, Trainer& of) -> Result<void> {
    PANTOUM_TRY(check_kind(kind, name));
    const auto tensors = tensors_of(of.tensors(), kind);
    if (index >= tensors.size())
      return misuse(fmt::format("there are {} tensors of this kind, none has the index {}", tensors.size(), index),
                    name);
    return answer(tensor, describe(*tensors[index], kind), name);
  });
}

int pt_train_find(pt_trainer* trainer, const char* tensor_name, pt_train_tensor* tensor) {
  return with_trainer(trainer, __func__, [&, name = __func__](Handle&, Trainer& of) -> Result<void> {
    PANTOUM_ASSIGN(const Found found, find_tensor(of.tensors(), tensor_name, name));
    return answer(tensor, describe(*found.tensor, found.kind), name);
  });
}

int pt_train_get(pt_trainer* trainer, const char* tensor_name, void* data, size_t bytes) {
  return with_trainer(trainer, __func__, [&, name = __func__](Handle&, Trainer& of) -> Result<void> {
    PANTOUM_ASSIGN(const PlanTensor* tensor, tensor_to_copy(of, tensor_name, data, bytes, name));
    return of.read(*tensor, {static_cast<std::byte*>(data), bytes});
  });
}

int pt_train_set(pt_trainer* trainer, const char* tensor_name, const void* data, size_t bytes) {
  return with_trainer(trainer, __func__, [&, name = __func__](Handle&, Trainer& of) -> Result<void> {
    PANTOUM_ASSIGN(const PlanTensor* tensor, tensor_to_copy(of, tensor_name, data, bytes, name));
    return of.write(*tensor, {static_cast<const std::byte*>(data), bytes});
  });
}

int pt_train_step(pt_trainer* trainer, const pt_train_data* data, size_t count, pt_train_result* result) {
  return with_trainer(trainer, __func__, [&, name = __func__](Handle& handle, Trainer& of) -> Result<void> {
    if (result != nullptr) PANTOUM_TRY(check_place(result, name));
    PANTOUM_TRY(check_batch(handle, of.tensors(), {data, count}, name));
    handle.pending = {data, count};
    const std::unique_lock turn = handle.kernels->turn();
    const auto stats = of.step();
    handle.pending = {};
    PANTOUM_TRY(stats);
    if (result == nullptr) return {};
    return answer(result, {sizeof *result, stats->step, stats->loss, stats->lr}, name);
  });
}

int pt_train_evaluate(pt_trainer* trainer, const pt_train_data* data, size_t count, uint64_t samples,
                      pt_train_evaluation* evaluation) {
  return with_trainer(trainer, __func__, [&, name = __func__](Handle& handle, Trainer& of) -> Result<void> {
    PANTOUM_TRY(check_place(evaluation, name));
    PANTOUM_ASSIGN(const pantoum::data::Dataset set, samples_of(of.tensors(), {data, count}, samples, name));
    const std::unique_lock turn = handle.kernels->turn();
    PANTOUM_ASSIGN(const pantoum::train::Evaluation found, of.evaluate(set));
    return answer(evaluation, described(found), name);
  });
}

int pt_train_predict(pt_trainer* trainer, const pt_train_data* data, size_t count, uint64_t samples,
                     const pt_train_room* outputs, size_t output_count) {
  return with_trainer(trainer, __func__, [&, name = __func__](Handle& handle, Trainer& of) -> Result<void> {
    const pantoum::train::TensorTable& table = of.tensors();
    if (!table.predict_program) return of.predict({}, {});  // which says so
    PANTOUM_ASSIGN(const auto owned, asked_of(table, {data, count}, samples, name));
    const std::span<const pt_train_room> rooms(outputs, output_count);
    PANTOUM_TRY(check_room(table, rooms, samples, name));
    std::vector<const pantoum::data::SampleFile*> files;
    files.reserve(owned.size());
    for (const auto& each : owned) files.push_back(each.get());
    const auto copy = [&](size_t output, int64_t first, std::span<const std::byte> rows) -> Result<void> {
      const uint64_t at = static_cast<uint64_t>(first) * table.outputs[output].row_bytes();
      std::memcpy(static_cast<std::byte*>(rooms[output].data) + at, rows.data(), rows.size());
      return {};
    };
    const std::unique_lock turn = handle.kernels->turn();
    return of.predict(files, copy);
  });
}

int pt_train_set_learning_rate(pt_trainer* trainer, double learning_rate) {
  return with_trainer(trainer, __func__, [&, name = __func__](Handle&, Trainer& of) -> Result<void> {
    if (!std::isfinite(learning_rate) || learning_rate < 0)
      return misuse("the learning rate is negative or not finite", name);
    of.set_lr(learning_rate);
    return {};
  });
}

int pt_train_group_count(pt_trainer* trainer, size_t* count) {
  return with_trainer(trainer, __func__, [&, name = __func__](Handle&, Trainer& of) -> Result<void> {
    if (count == nullptr) return misuse("the count has no place: a null pointer", name);
    *count = of.groups().size();
    return {};
  });
}

int pt_train_set_group_rate(pt_trainer* trainer, size_t group, double learning_rate) {
  return with_trainer(trainer, __func__, [&, name = __func__](Handle&, Trainer& of) -> Result<void> {
    PANTOUM_TRY(check_group(of, group, learning_rate, name));
    of.set_group(group, {learning_rate, of.groups()[group].weight_decay});
    return {};
  });
}

int pt_train_set_group_decay(pt_trainer* trainer, size_t group, double weight_decay) {
  return with_trainer(trainer, __func__, [&, name = __func__](Handle&, Trainer& of) -> Result<void> {
    PANTOUM_TRY(check_group(of, group, weight_decay, name));
    of.set_group(group, {of.groups()[group].lr, weight_decay});
    return {};
  });
}

int pt_train_save(pt_trainer* trainer, const char* path) {
  return with_trainer(trainer, __func__, [&, name = __func__](Handle&, Trainer& of) -> Result<void> {
    PANTOUM_TRY(check_path(path, name));
    return of.save(path);
  });
}

int pt_train_resume(pt_trainer* trainer, const char* path) {
  return with_trainer(trainer, __func__, [&, name = __func__](Handle&, Trainer& of) -> Result<void> {
    PANTOUM_TRY(check_path(path, name));
    return of.resume(path);
  });
}

int pt_train_load(pt_trainer* trainer, const char* path) {
  return with_trainer(trainer, __func__, [&, name = __func__](Handle&, Trainer& of) -> Result<void> {
    PANTOUM_TRY(check_path(path, name));
    return of.load(path);
  });
}

int pt_train_get_usage(pt_trainer* trainer, pt_train_usage* usage) {
  return with_trainer(trainer, __func__, [&, name = __func__](Handle& handle, Trainer&) {
    return answer(usage, described(handle), name);
  });
}

const char* pt_train_version(void) {
  return PANTOUM_VERSION;
}
