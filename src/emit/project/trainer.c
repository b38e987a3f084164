#include "trainer.h"

#include <string.h>

#include "runtime/plan_bytes.h"

/* ---- what is not finite is not stored ---- */

static int is_finite(const void* data, uint64_t bytes) {
  const uint8_t* at = (const uint8_t*)data;
  for (; bytes >= 4; bytes -= 4, at += 4)
    if ((pt_load_u32(at) & 0x7f800000u) == 0x7f800000u) return 0;
  return 1;
}

/* Do steps change the tensor, is it of floats, and were its first values finite? A buffer that begins with an infinity may keep it. */
static int must_be_finite(const pt_trainer* trainer, uint32_t tensor, const pt_tensor_info* info) {
  const pt_model* model = trainer->model;
  const uint32_t pair = pt_tensor_pair(&trainer->plan, tensor);
  uint32_t content;
  if (info->dtype != PT_F32 || pair == PT_NOWHERE) return 0;
  if (pt_is_successor(&trainer->plan, tensor)) tensor = pair;
  for (content = 0; content < model->content_count; ++content)
    if (model->contents[content].tensor == tensor) return (model->contents[content].flags & PT_VALUE_NOT_FINITE) == 0;
  return 1;
}

/* Does the transfer to storage begin in the payload of this tensor? */
static int writes_to(const pt_trainer* trainer, uint32_t tensor, uint64_t at, pt_tensor_info* info) {
  const uint32_t slot = pt_tensor_slot(&trainer->plan, tensor);
  const uint64_t begin = (uint64_t)slot * trainer->plan.align_bytes;
  if (slot == PT_NOWHERE || at < begin) return 0;
  if (at - begin >= (uint64_t)pt_tensor_units(&trainer->plan, tensor) * trainer->plan.align_bytes) return 0;
  return pt_plan_tensor_info(&trainer->plan, tensor, info) == PT_OK && at - begin < info->payload;
}

/* Finds the tensor whose slot has this byte; slices of one are written one after the other. 0: there is none. */
static int find_written(pt_trainer* trainer, uint64_t at, pt_tensor_info* info) {
  uint32_t tensor;
  if (trainer->written < trainer->plan.tensor_count && writes_to(trainer, trainer->written, at, info)) return 1;
  for (tensor = 0; tensor < trainer->plan.tensor_count; ++tensor) {
    if (!writes_to(trainer, tensor, at, info)) continue;
    trainer->written = tensor;
    return 1;
  }
  return 0;
}

/* Of a transfer to storage: of a whole tensor, or of a slice. */
static pt_status may_write(void* owner, uint64_t at, const void* data, size_t bytes) {
  pt_trainer* trainer = (pt_trainer*)owner;
  pt_tensor_info info;
  uint64_t rest;
  if (!find_written(trainer, at, &info) || !must_be_finite(trainer, trainer->written, &info)) return PT_OK;
  rest = info.payload - (at - (uint64_t)pt_tensor_slot(&trainer->plan, trainer->written) * trainer->plan.align_bytes);
  return is_finite(data, rest < bytes ? rest : bytes) ? PT_OK : PT_E_NUMBER;
}

static pt_status check_ram(pt_trainer* trainer) {
  uint32_t tensor;
  for (tensor = 0; tensor < trainer->plan.tensor_count; ++tensor) {
    const void* data = pt_session_data(trainer->session, tensor);
    pt_tensor_info info;
    if (data == NULL || pt_plan_tensor_info(&trainer->plan, tensor, &info) != PT_OK) continue;
    if (must_be_finite(trainer, tensor, &info) && !is_finite(data, info.payload)) return PT_E_NUMBER;
  }
  return PT_OK;
}

/* ---- opening ---- */

static pt_status clear(pt_trainer* trainer, uint32_t tensor, uint32_t bytes) {
  static const uint8_t zeros[PT_BLOCK_BYTES];
  uint32_t at;
  pt_status status = PT_OK;
  for (at = 0; at < bytes && status == PT_OK; at += (uint32_t)sizeof zeros) {
    const uint32_t part = bytes - at < sizeof zeros ? bytes - at : (uint32_t)sizeof zeros;
    status = pt_session_write(trainer->session, tensor, at, zeros, part, trainer->journal.buffer, PT_BLOCK_BYTES);
  }
  return status;
}

