/* The C library for a host: trains a planned network from a plan file, in the plan's RAM. C99; link libpantoum_train.
 *
 * A program starts with two files, which are made once:
 *
 *     pantoum plan model.onnx --ram 256KiB --batch 32 --binary-out step.bin --weights-out first.safetensors
 *
 * Example:
 *
 *   // Trains for one pass over `count` samples, which lie one behind the other; 0, or what went wrong.
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
 * Errors. Every function returns 0, or the number of an error: 262 is E0262 of docs/errors.md. pt_train_last_error says
 * the rest in words. Nothing is printed, nothing aborts, no C++ exception leaves the library. A call that this header
 * does not allow (a null pointer, a handle that is closed or was never opened, a wrong size) is E0150 and changes
 * nothing. Out parameters are untouched on failure.
 *
 * Threads. Several trainers may be open at a time, in any threads. Calls on one trainer wait for each other.
 *
 * Structs that begin with `size` grow in later versions: set it to sizeof the struct, and all other fields of options to
 * zero or a value. A program that was compiled with an older header goes on working.
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

/* Zero is the usual choice of every field. Strings are copied. */
typedef struct pt_train_options {
  size_t size;           /* sizeof(pt_train_options) */
  double learning_rate;  /* 0: 0.01; may be set later too */
  const char* schedule;  /* of the learning rate, as in docs/training.md: "cosine,to=1e-5,warmup=5%"; NULL: constant */
  uint64_t total_steps;  /* of the whole training, which shares in a schedule refer to; 0: not known */
  uint64_t seed;         /* of dropout */
  uint32_t accumulate;   /* batches of a step, whose gradients are added up; 0: 1; the plan's --accumulate */
  uint32_t threads;      /* of the kernels; 0: as many as the process may run on */
  const char* page_file; /* folder or file for what is paged out; NULL: the system's temporary folder */
  uint32_t plain_pages;  /* 1: the page file is not encrypted */
  uint32_t cached_pages; /* 1: the page file goes through the system's cache (no O_DIRECT) */
} pt_train_options;

/* Opens a trainer on a binary plan with the weights of a safetensors file: every parameter, buffer and constant of the
 * plan by its name; optimizer state where the file has it, zeros otherwise. `options` may be NULL.
 * The plan says which kernels compute: E0411 where it was made for oneDNN and that is not here.
 * Takes the plan's arena, plus about 1 MiB. `*trainer` is set also where opening fails, so that
 * pt_train_last_error can tell why: it is to be closed in any case (NULL: not even that memory was there).
 * E0201 a file cannot be opened; E0251, E0253 the plan; E0240 to E0244 the weights; E0410, E0411 kernels; E0115, E0116
 * the schedule; E0902 to E0908 page file, threads, memory. */
PT_API int pt_train_open(pt_trainer** trainer, const char* plan, const char* weights, const pt_train_options* options);
/* The same with a plan that is in memory; its bytes are copied. */
PT_API int pt_train_open_plan(pt_trainer** trainer, const void* plan, size_t plan_bytes, const char* weights,
                              const pt_train_options* options);
/* Gives everything back; nothing is written. NULL and what is closed already are let be. Waits for a call that another
 * thread is in. */
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

/* The last call on this trainer that failed; of NULL, or of what is no open trainer, the calling thread's last such
 * call. Never NULL. The strings belong to the calling thread, until it asks again. */
PT_API const pt_train_error* pt_train_last_error(const pt_trainer* trainer);

/* ---- Tensors ---------------------------------------------------------------------------------------------------- */

typedef enum pt_train_kind {
  PT_TRAIN_INPUT = 0,  /* of a batch, in the order that pt_train_step takes them */
  PT_TRAIN_LABEL = 1,  /* of a batch: the targets of each loss, behind the inputs */
  PT_TRAIN_WEIGHT = 2, /* parameters, buffers, constants */
  PT_TRAIN_STATE = 3   /* of the optimizer */
} pt_train_kind;

enum { PT_TRAIN_MAX_RANK = 8 };

typedef struct pt_train_tensor {
  size_t size;      /* sizeof(pt_train_tensor), set by the caller */
  const char* name; /* the trainer's, until it is closed */
  uint64_t bytes;
  int64_t dims[PT_TRAIN_MAX_RANK];
  int32_t rank;
  int32_t dtype; /* pt_dtype of pantoum/ops.h: PT_F32, PT_I64, ... */
  int32_t kind;  /* pt_train_kind */
} pt_train_tensor;

/* How many tensors there are of a kind. E0150 an unknown kind. */
PT_API int pt_train_count(pt_trainer* trainer, int kind, size_t* count);
/* Tensor `index` of a kind, row-major; the first dimension of inputs and labels is the batch. E0150 there are fewer. */
PT_API int pt_train_tensor_at(pt_trainer* trainer, int kind, size_t index, pt_train_tensor* tensor);
/* A weight or an optimizer state by its name. E0151 there is none. */
PT_API int pt_train_find(pt_trainer* trainer, const char* name, pt_train_tensor* tensor);
/* Copies all of a weight or state out or in, wherever it lives. E0151 no such tensor; E0152 `bytes` are not its bytes;
 * E0903 storage. Cost: of a tensor that is paged out, reading or writing it there. */
