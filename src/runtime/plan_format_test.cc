// The bytes of binary plans: whatever is encoded is read back, records are as short as the plan allows, and damage stays in bounds.
#include <gtest/gtest.h>
#include <zlib.h>

#include <random>

#include "runtime/plan_bytes.h"
#include "testing/binary_plans.h"

namespace pantoum::runtime_test {
namespace {

using Random = std::mt19937_64;

uint64_t below(Random& random, uint64_t limit) {
  return std::uniform_int_distribution<uint64_t>(0, limit - 1)(random);
}

uint64_t one_of(Random& random, std::vector<uint64_t> values) {
  return values[below(random, values.size())];
}

uint64_t round_up(uint64_t bytes, uint64_t align) {
  return (bytes + align - 1) / align * align;
}

uint64_t payload_of(const ir::TensorType& type) {
  uint64_t bytes = static_cast<uint64_t>(ir::size_of(type.dtype));
  for (const int64_t dim : type.shape) bytes *= static_cast<uint64_t>(dim);
  return bytes;
}

// A plan that pt_plan_open takes, though no session could run it. Its counts, places and offsets need fields of every size.
class RandomPlan {
 public:
  explicit RandomPlan(uint64_t seed) : random_(seed), with_(below(random_, 3)) {
    plan_.align_bytes = static_cast<uint32_t>(one_of(random_, {1, 64, 512, 4096}));
    plan_.arena_bytes = plan_.align_bytes * one_of(random_, {40'000, 80'000, uint64_t{1} << 25});
    plan_.storage_bytes = plan_.align_bytes * one_of(random_, {40'000, 80'000, uint64_t{1} << 25, uint64_t{1} << 31});
    plan_.staging_bytes = below(random_, 2) * plan_.align_bytes;
    for (uint64_t count = 2 + below(random_, one_of(random_, {4, 300})); count > 0; --count) add_tensor();
    for (uint64_t count = 1 + below(random_, one_of(random_, {4, 300})); count > 0; --count) add_op();
    for (uint64_t count = 1 + below(random_, 3); count > 0; --count) add_program();
  }
  const BinaryPlan& plan() const { return plan_; }

 private:
  uint64_t place(uint64_t bytes, uint64_t limit) { return below(random_, (limit - bytes) / align() + 1) * align(); }
  uint64_t align() const { return plan_.align_bytes; }

