/* Training on a device: a model that the emitter wrote, a session over it, storage, and the step that was last
 * complete. Allocates nothing, prints nothing; everything it works on is the caller's. */
#pragma once

#include "block_pager.h"
#include "commit.h"
#include "feature_store.h"
#include "runtime/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  PT_VALUE_IN_IMAGE = 1,  /* the storage holds it before the first step, and `data` is NULL */
  PT_VALUE_NOT_FINITE = 2 /* floats, of which one or more are infinite or no number */
};

/* Initial value of a tensor that lives in RAM or storage between steps. `data` NULL: zeros, or in the storage's image. */
typedef struct pt_initial_value {
  uint32_t tensor, bytes;
  const uint8_t* data;
  uint8_t flags; /* PT_VALUE_... */
} pt_initial_value;

enum { PT_READ_BY_STEP = 1, PT_READ_BY_EVAL = 2, PT_READ_BY_BACKBONE = 4, PT_READ_BY_PREDICT = 8 };

/* An input or target of the batch: `row_bytes` for each sample. */
typedef struct pt_batch_tensor {
  uint32_t tensor, row_bytes;
  uint8_t readers; /* PT_READ_BY_...: the programs */
} pt_batch_tensor;

/* An output of the model: `row_bytes` for each sample. */
typedef struct pt_output {
  uint32_t tensor, row_bytes;
} pt_output;

typedef struct pt_model {
  const uint8_t* plan;
  uint32_t plan_bytes;
  const pt_kernel_table* kernels;
  const uint8_t* rom; /* what kernels read in place; NULL: nothing */
  const pt_initial_value* contents;
  const pt_batch_tensor* rows; /* inputs, then targets */
  uint32_t content_count, row_count, batch;
  int32_t train, eval;            /* programs; eval: -1 if there is none */
  int32_t loss, eval_loss, right; /* results: f32 [], f32 [], f32 [2] (right, counted); -1 if there is none */
  double lr;
  uint64_t seed;
  const pt_schedule* schedule;                                                              /* NULL: the rate stays */
  double (*rate_at)(const pt_schedule* schedule, double lr, uint64_t step, uint64_t total); /* pt_rate_at, or NULL */
  const pt_feature* features; /* that `backbone` makes, and a step reads in place of inputs */
  uint32_t feature_count;     /* 0: none are kept */
  int32_t backbone;           /* a program; -1 if there is none */
  uint32_t weights;           /* a checksum of the initial values */
  const pt_group* groups;     /* rates and decays of groups of parameters; NULL: there are none */
  pt_group* rates;            /* room for those of a step, which the schedule makes; NULL: they stay */
  uint32_t group_count;
  const pt_output* outputs; /* that `predict` makes, in the model's order */
  uint32_t output_count;    /* 0: the plan gives none */
  int32_t predict;          /* a program; -1 if there is none */
  int32_t classes;          /* the output that scores classes, f32; -1: the model is no classifier */
  uint32_t labels;          /* then rows[labels] is the number of a sample's class */
} pt_model;

/* Writes row `sample` of the model's rows[which] to `data`. What it refuses ends the step with that status. `identity`
 * tells this set of samples from others whose features may lie in storage: a checksum, or any number. */
typedef struct pt_samples {
  void* context;
  uint32_t count, identity;
  pt_status (*row)(void* context, uint32_t which, uint32_t sample, void* data);
} pt_samples;

typedef struct pt_trainer {
  const pt_model* model;
  pt_plan plan;
  pt_session* session;
  uint8_t* arena;
  pt_blocks* blocks; /* NULL: no storage */
  pt_block_pager pager;
  pt_journal journal;
  pt_features features;
  uint64_t step;             /* complete ones */
  uint64_t committed;        /* of them, those that outlive a loss of power */
  uint64_t training_written; /* bytes that steps and commits have written to storage since it was opened */
  uint64_t steps;            /* of the whole training, which a schedule asks for; set after pt_trainer_open */
  uint32_t written;          /* the tensor whose slot was written last */
} pt_trainer;

/* What pt_trainer_open works on. `arena`: the plan's arena_bytes; `session`: as pt_session_bytes says; both aligned to
 * 16. `buffer`: a block, aligned to 16; NULL without storage (`blocks` NULL), which a model with features needs.
 * `sums`: pt_plan_blocks numbers, for blocks to be checked; else NULL. `engines`: the threads of a plan of several; else
 * NULL. `start` makes them, unless they are there; NULL: they are. */
typedef struct pt_memory {
  void *arena, *session;
  uint8_t* buffer;
  uint32_t* sums;
  const pt_engines* engines;
  pt_status (*start)(void);
} pt_memory;

/* Opens the plan, and goes on where the storage's newest record says; a storage without one gets the model's first
 * contents and its record. PT_E_VERSION: the storage belongs to another model, and is left alone; PT_E_STATE: values are
 * in the storage's image, and the storage holds none; the other errors of pt_plan_open, pt_session_open, the storage and
 * `start`. */
pt_status pt_trainer_open(pt_trainer* trainer, const pt_model* model, const pt_memory* memory, pt_blocks* blocks);
/* Runs the backbone once for each sample and keeps what it gives, unless storage has it from an earlier run; nothing
 * where the model has none. What a loss of power interrupts is begun again. PT_E_FULL: no space for so many samples. */
pt_status pt_trainer_keep_features(pt_trainer* trainer, const pt_samples* samples);
/* One step on the next `batch` samples, in turn. PT_E_ARGUMENT: a schedule, and `steps` is 0. PT_E_STATE: a model
 * with features, and these samples' are not kept. PT_E_NUMBER: the loss, or a weight or state that goes to storage, is
 * not finite. After a failure the trainer is to be opened again: the storage is as
 * the last commit left it. */
pt_status pt_trainer_step(pt_trainer* trainer, const pt_samples* samples, float* loss);
/* The steps so far outlive a loss of power. Where state lives in storage, it follows every step; what is committed
 * already is not written again. PT_E_NUMBER: a weight or state is not finite, and nothing was stored; those in RAM are
 * spoilt. */
pt_status pt_trainer_commit(pt_trainer* trainer);
/* Loss (a mean) and right answers over whole batches of the samples. */
pt_status pt_trainer_evaluate(pt_trainer* trainer, const pt_samples* samples, float* loss, uint32_t* right,
                              uint32_t* counted);

/* The model's outputs for the `batch` samples from sample `first` on, in turn, as evaluation makes them; no target is read. PT_E_ARGUMENT: the
 * plan gives no outputs. Then pt_trainer_output has the row of output `which` for each sample, until the next run; NULL: there is no such row. */
pt_status pt_trainer_predict(pt_trainer* trainer, const pt_samples* samples, uint32_t first);
const void* pt_trainer_output(const pt_trainer* trainer, uint32_t which, uint32_t row);
/* The same for one sample, whose outputs are row 0: `inputs[which]` is its row of the model's rows[which], of those alone that the outputs are made of. */
pt_status pt_trainer_predict_one(pt_trainer* trainer, const void* const* inputs);

/* CRC-32 of all parameters and of the optimizer's state, in the plan's order: equal bits, equal number. */
pt_status pt_trainer_state(pt_trainer* trainer, uint32_t* crc);

#ifdef __cplusplus
}
#endif
