// The rows of the engine's kernel table: for each operator its work items, launch by launch. An operand of a call has a slot, and a program of
// OpenCL reads a call as a `Parameters` (programs/prelude.cl declares the same).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "pantoum/pantoum.h"

namespace pantoum::opencl {

constexpr size_t kInputs = 6, kOutputs = 4, kSlots = kInputs + kOutputs + 1;  // the last is the workspace

struct Parameters {
  uint64_t items = 0;  // work items; those beyond do nothing
  uint64_t at[kSlots] = {};
  int64_t ints[PT_MAX_ATTRS] = {};
  int64_t extra[4] = {};
  uint32_t dims[kInputs + kOutputs][PT_MAX_RANK] = {};
  uint32_t rank[kInputs + kOutputs] = {};
  float reals[PT_MAX_ATTRS] = {};
  uint32_t inputs = 0, outputs = 0;
};
static_assert(sizeof(Parameters) == 8 * (1 + kSlots + PT_MAX_ATTRS + 4) + 4 * (10 * 6 + 10 + PT_MAX_ATTRS + 2) &&
              PT_MAX_RANK == 6);

enum class Source : uint8_t { kElements, kMoves, kRows, kImages, kProducts, kCheck, kCount };

// One kernel over so many items. Slot k holds input `first_input` + k, and so for outputs.
struct Launch {
  const char* kernel;
  size_t items;
  size_t first_input = 0, first_output = 0;
  std::array<int64_t, 4> extra = {};
  std::vector<float> reals = {};  // instead of the call's
};

struct Row {
  uint16_t op;
  uint8_t dtype;
  Source source;
  bool needs_doubles;
  const char* numerics;  // of the portable kernel whose bits this one gives on a device that computes as IEEE 754 says
  // The launches, in order. PT_E_DATA: a label or an index is out of range.
  pt_status (*launches)(const pt_call& call, std::vector<Launch>& made);
  size_t (*workspace)(const pt_call& call) = nullptr;
};

std::span<const Row> rows();

}  // namespace pantoum::opencl
