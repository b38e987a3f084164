// Small plans and pagers for tests of the interpreter. The kernels (relu, add, sgd without momentum) are plain loops.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "artifact/binary_plan.h"
#include "pantoum/pantoum.h"

namespace pantoum::runtime_test {

using artifact::BinaryInstruction;
using artifact::BinaryOp;
using artifact::BinaryOperand;
using artifact::BinaryPlan;
using artifact::BinaryProgram;
using artifact::BinaryTensor;
using ir::Kind;
using problem::Do;
using problem::Home;

inline constexpr uint32_t kAlign = 64;
inline constexpr int64_t kLength = 16;  // in floats; they fill one unit of kAlign bytes

inline ir::TensorType vector_of(int64_t length, ir::DType dtype = ir::DType::kF32) {
  return {dtype, {length}};
}

inline BinaryTensor tensor(std::string name, Home home = Home::kNone, int64_t ram_at = -1, int64_t storage_at = -1) {
  return {.name = std::move(name),
          .bytes = kAlign,
          .type = vector_of(kLength),
          .home = home,
          .ram_at = ram_at,
          .storage_at = storage_at};
}

inline BinaryOp op(Kind kind, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs, ir::Attrs attrs = {}) {
  BinaryOp made;
  made.kind = kind;
  made.attrs = std::move(attrs);
  for (const uint32_t input : inputs) made.inputs.push_back({input, vector_of(kLength)});
  for (const uint32_t output : outputs) made.outputs.push_back({output, vector_of(kLength)});
  return made;
}

inline BinaryInstruction compute(uint32_t of, std::vector<uint64_t> at) {
  return {.what = Do::kCompute, .subject = of, .at = std::move(at)};
}
inline BinaryInstruction page_out(uint32_t of) {
  return {.what = Do::kPageOut, .subject = of, .at = {}};
}
inline BinaryInstruction page_in(uint32_t of, uint64_t at) {
  return {.what = Do::kPageIn, .subject = of, .at = {at}};
}
inline BinaryInstruction release(uint32_t of) {
  return {.what = Do::kFree, .subject = of, .at = {}};
}

inline std::vector<std::byte> encoded(const BinaryPlan& plan) {
  auto bytes = artifact::encode(plan);
  EXPECT_TRUE(bytes.has_value()) << bytes.error().message << " at " << bytes.error().where;
  return bytes ? *bytes : std::vector<std::byte>{};
}

// ---- kernels ----

inline float* floats(const pt_tensor& of) {
  return static_cast<float*>(of.data);
}

inline pt_status relu(const pt_call* call) {
  for (uint32_t at = 0; at < call->inputs[0].dims[0]; ++at)
    floats(call->outputs[0])[at] = floats(call->inputs[0])[at] > 0 ? floats(call->inputs[0])[at] : 0;
  return PT_OK;
}
inline pt_status add(const pt_call* call) {
  for (uint32_t at = 0; at < call->outputs[0].dims[0]; ++at)
    floats(call->outputs[0])[at] = floats(call->inputs[0])[at] + floats(call->inputs[1])[at];
  return PT_OK;
}
inline pt_status sgd(const pt_call* call) {
  for (uint32_t at = 0; at < call->outputs[0].dims[0]; ++at)
    floats(call->outputs[0])[at] =
        floats(call->inputs[0])[at] - static_cast<float>(call->scalars->lr) * floats(call->inputs[1])[at];
  return PT_OK;
}
inline pt_status refuse_data(const pt_call*) {
  return PT_E_DATA;
}

inline const pt_kernel_table* kernels() {
  static const pt_kernel rows[] = {
      {PT_OP_relu, PT_F32, 0, 0, "reference", "fixed", relu, nullptr, nullptr},
      {PT_OP_add, PT_F32, 0, 0, "reference", "fixed", add, nullptr, nullptr},
      {PT_OP_sgd, PT_F32, 0, 0, "reference", "fixed", sgd, nullptr, nullptr},
      {PT_OP_neg, PT_F32, 0, 0, "reference", "fixed", refuse_data, nullptr, nullptr},
      {PT_OP_exp, PT_F32, 0, 0, "reference", "fixed", relu, nullptr, [](const pt_call*) { return size_t{100}; }},
  };
  static const pt_kernel_table table = {rows, std::size(rows)};
  return &table;
}

// ---- pagers ----

// A pager that performs each transfer as late as its contract allows. wait() performs the transfer of that ticket and, before it, the open transfers
// that its `after` orders before it (all tickets up to `after`), and no others. So if the interpreter fails to order two transfers, a test sees wrong
// data.
class LazyPager {
 public:
  explicit LazyPager(size_t bytes) : storage(bytes) {
    interface_.context = this;
    interface_.read = [](void* self, uint64_t at, void* data, size_t bytes_of, uint32_t ticket, uint32_t after) {
      return static_cast<LazyPager*>(self)->take({at, static_cast<std::byte*>(data), bytes_of, ticket, after, false});
    };
    interface_.write = [](void* self, uint64_t at, const void* data, size_t bytes_of, uint32_t ticket, uint32_t after) {
      auto* from = static_cast<std::byte*>(const_cast<void*>(data));
      return static_cast<LazyPager*>(self)->take({at, from, bytes_of, ticket, after, true});
    };
    interface_.wait = [](void* self, uint32_t ticket) { return static_cast<LazyPager*>(self)->wait(ticket); };
  }
  [[nodiscard]] const pt_pager* interface() const { return &interface_; }

