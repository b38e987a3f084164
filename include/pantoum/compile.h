/* The C library that plans: opens a model, plans its training step inside a RAM budget, and opens a trainer on the plan. C99; link libpantoum.
 * pantoum/train.h has the functions of the trainer.
 *
 * Example:
 *
 *   // Plans a model into `ram` ("256KiB") and opens a trainer; returns 0 or the number of an error.
 *   int open_trainer(pt_trainer** trainer, const char* model, const char* ram) {
 *     pt_compiler* compiler = NULL;
 *     int status = pt_compile_open(&compiler, model);
 *     if (status == 0) status = pt_compile_set(compiler, "batch", "32");
 *     if (status == 0) status = pt_compile_set(compiler, "ram", ram);
 *     pt_compiled plan = {.size = sizeof plan};
 *     if (status == 0) status = pt_compile_plan(compiler, &plan);
 *     if (status == 0) printf("a step needs %llu bytes of RAM\n", (unsigned long long)plan.arena_bytes);
 *     if (status == 0) status = pt_compile_train(compiler, trainer, NULL);
 *     if (status != 0) fputs(pt_compile_last_error(compiler)->text, stderr);
 *     pt_compile_close(compiler);
 *     return status;
 *   }
 *
 * Errors, threads and structs with a `size` are as in pantoum/train.h. Several compilers may be open at a time, in any threads. */
#ifndef PANTOUM_COMPILE_H
#define PANTOUM_COMPILE_H

#include <stddef.h>
#include <stdint.h>

#include "pantoum/export.h"
#include "pantoum/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pt_compiler pt_compiler;

/* Opens a model file: ONNX, TensorFlow Lite, a torch graph, or a model of NNTrainer (.ini), whose settings the compiler starts with. What is wrong with
 * the model itself, pt_compile_plan tells, since options may mend it (open dimensions). If opening fails, `*compiler` is set
 * as well, so that pt_compile_last_error can return the reason: close it in any case (NULL: there was no memory).
 * Errors: E0201: the file cannot be read; E0214: an .ini file that cannot be understood. */
PT_API int pt_compile_open(pt_compiler** compiler, const char* model);
/* Frees the compiler. Trainers that it opened stay open. Ignores NULL and a compiler that is already closed. */
PT_API void pt_compile_close(pt_compiler* compiler);
/* Returns the error of the last call on this compiler that failed, as pt_train_last_error does. */
PT_API const pt_train_error* pt_compile_last_error(const pt_compiler* compiler);

/* Sets an option of `pantoum plan`, by its name without the dashes in front, to what the command line would take: ("ram", "256KiB"), ("loss", "mse"),
 * ("optimizer", "adam,beta1=0.8"), ("lr", "0.01"), ("params-in", "aux"), ("device", "m4"). A flag takes "on" or "off"; one whose name begins with "no-" takes "on" alone. An option that may be given
 * several times gets one more value with each call; the first call replaces what the model's file set.
 * Errors: E0100: there is no such option; E0110 to E0121: the value does not fit it. Nothing is changed then. */
PT_API int pt_compile_set(pt_compiler* compiler, const char* option, const char* value);

typedef struct pt_compiled {
  size_t size;             /* sizeof(pt_compiled), set by the caller */
  uint64_t arena_bytes;    /* RAM of a step */
  uint64_t batch;          /* samples of a step */
  uint64_t unplanned_bytes; /* peak of the step without a plan */
  double step_seconds;     /* of a step, by measured or modelled costs */
  double step_joules;      /* modelled */
  double gap;              /* (cost of the plan - proved least cost) / cost of the plan */
} pt_compiled;

/* Plans the step. `plan` may be NULL. Errors: E0214: an .ini file names no loss or no optimizer, and the option is not set; E0301: it is proved that no plan fits; E0302: no plan was found in time; others as `pantoum plan` has
 * them. Cost: at most the option "time-limit", plus reading the model and measuring. */
PT_API int pt_compile_plan(pt_compiler* compiler, pt_compiled* plan);

/* Writes the plan. NULL: a file that is not written. `plan` is JSON, `binary` and `weights` are for pt_train_open. E0150: nothing is planned; E0901. */
PT_API int pt_compile_save(pt_compiler* compiler, const char* plan, const char* binary, const char* weights);

/* Opens a trainer on the plan, with the first weights of the model. `options` may be NULL. Where they have no learning rate, it is that of the option
 * "lr" or of the model's file, and so is the schedule. Errors: E0150: nothing is planned; those of pt_train_open. `*trainer` is NULL then. */
PT_API int pt_compile_train(pt_compiler* compiler, pt_trainer** trainer, const pt_train_options* options);

/* Writes the model with the weights of a file of pt_train_save as ONNX, for inference. E0240 to E0242: of the weights; E0901. */
PT_API int pt_compile_export(pt_compiler* compiler, const char* weights, const char* onnx);

#ifdef __cplusplus
}
#endif

#endif
