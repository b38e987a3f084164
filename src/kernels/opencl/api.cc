#include "kernels/opencl/api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <map>

namespace pantoum::opencl {

Result<std::shared_ptr<const Library>> load_library(const std::string& path) {
  const char* const named = ::secure_getenv("PANTOUM_OPENCL");
  auto library = std::make_shared<Library>();
  library->path = !path.empty() ? path : named != nullptr && *named != '\0' ? named : "libOpenCL.so.1";
  const char* const help =
      "install an OpenCL loader and the driver of the device (Debian: ocl-icd-libopencl1), or name the library in "
      "PANTOUM_OPENCL";
  void* const handle = ::dlopen(library->path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* const reason = ::dlerror();
    return fail("E0412", "the OpenCL library cannot be loaded", library->path, help, {reason != nullptr ? reason : ""});
  }
#define X(name, result, parameters) library->name = reinterpret_cast<result(*) parameters>(::dlsym(handle, "cl" #name));
  PANTOUM_OPENCL_FUNCTIONS(X)
  PANTOUM_OPENCL_SVM_FUNCTIONS(X)
#undef X
  std::vector<std::string> missing;
#define X(name, result, parameters) \
  if (library->name == nullptr) missing.emplace_back("it has no cl" #name);
  PANTOUM_OPENCL_FUNCTIONS(X)
#undef X
  ::dlclose(handle);
  if (!missing.empty())
    return fail("E0412", "the library is not one of OpenCL 1.2", library->path, help, std::move(missing));
  return std::shared_ptr<const Library>(std::move(library));
}

std::string status_text(Status status) {
  static const std::map<Status, const char*> names = {{-1, "CL_DEVICE_NOT_FOUND"},
                                                      {-2, "CL_DEVICE_NOT_AVAILABLE"},
                                                      {-3, "CL_COMPILER_NOT_AVAILABLE"},
                                                      {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
                                                      {-5, "CL_OUT_OF_RESOURCES"},
                                                      {-6, "CL_OUT_OF_HOST_MEMORY"},
                                                      {-11, "CL_BUILD_PROGRAM_FAILURE"},
                                                      {-12, "CL_MAP_FAILURE"},
                                                      {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
                                                      {-46, "CL_INVALID_KERNEL_NAME"},
                                                      {-54, "CL_INVALID_WORK_GROUP_SIZE"},
                                                      {-61, "CL_INVALID_BUFFER_SIZE"}};
  const auto found = names.find(status);
  return fmt::format("{} ({})", found != names.end() ? found->second : "OpenCL status", status);
}

}  // namespace pantoum::opencl
