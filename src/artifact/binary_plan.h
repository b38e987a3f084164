// The binary plan, which the runtime and the firmware execute. docs/plan-format.md documents the bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "problem/plan.h"
#include "runtime/plan_bytes.h"

namespace pantoum::artifact {

struct BinaryTensor {
  std::string name;                           // empty where nobody looks the tensor up, which saves bytes
  uint64_t bytes = 0;                         // rounded up to the alignment
  ir::TensorType type;                        // payload
  problem::Home home = problem::Home::kNone;  // between steps: none, ram, aux, rom
  int64_t ram_at = -1;                        // home ram: its offset; tensors of both programs agree on it
  int64_t storage_at = -1;                    // slot in auxiliary storage, when it is ever there
  int64_t rom_at = -1;
  int32_t next = -1;  // index of its successor
};

struct BinaryOperand {
  uint32_t tensor = 0;  // index in `tensors`
  ir::TensorType type;  // as this op sees it (aliases change shapes)
};

struct BinaryOp {
  ir::Kind kind{};
  uint16_t algorithm = 0;  // of the kernel table
  uint8_t engine = 0;      // of the kernel's key
  uint16_t threads = 0;    // at most; 0: all
  uint8_t engines = 1;     // that compute it, a bit each
  std::vector<BinaryOperand> inputs, outputs;
  ir::Attrs attrs;
  uint64_t workspace_bytes = 0;
  pt_slicing slicing = {};  // no loops: it is computed at once

  bool streams_out(size_t output) const { return (slicing.streamed >> (inputs.size() + output) & 1) != 0; }
};

struct BinaryInstruction {  // offsets already in bytes
  problem::Do what = problem::Do::kCompute;
  uint32_t subject = 0;      // index of an op in `ops`, or of a tensor
  std::vector<uint64_t> at;  // compute: one per output of the op that is not streamed; page_in: one
  uint64_t workspace_at = 0;
  // Engines that a compute takes and that have no threads, such as one that stands for the bandwidth of memory: a bit each
  // above those of its op.
  uint64_t also_takes = 0;
  // How many instructions of each queue must have ended before; add_waits fills it.
  std::array<uint32_t, PT_QUEUES> waits = {};
};

struct BinaryProgram {
  std::string name;  // "train", "eval"
  std::vector<BinaryInstruction> instructions;
  int64_t staging_at = -1;  // in the arena; -1: there is no staging buffer
};

struct BinaryPlan {
  uint64_t arena_bytes = 0, storage_bytes = 0, staging_bytes = 0;
  uint32_t align_bytes = 1;
  std::vector<BinaryTensor> tensors;
  std::vector<BinaryOp> ops;  // of all programs; an op with several choices stands once per choice that a program uses
  std::vector<BinaryProgram> programs;
};

// Fills the waits of every instruction, if ops have other engines than the first: for all earlier accesses of the bytes that it
// accesses, unless both only read, and for the engines that it takes. Cost: near (instructions) x (pieces of bytes that
// instructions accessed).
void add_waits(BinaryPlan& plan);

// The bytes; E0250 where something does not fit the format (too many operands, rank over 6, offsets not aligned).
Result<std::vector<std::byte>> encode(const BinaryPlan& plan);
// The same plan for a board, which looks nothing up by its name. `plan`: bytes that pt_plan_open opens.
std::vector<std::byte> without_names(std::span<const std::byte> plan);

}  // namespace pantoum::artifact
