#include "sd_crc.h"

uint8_t sd_crc7(const uint8_t* bytes, size_t count) {
  uint32_t crc = 0; /* at the upper end of the byte, where the bits come from */
  uint32_t bit;
  for (; count > 0; --count) {
    crc ^= *bytes++;
    for (bit = 0; bit < 8; ++bit) crc = crc << 1 ^ (crc & 0x80 ? 0x09u << 1 : 0);
  }
  return (uint8_t)(crc >> 1 & 0x7F);
}

/* A byte at a time: the polynomial has few terms, so that its table is a handful of shifts. */
uint16_t sd_crc16(const uint8_t* bytes, size_t count) {
  uint32_t crc = 0;
  for (; count > 0; --count) {
    uint32_t top = (crc >> 8 ^ *bytes++) & 0xFF;
    top ^= top >> 4;
    crc = (crc << 8 ^ top << 12 ^ top << 5 ^ top) & 0xFFFF;
  }
  return (uint16_t)crc;
}
