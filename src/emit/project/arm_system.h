/* The few registers of the Cortex-M system control space that the start-up needs, and the symbols of firmware.ld. */
#pragma once

#include <stdint.h>

#define ARM_REGISTER(address) (*(volatile uint32_t*)(address))
#define ARM_SHCSR ARM_REGISTER(0xE000ED24u) /* enables MemManage (bit 16), BusFault, UsageFault, SecureFault (19) */
#define ARM_CFSR \
  ARM_REGISTER(0xE000ED28u) /* the causes of a fault: MemManage in bits 0-7, BusFault in 8-15, UsageFault in 16-31 */
#define ARM_MMFAR ARM_REGISTER(0xE000ED34u)
#define ARM_BFAR ARM_REGISTER(0xE000ED38u)
#define ARM_CPACR ARM_REGISTER(0xE000ED88u)
#define ARM_MPU_TYPE ARM_REGISTER(0xE000ED90u) /* regions in bits 8-15 */
#define ARM_MPU_CTRL ARM_REGISTER(0xE000ED94u)
#define ARM_MPU_RNR ARM_REGISTER(0xE000ED98u)
#define ARM_MPU_RBAR ARM_REGISTER(0xE000ED9Cu)
#define ARM_MPU_RASR ARM_REGISTER(0xE000EDA0u) /* v7-M: attributes and size */
#define ARM_MPU_RLAR ARM_REGISTER(0xE000EDA0u) /* v8-M: limit */
#define ARM_MPU_MAIR0 ARM_REGISTER(0xE000EDC0u)

static inline void arm_barrier(void) {
  __asm__ volatile("dsb\n isb" ::: "memory");
}

extern uint32_t board_stack_begin[], board_stack_end[];
extern uint32_t board_data_begin[], board_data_end[], board_bss_begin[], board_bss_end[];
extern const uint32_t board_data_load[];
extern uint8_t board_rom_begin[], board_rom_end[], board_ram_begin[], board_ram_end[];

/* Lets the program access only ROM (read and execute), the RAM_SIZE bytes of RAM, and devices. Does nothing on a processor without an MPU.
 */
void board_guard(void);
/* Handles every exception: prints the kind of the fault and where it happened, and ends the run. */
void board_fault(void);
