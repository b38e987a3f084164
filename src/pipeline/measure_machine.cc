#include "pipeline/measure_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "base/units.h"
#include "host/this_machine.h"
#include "host/thread_pool.h"
#include "pipeline/measure_storage.h"
#include "plan/simulate/time_limit.h"

namespace pantoum::pipeline {
namespace {

constexpr problem::Seconds kLeastOverLongLimit = 4.5;  // what a limit of a minute gives, the default limit
constexpr double kShareOfMemory = 0.5;                 // of what is free: planning has other data too

constexpr const char* kInMemory = ":memory:";

// What a time depends on beside its op: another one of these has keys of its own. `team` is named where the machine has several clusters.
std::string machine_of(const host::KernelSet& kernels, const host::Team& team) {
  const std::string processors = host::name_of(host::processors_of(team));
  return fmt::format("{}|{}|portable {}{}{}", host::processor_name(), kernels.name(), PANTOUM_VERSION,
                     processors.empty() ? "" : "|", processors);
}

// The places of the threads of the kernels' pool.
host::Team team_of(const host::KernelSet& kernels) {
  const host::ThreadPool* const own = host::ThreadPool::behind(kernels.pool());
  return own != nullptr ? own->team() : host::team_of(static_cast<int>(kernels.pool()->threads));
}

// The speed of a team's fastest thread over that of its slowest.
double spread_of(const host::Team& team) {
  const auto [least, most] = std::ranges::minmax(team, {}, &host::Place::share);
  return most.share / least.share;
}

problem::Bytes memory_of_operands() {
  const uint64_t available = host::available_bytes();
  if (available == 0) return cost::MeasuringLimits{}.memory_bytes;
  return static_cast<problem::Bytes>(kShareOfMemory * static_cast<double>(available));
}

// 99% for 99.7%: all is all.
int percent(double share) {
  return static_cast<int>(std::floor(100 * share));
}

}  // namespace

uint64_t bytes_to_measure(const Program& program, uint64_t most) {
  constexpr problem::Bytes kPlaces = problem::Bytes{64} << 20;
  problem::Bytes largest = 0;
  for (const problem::Op& op : program.cost.graph.ops) {
    problem::Bytes bytes = 0;
    for (const auto* const list : {&op.inputs, &op.outputs})
      for (const int64_t tensor : *list) bytes += program.cost.graph.tensors[static_cast<size_t>(tensor)].bytes;
    largest = std::max(largest, bytes);
  }
  return std::min(static_cast<uint64_t>(largest + largest / 4 + kPlaces), most);
}

Measure measure_of(const PlanRequest& request, bool host) {
  const PlanOptions& settings = request.settings;
  if (settings.measure != Measure::automatic) return settings.measure;
  if (request.options.effort > 0) return Measure::off;
  return host ? Measure::missing : settings.profile_store ? Measure::known : Measure::off;
}

Result<cost::EngineTimes> engine_times_of(const PlanRequest& request, const cost::DeviceProfile& device) {
  if (measure_of(request, device.host) != Measure::known) return cost::EngineTimes();
  const std::string path = request.settings.profile_store.value_or(request.measuring.cache_store);
  std::error_code none;  // begin() has said so
  if (path.empty() || !std::filesystem::exists(path, none)) return cost::EngineTimes();
  PANTOUM_ASSIGN(const std::unique_ptr<cost::ProfileStore> store, cost::ProfileStore::open(path));
  return cost::EngineTimes::read(*store, device.device.name);
}

MachineMeasurement::MachineMeasurement(const PlanRequest& request, const host::KernelSet& kernels,
                                       const cost::DeviceProfile& device)
    : request_(request),
      kernels_(kernels),
      profile_(device.device.name),
      compute_(device.compute),
      is_host_(device.host),
      measure_(measure_of(request, device.host)) {}

Result<MachineMeasurement> MachineMeasurement::begin(const PlanRequest& request, const host::KernelSet& kernels,
                                                     const cost::DeviceProfile& device) {
  MachineMeasurement machine(request, kernels, device);
  if (machine.measure_ == Measure::off) return machine;
  if (!device.host && machine.measure_ != Measure::known)
    return fail("E0114", fmt::format("device '{}' cannot be measured on this machine", device.device.name), "--measure",
                "use --device host, --measure off, or --measure known with a --profile-store that has its times");
  PANTOUM_TRY(machine.open_store());
  return machine;
}

Result<void> MachineMeasurement::open_store() {
  const PlanOptions& options = request_.settings;
  const std::string& cache = request_.measuring.cache_store;
  const bool named = options.profile_store.has_value();
  std::error_code none;  // the store says so
  if (!named && !cache.empty()) std::filesystem::create_directories(std::filesystem::path(cache).parent_path(), none);
  const std::string& store = named ? *options.profile_store : cache;
  const bool nothing_known = measure_ == Measure::known && !std::filesystem::exists(store, none);
  if (nothing_known && named && options.measure == Measure::known)
    return fail("E0201", "there is no such profile store, so that no time is known", store,
                "name the one with --profile-store, or leave --measure known out");
  const std::string path = nothing_known ? "" : store;
  Result<std::unique_ptr<cost::ProfileStore>> opened = cost::ProfileStore::open(path.empty() ? kInMemory : path);
  if (!opened && named) return Failure(opened.error());
  if (!opened) return do_without_store(opened.error());
  store_ = std::move(*opened);
  return {};
}

Result<void> MachineMeasurement::do_without_store(const Error& error) {
  warnings_.push_back(fmt::format("measured times are not kept: {} ({}); --profile-store names another file",
                                  error.message, error.where));
  PANTOUM_ASSIGN(store_, cost::ProfileStore::open(kInMemory));
  return {};
}

problem::Seconds MachineMeasurement::left() const {
  if (request_.measuring.only_known || measure_ == Measure::known) return 0;
  if (measure_ == Measure::all || request_.measuring.settle) return std::numeric_limits<problem::Seconds>::infinity();
  const plan::TimeLimit time(request_.options.time_limit);
  const problem::Seconds share =
      std::min(time.for_attempt(plan::Attempt::kMeasureMachine),
               std::max(kLeastOverLongLimit, time.for_attempt(plan::Attempt::kMeasureOverLongLimit)));
  return std::max(0.0, share - (seconds_ - overrun_));
}

problem::Seconds MachineMeasurement::since_begin() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

Result<void> MachineMeasurement::take_storage() {
  const PlanOptions& options = request_.settings;
  const StorageQuestion question{.folder = options.page_file.value_or(""),
                                 .encrypt = options.page_encryption,
                                 .pool = kernels_.pool(),
                                 .anew = measure_ == Measure::all,
                                 .seconds = plan::share_of(plan::Attempt::kMeasureStorage) * left()};
  if (request_.measuring.only_known || measure_ == Measure::known) {
    PANTOUM_ASSIGN(storage_, known_storage(question, *store_));
    return {};
  }
  PANTOUM_ASSIGN(storage_, pipeline::measure_storage(question, *store_));
  return {};
}

void MachineMeasurement::measure_storage(problem::Pager& pager) {
  const bool pages = pager.mode != problem::PagerMode::kNone && request_.options.question.freedoms.paging;
  if (store_ == nullptr || !pages || !is_host_) return;
  const problem::Seconds before = since_begin(), share = plan::share_of(plan::Attempt::kMeasureStorage) * left();
  Result<void> taken = take_storage();
  if (!taken && taken.error().code == "E0275" && do_without_store(taken.error())) taken = take_storage();
  if (!taken)
    warnings_.push_back(fmt::format("the storage was not measured: {} ({}); the figures of profile {} count",
                                    taken.error().message, taken.error().where, profile_));
  if (measure_ != Measure::known) seconds_ += since_begin() - before;
  overrun_ = std::max(0.0, since_begin() - before - share);
  if (!storage_) return;
  if (storage_->beside_every_core) {
    waited_for_ = pager;
    storage_->put_into(*waited_for_, compute_.active_w);
  }
  storage_->held_back().put_into(pager, compute_.active_w);
}

cost::MeasuringLimits MachineMeasurement::limits() {
  const host::Team team = team_of(kernels_);
  const auto cache = is_host_ ? static_cast<base::Bytes>(host::cache_bytes()) : 0;
  return {.seconds = left(),
          .memory_bytes = memory_of_operands(),
          .anew = measure_ == Measure::all,
          .pool = is_host_ ? kernels_.pool() : nullptr,
          .threads = request_.settings.threads.value_or(1),
          .slowest = is_host_ ? spread_of(team) : 1,
          .machine = is_host_ ? machine_of(kernels_, team) : profile_,
          .numerics = request_.options.question.freedoms.numerics,
          .settle = request_.measuring.settle,
          .energy_of = request_.measuring.energy_of,
          .cold_footprint = std::max(cost::MeasuringLimits{}.cold_footprint, 2 * cache),
          .in_step = is_host_ ? &in_step_ : nullptr,
          .cache_bytes = cache,
          .compute = compute_,
          .stop = request_.options.stop,
          .progress = request_.measuring.progress};
}

std::string MachineMeasurement::costs_of(double share) const {
  const std::string modelled = "modelled by profile " + profile_;
  const std::string storage = storage_ ? "; storage measured" : "";
  if (share <= 0) return modelled + storage;
  if (share >= 1) return "measured" + storage;
  return fmt::format("measured {}%, {} {}%{}", percent(share), modelled, 100 - percent(share), storage);
}

cost::MeasuredCosts MachineMeasurement::put_costs(Programs& programs, const cost::MeasuringLimits& limits) {
  const host::StayOn processors(is_host_ ? host::processors_of_caller(kernels_.pool()) : std::vector<int>());
  std::vector<cost::Measurable> all;
  for (Program& program : programs) all.push_back({program.graph, program.cost});
  cost::MeasuredCosts measured = cost::measure_costs(all, *store_, limits);
  for (Program& program : programs) program.cost.graph.device.costs_of = costs_of(measured.share);
  return measured;
}

void MachineMeasurement::know_ops(Programs& programs) {
  if (store_ == nullptr) return;
  cost::MeasuringLimits limits = this->limits();
  limits.seconds = 0;
  limits.anew = false;
  (void)put_costs(programs, limits);
}

cost::MeasuredCosts MachineMeasurement::measure_ops(Programs& programs) {
  if (store_ == nullptr) return {};
  const problem::Seconds before = since_begin();
  cost::MeasuringLimits limits = this->limits();
  limits.runs_step = is_host_ && !std::exchange(step_known_, true);  // of the request's own programs
  cost::MeasuredCosts measured = put_costs(programs, limits);
  if (measured.store_failure)
    warnings_.push_back(fmt::format("measured times are not kept: {} ({})", measured.store_failure->message,
                                    measured.store_failure->where));
  if (measured.too_large > 0)
    warnings_.push_back(
        fmt::format("{} kernels were not measured: their operands take more than {}, half of what is free",
                    measured.too_large, base::show_bytes(limits.memory_bytes)));
  if (measure_ != Measure::known) elapsed_ = since_begin(), seconds_ += elapsed_ - before;
  return measured;
}

cost::DeviceTimes MachineMeasurement::measure_ways(std::vector<cost::DeviceWay>& ways, const Program& program,
                                                   std::span<std::byte> memory, cost::Bytes align, const pt_pool& pool,
                                                   const std::string& machine, problem::Seconds seconds,
                                                   const cost::WayKey& key) {
  if (store_ == nullptr) return {};
  cost::MeasuringLimits limits = this->limits();
  limits.seconds = request_.measuring.only_known || measure_ == Measure::known ? 0 : seconds;
  if (limits.seconds <= 0) limits.anew = limits.settle = false;  // what the store has
  limits.pool = &pool;
  limits.machine = machine;
  cost::DeviceTimes times = cost::measure_ways(ways, program.graph, program.cost, memory, align, *store_, limits, key);
  if (times.store_failure)
    warnings_.push_back(
        fmt::format("measured times are not kept: {} ({})", times.store_failure->message, times.store_failure->where));
  return times;
}

MachineMeasurement::OnCluster MachineMeasurement::measure_cluster(const host::ThreadPool& pool, const Program& program,
                                                                  double slower, problem::Seconds seconds) {
  const auto threads = static_cast<int>(pool.interface()->threads);
  const auto& ops = program.cost.graph.ops;
  std::vector<cost::DeviceWay> first, other;
  for (size_t op = 0; op < ops.size(); ++op)
    for (size_t at = 0; at < ops[op].choices.size(); ++at) {
      const pt_kernel* const kernel = program.cost.kernel_of[op][at];
      if (kernel == nullptr || program.cost.threads_of[op][at] != threads) continue;
      first.push_back({op, at, kernel, ops[op].choices[at].workspace_bytes, ops[op].choices[at].time_s});
    }
  other = first;
  for (cost::DeviceWay& way : other) way.seconds *= slower;
  const cost::WayKey key{cost::kProcessor, threads};
  const auto align = static_cast<cost::Bytes>(program.cost.graph.device.align_bytes);
  const bool measures = seconds > 0 && measure_ != Measure::off && measure_ != Measure::known;
  std::vector<std::byte> memory(measures ? bytes_to_measure(program, host::available_bytes() / 2) : 0);
  (void)measure_ways(first, program, {}, align, *kernels_.pool(), machine_of(kernels_, team_of(kernels_)), 0, key);
  OnCluster found;
  {
    const host::StayOn processors(pool.team().front().processors);
    found.times =
        measure_ways(other, program, memory, align, *pool.interface(), machine_of(kernels_, pool.team()), seconds, key);
  }
  found.seconds.resize(ops.size());
  for (size_t way = 0; way < first.size(); ++way) {
    std::vector<cost::Seconds>& of = found.seconds[first[way].op];
    const problem::Op& op = ops[first[way].op];
    if (of.empty())
      for (const problem::Choice& choice : op.choices) of.push_back(choice.time_s);
    const double ratio = first[way].seconds > 0 ? other[way].seconds / first[way].seconds : 1;
    of[first[way].like] *= ratio;
  }
  return found;
}

void MachineMeasurement::tell(std::vector<std::string>& warnings) const {
  warnings.insert(warnings.end(), warnings_.begin(), warnings_.end());
}

}  // namespace pantoum::pipeline
