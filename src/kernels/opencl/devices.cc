#include "kernels/opencl/devices.h"

#include <fmt/format.h>

namespace pantoum::opencl {
namespace {

template <class Object, class Ask>
std::string text_of(Object object, Number what, Ask ask) {
  size_t bytes = 0;
  if (ask(object, what, 0, nullptr, &bytes) != 0 || bytes == 0) return {};
  std::string text(bytes, '\0');
  if (ask(object, what, bytes, text.data(), nullptr) != 0) return {};
  text.resize(text.find('\0') != std::string::npos ? text.find('\0') : text.size());
  return text;
}

// 0 where the device does not know the question.
template <class T>
T number_of(const Library& library, DeviceId id, Number what) {
  T value{};
  return library.GetDeviceInfo(id, what, sizeof value, &value, nullptr) == 0 ? value : T{};
}

std::string refusal_of(const Library& library, const Device& device) {
  if (number_of<Number>(library, device.id, kDeviceAvailable) == 0) return "the device is not available";
  if (number_of<Number>(library, device.id, kDeviceCompiler) == 0) return "its driver has no compiler";
  if (device.sharing == Sharing::kHostPointer && number_of<Number>(library, device.id, kDeviceUnifiedMemory) == 0)
    return "it shares no memory with the host: it has no fine-grained shared virtual memory, and memory of its own";
  if (device.align_bytes == 0 || (device.align_bytes & (device.align_bytes - 1)) != 0)
    return fmt::format("it aligns buffers to {} bytes, which is no power of two", device.align_bytes);
  if (device.largest_allocation == 0) return "it allocates nothing";
  return {};
}

Device look_at(const Library& library, Platform platform, DeviceId id) {
  Device device{
      .platform = platform, .id = id, .platform_name = text_of(platform, kPlatformName, library.GetPlatformInfo)};
  device.name = text_of(id, kDeviceName, library.GetDeviceInfo);
  device.version = text_of(id, kDeviceVersion, library.GetDeviceInfo);
  device.driver = text_of(id, kDriverVersion, library.GetDeviceInfo);
  const bool has_svm =
      library.SVMAlloc != nullptr && library.SVMFree != nullptr && library.SetKernelArgSVMPointer != nullptr;
  if (has_svm && (number_of<Bits>(library, id, kDeviceSvm) & kSvmFineGrainBuffer) != 0)
    device.sharing = Sharing::kFineGrain;
  device.largest_allocation = number_of<uint64_t>(library, id, kDeviceMaxAlloc);
  device.memory_bytes = number_of<uint64_t>(library, id, kDeviceMemory);
  device.align_bytes = number_of<Number>(library, id, kDeviceBaseAlignBits) / 8;
  device.has_doubles = number_of<Bits>(library, id, kDeviceDoubleFp) != 0;
  constexpr Bits kExact = kFpDenormals | kFpDivideAndRoot;
  device.divides_exactly = (number_of<Bits>(library, id, kDeviceSingleFp) & kExact) == kExact;
  device.refusal = refusal_of(library, device);
  return device;
}

}  // namespace

Result<std::vector<Device>> list_devices(const Library& library) {
  const char* const help = "install the driver of a device (Debian, for the processor itself: pocl-opencl-icd)";
  Number count = 0;
  const Status status = library.GetPlatformIDs(0, nullptr, &count);
  if (status != 0 || count == 0)
    return fail("E0412", "OpenCL has no platform here", library.path, help,
                status != 0 && status != kNoPlatform ? std::vector{status_text(status)} : std::vector<std::string>{});
  std::vector<Platform> platforms(count);
  if (library.GetPlatformIDs(count, platforms.data(), nullptr) != 0) platforms.clear();
  std::vector<Device> devices;
  for (const Platform platform : platforms) {
    if (library.GetDeviceIDs(platform, kAllDevices, 0, nullptr, &count) != 0 || count == 0) continue;
    std::vector<DeviceId> ids(count);
    if (library.GetDeviceIDs(platform, kAllDevices, count, ids.data(), nullptr) != 0) continue;
    for (const DeviceId id : ids) devices.push_back(look_at(library, platform, id));
  }
  if (devices.empty()) return fail("E0412", "no platform of OpenCL has a device here", library.path, help);
  return devices;
}

Result<Found> find_device(int number) {
  Result<std::shared_ptr<const Library>> library = load_library();
  if (!library) return Failure(library.error());
  const Result<std::vector<Device>> listed = list_devices(**library);
  if (!listed) return Failure(listed.error());
  const std::vector<Device>& devices = *listed;
  const std::string where = fmt::format("opencl{}", number);
  const char* const help = "`pantoum doctor` lists the devices: name another, or leave the engine out";
  if (number < 0 || static_cast<size_t>(number) >= devices.size())
    return fail("E0413",
                devices.size() == 1 ? "OpenCL has one device here, opencl0"
                                    : fmt::format("OpenCL has {} devices here, opencl0 to opencl{}", devices.size(),
                                                  devices.size() - 1),
                where, help);
  const Device& device = devices[static_cast<size_t>(number)];
  if (!device.refusal.empty())
    return fail("E0413", fmt::format("the OpenCL device {} cannot be an engine: {}", device.name, device.refusal),
                where, help);
  return Found{*std::move(library), device};
}

std::string sharing_text(const Device& device) {
  return fmt::format(
      "{}, at most {} MiB at a time",
      device.sharing == Sharing::kFineGrain ? "fine-grained shared virtual memory" : "memory of the host",
      device.largest_allocation >> 20);
}

}  // namespace pantoum::opencl
