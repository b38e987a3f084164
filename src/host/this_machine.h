// What a time measured here depends on beside the kernels: the processor, and the memory that is free.
#pragma once

#include <cstdint>
#include <string>

namespace pantoum::host {

// "AMD EPYC 9R14 x86_64": the model's name where the kernel tells one (/proc/cpuinfo), else its parts' numbers.
[[nodiscard]] std::string processor_name();

// MemAvailable of /proc/meminfo, in bytes; 0 where it is not there.
[[nodiscard]] uint64_t available_bytes();

// Of the last level that a core has, in bytes, as `folder` of sysfs tells it; else by sysconf, which on some processors tells
// the sum of all caches of a package; 1 MiB where neither does.
[[nodiscard]] uint64_t cache_bytes(const std::string& folder = "/sys/devices/system/cpu/cpu0/cache");

}  // namespace pantoum::host
