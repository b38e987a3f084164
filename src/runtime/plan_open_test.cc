#include <gtest/gtest.h>
#include <zlib.h>

#include <limits>

#include "runtime/plan_bytes.h"
#include "testing/binary_plans.h"

namespace pantoum::runtime_test {
namespace {

// A batch of everything the format holds: paging, a pair, rom, workspace, attributes, two programs.
BinaryPlan rich_plan() {
  BinaryPlan plan{.arena_bytes = 5 * kAlign + 40,
                  .storage_bytes = 3 * kAlign,
                  .align_bytes = kAlign,
                  .tensors = {tensor("w", Home::kAux, -1, 0), tensor("w'", Home::kNone, -1, kAlign),
                              tensor("g", Home::kRam, 0), tensor("z", Home::kRam, 2 * kAlign), tensor("r", Home::kRom),
                              tensor("", Home::kNone, -1, 2 * kAlign)},
                  .ops = {op(Kind::k_sgd, {0, 2}, {1}, {{1}, {0.5, -1e-4}}), op(Kind::k_add, {0, 4}, {3}),
                          op(Kind::k_exp, {2}, {5})},
                  .programs = {}};
  plan.tensors[0].next = 1;
  plan.tensors[4].rom_at = 3 * kAlign;
  plan.ops[2].workspace_bytes = 104;
  BinaryInstruction with_workspace = compute(2, {3 * kAlign});
  with_workspace.workspace_at = 4 * kAlign;
  plan.programs = {{"train",
                    {page_in(0, kAlign), compute(0, {2 * kAlign}), page_out(1), release(1), with_workspace, page_out(5),
                     release(5), release(0)}},
                   {"eval", {page_in(0, kAlign), compute(1, {2 * kAlign}), release(0)}}};
  return plan;
}

pt_status open(const std::vector<std::byte>& bytes, pt_plan* plan) {
  // Exactly as long as the plan, so that the sanitizers see a byte too many.
  const std::unique_ptr<std::byte[]> copy(new std::byte[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return pt_plan_open(plan, copy.get(), bytes.size());
}

void seal(std::vector<std::byte>& bytes) {
  const auto* from = reinterpret_cast<const Bytef*>(bytes.data() + PT_AT_ARENA);
  const auto sum = static_cast<uint32_t>(crc32_z(0, from, bytes.size() - PT_AT_ARENA));
  for (size_t byte = 0; byte < 4; ++byte) bytes[PT_AT_CRC + byte] = static_cast<std::byte>(sum >> (8 * byte));
}

TEST(PlanOpen, ThreadsOfAnOpAreAFeatureOfTheHeader) {
  BinaryPlan fewer = rich_plan();
  fewer.ops[1].threads = 2;
  auto bytes = encoded(fewer);
  EXPECT_EQ(bytes[PT_AT_FLAGS], std::byte{PT_FLAG_THREADS});
  EXPECT_EQ(encoded(rich_plan())[PT_AT_FLAGS], std::byte{0});
  pt_plan plan;
  ASSERT_EQ(open(bytes, &plan), PT_OK);
  auto idle = encoded(rich_plan());
  idle[PT_AT_FLAGS] = std::byte{PT_FLAG_THREADS};
  EXPECT_EQ(open(idle, &plan), PT_E_PLAN);
  bytes[PT_AT_FLAGS] = std::byte{0};  // before the checksum's bytes
  EXPECT_EQ(open(bytes, &plan), PT_E_PLAN);
  bytes[PT_AT_FLAGS] = std::byte{PT_PLAN_FLAGS + 1};
  EXPECT_EQ(open(bytes, &plan), PT_E_VERSION);
}

TEST(PlanOpen, GivesBackWhatWasEncoded) {
  const auto bytes = encoded(rich_plan());
  pt_plan plan;
  ASSERT_EQ(pt_plan_open(&plan, bytes.data(), bytes.size()), PT_OK);
  EXPECT_EQ(plan.arena_bytes, 5U * kAlign + 40);
  EXPECT_EQ(plan.storage_bytes, 3U * kAlign);
  EXPECT_EQ(plan.rom_bytes, 4U * kAlign);
  EXPECT_EQ(plan.align_bytes, kAlign);
  EXPECT_EQ(pt_plan_program(&plan, "train"), 0);
  EXPECT_EQ(pt_plan_program(&plan, "eval"), 1);
  EXPECT_EQ(pt_plan_program(&plan, "accumulate"), -1);
  EXPECT_EQ(pt_plan_tensor(&plan, "z"), 3);
  EXPECT_EQ(pt_plan_tensor(&plan, ""), -1);
  pt_tensor_info info;
  ASSERT_EQ(pt_plan_tensor_info(&plan, 3, &info), PT_OK);
  EXPECT_STREQ(info.name, "z");
  EXPECT_EQ(info.home, PT_HOME_RAM);
  EXPECT_EQ(info.ram_at, 2U * kAlign);
  EXPECT_EQ(info.payload, 64U);
  EXPECT_EQ(info.rank, 1);
  EXPECT_EQ(info.dims[0], 16U);
  EXPECT_EQ(pt_plan_tensor_info(&plan, 6, &info), PT_E_ARGUMENT);
  pt_op_view view;
  ASSERT_EQ(pt_decode_op(&plan, 0, &view), PT_OK);
  EXPECT_EQ(view.op, PT_OP_sgd);
  EXPECT_EQ(view.ints[0], 1);
  EXPECT_EQ(view.reals[1], -1e-4);
  ASSERT_EQ(pt_decode_op(&plan, 2, &view), PT_OK);
  EXPECT_EQ(view.workspace_bytes, 104U);
}

TEST(PlanOpen, KeepsExtremeAttributes) {
  BinaryPlan plan = rich_plan();
  const std::vector<int64_t> extremes = {
      0, -1, 1, 63, 64, -64, -65, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  for (const int64_t value : extremes) {
    plan.ops[0].attrs.ints = {value};
    const auto bytes = encoded(plan);
    pt_plan opened{};
    opened.bytes = reinterpret_cast<const uint8_t*>(bytes.data());
    opened.size = bytes.size();
    opened.tensors_at = pt_load_u32(opened.bytes + PT_AT_TENSORS);
    opened.layouts_at = pt_load_u32(opened.bytes + PT_AT_LAYOUTS);
    opened.layout_count = pt_load_u32(opened.bytes + PT_AT_LAYOUT_COUNT);
    opened.index_at = pt_load_u32(opened.bytes + PT_AT_INDEX);
    opened.ops_at = pt_load_u32(opened.bytes + PT_AT_OPS);
    opened.tensor_count = 6;
    pt_op_view view;
    ASSERT_EQ(pt_decode_op(&opened, 0, &view), PT_OK);
    EXPECT_EQ(view.ints[0], value);
  }
}

TEST(PlanOpen, StaysBelowEightBytesPerInstruction) {
  BinaryPlan plan = rich_plan();
  plan.arena_bytes = 24 << 20;
  plan.programs[0].instructions[1].at[0] = (24 << 20) - kAlign;
  const auto few = encoded(plan).size();
  const auto block = plan.programs[0].instructions;
  for (int copy = 0; copy < 100; ++copy)
    plan.programs[0].instructions.insert(plan.programs[0].instructions.end(), block.begin(), block.end());
  EXPECT_LE(encoded(plan).size() - few, 100 * block.size() * 8);
}

void stage(BinaryPlan& plan, int64_t at) {
  plan.staging_bytes = kAlign;
  for (artifact::BinaryProgram& program : plan.programs) program.staging_at = at;
}

TEST(PlanOpen, TellsEveryProgramsPlaceOfTheStagingBuffer) {
  BinaryPlan described = rich_plan();
  pt_plan plan;
  const std::vector<std::byte> without = encoded(described);
  ASSERT_EQ(pt_plan_open(&plan, without.data(), without.size()), PT_OK);
  EXPECT_EQ(plan.staging_bytes, 0U);
  EXPECT_EQ(pt_plan_staging(&plan, 0), SIZE_MAX);
  stage(described, kAlign);
  described.programs[1].staging_at = 4 * kAlign;
  const std::vector<std::byte> with = encoded(described);
  ASSERT_EQ(pt_plan_open(&plan, with.data(), with.size()), PT_OK);
  EXPECT_EQ(plan.staging_bytes, kAlign);
  EXPECT_EQ(pt_plan_staging(&plan, 0), kAlign);
  EXPECT_EQ(pt_plan_staging(&plan, 1), 4 * kAlign);
  EXPECT_EQ(pt_plan_staging(&plan, 2), SIZE_MAX);
}

TEST(PlanOpen, TellsAnotherVersion) {
  auto bytes = encoded(rich_plan());
  bytes[PT_AT_VERSION] = std::byte{PT_PLAN_VERSION + 1};
  pt_plan plan;
  EXPECT_EQ(open(bytes, &plan), PT_E_VERSION);
}

TEST(PlanOpen, RefusesEveryTruncation) {
  const auto bytes = encoded(rich_plan());
  pt_plan plan;
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(open({bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size)}, &plan), PT_OK) << size;
}

TEST(PlanOpen, RefusesEveryFlippedBit) {
  const auto bytes = encoded(rich_plan());
  pt_plan plan;
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    auto broken = bytes;
    broken[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    EXPECT_NE(open(broken, &plan), PT_OK) << "bit " << bit;
  }
}

// Damage under a right checksum: the plan is refused, or it runs within its bounds (the sanitizers watch).
TEST(PlanOpen, NeverLeavesItsBoundsOnASealedChange) {
  const auto bytes = encoded(rich_plan());
  size_t refused = 0, ran = 0;
  for (size_t at = PT_AT_ARENA; at < bytes.size(); ++at) {
    for (const unsigned change : {1U, 2U, 4U, 8U, 16U, 32U, 64U, 128U, 255U}) {
      auto broken = bytes;
      broken[at] ^= static_cast<std::byte>(change);
      seal(broken);
      pt_plan plan;
      const std::unique_ptr<std::byte[]> copy(new std::byte[broken.size()]);
      std::copy(broken.begin(), broken.end(), copy.get());
      if (pt_plan_open(&plan, copy.get(), broken.size()) != PT_OK || plan.arena_bytes > 1 << 20 ||
          plan.rom_bytes > 1 << 20 || plan.storage_bytes > 1 << 20) {
        ++refused;
        continue;
      }
      const auto whole = [](uint64_t size) { return (size + 4095) / 4096 * 4096 + 4096; };
      const Memory arena(std::aligned_alloc(4096, whole(plan.arena_bytes)));
      const Memory rom(std::aligned_alloc(4096, whole(plan.rom_bytes)));
      const Memory memory = memory_of(pt_session_bytes(&plan));
      std::memset(arena.get(), 0, whole(plan.arena_bytes));
      std::memset(rom.get(), 0, whole(plan.rom_bytes));
      LazyPager pager(plan.storage_bytes);
      pt_session* session = nullptr;
      if (pt_session_open(&session, &plan, memory.get(), arena.get(), rom.get(), kernels(), pager.interface(),
                          nullptr) != PT_OK)
        continue;
      const pt_scalars scalars = {1, 2, 0.1};
      for (uint32_t program = 0; program < plan.program_count; ++program)
        EXPECT_EQ(pt_run(session, program, &scalars), PT_OK);
      ++ran;
    }
  }
  EXPECT_GT(refused, 0U);
  EXPECT_GT(ran, 0U);
}

TEST(Encode, RefusesWhatDoesNotFit) {
  const auto refused = [](const std::function<void(BinaryPlan&)>& change) {
    BinaryPlan plan = rich_plan();
    change(plan);
    const auto bytes = artifact::encode(plan);
    return !bytes && bytes.error().code == "E0250" && !bytes.error().message.empty();
  };
  EXPECT_FALSE(refused([](BinaryPlan&) {}));
  EXPECT_TRUE(refused([](BinaryPlan& plan) { plan.align_bytes = 0; }));
  EXPECT_TRUE(refused([](BinaryPlan& plan) { plan.tensors[2].ram_at = 1; }));
  EXPECT_TRUE(refused([](BinaryPlan& plan) { plan.tensors[2].ram_at = 1 << 20; }));
  EXPECT_TRUE(refused([](BinaryPlan& plan) { plan.tensors[2].bytes = 65; }));
  EXPECT_TRUE(refused([](BinaryPlan& plan) { plan.tensors[2].type.shape = {1, 1, 1, 1, 1, 1, 1}; }));
  EXPECT_TRUE(refused([](BinaryPlan& plan) { plan.tensors[2].type.shape = {0}; }));
  EXPECT_TRUE(refused([](BinaryPlan& plan) { plan.tensors[2].type.shape = {17}; }));
  EXPECT_TRUE(refused([](BinaryPlan& plan) { plan.tensors[1].next = 2; }));
  EXPECT_TRUE(refused([](BinaryPlan& plan) { plan.tensors[0].next = 99; }));
  EXPECT_TRUE(refused([](BinaryPlan& plan) { plan.tensors[0].storage_at = -1; }));
  EXPECT_TRUE(refused([](BinaryPlan& plan) { plan.ops[0].inputs.assign(32, plan.ops[0].inputs[0]); }));
  EXPECT_TRUE(refused([](BinaryPlan& plan) { plan.ops[0].attrs.ints.assign(17, 0); }));
  EXPECT_TRUE(refused([](BinaryPlan& plan) { plan.ops[0].inputs[0].tensor = 6; }));
  EXPECT_TRUE(refused([](BinaryPlan& plan) { plan.programs[0].instructions[1].at.clear(); }));
  EXPECT_TRUE(refused([](BinaryPlan& plan) { plan.programs[0].instructions[1].at[0] = 5 * kAlign; }));
  EXPECT_TRUE(refused([](BinaryPlan& plan) { plan.programs[0].instructions[4].workspace_at = 1; }));
  EXPECT_TRUE(refused([](BinaryPlan& plan) { plan.programs[0].instructions[2] = page_out(3); }));
  EXPECT_TRUE(refused([](BinaryPlan& plan) { plan.staging_bytes = 64; }));          // and no place for it
  EXPECT_TRUE(refused([](BinaryPlan& plan) { plan.programs[0].staging_at = 0; }));  // a place for nothing
  EXPECT_TRUE(refused([](BinaryPlan& plan) { stage(plan, 5 * kAlign); }));          // it ends behind the arena
}

}  // namespace
}  // namespace pantoum::runtime_test