  struct Open {
    uint64_t at;
    std::byte* data;
    size_t bytes;
    uint32_t ticket, after;
    bool writes;
  };
  std::vector<std::byte> storage;
  std::vector<Open> open, log;
  size_t most_open = 0;
  uint32_t last_ticket = 0;
  uint32_t fails_at = 0;  // the ticket whose wait fails
  std::function<void()> called = [] {};  // at every call
  pt_status failure = PT_E_IO;

 private:
  pt_status take(const Open& transfer) {
    called();
    EXPECT_GT(transfer.ticket, last_ticket);
    EXPECT_LT(transfer.after, transfer.ticket);
    last_ticket = transfer.ticket;
    if (transfer.at + transfer.bytes > storage.size()) return PT_E_ARGUMENT;
    open.push_back(transfer);
    log.push_back(transfer);
    most_open = std::max(most_open, open.size());
    return PT_OK;
  }
  void perform(uint32_t ticket) {
    size_t index = 0;
    while (index < open.size() && open[index].ticket != ticket) ++index;
    if (index == open.size()) return;
    const Open transfer = open[index];
    for (bool again = transfer.after != 0; again;) {
      again = false;
      for (const Open& before : open) {
        if (before.ticket > transfer.after) continue;
        perform(before.ticket);
        again = true;
        break;
      }
    }
    std::erase_if(open, [&](const Open& other) { return other.ticket == ticket; });
    std::byte* slot = storage.data() + transfer.at;
    std::memcpy(transfer.writes ? slot : transfer.data, transfer.writes ? transfer.data : slot, transfer.bytes);
  }
  pt_status wait(uint32_t ticket) {
    called();
    perform(ticket);
    return ticket == fails_at ? failure : PT_OK;
  }
  pt_pager interface_{};
};

// ---- sessions ----

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, FreeMemory>;

inline Memory memory_of(size_t bytes) {
  const size_t whole = (bytes + kAlign) / kAlign * kAlign;
  Memory made(std::aligned_alloc(kAlign, whole));
  std::memset(made.get(), 0xCD, whole);
  return made;
}

// A plan with the memory, the pager and the session that run it.
class Machine {
 public:
  explicit Machine(const BinaryPlan& from, const pt_kernel_table* with = kernels(), const pt_pool* pool = nullptr)
      : bytes(encoded(from)), pager(from.storage_bytes) {
    opened = pt_plan_open(&plan, bytes.data(), bytes.size());
    EXPECT_EQ(opened, PT_OK);
    if (opened != PT_OK) return;
    arena = memory_of(plan.arena_bytes);
    memory = memory_of(pt_session_bytes(&plan));
    buffer = memory_of(kAlign);
    opened = pt_session_open(&session, &plan, memory.get(), arena.get(), nullptr, with, pager.interface(), pool);
  }
  pt_status run(const char* program, double lr = 1) {
    const pt_scalars scalars = {1, 0, lr};
    return pt_run(session, static_cast<uint32_t>(pt_plan_program(&plan, program)), &scalars);
  }
  [[nodiscard]] uint32_t index(const char* name) const { return static_cast<uint32_t>(pt_plan_tensor(&plan, name)); }
  pt_status set(const char* name, std::vector<float> values) {
    values.resize(kLength, values.back());
    return pt_session_write(session, index(name), 0, values.data(), 4 * kLength, buffer.get(), kAlign);
  }
  std::vector<float> get(const char* name, size_t count = 1) {
    std::vector<float> values(count);
    EXPECT_EQ(pt_session_read(session, index(name), 0, values.data(), 4 * count, buffer.get(), kAlign), PT_OK);
    return values;
  }

  std::vector<std::byte> bytes;
  LazyPager pager;
  pt_plan plan{};
  pt_session* session = nullptr;
  pt_status opened = PT_OK;
  Memory arena, memory, buffer;
};

}  // namespace pantoum::runtime_test
