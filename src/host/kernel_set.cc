#include "host/kernel_set.h"

#include <dlfcn.h>
#include <link.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace pantoum::host {
namespace {

constexpr const char* kOneDnn = "libpantoum_onednn.so";

// The folder of the program or library that holds this code. A program's own name is what its caller says (argv[0]):
// the kernel knows its file.
std::filesystem::path own_folder() {
  Dl_info info{};
  link_map* map = nullptr;
  if (::dladdr1(reinterpret_cast<const void*>(&own_folder), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) ==
      0)
    return {};
  const bool is_program = map == nullptr || map->l_name == nullptr || *map->l_name == '\0';
  std::error_code ignored;
  const auto path = std::filesystem::canonical(is_program ? "/proc/self/exe" : map->l_name, ignored);
  return ignored ? std::filesystem::path() : path.parent_path();
}

// Idle OpenMP threads look for work for a few microseconds and then sleep: left to themselves they spin for
// milliseconds, which starves whoever else wants the processors. The library reads this when it is loaded.
void let_idle_threads_sleep() {
  ::setenv("GOMP_SPINCOUNT", "2000", 0);
  ::setenv("OMP_WAIT_POLICY", "passive", 0);
}

// A handle that stays for the life of the process, or why there is none.
Result<void*> load(const char* name) {
  let_idle_threads_sleep();
  const std::filesystem::path folder = own_folder();
  const std::string places[] = {(folder / name).string(), (folder.parent_path() / "lib" / name).string(), name};
  std::vector<std::string> reasons;
  for (const std::string& place : places) {
    if (void* handle = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    const char* reason = ::dlerror();
    reasons.emplace_back(reason != nullptr ? reason : place);
  }
  return fail(
      "E0411", "the oneDNN back end cannot be loaded", "--kernels onednn",
      "install oneDNN (Debian: libdnnl2) and build Pantoum with its headers there (libdnnl-dev), or use --kernels "
      "portable",
      std::move(reasons));
}

Result<const pt_back_end*> open_back_end(const char* name, int threads) {
  PANTOUM_ASSIGN(void* const handle, load(name));
  const auto open = reinterpret_cast<pt_back_end_open_function>(::dlsym(handle, "pt_back_end_open"));
  const pt_back_end* back_end = open != nullptr ? open(threads) : nullptr;
  if (back_end == nullptr)
    return fail("E0411", "the oneDNN back end does not run on this machine", "--kernels onednn",
                "use --kernels portable");
  return back_end;
}

int allowed_threads(int asked) {
  if (asked > 0) return asked;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace

Result<std::shared_ptr<const KernelSet>> KernelSet::open(Choice choice, int threads) {
  std::shared_ptr<KernelSet> set(new KernelSet);
  if (choice != Choice::kPortable) {
    const Result<const pt_back_end*> found = open_back_end(kOneDnn, allowed_threads(threads));
    if (!found && choice == Choice::kOneDnn) return tl::make_unexpected(found.error());
    if (found) set->back_end_ = *found;
  }
  if (set->back_end_ == nullptr) {
    PANTOUM_ASSIGN(set->own_pool_, ThreadPool::create(threads));
    set->table_ = *pt_portable_kernels();
    set->pool_ = set->own_pool_->interface();
    return std::shared_ptr<const KernelSet>(std::move(set));
  }
  const pt_kernel_table fast = set->back_end_->kernels, portable = *pt_portable_kernels();
  set->rows_.assign(fast.kernels, fast.kernels + fast.count);
  set->rows_.insert(set->rows_.end(), portable.kernels, portable.kernels + portable.count);
  set->table_ = {set->rows_.data(), set->rows_.size()};
  set->pool_ = set->back_end_->pool;
  return std::shared_ptr<const KernelSet>(std::move(set));
}

}  // namespace pantoum::host
