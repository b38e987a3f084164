// The OpenCL devices of a machine: what they have, and why the engine does not use some.
#pragma once

#include <vector>

#include "kernels/opencl/api.h"

namespace pantoum::opencl {

enum class Sharing : uint8_t {
  kFineGrain,    // the arena is fine-grained shared virtual memory: kernels get its addresses
  kHostPointer,  // the arena is memory of the host; operands become buffers over its bytes for a hand-off
};

struct Device {
  Platform platform = nullptr;
  DeviceId id = nullptr;
  std::string platform_name, name, version, driver;
  Sharing sharing = Sharing::kHostPointer;
  uint64_t largest_allocation = 0, memory_bytes = 0;
  uint32_t align_bytes = 0;  // of an operand in the arena, at least
  bool has_doubles = false;
  bool divides_exactly = false;  // and has subnormals: without either no element has the portable bits
  std::string refusal;           // why no engine runs on it; empty: one may
};

// All devices of all platforms, in the library's order.
// Errors: E0412 the library has no platform, or no platform has a device.
Result<std::vector<Device>> list_devices(const Library& library);

// The library, and one of the devices, counted from 0 in this order.
struct Found {
  std::shared_ptr<const Library> library;
  Device device;
};
// Errors: E0412 as load_library and list_devices; E0413 there is no such device, or no engine runs on it.
Result<Found> find_device(int number);

// "shared memory (fine-grained), at most 8192 MiB at a time"
std::string sharing_text(const Device& device);

}  // namespace pantoum::opencl