PT_API int pt_train_get(pt_trainer* trainer, const char* name, void* data, size_t bytes);
PT_API int pt_train_set(pt_trainer* trainer, const char* name, const void* data, size_t bytes);

/* ---- Training --------------------------------------------------------------------------------------------------- */

/* The caller's, read during the call alone. Any alignment. */
typedef struct pt_train_data {
  const void* data;
  size_t bytes;
} pt_train_data;

typedef struct pt_train_result {
  size_t size;          /* sizeof(pt_train_result), set by the caller */
  uint64_t step;        /* 1 for the first */
  double loss;          /* before the step's update; the mean over its batches */
  double learning_rate; /* that the step was made with */
} pt_train_result;

/* One step: all inputs, then all labels, as pt_train_tensor_at lists them; with `accumulate` batches in a step so many
 * times as many. `result` may be NULL. Nothing is allocated. E0152 another number of tensors, or bytes that are not
 * those of its tensor; E0262 a label or an index out of range; E0701 the loss is not finite (the parameters have been
 * updated with it: go back to what was saved); E0903 paging failed. After E0262 and E0903 the trainer computes nothing
 * more: close it, and open it again with what was saved. */
PT_API int pt_train_step(pt_trainer* trainer, const pt_train_data* data, size_t count, pt_train_result* result);

enum { PT_TRAIN_MAX_LOSSES = 8 };

typedef struct pt_train_term { /* of one loss; NaN: not measured */
  double loss, accuracy, top5, mean_absolute_error;
} pt_train_term;

typedef struct pt_train_evaluation {
  size_t size;      /* sizeof(pt_train_evaluation), set by the caller */
  double loss;      /* the weighted sum of all losses, each the mean over its labels */
  double accuracy;  /* of the first loss that has classes as labels; NaN: none has */
  uint64_t samples; /* that were evaluated */
  uint32_t term_count;
  uint32_t reserved;
  pt_train_term terms[PT_TRAIN_MAX_LOSSES]; /* in the order of the losses */
} pt_train_evaluation;

/* Evaluates any number of samples, which lie one behind the other in each of the inputs and labels. Changes nothing.
 * E0105 the plan has no evaluation; E0152 as in a step, for so many samples; E0262 no samples; E0701, E0903. */
PT_API int pt_train_evaluate(pt_trainer* trainer, const pt_train_data* data, size_t count, uint64_t samples,
                             pt_train_evaluation* evaluation);

/* Of the steps from now on, before a schedule's factor. E0150 negative or not finite. */
PT_API int pt_train_set_learning_rate(pt_trainer* trainer, double learning_rate);

/* ---- Files ------------------------------------------------------------------------------------------------------ */

/* Writes weights, optimizer state and where the training is: what pt_train_resume goes on from bit for bit, and what
 * pt_train_open, `pantoum export` and other readers of safetensors take as weights. Atomic: a crash leaves the old file
 * whole. E0901, E0903. */
PT_API int pt_train_save(pt_trainer* trainer, const char* path);
/* Goes on where the trainer that saved the file was: weights, state, step, seed, learning rate, schedule. E0243 no such
 * file, or one of another plan; E0240, E0244 damaged (nothing is changed then). */
PT_API int pt_train_resume(pt_trainer* trainer, const char* path);
/* Begins again with other weights, as pt_train_open takes them: step 0. E0240 to E0244 (nothing is changed then). */
PT_API int pt_train_load(pt_trainer* trainer, const char* path);

/* ---- Figures ---------------------------------------------------------------------------------------------------- */

typedef struct pt_train_usage {
  size_t size;               /* sizeof(pt_train_usage), set by the caller */
  uint64_t steps;            /* done, those before a resume included */
  uint64_t batch;            /* samples of a step */
  uint64_t arena_bytes;      /* what the plan takes */
  uint64_t bytes_before;     /* of RAM, of the whole process, when the arena was new */
  uint64_t peak_bytes;       /* of RAM, of the whole process, since then */
  uint64_t bytes_paged_in;   /* since the trainer was opened */
  uint64_t bytes_paged_out;  /* as that */
  uint64_t page_file_bytes;  /* 0: nothing is paged */
  const char* kernels;       /* "portable", "oneDNN 2.6.3"; the trainer's */
  const char* page_transfer; /* "io_uring", "threads"; "": nothing is paged */
  const char* page_cipher;   /* "off", or what encrypts the page file */
} pt_train_usage;

PT_API int pt_train_get_usage(pt_trainer* trainer, pt_train_usage* usage);

/* Of the library: "0.1.0". */
PT_API const char* pt_train_version(void);

#ifdef __cplusplus
}
#endif

#endif
