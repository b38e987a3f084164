// The threads of a session's engines, behind the runtime's interface: one for each engine, and one for the pager.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "base/result.h"
#include "host/prefaulted_thread.h"
#include "pantoum/pantoum.h"

namespace pantoum::host {

// Threads are made, and their stacks touched, by create(); a run allocates nothing. Idle threads sleep after a few microseconds. The system
// chooses the processors.
class EngineThreads {
 public:
  // `engines` >= 1. E0905 the system gives no more threads.
  static Result<std::unique_ptr<EngineThreads>> create(uint32_t engines);
  ~EngineThreads();
  EngineThreads(const EngineThreads&) = delete;
  EngineThreads& operator=(const EngineThreads&) = delete;

  // For pt_session_open_engines, with these crews, which the caller keeps. Valid as long as this object.
  pt_engines interface(const std::vector<pt_crew>& crews);

 private:
  struct Worker {
    PrefaultedThread thread;
    EngineThreads* team = nullptr;
    uint32_t part = 0;
  };
  explicit EngineThreads(uint32_t engines);
  void run(uint32_t parts, void (*body)(void*, uint32_t), void* arg);
  void work(uint32_t part);
  void set(unsigned counter, uint32_t value);

  std::vector<Worker> workers_;
  uint32_t parts_ = 0;
  void (*body_)(void* arg, uint32_t part) = nullptr;
  void* arg_ = nullptr;
  bool stopping_ = false;
  std::array<std::atomic<uint32_t>, PT_COUNTERS> counters_{};
  alignas(64) std::atomic<uint32_t> round_{0};    // raised to begin a run
  alignas(64) std::atomic<uint32_t> busy_{0};     // workers that have not finished the run
  alignas(64) std::atomic<uint32_t> changes_{0};  // raised with every counter
};

// Seconds from the end of an op on one engine to the begin of one on another that waited for it asleep: what a quarter of some tries
// does not exceed, since other programs delay threads. Cost: 10 ms.
double measure_hand_off(EngineThreads& threads);

}  // namespace pantoum::host
