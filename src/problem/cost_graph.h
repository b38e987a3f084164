// The question that the planner is asked: a training step with every cost known (`pantoum.costgraph/1`).
//
// The planner, placer and checker know nothing of networks; this is all they see. JSON is read and written by
// cost_graph_json.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/lists.h"
#include "base/quantities.h"
#include "base/result.h"

namespace pantoum::problem {

using base::Bytes;
using base::Joules;
using base::Seconds;
using base::Watts;

enum class Home : uint8_t { kNone, kRam, kAux, kRom };
enum class PagerMode : uint8_t { kNone, kSync, kAsync };

struct Link {  // one direction of the storage
  Seconds latency_s = 0;
  double bytes_per_s = 1;
  Watts w = 0;
};

struct Pager {
  PagerMode mode = PagerMode::kNone;
  bool full_duplex = false;
  Bytes block_bytes = 1;
  Bytes staging_bytes = 0;
  Bytes capacity_bytes = -1;  // -1: not limited
  Link in, out;
};

// Runs one op at a time: a cluster of cores, one core, a GPU, an NPU. Figures are 0 where nobody gives them.
struct Engine {
  std::string name;
  Watts idle_w = 0;       // while a plan that uses the engine runs
  Seconds launch_s = 0;   // of the issuer, for each op that it hands over
  Seconds handoff_s = 0;  // until another engine knows that an op of this one has ended, and the other way round
  bool operator==(const Engine&) const = default;
};

struct Device {
  std::string name;
  std::string costs_of;  // whose figures seconds and joules are, in words; "": nobody says
  Bytes ram_bytes = 0;
  Bytes align_bytes = 1;
  Watts idle_w = 0;
  std::vector<Engine> engines = {{.name = "cpu"}};  // the first one issues
  Pager pager;
};

struct Tensor {
  int64_t id = 0;
  std::string name;
  Bytes bytes = 0;
  Home start = Home::kNone;
  Home end = Home::kNone;
  bool pinned = false;
  int64_t next = -1;  // id of the successor; -1: none
};

// What a choice reads from storage and writes to it, slice by slice, through its workspace.
struct Stream {
  std::vector<int> in, out;           // positions of inputs and outputs; the others are whole in RAM
  Bytes bytes_in = 0, bytes_out = 0;  // moved in one run of the op, each pass counted; whole blocks
  int64_t transfers_in = 0, transfers_out = 0;
  std::optional<Seconds> async_s;  // of the op, where transfers run beside computing; none: they do not
  bool in_place = false;           // what is not written of an output stays; it has the slot of an input

  bool any() const { return !in.empty() || !out.empty(); }
  bool operator==(const Stream&) const = default;
};

struct Choice {
  std::string algorithm = "only";
  std::string numerics;
  std::vector<std::string> engines;  // the op takes all of them at once; empty: the device's first
  Seconds time_s = 0;
  Joules energy_j = 0;
  Bytes workspace_bytes = 0;
  std::vector<std::pair<int, int>> overwrites;  // (output position, input position)
  std::vector<int> reads, writes;               // positions; filled in full when the file leaves them out
  Stream stream;                                // any() is false: the choice streams nothing
  std::vector<int> slices;  // steps of the loops of an op in slices, the outermost first; told, not planned with

  // Is the input, or the output, at this position whole in RAM while the choice runs?
  bool reads_whole(int position) const { return !base::contains(stream.in, position); }
  bool writes_whole(int position) const { return !base::contains(stream.out, position); }
  // The positions of the outputs that the choice writes whole in RAM: a plan has an offset for each.
  std::vector<int> whole_writes() const;
};

struct Op {
  int64_t id = 0;
  std::string name;
  std::vector<int64_t> inputs, outputs;  // tensor ids; an input may stand twice
  bool recompute = true;
  bool optional = false;
  std::vector<Choice> choices;

  // The tensor at a position.
  int64_t input(int position) const { return inputs[static_cast<size_t>(position)]; }
  int64_t output(int position) const { return outputs[static_cast<size_t>(position)]; }
};

struct CostGraph {
  std::string name;
  Device device;
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  std::vector<int64_t> order;  // op ids, topological; filled from `ops` when the file leaves it out
};

inline constexpr size_t kMostEngines = 64;

// The engines that the choice takes, a bit each in the device's order; they exist.
uint64_t engines_of(const Device& device, const Choice& choice);

inline bool several_engines(const Device& device) {
  return device.engines.size() > 1;
}

// Does a choice stream?
bool streams(const CostGraph& graph);

// Is the graph one of several engines, or of streams? Its plans are of one list over several queues.
bool has_queues(const CostGraph& graph);

// The watts that the makespan costs on a device of one engine: an engine that no op has to use is off.
Watts idle_watts(const CostGraph& graph);

// Seconds and joules of one transfer of `bytes`, as semantics.md has them.
Seconds transfer_seconds(const Pager& pager, const Link& link, Bytes bytes);

// Seconds and joules of a choice that streams, with its transfers, as semantics.md has them. Without streams: its own.
struct ChoiceCosts {
  Seconds seconds = 0, seconds_in = 0, seconds_out = 0;  // seconds_in, seconds_out: of its transfers alone
  Joules joules = 0;
};
ChoiceCosts costs_of(const Pager& pager, const Choice& choice);

// Says where a plan's seconds come from, for figures: "measured 83%, modelled by profile host 17%; storage measured"
// if some were measured, else "modelled". The text may come from a stranger's file.
inline std::string time_source(const Device& device) {
  return device.costs_of.find("measured") != std::string::npos ? device.costs_of : "modelled";
}

// Says the same for a time beside an energy. Joules follow from seconds by a profile's watts, whatever was measured.
inline std::string time_and_energy_source(const Device& device) {
  const std::string time = time_source(device);
  return time == "modelled" ? time : "time " + time + "; energy modelled";
}

// E0221 unless ids are unique, every tensor has one producer at most, positions exist, costs are finite and not
// negative, engines have different names and the first one no launch_s, a choice's engines exist, some choice of the first one's numerics writes all outputs, a stream moves whole blocks and
// every output whole and takes no less than computing or moving, a pinned tensor's next is no
// larger than the tensor, no choice overwrites a pinned tensor with another than its next, and `order` is a
// topological order of all ops (optional ones included) in which every input is there when it is read.
Result<void> validate(const CostGraph& graph);

// A hash of everything but names and costs (times, joules): the question's structure. Ties a plan to its model.
uint64_t structure_hash(const CostGraph& graph);

}  // namespace pantoum::problem
