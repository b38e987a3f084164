/* The C library for a host: trains a planned network from a plan file, in the plan's RAM. C99; link libpantoum_train.
 *
 * A program starts with two files, which are made once:
 *
 *     pantoum plan model.onnx --ram 256KiB --batch 32 --binary-out step.bin --weights-out first.safetensors
 *
 * Example:
 *
 *   // Trains for one pass over `count` samples, which lie one behind the other; returns 0 or the number of an error.
 *   int train(const float* images, const int64_t* labels, size_t count, size_t pixels, size_t batch) {
 *     const pt_train_options options = {.size = sizeof options, .learning_rate = 0.05};
 *     pt_trainer* trainer = NULL;
 *     int status = pt_train_open(&trainer, "step.bin", "first.safetensors", &options);
 *     for (size_t at = 0; status == 0 && at + batch <= count; at += batch) {
 *       const pt_train_data data[] = {{images + at * pixels, batch * pixels * sizeof *images},
 *                                     {labels + at, batch * sizeof *labels}};
 *       pt_train_result result = {.size = sizeof result};
 *       status = pt_train_step(trainer, data, 2, &result);
 *       if (status == 0) printf("step %llu: loss %f\n", (unsigned long long)result.step, result.loss);
 *     }
 *     if (status == 0) status = pt_train_save(trainer, "trained.safetensors");
 *     if (status != 0) fputs(pt_train_last_error(trainer)->text, stderr);
 *     pt_train_close(trainer);
 *     return status;
 *   }
 *
 * Errors. Every function returns 0, or the number of an error: 262 is E0262 of docs/errors.md. pt_train_last_error returns its text. The library does
 * not print or abort, and no C++ exception leaves it. A call that this header does not allow (a null pointer, a handle that is closed or was never
 * opened, a wrong size) returns E0150 and changes nothing. A call that fails does not change its out parameters.
 *
 * Threads. Several trainers may be open at a time, in any threads. Calls on one trainer run one after the other. A call from inside a call on the same
 * trainer (a signal's handler, a hook of the allocator) returns E0150, and pt_train_close does nothing then.
 *
 * Structs that begin with `size` grow in later versions: set `size` to sizeof the struct, and every other field of options to zero or a value. A
 * program that was compiled with an older header still works with a newer library; a size that no header so far has is E0150.
 */
#ifndef PANTOUM_TRAIN_H
#define PANTOUM_TRAIN_H

#include <stddef.h>
#include <stdint.h>

#include "pantoum/export.h"
#include "pantoum/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pt_trainer pt_trainer;

/* ---- Opening and closing ---------------------------------------------------------------------------------------- */

/* The zero of a field selects its default. pt_train_open copies the strings. */
typedef struct pt_train_options {
  size_t size;           /* sizeof(pt_train_options) */
  double learning_rate;  /* 0: 0.01; may be set later too */
  const char* schedule;  /* of the learning rate, as in docs/training.md: "cosine,to=1e-5,warmup=5%"; NULL: constant */
  uint64_t total_steps;  /* of the whole training; percentages in a schedule refer to it; 0: not known */
  uint64_t seed;         /* of dropout */
  uint32_t accumulate;   /* batches of a step, whose gradients are added up: the plan's --accumulate; 0: 1 */
  uint32_t threads;      /* of the kernels; 0: as many as the process may run on and the plan has room for */
  const char* page_file; /* folder or file for what is paged out; NULL: the system's temporary folder */
  uint32_t plain_pages;  /* 1: the page file is not encrypted */
  uint32_t cached_pages; /* 1: the page file goes through the system's cache (no O_DIRECT) */
} pt_train_options;

/* Opens a trainer on a binary plan with the weights of a safetensors file: every parameter, buffer and constant of the
 * plan by its name; optimizer state where the file has it, zeros otherwise. `options` may be NULL.
 * The plan names the kernels: E0411: the plan was made for oneDNN, which is not available. A trainer needs the plan's arena and about 1 MiB. If
 * opening fails, `*trainer` is set as well, so that pt_train_last_error can return the reason: close it in any case (NULL: there was no memory for a
 * trainer).
 * Errors: E0201: a file cannot be opened; E0251, E0253: of the plan; E0240 to E0244: of the weights; E0410, E0411: of the kernels; E0115, E0116: of
 * the schedule; E0902 to E0908: of the page file, threads or memory. */
PT_API int pt_train_open(pt_trainer** trainer, const char* plan, const char* weights, const pt_train_options* options);
/* Like pt_train_open, with a plan in memory. Copies its bytes. */
PT_API int pt_train_open_plan(pt_trainer** trainer, const void* plan, size_t plan_bytes, const char* weights,
                              const pt_train_options* options);
