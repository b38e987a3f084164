// What comes before what in every plan of several engines, how early an op can begin, and how much must follow it.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/realize/engine_model.h"

namespace pantoum::plan {

// Ops are positions in the order of the graph. The facts are those that the checker derives itself (check/engine_facts.h), in
// plain doubles.
struct EngineChains {
  struct Op {
    bool runs = false;                   // in every plan
    std::vector<int32_t> before, after;  // ops that run, and whose results this one reads by every choice; the reverse
    Seconds head = 0, tail = 0;          // before its begin and after its end
    std::vector<Seconds> begin;          // by choice: none begins earlier
    Seconds end = 0;                     // no choice ends earlier
  };

  explicit EngineChains(const EngineModel& model);

  const EngineModel::Op& of(int32_t position) const {
    return model.ops[static_cast<size_t>(model.order[static_cast<size_t>(position)])];
  }
  const Op& op(int32_t position) const { return ops[static_cast<size_t>(position)]; }
  // The seconds from the end of one op to the begin of this choice of an op that reads its results.
  Seconds wait(int32_t from, const EngineModel::Way& way) const;
  // Ops that run behind one and before the other; -1: from the begin, to the end.
  std::vector<int32_t> between(int32_t from, int32_t to) const;

  const EngineModel& model;
  std::vector<Op> ops;
  Seconds moved_in = 0, moved_out = 0;  // transfers that must happen
  Joules moved = 0;
  Seconds longest = 0;  // chain
  bool blocks = false;  // transfers block the issuer

 private:
  void add_what_runs();
  void add_transfers(const std::vector<bool>& read);
  void add_heads();
  void add_tails();
  Seconds hand_off(Engines one, Engines other) const;
  // From the end of one computation to when another can have the tensor that it made, at least.
  Seconds delay(const EngineModel::Way& made, const EngineModel::Way& way, int32_t tensor) const;
  Seconds arrival(int32_t tensor, const EngineModel::Way& reader) const;
  std::vector<bool> reached(int32_t from, std::vector<int32_t> Op::*next) const;

  std::vector<int32_t> position_of_;  // by op of the model
  std::vector<Seconds> into_, back_, out_,
      first_;  // by tensor: to storage; from there; its last transfer; at the begin
};

}  // namespace pantoum::plan
