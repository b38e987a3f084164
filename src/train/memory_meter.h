// What the kernel says this process has in RAM. Linux; no allocation, so that measuring changes nothing.
#pragma once

#include <cstdint>

namespace pantoum::train {

struct ResidentSet {
  uint64_t now_bytes = 0;   // VmRSS of /proc/self/status
  uint64_t peak_bytes = 0;  // VmHWM: the largest since the start or the last reset
};

// Zeros where /proc is not there.
[[nodiscard]] ResidentSet read_resident_set();

// Sets VmHWM to VmRSS (5 to /proc/self/clear_refs). False where the kernel refuses.
[[nodiscard]] bool reset_resident_peak();

// Makes the code of the program (the file that holds `function`) resident now, and 128 KiB of the caller's stack, so
// that a later step does not: what is touched lazily must not look like memory of the step. Best effort.
void warm_code_and_stack(const void* function);

}  // namespace pantoum::train
