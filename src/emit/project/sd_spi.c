/* After the SD Association's Physical Layer Simplified Specification, chapter 7 (SPI mode). */
#include "sd_spi.h"

#include "sd_crc.h"

enum {
  GO_IDLE = 0,
  SEND_IF_COND = 8,
  SEND_CSD = 9,
  STOP_TRANSMISSION = 12,
  SEND_STATUS = 13,
  SET_BLOCK_LENGTH = 16,
  READ_BLOCK = 17,
  READ_BLOCKS = 18,
  WRITE_BLOCK = 24,
  WRITE_BLOCKS = 25,
  SEND_OP_COND = 41, /* after APP_COMMAND */
  APP_COMMAND = 55,
  READ_OCR = 58,
  CRC_ON_OFF = 59
};
enum { R1_READY = 0, R1_IDLE = 1, R1_ILLEGAL = 4, NO_ANSWER = 0xFF };
enum { TOKEN_BLOCK = 0xFE, TOKEN_BLOCK_OF_MANY = 0xFC, TOKEN_STOP = 0xFD, DATA_MASK = 0x1F, DATA_ACCEPTED = 0x05 };
enum { CSD_BYTES = 16, ANSWER_POLLS = 10, RESET_TRIES = 32, START_TRIES = 5000 };
enum { VOLTAGE_AND_CHECK = 0x1AA, HIGH_CAPACITY = 0x40000000 };

/* ---- Bytes and commands ------------------------------------------------------------------------------------------ */

static uint8_t clock_in(const sd_card* card) {
  return card->bus.exchange(card->bus.context, 0xFF);
}

static void send(const sd_card* card, const uint8_t* bytes, uint32_t count) {
  for (; count > 0; --count) card->bus.exchange(card->bus.context, *bytes++);
}

/* The card holds its line low while it is busy. */
static pt_status wait_ready(const sd_card* card) {
  uint32_t polls;
  for (polls = 0; polls < SD_POLLS; ++polls)
    if (clock_in(card) == 0xFF) return PT_OK;
  return PT_E_IO;
}

/* Returns R1, or NO_ANSWER. The card stays selected, for what follows the answer. */
static uint8_t command(const sd_card* card, uint8_t number, uint32_t argument) {
  uint8_t bytes[6] = {(uint8_t)(0x40 | number), (uint8_t)(argument >> 24), (uint8_t)(argument >> 16),
                      (uint8_t)(argument >> 8), (uint8_t)argument,         0};
  uint8_t answer = NO_ANSWER;
  uint32_t polls;
  bytes[5] = (uint8_t)(sd_crc7(bytes, 5) << 1 | 1);
  card->bus.select(card->bus.context, 1);
  if (number != GO_IDLE && number != STOP_TRANSMISSION && wait_ready(card) != PT_OK) return NO_ANSWER;
  send(card, bytes, sizeof bytes);
  if (number == STOP_TRANSMISSION) clock_in(card); /* a stuff byte, which may look like an answer */
  for (polls = 0; polls < ANSWER_POLLS && (answer & 0x80); ++polls) answer = clock_in(card);
  return answer;
}

/* Ends what `command` began: the card lets go of its line after eight more clocks. */
static pt_status release(const sd_card* card, pt_status status) {
  card->bus.select(card->bus.context, 0);
  clock_in(card);
  return status;
}

static pt_status simple(const sd_card* card, uint8_t number, uint32_t argument, uint8_t expected) {
  return release(card, command(card, number, argument) == expected ? PT_OK : PT_E_IO);
}

/* Sends a command whose answer is R3 or R7: R1 and four more bytes. */
static uint8_t long_command(const sd_card* card, uint8_t number, uint32_t argument, uint32_t* more) {
  const uint8_t answer = command(card, number, argument);
  uint32_t index;
  for (*more = 0, index = 0; index < 4 && answer != NO_ANSWER; ++index) *more = *more << 8 | clock_in(card);
  release(card, PT_OK);
  return answer;
}

/* ---- Data -------------------------------------------------------------------------------------------------------- */