static int is_constant_in_ram(const pt_trainer* trainer, uint32_t tensor) {
  return pt_tensor_home(&trainer->plan, tensor) == PT_HOME_RAM && pt_tensor_pair(&trainer->plan, tensor) == PT_NOWHERE;
}

/* `constants`: those alone that a run finds in no storage. */
static pt_status write_initial_values(pt_trainer* trainer, int constants) {
  const pt_model* model = trainer->model;
  uint32_t content;
  pt_status status = PT_OK;
  for (content = 0; content < model->content_count && status == PT_OK; ++content) {
    const pt_initial_value* first = &model->contents[content];
    if (constants && !is_constant_in_ram(trainer, first->tensor)) continue;
    if ((first->flags & PT_VALUE_IN_IMAGE) != 0) return PT_E_STATE;
    status = first->data == NULL ? clear(trainer, first->tensor, first->bytes)
                                 : pt_session_write(trainer->session, first->tensor, 0, first->data, first->bytes,
                                                    trainer->journal.buffer, PT_BLOCK_BYTES);
  }
  return status;
}

/* Puts the staging buffer into the space that the program leaves for it. Between runs it is in the space of a step, which
 * holds nothing that lives between steps. */
static void place_staging(pt_trainer* trainer, int32_t program) {
  if (trainer->plan.staging_bytes != 0)
    trainer->pager.staging = trainer->arena + pt_plan_staging(&trainer->plan, (uint32_t)program);
}

static pt_status open_storage(pt_trainer* trainer, const pt_memory* memory) {
  pt_blocks* blocks = trainer->blocks;
  const int is_paged = trainer->plan.storage_bytes != 0;
  const uint32_t journal_blocks = pt_journal_blocks(&trainer->plan, memory->sums != NULL);
  const int is_in_parts = trainer->plan.align_bytes != PT_BLOCK_BYTES; /* a transfer may begin or end inside a block */
  if (memory->buffer == NULL || (is_paged && is_in_parts && trainer->plan.staging_bytes < PT_BLOCK_BYTES))
    return PT_E_ARGUMENT;
  if (blocks->count < journal_blocks) return PT_E_FULL;
  trainer->pager.blocks = blocks;
  trainer->pager.first = PT_RECORD_BLOCKS;
  trainer->pager.count = pt_plan_blocks(&trainer->plan);
  trainer->pager.sums = memory->sums;
  trainer->pager.may_write = may_write;
  trainer->pager.owner = trainer;
  if (memory->sums != NULL) memset(memory->sums, 0, trainer->pager.count * sizeof *memory->sums);
  pt_features_open(&trainer->features, blocks, journal_blocks, trainer->model->features, trainer->model->feature_count,
                   memory->sums != NULL, memory->buffer);
  return PT_OK;
}

static pt_status go_on(pt_trainer* trainer, const pt_memory* memory) {
  pt_status status;
  if (trainer->blocks == NULL) return write_initial_values(trainer, 0);
  status = pt_journal_open(&trainer->journal, trainer->blocks, trainer->session, &trainer->plan, memory->sums,
                           memory->buffer);
  if (status == PT_OK) status = pt_journal_resume(&trainer->journal, &trainer->step);
  trainer->committed = trainer->step;
  if (status == PT_OK) return write_initial_values(trainer, 1);
  if (status != PT_E_STATE) return status;
  status = write_initial_values(trainer, 0);
  return status == PT_OK ? pt_journal_commit(&trainer->journal, 0) : status;
}

static pt_status open_session(pt_trainer* trainer, const pt_memory* memory, const pt_pager* pager) {
  const pt_model* model = trainer->model;
#if PT_MAX_ENGINES > 1
  if (memory->engines != NULL) {
    const pt_status status = memory->start == NULL ? PT_OK : memory->start();
    return status != PT_OK ? status
                           : pt_session_open_engines(&trainer->session, &trainer->plan, memory->session, memory->arena,
                                                     model->rom, memory->engines, pager);
  }
#endif
  return pt_session_open(&trainer->session, &trainer->plan, memory->session, memory->arena, model->rom, model->kernels,
                         pager, NULL);
}

