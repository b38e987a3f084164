// What is true of every plan of a graph with several engines or with streams, whatever its order: the facts that bounds of its seconds are
// made from. Derived from the cost graph alone. All figures are rounded down.
//
// Of an op that must run, one computation stands for it: that which ends first. What it reads was made by computations that
// ended before it began, so the one that stands for their op had ended too.
#pragma once

#include <cstdint>
#include <vector>

#include "check/words.h"

namespace pantoum::check {

struct EngineWay {                     // a choice that is permitted, and that fits the budget
  double seconds = 0, joules = 0;      // with the transfers of its streams
  double launch = 0;                   // of the issuer, to hand the op over
  uint64_t engines = 0;                // a bit each; the issuer is the lowest
  double begin = 0;                    // no computation by this choice begins earlier
  std::vector<int32_t> reads, writes;  // streamed ones too
  std::vector<int32_t> streams_in, streams_out;

  bool takes(int32_t engine) const { return (engines >> engine & 1) != 0; }
};

struct EngineOp {
  std::vector<EngineWay> ways;
  bool runs = false;                   // in every plan
  std::vector<int32_t> before, after;  // ops that run, and whose results this one reads by every choice; the reverse
  double head = 0;                     // it begins no earlier
  double tail = 0;                     // the step ends so much later than the computation that stands for it
};

class EngineFacts {
 public:
  // The graph has passed problem::validate. Of an op of which no choice fits the budget, all are looked at.
  // Cost: reads times the choices of the op that makes what is read.
  EngineFacts(const CostGraph& graph, const Freedoms& freedoms, int64_t budget = INT64_MAX);

  // In the order of the graph.
  const std::vector<EngineOp>& ops() const { return ops_; }
  const EngineOp& op(int32_t position) const { return ops_[static_cast<size_t>(position)]; }
  int64_t edges() const { return edges_; }  // of `before`
  int32_t engines() const { return static_cast<int32_t>(hand_offs_.size()); }
  // The transfers that must happen.
  struct Moved {
    double in_s = 0, out_s = 0, joules = 0;
  };
  const Moved& moved() const { return moved_; }
  // The seconds from the end of any computation of one op, whose results another one reads by every choice, to the begin of this
  // choice of the other.
  double wait(int32_t from, const EngineWay& way) const;

  // The longest chain of ops, and of those that end in storage their transfer.
  double longest() const { return longest_; }
  // What an engine must run at the least, with what the issuer must launch, and the transfers that block it.
  double load(int32_t engine) const;
  // All loads together over the number of engines.
  double mean_load() const;

  // May be computed after all of `from` and before all of `to`, in every plan: what must run between. -1: from the begin, to
  // the end. Ascending. Cost: linear.
  std::vector<int32_t> between(int32_t from, int32_t to) const;

 private:
  struct Stored {
    int32_t maker = -1;
    double earliest = 0;                      // of what no op makes
    double into = HUGE_VAL, back = HUGE_VAL;  // storage: a transfer of its own
    double out = 0;  // it must end in storage, does not start there, and no choice streams it there
  };
  void add_tensors(const CostGraph& graph);
  void add_ops(const CostGraph& graph, const Freedoms& freedoms, int64_t budget);
  void find_what_runs(const CostGraph& graph);
  void find_heads();
  void find_tails();
  double hand_off(uint64_t one, uint64_t other) const;
  double delay(const EngineWay& made, const EngineWay& way, int32_t tensor) const;
  double arrival(int32_t tensor, const EngineWay& way) const;
  std::vector<bool> reached(int32_t from, std::vector<int32_t> EngineOp::*next) const;

  std::vector<EngineOp> ops_;
  std::vector<Stored> tensors_;
  std::vector<bool> ends_there_;  // by tensor: in storage
  std::vector<double> hand_offs_;
  Moved moved_;
  double longest_ = 0;
  int64_t edges_ = 0;
  bool blocks_ = false;  // transfers block the issuer
};

}  // namespace pantoum::check
