/* Blocks in memory, for tests. */
#pragma once

#include "blocks.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pt_ram_disk {
  uint8_t* bytes;
  uint32_t count;
} pt_ram_disk;

/* `bytes` holds count * 512 bytes; it and `disk` stay the caller's and must live as long as `blocks`. */
void pt_ram_disk_open(pt_ram_disk* disk, void* bytes, uint32_t count, pt_blocks* blocks);

#ifdef __cplusplus
}
#endif
