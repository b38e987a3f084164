// What a time measured here depends on beside the kernels: the processor, and the memory that is free.
#pragma once

#include <cstdint>
#include <string>

namespace pantoum::host {

// "AMD EPYC 9R14 x86_64": the model's name where the kernel tells one (/proc/cpuinfo), else its parts' numbers.
[[nodiscard]] std::string processor_name();

// MemAvailable of /proc/meminfo, or what its control groups leave to this process where that is less; in bytes; 0 where the
// first is not there.
[[nodiscard]] uint64_t available_bytes();

// What the memory controllers of a process's control groups (version 2, or 1) leave it, from its own up to the root:
// `groups` as /proc/self/cgroup, `root` as /sys/fs/cgroup. UINT64_MAX: none limits it.
[[nodiscard]] uint64_t bytes_left_by_groups(const std::string& groups = "/proc/self/cgroup",
                                            const std::string& root = "/sys/fs/cgroup");

// Of the last level that a core has, in bytes, as `folder` of sysfs tells it; else by sysconf, which on some processors tells
// the sum of all caches of a package; 1 MiB where neither does.
[[nodiscard]] uint64_t cache_bytes(const std::string& folder = "/sys/devices/system/cpu/cpu0/cache");

}  // namespace pantoum::host
