#include "kernels/opencl/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "kernels/opencl/programs.h"

extern "C" {
#include "kernels/portable/parallel.h"
}

namespace pantoum::opencl {
namespace {

constexpr double kGraceSeconds = 1;  // of an operator that did not end in time, before the engine is gone
constexpr size_t kGroup = 64;        // work items of a group; one size, as drivers compile a kernel for each

Engine* engine_of(const pt_call* call) {
  return call->pool != nullptr ? static_cast<Engine*>(call->pool->context) : nullptr;
}

// Kernels of C know no row: each row has functions of its own.
template <size_t kRow>
struct OfRow {
  static pt_status submit(const pt_call* call) {
    Engine* const engine = engine_of(call);
    return engine != nullptr ? engine->submit(rows()[kRow], *call) : PT_E_ARGUMENT;
  }
  static pt_status wait(const pt_call* call) {
    Engine* const engine = engine_of(call);
    return engine != nullptr ? engine->wait() : PT_E_ARGUMENT;
  }
  static size_t workspace(const pt_call* call) {
    Engine* const engine = engine_of(call);
    return engine != nullptr ? engine->workspace(rows()[kRow], *call) : PT_NO_KERNEL;
  }
};

constexpr size_t kMostRows = 192;
template <size_t... kRow>
constexpr auto functions_of(std::index_sequence<kRow...>) {
  struct Functions {
    pt_status (*submit)(const pt_call*);
    pt_status (*wait)(const pt_call*);
    size_t (*workspace)(const pt_call*);
  };
  return std::array<Functions, sizeof...(kRow)>{
      Functions{OfRow<kRow>::submit, OfRow<kRow>::wait, OfRow<kRow>::workspace}...};
}

// Arenas that a device may still write to; they stay reachable for tools that look for leaks.
void keep_for_ever(void* memory) {
  static std::mutex guard;
  static std::vector<void*>* const kept = new std::vector<void*>;
  const std::lock_guard lock(guard);
  kept->push_back(memory);
}

size_t bytes_of(const pt_tensor& tensor) {
  return pt_elements(&tensor) * pt_element_size(tensor.dtype);
}

void run_here(void* /*context*/, size_t count, void (*body)(void*, size_t, size_t), void* arg) {
  body(arg, 0, count);
}

// What the variable says, or a minute.
Result<double> wait_seconds() {
  constexpr const char* kVariable = "PANTOUM_OPENCL_SECONDS";
  constexpr double kUsual = 60, kMost = 86400;
  const char* const told = std::getenv(kVariable);
  if (told == nullptr || *told == '\0') return kUsual;
  char* end = nullptr;
  const double seconds = std::strtod(told, &end);
  if (*end == '\0' && seconds > 0 && seconds <= kMost) return seconds;
  return fail("E0111", fmt::format("the limit on the device is no number of seconds over 0, up to {}", kMost),
              kVariable, "give the seconds that an operator may take on the device, as in 60, or unset the variable");
}

// Has the call a form that the row's kernels compute?
bool fits(const Row& row, const pt_call& call) {
  const bool joins = row.op == PT_OP_concat, splits = row.op == PT_OP_split;
  if ((call.input_count > kInputs && !joins) || (call.output_count > kOutputs && !splits)) return false;
  for (uint16_t at = 0; at < call.input_count; ++at)
    if (call.inputs[at].dtype == PT_F64) return false;
  if (row.op == PT_OP_arg_max && call.inputs[0].dtype != PT_F32) return false;
  return call.output_count == 0 || call.outputs[0].dtype != PT_F64;
}

}  // namespace

Engine::Engine(std::shared_ptr<const Library> library, const Device& device, const EngineOptions& options)
    : library_(std::move(library)), cl_(*library_), device_(device), options_(options) {
  if (options_.by_host_pointer) device_.sharing = Sharing::kHostPointer;
  pool_ = {this, 1, run_here};
}

Engine::~Engine() {
  if (last_ != nullptr) (void)wait();
  if (lost_ && last_ != nullptr) {  // it may end late: a driver that computes while the process ends may crash
    lost_ = false;                  // poll() finds out anew
    if (!ends_within(kGraceSeconds)) lost_ = true;
  }
  release_call();
  for (const auto& [name, kernel] : kernels_) (void)cl_.ReleaseKernel(kernel);
  for (const auto& [source, program] : programs_)
    if (program != nullptr) (void)cl_.ReleaseProgram(program);
  if (lost_) {  // releasing a queue may wait for what never ends
    keep_for_ever(allocated_);
    keep_for_ever(bit_check_.release());
    return;
  }
  if (queue_ != nullptr) (void)cl_.ReleaseCommandQueue(queue_);
  if (allocated_ != nullptr && device_.sharing == Sharing::kFineGrain) cl_.SVMFree(context_, allocated_);
  if (allocated_ != nullptr && device_.sharing == Sharing::kHostPointer) std::free(allocated_);
  if (context_ != nullptr) (void)cl_.ReleaseContext(context_);
}

bool Engine::failed(const std::string& what, Status status) {
  if (failure_.empty()) failure_ = status != 0 ? fmt::format("{}: {}", what, status_text(status)) : what;
  return false;
}

Result<std::unique_ptr<Engine>> Engine::open(std::shared_ptr<const Library> library, const Device& device,
                                             const EngineOptions& options) {
  const auto refused = [&](const std::string& why) {
    return fail("E0413", "the OpenCL device cannot be an engine: " + why, device.name,
                "leave the engine out, or use another device");
  };
  if (!device.refusal.empty()) return refused(device.refusal);
  if (options.arena_bytes > device.largest_allocation)
    return refused(
        fmt::format("the arena has {} bytes, and the device allocates at most {} at a time: plan within --ram {}B",
                    options.arena_bytes, device.largest_allocation, device.largest_allocation));
  EngineOptions known = options;
  if (known.wait_seconds <= 0) {
    const Result<double> seconds = wait_seconds();
    if (!seconds) return Failure(seconds.error());
    known.wait_seconds = *seconds;
  }
  std::unique_ptr<Engine> engine(new Engine(std::move(library), device, known));
  for (Result<void> (Engine::*step)() :
       {&Engine::connect, &Engine::make_arena, &Engine::check_mapping, &Engine::check_bits}) {
    const Result<void> done = (engine.get()->*step)();
    if (!done) return refused(done.error().message);
  }
  engine->make_table();
  return Result<std::unique_ptr<Engine>>(std::move(engine));
}

Result<void> Engine::connect() {
  Status status = 0;
  const intptr_t properties[] = {0x1084 /* CL_CONTEXT_PLATFORM */, reinterpret_cast<intptr_t>(device_.platform), 0};
  context_ = cl_.CreateContext(properties, 1, &device_.id, nullptr, nullptr, &status);
  if (context_ == nullptr) return fail("E0413", "it gives no context: " + status_text(status));
  queue_ = cl_.CreateCommandQueue(context_, device_.id, 0, &status);
  if (queue_ == nullptr) return fail("E0413", "it gives no queue: " + status_text(status));
  return {};
}

Result<void> Engine::make_arena() {
  if (options_.arena_bytes == 0) return {};
  // An allocation is aligned to a page, so that what moves to storage lies as it wants.
  constexpr size_t kPage = 4096;
  const size_t align = std::max<size_t>(kPage, device_.align_bytes);
  const size_t bytes = (options_.arena_bytes + align - 1) / align * align;
  if (device_.sharing == Sharing::kFineGrain) {
    allocated_ = cl_.SVMAlloc(context_, kReadWrite | kFineGrainMemory, bytes + align, 0);
    const auto address = reinterpret_cast<uintptr_t>(allocated_);
    arena_ = reinterpret_cast<void*>((address + align - 1) / align * align);
  } else {
    arena_ = allocated_ = std::aligned_alloc(align, bytes);
  }
  if (allocated_ == nullptr)
    return fail("E0413", fmt::format("no memory for an arena of {} bytes", options_.arena_bytes));
  std::memset(arena_, 0, options_.arena_bytes);
  return {};
}

// Is a buffer over the arena the arena itself?
Result<void> Engine::check_mapping() {
  if (arena_ == nullptr || device_.sharing == Sharing::kFineGrain) return {};
  Status status = 0;
  const Memory whole = cl_.CreateBuffer(context_, kReadWrite | kUseHostPointer, options_.arena_bytes, arena_, &status);
  if (whole == nullptr) return fail("E0413", "it makes no buffer over the arena: " + status_text(status));
  ranges_.push_back(
      {static_cast<char*>(arena_), static_cast<char*>(arena_) + options_.arena_bytes, true, true, whole, nullptr});
  const bool mapped = map_back();
  if (wait() != PT_OK || !mapped) return fail("E0413", failure_);
  return {};
}

Result<void> Engine::check_bits() {
  bit_check_ = std::make_unique<BitCheck>();
  const Row row{PT_OP_add, PT_F32, Source::kCheck, false, "", nullptr, nullptr};
  const pt_call call = bit_check_->call(&pool_);
  if (!start(row, call, {{"op_check", bit_check_->pairs()}}) || wait() != PT_OK) return fail("E0413", failure_);
  portable_ = device_.divides_exactly && bit_check_->holds(device_.has_doubles);
  bit_check_.reset();
  return {};
}

void Engine::make_table() {
  static constexpr auto kFunctions = functions_of(std::make_index_sequence<kMostRows>());
  const std::span<const Row> all = rows();
  for (size_t at = 0; at < all.size() && at < kMostRows; ++at) {
    if (all[at].needs_doubles && !device_.has_doubles) continue;
    rows_.push_back({all[at].op, all[at].dtype, options_.engine, kAlgorithm, "opencl",
                     portable_ ? all[at].numerics : "opencl", kFunctions[at].submit, kFunctions[at].wait,
                     kFunctions[at].workspace});
  }
  table_ = {rows_.data(), rows_.size()};
}

// ---- programs ----

// Null after a failure.
Program Engine::program_of(Source source) {
  if (const auto known = programs_.find(source); known != programs_.end()) return known->second;
  const std::string text = program_text(source, device_.has_doubles);
  const char* lines = text.c_str();
  const size_t length = text.size();
  Status status = 0;
  const Program program = cl_.CreateProgramWithSource(context_, 1, &lines, &length, &status);
  programs_[source] = program;
  if (program == nullptr) return failed("the device takes no program", status), nullptr;
  const char* const options =
      device_.divides_exactly ? "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt" : "-cl-std=CL1.2";
  status = cl_.BuildProgram(program, 1, &device_.id, options, nullptr, nullptr);
  if (status == 0) return program;
  std::string log;
  size_t bytes = 0;
  if (cl_.GetProgramBuildInfo(program, device_.id, kBuildLog, 0, nullptr, &bytes) == 0 && bytes > 0) {
    log.resize(bytes);
    (void)cl_.GetProgramBuildInfo(program, device_.id, kBuildLog, bytes, log.data(), nullptr);
    while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  }
  failed(fmt::format("the driver does not compile the kernels of {}: {}\n{}", source_name(source), status_text(status),
                     log));
  (void)cl_.ReleaseProgram(program);
  return programs_[source] = nullptr;
}

Kernel Engine::kernel_of(Source source, const char* name) {
  if (const auto known = kernels_.find(name); known != kernels_.end()) return known->second;
  const Program program = program_of(source);
  if (program == nullptr) return nullptr;
  Status status = 0;
  const Kernel kernel = cl_.CreateKernel(program, name, &status);
  if (kernel == nullptr) return failed(fmt::format("the device has no kernel {}", name), status), nullptr;
  return kernels_[name] = kernel;
}

// ---- operands ----

bool Engine::is_in_arena(const void* data, size_t bytes) const {
  const auto* const begin = static_cast<const char*>(data);
  const auto* const first = static_cast<const char*>(arena_);
  return arena_ != nullptr && begin >= first && begin + bytes <= first + options_.arena_bytes;
}

void Engine::add_range(const void* data, size_t bytes, bool is_written) {
  if (data == nullptr || bytes == 0) return;
  auto* const begin = static_cast<char*>(const_cast<void*>(data));
  ranges_.push_back({begin, begin + bytes, is_in_arena(data, bytes), is_written, nullptr, nullptr});
}

// Describes what the call uses: ranges that have no byte in common, each with a buffer where kernels do not get its address. A buffer lives as
// long as the hand-off: its content is the host's when it is made, and the host's again after the map that ends it.
bool Engine::make_ranges(const pt_call& call, size_t workspace_bytes) {
  for (uint16_t at = 0; at < call.input_count; ++at) add_range(call.inputs[at].data, bytes_of(call.inputs[at]), false);
  for (uint16_t at = 0; at < call.output_count; ++at)
    add_range(call.outputs[at].data, bytes_of(call.outputs[at]), true);
  add_range(call.workspace, workspace_bytes, true);
  std::ranges::sort(ranges_, {}, &Range::begin);
  std::vector<Range> apart;
  for (const Range& range : ranges_) {
    if (apart.empty() || range.begin >= apart.back().end) {
      apart.push_back(range);
      continue;
    }
    Range& before = apart.back();
    before.end = std::max(before.end, range.end);
    before.in_arena = before.in_arena && range.in_arena;
    before.is_written = before.is_written || range.is_written;
  }
  ranges_ = std::move(apart);
  for (Range& range : ranges_) {
    if (range.in_arena && device_.sharing == Sharing::kFineGrain) continue;
    if (range.in_arena && (range.begin - static_cast<char*>(arena_)) % device_.align_bytes != 0)
      return failed(fmt::format("an operand begins at byte {} of the arena, and the device wants multiples of {}",
                                range.begin - static_cast<char*>(arena_), device_.align_bytes));
    Status status = 0;
    range.buffer = cl_.CreateBuffer(context_, (range.is_written ? kReadWrite : kReadOnly) | kUseHostPointer,
                                    static_cast<size_t>(range.end - range.begin), range.begin, &status);
    if (range.buffer == nullptr) return failed("the device makes no buffer over an operand", status);
  }
  return true;
}

const Engine::Range* Engine::range_of(const void* data) const {
  for (const Range& range : ranges_)
    if (data >= range.begin && data < range.end) return &range;
  return nullptr;
}

// Sets a kernel's argument to where `data` lies; `at` becomes its offset there.
bool Engine::set_operand(Kernel kernel, Number argument, const void* data, uint64_t* at) {
  const Range* const range = data != nullptr ? range_of(data) : nullptr;
  const Memory none = nullptr;
  *at = 0;
  Status status = 0;
  if (range == nullptr) {
    status = cl_.SetKernelArg(kernel, argument, sizeof(Memory), &none);
  } else if (range->buffer == nullptr) {
    status = cl_.SetKernelArgSVMPointer(kernel, argument, data);
  } else {
    *at = static_cast<uint64_t>(static_cast<const char*>(data) - range->begin);
    status = cl_.SetKernelArg(kernel, argument, sizeof(Memory), &range->buffer);
  }
  return status == 0 || failed("a kernel takes no operand", status);
}

// ---- a call ----

bool Engine::launch(Source source, const pt_call& call, const Launch& launch) {
  const Kernel kernel = kernel_of(source, launch.kernel);
  if (kernel == nullptr) return false;
  Parameters values{.items = launch.items, .inputs = call.input_count, .outputs = call.output_count};
  const auto slot = [&](size_t at, const pt_tensor* tensor) {
    if (tensor != nullptr) std::copy_n(tensor->dims, tensor->rank, values.dims[at]), values.rank[at] = tensor->rank;
    return set_operand(kernel, static_cast<Number>(1 + at), tensor != nullptr ? tensor->data : nullptr, &values.at[at]);
  };
  const auto operand = [](const pt_tensor* all, size_t count, size_t at) { return at < count ? all + at : nullptr; };
  for (size_t at = 0; at < kInputs; ++at)
    if (!slot(at, operand(call.inputs, call.input_count, launch.first_input + at))) return false;
  for (size_t at = 0; at < kOutputs; ++at)
    if (!slot(kInputs + at, operand(call.outputs, call.output_count, launch.first_output + at))) return false;
  if (!set_operand(kernel, kSlots, call.workspace, &values.at[kSlots - 1])) return false;
  std::copy_n(call.ints, std::min<size_t>(call.int_count, PT_MAX_ATTRS), values.ints);
  std::ranges::copy(launch.extra, values.extra);
  for (size_t at = 0; at < std::min<size_t>(call.real_count, PT_MAX_ATTRS); ++at)
    values.reals[at] = static_cast<float>(call.reals[at]);
  std::ranges::copy(launch.reals, values.reals);
  Status status = cl_.SetKernelArg(kernel, 0, sizeof values, &values);
  if (status != 0) return failed("a kernel takes no parameters", status);
  const size_t items = (launch.items + kGroup - 1) / kGroup * kGroup;
  Event end = nullptr;
  status = cl_.EnqueueNDRangeKernel(queue_, kernel, 1, nullptr, &items, &kGroup, 0, nullptr, &end);
  if (status != 0) return failed(fmt::format("the device does not start {}", launch.kernel), status);
  follow(end);
  return true;
}

// The call ends where its last command does: the queue keeps their order.
void Engine::follow(Event end) {
  if (last_ != nullptr) (void)cl_.ReleaseEvent(last_);
  last_ = end;
}

// Hands what lies in buffers back to the host: commands that follow the call's kernels.
bool Engine::map_back() {
  for (Range& range : ranges_) {
    if (range.buffer == nullptr || !range.is_written) continue;
    Status status = 0;
    Event end = nullptr;
    range.mapped = cl_.EnqueueMapBuffer(queue_, range.buffer, 0, kMapRead, 0,
                                        static_cast<size_t>(range.end - range.begin), 0, nullptr, &end, &status);
    if (range.mapped == nullptr || status != 0) return failed("the device maps no memory", status);
    follow(end);
  }
  const Status status = cl_.Flush(queue_);
  return status == 0 || failed("the device takes no commands", status);
}

void Engine::release_call() {
  follow(nullptr);
  for (const Range& range : ranges_) {
    if (range.mapped != nullptr && !lost_)
      (void)cl_.EnqueueUnmapMemObject(queue_, range.buffer, range.mapped, 0, nullptr, nullptr);
    if (range.buffer != nullptr) (void)cl_.ReleaseMemObject(range.buffer);
  }
  ranges_.clear();
}

bool Engine::start(const Row& row, const pt_call& call, const std::vector<Launch>& launches) {
  bool started = make_ranges(call, row.workspace != nullptr ? row.workspace(call) : 0);
  for (const Launch& one : launches) started = started && (one.items == 0 || launch(row.source, call, one));
  if (started && map_back()) return true;
  (void)wait();  // what was started ends before its operands are given back
  return false;
}

pt_status Engine::submit(const Row& row, const pt_call& call) {
  if (last_ != nullptr && wait() != PT_OK) return PT_E_STATE;
  if (!failure_.empty()) return PT_E_STATE;
  std::vector<Launch> launches;
  const pt_status status = row.launches(call, launches);
  if (status != PT_OK) return status;
  return start(row, call, launches) ? PT_OK : PT_E_STATE;
}

// Has the last command ended? A failure counts as an end.
bool Engine::poll() {
  Status state = kComplete;
  const Status asked = cl_.GetEventInfo(last_, kExecutionStatus, sizeof state, &state, nullptr);
  if (asked != 0) return failed("the device does not say how far it is", asked), lost_ = true;
  if (state < 0) return failed("the device failed in a kernel", state), true;
  return state == kComplete;
}

// Does the call under way end in so many seconds, or fail?
bool Engine::ends_within(double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  for (int64_t round = 0; last_ != nullptr && !poll(); ++round) {
    if (std::chrono::duration<double>(Clock::now() - begin).count() > seconds) return false;
    if (round < 64)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(std::min<int64_t>(round, 500)));
  }
  return true;
}

