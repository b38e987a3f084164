// The functions and numbers of OpenCL 1.2 (and of 2.0's shared virtual memory) that the engine uses, declared here so that neither a header nor a
// library of OpenCL is needed to build. Names and values are those of the Khronos headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "pantoum/result.hpp"

namespace pantoum::opencl {

using Platform = struct PlatformObject*;
using DeviceId = struct DeviceObject*;
using Context = struct ContextObject*;
using Queue = struct QueueObject*;
using Memory = struct MemoryObject*;
using Program = struct ProgramObject*;
using Kernel = struct KernelObject*;
using Event = struct EventObject*;
using Status = int32_t;
using Bits = uint64_t;
using Number = uint32_t;

constexpr Number kPlatformName = 0x0902;
constexpr Bits kAllDevices = 0xFFFFFFFF;
constexpr Number kDeviceMaxAlloc = 0x1010, kDeviceBaseAlignBits = 0x1019, kDeviceSingleFp = 0x101B,
                 kDeviceMemory = 0x101F, kDeviceAvailable = 0x1027, kDeviceCompiler = 0x1028, kDeviceName = 0x102B,
                 kDriverVersion = 0x102D, kDeviceVersion = 0x102F, kDeviceDoubleFp = 0x1032,
                 kDeviceUnifiedMemory = 0x1035, kDeviceSvm = 0x1053;
constexpr Bits kFpDenormals = 1, kFpDivideAndRoot = 1 << 7;
constexpr Bits kSvmFineGrainBuffer = 1 << 1;
constexpr Bits kReadWrite = 1, kReadOnly = 1 << 2, kUseHostPointer = 1 << 3, kFineGrainMemory = 1 << 10;
constexpr Bits kMapRead = 1;
constexpr Number kBuildLog = 0x1183, kExecutionStatus = 0x11D3;
constexpr Status kComplete = 0, kDeviceNotFound = -1, kNoPlatform = -1001;

// X(name, result, parameters)
#define PANTOUM_OPENCL_FUNCTIONS(X)                                                                                \
  X(GetPlatformIDs, Status, (Number, Platform*, Number*))                                                          \
  X(GetPlatformInfo, Status, (Platform, Number, size_t, void*, size_t*))                                           \
  X(GetDeviceIDs, Status, (Platform, Bits, Number, DeviceId*, Number*))                                            \
  X(GetDeviceInfo, Status, (DeviceId, Number, size_t, void*, size_t*))                                             \
  X(CreateContext, Context,                                                                                        \
    (const intptr_t*, Number, const DeviceId*, void (*)(const char*, const void*, size_t, void*), void*, Status*)) \
  X(ReleaseContext, Status, (Context))                                                                             \
  X(CreateCommandQueue, Queue, (Context, DeviceId, Bits, Status*))                                                 \
  X(ReleaseCommandQueue, Status, (Queue))                                                                          \
  X(CreateProgramWithSource, Program, (Context, Number, const char**, const size_t*, Status*))                     \
  X(BuildProgram, Status, (Program, Number, const DeviceId*, const char*, void (*)(Program, void*), void*))        \
  X(GetProgramBuildInfo, Status, (Program, DeviceId, Number, size_t, void*, size_t*))                              \
  X(ReleaseProgram, Status, (Program))                                                                             \
  X(CreateKernel, Kernel, (Program, const char*, Status*))                                                         \
  X(ReleaseKernel, Status, (Kernel))                                                                               \
  X(SetKernelArg, Status, (Kernel, Number, size_t, const void*))                                                   \
  X(CreateBuffer, Memory, (Context, Bits, size_t, void*, Status*))                                                 \
  X(ReleaseMemObject, Status, (Memory))                                                                            \
  X(EnqueueNDRangeKernel, Status,                                                                                  \
    (Queue, Kernel, Number, const size_t*, const size_t*, const size_t*, Number, const Event*, Event*))            \
  X(EnqueueMapBuffer, void*, (Queue, Memory, Number, Bits, size_t, size_t, Number, const Event*, Event*, Status*)) \
  X(EnqueueUnmapMemObject, Status, (Queue, Memory, void*, Number, const Event*, Event*))                           \
  X(Flush, Status, (Queue))                                                                                        \
  X(GetEventInfo, Status, (Event, Number, size_t, void*, size_t*))                                                 \
  X(ReleaseEvent, Status, (Event))

// Those of 2.0: null in an older library.
#define PANTOUM_OPENCL_SVM_FUNCTIONS(X)               \
  X(SVMAlloc, void*, (Context, Bits, size_t, Number)) \
  X(SVMFree, void, (Context, void*))                  \
  X(SetKernelArgSVMPointer, Status, (Kernel, Number, const void*))

// An OpenCL library that was loaded at run time; it is never unloaded, as drivers do not bear it.
struct Library {
  std::string path;
#define X(name, result, parameters) result(*name) parameters = nullptr;
  PANTOUM_OPENCL_FUNCTIONS(X)
  PANTOUM_OPENCL_SVM_FUNCTIONS(X)
#undef X
};

// Loads an OpenCL library. An empty path: what the variable PANTOUM_OPENCL names, else libOpenCL.so.1.
// Errors: E0412 it cannot be loaded, or lacks a function of OpenCL 1.2.
Result<std::shared_ptr<const Library>> load_library(const std::string& path = {});

// "CL_OUT_OF_RESOURCES (-5)"
std::string status_text(Status status);

}  // namespace pantoum::opencl