/* Closes the trainer and frees its memory; writes no file. Ignores NULL and a trainer that is already closed. Waits until a call of another thread on
 * this trainer has returned. */
PT_API void pt_train_close(pt_trainer* trainer);

/* ---- Errors ----------------------------------------------------------------------------------------------------- */

typedef struct pt_train_error {
  int status;          /* 262; 0: no call has failed */
  const char* code;    /* "E0262" */
  const char* message; /* one sentence, no full stop */
  const char* where;   /* file, tensor or function; may be "" */
  const char* notes;   /* reasons, a line each; may be "" */
  const char* help;    /* what to do; may be "" */
  const char* text;    /* all of that as the command line prints it, with a newline at its end */
} pt_train_error;

/* Returns the error of the last call on this trainer that failed. If `trainer` is NULL or not open, returns the error of the calling thread's last
 * failed call with such a handle. Never returns NULL. The strings are valid until the calling thread calls this function again. */
PT_API const pt_train_error* pt_train_last_error(const pt_trainer* trainer);

/* ---- Tensors ---------------------------------------------------------------------------------------------------- */

typedef enum pt_train_kind {
  PT_TRAIN_INPUT = 0,  /* of a batch, in the order that pt_train_step takes them */
  PT_TRAIN_LABEL = 1,  /* of a batch: the targets of each loss, behind the inputs */
  PT_TRAIN_WEIGHT = 2, /* parameters, buffers, constants */
  PT_TRAIN_STATE = 3,  /* of the optimizer */
  PT_TRAIN_OUTPUT = 4, /* of the model, as pt_train_predict gives them */
  PT_TRAIN_ASKED = 5   /* inputs that the outputs are made of, as pt_train_predict takes them */
} pt_train_kind;

enum { PT_TRAIN_MAX_RANK = 8 };

typedef struct pt_train_tensor {
  size_t size;      /* sizeof(pt_train_tensor), set by the caller */
  const char* name; /* owned by the trainer, valid until it is closed */
  uint64_t bytes;
  int64_t dims[PT_TRAIN_MAX_RANK];
  int32_t rank;
  int32_t dtype; /* pt_dtype of pantoum/ops.h: PT_F32, PT_I64, ... */
  int32_t kind;  /* pt_train_kind */
} pt_train_tensor;

/* Returns the number of tensors of a kind. E0150: the kind is unknown. */
PT_API int pt_train_count(pt_trainer* trainer, int kind, size_t* count);
/* Describes tensor `index` of a kind. Tensors are row-major; the first dimension of inputs and labels is the batch. E0150: the kind has fewer
 * tensors. */
PT_API int pt_train_tensor_at(pt_trainer* trainer, int kind, size_t index, pt_train_tensor* tensor);
/* Describes the weight or optimizer state of that name. E0151: there is none. */
PT_API int pt_train_find(pt_trainer* trainer, const char* name, pt_train_tensor* tensor);
/* Copies a whole weight or optimizer state out or in, whether the tensor is in RAM or in storage. E0151: there is no such tensor; E0152: `bytes` is
 * not the size of the tensor; E0903: the storage failed. Cost: for a tensor in storage, one read or write of it. */
PT_API int pt_train_get(pt_trainer* trainer, const char* name, void* data, size_t bytes);
PT_API int pt_train_set(pt_trainer* trainer, const char* name, const void* data, size_t bytes);

/* ---- Training --------------------------------------------------------------------------------------------------- */

/* Data that the caller owns; the library reads them only during the call. Any alignment. */
typedef struct pt_train_data {
  const void* data;
  size_t bytes;
} pt_train_data;

typedef struct pt_train_result {
  size_t size;          /* sizeof(pt_train_result), set by the caller */
  uint64_t step;        /* 1 for the first */
  double loss;          /* before the step's update; the mean over its batches */
  double learning_rate; /* of this step */
} pt_train_result;

/* Runs one step. `data` has all inputs, then all labels, in the order of pt_train_tensor_at; each has the samples of `accumulate` batches. `result`
 * may be NULL. Allocates nothing. E0152: the number of tensors or the size of one is wrong; E0262: a label or an index is out of range; E0701: the
 * loss is not finite, and the update has already used it: return to the last saved file; E0903: paging failed. After E0262 and E0903 the trainer
 * computes nothing more: close it, and open a new one with the last saved file. */
PT_API int pt_train_step(pt_trainer* trainer, const pt_train_data* data, size_t count, pt_train_result* result);

enum { PT_TRAIN_MAX_LOSSES = 8 };

typedef struct pt_train_term { /* the result the result of one loss; NaN: not measured */
  double loss, accuracy, top5, mean_absolute_error;
} pt_train_term;