pt_status pt_trainer_open(pt_trainer* trainer, const pt_model* model, const pt_memory* memory, pt_blocks* blocks) {
  pt_pager pager;
  pt_status status;
  memset(trainer, 0, sizeof *trainer);
  trainer->model = model;
  trainer->blocks = blocks;
  status = pt_plan_open(&trainer->plan, model->plan, model->plan_bytes);
  trainer->arena = (uint8_t*)memory->arena;
  if (status == PT_OK && blocks != NULL) status = open_storage(trainer, memory);
  if (status != PT_OK) return status;
  place_staging(trainer, model->train);
  pager = pt_block_pager_interface(&trainer->pager);
  status = open_session(trainer, memory, blocks != NULL ? &pager : NULL);
  return status == PT_OK ? go_on(trainer, memory) : status;
}

/* ---- running ---- */

static pt_status fill_rows(pt_trainer* trainer, const pt_samples* samples, uint32_t which, uint32_t sample) {
  const pt_batch_tensor* rows = &trainer->model->rows[which];
  uint8_t* data = (uint8_t*)pt_session_data(trainer->session, rows->tensor);
  uint32_t row;
  if (data == NULL) return PT_E_PLAN;
  for (row = 0; row < trainer->model->batch; ++row) {
    const pt_status status = samples->row(samples->context, which, sample, data);
    if (status != PT_OK) return status;
    data += rows->row_bytes;
    if (++sample == samples->count) sample = 0;
  }
  return PT_OK;
}

static pt_status fill_feature(pt_trainer* trainer, uint32_t which, uint32_t sample) {
  const pt_feature* feature = &trainer->model->features[which];
  const uint32_t count = trainer->features.key.count;
  uint8_t* data = (uint8_t*)pt_session_data(trainer->session, feature->read);
  uint32_t left = trainer->model->batch;
  if (data == NULL) return PT_E_PLAN;
  while (left > 0) {
    const uint32_t rows = left < count - sample ? left : count - sample;
    const pt_status status = pt_features_get(&trainer->features, which, sample, rows, data);
    if (status != PT_OK) return status;
    data += (size_t)rows * feature->row_bytes;
    left -= rows;
    sample = 0;
  }
  return PT_OK;
}

/* Fills what the program reads with the batch that begins with sample `first`. */
static pt_status fill(pt_trainer* trainer, uint8_t reader, const pt_samples* samples, uint32_t first) {
  const pt_model* model = trainer->model;
  const uint32_t features = reader == PT_READ_BY_STEP ? model->feature_count : 0;
  uint32_t which;
  pt_status status = PT_OK;
  for (which = 0; which < model->row_count && status == PT_OK; ++which)
    if ((model->rows[which].readers & reader) != 0) status = fill_rows(trainer, samples, which, first);
  for (which = 0; which < features && status == PT_OK; ++which) status = fill_feature(trainer, which, first);
  return status;
}

static void take_result(pt_trainer* trainer, int32_t tensor, float* to, size_t count) {
  const void* data = tensor < 0 ? NULL : pt_session_data(trainer->session, (uint32_t)tensor);
  if (data != NULL) memcpy(to, data, count * sizeof *to);
}

static double rate(const pt_trainer* trainer, double lr) {
  const pt_model* model = trainer->model;
  return model->schedule == NULL ? lr : model->rate_at(model->schedule, lr, trainer->step, trainer->steps);
}

static const pt_group* group_rates(const pt_trainer* trainer) {
  const pt_model* model = trainer->model;
  uint32_t group;
  if (model->rates == NULL) return model->groups;
  for (group = 0; group < model->group_count; ++group) {
    model->rates[group] = model->groups[group];
    if (model->groups[group].lr >= 0) model->rates[group].lr = rate(trainer, model->groups[group].lr);
  }
  return model->rates;
}

