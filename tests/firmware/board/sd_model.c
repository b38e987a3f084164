/* The SD driver against a model of a card on this computer: versions and sizes of cards, and every way to fail that the
 * driver must tell and survive. Exits with the line of the first expectation that does not hold. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sd_crc.h"
#include "sd_spi.h"

enum { CARD_BLOCKS = 1024, USED = 16, PACKET = PT_BLOCK_BYTES + 2 };
typedef enum fault_kind {
  NONE,
  ABSENT,       /* the line floats high */
  STUCK,        /* the line is low */
  WRONG_ECHO,   /* of CMD8 */
  NEVER_STARTS, /* ACMD41 */
  FLIPPED_BIT,  /* in a block that is read */
  READ_ERROR,   /* an error token */
  READ_SILENT,  /* no token */
  REFUSED,      /* a block that is written */
  BUSY,         /* for ever, after a block */
  LATE_ERROR    /* told by CMD13 alone */
} fault_kind;

/* ---- The card ---------------------------------------------------------------------------------------------------- */

static struct {
  fault_kind fault;
  int high_capacity, version, selected, idle, application, checks;
  uint8_t command[6], out[PACKET + 8], packet[PACKET], blocks[USED][PT_BLOCK_BYTES];
  uint32_t command_count, out_count, out_at, packet_count, exchanges, writes_seen;
  int reading_many, writing, in_packet, busy; /* writing: 1 one block, 2 many */
  uint32_t block;
} card;

static void answer(uint8_t byte) {
  card.out[card.out_count++] = byte;
}

static void answer_block(const uint8_t* data, uint32_t count) {
  const uint16_t crc = sd_crc16(data, count);
  if (card.fault == READ_SILENT) return;
  if (card.fault == READ_ERROR) {
    answer(0x08);
    return;
  }
  answer(0xFF);
  answer(0xFE);
  memcpy(card.out + card.out_count, data, count);
  if (card.fault == FLIPPED_BIT) card.out[card.out_count + count / 2] ^= 4;
  card.out_count += count;
  answer((uint8_t)(crc >> 8));
  answer((uint8_t)crc);
}

static void answer_csd(void) {
  static const uint8_t high[16] = {0x40, 0, 0, 0x32, 0x5B, 0x59, 0, 0, 0, CARD_BLOCKS / 1024 - 1};
  /* (c_size + 1) << (mult + 2 + length - 9) = 1024: 128 << 3, length 10, mult 0 */
  static const uint8_t standard[16] = {0, 0, 0, 0, 0, 10, 0, 127 >> 2, (127 & 3) << 6};
  answer_block(card.high_capacity ? high : standard, 16);
}

static uint32_t block_of(uint32_t argument) {
  return (card.high_capacity ? argument : argument / PT_BLOCK_BYTES) - (CARD_BLOCKS - USED);
}

static void run_application(uint8_t number) {
  if (number != 41) exit(__LINE__ & 63);
  if (card.fault != NEVER_STARTS) card.idle = 0;
  answer(card.idle ? 1 : 0);
}

static void run_command(uint8_t number, uint32_t argument) {
  const int application = card.application;
  if (card.writing == 2 && number != 12) return; /* it waits for blocks */
  card.out_count = card.out_at = 0;
  card.application = 0;
  answer(0xFF);
  if ((card.checks || number == 0 || number == 8) && card.command[5] != (sd_crc7(card.command, 5) << 1 | 1)) {
    answer(8);
    return;
  }
  if (application) {
    run_application(number);
    return;
  }
  if (number == 0) card.idle = 1, card.checks = 0;
  if (number == 8 && card.version == 1)
    answer(5);
  else
    answer(card.idle ? 1 : 0);
  if (number == 8 && card.version == 2) {
    answer(0), answer(0), answer(1);
    answer(card.fault == WRONG_ECHO ? 0xAB : 0xAA);
  } else if (number == 9) {
    answer_csd();
  } else if (number == 12) {
    card.reading_many = card.writing = card.in_packet = 0;
  } else if (number == 13) {
    answer(card.fault == LATE_ERROR && card.writes_seen ? 0x04 : 0);
  } else if (number == 17 || number == 18) {
    card.block = block_of(argument);
    card.reading_many = number == 18;
    answer_block(card.blocks[card.block++], PT_BLOCK_BYTES);
  } else if (number == 24 || number == 25) {
    card.block = block_of(argument);
    card.writing = number - 23;
  } else if (number == 55) {
    card.application = 1;
  } else if (number == 58) {
    answer(card.high_capacity ? 0xC0 : 0x80), answer(0xFF), answer(0x80), answer(0);
  } else if (number == 59) {
    card.checks = (int)argument;
  }
}

static void take_packet(void) {
  const uint16_t crc = (uint16_t)(card.packet[PT_BLOCK_BYTES] << 8 | card.packet[PT_BLOCK_BYTES + 1]);
  card.out_count = card.out_at = 0;
  card.in_packet = 0;
  ++card.writes_seen;
  if (card.checks && crc != sd_crc16(card.packet, PT_BLOCK_BYTES)) {
    answer(0xEB);
  } else if (card.fault == REFUSED) {
    answer(0xED);
  } else {
    memcpy(card.blocks[card.block++], card.packet, PT_BLOCK_BYTES);
    answer(0xE5);
    card.busy = card.fault == BUSY ? 1 << 30 : 3;
  }
  if (card.writing == 1) card.writing = 0;
}

static void take_command_byte(uint8_t byte) {
  if (card.command_count == 0 && (byte & 0xC0) != 0x40) return;
  card.command[card.command_count++] = byte;
  if (card.command_count < 6) return;
  card.command_count = 0;
  run_command(card.command[0] & 63, (uint32_t)card.command[1] << 24 | (uint32_t)card.command[2] << 16 |
                                        (uint32_t)card.command[3] << 8 | card.command[4]);
}

