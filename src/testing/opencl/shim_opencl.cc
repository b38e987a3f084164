// The OpenCL library that is here, whose devices compute, and fail as a test wants. The variable SHIM_OPENCL holds words, which every call reads anew:
//   loose                                        programs are compiled with the freedom to round otherwise: the bits are the device's own
//   no_svm                                       no shared virtual memory: operands are buffers
//   launch argument flush buffer map elsewhere   what fails, or maps other memory
//   hang (no event ends), lost (events end with an error), mute (no event tells its state)
//   after:N (what fails begins to when N kernels were started)
// A kernel of the device ends in truth, whatever is said of it. What this library does not define is that of the other one, which it is linked with.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

#include "kernels/opencl/api.h"
#include "testing/opencl/told.h"

using namespace pantoum::opencl;

namespace {

bool told(const std::string& word) {
  return pantoum::opencl::told("SHIM_OPENCL", word);
}
bool told_by_now(const std::string& word) {
  return pantoum::opencl::told_by_now("SHIM_OPENCL", word);
}

// The other library's function.
template <class Function>
Function* next(Function* /*of this library*/, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

Status clGetDeviceInfo(DeviceId device, Number what, size_t room, void* to, size_t* size) {
  const Status status = next(clGetDeviceInfo, "clGetDeviceInfo")(device, what, room, to, size);
  if (status != 0 || to == nullptr) return status;
  if (what == kDeviceSingleFp && told("loose")) *static_cast<Bits*>(to) &= ~kFpDivideAndRoot;
  if (what == kDeviceSvm && told("no_svm")) *static_cast<Bits*>(to) = 0;
  return status;
}

Status clBuildProgram(Program program, Number count, const DeviceId* devices, const char* options,
                      void (*notify)(Program, void*), void* arg) {
  const std::string all = std::string(options) + (told("loose") ? " -cl-fast-relaxed-math" : "");
  return next(clBuildProgram, "clBuildProgram")(program, count, devices, all.c_str(), notify, arg);
}

Status clSetKernelArg(Kernel kernel, Number at, size_t bytes, const void* value) {
  if (told_by_now("argument")) return -50;
  return next(clSetKernelArg, "clSetKernelArg")(kernel, at, bytes, value);
}

Status clEnqueueNDRangeKernel(Queue queue, Kernel kernel, Number dims, const size_t* offset, const size_t* items,
                              const size_t* group, Number waits, const Event* list, Event* event) {
  ++started;
  if (told_by_now("launch")) return -5;
  return next(clEnqueueNDRangeKernel, "clEnqueueNDRangeKernel")(queue, kernel, dims, offset, items, group, waits, list,
                                                                event);
}

Memory clCreateBuffer(Context context, Bits flags, size_t bytes, void* host, Status* status) {
  if (!told_by_now("buffer")) return next(clCreateBuffer, "clCreateBuffer")(context, flags, bytes, host, status);
  *status = -4;
  return nullptr;
}

void* clEnqueueMapBuffer(Queue queue, Memory memory, Number waits, Bits flags, size_t at, size_t bytes, Number count,
                         const Event* list, Event* event, Status* status) {
  if (told_by_now("map")) {
    *status = -12;
    return nullptr;
  }
  void* const mapped = next(clEnqueueMapBuffer, "clEnqueueMapBuffer")(queue, memory, waits, flags, at, bytes, count,
                                                                      list, event, status);
  return told_by_now("elsewhere") ? static_cast<char*>(mapped) + 1 : mapped;
}

Status clFlush(Queue queue) {
  return told_by_now("flush") ? -36 : next(clFlush, "clFlush")(queue);
}

Status clGetEventInfo(Event event, Number what, size_t room, void* to, size_t* size) {
  if (told_by_now("mute")) return -58;
  const Status status = next(clGetEventInfo, "clGetEventInfo")(event, what, room, to, size);
  if (status == 0 && what == kExecutionStatus && told_by_now("hang")) *static_cast<Status*>(to) = 1;
  if (status == 0 && what == kExecutionStatus && told_by_now("lost") && *static_cast<Status*>(to) == kComplete)
    *static_cast<Status*>(to) = -5;
  return status;
}

}  // extern "C"
