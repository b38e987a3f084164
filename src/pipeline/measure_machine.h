// Replaces a profile's times by times of this machine: first of its storage, then of the operators of all programs.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "cost/device.h"
#include "cost/device_engine.h"
#include "cost/host_engines.h"
#include "cost/measure.h"
#include "cost/profile_engines.h"
#include "cost/profile_store.h"
#include "pipeline/measure_storage.h"
#include "pipeline/pipeline.h"

namespace pantoum::pipeline {

// Returns the mode that `auto` stands for with this device and request.
[[nodiscard]] Measure measure_of(const PlanRequest& request, bool host);

// Returns the times that the store has of the device's engines beside its processor: none where nothing known is asked for. Errors as
// MachineMeasurement::begin has them.
[[nodiscard]] Result<cost::EngineTimes> engine_times_of(const PlanRequest& request, const cost::DeviceProfile& device);

// The bytes of memory in which every op of the program can be measured, or most of them: the largest op's operands and room to take operands in turns, `most` at most.
[[nodiscard]] uint64_t bytes_to_measure(const Program& program, uint64_t most);

// One measurement. It begins before the cost graphs are made, and `tell` ends it. Its functions do nothing if nothing is to be measured.
class MachineMeasurement {
 public:
  // E0114: the device to measure is not this machine; E0275: the store that the user named fails; E0201: this store does not exist, and known times
  // were asked for. Other failures become warnings.
  [[nodiscard]] static Result<MachineMeasurement> begin(const PlanRequest& request, const host::KernelSet& kernels,
                                                        const cost::DeviceProfile& device);

  // Sets the pager's rates, latencies and watts. Uses at most half of the available time.
  void measure_storage(problem::Pager& pager);
  [[nodiscard]] const std::optional<MeasuredStorage>& storage() const { return storage_; }
  // The pager with the times that a waiting step finds, if the pager for planning has slower transfers (MeasuredStorage::held_back).
  [[nodiscard]] const std::optional<problem::Pager>& waited_for() const { return waited_for_; }
  // Sets the seconds and joules of all choices, and their source (Device::costs_of).
  cost::MeasuredCosts measure_ops(Programs& programs);
  // The same, without new measurements.
  void know_ops(Programs& programs);
  // Sets the seconds of the ways that an OpenCL device has to compute a program: known or measured ones, on operands in `memory`. Measures for
  // `seconds` at most. `machine`: what the times depend on.
  cost::DeviceTimes measure_ways(std::vector<cost::DeviceWay>& ways, const Program& program,
                                 std::span<std::byte> memory, cost::Bytes align, const pt_pool& pool,
                                 const std::string& machine, problem::Seconds seconds, const cost::WayKey& key = {});
  // What the program's choices take on another cluster of processors than the kernels' pool is on.
  struct OnCluster {
    cost::EngineSeconds seconds;  // of choices on as many threads as its pool has
    cost::DeviceTimes times;
  };
  // Measures each kernel there for `seconds` in all at most: its seconds are those of the kernels' pool times the ratio of the two measured times. A
  // kernel that was not measured has the ratio of the others in the middle, or without any `slower`.
  OnCluster measure_cluster(const host::ThreadPool& pool, const Program& program, double slower,
                            problem::Seconds seconds);
  // Returns warnings about what could not be measured.
  void tell(std::vector<std::string>& warnings) const;
  // The seconds spent on measurements; and the seconds from the beginning to the last measurement, other work included.
  [[nodiscard]] problem::Seconds seconds() const { return seconds_; }
  [[nodiscard]] problem::Seconds elapsed() const { return elapsed_; }

 private:
  [[nodiscard]] cost::MeasuredCosts put_costs(Programs& programs, const cost::MeasuringLimits& limits);
  MachineMeasurement(const PlanRequest& request, const host::KernelSet& kernels, const cost::DeviceProfile& device);
  [[nodiscard]] Result<void> open_store();
  [[nodiscard]] Result<void> do_without_store(const Error& error);
  [[nodiscard]] Result<void> take_storage();
  [[nodiscard]] problem::Seconds left() const;
  [[nodiscard]] problem::Seconds since_begin() const;
  [[nodiscard]] cost::MeasuringLimits limits();
  [[nodiscard]] std::string costs_of(double share) const;

  const PlanRequest& request_;
  const host::KernelSet& kernels_;
  std::string profile_;
  cost::Compute compute_;
  bool is_host_;
  Measure measure_;
  std::unique_ptr<cost::ProfileStore> store_;  // null: nothing is measured
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::optional<MeasuredStorage> storage_ = {};
  std::optional<problem::Pager> waited_for_ = {};
  cost::StepFactors in_step_ = {};
  bool step_known_ = false;  // a measurement has run the step already
  problem::Seconds seconds_ = 0, elapsed_ = 0;
  // The seconds beyond the storage's share, which the first sample of a slow storage may exceed. The share of the kernels stays the same.
  problem::Seconds overrun_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace pantoum::pipeline