static void take(uint8_t byte) {
  if (card.in_packet) {
    card.packet[card.packet_count++] = byte;
    if (card.packet_count == PACKET) take_packet();
  } else if (card.writing && card.command_count == 0 && byte == (card.writing == 1 ? 0xFE : 0xFC)) {
    card.in_packet = 1;
    card.packet_count = 0;
  } else if (card.writing == 2 && card.command_count == 0 && byte == 0xFD) {
    card.writing = 0;
    card.busy = 2;
  } else {
    take_command_byte(byte);
  }
}

static uint8_t exchange(void* context, uint8_t byte) {
  uint8_t result = 0xFF;
  (void)context;
  ++card.exchanges;
  if (card.fault == ABSENT) return 0xFF;
  if (card.fault == STUCK) return 0;
  if (!card.selected) return 0xFF;
  if (card.out_at < card.out_count)
    result = card.out[card.out_at++];
  else if (card.busy > 0)
    --card.busy, result = 0;
  else if (card.reading_many && card.block < USED) {
    card.out_count = card.out_at = 0;
    answer_block(card.blocks[card.block++], PT_BLOCK_BYTES);
  }
  take(byte);
  return result;
}

static void select(void* context, int on) {
  (void)context;
  card.selected = on;
}

static void speed(void* context, int fast) {
  (void)context;
  (void)fast;
}

/* ---- What is expected of the driver ------------------------------------------------------------------------------ */

#define EXPECT(condition) \
  if (!(condition)) return __LINE__

static const sd_bus bus = {.exchange = exchange, .select = select, .speed = speed};
static sd_card driver;
static pt_blocks blocks;
static uint8_t data[USED * PT_BLOCK_BYTES], back[USED * PT_BLOCK_BYTES];

static pt_status open_card(int version, int high_capacity, fault_kind fault) {
  memset(&card, 0, sizeof card);
  card.version = version;
  card.high_capacity = high_capacity;
  card.fault = fault;
  return sd_open(&driver, &bus, &blocks);
}

static pt_status write_at(uint32_t block, uint32_t count) {
  card.writes_seen = 0;
  return blocks.write(blocks.context, CARD_BLOCKS - USED + block, data + block * PT_BLOCK_BYTES, count);
}

static pt_status read_at(uint32_t block, uint32_t count) {
  return blocks.read(blocks.context, CARD_BLOCKS - USED + block, back + block * PT_BLOCK_BYTES, count);
}

static int works(void) {
  uint32_t index;
  for (index = 0; index < sizeof data; ++index) data[index] = (uint8_t)rand();
  EXPECT(write_at(0, 1) == PT_OK && write_at(1, USED - 2) == PT_OK && write_at(USED - 1, 1) == PT_OK);
  memset(back, 0, sizeof back);
  EXPECT(read_at(0, 2) == PT_OK && read_at(2, 1) == PT_OK && read_at(3, USED - 3) == PT_OK);
  EXPECT(memcmp(data, back, sizeof data) == 0 && memcmp(data, card.blocks, sizeof data) == 0);
  EXPECT(blocks.sync(blocks.context) == PT_OK);
  EXPECT(read_at(USED, 1) == PT_E_FULL && write_at(USED - 1, 2) == PT_E_FULL);
  return 0;
}

static int opens(int version, int high_capacity) {
  EXPECT(open_card(version, high_capacity, NONE) == PT_OK);
  EXPECT(blocks.count == CARD_BLOCKS && card.checks == SD_CRC);
  return works();
}

static int does_not_open(fault_kind fault) {
  EXPECT(open_card(2, 1, fault) == PT_E_IO);
  EXPECT(card.exchanges < 200000);
  return 0;
}

/* After each failure the card can be used again, at once or after a new start. */
static int tells_reads(fault_kind fault, pt_status expected) {
  EXPECT(open_card(2, 1, NONE) == PT_OK && works() == 0);
  card.fault = fault;
  EXPECT(read_at(0, 1) == expected && read_at(0, 3) == expected);
  card.fault = NONE;
  return works();
}

static int tells_writes(fault_kind fault) {
  EXPECT(open_card(2, 1, NONE) == PT_OK && works() == 0);
  card.fault = fault;
  EXPECT(write_at(0, 1) == PT_E_IO);
  card.busy = 0;
  EXPECT(write_at(0, 3) == PT_E_IO);
  EXPECT(card.exchanges < 400000);
  card.fault = NONE;
  card.busy = 0;
  return works();
}

int main(void) {
  static const fault_kind closed[] = {ABSENT, STUCK, WRONG_ECHO, NEVER_STARTS};
  const pt_status flipped = SD_CRC ? PT_E_IO : PT_OK;
  int line = 0;
  uint32_t index;
  if (sd_crc16((const uint8_t*)"123456789", 9) != 0x31C3) line = __LINE__;
  if (line == 0) line = opens(1, 0);
  if (line == 0) line = opens(2, 0);
  if (line == 0) line = opens(2, 1);
  for (index = 0; index < sizeof closed / sizeof closed[0] && line == 0; ++index) line = does_not_open(closed[index]);
  if (line == 0) line = tells_reads(FLIPPED_BIT, flipped);
  if (line == 0) line = tells_reads(READ_ERROR, PT_E_IO);
  if (line == 0) line = tells_reads(READ_SILENT, PT_E_IO);
  if (line == 0) line = tells_writes(REFUSED);
  if (line == 0) line = tells_writes(BUSY);
  if (line == 0) line = tells_writes(LATE_ERROR);
  if (line != 0) printf("sd_model.c:%d\n", line);
  return line != 0;
}
