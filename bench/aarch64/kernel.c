/* One call of one kernel on drawn operands, for the counter of instructions (count.py).
 *
 *   kernel OP ALGORITHM [ints=1,1,..] [reals=.1,..] in=f32:8x64x32x32 in=i64:8<10 out=f32:8x10 ..
 *
 * "<10" draws integers below 10; real numbers lie in [-1, 1). Prints a sum of the outputs' bytes, the same for the same bits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pantoum/pantoum.h"

enum { MOST = 16 };

static const struct {
  const char* name;
  uint16_t op;
} ops[] = {
#define NAMED(name, number) {#name, number},
    PT_OPERATORS(NAMED)
#undef NAMED
};

static void fail(const char* what, const char* argument) {
  fprintf(stderr, "kernel: %s: %s\n", what, argument);
  exit(2);
}

static uint16_t op_named(const char* name) {
  for (size_t at = 0; at < sizeof ops / sizeof *ops; ++at)
    if (strcmp(ops[at].name, name) == 0) return ops[at].op;
  fail("no such operator", name);
  return 0;
}

static void* zeros(size_t bytes) {
  void* made = NULL;
  if (posix_memalign(&made, 64, bytes + 64) != 0) fail("no memory", "operand");
  memset(made, 0, bytes + 64);
  return made;
}

static uint32_t next(uint32_t* state) {
  return *state = *state * 1664525u + 1013904223u;
}

/* "f32:8x64" or "i64:8<10". */
static size_t read_tensor(const char* text, uint32_t seed, pt_tensor* tensor) {
  const int integers = strncmp(text, "i64:", 4) == 0;
  size_t count = 1;
  char* end;
  if (!integers && strncmp(text, "f32:", 4) != 0) fail("not a tensor", text);
  memset(tensor, 0, sizeof *tensor);
  tensor->dtype = integers ? PT_I64 : PT_F32;
  for (text += 4; *text != 0 && *text != '<'; text = *end == 'x' ? end + 1 : end) {
    if (tensor->rank == PT_MAX_RANK) fail("too many dimensions", text);
    tensor->dims[tensor->rank] = (uint32_t)strtoul(text, &end, 10);
    if (end == text) fail("not an extent", text);
    count *= tensor->dims[tensor->rank++];
  }
  tensor->data = zeros(count * 8);
  for (size_t at = 0; at < count; ++at) {
    const uint32_t drawn = next(&seed);
    if (integers)
      ((int64_t*)tensor->data)[at] = *text == '<' ? (int64_t)((drawn >> 8) % strtoul(text + 1, NULL, 10)) : 0;
    else
      ((float*)tensor->data)[at] = (float)(int32_t)drawn * 4.656612873e-10F;
  }
  return count * (integers ? 8 : 4);
}

/* What the counter tells apart by their names. */
__attribute__((noinline)) void turn(void) {
  __asm__ volatile("");
}
__attribute__((noinline)) pt_status compute(const pt_kernel* kernel, const pt_call* call) {
  const pt_status status = kernel->submit(call);
  __asm__ volatile("");
  return status;
}

static const pt_kernel* kernel_named(const char* op, const char* algorithm) {
  const pt_kernel_table* table = pt_portable_kernels();
  const uint16_t number = op_named(op);
  for (size_t row = 0; row < table->count; ++row) {
    const pt_kernel* kernel = &table->kernels[row];
    if (kernel->op == number && kernel->dtype == PT_F32 && strcmp(kernel->algorithm_name, algorithm) == 0)
      return kernel;
  }
  fail("no such algorithm", algorithm);
  return NULL;
}

static void give_workspace(const pt_kernel* kernel, pt_call* call) {
  const size_t bytes = kernel->workspace_bytes == NULL ? 0 : kernel->workspace_bytes(call);
  if (bytes == PT_NO_KERNEL) fail("not for these shapes", kernel->algorithm_name);
  call->workspace = zeros(bytes);
}

int main(int count, char** arguments) {
  pt_tensor inputs[MOST], outputs[MOST];
  int64_t ints[MOST] = {0};
  double reals[MOST] = {0};
  size_t bytes[MOST] = {0};
  uint32_t sum = 2166136261u;
  pt_call call;
  if (count < 4) fail("give an operator, an algorithm and operands", arguments[0]);
  memset(&call, 0, sizeof call);
  call.inputs = inputs, call.outputs = outputs, call.ints = ints, call.reals = reals;
  for (int at = 3; at < count; ++at) {
    char* text = strchr(arguments[at], '=');
    if (text == NULL || call.input_count == MOST || call.output_count == MOST) fail("not an argument", arguments[at]);
    ++text;
    if (strncmp(arguments[at], "in=", 3) == 0)
      (void)read_tensor(text, (uint32_t)at, &inputs[call.input_count++]);
    else if (strncmp(arguments[at], "out=", 4) == 0)
      bytes[call.output_count] = read_tensor(text, (uint32_t)at, &outputs[call.output_count]), ++call.output_count;
    else if (strncmp(arguments[at], "ints=", 5) == 0)
      for (char* each = strtok(text, ","); each != NULL && call.int_count < MOST; each = strtok(NULL, ","))
        ints[call.int_count++] = strtol(each, NULL, 10);
    else if (strncmp(arguments[at], "reals=", 6) == 0)
      for (char* each = strtok(text, ","); each != NULL && call.real_count < MOST; each = strtok(NULL, ","))
        reals[call.real_count++] = strtod(each, NULL);
    else
      fail("not an argument", arguments[at]);
  }
  const pt_kernel* kernel = kernel_named(arguments[1], arguments[2]);
  give_workspace(kernel, &call);
  turn();
  const pt_status status = compute(kernel, &call);
  turn();
  if (status != PT_OK) fail("the kernel refuses", arguments[1]);
  for (size_t made = 0; made < call.output_count; ++made)
    for (size_t at = 0; at < bytes[made]; ++at) sum = (sum ^ ((const uint8_t*)outputs[made].data)[at]) * 16777619u;
  printf("%08x\n", (unsigned)sum);
  return 0;
}
