/* Plug-ins: shared objects that add operators and the layer types of NNTrainer's model files (.ini) to a process. C99.
 *
 * A plug-in defines one function, PT_PLUGIN_ENTRY, and the number pantoum_plugin_abi, and links no library of Pantoum: it gets a table of functions. Example:
 *
 *   #include <pantoum/plugin.h>
 *
 *   static const char* same_shape(void* user, const pt_plugin_call* call, pt_plugin_tensor* outputs, uint32_t* count) {
 *     (void)user;
 *     if (call->input_count != 1) return "it takes one input";
 *     outputs[0] = call->inputs[0];
 *     *count = 1;
 *     return NULL;
 *   }
 *   static const char* twice(void* user, const pt_plugin_call* call) {
 *     const float* x = call->inputs[0].data;
 *     float* y = call->outputs[0].data;
 *     (void)user;
 *     for (uint64_t i = 0; i < call->outputs[0].elements; ++i) y[i] = 2 * x[i];
 *     return NULL;
 *   }
 *   PT_PLUGIN_DECLARE_ABI;
 *   int pantoum_plugin_open(const pt_plugin_host* host) {
 *     const pt_plugin_operator op = {
 *         .size = sizeof op, .name = "my.company::Twice", .version = 1, .shape = same_shape, .forward = twice};
 *     return host->add_operator(host, &op);
 *   }
 *
 * Compile it with "gcc -O2 -shared -fPIC", and give the shared object to a command: "pantoum inspect net.onnx --plugin ./twice.so".
 *
 * Ownership. The host copies every struct, array and string that an add function gets, before the function returns. Functions and `user` are kept as
 * they are: they must stay valid until the process ends, and the shared object is not unloaded after it was accepted. The host's table is valid during
 * the entry alone. All pointers of a pt_plugin_call are valid during the call alone.
 *
 * Threads. The entry is called on one thread. Rules and kernels may be called on any thread. Kernels of all operators run one at a time, unless
 * `concurrent` is set; rules may run at any time.
 *
 * Errors. Rules and kernels return NULL, or a text that says what does not fit; the host reads it before the next call of the plug-in on that thread.
 * An error of a kernel ends the step. An add function returns 0 or not; after a failure nothing of the plug-in is added, whatever the entry returns.
 * The entry returns 0, or another number, and may say why with `refuse`. No C++ exception and no longjmp may leave a function of the plug-in.
 *
 * Units. Sizes are bytes, extents and counts are elements. Kernels must not allocate memory: it would not be in the budget; use `workspace`. The
 * kernel writes every element of its outputs; they are not initialized. */
#ifndef PANTOUM_PLUGIN_H
#define PANTOUM_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when a plug-in that was compiled before cannot be called any more. */
#define PT_PLUGIN_ABI 1
#define PT_PLUGIN_ENTRY "pantoum_plugin_open"

enum {
  PT_PLUGIN_DIMENSIONS = 6, /* at most, of a tensor */
  PT_PLUGIN_OPERANDS = 32,  /* inputs at most, and outputs */
  PT_PLUGIN_SETTINGS = 15,  /* ints and reals at most, together */
  PT_PLUGIN_GRADIENTS = 8,  /* at most, of an operator */
  PT_PLUGIN_ADDED = 1000    /* operators at most, and layer types, of a plug-in */
};

typedef enum pt_plugin_dtype { PT_PLUGIN_F32 = 0, PT_PLUGIN_I64 = 1, PT_PLUGIN_I32 = 2, PT_PLUGIN_U8 = 3, PT_PLUGIN_BOOL = 4 } pt_plugin_dtype;

typedef struct pt_plugin_tensor {
  uint32_t dtype; /* pt_plugin_dtype */
  uint32_t rank;  /* 0: one number */
  int64_t dims[PT_PLUGIN_DIMENSIONS];
  uint64_t elements; /* the product of the extents; the host computes it */
  void* data;        /* row-major; NULL in a shape rule; read only if it is an input */
} pt_plugin_tensor;

typedef struct pt_plugin_call pt_plugin_call;
struct pt_plugin_call {
  size_t size;
  const pt_plugin_tensor* inputs;
  const pt_plugin_tensor* outputs; /* none in a shape rule */
  uint32_t input_count, output_count;
  const int64_t* ints; /* settings of the operator, in the order of pt_plugin_operator */
  const double* reals;
  uint32_t int_count, real_count;
  void* workspace;     /* workspace_bytes of the operator or gradient, aligned to 64 bytes */
  uint64_t step, seed; /* of the training; step is 1 for the first */
  /* Calls body(arg, begin, end) for parts of [0, count), on several threads at once, and returns when all are done. The bits do not depend on the
   * number of threads if only one part writes each output element. NULL in a shape rule. */
  void (*parallel)(const pt_plugin_call* call, size_t count, void (*body)(void* arg, size_t begin, size_t end), void* arg);
  const void* pool; /* of the host */
};

