#include <algorithm>
#include <bit>
#include <map>

#include "artifact/binary_plan.h"

namespace pantoum::artifact {
namespace {

using problem::Do;
using Counts = std::array<uint32_t, PT_QUEUES>;

size_t queue_of(const BinaryPlan& plan, const BinaryInstruction& step) {
  if (step.what == Do::kPageOut) return PT_QUEUE_OUT;
  if (step.what == Do::kPageIn) return PT_QUEUE_IN;
  return static_cast<size_t>(std::countr_zero(plan.ops[step.subject].engines));
}

// A partition of the bytes that instructions accessed, by where each piece begins.
class Pieces {
 public:
  // Calls act(piece) for the pieces of [at, at + bytes), which are cut there.
  template <class Act>
  void in(uint64_t at, uint64_t bytes, const Act& act) {
    cut(at);
    cut(at + bytes);
    uint64_t next = at;
    for (auto piece = pieces_.lower_bound(at); next < at + bytes; ++piece) {
      if (piece == pieces_.end() || piece->first > next) {
        const uint64_t end = piece == pieces_.end() ? at + bytes : std::min(at + bytes, piece->first);
        piece = pieces_.emplace(next, Piece{.end = end, .touched = {}}).first;
      }
      act(piece->second);
      next = piece->second.end;
    }
  }

  struct Piece {
    uint64_t end = 0;
    Counts touched = {};  // by queue: the last instruction that a write has to wait for
    size_t writer = 0;
    uint32_t wrote = 0;  // of the writer's queue; 0: none
  };

 private:
  void cut(uint64_t at) {
    auto behind = pieces_.upper_bound(at);
    if (behind == pieces_.begin()) return;
    const auto piece = std::prev(behind);
    if (piece->first == at || piece->second.end <= at) return;
    pieces_.emplace_hint(behind, at, piece->second);
    piece->second.end = at;
  }

  std::map<uint64_t, Piece> pieces_;
};

class Waits {
 public:
  explicit Waits(const BinaryPlan& plan) : plan_(plan), ram_(plan.tensors.size()) {}

  void fill(BinaryProgram& program) {
    for (size_t tensor = 0; tensor < ram_.size(); ++tensor)
      ram_[tensor] = plan_.tensors[tensor].home == problem::Home::kRam ? plan_.tensors[tensor].ram_at : -1;
    for (BinaryInstruction& step : program.instructions) {
      if (step.what == Do::kFree) continue;
      const size_t queue = queue_of(plan_, step);
      needed_ = {};
      access(step, queue, issued_[queue] + 1);
      ++issued_[queue];
      for (size_t other = 0; other < needed_.size(); ++other) {
        if (other == queue || needed_[other] <= known_[queue][other]) continue;
        step.waits[other] = known_[queue][other] = needed_[other];
      }
    }
  }

 private:
  void need(size_t queue, uint32_t number) { needed_[queue] = std::max(needed_[queue], number); }

  void read(Pieces& space, uint64_t at, uint64_t bytes, size_t queue, uint32_t number) {
    space.in(at, bytes, [&](Pieces::Piece& piece) {
      if (piece.wrote != 0) need(piece.writer, piece.wrote);
      piece.touched[queue] = number;
    });
  }

  void write(Pieces& space, uint64_t at, uint64_t bytes, size_t queue, uint32_t number) {
    space.in(at, bytes, [&](Pieces::Piece& piece) {
      for (size_t other = 0; other < piece.touched.size(); ++other) need(other, piece.touched[other]);
      piece.touched = {};
      piece.touched[queue] = number;
      piece.writer = queue;
      piece.wrote = number;
    });
  }

  void access(const BinaryInstruction& step, size_t queue, uint32_t number) {
    if (step.what == Do::kCompute) return compute(step, queue, number);
    const BinaryTensor& tensor = plan_.tensors[step.subject];
    const auto slot = static_cast<uint64_t>(tensor.storage_at);
    if (step.what == Do::kPageOut) {
      read(arena_, static_cast<uint64_t>(ram_[step.subject]), tensor.bytes, queue, number);
      write(storage_, slot, tensor.bytes, queue, number);
    } else {
      read(storage_, slot, tensor.bytes, queue, number);
      write(arena_, step.at[0], tensor.bytes, queue, number);
      ram_[step.subject] = static_cast<int64_t>(step.at[0]);
    }
  }

  void compute(const BinaryInstruction& step, size_t queue, uint32_t number) {
    const BinaryOp& op = plan_.ops[step.subject];
    for (uint64_t taken = step.also_takes | op.engines; taken != 0; taken &= taken - 1) {
      auto& [of, last] = taken_[std::countr_zero(taken)];
      if (last != 0) need(of, last);
      of = queue, last = number;
    }
    for (const BinaryOperand& input : op.inputs)
      if (plan_.tensors[input.tensor].home != problem::Home::kRom)
        read(arena_, static_cast<uint64_t>(ram_[input.tensor]), plan_.tensors[input.tensor].bytes, queue, number);
    for (size_t output = 0; output < op.outputs.size(); ++output) {
      const uint32_t tensor = op.outputs[output].tensor;
      write(arena_, step.at[output], plan_.tensors[tensor].bytes, queue, number);
      ram_[tensor] = static_cast<int64_t>(step.at[output]);
    }
    const uint64_t units = (op.workspace_bytes + plan_.align_bytes - 1) / plan_.align_bytes;
    if (units > 0) write(arena_, step.workspace_at, units * plan_.align_bytes, queue, number);
  }

  const BinaryPlan& plan_;
  std::vector<int64_t> ram_;  // by tensor: where it is
  Pieces arena_, storage_;
  Counts issued_ = {}, needed_ = {};
  std::array<Counts, PT_QUEUES> known_ = {};
  std::map<int, std::pair<size_t, uint32_t>> taken_;  // by engine: queue and number of the last compute that took it
};

}  // namespace

void add_waits(BinaryPlan& plan) {
  if (std::ranges::all_of(plan.ops, [](const BinaryOp& op) { return op.engines == 1; })) return;
  for (BinaryProgram& program : plan.programs) Waits(plan).fill(program);
}

}  // namespace pantoum::artifact