static pt_status read_data(const sd_card* card, uint8_t* data, uint32_t bytes) {
  uint8_t token = 0xFF;
  uint32_t index, crc;
  for (index = 0; index < SD_POLLS && token == 0xFF; ++index) token = clock_in(card);
  if (token != TOKEN_BLOCK) return PT_E_IO; /* 0xFF: time is over; else an error token */
  for (index = 0; index < bytes; ++index) data[index] = clock_in(card);
  crc = (uint32_t)clock_in(card) << 8;
  crc |= clock_in(card);
  return SD_CRC && crc != sd_crc16(data, bytes) ? PT_E_IO : PT_OK;
}

static pt_status write_data(const sd_card* card, uint8_t token, const uint8_t* data) {
  const uint16_t crc = SD_CRC ? sd_crc16(data, PT_BLOCK_BYTES) : 0xFFFF;
  const uint8_t end[2] = {(uint8_t)(crc >> 8), (uint8_t)crc};
  if (wait_ready(card) != PT_OK) return PT_E_IO;
  send(card, &token, 1);
  send(card, data, PT_BLOCK_BYTES);
  send(card, end, sizeof end);
  if ((clock_in(card) & DATA_MASK) != DATA_ACCEPTED) return PT_E_IO;
  return wait_ready(card);
}

/* What went wrong inside the card while it was busy is told only here. */
static pt_status check_status(const sd_card* card) {
  const uint8_t first = command(card, SEND_STATUS, 0);
  const uint8_t second = clock_in(card);
  return release(card, first == R1_READY && second == 0 ? PT_OK : PT_E_IO);
}

static uint32_t address_of(const sd_card* card, uint32_t block) {
  return card->by_block ? block : block * PT_BLOCK_BYTES;
}

static pt_status read_many(const sd_card* card, uint32_t block, uint8_t* data, uint32_t count) {
  pt_status status = command(card, READ_BLOCKS, address_of(card, block)) == R1_READY ? PT_OK : PT_E_IO;
  for (; status == PT_OK && count > 0; --count, data += PT_BLOCK_BYTES) status = read_data(card, data, PT_BLOCK_BYTES);
  if (command(card, STOP_TRANSMISSION, 0) == NO_ANSWER || wait_ready(card) != PT_OK) status = PT_E_IO;
  return status;
}

static pt_status write_many(const sd_card* card, uint32_t block, const uint8_t* data, uint32_t count) {
  static const uint8_t stop[2] = {TOKEN_STOP, 0xFF};
  pt_status status = command(card, WRITE_BLOCKS, address_of(card, block)) == R1_READY ? PT_OK : PT_E_IO;
  if (status != PT_OK) return status;
  for (; status == PT_OK && count > 0; --count, data += PT_BLOCK_BYTES)
    status = write_data(card, TOKEN_BLOCK_OF_MANY, data);
  if (status == PT_OK)
    send(card, stop, sizeof stop);
  else
    command(card, STOP_TRANSMISSION, 0); /* a refused block is not answered with a token */
  return wait_ready(card) == PT_OK ? status : PT_E_IO;
}

static pt_status read_blocks(void* context, uint32_t block, void* data, uint32_t count) {
  const sd_card* card = context;
  pt_status status = pt_blocks_within(card->count, block, count);
  if (status != PT_OK || count == 0) return status;
  if (count > 1) return release(card, read_many(card, block, data, count));
  status = command(card, READ_BLOCK, address_of(card, block)) == R1_READY ? PT_OK : PT_E_IO;
  if (status == PT_OK) status = read_data(card, data, PT_BLOCK_BYTES);
  return release(card, status);
}

static pt_status write_blocks(void* context, uint32_t block, const void* data, uint32_t count) {
  const sd_card* card = context;
  pt_status status = pt_blocks_within(card->count, block, count);
  if (status != PT_OK || count == 0) return status;
  if (count > 1) {
    status = write_many(card, block, data, count);
  } else {
    status = command(card, WRITE_BLOCK, address_of(card, block)) == R1_READY ? PT_OK : PT_E_IO;
    if (status == PT_OK) status = write_data(card, TOKEN_BLOCK, data);
  }
  release(card, PT_OK);
  return status == PT_OK ? check_status(card) : status;
}

