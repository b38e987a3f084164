#include <gtest/gtest.h>

#include <csetjmp>
#include <utility>
#include <vector>

#include "testing/binary_plans.h"

namespace pantoum::runtime_test {
namespace {

// x -> relu -> y; x + y -> z. Everything stays in RAM.
BinaryPlan two_ops() {
  return {.arena_bytes = 3 * kAlign,
          .align_bytes = kAlign,
          .tensors = {tensor("x", Home::kRam, 0), tensor("y"), tensor("z", Home::kRam, 2 * kAlign)},
          .ops = {op(Kind::k_relu, {0}, {1}), op(Kind::k_add, {0, 1}, {2})},
          .programs = {{"train", {compute(0, {kAlign}), compute(1, {2 * kAlign}), release(1)}}}};
}

// As above, but y goes to storage and comes back elsewhere, and its old bytes are taken at once by a page_in.
BinaryPlan paged() {
  BinaryPlan plan = two_ops();
  plan.storage_bytes = 2 * kAlign;
  plan.arena_bytes = 4 * kAlign;
  plan.tensors[1].storage_at = 0;
  plan.tensors.push_back(tensor("w", Home::kAux, -1, kAlign));
  plan.programs[0].instructions = {compute(0, {kAlign}),     page_out(1), release(1),
                                   page_in(3, kAlign),       release(3),  page_in(1, 3 * kAlign),
                                   compute(1, {2 * kAlign}), release(1)};
  return plan;
}

TEST(Interpreter, ComputesInOrder) {
  Machine machine(two_ops());
  ASSERT_EQ(machine.opened, PT_OK);
  ASSERT_EQ(machine.set("x", {-3, 5}), PT_OK);
  ASSERT_EQ(machine.run("train"), PT_OK);
  EXPECT_EQ(machine.get("z", 2), (std::vector<float>{-3, 10}));
}

TEST(Interpreter, PagesOutAndBackInBehindTheWrite) {
  Machine machine(paged());
  ASSERT_EQ(machine.opened, PT_OK);
  ASSERT_EQ(machine.set("x", {2, 4}), PT_OK);
  ASSERT_EQ(machine.set("w", {100}), PT_OK);
  const uint32_t before = machine.pager.last_ticket;
  machine.pager.log.clear();
  ASSERT_EQ(machine.run("train"), PT_OK);
  EXPECT_EQ(machine.get("z", 2), (std::vector<float>{4, 8}));
  ASSERT_EQ(machine.pager.log.size(), 3U);
  EXPECT_EQ(machine.pager.log[0].after, 0U);
  EXPECT_EQ(machine.pager.log[1].after, before + 1);  // into bytes that are still being written out
  EXPECT_EQ(machine.pager.log[2].after, before + 1);  // from a slot that is still being written
  EXPECT_GT(machine.pager.most_open, 1U);             // the stream went on meanwhile
}

TEST(Interpreter, WaitsBeforeComputingIntoBytesThatAreBeingWrittenOut) {
  BinaryPlan plan = two_ops();
  plan.storage_bytes = kAlign;
  plan.tensors[0].storage_at = 0;
  // x leaves for storage; z takes its very bytes before anyone waited; then x comes back from storage.
  plan.ops = {op(Kind::k_relu, {0}, {1}), op(Kind::k_relu, {1}, {2}), op(Kind::k_add, {0, 1}, {2})};
  plan.programs[0].instructions = {compute(0, {kAlign}),     page_out(0), release(0),
                                   compute(1, {0}),          release(2),  page_in(0, 0),
                                   compute(2, {2 * kAlign}), release(1)};
  Machine machine(plan);
  ASSERT_EQ(machine.opened, PT_OK);
  ASSERT_EQ(machine.set("x", {-7, 3}), PT_OK);
  ASSERT_EQ(machine.run("train"), PT_OK);
  EXPECT_EQ(machine.get("z", 2), (std::vector<float>{-7, 6}));
}

// A callback that calls back: every function for between runs.
struct CallsBack {
  Machine* machine = nullptr;
  int calls = 0;
  void now() {
    if (machine == nullptr) return;
    Machine* const on = std::exchange(machine, nullptr);  // a pager's own work in these calls is not of the run
    ++calls;
    std::vector<float> values(kLength);
    std::vector<uint8_t> roles(8);
    const pt_scalars scalars = {1, 0, 1};
    EXPECT_EQ(pt_run(on->session, 0, &scalars), PT_E_STATE);
    for (const char* name : {"x", "w"}) {
      EXPECT_EQ(pt_session_read(on->session, on->index(name), 0, values.data(), 4, on->buffer.get(), kAlign), PT_E_STATE);
      EXPECT_EQ(pt_session_write(on->session, on->index(name), 0, values.data(), 4, on->buffer.get(), kAlign), PT_E_STATE);
    }
    EXPECT_EQ(pt_session_set_roles(on->session, roles.data(), roles.size()), PT_E_STATE);
    machine = on;
  }
} calls_back;

template <uint16_t kOp>
pt_status submit_and_call_back(const pt_call* call) {
  calls_back.now();
  return pt_kernel_find(kernels(), kOp, PT_F32, 0, 0)->submit(call);
}

TEST(Interpreter, ACallbackThatCallsBackIsRefusedAndTheRunGoesOn) {
  std::vector<pt_kernel> rows(kernels()->kernels, kernels()->kernels + kernels()->count);
  for (pt_kernel& row : rows) {
    if (row.op == PT_OP_relu && row.dtype == PT_F32 && row.algorithm == 0) row.submit = submit_and_call_back<PT_OP_relu>;
    if (row.op == PT_OP_add && row.dtype == PT_F32 && row.algorithm == 0) row.submit = submit_and_call_back<PT_OP_add>;
  }
  const pt_kernel_table table = {rows.data(), rows.size()};
  const pt_pool pool = {nullptr, 2, [](void*, size_t count, void (*body)(void*, size_t, size_t), void* arg) {
                          calls_back.now();
                          body(arg, 0, count);
                        }};
  const auto observe = [](void*, const pt_event*) { calls_back.now(); };
  Machine machine(paged(), &table, &pool);
  ASSERT_EQ(machine.opened, PT_OK);
  machine.pager.called = [] { calls_back.now(); };
  pt_session_observe(machine.session, observe, nullptr);
  ASSERT_EQ(machine.set("x", {2, 4}), PT_OK);
  for (const bool in_run : {true, false}) {
    calls_back = {&machine, 0};
    if (in_run) {
      ASSERT_EQ(machine.run("train"), PT_OK);
      EXPECT_GE(calls_back.calls, 8 + 2 + 6);  // instructions, kernels, transfers begun and ended
    } else {
      EXPECT_EQ(machine.set("w", {100}), PT_OK);  // its home is in storage
      EXPECT_GE(calls_back.calls, 2);
    }
  }
  calls_back = {};
  EXPECT_EQ(machine.get("z", 2), (std::vector<float>{4, 8}));
  EXPECT_EQ(machine.get("w"), std::vector<float>{100});
  EXPECT_EQ(machine.run("train"), PT_OK);
}

// A callback that leaves a call in another way than by returning. It leaves the call `before` which this many are passed over.
struct Leaves {
  enum class Place { kObserver, kKernel, kPool, kTransfer };
  Place place = Place::kObserver;
  bool jumps = false;  // longjmp; else an exception
  int before = -1;     // -1: none leaves
  std::jmp_buf back;
  void from(Place at) {
    if (at != place || before < 0 || before-- > 0) return;
    if (jumps) std::longjmp(back, 1);
    throw 1;
  }
} leaves;

// Did a callback leave the call? No object that has a destructor lives in the frames that are left.
template <class Call>
bool is_left(const Call& call) {
  if (setjmp(leaves.back) != 0) return true;
  try {
    (void)call();
  } catch (int) {
    return true;
  }
  return false;
}

TEST(Interpreter, ACallThatACallbackLeftLeavesTheSessionFailed) {
  std::vector<pt_kernel> rows(kernels()->kernels, kernels()->kernels + kernels()->count);
  for (pt_kernel& row : rows)
    if (row.op == PT_OP_add && row.dtype == PT_F32 && row.algorithm == 0)
      row.submit = [](const pt_call* call) {
        leaves.from(Leaves::Place::kKernel);
        return pt_kernel_find(kernels(), PT_OP_add, PT_F32, 0, 0)->submit(call);
      };
  const pt_kernel_table table = {rows.data(), rows.size()};
  const pt_pool pool = {nullptr, 2, [](void*, size_t count, void (*body)(void*, size_t, size_t), void* arg) {
                          leaves.from(Leaves::Place::kPool);
                          body(arg, 0, count);
                        }};
  const pt_scalars scalars = {1, 0, 1};
  float value = 3;
  int left = 0;
  const auto expect_left = [&](Leaves::Place place, bool jumps, int before, bool in_run) {
    leaves.before = -1;
    Machine machine(paged(), &table, &pool);
    ASSERT_EQ(machine.opened, PT_OK);
    machine.pager.called = [] { leaves.from(Leaves::Place::kTransfer); };
    pt_session_observe(machine.session, [](void*, const pt_event*) { leaves.from(Leaves::Place::kObserver); }, nullptr);
    ASSERT_EQ(machine.set("x", {2, 4}), PT_OK);
    const uint32_t w = machine.index("w");
    void* const buffer = machine.buffer.get();
    leaves.place = place, leaves.jumps = jumps, leaves.before = before;
    const bool is_out = in_run ? is_left([&] { return pt_run(machine.session, 0, &scalars); })
                               : is_left([&] { return pt_session_write(machine.session, w, 0, &value, 4, buffer, kAlign); });
    leaves.before = -1;
    left += is_out ? 1 : 0;
    const pt_status then = is_out ? PT_E_STATE : PT_OK;
    EXPECT_EQ(machine.run("train"), then);
    EXPECT_EQ(machine.set("x", {1}), then);
    EXPECT_EQ(pt_session_read(machine.session, w, 0, &value, 4, buffer, kAlign), then);
  };
  for (const bool jumps : {false, true}) {
    for (int before = 0; before < 10; ++before) {
      for (const auto place : {Leaves::Place::kObserver, Leaves::Place::kKernel, Leaves::Place::kPool, Leaves::Place::kTransfer})
        expect_left(place, jumps, before, true);
      expect_left(Leaves::Place::kTransfer, jumps, before, false);
    }
  }
  EXPECT_EQ(left, 2 * (8 + 1 + 2 + 6 + 2));  // instructions, a kernel, parts of two, transfers begun and ended
}

// How many transfers are open behind each instruction of a run.
std::vector<size_t> open_transfers(Machine& machine) {
  struct Watch {
    Machine* machine;
    std::vector<size_t> open;
  } watch{&machine, {}};
  const auto look = [](void* context, const pt_event*) {
    auto* self = static_cast<Watch*>(context);
    self->open.push_back(self->machine->pager.open.size());
  };
  pt_session_observe(machine.session, look, &watch);
  EXPECT_EQ(machine.run("train"), PT_OK);
  pt_session_observe(machine.session, nullptr, nullptr);
  return watch.open;
}

TEST(Interpreter, OverwritesInPlaceBehindAPageOut) {
  BinaryPlan plan = two_ops();
  plan.storage_bytes = kAlign;
  plan.tensors[0].storage_at = 0;
  // x is written out, and y takes its very bytes; then x comes back from storage.
  plan.programs[0].instructions = {page_out(0), compute(0, {0}), page_in(0, kAlign), compute(1, {2 * kAlign})};
  Machine machine(plan);
  ASSERT_EQ(machine.opened, PT_OK);
  ASSERT_EQ(machine.set("x", {-7, 3}), PT_OK);
  EXPECT_EQ(open_transfers(machine), (std::vector<size_t>{1, 0, 1, 0}));  // the write has ended when y is computed
  EXPECT_EQ(machine.get("z", 2), (std::vector<float>{-7, 6}));
}

TEST(Interpreter, RecomputesInPlaceBehindAPageOut) {
  BinaryPlan plan = two_ops();
  plan.storage_bytes = kAlign;
  plan.tensors[1].storage_at = 0;
  plan.programs[0].instructions = {compute(0, {kAlign}), page_out(1), compute(0, {kAlign}), compute(1, {2 * kAlign}),
                                   release(1)};
  Machine machine(plan);
  ASSERT_EQ(machine.opened, PT_OK);
  ASSERT_EQ(machine.set("x", {-3, 5}), PT_OK);
  EXPECT_EQ(open_transfers(machine), (std::vector<size_t>{0, 1, 0, 0, 0}));
  EXPECT_EQ(machine.get("z", 2), (std::vector<float>{-3, 10}));
}

TEST(Interpreter, KeepsABoundedNumberOfTransfersOpen) {
  constexpr uint32_t kMany = 3 * PT_MAX_IN_FLIGHT;
  BinaryPlan plan = two_ops();
  plan.storage_bytes = kMany * uint64_t{kAlign};
  plan.arena_bytes = (kMany + 3) * uint64_t{kAlign};
  auto& steps = plan.programs[0].instructions;
  for (uint32_t many = 0; many < kMany; ++many) {
    plan.tensors.push_back(tensor("w" + std::to_string(many), Home::kAux, -1, many * int64_t{kAlign}));
    steps.insert(steps.begin(), page_in(3 + many, (3 + many) * uint64_t{kAlign}));
  }
  Machine machine(plan);
  ASSERT_EQ(machine.opened, PT_OK);
  ASSERT_EQ(machine.set("x", {1}), PT_OK);
  ASSERT_EQ(machine.run("train"), PT_OK);
  EXPECT_EQ(machine.pager.most_open, size_t{PT_MAX_IN_FLIGHT});
  EXPECT_TRUE(machine.pager.open.empty());
}

// w lives in storage and is updated: w' = w - lr * g, both paged.
BinaryPlan updated_in_storage() {
  BinaryPlan plan{.arena_bytes = 3 * kAlign,
                  .storage_bytes = 2 * kAlign,
                  .align_bytes = kAlign,
                  .tensors = {tensor("w", Home::kAux, -1, 0), tensor("w'", Home::kNone, -1, kAlign),
                              tensor("g", Home::kRam, 0), tensor("z", Home::kRam, 2 * kAlign)},
                  .ops = {op(Kind::k_sgd, {0, 2}, {1}, {{0}, {0, 0}}), op(Kind::k_relu, {0}, {3})},
                  .programs = {}};
  plan.tensors[0].next = 1;
  plan.programs = {{"train", {page_in(0, kAlign), compute(0, {2 * kAlign}), page_out(1), release(1), release(0)}},
                   {"eval", {page_in(0, kAlign), compute(1, {2 * kAlign}), release(0)}}};
  return plan;
}

TEST(Interpreter, ReadsInTheNextStepWhatTheLastOneWrote) {
  Machine machine(updated_in_storage());
  ASSERT_EQ(machine.opened, PT_OK);
  ASSERT_EQ(machine.set("w", {10}), PT_OK);
  ASSERT_EQ(machine.set("g", {2}), PT_OK);
  for (int step = 1; step <= 5; ++step) {
    ASSERT_EQ(machine.run("train", 0.5), PT_OK);
    EXPECT_EQ(machine.get("w").front(), 10.0F - static_cast<float>(step));
    ASSERT_EQ(machine.run("eval"), PT_OK);  // updates nothing, so it swaps nothing
    EXPECT_EQ(machine.get("z").front(), 10.0F - static_cast<float>(step));
    ASSERT_EQ(machine.run("eval"), PT_OK);
  }
  ASSERT_EQ(machine.set("w", {30}), PT_OK);  // after an odd number of swaps
  ASSERT_EQ(machine.run("eval"), PT_OK);
  EXPECT_EQ(machine.get("z").front(), 30.0F);
}

TEST(SessionRoles, GoOnInAnotherSessionOverTheSameStorage) {
  Machine machine(updated_in_storage());
  ASSERT_EQ(machine.set("w", {10}), PT_OK);
  ASSERT_EQ(machine.set("g", {2}), PT_OK);
  ASSERT_EQ(machine.run("train", 0.5), PT_OK);
  uint8_t roles = 0xF0;
  ASSERT_EQ(pt_session_get_roles(machine.session, &roles, 1), PT_OK);
  EXPECT_EQ(roles, 3);  // w and w' live in one another's slots
  Machine later(updated_in_storage());
  later.pager.storage = machine.pager.storage;
  EXPECT_EQ(later.get("w").front(), 10.0F);
  ASSERT_EQ(pt_session_set_roles(later.session, &roles, 1), PT_OK);
  EXPECT_EQ(later.get("w").front(), 9.0F);
  const uint8_t wrong = 4;  // g has no pair in storage
  EXPECT_EQ(pt_session_set_roles(later.session, &wrong, 1), PT_E_ARGUMENT);
  EXPECT_EQ(pt_session_set_roles(later.session, &roles, 0), PT_E_ARGUMENT);
  EXPECT_EQ(pt_session_get_roles(later.session, &roles, 0), PT_E_ARGUMENT);
}

TEST(Interpreter, KeepsTheSlotOfAStepThatFailed) {
  Machine machine(updated_in_storage());
  ASSERT_EQ(machine.set("w", {10}), PT_OK);
  ASSERT_EQ(machine.set("g", {2}), PT_OK);
  machine.pager.fails_at = machine.pager.last_ticket + 2;  // the write of w'
  machine.pager.failure = PT_E_FULL;
  EXPECT_EQ(machine.run("train"), PT_E_FULL);
  EXPECT_TRUE(machine.pager.open.empty());
  EXPECT_EQ(machine.run("train"), PT_E_STATE);
  float value = 0;
  EXPECT_EQ(pt_session_read(machine.session, 0, 0, &value, 4, machine.buffer.get(), kAlign), PT_E_STATE);
}

TEST(Interpreter, UpdatesInPlaceInRam) {
  BinaryPlan plan{.arena_bytes = 2 * kAlign,
                  .align_bytes = kAlign,
                  .tensors = {tensor("w", Home::kRam, 0), tensor("w'"), tensor("g", Home::kRam, kAlign)},
                  .ops = {op(Kind::k_sgd, {0, 2}, {1}, {{0}, {0, 0}})},
                  .programs = {{"train", {compute(0, {0})}}}};
  plan.tensors[0].next = 1;
  Machine machine(plan);
  ASSERT_EQ(machine.opened, PT_OK);
  ASSERT_EQ(machine.set("w", {1}), PT_OK);
  ASSERT_EQ(machine.set("g", {1}), PT_OK);
  for (int step = 0; step < 3; ++step) ASSERT_EQ(machine.run("train", 2), PT_OK);
  EXPECT_EQ(machine.get("w").front(), -5.0F);
  EXPECT_EQ(static_cast<float*>(pt_session_data(machine.session, 0))[0], -5.0F);
}

TEST(Interpreter, FirstFailureWinsAndPoisonsTheSession) {
  BinaryPlan plan = paged();
  plan.ops[1].kind = Kind::k_neg;  // the kernel that finds fault with its data
  plan.ops[1].inputs.pop_back();
  Machine machine(plan);
  ASSERT_EQ(machine.opened, PT_OK);
  machine.pager.fails_at = machine.pager.last_ticket + 2;  // open when the kernel fails
  EXPECT_EQ(machine.run("train"), PT_E_DATA);
  EXPECT_TRUE(machine.pager.open.empty());
  EXPECT_EQ(machine.run("train"), PT_E_STATE);
}

TEST(Interpreter, RefusesWrongCallsWithoutHarm) {
  Machine machine(two_ops());
  const pt_scalars scalars = {1, 0, 1};
  EXPECT_EQ(pt_run(machine.session, 1, &scalars), PT_E_ARGUMENT);
  EXPECT_EQ(pt_run(machine.session, 0, nullptr), PT_E_ARGUMENT);
  ASSERT_EQ(machine.set("x", {1}), PT_OK);
  EXPECT_EQ(machine.run("train"), PT_OK);
}

TEST(Interpreter, CountsAndTellsEveryInstruction) {
  Machine machine(paged());
  std::vector<std::pair<uint8_t, uint32_t>> events;
  pt_session_observe(
      machine.session,
      [](void* context, const pt_event* event) {
        static_cast<std::vector<std::pair<uint8_t, uint32_t>>*>(context)->emplace_back(event->kind, event->subject);
      },
      &events);
  ASSERT_EQ(machine.run("train"), PT_OK);
  EXPECT_EQ(events, (std::vector<std::pair<uint8_t, uint32_t>>{
                        {0, 0}, {1, 1}, {3, 1}, {2, 3}, {3, 3}, {2, 1}, {0, 1}, {3, 1}}));
  pt_counters counters{};
  pt_session_counters(machine.session, &counters);
  EXPECT_EQ(counters.computes, 2U);
  EXPECT_EQ(counters.steps, 1U);
  EXPECT_EQ(counters.bytes_paged_out, uint64_t{kAlign});
  EXPECT_EQ(counters.bytes_paged_in, 2 * uint64_t{kAlign});
}

TEST(SessionReadWrite, MovesPartsOfTensorsInStorage) {
  BinaryPlan plan = updated_in_storage();
  for (BinaryTensor& of : plan.tensors) of.bytes = kAlign;
  Machine machine(plan);
  ASSERT_EQ(machine.set("w", {0}), PT_OK);
  const float three = 3;
  ASSERT_EQ(pt_session_write(machine.session, 0, 20, &three, 4, machine.buffer.get(), kAlign), PT_OK);
  EXPECT_EQ(machine.get("w", 7), (std::vector<float>{0, 0, 0, 0, 0, 3, 0}));
  EXPECT_EQ(pt_session_write(machine.session, 0, 61, &three, 4, machine.buffer.get(), kAlign), PT_E_ARGUMENT);
  EXPECT_EQ(pt_session_write(machine.session, 0, 0, &three, 4, machine.buffer.get(), kAlign - 1), PT_E_ARGUMENT);
  EXPECT_EQ(pt_session_write(machine.session, 1, 0, &three, 4, machine.buffer.get(), kAlign), PT_E_STATE);
  EXPECT_EQ(pt_session_data(machine.session, 0), nullptr);
}

TEST(SessionOpen, FindsPlansThatCannotRun) {
  const auto opens = [](const std::function<void(BinaryPlan&)>& change) {
    BinaryPlan plan = paged();
    change(plan);
    return Machine(plan).opened;
  };
  EXPECT_EQ(opens([](BinaryPlan&) {}), PT_OK);
  EXPECT_EQ(opens([](BinaryPlan& plan) { plan.programs[0].instructions.erase(plan.programs[0].instructions.begin()); }),
            PT_E_PLAN);  // page_out of what is nowhere
  EXPECT_EQ(opens([](BinaryPlan& plan) { plan.programs[0].instructions[5] = release(3); }), PT_E_PLAN);
  EXPECT_EQ(opens([](BinaryPlan& plan) { plan.programs[0].instructions[1] = page_in(1, 0); }), PT_E_PLAN);
  const auto overwrite_y = [](BinaryPlan& plan) { plan.programs[0].instructions[5].at[0] = 2 * kAlign; };
  EXPECT_EQ(opens(overwrite_y), PT_E_PLAN);  // z takes the bytes of y, which is freed all the same
  EXPECT_EQ(opens([&](BinaryPlan& plan) {
              overwrite_y(plan);
              plan.programs[0].instructions.pop_back();
            }),
            PT_OK);
  EXPECT_EQ(opens([](BinaryPlan& plan) { plan.ops[1].inputs[0].tensor = 3; }), PT_E_PLAN);  // not in RAM
  EXPECT_EQ(opens([](BinaryPlan& plan) { plan.ops[1].kind = Kind::k_mul; }), PT_E_KERNEL);
  EXPECT_EQ(opens([](BinaryPlan& plan) { plan.ops[0].kind = Kind::k_exp; }), PT_E_PLAN);  // wants a workspace
  EXPECT_EQ(opens([](BinaryPlan& plan) {
              plan.ops[0].kind = Kind::k_exp;
              plan.ops[0].workspace_bytes = 100;
              plan.programs[0].instructions[0].workspace_at = 2 * kAlign;
            }),
            PT_OK);
  EXPECT_EQ(opens([](BinaryPlan& plan) {
              plan.ops[0].kind = Kind::k_exp;
              plan.ops[0].workspace_bytes = 100;
              plan.programs[0].instructions[0].workspace_at = 0;  // over its input
            }),
            PT_E_PLAN);
}

TEST(SessionOpen, RefusesMemoryThatDoesNotSuit) {
  Machine machine(paged());
  pt_session* session = nullptr;
  auto* odd = static_cast<std::byte*>(machine.arena.get()) + 8;
  EXPECT_EQ(pt_session_open(&session, &machine.plan, machine.memory.get(), odd, nullptr, kernels(),
                            machine.pager.interface(), nullptr),
            PT_E_ARGUMENT);
  EXPECT_EQ(pt_session_open(&session, &machine.plan, machine.memory.get(), machine.arena.get(), nullptr, kernels(),
                            nullptr, nullptr),
            PT_E_ARGUMENT);
  EXPECT_EQ(session, nullptr);
}

TEST(Interpreter, ReadsRomInPlace) {
  BinaryPlan plan = two_ops();
  plan.tensors[0] = tensor("x", Home::kRom);
  plan.tensors[0].rom_at = kAlign;
  Machine machine(two_ops());
  const auto bytes = encoded(plan);
  ASSERT_EQ(pt_plan_open(&machine.plan, bytes.data(), bytes.size()), PT_OK);
  EXPECT_EQ(machine.plan.rom_bytes, 2 * uint64_t{kAlign});
  EXPECT_EQ(pt_session_open(&machine.session, &machine.plan, machine.memory.get(), machine.arena.get(), nullptr,
                            kernels(), nullptr, nullptr),
            PT_E_ARGUMENT);
  alignas(64) static const float rom[2 * kLength] = {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 6, -6};
  ASSERT_EQ(pt_session_open(&machine.session, &machine.plan, machine.memory.get(), machine.arena.get(), rom, kernels(),
                            nullptr, nullptr),
            PT_OK);
  ASSERT_EQ(machine.run("train"), PT_OK);
  EXPECT_EQ(machine.get("z", 2), (std::vector<float>{12, -6}));
  EXPECT_EQ(machine.get("x", 2), (std::vector<float>{6, -6}));
  EXPECT_EQ(machine.set("x", {1}), PT_E_STATE);
}

// Notes how many threads each kernel is given.
thread_local std::vector<uint32_t> given;
pt_status note_threads(const pt_call* call) {
  given.push_back(call->pool == nullptr ? 1 : call->pool->threads);
  return relu(call);
}

TEST(Interpreter, GivesAnOpNoMoreThreadsThanItsPlanSays) {
  BinaryPlan plan = two_ops();
  plan.ops = {op(Kind::k_relu, {0}, {1}), op(Kind::k_relu, {1}, {2})};
  const pt_kernel noting{PT_OP_relu, PT_F32, 0, 0, "reference", "fixed", note_threads, nullptr, nullptr};
  const pt_kernel_table table{&noting, 1};
  const pt_pool pool{nullptr, 4,
                     [](void*, size_t count, void (*body)(void*, size_t, size_t), void* arg) { body(arg, 0, count); }};
  const std::vector<std::pair<uint16_t, uint32_t>> asked = {{0, 4}, {1, 1}, {2, 2}, {4, 4}, {9, 4}};
  for (const auto& [threads, expected] : asked) {
    plan.ops[1].threads = threads;
    Machine machine(plan, &table, &pool);
    ASSERT_EQ(machine.opened, PT_OK);
    given.clear();
    ASSERT_EQ(machine.run("train"), PT_OK);
    EXPECT_EQ(given, (std::vector<uint32_t>{4, expected})) << threads;
  }
}

}  // namespace
}  // namespace pantoum::runtime_test
