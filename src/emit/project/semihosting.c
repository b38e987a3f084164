#include "semihosting.h"

#include <string.h>

enum {
  SYS_OPEN = 0x01,
  SYS_WRITE0 = 0x04,
  SYS_WRITE = 0x05,
  SYS_READ = 0x06,
  SYS_SEEK = 0x0A,
  SYS_FLEN = 0x0C,
  SYS_EXIT_EXTENDED = 0x20
};
enum { OPEN_READ_WRITE_BINARY = 3, APPLICATION_EXIT = 0x20026 };
#define FAILED UINT32_MAX

static uint32_t call(uint32_t operation, const void* argument) {
  register uint32_t r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void semihosting_print(const char* text) {
  call(SYS_WRITE0, text);
}

void semihosting_exit(int code) {
  const uint32_t argument[2] = {APPLICATION_EXIT, (uint32_t)code};
  for (;;) call(SYS_EXIT_EXTENDED, argument);
}

static pt_status seek(const semihosting_file* file, uint32_t block, uint32_t count) {
  const uint32_t argument[2] = {file->handle, block * PT_BLOCK_BYTES};
  const pt_status status = pt_blocks_within(file->count, block, count);
  if (status != PT_OK) return status;
  return call(SYS_SEEK, argument) == 0 ? PT_OK : PT_E_IO;
}

/* Reads and writes return the bytes that were NOT moved. */
static pt_status move(const semihosting_file* file, uint32_t operation, const void* data, uint32_t count) {
  const uint32_t argument[3] = {file->handle, (uint32_t)data, count * PT_BLOCK_BYTES};
  return call(operation, argument) == 0 ? PT_OK : PT_E_IO;
}

static pt_status read_blocks(void* context, uint32_t block, void* data, uint32_t count) {
  const pt_status status = seek(context, block, count);
  return status == PT_OK ? move(context, SYS_READ, data, count) : status;
}

static pt_status write_blocks(void* context, uint32_t block, const void* data, uint32_t count) {
  const pt_status status = seek(context, block, count);
  return status == PT_OK ? move(context, SYS_WRITE, data, count) : status;
}

static pt_status sync_blocks(void* context) {
  (void)context;
  return PT_OK;
}

pt_status semihosting_storage(semihosting_file* file, const char* name, pt_blocks* blocks) {
  const uint32_t argument[3] = {(uint32_t)name, OPEN_READ_WRITE_BINARY, (uint32_t)strlen(name)};
  const uint32_t handle = call(SYS_OPEN, argument);
  const uint32_t bytes = handle != FAILED ? call(SYS_FLEN, &handle) : FAILED;
  if (bytes == FAILED) return PT_E_IO;
  *file = (semihosting_file){.handle = handle, .count = bytes / PT_BLOCK_BYTES};
  *blocks = (pt_blocks){
      .context = file, .count = file->count, .read = read_blocks, .write = write_blocks, .sync = sync_blocks};
  return PT_OK;
}