static pt_status run(pt_trainer* trainer, int32_t program, uint8_t reader, const pt_samples* samples, uint32_t first) {
  pt_scalars scalars;
  pt_status status = program < 0 || samples->count == 0 ? PT_E_ARGUMENT : fill(trainer, reader, samples, first);
  if (status != PT_OK) return status;
  scalars.step = trainer->step + 1;
  scalars.seed = trainer->model->seed;
  scalars.lr = rate(trainer, trainer->model->lr);
  scalars.groups = group_rates(trainer);
  scalars.group_count = trainer->model->group_count;
  place_staging(trainer, program);
  status = pt_run(trainer->session, (uint32_t)program, &scalars);
  place_staging(trainer, trainer->model->train);
  return status;
}

/* step * batch % count, of 64 bits, without a division of 64 bits */
static uint32_t next_sample(uint64_t step, uint32_t batch, uint32_t count) {
  uint32_t at = 0, add = batch % count;
  for (; step != 0; step >>= 1) {
    if ((step & 1) != 0) at = at >= count - add ? at - (count - add) : at + add;
    add = add >= count - add ? add - (count - add) : add + add;
  }
  return at;
}

static pt_feature_key key_of(const pt_trainer* trainer, const pt_samples* samples) {
  pt_feature_key key;
  key.plan = pt_load_u32(trainer->plan.bytes + PT_AT_CRC);
  key.weights = trainer->model->weights;
  key.samples = samples->identity;
  key.count = samples->count;
  return key;
}

static pt_status make_features(pt_trainer* trainer, const pt_samples* samples, uint32_t first, uint32_t rows) {
  const pt_model* model = trainer->model;
  uint32_t which;
  pt_status status = run(trainer, model->backbone, PT_READ_BY_BACKBONE, samples, first);
  for (which = 0; which < model->feature_count && status == PT_OK; ++which) {
    const void* data = pt_session_data(trainer->session, model->features[which].made);
    status = data == NULL ? PT_E_PLAN : pt_features_put(&trainer->features, which, first, rows, data);
  }
  if (status == PT_OK) trainer->features.made += rows;
  return status;
}

pt_status pt_trainer_keep_features(pt_trainer* trainer, const pt_samples* samples) {
  const pt_feature_key key = key_of(trainer, samples);
  uint32_t first = 0, rows = 0;
  pt_status status;
  if (trainer->model->feature_count == 0) return PT_OK;
  if (trainer->blocks == NULL || samples->count == 0) return PT_E_ARGUMENT;
  status = pt_features_find(&trainer->features, &key);
  if (status != PT_E_STATE) return status;
  status = pt_features_begin(&trainer->features, &key);
  for (; status == PT_OK && first < samples->count; first += rows) {
    rows = samples->count - first < trainer->model->batch ? samples->count - first : trainer->model->batch;
    status = make_features(trainer, samples, first, rows);
  }
  if (status == PT_OK) status = pt_features_end(&trainer->features);
  if (status != PT_OK) trainer->features.key.count = 0;
  return status;
}

static int has_features_of(const pt_trainer* trainer, const pt_samples* samples) {
  const pt_feature_key key = key_of(trainer, samples);
  return trainer->model->feature_count == 0 || memcmp(&key, &trainer->features.key, sizeof key) == 0;
}

static uint64_t bytes_written(const pt_trainer* trainer) {
  return trainer->pager.bytes_written + trainer->journal.bytes_written;
}

pt_status pt_trainer_step(pt_trainer* trainer, const pt_samples* samples, float* loss) {
  const uint64_t before = bytes_written(trainer);
  const uint32_t first = samples->count == 0 ? 0 : next_sample(trainer->step, trainer->model->batch, samples->count);
  pt_status status;
  if (trainer->model->schedule != NULL && trainer->steps == 0) return PT_E_ARGUMENT;
  if (samples->count != 0 && !has_features_of(trainer, samples)) return PT_E_STATE;
  status = run(trainer, trainer->model->train, PT_READ_BY_STEP, samples, first);
  if (status != PT_OK) return status;
  ++trainer->step;
  trainer->training_written += bytes_written(trainer) - before;
  take_result(trainer, trainer->model->loss, loss, 1);
  if (!is_finite(loss, sizeof *loss)) return PT_E_NUMBER;
  return trainer->blocks != NULL && trainer->journal.every_step ? pt_trainer_commit(trainer) : PT_OK;
}

