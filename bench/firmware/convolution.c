/* One convolution by each kernel of a list, for the counter of instructions (count_convolutions.py), which defines the
 * shape, the attributes, the op and the kernels. Prints for each whether its bits are the first's. */
#include <string.h>

#include "board.h"
#include "kernels/portable/kernels.h"

enum { X = SAMPLES * CHANNELS * HEIGHT * WIDTH, W = OUTPUTS * (CHANNELS / GROUPS) * KERNEL * KERNEL };
enum { OUT_HEIGHT = (HEIGHT + 2 * PAD - DILATION * (KERNEL - 1) - 1) / STRIDE + 1 };
enum { OUT_WIDTH = (WIDTH + 2 * PAD - DILATION * (KERNEL - 1) - 1) / STRIDE + 1 };
enum { Y = SAMPLES * OUTPUTS * OUT_HEIGHT * OUT_WIDTH };
enum { LARGEST = X > Y ? X : Y };

static float x[X], w[W], y[Y], residual[LARGEST], made[LARGEST > W ? LARGEST : W], first[LARGEST > W ? LARGEST : W];
static float workspace[WORKSPACE / sizeof(float) + 1];

typedef pt_status (*kernel)(const pt_call* call);
#define KERNEL_OF(name) pt_##name##_f32,
static const kernel kernels[] = {KERNELS(KERNEL_OF)};
#define BYTES_OF(name) pt_##name##_workspace_f32,
static size_t (*const bytes[])(const pt_call* call) = {WORKSPACES(BYTES_OF)};

static void draw(float* to, size_t count, uint32_t seed) {
  for (; count > 0; --count) {
    seed = seed * 1664525u + 1013904223u;
    *to++ = (float)(int32_t)seed * 4.656612873e-10F;
  }
}

static pt_tensor tensor(void* data, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  const pt_tensor made_of = {.data = data, .rank = 4, .dtype = PT_F32, .dims = {a, b, c, d}};
  return made_of;
}

__attribute__((noinline)) void turn(void) {
  __asm__ volatile("");
}
__attribute__((noinline, noclone)) static pt_status compute(size_t index, const pt_call* call) {
  const pt_status status = kernels[index](call);
  __asm__ volatile("");
  return status;
}

static void print_number(size_t number) {
  char text[12];
  size_t at = sizeof text - 1;
  text[at] = 0;
  do text[--at] = (char)('0' + number % 10);
  while ((number /= 10) > 0);
  board_print(text + at);
  board_print(" ");
}

int main(void) {
  static const int64_t ints[] = {STRIDE, STRIDE, PAD, PAD, PAD, PAD, DILATION, DILATION, GROUPS, MORE_INTS};
  static const double reals[8] = {0};
  const pt_tensor image = tensor(x, SAMPLES, CHANNELS, HEIGHT, WIDTH),
                  weight = tensor(w, OUTPUTS, CHANNELS / GROUPS, KERNEL, KERNEL),
                  result = tensor(y, SAMPLES, OUTPUTS, OUT_HEIGHT, OUT_WIDTH);
  pt_tensor inputs[3] = {OPERANDS}, output = MADE;
  pt_call call;
  memset(&call, 0, sizeof call);
  output.data = made;
  inputs[2] = output, inputs[2].data = residual;
  call.inputs = inputs, call.outputs = &output, call.ints = ints, call.reals = reals;
  call.input_count = INPUTS, call.output_count = 1, call.int_count = sizeof ints / sizeof *ints, call.real_count = 8;
  call.workspace = workspace;
  draw(x, X, 1), draw(w, W, 2), draw(y, Y, 3), draw(residual, LARGEST, 4);
  for (size_t index = 0; index < sizeof kernels / sizeof *kernels; ++index) {
    const size_t needed = bytes[index](&call);
    print_number(needed == PT_NO_KERNEL ? 0 : needed);
    if (needed != PT_NO_KERNEL && needed > WORKSPACE) return 1;
  }
  turn();
  for (size_t index = 0; index < sizeof kernels / sizeof *kernels; ++index) {
    memset(made, 0xFF, sizeof made);
    if (bytes[index](&call) == PT_NO_KERNEL || compute(index, &call) != PT_OK) {
      board_print("none ");
      continue;
    }
    if (index == 0) memcpy(first, made, sizeof made);
    board_print(memcmp(first, made, sizeof made) == 0 ? "same " : "other ");
  }
  turn();
  board_print("\n");
  return 0;
}
