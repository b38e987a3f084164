// Runs a binary plan on a host: it owns the arena, the page file, the thread pool and the runtime's session.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/custom_operators.h"
#include "base/result.h"
#include "host/crews.h"
#include "host/engine_threads.h"
#include "host/file_pager.h"
#include "host/thread_pool.h"
#include "pantoum/pantoum.h"

namespace pantoum::opencl {
class Engine;
}

namespace pantoum::host {

// What computes an op.
struct Computing {
  const pt_kernel_table* kernels;
  const pt_pool* pool;
};

// The kernels and the pool of an op by its engines; nothing: the op is left out.
using ComputingOf = std::function<std::optional<Computing>(uint8_t engines)>;

// Runs every op of the plan for which `of` gives kernels once on zeros, in memory that is given back afterwards. From then on RAM holds what a back
// end makes for an op's shapes, the kernels' code and the threads' stacks. Memory: operands and workspace of the largest op. Cost: about a step of
// each program.
//   errors  PT_E_KERNEL a kernel is missing, or does not compute its shapes; PT_E_PLAN a workspace is too small; PT_E_FULL no memory
[[nodiscard]] pt_status preload(const pt_plan& plan, const ComputingOf& of);

// Does the plan give every op the workspace that its kernel needs on the pool's threads?
[[nodiscard]] bool has_room(const pt_plan& plan, const ComputingOf& of);

// The place that E0251 names where the plan has no room for what its kernels need on the engine's threads: with fewer it may run.
inline constexpr const char* kTooManyThreads = "the number of threads";

struct EngineOptions {
  std::string page_file;
  int threads = 0;
  bool direct_io = true;
  bool encrypt = true;
  const pt_kernel_table* kernels = nullptr;  // null: pt_portable_kernels()
  const pt_pool* pool = nullptr;             // must outlive the engine; null: the engine makes a team of `threads`
  // Threads of each engine, for a plan of several; 0: an OpenCL device. Empty: equal shares of the pool's, and a device where an op has a kernel of one.
  std::vector<int> engines = {};
  std::vector<std::vector<int>> engine_processors = {};  // of each engine; empty: the system chooses
  int opencl_device = 0;  // its number in opencl::list_devices
};

// Anonymous private memory of whole pages, zero at first. A page is in RAM once it was touched; there are no huge pages, so that this
// is exact.
class Arena {
 public:
  Arena() = default;
  // `align`: a power of two. E0906 the system gives no more memory.
  static Result<Arena> map(uint64_t bytes, uint64_t align);
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();
  void* data() const { return data_; }
  // Keeps the memory for ever: a device may still read it.
  void leave() { data_ = nullptr; }
  // Allows or forbids writing. E0906 the system refuses.
  Result<void> protect(bool writable);

 private:
  Arena(void* data, size_t bytes) : data_(data), bytes_(bytes) {}
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

// Made in two phases, open() and start(), so that everything but the arena exists before RAM is measured.
class Engine {
 public:
  // Checks the plan, makes threads, page file and buffers. E0251, E0902, E0904, E0905, E0908; E0251, too: the plan has more engines than the
  // options. Of a plan with an OpenCL device, which then gives the arena: E0412, E0413.
  static Result<std::unique_ptr<Engine>> open(std::vector<std::byte> plan, const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Gives back the compiler's code, maps the arena without touching it, opens the session, warms kernels and stacks.
  // E0906, E0410; E0414 the OpenCL device fails.
  Result<void> start();
  // Resets VmHWM, and records the RAM in use beside the arena. Call it when all allocations are done.
  void begin_measuring();

  const pt_plan& plan() const { return plan_; }
  // RAM of the process: what was there beside the arena when measuring began, with pages of the program's own files that came back since
  // (code that the page cache holds), and the most since then.
  struct Ram {
    uint64_t beside_arena = 0, most = 0;
  };
  Ram ram() const;
  uint64_t back_end_bytes() const { return back_end_bytes_; }  // RAM that preparing the kernels took
  const FilePager* pager() const { return pager_.get(); }      // null: nothing is paged

  // After start(). Neither allocates.
  [[nodiscard]] pt_status run(uint32_t program, const pt_scalars& scalars) {
    base::forget_custom_error();
    const StayOn processors(caller_);
    const pt_status status = pt_run(session_, program, &scalars);
    if (status == PT_E_DATA && engine_threads_ != nullptr) fetch_custom_error();
    if (status != PT_OK) keep_device_error();
    return status;
  }
  // Calls `observer` after every instruction of the runs that follow; null: nothing is called. As pt_session_observe, but for one event at a time.
  void observe(void (*observer)(void* context, const pt_event* event), void* context);
  std::byte* data(uint32_t tensor) { return static_cast<std::byte*>(pt_session_data(session_, tensor)); }
  pt_counters counters() const;

  // Copies bytes of a persistent tensor's payload, whether its home is RAM, ROM or storage. Only this call writes a tensor that kernels read in
  // place, and only between runs. E0903, E0906.
  Result<void> read(uint32_t tensor, uint64_t at, std::span<std::byte> data);
  Result<void> write(uint32_t tensor, uint64_t at, std::span<const std::byte> data);

 private:
  Engine() = default;
  Result<void> make_crews(std::vector<int> threads, const EngineOptions& options);
  Result<void> find_device_engine();
  Result<void> open_device(int number);
  void keep_device_error() const;
  [[nodiscard]] Failure failure_of(pt_status status, const std::string& what) const;
  [[nodiscard]] ComputingOf computing() const;
  Result<void> make_buffers();
  Result<void> make_rom();
  void fetch_custom_error();
  [[nodiscard]] void* arena() const;
  pt_status open_session();
  pt_status preload_all();
  Result<void> write_rom(uint32_t tensor, uint64_t at, std::span<const std::byte> data);

  struct Free {
    void operator()(void* memory) const;
  };

  std::vector<std::byte> bytes_;  // of the plan; plan_ and the session point into it
  pt_plan plan_{};
  const pt_kernel_table* kernels_ = nullptr;
  std::unique_ptr<ThreadPool> own_pool_;
  const pt_pool* pool_ = nullptr;
  std::vector<int> caller_;  // the processors of the thread that runs a step; empty: the system chooses
  std::unique_ptr<opencl::Engine> device_;         // null: no op has a kernel of an OpenCL device
  uint8_t device_engine_ = 0;                      // the bit of its engine
  std::unique_ptr<EngineThreads> engine_threads_;  // null: the plan is of one engine
  std::optional<base::OneCustomKernelAtATime> custom_kernels_;
  Crews crews_;
  std::unique_ptr<FilePager> pager_;
  std::unique_ptr<void, Free> session_memory_, bounce_;  // bounce: between storage and the caller of read() and write()
  size_t bounce_bytes_ = 0;
  Arena arena_;  // none where the device gives it
  Arena rom_;  // tensors that kernels read in place; writable only during write()
  pt_session* session_ = nullptr;
  std::mutex observing_;
  void (*observer_)(void* context, const pt_event* event) = nullptr;
  void* observer_context_ = nullptr;
  uint64_t other_bytes_ = 0, file_bytes_ = 0, back_end_bytes_ = 0;
};

}  // namespace pantoum::host