pt_status pt_trainer_commit(pt_trainer* trainer) {
  const uint64_t before = bytes_written(trainer);
  pt_status status;
  if (trainer->blocks == NULL) return PT_E_STATE;
  if (trainer->committed == trainer->step) return PT_OK;
  status = check_ram(trainer);
  if (status == PT_OK) status = pt_journal_commit(&trainer->journal, trainer->step);
  trainer->training_written += bytes_written(trainer) - before;
  if (status == PT_OK) trainer->committed = trainer->step;
  return status;
}

pt_status pt_trainer_evaluate(pt_trainer* trainer, const pt_samples* samples, float* loss, uint32_t* right,
                              uint32_t* counted) {
  const uint32_t batches = samples->count / trainer->model->batch;
  float total = 0, tally[2] = {0, 0};
  uint32_t batch;
  *right = *counted = 0;
  for (batch = 0; batch < batches; ++batch) {
    float mean = 0;
    const pt_status status =
        run(trainer, trainer->model->eval, PT_READ_BY_EVAL, samples, batch * trainer->model->batch);
    if (status != PT_OK) return status;
    take_result(trainer, trainer->model->eval_loss, &mean, 1);
    take_result(trainer, trainer->model->right, tally, 2);
    total += mean;
    *right += (uint32_t)tally[0];
    *counted += (uint32_t)tally[1];
  }
  *loss = batches == 0 ? 0 : total / (float)batches;
  return PT_OK;
}

pt_status pt_trainer_predict(pt_trainer* trainer, const pt_samples* samples, uint32_t first) {
  return run(trainer, trainer->model->predict, PT_READ_BY_PREDICT, samples, first);
}

const void* pt_trainer_output(const pt_trainer* trainer, uint32_t which, uint32_t row) {
  const pt_model* model = trainer->model;
  const uint8_t* data;
  if (which >= model->output_count || row >= model->batch) return NULL;
  data = (const uint8_t*)pt_session_data(trainer->session, model->outputs[which].tensor);
  return data == NULL ? NULL : data + (size_t)row * model->outputs[which].row_bytes;
}

typedef struct one_sample {
  const pt_model* model;
  const void* const* inputs;
} one_sample;

static pt_status row_of_one(void* context, uint32_t which, uint32_t sample, void* data) {
  const one_sample* one = (const one_sample*)context;
  (void)sample;
  memcpy(data, one->inputs[which], one->model->rows[which].row_bytes);
  return PT_OK;
}

pt_status pt_trainer_predict_one(pt_trainer* trainer, const void* const* inputs) {
  one_sample one;
  pt_samples samples;
  one.model = trainer->model;
  one.inputs = inputs;
  samples.context = &one;
  samples.count = 1;
  samples.identity = 0;
  samples.row = row_of_one;
  return pt_trainer_predict(trainer, &samples, 0);
}

static pt_status add_to_state(pt_trainer* trainer, uint32_t tensor, uint32_t* crc) {
  pt_tensor_info info;
  uint8_t piece[64];
  uint64_t at;
  pt_status status = pt_plan_tensor_info(&trainer->plan, tensor, &info);
  for (at = 0; status == PT_OK && at < info.payload; at += sizeof piece) {
    const size_t part = info.payload - at < sizeof piece ? (size_t)(info.payload - at) : sizeof piece;
    status = pt_session_read(trainer->session, tensor, at, piece, part, trainer->journal.buffer, PT_BLOCK_BYTES);
    if (status == PT_OK) *crc = pt_crc32_more(*crc, piece, part);
  }
  return status;
}

pt_status pt_trainer_state(pt_trainer* trainer, uint32_t* crc) {
  uint32_t tensor;
  pt_status status = PT_OK;
  *crc = 0;
  for (tensor = 0; tensor < trainer->plan.tensor_count && status == PT_OK; ++tensor) {
    const int has_pair = pt_tensor_pair(&trainer->plan, tensor) != PT_NOWHERE;
    if (has_pair && !pt_is_successor(&trainer->plan, tensor)) status = add_to_state(trainer, tensor, crc);
  }
  return status;
}