pt_status Engine::wait() {
  if (lost_) return PT_E_STATE;
  if (!ends_within(options_.wait_seconds)) {
    lost_ = true;
    failed(fmt::format("the device did not end within {} seconds", options_.wait_seconds));
    return PT_E_STATE;
  }
  for (const Range& range : ranges_)
    if (range.in_arena && range.mapped != nullptr && range.mapped != range.begin && failure_.empty())
      failed("the device maps other memory than the arena's");
  release_call();
  return failure_.empty() ? PT_OK : PT_E_STATE;
}

std::optional<double> Engine::launch_seconds() {
  using Clock = std::chrono::steady_clock;
  constexpr size_t kWarmUp = 8, kTries = 65;
  pt_tensor one{};
  one.data = arena_, one.rank = 1, one.dims[0] = 1;
  pt_call call{};
  call.inputs = call.outputs = &one, call.input_count = call.output_count = 1, call.pool = &pool_;
  const Row row{PT_OP_relu, PT_F32, Source::kElements, false, "", nullptr, nullptr};
  std::vector<double> tries;
  for (size_t round = 0; round < kWarmUp + kTries; ++round) {
    const auto begin = Clock::now();
    if (!start(row, call, {{"op_relu", 1}}) || wait() != PT_OK) return std::nullopt;
    if (round >= kWarmUp) tries.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::ranges::nth_element(tries, tries.begin() + kTries / 2);
  return tries[kTries / 2];
}

// The kernels' programs are compiled when a session asks for workspaces, so that a failure is told before the first step.
size_t Engine::workspace(const Row& row, const pt_call& call) {
  if (!failure_.empty() || !fits(row, call) || program_of(row.source) == nullptr) return PT_NO_KERNEL;
  return row.workspace != nullptr ? row.workspace(call) : 0;
}

}  // namespace pantoum::opencl