  void add_tensor() {
    ir::TensorType type{static_cast<ir::DType>(below(random_, PT_DTYPE_COUNT)), {}};
    for (uint64_t rank = below(random_, PT_MAX_RANK + 1); rank > 0; --rank)
      type.shape.push_back(static_cast<int64_t>(1 + below(random_, one_of(random_, {2, 6}))));
    if (type.shape.empty() && below(random_, 2) == 0) type.shape = {static_cast<int64_t>(1 + below(random_, 70'000))};
    BinaryTensor made{.name = below(random_, 2) == 0 ? "" : "t" + std::to_string(plan_.tensors.size()),
                      .bytes = round_up(payload_of(type), align()) + below(random_, 2) * align(),
                      .type = type,
                      .home = static_cast<Home>(below(random_, 4))};
    if (made.bytes > 30'000 * align()) return add_tensor();
    if (made.home == Home::kAux || (made.home != Home::kRom && below(random_, 2) == 0)) made.storage_at = slot(made);
    if (made.home == Home::kRam) made.ram_at = static_cast<int64_t>(place(made.bytes, plan_.arena_bytes));
    if (made.home == Home::kRom) made.rom_at = static_cast<int64_t>(below(random_, 1000) * align());
    if (made.home != Home::kRom && below(random_, 3) == 0) {
      BinaryTensor successor = made;
      successor.name.clear();
      successor.home = Home::kNone;
      successor.ram_at = -1;
      made.next = static_cast<int32_t>(plan_.tensors.size());
      plan_.tensors.push_back(successor);
    }
    plan_.tensors.push_back(made);
  }
  int64_t slot(const BinaryTensor& of) { return static_cast<int64_t>(place(of.bytes, plan_.storage_bytes)); }

  uint32_t tensor_but_rom() {
    for (;;) {
      const auto tensor = static_cast<uint32_t>(below(random_, plan_.tensors.size()));
      if (plan_.tensors[tensor].home != Home::kRom && plan_.tensors[tensor].bytes >= 4) return tensor;
      if (std::ranges::all_of(plan_.tensors,
                              [](const BinaryTensor& each) { return each.home == Home::kRom || each.bytes < 4; }))
        plan_.tensors.push_back({.name = "", .bytes = round_up(4, align()), .type = vector_of(1)});
    }
  }

  // exp or add of as many floats as the operands hold, or fewer.
  void add_op() {
    BinaryOp made;
    made.kind = below(random_, 2) == 0 ? Kind::k_exp : Kind::k_add;
    std::vector<uint32_t> tensors{tensor_but_rom(), tensor_but_rom()};
    if (made.kind == Kind::k_add) tensors.push_back(tensor_but_rom());
    uint64_t least = UINT64_MAX;
    for (const uint32_t tensor : tensors) least = std::min(least, plan_.tensors[tensor].bytes / 4);
    const ir::TensorType& own = plan_.tensors[tensors[0]].type;
    ir::TensorType type = vector_of(static_cast<int64_t>(1 + below(random_, least)));
    if (own.dtype == ir::DType::kF32 && payload_of(own) <= 4 * least) type = own;
    for (const uint32_t tensor : tensors) made.inputs.push_back({tensor, type});
    made.outputs.push_back(made.inputs.back());
    made.inputs.pop_back();
    made.workspace_bytes = one_of(random_, {0, 1, 100, 40 * align()});
    if (below(random_, 4) == 0) made.threads = static_cast<uint16_t>(1 + below(random_, 65535));
    if (with_ == 1) made.engines = static_cast<uint8_t>(1 + below(random_, 255));
    if (with_ == 2) made.slicing = slicing(tensors.size());
    plan_.ops.push_back(made);
  }

  pt_slicing slicing(size_t operands) {
    pt_slicing made{};
    made.loops = static_cast<uint8_t>(below(random_, PT_MAX_LOOPS + 1));
    for (unsigned loop = 0; loop < made.loops; ++loop) {
      made.axis[loop] = static_cast<uint8_t>(below(random_, PT_MAX_LOOPS));
      made.tile[loop] = static_cast<uint32_t>(1 + below(random_, one_of(random_, {4, 1000, UINT32_MAX - 1})));
    }
    if (made.loops > 0) made.streamed = static_cast<uint32_t>(below(random_, uint64_t{1} << operands));
    return made;
  }

  void add_program() {
    BinaryProgram made{.name = "p" + std::to_string(plan_.programs.size()), .instructions = {}};
    if (plan_.staging_bytes > 0) made.staging_at = static_cast<int64_t>(place(plan_.staging_bytes, plan_.arena_bytes));
    for (uint64_t count = below(random_, 200); count > 0; --count) made.instructions.push_back(instruction());
    plan_.programs.push_back(made);
  }

  BinaryInstruction instruction() {
    BinaryInstruction made = below(random_, 2) == 0 ? computed() : moved();
    if (with_ == 1 && made.what != Do::kFree)
      for (uint32_t& ended : made.waits) ended = static_cast<uint32_t>(below(random_, 3) * below(random_, 1000));
    return made;
  }

  BinaryInstruction computed() {
    const auto of = static_cast<uint32_t>(below(random_, plan_.ops.size()));
    const BinaryOp& op = plan_.ops[of];
    BinaryInstruction made = compute(of, {});
    const uint64_t bytes = plan_.tensors[op.outputs[0].tensor].bytes;
    if (!op.streams_out(0)) made.at = {place(bytes, plan_.arena_bytes)};
    if (op.workspace_bytes > 0) made.workspace_at = place(round_up(op.workspace_bytes, align()), plan_.arena_bytes);
    return made;
  }

  BinaryInstruction moved() {
    const uint32_t tensor = tensor_but_rom();
    const BinaryTensor& of = plan_.tensors[tensor];
    if (of.storage_at < 0) return release(tensor);
    switch (below(random_, 3)) {
      case 0:
        return page_out(tensor);
      case 1:
        return page_in(tensor, place(of.bytes, plan_.arena_bytes));
      default:
        return release(tensor);
    }
  }

  Random random_;
  uint64_t with_;  // 1: engines; 2: slices
  BinaryPlan plan_;
};

uint32_t units_of(const BinaryPlan& plan, int64_t bytes) {
  return bytes < 0 ? PT_NOWHERE : static_cast<uint32_t>(static_cast<uint64_t>(bytes) / plan.align_bytes);
}

void expect_type(const pt_tensor& found, const ir::TensorType& type) {
  ASSERT_EQ(found.rank, type.shape.size());
  EXPECT_EQ(found.dtype, static_cast<uint8_t>(type.dtype));
  for (size_t dim = 0; dim < PT_MAX_RANK; ++dim)
    EXPECT_EQ(found.dims[dim], dim < found.rank ? static_cast<uint32_t>(type.shape[dim]) : 0);
}

void expect_tensor(const pt_plan& found, const BinaryPlan& plan, uint32_t at) {
  const BinaryTensor& tensor = plan.tensors[at];
  uint32_t pair = PT_NOWHERE;
  bool is_successor = false;
  for (uint32_t other = 0; other < plan.tensors.size(); ++other)
    if (plan.tensors[other].next == static_cast<int32_t>(at)) pair = other, is_successor = true;
  if (tensor.next >= 0) pair = static_cast<uint32_t>(tensor.next);
  pt_tensor type;
  ASSERT_EQ(pt_tensor_type(&found, at, &type), 1);
  expect_type(type, tensor.type);
  EXPECT_EQ(pt_tensor_units(&found, at), units_of(plan, static_cast<int64_t>(tensor.bytes)));
  EXPECT_EQ(pt_tensor_home(&found, at), static_cast<uint8_t>(tensor.home));
  EXPECT_EQ(pt_tensor_slot(&found, at), units_of(plan, tensor.storage_at));
  EXPECT_EQ(pt_tensor_place(&found, at), units_of(plan, tensor.home == Home::kRom ? tensor.rom_at : tensor.ram_at));
  EXPECT_EQ(pt_tensor_pair(&found, at), pair);
  EXPECT_EQ(pt_is_successor(&found, at) != 0, is_successor);
}

void expect_op(const pt_op_view& found, const BinaryOp& op) {
  EXPECT_EQ(found.op, static_cast<uint16_t>(op.kind));
  EXPECT_EQ(found.threads, op.threads);
  EXPECT_EQ(found.engines, op.engines);
  EXPECT_EQ(found.workspace_bytes, op.workspace_bytes);
  EXPECT_EQ(found.slicing.streamed, op.slicing.streamed);
  ASSERT_EQ(found.slicing.loops, op.slicing.loops);
  for (size_t loop = 0; loop < op.slicing.loops; ++loop) {
    EXPECT_EQ(found.slicing.axis[loop], op.slicing.axis[loop]);
    EXPECT_EQ(found.slicing.tile[loop], op.slicing.tile[loop]);
  }
  ASSERT_EQ(found.input_count, op.inputs.size());
  ASSERT_EQ(found.output_count, op.outputs.size());
  for (size_t operand = 0; operand < op.inputs.size() + op.outputs.size(); ++operand) {
    const BinaryOperand& of = operand < op.inputs.size() ? op.inputs[operand] : op.outputs[operand - op.inputs.size()];
    EXPECT_EQ(found.tensors[operand], of.tensor);
    expect_type(found.operands[operand], of.type);
  }
}

void expect_program(const pt_plan& found, const BinaryPlan& plan, uint32_t at) {
  const BinaryProgram& program = plan.programs[at];
  uint32_t instructions = 0;
  pt_code code = pt_program_code(&found, at, &instructions);
  ASSERT_EQ(instructions, program.instructions.size());
  for (const BinaryInstruction& instruction : program.instructions) {
    pt_step step;
    pt_op_view view;
    pt_waits waits;
    ASSERT_EQ(pt_decode_waiting_step(&found, &code, &step, &view, &waits), PT_OK);
    EXPECT_EQ(step.kind, static_cast<uint8_t>(instruction.what));
    EXPECT_EQ(step.subject, instruction.subject);
    for (size_t place = 0; place < instruction.at.size(); ++place)
      EXPECT_EQ(step.at[place], units_of(plan, static_cast<int64_t>(instruction.at[place])));
    if (instruction.what == Do::kCompute) {
      EXPECT_EQ(step.workspace_at, units_of(plan, static_cast<int64_t>(instruction.workspace_at)));
    }
    EXPECT_TRUE(std::ranges::equal(waits.ended, instruction.waits));
  }
}

void expect_plan(const pt_plan& found, const BinaryPlan& plan) {
  ASSERT_EQ(found.tensor_count, plan.tensors.size());
  ASSERT_EQ(found.op_count, plan.ops.size());
  ASSERT_EQ(found.program_count, plan.programs.size());
  for (uint32_t tensor = 0; tensor < found.tensor_count; ++tensor) expect_tensor(found, plan, tensor);
  for (uint32_t op = 0; op < found.op_count; ++op) {
    pt_op_view view;
    ASSERT_EQ(pt_decode_op(&found, op, &view), PT_OK);
    expect_op(view, plan.ops[op]);
  }
  for (uint32_t program = 0; program < found.program_count; ++program) {
    expect_program(found, plan, program);
    EXPECT_EQ(pt_plan_staging(&found, program),
              plan.staging_bytes == 0 ? SIZE_MAX : static_cast<size_t>(plan.programs[program].staging_at));
  }
}

TEST(PlanFormat, RandomPlansAreReadAsTheyWereWritten) {
  std::set<std::vector<unsigned>> field_sizes;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const RandomPlan random(seed);
    const BinaryPlan& plan = random.plan();
    const std::vector<std::byte> bytes = encoded(plan), again = encoded(plan);
    EXPECT_EQ(bytes, again);
    pt_plan found;
    ASSERT_EQ(pt_plan_open(&found, bytes.data(), bytes.size()), PT_OK) << seed;
    expect_plan(found, plan);
    for (uint32_t tensor = 0; tensor < found.tensor_count; ++tensor) {
      pt_tensor_info info;
      ASSERT_EQ(pt_plan_tensor_info(&found, tensor, &info), PT_OK);
      EXPECT_EQ(info.name, plan.tensors[tensor].name);
    }
    const std::vector<std::byte> nameless = artifact::without_names(bytes);
    ASSERT_EQ(pt_plan_open(&found, nameless.data(), nameless.size()), PT_OK) << seed;
    expect_plan(found, plan);
    EXPECT_EQ(artifact::without_names(nameless), nameless);
    field_sizes.insert({found.bytes[PT_AT_TENSOR_ENDS], found.bytes[PT_AT_TENSOR_ENDS + 1] - 0U,
                        found.bytes[PT_AT_DIM_SIZE], found.bytes[PT_AT_INDEX_SIZE]});
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(field_sizes.size(), 8U);
}

BinaryPlan small_plan() {
  BinaryPlan plan{
      .arena_bytes = 8 * kAlign,
      .storage_bytes = 4 * kAlign,
      .align_bytes = kAlign,
      .tensors = {tensor("w", Home::kAux, -1, 0), tensor("w'", Home::kNone, -1, kAlign), tensor("g", Home::kRam, 0),
                  tensor("", Home::kNone, -1, 2 * kAlign)},
      .ops = {op(Kind::k_sgd, {0, 2}, {1}, {{1}, {0.5, -1e-4}}), op(Kind::k_exp, {2}, {3}), op(Kind::k_exp, {0}, {3})},
      .programs = {}};
  plan.tensors[0].next = 1;
  plan.programs = {
      {"train",
       {page_in(0, kAlign), compute(0, {2 * kAlign}), page_out(1), release(1), compute(1, {kAlign}), release(3)}}};
  return plan;
}

// Every byte of the format is counted: a change of the format changes these figures, and docs/plan-format.md has to tell it.
TEST(PlanFormat, TakesTheseBytes) {
  const BinaryPlan plan = small_plan();
  const std::vector<std::byte> bytes = encoded(plan), on_board = artifact::without_names(bytes);
  const size_t tensors = 4 * (1 + 1 + 1 + 1);          // what, slot, place, pair
  const size_t layouts = 1 * (1 + 1 + 1);              // rank and dtype, units, one dimension
  const size_t index = 3;                              // a byte each
  const size_t forms = (12 + 1 + 16) + 12;             // sgd has an integer and two reals
  const size_t ops = (1 + 1 + 3) + 2 * (1 + 1 + 2);    // form, workspace, operands
  const size_t programs = 16;                          // of one program
  const size_t code = 2 + 2 + 1 + 1 + 2 + 1;           // as the instructions stand
  const size_t names = 4 * (1 + 4) + (6 + 2 + 3 + 2);  // offsets, then "train", "w", "w'", "g"
  EXPECT_EQ(on_board.size(), 96 + tensors + layouts + index + forms + ops + programs + code);
  EXPECT_EQ(bytes.size(), on_board.size() + names);
}

TEST(PlanFormat, OpsOfOneFormShareIt) {
  BinaryPlan plan = small_plan();
  const size_t before = encoded(plan).size();
  for (int copy = 0; copy < 10; ++copy) plan.ops.push_back(plan.ops[0]);
  EXPECT_EQ(encoded(plan).size(), before + 10 * (1 + 5));  // an offset in the index, and the record
}

TEST(PlanFormat, AViewTakesALayoutOfItsOwn) {
  BinaryPlan plan = small_plan();
  const size_t before = encoded(plan).size();
  plan.ops[1].inputs[0].type.shape = plan.ops[1].outputs[0].type.shape = {8};
  EXPECT_EQ(encoded(plan).size(), before + 3 + 2);  // the layout, and its number twice
}

TEST(PlanFormat, FieldsGrowWithWhatTheyHold) {
  BinaryPlan plan = small_plan();
  const size_t before = encoded(plan).size();
  plan.storage_bytes = (uint64_t{1} << 24) * kAlign;
  plan.tensors[3].storage_at = 0xFE * kAlign;
  EXPECT_EQ(encoded(plan).size(), before);  // 0xFF is the most of a byte
  plan.tensors[3].storage_at = 0xFF * kAlign;
  EXPECT_EQ(encoded(plan).size(), before + 4);
  plan.tensors[3].storage_at = 0xFFFF * kAlign;
  EXPECT_EQ(encoded(plan).size(), before + 8);
  for (BinaryTensor& each : plan.tensors) each.home = Home::kNone, each.ram_at = each.next = -1;
  EXPECT_EQ(encoded(plan).size(), before + 8 - 2 * 4);  // no places, no pairs
}

TEST(PlanFormat, IsOfThisVersionAlone) {
  for (unsigned version = 0; version < 256; ++version) {
    auto bytes = encoded(small_plan());
    bytes[PT_AT_VERSION] = static_cast<std::byte>(version);
    pt_plan plan;
    EXPECT_EQ(pt_plan_open(&plan, bytes.data(), bytes.size()), version == 3 ? PT_OK : PT_E_VERSION);
  }
}

TEST(PlanFormat, APlanWithoutNamesFindsNone) {
  const auto bytes = artifact::without_names(encoded(small_plan()));
  pt_plan plan;
  ASSERT_EQ(pt_plan_open(&plan, bytes.data(), bytes.size()), PT_OK);
  EXPECT_EQ(pt_plan_program(&plan, "train"), -1);
  EXPECT_EQ(pt_plan_tensor(&plan, "w"), -1);
  pt_tensor_info info;
  ASSERT_EQ(pt_plan_tensor_info(&plan, 0, &info), PT_OK);
  EXPECT_STREQ(info.name, "");
  EXPECT_EQ(info.payload, 64U);
}

// ---- damage under a right checksum ----

pt_status open_sealed(std::vector<std::byte> bytes) {
  const auto put = [&](size_t at, uint64_t value) {
    for (size_t byte = 0; byte < 4; ++byte) bytes[at + byte] = static_cast<std::byte>(value >> (8 * byte));
  };
  if (bytes.size() >= PT_HEADER_SIZE) {
    put(PT_AT_SIZE, bytes.size());
    const auto* from = reinterpret_cast<const Bytef*>(bytes.data() + PT_AT_ARENA);
    put(PT_AT_CRC, crc32_z(0, from, bytes.size() - PT_AT_ARENA));
  }
  // Exactly as long as the plan, so that the sanitizers see a byte too many.
  const std::unique_ptr<std::byte[]> copy(new std::byte[bytes.size()]);
  std::ranges::copy(bytes, copy.get());
  pt_plan plan;
  const pt_status status = pt_plan_open(&plan, copy.get(), bytes.size());
  if (status != PT_OK) return status;
  for (uint32_t tensor = 0; tensor < plan.tensor_count; ++tensor) {
    pt_tensor_info info;
    EXPECT_EQ(pt_plan_tensor_info(&plan, tensor, &info), PT_OK);
    EXPECT_LT(std::strlen(info.name), bytes.size());
  }
  for (uint32_t program = 0; program < plan.program_count; ++program) {
    uint32_t instructions = 0;
    pt_code code = pt_program_code(&plan, program, &instructions);
    for (; instructions > 0; --instructions) {
      pt_step step;
      pt_op_view view;
      EXPECT_EQ(pt_decode_step(&plan, &code, &step, &view), PT_OK);
    }
  }
  return status;
}

TEST(PlanFormat, EveryShorterPlanIsRefused) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const auto bytes = encoded(RandomPlan(seed).plan()), nameless = artifact::without_names(bytes);
    for (size_t size = 0; size < nameless.size(); ++size) {
      if (size > 2000 && size % 7 != 0) continue;
      EXPECT_NE(open_sealed({nameless.begin(), nameless.begin() + static_cast<ptrdiff_t>(size)}), PT_OK) << size;
      EXPECT_NE(open_sealed({bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size)}), PT_OK) << size;
    }
    EXPECT_EQ(open_sealed(nameless), PT_OK);
    EXPECT_EQ(open_sealed(bytes), PT_OK);
  }
}

TEST(PlanFormat, EveryByteOfTheHeaderMayBeAnything) {
  const auto bytes = encoded(small_plan());
  size_t refused = 0;
  for (size_t at = PT_AT_ALIGN; at < PT_HEADER_SIZE; ++at)
    for (unsigned value = 0; value < 256; ++value) {
      auto broken = bytes;
      broken[at] = static_cast<std::byte>(value);
      refused += open_sealed(broken) != PT_OK;
    }
  EXPECT_GT(refused, 40U * 200);
}

TEST(PlanFormat, RandomDamageStaysInBounds) {
  Random random(5);
  size_t refused = 0, taken = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const auto bytes = encoded(RandomPlan(seed).plan());
    for (int time = 0; time < 200; ++time) {
      auto broken = bytes;
      for (uint64_t count = 1 + below(random, 4); count > 0; --count)
        broken[PT_AT_ALIGN + below(random, bytes.size() - PT_AT_ALIGN)] = static_cast<std::byte>(below(random, 256));
      ++(open_sealed(std::move(broken)) == PT_OK ? taken : refused);
    }
  }
  EXPECT_GT(refused, 100U);
  EXPECT_GT(taken, 10U);
}

}  // namespace
}  // namespace pantoum::runtime_test