typedef struct pt_train_evaluation {
  size_t size;      /* sizeof(pt_train_evaluation), set by the caller */
  double loss;      /* the weighted sum of all losses, each the mean over its labels */
  double accuracy;  /* of the first loss whose labels are classes; NaN: there is no such loss */
  uint64_t samples; /* evaluated */
  uint32_t term_count;
  uint32_t reserved;
  pt_train_term terms[PT_TRAIN_MAX_LOSSES]; /* in the order of the losses */
} pt_train_evaluation;

/* Evaluates any number of samples, which lie one behind the other in each of the inputs and labels. Changes no weight or state. E0105: the plan has
 * no evaluation; E0152: as for a step, with the sizes of all samples; E0262: there are no samples; E0701; E0903. */
PT_API int pt_train_evaluate(pt_trainer* trainer, const pt_train_data* data, size_t count, uint64_t samples,
                             pt_train_evaluation* evaluation);

/* Memory of the caller for an output. */
typedef struct pt_train_room {
  void* data;
  size_t bytes;
} pt_train_room;

/* Computes the model's outputs for any number of samples, as in evaluation: no labels, no dropout, running statistics. `data` has the tensors of
 * PT_TRAIN_ASKED, `outputs` room for those of PT_TRAIN_OUTPUT, all samples one behind the other in each. Changes no weight or state; takes no RAM beside
 * the arena. E0105: the plan gives no outputs (it is of an earlier release, or the model gives its loss alone, or they do not fit the budget); E0152:
 * the number of tensors or the size of one is wrong; E0262: there are no samples, or an index is out of range; E0903. */
PT_API int pt_train_predict(pt_trainer* trainer, const pt_train_data* data, size_t count, uint64_t samples,
                            const pt_train_room* outputs, size_t output_count);

/* Sets the learning rate of the following steps, which a schedule then multiplies by its factor. E0150: the rate is negative or not finite. */
PT_API int pt_train_set_learning_rate(pt_trainer* trainer, double learning_rate);

/* Groups of parameters that the plan was made with (`pantoum plan --group`), by their place among its options. A plan's
 * bytes hold their weight decays, not their rates: until a rate is set, it is `learning_rate`. */
PT_API int pt_train_group_count(pt_trainer* trainer, size_t* count);
/* Of the steps from now on, a rate before a schedule's factor. E0150 negative or not finite, or no such group. */
PT_API int pt_train_set_group_rate(pt_trainer* trainer, size_t group, double learning_rate);
PT_API int pt_train_set_group_decay(pt_trainer* trainer, size_t group, double weight_decay);

/* ---- Files ------------------------------------------------------------------------------------------------------ */

/* Writes weights, optimizer state and the position of the training to a safetensors file. pt_train_resume continues from this file with the same
 * bits; pt_train_open, `pantoum export` and other readers of safetensors read its weights. Atomic: after a crash the old file is still complete.
 * E0901, E0903. */
PT_API int pt_train_save(pt_trainer* trainer, const char* path);
/* Restores weights, optimizer state, step, seed, learning rate and schedule from a file of pt_train_save. E0243: the file is not of pt_train_save, or
 * belongs to another plan; E0240, E0244: the file is damaged, and nothing is changed. */
PT_API int pt_train_resume(pt_trainer* trainer, const char* path);
/* Starts again at step 0 with the weights of another file, which pt_train_open would accept and which holds no tensors that the plan does not know:
 * its constants may be computed from such. E0240 to E0244: the file is not usable, and nothing is changed. */
PT_API int pt_train_load(pt_trainer* trainer, const char* path);

/* ---- Figures ---------------------------------------------------------------------------------------------------- */

typedef struct pt_train_usage {
  size_t size;               /* sizeof(pt_train_usage), set by the caller */
  uint64_t steps;            /* done in all, including those before a resume */
  uint64_t batch;            /* samples of a step */
  uint64_t arena_bytes;      /* RAM of the plan */
  uint64_t bytes_before;     /* of RAM, of the whole process, when the arena was new */
  uint64_t peak_bytes;       /* of RAM, of the whole process, since then */
  uint64_t bytes_paged_in;   /* since the trainer was opened */
  uint64_t bytes_paged_out;  /* since the trainer was opened */
  uint64_t page_file_bytes;  /* 0: nothing is paged */
  const char* kernels;       /* "portable", "oneDNN 2.6.3"; the trainer's */
  const char* page_transfer; /* "io_uring", "threads"; "": nothing is paged */
  const char* page_cipher;   /* "off", or what encrypts the page file */
} pt_train_usage;

PT_API int pt_train_get_usage(pt_trainer* trainer, pt_train_usage* usage);

/* Returns the version of the library, such as "0.1.0". */
PT_API const char* pt_train_version(void);

#ifdef __cplusplus
}
#endif

#endif
