#include "host/kernel_set.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <sstream>

#include "base/custom_operators.h"

namespace pantoum::host {
namespace {

#ifdef PANTOUM_WITH_ONEDNN
constexpr bool kExpectsOneDnn = true;
#else
constexpr bool kExpectsOneDnn = false;  // this build made no such back end
#endif
#ifdef __x86_64__
constexpr const char* kGetOneDnn =
    "install it with Pantoum, and oneDNN (Debian: libdnnl2), name its folder in PANTOUM_BACKENDS, or use "
    "--kernels portable";
#else
constexpr const char* kGetOneDnn = "there is one for x86-64 alone: use --kernels portable";
#endif
constexpr const char* kOneDnn = "pantoum_onednn.so";

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

using Folders = std::vector<std::filesystem::path>;

// The folders of PANTOUM_BACKENDS ("DIR:DIR"), where it is set: no other folder is searched then, and none where it is empty.
std::optional<Folders> named_folders() {
  const char* const names = ::secure_getenv("PANTOUM_BACKENDS");
  if (names == nullptr) return std::nullopt;
  Folders folders;
  std::istringstream words(names);
  for (std::string word; std::getline(words, word, ':');)
    if (!word.empty()) folders.emplace_back(word);
  return folders;
}

// The folders below a prefix in which distributions keep libraries.
constexpr const char* kArchitectureFolder = "lib/" PANTOUM_LIBRARY_ARCHITECTURE;
constexpr const char* kLibraryFolders[] = {"lib", kArchitectureFolder, "lib64"};

// The folders beside this code, and those of an installation that this code is part of.
Folders near_folders() {
  const std::filesystem::path own = own_folder();
  if (own.empty()) return {};
  Folders folders{own / "pantoum", own};
  for (const char* libraries : kLibraryFolders) folders.push_back(own.parent_path() / libraries / "pantoum");
  return folders;
}

// The folders in which systems keep it.
Folders system_folders() {
  Folders folders;
  for (const std::filesystem::path prefix : {"/usr/local", "/usr"})
    for (const char* libraries : kLibraryFolders) folders.push_back(prefix / libraries / "pantoum");
  return folders;
}

// The search for a back end: the library that was found, and why others were not taken.
struct Search {
  void* handle = nullptr;
  std::vector<std::string> folders, reasons;

  void open(const std::string& path) {
    void* const opened = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    const char* const reason = opened == nullptr ? ::dlerror() : nullptr;
    if (opened == nullptr) return reasons.emplace_back(reason != nullptr ? reason : path), void();
    const auto version = reinterpret_cast<pt_back_end_version_function>(::dlsym(opened, "pt_back_end_version"));
    if (version != nullptr && std::string_view(version()) == PANTOUM_VERSION) {
      handle = opened;
      return;
    }
    reasons.push_back(path + " is of another version than this program, " PANTOUM_VERSION);
    ::dlclose(opened);
  }

  void look_in(const Folders& found, const char* name) {
    for (const std::filesystem::path& folder : found) {
      std::error_code ignored;
      if (handle != nullptr || std::ranges::find(folders, folder.string()) != folders.end()) continue;
      folders.push_back(folder.string());
      if (std::filesystem::exists(folder / name, ignored)) open((folder / name).string());
    }
  }
};

// A handle that stays valid for the life of the process; or an error that lists the folders searched and what was wrong in each.
Result<void*> load(const char* name) {
  let_idle_threads_sleep();
  Search search;
  if (const std::optional<Folders> named = named_folders()) {
    search.look_in(*named, name);
    search.reasons.emplace_back("PANTOUM_BACKENDS says where to look");
  } else {
    search.look_in(near_folders(), name);
    if (search.handle == nullptr) search.open(name);  // by RUNPATH, and where the loader looks
    search.look_in(system_folders(), name);
  }
  if (search.handle != nullptr) return search.handle;
  search.reasons.push_back("looked in " +
                           (search.folders.empty() ? "no folder" : fmt::format("{}", fmt::join(search.folders, ", "))));
  return fail("E0411", "the oneDNN back end cannot be loaded", "--kernels onednn", kGetOneDnn,
              std::move(search.reasons));
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

// A back end. All kernel sets of the process share it and its threads.
struct Shared {
  const pt_back_end* back_end;
  int threads;
};

Result<std::shared_ptr<const Shared>> shared_back_end(int threads) {
  static std::mutex guard;
  static std::weak_ptr<const Shared> open;
  const std::lock_guard lock(guard);
  if (const std::shared_ptr<const Shared> running = open.lock()) {
    if (running->threads == threads) return running;
    return fail("E0411",
                fmt::format("oneDNN's number of threads is {} in this process, and cannot be {} beside that",
                            running->threads, threads),
                "--kernels onednn", "use one number of threads for all, or --kernels portable");
  }
  PANTOUM_ASSIGN(const pt_back_end* const found, open_back_end(kOneDnn, threads));
  auto made = std::make_shared<const Shared>(Shared{found, threads});
  open = made;
  return made;
}

}  // namespace

Result<std::shared_ptr<const KernelSet>> KernelSet::open(Choice choice, int threads) {
  std::shared_ptr<KernelSet> set(new KernelSet);
  if (choice != Choice::kPortable) {
    const Result<std::shared_ptr<const Shared>> found = shared_back_end(allowed_threads(threads));
    if (!found && choice == Choice::kOneDnn) return Failure(found.error());
    if (found) set->back_end_ = (*found)->back_end, set->shared_ = *found;
    if (!found && kExpectsOneDnn) set->lack_ = found.error();
  }
  if (set->back_end_ == nullptr) {
    PANTOUM_ASSIGN(set->own_pool_, ThreadPool::create(threads));
    set->pool_ = set->own_pool_->interface();
  } else {
    set->pool_ = set->back_end_->pool;
    set->append(set->back_end_->kernels);
  }
  set->append(*pt_portable_kernels());
  if (base::has_custom_operators()) {
    const std::span<const pt_kernel> custom = base::custom_kernel_rows();
    set->append({custom.data(), custom.size()});
  }
  set->table_ = {set->rows_.data(), set->rows_.size()};
  return std::shared_ptr<const KernelSet>(std::move(set));
}

void KernelSet::append(const pt_kernel_table& kernels) {
  rows_.insert(rows_.end(), kernels.kernels, kernels.kernels + kernels.count);
}

std::unique_lock<std::mutex> KernelSet::turn() const {
  static std::mutex running;
  return back_end_ != nullptr ? std::unique_lock(running) : std::unique_lock<std::mutex>();
}

}  // namespace pantoum::host
