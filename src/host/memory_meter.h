// Measures the RAM of this process by the figures of Linux. The functions allocate nothing, so that they do not change the result.
#pragma once

#include <cstdint>

namespace pantoum::host {

struct ResidentSet {
  uint64_t now_bytes = 0;   // VmRSS of /proc/self/status
  uint64_t peak_bytes = 0;  // VmHWM: the largest since the start or the last reset
  uint64_t file_bytes = 0;  // RssFile: the part of now_bytes that is pages of files, such as the program's own
};

// Returns the figures; all are zero if there is no /proc. Linux keeps parts of them per processor, so that each may be off by
// tens of pages.
ResidentSet read_resident_set();

// Returns the figures as the page tables have them (/proc/self/smaps_rollup), exact to the page. The peak is the kernel's where it is
// farther above now_bytes than the kernel's counters may be off, and now_bytes otherwise. Cost: a walk over the page tables, about a
// millisecond per GiB.
ResidentSet read_exact_resident_set();

// Sets VmHWM to VmRSS (writes 5 to /proc/self/clear_refs). Returns false if the kernel refuses.
[[nodiscard]] bool reset_resident_peak();

// Returns how many bytes of [data, data + bytes) are in RAM, in whole pages; 0 if the kernel does not tell.
uint64_t resident_bytes(const void* data, uint64_t bytes);

// Gives back the pages of the program's and its libraries' files that were never written, such as the compiler's code, which ran once.
// Code that runs again comes from the page cache. Best effort.
void give_back_clean_files();

// Touches 128 KiB of the caller's stack, so that RAM does not grow by them during a step.
void warm_stack();

// The same for the heap: what a step's log line, a checkpoint's header or an evaluation allocates later finds pages that are in RAM.
void warm_heap();

}  // namespace pantoum::host