/* A write returns when the card is no longer busy: nothing is left to do. */
static pt_status sync_blocks(void* context) {
  const sd_card* card = context;
  card->bus.select(card->bus.context, 1);
  return release(card, wait_ready(card));
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static pt_status reset(const sd_card* card) {
  uint32_t tries;
  card->bus.select(card->bus.context, 0);
  for (tries = 0; tries < 10; ++tries) clock_in(card); /* 74 clocks at least, not selected */
  for (tries = 0; tries < RESET_TRIES; ++tries)
    if (simple(card, GO_IDLE, 0, R1_IDLE) == PT_OK) return PT_OK;
  return PT_E_IO;
}

/* Cards of version 1 do not know the command; the others must echo what they were sent. */
static pt_status ask_version(const sd_card* card, uint32_t* operating) {
  uint32_t echo;
  const uint8_t answer = long_command(card, SEND_IF_COND, VOLTAGE_AND_CHECK, &echo);
  *operating = answer == R1_IDLE ? HIGH_CAPACITY : 0;
  if (answer == R1_IDLE) return (echo & 0xFFF) == VOLTAGE_AND_CHECK ? PT_OK : PT_E_IO;
  return answer != NO_ANSWER && (answer & R1_ILLEGAL) ? PT_OK : PT_E_IO;
}

/* A card may take a second to start; a try is 20 bytes, 0.4 ms at 400 kHz. */
static pt_status start(const sd_card* card, uint32_t operating) {
  uint32_t tries;
  for (tries = 0; tries < START_TRIES; ++tries) {
    uint8_t answer = command(card, APP_COMMAND, 0);
    release(card, PT_OK);
    if (answer > R1_IDLE) return PT_E_IO;
    answer = command(card, SEND_OP_COND, operating);
    release(card, PT_OK);
    if (answer == R1_READY) return PT_OK;
    if (answer != R1_IDLE) return PT_E_IO;
  }
  return PT_E_IO;
}

static pt_status read_capacity(sd_card* card) {
  uint8_t csd[CSD_BYTES];
  pt_status status = command(card, SEND_CSD, 0) == R1_READY ? PT_OK : PT_E_IO;
  if (status == PT_OK) status = read_data(card, csd, sizeof csd);
  release(card, PT_OK);
  if (status != PT_OK) return status;
  if (csd[0] >> 6 == 1) {
    const uint32_t size = (csd[7] & 0x3Fu) << 16 | (uint32_t)csd[8] << 8 | csd[9];
    card->count = size < 0x3FFFFF ? (size + 1) * 1024 : UINT32_MAX;
  } else {
    const uint32_t size = (csd[6] & 3u) << 10 | (uint32_t)csd[7] << 2 | csd[8] >> 6;
    const uint32_t shift = ((csd[9] & 3u) << 1 | csd[10] >> 7) + 2 + (csd[5] & 15u);
    card->count = shift >= 9 ? (size + 1) << (shift - 9) : 0;
  }
  return PT_OK;
}

static pt_status identify(sd_card* card) {
  uint32_t operating, ocr;
  pt_status status = reset(card);
  if (status == PT_OK) status = ask_version(card, &operating);
  if (status == PT_OK && SD_CRC) status = simple(card, CRC_ON_OFF, 1, R1_IDLE);
  if (status == PT_OK) status = start(card, operating);
  if (status != PT_OK) return status;
  if (long_command(card, READ_OCR, 0, &ocr) > R1_IDLE) return PT_E_IO;
  card->by_block = operating != 0 && (ocr & HIGH_CAPACITY) != 0;
  return card->by_block ? PT_OK : simple(card, SET_BLOCK_LENGTH, PT_BLOCK_BYTES, R1_READY);
}

pt_status sd_open(sd_card* card, const sd_bus* bus, pt_blocks* blocks) {
  pt_status status;
  *card = (sd_card){.bus = *bus};
  bus->speed(bus->context, 0);
  status = identify(card);
  bus->speed(bus->context, 1);
  if (status == PT_OK) status = read_capacity(card);
  if (status != PT_OK) return status;
  *blocks = (pt_blocks){
      .context = card, .count = card->count, .read = read_blocks, .write = write_blocks, .sync = sync_blocks};
  return PT_OK;
}
