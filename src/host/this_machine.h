// What a time measured here depends on beside the kernels: the processor, and the memory that is free.
#pragma once

#include <cstdint>
#include <string>

namespace pantoum::host {

// "AMD EPYC 9R14 x86_64": the model's name where the kernel tells one (/proc/cpuinfo), else its parts' numbers.
[[nodiscard]] std::string processor_name();

// MemAvailable of /proc/meminfo, in bytes; 0 where it is not there.
[[nodiscard]] uint64_t available_bytes();

// Of the last level that a core has, in bytes; 1 MiB where the system does not tell.
[[nodiscard]] uint64_t cache_bytes();

}  // namespace pantoum::host
