// The processors that this process may run on, by how fast they are, and where the threads of a team run.
//
// A kernel's work is split in equal parts, so a team is as fast as its slowest thread. On machines whose processors differ (big.LITTLE, x86
// hybrids) the threads of a team stay on processors of about the same speed. Where all processors are of one speed, or nothing tells their
// speed, the system places the threads. No placement changes a bit of a result.
#pragma once

#include <sched.h>

#include <span>
#include <string>
#include <vector>

namespace pantoum::host {

// Processors of about the same speed: none is slower than three quarters of the fastest.
struct Cluster {
  std::vector<int> processors;  // ascending
  double slowest = 1;           // speed of the slowest: only ratios to other clusters mean something
};

// The processors in this process's affinity mask, ascending. Empty: the system does not tell.
std::vector<int> allowed_processors();

// The clusters of these processors, the one that computes most first (the speed of its slowest times its size). Speeds are cpu_capacity of
// each processor, or else its highest clock; kinds of x86 hybrids (cpu_core, cpu_atom) are never in one cluster. One cluster of all where a
// processor's speed is not told. `root`: /sys/devices, or what a test gives.
std::vector<Cluster> clusters_of(const std::vector<int>& processors, const std::string& root = "/sys/devices");

// Where a thread of a team runs, and its share of the work as a ratio to other shares.
struct Place {
  std::vector<int> processors = {};  // empty: where the system wants
  double share = 1;
};
using Team = std::vector<Place>;

// Places of so many threads: all on the first cluster where it has as many processors; those beyond on the other clusters, the fastest first,
// with shares by their speed. With one cluster, or with more threads than processors, the system chooses. threads >= 1.
Team team_on(std::span<const Cluster> clusters, int threads);
// On this machine.
Team team_of(int threads);

// Places of so many threads of an engine that was given these processors. Where this machine has one cluster, or the process may run on none
// of them, the system chooses.
Team team_on_processors(std::span<const Cluster> clusters, std::span<const int> processors, int threads);
Team team_on_processors(std::span<const int> processors, int threads);

// All processors of a team, ascending; empty: the system chooses.
std::vector<int> processors_of(const Team& team);
bool has_equal_shares(const Team& team);

// "cpu0-3,cpu6"; "" for none.
std::string name_of(std::span<const int> processors);

// Lets the calling thread run on these processors alone. Nothing happens where there are none, or where the system refuses.
void stay_on(std::span<const int> processors);

// The calling thread is on these processors as long as the object lives. Allocates nothing.
class StayOn {
 public:
  explicit StayOn(std::span<const int> processors);
  ~StayOn();
  StayOn(const StayOn&) = delete;
  StayOn& operator=(const StayOn&) = delete;

 private:
  bool moved_ = false;
  cpu_set_t before_;
};

}  // namespace pantoum::host
