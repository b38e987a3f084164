// open() allocates everything but the arena, and start() the arena, so that begin_measuring() can measure each.
#include "host/engine.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "base/round_up.h"
#include "host/memory_meter.h"
#include "host/status_error.h"
#include "kernels/opencl/engine.h"
#include "runtime/slices.h"

namespace pantoum::host {
namespace {

constexpr size_t kBounceBytes = 1 << 16;

Failure no_memory(uint64_t bytes) {
  return fail("E0906",
              fmt::format("the system gives no {} bytes of memory for the arena: {}", bytes, std::strerror(errno)), {},
              "ask for less with --ram, or raise the limit (ulimit -v, ulimit -d)");
}

// The places of the page file where transfers begin or end: a bit for each unit of the plan's alignment, since slices begin and end at the same places many times
// in a step. Memory in which no bit is set is never touched.
class Edges {
 public:
  explicit Edges(const pt_plan& plan)
      : unit_(plan.align_bytes),
        count_(static_cast<size_t>(plan.storage_bytes / plan.align_bytes) / 64 + 1),
        words_(static_cast<uint64_t*>(std::calloc(count_, sizeof(uint64_t)))) {
    if (!words_) throw std::bad_alloc();
  }

  void add(uint64_t units) {
    if (units / 64 < count_) words_[static_cast<size_t>(units / 64)] |= uint64_t{1} << units % 64;
  }
  // Bytes from the file's begin on, ascending.
  [[nodiscard]] std::vector<uint64_t> places() const {
    const std::span<const uint64_t> words(words_.get(), count_);
    size_t all = 0;
    for (const uint64_t word : words) all += static_cast<size_t>(std::popcount(word));
    std::vector<uint64_t> places;
    places.reserve(all);
    for (size_t at = 0; at < count_; ++at)
      for (uint64_t word = words[at]; word != 0; word &= word - 1)
        places.push_back((uint64_t{at} * 64 + static_cast<uint64_t>(std::countr_zero(word))) * unit_);
    return places;
  }

