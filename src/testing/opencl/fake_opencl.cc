// OpenCL as a test wants it. The variable FAKE_OPENCL holds words, which every call reads anew:
//   no_platform no_device no_memory_shared no_svm unavailable            what there is
//   compile launch buffer svm context queue program argument             what fails
//   hang (no kernel ends), lost (kernels end with an error), mute (no event tells its state), elsewhere (maps give other memory)
//   after:N (what fails in a step begins to fail when N kernels were started)
//   small (allocates at most 1 MiB), odd (an alignment that is no power of two), inexact (no correctly rounded division)
// Kernels run on a thread of their own. Buffers over memory of the host are copies of it, which a map brings back: whoever forgets to hand
// memory over sees it. It computes op_relu, op_add and op_check; other kernels do nothing.
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kernels/opencl/api.h"
#include "kernels/opencl/rows.h"
#include "testing/opencl/told.h"

extern "C" {
#include "kernels/portable/real_math.h"
}

using namespace pantoum::opencl;

namespace {

bool told(const std::string& word) {
  return pantoum::opencl::told("FAKE_OPENCL", word);
}
bool told_by_now(const std::string& word) {
  return pantoum::opencl::told_by_now("FAKE_OPENCL", word);
}

std::mutex guard;
// Objects and allocations that were not released; those of an engine that hangs stay, and are no leak.
std::set<const void*>& live = *new std::set<const void*>;
int faults = 0;  // uses that OpenCL leaves undefined

template <class T>
T* kept(T* object) {
  const std::lock_guard lock(guard);
  live.insert(object);
  return object;
}
void dropped(const void* object) {
  const std::lock_guard lock(guard);
  if (live.erase(object) == 0) ++faults;
}

struct Buffer {
  char* host;
  std::vector<char> copy;
  bool is_mapped = false;
};
// Commands keep the buffers that they use, as OpenCL says.
std::map<const void*, std::shared_ptr<Buffer>> buffers;
struct Argument {
  std::vector<char> bytes;
  char* address = nullptr;
  std::shared_ptr<Buffer> buffer = {};
};
struct Function {
  std::string name;
  std::map<Number, Argument> arguments;
};
struct Done {
  std::atomic<Status> state{2};
  std::atomic<int> holders{2};  // who asked, and the queue
};
void let_go(Done* event) {
  if (event->holders.fetch_sub(1) == 1) delete event;
}
std::shared_ptr<Buffer> buffer_of(const void* memory) {
  const std::lock_guard lock(guard);
  const auto found = buffers.find(memory);
  return found != buffers.end() ? found->second : nullptr;
}

class Worker {
 public:
  Worker() : thread_([this] { work(); }) {}
  ~Worker() {
    {
      const std::lock_guard lock(guard_);
      ends_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  // Null: nobody asks.
  void add(std::function<void()> task, Done* event) {
    const std::lock_guard lock(guard_);
    tasks_.emplace_back(std::move(task), event);
    wake_.notify_all();
  }

 private:
  void work() {
    std::unique_lock lock(guard_);
    for (;;) {
      wake_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      auto [task, event] = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      Status state = 0;
      if (task) {
        task();
        state = told_by_now("lost") ? -5 : 0;
      }
      if (!task) {  // a kernel that hangs: what is behind it never begins
        if (event != nullptr) let_go(event);
        lock.lock();
        wake_.wait(lock, [this] { return ends_; });
        for (auto& [rest, waits] : tasks_)
          if (waits != nullptr) let_go(waits);
        return;
      }
      if (event != nullptr) event->state = state, let_go(event);
      lock.lock();
    }
  }

  std::mutex guard_;
  std::condition_variable wake_;
  std::deque<std::pair<std::function<void()>, Done*>> tasks_;
  bool ends_ = false;
  std::thread thread_;
};

void compute(const Function& kernel) {
  Parameters c;
  std::memcpy(&c, kernel.arguments.at(0).bytes.data(), sizeof c);
  const auto at = [&](size_t slot) {
    return reinterpret_cast<float*>(kernel.arguments.at(static_cast<Number>(1 + slot)).address + c.at[slot]);
  };
  for (size_t e = 0; e < c.items; ++e) {
    if (kernel.name == "op_relu") at(kInputs)[e] = at(0)[e] > 0 ? at(0)[e] : 0;
    if (kernel.name == "op_add") at(kInputs)[e] = at(0)[e] + at(1)[e];
    if (kernel.name != "op_check") continue;
    const float x = at(0)[e], y = at(1)[e], product = x * y;
    const double wide = static_cast<double>(x);
    const float made[] = {x + y,
                          product,
                          x / y,
                          std::sqrt(x),
                          product + x,
                          pt_real_exp(x),
                          static_cast<float>(wide * static_cast<double>(y) / (wide + 1.5)),
                          static_cast<float>(pt_log(wide))};
    std::memcpy(at(kInputs) + e * 8, made, sizeof made);
  }
}

Status answer(const void* value, size_t bytes, size_t room, void* to, size_t* size) {
  if (size != nullptr) *size = bytes;
  if (to != nullptr && room >= bytes) std::memcpy(to, value, bytes);
  return 0;
}
Status answer(const char* text, size_t room, void* to, size_t* size) {
  return answer(text, std::strlen(text) + 1, room, to, size);
}
template <class T>
Status number(T value, size_t room, void* to, size_t* size) {
  return answer(&value, sizeof value, room, to, size);
}
template <class T>
T* made_or(const char* word, Status why, Status* status, const std::function<T*()>& make) {
  const bool fails = told(word);
  if (status != nullptr) *status = fails ? why : 0;
  return fails ? nullptr : kept(make());
}

Done* event_of(Event* wanted) {
  if (wanted == nullptr) return nullptr;
  Done* const event = kept(new Done);
  *wanted = reinterpret_cast<Event>(event);
  return event;
}

}  // namespace

extern "C" {

int fake_opencl_live() {
  const std::lock_guard lock(guard);
  return static_cast<int>(live.size());
}
int fake_opencl_faults() {
  return faults;
}

Status clGetPlatformIDs(Number room, Platform* to, Number* count) {
  if (told("no_platform")) return kNoPlatform;
  if (count != nullptr) *count = 1;
  if (room > 0 && to != nullptr) *to = reinterpret_cast<Platform>(uintptr_t{1});
  return 0;
}
Status clGetPlatformInfo(Platform, Number, size_t room, void* to, size_t* size) {
  return answer("Fake", room, to, size);
}
Status clGetDeviceIDs(Platform, Bits, Number room, DeviceId* to, Number* count) {
  if (told("no_device")) return kDeviceNotFound;
  if (count != nullptr) *count = 1;
  if (room > 0 && to != nullptr) *to = reinterpret_cast<DeviceId>(uintptr_t{2});
  return 0;
}
Status clGetDeviceInfo(DeviceId, Number what, size_t room, void* to, size_t* size) {
  switch (what) {
    case kDeviceName:
      return answer("Fake device", room, to, size);
    case kDriverVersion:
      return answer("1", room, to, size);
    case kDeviceVersion:
      return answer("OpenCL 3.0 fake", room, to, size);
    case kDeviceMaxAlloc:
      return number<uint64_t>(told("small") ? 1 << 20 : 1 << 30, room, to, size);
    case kDeviceMemory:
      return number<uint64_t>(1 << 30, room, to, size);
    case kDeviceBaseAlignBits:
      return number<Number>(told("odd") ? 96 * 8 : 128 * 8, room, to, size);
    case kDeviceSingleFp:
      return number<Bits>(told("inexact") ? kFpDenormals : kFpDenormals | kFpDivideAndRoot, room, to, size);
    case kDeviceDoubleFp:
      return number<Bits>(1, room, to, size);
    case kDeviceAvailable:
      return number<Number>(told("unavailable") ? 0 : 1, room, to, size);
    case kDeviceCompiler:
      return number<Number>(1, room, to, size);
    case kDeviceUnifiedMemory:
      return number<Number>(told("no_memory_shared") ? 0 : 1, room, to, size);
    case kDeviceSvm:
      return number<Bits>(told("no_svm") || told("no_memory_shared") ? 0 : kSvmFineGrainBuffer, room, to, size);
    default:
      return -30;
  }
}
Context clCreateContext(const intptr_t*, Number, const DeviceId*, void (*)(const char*, const void*, size_t, void*),
                        void*, Status* status) {
  return reinterpret_cast<Context>(made_or<int>("context", -6, status, [] { return new int; }));
}
Status clReleaseContext(Context context) {
  dropped(context);
  delete reinterpret_cast<int*>(context);
  return 0;
}
Queue clCreateCommandQueue(Context, DeviceId, Bits, Status* status) {
  return reinterpret_cast<Queue>(made_or<Worker>("queue", -6, status, [] { return new Worker; }));
}
Status clReleaseCommandQueue(Queue queue) {
  dropped(queue);
  delete reinterpret_cast<Worker*>(queue);
  return 0;
}
Program clCreateProgramWithSource(Context, Number, const char**, const size_t*, Status* status) {
  return reinterpret_cast<Program>(made_or<int>("program", -6, status, [] { return new int; }));
}
Status clBuildProgram(Program, Number, const DeviceId*, const char*, void (*)(Program, void*), void*) {
  return told("compile") ? -11 : 0;
}
Status clGetProgramBuildInfo(Program, DeviceId, Number, size_t room, void* to, size_t* size) {
  return answer("line 7: the fake wants it so\n", room, to, size);
}
Status clReleaseProgram(Program program) {
  dropped(program);
  delete reinterpret_cast<int*>(program);
  return 0;
}
Kernel clCreateKernel(Program, const char* name, Status* status) {
  const std::string named = name;
  return reinterpret_cast<Kernel>(made_or<Function>("kernel", -46, status, [&] { return new Function{named, {}}; }));
}
Status clReleaseKernel(Kernel kernel) {
  dropped(kernel);
  delete reinterpret_cast<Function*>(kernel);
  return 0;
}
Status clSetKernelArg(Kernel kernel, Number at, size_t bytes, const void* value) {
  if (told_by_now("argument")) return -50;
  Argument argument{{static_cast<const char*>(value), static_cast<const char*>(value) + bytes}, nullptr, nullptr};
  const void* memory = nullptr;
  if (at > 0) std::memcpy(&memory, value, sizeof memory);
  argument.buffer = buffer_of(memory);
  if (argument.buffer != nullptr) argument.address = argument.buffer->copy.data();
  reinterpret_cast<Function*>(kernel)->arguments[at] = argument;
  return 0;
}
Status clSetKernelArgSVMPointer(Kernel kernel, Number at, const void* pointer) {
  reinterpret_cast<Function*>(kernel)->arguments[at] = {{}, static_cast<char*>(const_cast<void*>(pointer)), nullptr};
  return 0;
}
void* clSVMAlloc(Context, Bits, size_t bytes, Number) {
  return told("svm") ? nullptr : kept(std::malloc(bytes));
}
void clSVMFree(Context, void* memory) {
  dropped(memory);
  std::free(memory);
}
Memory clCreateBuffer(Context, Bits, size_t bytes, void* host, Status* status) {
  auto* const begin = static_cast<char*>(host);
  auto* const made = made_or<Buffer>("buffer", -4, status, [&] { return new Buffer{begin, {begin, begin + bytes}}; });
  if (made == nullptr) return nullptr;
  const std::lock_guard lock(guard);
  for (const auto& [memory, other] : buffers)
    if (other->host < begin + bytes && begin < other->host + other->copy.size()) ++faults;
  buffers[made] = std::shared_ptr<Buffer>(made);
  return reinterpret_cast<Memory>(made);
}
Status clReleaseMemObject(Memory memory) {
  dropped(memory);
  const std::lock_guard lock(guard);
  buffers.erase(memory);
  return 0;
}
Status clEnqueueNDRangeKernel(Queue queue, Kernel kernel, Number, const size_t*, const size_t* items,
                              const size_t* group, Number, const Event*, Event* event) {
  ++started;
  if (told_by_now("launch")) return -5;
  if (*items % *group != 0) return -54;
  const Function copy = *reinterpret_cast<Function*>(kernel);
  std::function<void()> task = [copy] { compute(copy); };
  if (told_by_now("hang")) task = nullptr;
  reinterpret_cast<Worker*>(queue)->add(std::move(task), event_of(event));
  return 0;
}
void* clEnqueueMapBuffer(Queue queue, Memory memory, Number, Bits, size_t, size_t, Number, const Event*, Event* event,
                         Status* status) {
  const std::shared_ptr<Buffer> buffer = buffer_of(memory);
  *status = told_by_now("map") ? -12 : 0;
  if (*status != 0) return nullptr;
  buffer->is_mapped = true;
  reinterpret_cast<Worker*>(queue)->add(
      [buffer] { std::memcpy(buffer->host, buffer->copy.data(), buffer->copy.size()); }, event_of(event));
  return told("elsewhere") ? buffer->copy.data() : buffer->host;
}
Status clEnqueueUnmapMemObject(Queue, Memory memory, void*, Number, const Event*, Event*) {
  const std::shared_ptr<Buffer> buffer = buffer_of(memory);
  if (buffer == nullptr || !buffer->is_mapped)
    ++faults;
  else
    buffer->is_mapped = false;
  return 0;
}
Status clFlush(Queue) {
  return told_by_now("flush") ? -36 : 0;
}
Status clGetEventInfo(Event event, Number, size_t room, void* to, size_t* size) {
  return told_by_now("mute") ? -58 : number<Status>(reinterpret_cast<Done*>(event)->state, room, to, size);
}
Status clReleaseEvent(Event event) {
  dropped(event);
  let_go(reinterpret_cast<Done*>(event));
  return 0;
}

}  // extern "C"
