// What is true of every plan that first computes the ops of a cost graph in a given order, or in any: the facts that the
// rows of a certificate are made from. Derived from the cost graph alone; sharing a struct with nobody.
//
// In any order: the ops that end the segments are a chain, each reading, whatever its choice, what comes from the one
// before. So every plan first computes them in this sequence and has the same segments; and an op that comes after the
// link that ends segment e, and before the one that ends segment f, is first computed in e+1..f. Where that is one
// segment, it is known as in a given order; else the op floats.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/index.h"
#include "check/words.h"

namespace pantoum::check {

struct TensorFacts {
  int64_t bytes = 0;
  int64_t size = 0;       // rounded up to the alignment: blocks that do not overlap do not either when rounded
  int32_t producer = -1;  // position in the order of the op that writes it
  int32_t definition_segment = -1;  // the producer's first segment; -1: no op writes it
  int32_t taker = -1;               // position of the op whose successor of it may stand in its place
  bool starts_in_ram = false, starts_in_aux = false, in_rom = false;
  bool pinned = false;
  bool ends_in_ram = false, ends_in_aux = false;  // the duties of a successor included
  bool pages = false;                             // may be in storage: from the start, or written there
  double in_s = 0, out_s = 0, in_j = 0, out_j = 0;
};

// Choices are those whose numerics a plan may use. Lists are ascending and name a tensor once; without what is in rom,
// which takes no RAM.
struct OpFacts {
  int32_t segment = 0, last_segment = 0;         // in which it may first be computed, and those between
  bool floats = false;                           // must run, and there are several
  bool optional = false, may_recompute = false;  // may_recompute: after its first time
  double seconds = 0, joules = 0;                // of the cheapest choice, each
  std::vector<int32_t> reads;                    // by every choice
  std::vector<int32_t> touches;                  // read or written by some choice
  int64_t working_set = 0;                       // of the leanest choice: what it reads and writes, and its workspace
};

class StepFacts {
 public:
  // The graph has passed problem::validate. E0805 for an order or boundaries that are none. Cost: linear.
  static Result<StepFacts> make(const CostGraph& graph, const Certificate& certificate);

  int32_t segments() const { return boundaries_.next_index(); }
  const base::Indexed<int32_t, TensorFacts>& tensors() const { return tensors_; }
  const base::Indexed<int32_t, OpFacts>& ops() const { return ops_; }
  int32_t op_count() const { return ops_.next_index(); }
  const TensorFacts& tensor(int32_t index) const { return tensors_[index]; }
  const OpFacts& op(int32_t position) const { return ops_[position]; }
  // Do the facts hold in any order? Then only the segments say what happens before what.
  bool any_order() const { return any_order_; }
  // The op whose first computation ends the segment; not of the last one.
  int32_t boundary_op(int32_t segment) const { return boundaries_[segment] - 1; }

  // May it be in RAM when the segment opens, be paged in during it, be recomputed (or, where it is optional or floats,
  // computed)?
  bool in_ram(int32_t segment, int32_t index) const {
    const TensorFacts& facts = tensor(index);
    if (facts.producer >= 0) return segment > facts.definition_segment;
    return facts.starts_in_ram || (facts.starts_in_aux && segment > 0);
  }

  bool paged_in(int32_t segment, int32_t index) const {
    return tensor(index).pages && segment >= tensor(index).definition_segment;
  }

  bool recomputed(int32_t segment, int32_t position) const {
    const OpFacts& facts = op(position);
    if (facts.floats && segment >= facts.segment && segment <= facts.last_segment) return true;
    return segment >= facts.segment && (facts.may_recompute || facts.optional);
  }

  // Is the tensor in RAM at some time in segments first..last whatever a plan does, without being brought there?
  bool available(int32_t first, int32_t last, int32_t index) const {
    const TensorFacts& facts = tensor(index);
    if (facts.pinned) return true;
    if (facts.producer < 0) return facts.starts_in_ram && first == 0;
    const OpFacts& made_by = op(facts.producer);
    return !made_by.optional && !made_by.floats && facts.definition_segment >= first &&
           facts.definition_segment <= last;
  }

  // Is it read in the segment by a first computation under every choice, or must it be in RAM at its end?
  bool needed(int32_t segment, int32_t index) const { return listed(needs_[segment], index); }

  bool reads(int32_t position, int32_t index) const { return listed(op(position).reads, index); }

  bool touches(int32_t position, int32_t index) const { return listed(op(position).touches, index); }

  // Bytes for all that the op does not touch, while it runs in the segment and at any time in it: the budget without
  // the staging buffer and what is pinned, and with what the topmost block need not be rounded up.
  int64_t budget_beside(int32_t segment, int32_t position) const {
    int64_t bytes = budget_ - pinned_after_[segment];
    for (const int32_t index : op(position).touches) {
      const TensorFacts& facts = tensor(index);
      const bool stays = facts.taker < 0 || op(facts.taker).segment > segment;
      if (facts.pinned && facts.starts_in_ram && stays) bytes += facts.size;
    }
    return bytes;
  }

  // May its successor's op, which floats, have taken its bytes by the end of the segment, and may it not? Else they
  // count in budget_beside, or not at all.
  bool pinned_or_replaced(int32_t segment, int32_t index) const {
    const TensorFacts& facts = tensor(index);
    if (!facts.pinned || !facts.starts_in_ram || facts.taker < 0) return false;
    const OpFacts& taker = op(facts.taker);
    return taker.floats && taker.segment <= segment && segment < taker.last_segment;
  }

 private:
  friend class FactFinder;
  static bool listed(const std::vector<int32_t>& set, int32_t member) {
    return std::binary_search(set.begin(), set.end(), member);
  }

  base::Indexed<int32_t, TensorFacts> tensors_;
  base::Indexed<int32_t, OpFacts> ops_;
  base::Indexed<int32_t, int32_t> boundaries_;          // by segment
  base::Indexed<int32_t, std::vector<int32_t>> needs_;  // by segment, ascending
  base::Indexed<int32_t, int64_t> pinned_after_;  // by segment: bytes pinned from the start until behind its boundary
  bool any_order_ = false;
  int64_t budget_ = 0;  // without the staging buffer, with what the topmost block need not be rounded up
};

}  // namespace pantoum::check
