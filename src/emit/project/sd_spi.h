/* SD cards (SDSC version 1 and 2, SDHC, SDXC) over SPI, polled. Nothing here knows the processor: a board gives three
 * functions. Build with -DSD_CRC=1 to have every command and block checked by its checksum, both ways. */
#pragma once

#include "blocks.h"

#ifndef SD_CRC
#define SD_CRC 0
#endif

/* The bytes exchanged while waiting for a card before it counts as failed. Cards may be busy for 500 ms: 1.6 MB at 25
 * MHz. */
#ifndef SD_POLLS
#define SD_POLLS 2000000u
#endif

typedef struct sd_bus {
  void* context;
  uint8_t (*exchange)(void* context, uint8_t byte); /* SPI mode 0, most significant bit first */
  void (*select)(void* context, int on);            /* on: chip select is low */
  void (*speed)(void* context, int fast);           /* 0: at most 400 kHz; 1: up to 25 MHz */
} sd_bus;

typedef struct sd_card {
  sd_bus bus;
  uint32_t count;    /* blocks */
  uint32_t by_block; /* 1: addresses are blocks; 0 (SDSC): bytes */
} sd_card;

/* Resets the card and reads its size. `card` must live as long as `blocks`. PT_E_IO: no card, no SD card, or one that
 * fails; also after a read or write that the card refused or did not answer in time, when it may be tried again. */
pt_status sd_open(sd_card* card, const sd_bus* bus, pt_blocks* blocks);
