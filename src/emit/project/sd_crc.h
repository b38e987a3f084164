/* The checksums of SD cards. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The checksum of a command: x^7 + x^3 + 1, in the low 7 bits. */
uint8_t sd_crc7(const uint8_t* bytes, size_t count);
/* The checksum of a data block: x^16 + x^12 + x^5 + 1, from zero, most significant bit first. */
uint16_t sd_crc16(const uint8_t* bytes, size_t count);