 private:
  struct Free {
    void operator()(uint64_t* words) const { std::free(words); }
  };
  uint64_t unit_;
  size_t count_;
  std::unique_ptr<uint64_t[], Free> words_;
};

// Adds the edges of an operand's slices. The tensor begins at `slot`, in units.
void add_slice_edges(pt_loop loop, unsigned operand, uint64_t slot, Edges& edges) {
  do {
    const pt_box box = pt_slice_of(&loop, operand);
    pt_runs run = pt_runs_of(&loop, operand, &box);
    if (pt_is_empty(&box) != 0) continue;
    do {
      const pt_units units = pt_units_of(&loop, operand, &run);
      if (units.first >= units.end) continue;
      edges.add(slot + units.first);
      edges.add(slot + units.end);
    } while (pt_next_run(&box, &run) != 0);
  } while (pt_next_slice(&loop, operand) != 0);
}

// Adds the edges of all slices that ops move.
void add_slice_edges(const pt_plan& plan, const pt_kernel_table& kernels, const pt_pool* pool, Edges& edges) {
  for (uint32_t op = 0; op < plan.op_count; ++op) {
    pt_op_view view;
    if (pt_decode_op(&plan, op, &view) != PT_OK || view.slicing.streamed == 0) continue;
    const pt_kernel* kernel = pt_kernel_find(&kernels, view.op, view.dtype, view.algorithm, view.engine);
    pt_loop loop;
    if (kernel == nullptr || pt_loop_open(&loop, &view, plan.align_bytes, kernel, pool) != PT_OK)
      continue;  // told later
    for (unsigned operand = 0; operand < static_cast<unsigned>(view.input_count + view.output_count); ++operand) {
      const uint32_t tensor = view.tensors[operand];
      const uint32_t slot = pt_tensor_slot(&plan, tensor), pair = pt_tensor_pair(&plan, tensor);
      if (!pt_is_streamed(&view, operand) || slot == PT_NOWHERE) continue;
      add_slice_edges(loop, operand, slot, edges);
      if (pair == PT_NOWHERE) continue;  // after a step each of a pair is in the other's slot
      const uint32_t other = pt_tensor_slot(&plan, pair);
      if (other != PT_NOWHERE) add_slice_edges(loop, operand, other, edges);
    }
  }
}

// Adds the edges of the plan's storage slots. Every transfer of a whole tensor begins and ends at one of them.
void add_slot_edges(const pt_plan& plan, Edges& edges) {
  for (uint32_t tensor = 0; tensor < plan.tensor_count; ++tensor) {
    const uint32_t begin = pt_tensor_slot(&plan, tensor);
    if (begin == PT_NOWHERE) continue;
    edges.add(begin);
    edges.add(uint64_t{begin} + pt_tensor_units(&plan, tensor));
  }
}

}  // namespace

Result<Arena> Arena::map(uint64_t bytes, uint64_t align) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t extra = align > page ? align : 0;
  if (bytes > std::numeric_limits<int64_t>::max() / 2 || align > (uint64_t{1} << 40)) return no_memory(bytes);
  const uint64_t size = base::round_up(std::max<uint64_t>(bytes, 1), page);
  void* mapped = ::mmap(nullptr, size + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return no_memory(bytes);
  const auto begin = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t aligned = base::round_up(begin, std::max(align, page));
  if (aligned > begin) ::munmap(mapped, aligned - begin);
  if (begin + extra > aligned) ::munmap(reinterpret_cast<void*>(aligned + size), begin + extra - aligned);
  (void)::madvise(reinterpret_cast<void*>(aligned), size, MADV_NOHUGEPAGE);  // fails where there are no huge pages
  return Arena(reinterpret_cast<void*>(aligned), size);
}

Arena::Arena(Arena&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Result<void> Arena::protect(bool writable) {
  if (::mprotect(data_, bytes_, writable ? PROT_READ | PROT_WRITE : PROT_READ) == 0) return {};
  return fail("E0906", fmt::format("the system does not protect {} bytes of memory: {}", bytes_, std::strerror(errno)));
}

Arena::~Arena() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

void Engine::Free::operator()(void* memory) const {
  std::free(memory);
}

Engine::~Engine() {
  pager_.reset();  // ends transfers before the arena is unmapped
  if (device_ != nullptr && device_->is_lost()) rom_.leave();
}

Result<std::unique_ptr<Engine>> Engine::open(std::vector<std::byte> plan, const EngineOptions& options) {
  std::unique_ptr<Engine> engine(new Engine);
  engine->bytes_ = std::move(plan);
  if (engine->bytes_.empty()) return status_failure(PT_E_PLAN, "opening the plan");
  const pt_status opened = pt_plan_open(&engine->plan_, engine->bytes_.data(), engine->bytes_.size());
  if (opened != PT_OK) return status_failure(opened, "opening the plan");
  if (!std::has_single_bit(engine->plan_.align_bytes))
    return fail("E0251", "the plan's alignment is no power of two, which a host needs", {},
                "plan the model again for this host");
  engine->kernels_ = options.kernels != nullptr ? options.kernels : pt_portable_kernels();
  engine->pool_ = options.pool;
  if (engine->pool_ == nullptr) {
    PANTOUM_ASSIGN(engine->own_pool_, ThreadPool::create(options.threads));
    engine->pool_ = engine->own_pool_->interface();
  }
  PANTOUM_TRY(engine->make_crews(options.engines, options));
  if (engine->engine_threads_ == nullptr) engine->caller_ = processors_of_caller(engine->pool_);
  if (engine->plan_.storage_bytes > 0) {
    Edges edges(engine->plan_);
    add_slot_edges(engine->plan_, edges);
    add_slice_edges(engine->plan_, *engine->kernels_, engine->pool_, edges);
    const std::vector<uint64_t> cuts = edges.places();
    PANTOUM_ASSIGN(engine->pager_, FilePager::open({.path = options.page_file,
                                                    .bytes = engine->plan_.storage_bytes,
                                                    .direct = options.direct_io,
                                                    .align_bytes = engine->plan_.align_bytes,
                                                    .encrypt = options.encrypt,
                                                    .cuts = cuts,
                                                    .arena_bytes = engine->plan_.arena_bytes}));
  }
  PANTOUM_TRY(engine->make_buffers());
  return engine;
}

// Finds the engine whose ops have kernels of an OpenCL device, if there is one.
Result<void> Engine::find_device_engine() {
  uint8_t others = 0;
  for (uint32_t op = 0; op < plan_.op_count; ++op) {
    pt_op_view view;
    if (pt_decode_op(&plan_, op, &view) != PT_OK) return status_failure(PT_E_PLAN, "opening the plan");
    uint8_t& engines = view.engine == opencl::kEngine ? device_engine_ : others;
    engines |= view.engines;
  }
  const bool alone = device_engine_ == 0 || std::has_single_bit(device_engine_);
  if (alone && (device_engine_ & others) == 0) return {};
  return fail("E0251", "an OpenCL device is no engine of its own in the plan", {}, "plan the model again");
}

Result<void> Engine::open_device(int number) {
  PANTOUM_ASSIGN(opencl::Found found, opencl::find_device(number));
  PANTOUM_ASSIGN(device_,
                 opencl::Engine::open(std::move(found.library), found.device, {.arena_bytes = plan_.arena_bytes}));
  if (plan_.align_bytes % device_->align_bytes() == 0) return {};
  return fail("E0251",
              fmt::format("the plan aligns to {} bytes, and the OpenCL device wants {}", plan_.align_bytes,
                          device_->align_bytes()),
              found.device.name, "plan the model again for this device");
}

Result<void> Engine::make_crews(std::vector<int> threads, const EngineOptions& options) {
  const uint32_t count = pt_plan_engines(&plan_);
  if (count <= 1) return {};
  PANTOUM_TRY(find_device_engine());
  if (threads.empty()) {
    const uint32_t of_threads = std::max(1U, count - (device_engine_ != 0 ? 1 : 0));
    threads.assign(count, std::max(1, static_cast<int>(pool_->threads / of_threads)));
  }
  for (size_t engine = 0; engine < std::min<size_t>(threads.size(), count); ++engine)
    if ((device_engine_ >> engine & 1) != 0) threads[engine] = 0;
  std::vector<Team> teams;
  std::vector<Place> first;
  for (size_t engine = 0; engine < std::min({options.engine_processors.size(), threads.size(), size_t{count}});
       ++engine) {
    teams.push_back(team_on_processors(options.engine_processors[engine], std::max(0, threads[engine])));
    first.push_back(teams.back().empty() ? Place{} : teams.back().front());
  }
  PANTOUM_ASSIGN(const std::vector<CrewThreads> crews, crew_threads(plan_, threads, teams));
  if (device_engine_ != 0) PANTOUM_TRY(open_device(options.opencl_device));
  PANTOUM_ASSIGN(engine_threads_, EngineThreads::create(count, first));
  custom_kernels_.emplace();
  PANTOUM_ASSIGN(crews_, Crews::create(crews, kernels_, pool_));
  for (pt_crew& crew : crews_.crews)
    if (device_ != nullptr && crew.engines == device_engine_)
      crew.kernels = device_->table(), crew.pool = device_->pool();
  return {};
}

void* Engine::arena() const {
  return device_ != nullptr ? device_->arena() : arena_.data();
}

// Makes the failure of the device, if it failed, what status_failure tells on this thread.
void Engine::keep_device_error() const {
  if (device_ == nullptr || device_->failure().empty()) return;
  base::keep_custom_error(fail("E0414", "the OpenCL device failed: " + device_->failure(), device_->device().name,
                               "go on from the last checkpoint (--resume, or a new trainer that resumes), on a plan "
                               "without this engine if it fails again")
                              .error());
}

Failure Engine::failure_of(pt_status status, const std::string& what) const {
  base::forget_custom_error();
  keep_device_error();
  return status_failure(status, what);
}

Result<void> Engine::make_buffers() {
  const size_t session_bytes = base::round_up(std::max<size_t>(pt_session_bytes(&plan_), 1), 64);
  const size_t align = std::max<size_t>(plan_.align_bytes, 4096);
  bounce_bytes_ = std::max(align, kBounceBytes);
  session_memory_.reset(std::aligned_alloc(64, session_bytes));
  bounce_.reset(std::aligned_alloc(align, bounce_bytes_));
  if (session_memory_ == nullptr || bounce_ == nullptr) return no_memory(session_bytes + bounce_bytes_);
  std::memset(session_memory_.get(), 0, session_bytes);
  std::memset(bounce_.get(), 0, bounce_bytes_);
  return {};
}

Result<void> Engine::start() {
  const StayOn processors(caller_);
  give_back_clean_files();
  warm_stack();
  if (device_ == nullptr) {
    PANTOUM_ASSIGN(arena_, Arena::map(plan_.arena_bytes, plan_.align_bytes));
  }
  if (plan_.rom_bytes > 0) PANTOUM_TRY(make_rom());
  const uint64_t before = read_resident_set().now_bytes;
  const pt_status opened = open_session();
  if (opened == PT_E_PLAN && pool_->threads > 1 && !has_room(plan_, computing()))
    return fail("E0251", fmt::format("the plan has no room for what its kernels need on {} threads", pool_->threads),
                kTooManyThreads, "open it with as many threads as it was made for, or plan with --threads");
  if (opened != PT_OK) return failure_of(opened, "opening the session");
  const pt_status loaded = preload_all();
  if (loaded == PT_E_FULL) return no_memory(plan_.arena_bytes);
  if (loaded != PT_OK) return failure_of(loaded, "preparing the kernels");
  const uint64_t after = read_resident_set().now_bytes;
  back_end_bytes_ = after > before ? after - before : 0;
  return {};
}

ComputingOf Engine::computing() const {
  if (engine_threads_ == nullptr) return [this](uint8_t) { return Computing{kernels_, pool_}; };
  return [this](uint8_t set) {
    const auto crew = std::ranges::find(crews_.crews, set, &pt_crew::engines);
    return Computing{crew->kernels, crew->pool};
  };
}

pt_status Engine::open_session() {
  const pt_pager* pager = pager_ ? pager_->interface() : nullptr;
  if (engine_threads_ == nullptr)
    return pt_session_open(&session_, &plan_, session_memory_.get(), arena(), rom_.data(), kernels_, pager, pool_);
  const pt_engines engines = engine_threads_->interface(crews_.crews);
  return pt_session_open_engines(&session_, &plan_, session_memory_.get(), arena(), rom_.data(), &engines, pager);
}

// Every op on the thread that will compute it, one after the other.
pt_status Engine::preload_all() {
  if (engine_threads_ == nullptr) return preload(plan_, computing());
  struct Load {
    Engine* self;
    uint32_t engine = 0;
    pt_status status = PT_OK;
  } load{this};
  const pt_engines engines = engine_threads_->interface(crews_.crews);
  const uint32_t count = pt_plan_engines(&plan_);
  for (; load.engine < count && load.status == PT_OK; ++load.engine)
    engines.run(
        engines.context, count,
        [](void* arg, uint32_t part) {
          auto& of = *static_cast<Load*>(arg);
          if (part != of.engine) return;
          of.status = preload(of.self->plan_, [&](uint8_t set) -> std::optional<Computing> {
            return pt_first_engine(set) == part ? of.self->computing()(set) : std::nullopt;
          });
        },
        &load);
  return load.status;
}

// Makes the error of a custom operator, which the thread of its engine keeps, that of the calling thread.
void Engine::fetch_custom_error() {
  struct Found {
    std::mutex guard;
    std::optional<Error> error;
  } found;
  const pt_engines engines = engine_threads_->interface(crews_.crews);
  engines.run(
      engines.context, pt_plan_engines(&plan_),
      [](void* arg, uint32_t) {
        auto& of = *static_cast<Found*>(arg);
        std::optional<Error> own = base::take_custom_error();
        const std::lock_guard lock(of.guard);
        if (own) of.error = std::move(own);
      },
      &found);
  if (found.error) base::keep_custom_error(*std::move(found.error));
}

void Engine::observe(void (*observer)(void* context, const pt_event* event), void* context) {
  observer_ = observer;
  observer_context_ = context;
  if (observer == nullptr || engine_threads_ == nullptr) {
    pt_session_observe(session_, observer, context);
    return;
  }
  pt_session_observe(
      session_,
      [](void* self, const pt_event* event) {
        auto& engine = *static_cast<Engine*>(self);
        const std::lock_guard one(engine.observing_);
        engine.observer_(engine.observer_context_, event);
      },
      this);
}

Result<void> Engine::make_rom() {
  PANTOUM_ASSIGN(rom_, Arena::map(plan_.rom_bytes, plan_.align_bytes));
  return rom_.protect(false);
}

Result<void> Engine::write_rom(uint32_t tensor, uint64_t at, std::span<const std::byte> data) {
  const size_t begin = size_t{pt_tensor_place(&plan_, tensor)} * plan_.align_bytes;
  PANTOUM_TRY(rom_.protect(true));
  std::ranges::copy(data, static_cast<std::byte*>(rom_.data()) + begin + at);
  return rom_.protect(false);
}

void Engine::begin_measuring() {
  (void)::malloc_trim(0);  // what planning has freed must not hide the arena's growth
  warm_heap();
  (void)reset_resident_peak();
  const ResidentSet now = read_exact_resident_set();
  const uint64_t touched = resident_bytes(arena(), plan_.arena_bytes);
  other_bytes_ = now.now_bytes > touched ? now.now_bytes - touched : 0;
  file_bytes_ = now.file_bytes;
}

Engine::Ram Engine::ram() const {
  const ResidentSet now = read_exact_resident_set();
  return {.beside_arena = other_bytes_ + (now.file_bytes > file_bytes_ ? now.file_bytes - file_bytes_ : 0),
          .most = now.peak_bytes};
}

pt_counters Engine::counters() const {
  pt_counters counters{};
  pt_session_counters(session_, &counters);
  return counters;
}

Result<void> Engine::read(uint32_t tensor, uint64_t at, std::span<std::byte> data) {
  const pt_status status =
      pt_session_read(session_, tensor, at, data.data(), data.size(), bounce_.get(), bounce_bytes_);
  if (status != PT_OK) return status_failure(status, "reading a tensor of the session");
  return {};
}

Result<void> Engine::write(uint32_t tensor, uint64_t at, std::span<const std::byte> data) {
  pt_tensor_info info{};
  const bool known = pt_plan_tensor_info(&plan_, tensor, &info) == PT_OK;
  if (known && info.home == PT_HOME_ROM && at <= info.payload && data.size() <= info.payload - at)
    return write_rom(tensor, at, data);
  const pt_status status =
      pt_session_write(session_, tensor, at, data.data(), data.size(), bounce_.get(), bounce_bytes_);
  if (status != PT_OK) return status_failure(status, "writing a tensor of the session");
  return {};
}

}  // namespace pantoum::host
