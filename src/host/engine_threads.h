// The threads of a session's engines, behind the runtime's interface: one for each engine, and one for the pager.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "host/prefaulted_thread.h"
#include "host/processors.h"
#include "pantoum/pantoum.h"

namespace pantoum::host {

// Threads are made, and their stacks touched, by create(); a run allocates nothing. Idle threads sleep after a few microseconds. The system
// chooses the processors of the pager, and of engines that are not placed.
class EngineThreads {
 public:
  // `engines` >= 1. `places`: of the first engines; the system places the others. E0905 the system gives no more threads.
  static Result<std::unique_ptr<EngineThreads>> create(uint32_t engines, const std::vector<Place>& places = {});
  ~EngineThreads();
  EngineThreads(const EngineThreads&) = delete;
  EngineThreads& operator=(const EngineThreads&) = delete;

  // For pt_session_open_engines, with these crews, which the caller keeps. Valid as long as this object.
  pt_engines interface(const std::vector<pt_crew>& crews);

 private:
  struct alignas(64) Worker {
    PrefaultedThread thread;
    EngineThreads* team = nullptr;
    uint32_t part = 0;
    std::vector<int> processors;  // empty: the system chooses
    std::array<std::atomic<uint64_t>, PT_MOST_WAITS> awaited{};  // counter and value, or kNothing
    std::atomic<uint32_t> wakes{0};
  };
  static constexpr uint64_t kNothing = ~uint64_t{0};
  explicit EngineThreads(uint32_t engines);
  void run(uint32_t parts, void (*body)(void*, uint32_t), void* arg);
  void work(uint32_t part);
  void set(unsigned counter, uint32_t value);
  void wait(uint32_t part, std::span<const pt_wait> any);
  [[nodiscard]] bool is_over(std::span<const pt_wait> any) const;

  std::vector<Worker> workers_;
  uint32_t parts_ = 0;
  void (*body_)(void* arg, uint32_t part) = nullptr;
  void* arg_ = nullptr;
  bool stopping_ = false;
  std::array<std::atomic<uint32_t>, PT_COUNTERS> counters_{};
  alignas(64) std::atomic<uint32_t> round_{0};  // raised to begin a run
  alignas(64) std::atomic<uint32_t> busy_{0};   // workers that have not finished the run
};

// Returns the seconds from the end of an op on one engine until all threads of `pool`, which waited asleep, compute an op that waited for it: what a
// quarter of some tries does not exceed, since other programs delay threads. Cost: 20 ms.
double measure_hand_off(EngineThreads& threads, const pt_pool& pool);

}  // namespace pantoum::host
