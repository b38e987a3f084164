// One OpenCL device as an engine of a session: an arena that it shares with the host, kernels, and a pool whose context is the engine.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/opencl/bit_check.h"
#include "kernels/opencl/devices.h"
#include "kernels/opencl/rows.h"

namespace pantoum::opencl {

// The algorithm of all kernels of this room, and the engine of their keys: no kernel of the host has it.
constexpr uint16_t kAlgorithm = PT_FIRST_BACK_END_ALGORITHM + 16;
constexpr uint8_t kEngine = 1;

struct EngineOptions {
  uint64_t arena_bytes = 0;
  uint8_t engine = kEngine;  // of the kernels' keys
  // An operator that runs longer counts as lost; 0: what the variable PANTOUM_OPENCL_SECONDS says, or a minute.
  double wait_seconds = 0;
  bool by_host_pointer = false;  // shares the arena as devices without fine-grained shared virtual memory do
};

// A call's operands lie in the arena, or are memory of the host outside it, of which OpenCL then makes buffers (a driver may copy those).
// `submit` starts a call's kernels on the device and `wait` waits for their end, at most wait_seconds; one thread at a time uses an engine, and
// one call at a time is under way. Between a wait and the next submit the arena is the host's.
//
// After a failure every later call returns PT_E_STATE, and `failure` says what happened. Where the device may still compute (it did not end in
// time), its arena is never freed; memory outside it that operands lie in must not be freed either.
class Engine {
 public:
  // Errors: E0413 the device is refused (why), has no room for the arena, gives other memory than the arena's, or fails at its first program; E0111
  // what the variable PANTOUM_OPENCL_SECONDS says is no time.
  static Result<std::unique_ptr<Engine>> open(std::shared_ptr<const Library> library, const Device& device,
                                              const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void* arena() const { return arena_; }  // zero at first
  uint64_t arena_bytes() const { return options_.arena_bytes; }
  // Operands begin at multiples of it: a plan's align_bytes is one.
  uint32_t align_bytes() const { return device_.align_bytes; }
  const Device& device() const { return device_; }
  const pt_kernel_table* table() const { return &table_; }
  const pt_pool* pool() const { return &pool_; }
  // Do the kernels give the bits of the portable ones? They are of their classes of numerics then, else of the class "opencl".
  bool has_portable_bits() const { return portable_; }
  const std::string& failure() const { return failure_; }
  // May the device still compute, after a failure?
  bool is_lost() const { return lost_; }
  // The seconds from submitting an operator of one element until its end is known, as they are in the time of every kernel: the median of some tries.
  // None: the device fails. Uses the arena's first bytes.
  std::optional<double> launch_seconds();

  // For the rows' kernels.
  pt_status submit(const Row& row, const pt_call& call);
  pt_status wait();
  size_t workspace(const Row& row, const pt_call& call);

 private:
  struct
      Range {  // bytes of the host that the call under way uses, with a buffer over them; null: kernels get the address
    char* begin;
    char* end;
    bool in_arena;
    bool is_written;
    Memory buffer;
    void* mapped;
  };

  Engine(std::shared_ptr<const Library> library, const Device& device, const EngineOptions& options);
  Result<void> connect();
  Result<void> make_arena();
  Result<void> check_mapping();
  Result<void> check_bits();
  void make_table();
  Kernel kernel_of(Source source, const char* name);
  Program program_of(Source source);
  bool is_in_arena(const void* data, size_t bytes) const;
  void add_range(const void* data, size_t bytes, bool is_written);
  bool make_ranges(const pt_call& call, size_t workspace_bytes);
  const Range* range_of(const void* data) const;
  bool set_operand(Kernel kernel, Number argument, const void* data, uint64_t* at);
  bool launch(Source source, const pt_call& call, const Launch& launch);
  void follow(Event end);
  bool map_back();
  bool start(const Row& row, const pt_call& call, const std::vector<Launch>& launches);
  bool poll();
  bool ends_within(double seconds);
  void release_call();
  // Remembers the first failure; returns false.
  bool failed(const std::string& what, Status status = 0);

  std::shared_ptr<const Library> library_;
  const Library& cl_;
  Device device_;
  EngineOptions options_;
  Context context_ = nullptr;
  Queue queue_ = nullptr;
  void* arena_ = nullptr;
  void* allocated_ = nullptr;  // the arena's allocation
  std::map<Source, Program> programs_;
  std::map<std::string, Kernel> kernels_;
  std::vector<pt_kernel> rows_;
  pt_kernel_table table_{};
  pt_pool pool_{};
  bool portable_ = false;
  bool lost_ = false;                    // the device may still compute
  std::unique_ptr<BitCheck> bit_check_;  // while its operands may be in use
  std::string failure_;
  std::vector<Range> ranges_;  // of the call under way
  Event last_ = nullptr;       // its last command
};

}  // namespace pantoum::opencl
