// Times of this machine in place of a profile's: its storage, then the operators of all programs.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "cost/device.h"
#include "cost/measure.h"
#include "cost/profile_store.h"
#include "pipeline/measure_storage.h"
#include "pipeline/pipeline.h"

namespace pantoum::pipeline {

// What `auto` means for this device and request.
[[nodiscard]] Measure measure_of(const PlanRequest& request, bool host);

// One measurement: begun before the cost graphs are made, ended by `tell`. Does nothing where nothing is to be measured.
class MachineMeasurement {
 public:
  // E0114 a device that is not this machine is to be measured; E0275 the store that the user named;
  // E0201 it is not there, and known times were asked for. All else goes on, with a warning.
  [[nodiscard]] static Result<MachineMeasurement> begin(const PlanRequest& request, const host::KernelSet& kernels,
                                                        const cost::DeviceProfile& device);

  // The pager's rates, latencies and watts; at most half of the time that there is.
  void measure_storage(problem::Pager& pager);
  [[nodiscard]] const std::optional<MeasuredStorage>& storage() const { return storage_; }
  // As a step finds it that waits for it, where the pager that plans are made with has transfers held back.
  [[nodiscard]] const std::optional<problem::Pager>& waited_for() const { return waited_for_; }
  // Seconds and joules of all choices, and whose they are (Device::costs_of).
  cost::MeasuredCosts measure_ops(Programs& programs);
  // The same, and nothing is measured.
  void know_ops(Programs& programs);
  // What could not be done.
  void tell(std::vector<std::string>& warnings) const;
  // Spent on measuring; and from the beginning to what was measured last, with all that went on between.
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
  bool step_known_ = false;  // as far as it will be
  problem::Seconds seconds_ = 0, elapsed_ = 0;
  // Beyond the storage's share, which the first sample of a slow one may exceed: the kernels keep theirs.
  problem::Seconds overrun_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace pantoum::pipeline
