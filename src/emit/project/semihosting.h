/* Services of a debugger or of QEMU over Arm's semihosting. Without either of them a call is a fault. */
#pragma once

#include "blocks.h"

void semihosting_print(const char* text);
void semihosting_exit(int code) __attribute__((noreturn));

typedef struct semihosting_file {
  uint32_t handle;
  uint32_t count; /* blocks */
} semihosting_file;

/* An existing file of the host as blocks; its size is kept, and an unfinished block at its end is not used. `file` must
 * live as long as `blocks`. PT_E_IO: it cannot be opened for reading and writing. Files of 4 GiB and more are not
 * supported. `sync` relies on the host: semihosting has no call for it. */
pt_status semihosting_storage(semihosting_file* file, const char* name, pt_blocks* blocks);
