// The cost graph of several queues, engines and channels of the pager, with tensors, ops and engines by index.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plan/simulate/indices.h"

namespace pantoum::plan {

// A set of engines, a bit each in the order of the device. The pager is none of them.
using Engines = uint64_t;

struct EngineModel {
  struct Way {                                            // a choice
    std::vector<int32_t> reads;                           // whole in RAM; without what is in rom
    std::vector<int32_t> writes;                          // whole in RAM, in the order of the choice's "writes"
    std::vector<int32_t> streams_in, streams_out;         // from storage and to it
    std::vector<int32_t> inputs, outputs;                 // all of them; without what is in rom
    std::vector<std::pair<int32_t, int32_t>> overwrites;  // tensors in RAM: output, input
    Bytes workspace = 0;
    Seconds seconds = 0, launch = 0;  // seconds: with the transfers of its streams, as the pager's mode has it
    Joules joules = 0;                // with those of its streams
    Engines engines = 0;
    size_t user = 0;                           // which of `users` these engines are
    bool moves_in = false, moves_out = false;  // which channels it keeps; with half duplex the first one alone
    bool permitted = true;  // by the question's freedoms, and it fits the budget; as the checker's bounds have it
    bool in_part = false;   // what it streams out is written in part
    bool possible = true;   // lists may have it: where it streams, the device, its slots and the freedoms allow that
    bool streams() const { return moves_in || moves_out; }
  };
  struct Op {
    std::vector<Way> ways;
    bool again = true;  // may be recomputed
    bool optional = false;
  };
  struct Tensor {
    Bytes bytes = 0, slot = 0;  // slot: whole blocks of the storage
    Home start = Home::kNone;
    bool pinned = false;
    bool ends_in_ram = false, ends_in_storage = false;
    int32_t home = -1;  // it has to end where this tensor started; -1: anywhere
    int32_t next = -1;
    int32_t maker = -1;      // the op that writes it
    int32_t slot_of = -1;    // whose slot in storage it may take, which then is lost; -1: it has one of its own
    int32_t slot_heir = -1;  // who may take its slot
  };

  // `starts`: a plan that says where tensors start and where the staging buffer is; null: one behind the other.
  EngineModel(const CostGraph& graph, const Question& question, const Plan* starts = nullptr);

  // The bytes that a way takes at least while it runs, rounded up to the alignment but for the topmost block.
  Bytes working_set(const Way& way) const;

  const CostGraph* graph;
  Question question;
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  std::vector<int32_t> order;  // ops
  std::vector<Engines> users;  // who uses bytes: the pager (no engine), and each set of engines that a choice names
  std::vector<Seconds> hand_overs;  // from user a to user b: at a * users.size() + b
  std::vector<Seconds> hand_offs;   // by engine
  Seconds longest_hand_off = 0;
  Bytes align = 1, staging = 0;
  bool streams = false;  // some way does
  const Plan* starts;

 private:
  void add_way(const problem::Op& op, const Choice& choice, Op& to);
  void permit(Op& op, const problem::Op& of) const;
  void share_slots();
  void find_possible();

  std::unordered_map<int64_t, int32_t> tensor_of_;
};

}  // namespace pantoum::plan
