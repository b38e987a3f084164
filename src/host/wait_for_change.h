// How threads of the host wait for each other.
#pragma once

#include <atomic>
#include <cstdint>

namespace pantoum::host {

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until the value is no longer `old`: a few microseconds by looking, then asleep. Returns the new value.
inline uint32_t wait_for_change(const std::atomic<uint32_t>& value, uint32_t old) {
  constexpr int kSpins = 500;
  for (int spin = 0; spin < kSpins; ++spin) {
    const uint32_t now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    pause();
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

}  // namespace pantoum::host
