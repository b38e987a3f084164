// What the kernel says this process has in RAM. Linux; no allocation, so that measuring changes nothing.
#pragma once

#include <cstdint>

namespace pantoum::host {

struct ResidentSet {
  uint64_t now_bytes = 0;   // VmRSS of /proc/self/status
  uint64_t peak_bytes = 0;  // VmHWM: the largest since the start or the last reset
  uint64_t file_bytes = 0;  // RssFile: the part of now_bytes that is pages of files, such as the program's own
};

// Zeros where /proc is not there.
[[nodiscard]] ResidentSet read_resident_set();

// Sets VmHWM to VmRSS (5 to /proc/self/clear_refs). False where the kernel refuses.
[[nodiscard]] bool reset_resident_peak();

// Bytes of [data, data + bytes) that are in RAM; whole pages, and none where the kernel does not tell.
[[nodiscard]] uint64_t resident_bytes(const void* data, uint64_t bytes);

// Lets go of what is in RAM of the program's and its libraries' files and was never written: code that ran once, such
// as the compiler's, and tables. What runs again is found in the page cache. Best effort.
void give_back_clean_files();

// Makes 128 KiB of the caller's stack resident now, so that a later step does not: what is touched lazily must not look
// like memory of the step.
void warm_stack();

}  // namespace pantoum::host
