/* Stellaris LM3S6965 evaluation board: console over semihosting, storage on the SD card of SSI0 (a PL022, pins A2, A4,
 * A5), whose chip select is pin D0. Pin A3 selects the display on the same wires and stays high. */
#include "arm_system.h"
#include "board.h"
#include "fail_writes.h"
#include "sd_spi.h"
#include "semihosting.h"

#define CLOCK_SSI ARM_REGISTER(0x400FE104u)  /* bit 4: SSI0 */
#define CLOCK_GPIO ARM_REGISTER(0x400FE108u) /* bit 0: A, bit 3: D */
#define PORT_A 0x40004000u
#define PORT_D 0x40007000u
#define GPIO_DATA(port, bits) ARM_REGISTER((port) + ((bits) << 2)) /* the address says which bits are written */
#define GPIO_DIRECTION(port) ARM_REGISTER((port) + 0x400u)
#define GPIO_ALTERNATE(port) ARM_REGISTER((port) + 0x420u)
#define GPIO_PULL_UP(port) ARM_REGISTER((port) + 0x510u)
#define GPIO_DIGITAL(port) ARM_REGISTER((port) + 0x51Cu)
#define SSI_CONTROL0 ARM_REGISTER(0x40008000u)
#define SSI_CONTROL1 ARM_REGISTER(0x40008004u)
#define SSI_DATA ARM_REGISTER(0x40008008u)
#define SSI_STATUS ARM_REGISTER(0x4000800Cu) /* bit 2: something was received */
#define SSI_DIVIDER ARM_REGISTER(0x40008010u)

enum { SSI_PINS = 1 << 2 | 1 << 4 | 1 << 5, SSI_INPUT = 1 << 4, DISPLAY = 1 << 3, CARD = 1 << 0 };
enum { BITS_8 = 7, SSI_ENABLE = 2, RECEIVED = 4 };
enum { DIVIDER_SLOW = 32, DIVIDER_FAST = 2 }; /* of the 12 MHz after reset: 375 kHz, 6 MHz */

void board_print(const char* text) {
  semihosting_print(text);
}

void board_exit(int code) {
  semihosting_exit(code);
}

/* The bound is for a controller that has no clock; the card itself cannot delay it. */
static uint8_t exchange(void* context, uint8_t byte) {
  uint32_t polls = 100000;
  (void)context;
  SSI_DATA = byte;
  while (!(SSI_STATUS & RECEIVED) && --polls > 0) {
  }
  return polls > 0 ? (uint8_t)SSI_DATA : 0xFF;
}

static void select(void* context, int on) {
  (void)context;
  GPIO_DATA(PORT_D, CARD) = on ? 0 : CARD;
}

static void speed(void* context, int fast) {
  (void)context;
  SSI_CONTROL1 = 0;
  SSI_CONTROL0 = BITS_8;
  SSI_DIVIDER = fast ? DIVIDER_FAST : DIVIDER_SLOW;
  SSI_CONTROL1 = SSI_ENABLE;
}

static void connect_pins(void) {
  CLOCK_SSI |= 1u << 4;
  CLOCK_GPIO |= 1u << 0 | 1u << 3;
  (void)CLOCK_GPIO; /* a clock runs some cycles after the write: a read is long enough */
  GPIO_DIRECTION(PORT_A) |= DISPLAY;
  GPIO_DATA(PORT_A, DISPLAY) = DISPLAY;
  GPIO_ALTERNATE(PORT_A) |= SSI_PINS;
  GPIO_PULL_UP(PORT_A) |= SSI_INPUT;
  GPIO_DIGITAL(PORT_A) |= SSI_PINS | DISPLAY;
  GPIO_DIRECTION(PORT_D) |= CARD;
  GPIO_DIGITAL(PORT_D) |= CARD;
}

pt_status board_storage(pt_blocks* blocks) {
  static sd_card card;
  static const sd_bus bus = {.exchange = exchange, .select = select, .speed = speed};
  pt_status status;
  connect_pins();
  status = sd_open(&card, &bus, blocks);
#ifdef BOARD_FAIL_AFTER_WRITES
  static pt_fail_writes fail;
  if (status == PT_OK) pt_fail_writes_open(&fail, BOARD_FAIL_AFTER_WRITES, blocks);
#endif
  return status;
}
