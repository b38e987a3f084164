/* From reset to main on a Cortex-M, without the C library's start files. */
#include "arm_system.h"
#include "board.h"

enum { STACK_PAINT = 0x5AFE57AC };

int main(void);
void board_reset(void) __attribute__((noreturn));

typedef struct vector_table {
  const void* stack;
  void (*reset)(void);
  void (*exceptions[14])(void); /* 2, NMI, to 15, SysTick; no interrupt of a device is ever enabled */
} vector_table;

__attribute__((section(".vectors"), used)) static const vector_table vectors = {
    board_stack_end,
    board_reset,
    {board_fault, board_fault, board_fault, board_fault, board_fault, board_fault, board_fault, board_fault,
     board_fault, board_fault, board_fault, board_fault, board_fault, board_fault},
};

/* Before anything else: the compiler may copy with vector registers. */
static inline void enable_fpu(void) {
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  ARM_CPACR |= 0xFu << 20;
  arm_barrier();
#endif
}

/* volatile: not to become calls of memset, whose frame would be painted over. */
static inline void paint_stack(void) {
  volatile uint32_t* word = board_stack_begin;
  volatile uint32_t* top;
  __asm__ volatile("mov %0, sp" : "=r"(top));
  while (word < top) *word++ = STACK_PAINT;
}

static inline void fill_data(void) {
  volatile uint32_t* word;
  const uint32_t* from = board_data_load;
  for (word = board_data_begin; word < board_data_end; ++word) *word = *from++;
  for (word = board_bss_begin; word < board_bss_end; ++word) *word = 0;
}

void board_reset(void) {
  enable_fpu();
  paint_stack();
  fill_data();
  board_start();
  board_exit(main());
}

void board_start(void) {
#if __ARM_ARCH > 6
  ARM_SHCSR |= 0xFu << 16; /* else each of them is a HardFault, which hides its cause */
#endif
  board_guard();
}

uint32_t board_stack_bytes(void) {
  return (uint32_t)(board_stack_end - board_stack_begin) * 4;
}

uint32_t board_stack_used(void) {
  const volatile uint32_t* word = board_stack_begin;
  while (word < board_stack_end && *word == STACK_PAINT) ++word;
  return (uint32_t)(board_stack_end - word) * 4;
}
