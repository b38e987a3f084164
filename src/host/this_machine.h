// The processor, the free memory and the caches of this machine.
#pragma once

#include <cstdint>
#include <string>

namespace pantoum::host {

// "AMD EPYC 9R14 x86_64": the model's name where the kernel tells one (/proc/cpuinfo), else its parts' numbers.
std::string processor_name();

// Bytes that this process may still take: MemAvailable of /proc/meminfo, or less where its control groups leave less. 0: there is no
// MemAvailable.
uint64_t available_bytes();

// Bytes that the memory controllers of the process's control groups (version 2 or 1) leave it, from its own group up to the root.
// `groups`, `root`: tests give others. UINT64_MAX: no group limits it.
uint64_t bytes_left_by_groups(const std::string& groups = "/proc/self/cgroup",
                              const std::string& root = "/sys/fs/cgroup");

// Bytes of the last cache level of a core, as `folder` of sysfs says; otherwise as sysconf says, which on some processors gives the sum of
// all caches of a package; 1 MiB where neither says anything.
uint64_t cache_bytes(const std::string& folder = "/sys/devices/system/cpu/cpu0/cache");

}  // namespace pantoum::host