typedef const char* (*pt_plugin_kernel)(void* user, const pt_plugin_call* call);
/* Writes dtype, rank and dims of the outputs, and their number (1 to PT_PLUGIN_OPERANDS). */
typedef const char* (*pt_plugin_shape)(void* user, const pt_plugin_call* call, pt_plugin_tensor* outputs, uint32_t* count);

/* Gradients of some inputs. The kernel reads the gradients of all outputs, then the tensors named here, and writes the gradients of `of`. */
typedef struct pt_plugin_gradient {
  size_t size;
  const uint32_t* of; /* inputs of the operator, by position */
  const uint32_t* reads_inputs;
  const uint32_t* reads_outputs;
  uint32_t of_count, reads_input_count, reads_output_count;
  pt_plugin_kernel kernel;
  uint64_t workspace_bytes;
} pt_plugin_gradient;

/* A setting, which ONNX nodes have as an attribute of this name. */
typedef struct pt_plugin_setting {
  const char* name;
  int required;     /* not 0: every node and layer must give it */
  double otherwise; /* its value if it is not required and not given */
} pt_plugin_setting;

typedef struct pt_plugin_operator {
  size_t size;
  const char* name; /* "my.company::Swish": ONNX nodes of domain my.company and type Swish */
  int64_t version;  /* change it if results or costs change, so that plans are made anew */
  void* user;       /* passed to all functions */
  pt_plugin_shape shape;
  pt_plugin_kernel forward;
  const pt_plugin_gradient* gradients; /* an input that none names has none: a model that needs it is refused */
  const pt_plugin_setting* ints;
  const pt_plugin_setting* reals; /* ONNX and .ini files give them to a kernel rounded to float32 */
  uint32_t gradient_count, int_count, real_count;
  uint64_t workspace_bytes;
  double flops_per_element; /* of the first output, for devices whose kernels are not measured; 0: 1 */
  int varies;               /* not 0: the same inputs may give other bits, so that a plan never computes the operator again */
  int concurrent;           /* not 0: its kernels may run at the same time as others */
} pt_plugin_operator;

typedef enum pt_plugin_kind { PT_PLUGIN_WHOLE = 0, PT_PLUGIN_REAL = 1, PT_PLUGIN_BOOLEAN = 2 } pt_plugin_kind;

/* A key of a layer's section: the setting of the same name of the layer's operator. */
typedef struct pt_plugin_key {
  const char* name;   /* lower case */
  uint32_t kind;      /* pt_plugin_kind; an int of the operator is whole or boolean, a real is real */
  double least, most; /* both 0: any number. A whole number is from 0 to 2^31 - 1 in any case */
} pt_plugin_key;

/* A layer type. Its operator gets the outputs of the layers that it reads, f32 of [N,C,H,W] each, and its outputs must have that form. The operator of a
 * loss gets the output of one layer and the labels, which have its shape, and returns one number (rank 0): the mean over the batch, or another. */
typedef struct pt_plugin_layer {
  size_t size;
  const char* type;          /* lower case letters, digits and _ */
  const char* operator_name; /* one that this plug-in, or one before it, adds */
  const pt_plugin_key* keys; /* one for each setting of the operator that the file may give; other settings have their default */
  uint32_t key_count;
  int is_loss;
} pt_plugin_layer;

typedef struct pt_plugin_host pt_plugin_host;
struct pt_plugin_host {
  size_t size;
  uint32_t abi; /* PT_PLUGIN_ABI of the host */
  int (*add_operator)(const pt_plugin_host* host, const pt_plugin_operator* op);
  int (*add_layer)(const pt_plugin_host* host, const pt_plugin_layer* layer);
  void (*refuse)(const pt_plugin_host* host, const char* why);
  void* context; /* of the host */
};

/* PT_PLUGIN_EXPORT before the entry keeps it visible where a plug-in is compiled with hidden names. */
#if defined(__GNUC__)
#define PT_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define PT_PLUGIN_EXPORT
#endif

/* Defines the ABI version that the plug-in was compiled with; the host reads it before it calls the entry. Write it once, at file scope. */
#define PT_PLUGIN_DECLARE_ABI PT_PLUGIN_EXPORT const unsigned pantoum_plugin_abi = PT_PLUGIN_ABI

/* What the plug-in defines. */
PT_PLUGIN_EXPORT int pantoum_plugin_open(const pt_plugin_host* host);

#ifdef __cplusplus
}
#endif

#endif
