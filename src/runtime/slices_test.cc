// Every operator that is computed in slices, in slicings of all kinds, against the whole op: the same bits, the workspace that was told and no more, and
// the bytes that the slices have.
#include "runtime/slices.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "base/round_up.h"
#include "ir/op_registry.h"
#include "kernels/portable/parts.h"
#include "testing/binary_plans.h"
#include "testing/op_cases.h"

namespace pantoum::runtime_test {
namespace {

using Random = std::mt19937_64;

int64_t from(Random& random, int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
}

// An op, how it is cut, and where its operands are.
struct Cut {
  OpCase of;
  uint16_t algorithm = 0;
  uint32_t align = 4;
  pt_slicing slicing = {};
};

size_t operands_of(const OpCase& of) {
  return of.inputs.size() + of.outputs.size();
}

const ir::TensorType& type_of(const OpCase& of, size_t operand) {
  return operand < of.inputs.size() ? of.inputs[operand] : of.outputs[operand - of.inputs.size()];
}

bool streams(const Cut& cut, size_t operand) {
  return (cut.slicing.streamed >> operand & 1) != 0;
}

// A program of the one op. Every operand has a place of its own in RAM or in storage; the workspace comes last in RAM.
BinaryPlan plan_of(const Cut& cut, uint64_t workspace) {
  BinaryPlan plan{.align_bytes = cut.align, .tensors = {}, .ops = {}, .programs = {}};
  BinaryOp op;
  op.kind = cut.of.kind, op.attrs = cut.of.attrs, op.algorithm = cut.algorithm, op.slicing = cut.slicing;
  op.workspace_bytes = workspace;
  BinaryInstruction step{.what = Do::kCompute, .subject = 0, .at = {}};
  for (size_t operand = 0; operand < operands_of(cut.of); ++operand) {
    const ir::TensorType& type = type_of(cut.of, operand);
    const auto bytes = static_cast<uint64_t>(base::round_up<int64_t>(type.bytes(), std::lcm<int64_t>(cut.align, 8)));
    BinaryTensor made{.name = "t" + std::to_string(operand), .bytes = bytes, .type = type};
    const bool is_input = operand < cut.of.inputs.size();
    if (streams(cut, operand)) {
      made.storage_at = static_cast<int64_t>(plan.storage_bytes);
      if (is_input) made.home = Home::kAux;
      plan.storage_bytes += bytes;
    } else {
      made.home = Home::kRam, made.ram_at = static_cast<int64_t>(plan.arena_bytes);
      if (!is_input) step.at.push_back(plan.arena_bytes);
      plan.arena_bytes += bytes;
    }
    plan.tensors.push_back(made);
    (is_input ? op.inputs : op.outputs).push_back({static_cast<uint32_t>(operand), type});
  }
  plan.arena_bytes = base::round_up<uint64_t>(plan.arena_bytes, 64);
  step.workspace_at = plan.arena_bytes;
  plan.arena_bytes += base::round_up<uint64_t>(workspace, cut.align);
  plan.ops = {op};
  plan.programs = {{.name = "once", .instructions = {step}}};
  return plan;
}

// Integers of an operand are from the first to the second: what is looked up is a row of the table, from its end if negative; others are 0 and 1.
std::pair<int64_t, int64_t> integers_of(const OpCase& of) {
  const bool is_gather = of.kind == ir::Kind::k_gather || of.kind == ir::Kind::k_gather_grad;
  if (!is_gather && of.kind != ir::Kind::k_sgd_rows && of.kind != ir::Kind::k_adagrad_rows &&
      of.kind != ir::Kind::k_adam_rows)
    return {0, 1};
  const ir::Shape& table = of.kind == ir::Kind::k_gather_grad ? of.outputs[0].shape : of.inputs[0].shape;
  const int64_t rows = table[is_gather ? static_cast<size_t>(of.attrs.ints[0]) : 0];
  return {-rows, rows - 1};
}

// The values of an input: floats about 1, of both signs where the op takes them; integers.
std::vector<std::byte> values_of(const OpCase& of, size_t operand, Random& random) {
  const ir::TensorType& type = type_of(of, operand);
  std::vector<std::byte> bytes(static_cast<size_t>(type.bytes()));
  const auto count = static_cast<size_t>(type.elements());
  const auto [least, most] = integers_of(of);
  for (size_t at = 0; at < count; ++at) {
    switch (type.dtype) {
      case ir::DType::kF32: {
        const float value =
            static_cast<float>(from(random, 1, 4000)) / 1000 * (random() % 3 == 0 && operand < 2 ? -1 : 1);
        std::memcpy(bytes.data() + 4 * at, &value, 4);
        break;
      }
      case ir::DType::kI64: {
        const int64_t value = from(random, least, most);
        std::memcpy(bytes.data() + 8 * at, &value, 8);
        break;
      }
      case ir::DType::kI32: {
        const auto value = static_cast<int32_t>(from(random, least, most));
        std::memcpy(bytes.data() + 4 * at, &value, 4);
        break;
      }
      default:
        bytes[at] = static_cast<std::byte>(random() % 2);
    }
  }
  return bytes;
}

struct Ran {
  pt_status status = PT_OK;
  std::vector<std::vector<std::byte>> outputs;
  pt_counters counters{};
};

// Runs the op; inputs in the order of its operands. Bytes behind the workspace stay as they are.
Ran run(const Cut& cut, uint64_t workspace, const std::vector<std::vector<std::byte>>& inputs, const pt_pool* pool) {
  const BinaryPlan made = plan_of(cut, workspace);
  const std::vector<std::byte> bytes = encoded(made);
  pt_plan plan;
  Ran ran;
  ran.status = pt_plan_open(&plan, bytes.data(), bytes.size());
  if (ran.status != PT_OK) return ran;
  LazyPager pager(made.storage_bytes);
  std::ranges::fill(pager.storage, std::byte{0x5A});
  const size_t guarded = plan.arena_bytes + 256;
  const Memory arena = memory_of(guarded), memory = memory_of(pt_session_bytes(&plan));
  auto* ram = static_cast<std::byte*>(arena.get());
  pt_session* session = nullptr;
  ran.status = pt_session_open(&session, &plan, memory.get(), arena.get(), nullptr, pt_portable_kernels(),
                               pager.interface(), pool);
  if (ran.status != PT_OK) return ran;
  const auto place = [&](size_t operand) {
    const BinaryTensor& tensor = made.tensors[operand];
    return streams(cut, operand) ? pager.storage.data() + tensor.storage_at : ram + tensor.ram_at;
  };
  for (size_t input = 0; input < inputs.size(); ++input) std::ranges::copy(inputs[input], place(input));
  const pt_scalars scalars = {3, 2, 0.1};
  ran.status = pt_run(session, 0, &scalars);
  for (size_t output = inputs.size(); output < operands_of(cut.of); ++output)
    ran.outputs.emplace_back(place(output), place(output) + type_of(cut.of, output).bytes());
  for (size_t input = 0; input < inputs.size(); ++input)
    EXPECT_TRUE(std::ranges::equal(inputs[input], std::span(place(input), inputs[input].size()))) << "input changed";
  for (size_t at = plan.arena_bytes; at < guarded; ++at) EXPECT_EQ(ram[at], std::byte{0xCD}) << "behind the arena";
  pt_session_counters(session, &ran.counters);
  return ran;
}

// The op as the runtime sees it.
struct Decoded {
  explicit Decoded(const Cut& cut) : bytes(encoded(plan_of(cut, 1 << 20))) {
    EXPECT_EQ(pt_plan_open(&plan, bytes.data(), bytes.size()), PT_OK) << ir::name_of(cut.of.kind);
    EXPECT_EQ(pt_decode_op(&plan, 0, &view), PT_OK);
    kernel = pt_kernel_find(pt_portable_kernels(), view.op, view.dtype, view.algorithm, 0);
  }
  std::vector<std::byte> bytes;
  pt_plan plan{};
  pt_op_view view{};
  const pt_kernel* kernel = nullptr;
};

// A loop inside of those over terms, over a new axis or over one that an outer loop cuts, and perhaps one behind the terms.
void add_inner_loops(const pt_axes& axes, Random& random, pt_slicing& slicing) {
  const auto terms = std::find_if(slicing.axis, slicing.axis + slicing.loops,
                                  [&](uint8_t axis) { return axes.axis[axis].reduces != 0; });
  if (terms == slicing.axis + slicing.loops) return;
  const uint8_t term = *terms;
  const auto add = [&](uint8_t axis, int64_t most) {
    if (slicing.loops == PT_MAX_LOOPS) return;
    slicing.axis[slicing.loops] = axis;
    slicing.tile[slicing.loops++] = static_cast<uint32_t>(from(random, 1, most));
  };
  const auto axis = static_cast<uint8_t>(random() % axes.count);
  if (axes.axis[axis].reduces == 0 && random() % 4 != 0) {
    const auto end = slicing.axis + slicing.loops, outer = std::find(slicing.axis, end, axis);
    if (outer != end) {  // divides the extent, and is divided
      uint32_t& tile = slicing.tile[outer - slicing.axis];
      while (axes.axis[axis].extent % tile != 0) --tile;
    }
    add(axis, outer == end ? axes.axis[axis].extent : slicing.tile[outer - slicing.axis]);
  }
  if (random() % 2 == 0) add(term, 40);
}

// Some slicing of the op, which need not be allowed.
pt_slicing some_slicing(const pt_axes& axes, size_t operands, Random& random) {
  pt_slicing slicing{};
  std::vector<uint8_t> order(axes.count);
  for (size_t axis = 0; axis < order.size(); ++axis) order[axis] = static_cast<uint8_t>(axis);
  std::ranges::shuffle(order, random);
  if (random() % 4 != 0)
    std::stable_partition(order.begin(), order.end(), [&](uint8_t axis) { return axes.axis[axis].reduces == 0; });
  slicing.loops = static_cast<uint8_t>(from(random, 1, axes.count));
  for (size_t loop = 0; loop < slicing.loops; ++loop) {
    slicing.axis[loop] = order[loop];
    slicing.tile[loop] = static_cast<uint32_t>(from(random, 1, axes.axis[order[loop]].extent));
  }
  if (random() % 2 == 0) add_inner_loops(axes, random, slicing);
  const uint64_t all = (uint64_t{1} << operands) - 1;
  slicing.streamed = static_cast<uint32_t>(random() % 4 == 0 ? all : random() & all);
  return slicing;
}

// The first byte of the slice after this one in the tensor's order of steps; empty ones do not count.
uint64_t next_slice_begins_at(pt_loop loop, unsigned operand) {
  while (pt_next_slice(&loop, operand) != 0) {
    const pt_box box = pt_slice_of(&loop, operand);
    if (pt_is_empty(&box) == 0) return pt_runs_of(&loop, operand, &box).begin;
  }
  return UINT64_MAX;
}

uint64_t tensor_bytes(const pt_loop& loop, unsigned operand) {
  const pt_tensor& whole = loop.whole->operands[operand];
  return pt_type_elements(&whole) * pt_dtype_size(whole.dtype);
}

uint64_t rounded(uint64_t bytes, uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// The units that the streamed operands' slices touch, counted byte by byte: in, out.
std::pair<uint64_t, uint64_t> bytes_moved(pt_loop loop) {
  uint64_t in = 0, out = 0;
  unsigned changed = 0;
  for (;;) {
    const unsigned next = pt_loop_changes(&loop);
    for (unsigned operand = 0; operand < static_cast<unsigned>(loop.whole->input_count + loop.whole->output_count);
         ++operand) {
      if (!pt_is_streamed(loop.whole, operand)) continue;
      const bool is_input = operand < loop.whole->input_count;
      const unsigned when = is_input ? changed : next;
      const bool is_rest = pt_is_rest(&loop, operand) != 0;
      if (is_input && is_rest && pt_is_at_rest(&loop) == 0) continue;
      if (is_input && !is_rest && when != 0 && (pt_loops_of(&loop, operand) & when) == 0) continue;
      if (!is_input && pt_is_complete(&loop, operand, when) == 0) continue;
      const pt_box box = pt_slice_of(&loop, operand);
      if (pt_is_empty(&box) != 0) continue;
      pt_runs runs = pt_runs_of(&loop, operand, &box);
      do {
        if (is_input && operand == 0 && pt_looks_up(&loop) != 0) {  // any row: as many units as a run can touch
          const uint64_t each = loop.how[0] == PT_SPAN    ? uint64_t{loop.units[0]} * loop.unit
                                : loop.how[0] == PT_DENSE ? runs.bytes
                                                          : rounded(runs.bytes + loop.unit - 1, loop.unit);
          in += std::min(each, rounded(tensor_bytes(loop, 0), loop.unit));
          continue;
        }
        std::set<uint64_t> units;
        for (uint64_t byte = 0; byte < runs.bytes; ++byte) units.insert((runs.begin + byte) / loop.unit);
        const uint64_t end = runs.begin + runs.bytes;
        if (loop.how[operand] == PT_CARRIED && end % loop.unit != 0 && next != 0 &&
            next_slice_begins_at(loop, operand) == end)
          units.erase(end / loop.unit);
        (is_input ? in : out) += units.size() * loop.unit;
      } while (pt_next_run(&box, &runs) != 0);
    }
    if (next == 0) return {in, out};
    pt_loop_next(&loop);
    changed = next;
  }
}

// Returns whether the slicing is allowed.
bool agrees(Cut cut, Random& random, const pt_pool* pool) {
  const Decoded decoded(cut);
  if (decoded.kernel == nullptr) return false;
  pt_op_view view = decoded.view;
  view.slicing = cut.slicing;
  pt_loop loop;
  const bool is_allowed = pt_loop_open(&loop, &view, cut.align, decoded.kernel, pool) == PT_OK;
  std::vector<std::vector<std::byte>> inputs;
  for (size_t input = 0; input < cut.of.inputs.size(); ++input) inputs.push_back(values_of(cut.of, input, random));
  if (!is_allowed) {
    EXPECT_NE(run(cut, 1 << 20, inputs, pool).status, PT_OK) << "computed in slices that are not allowed";
    return false;
  }
  Cut whole = cut;
  whole.slicing = {};
  const Ran expected = run(whole, 1 << 20, inputs, pool);
  if (expected.status == PT_E_KERNEL) return false;  // the kernel computes slices of this shape alone
  EXPECT_EQ(expected.status, PT_OK);
  const Ran found = run(cut, loop.workspace_bytes, inputs, pool);
  EXPECT_EQ(found.status, PT_OK);
  EXPECT_EQ(found.outputs, expected.outputs);
  const auto [in, out] = bytes_moved(loop);
  uint64_t told[2] = {0, 0};
  for (unsigned operand = 0; operand < operands_of(cut.of); ++operand)
    if (pt_is_streamed(&view, operand)) told[operand < view.input_count ? 0 : 1] += pt_traffic_of(&loop, operand).bytes;
  EXPECT_THAT(told, testing::ElementsAre(in, out));
  EXPECT_EQ(found.counters.bytes_paged_in, in);
  EXPECT_EQ(found.counters.bytes_paged_out, out);
  if (loop.workspace_bytes > 0) {
    EXPECT_EQ(run(cut, loop.workspace_bytes - 1, inputs, pool).status, PT_E_PLAN);
  }
  return true;
}

std::string told(const Cut& cut) {
  std::string text = ir::name_of(cut.of.kind);
  text += " algorithm " + std::to_string(cut.algorithm) + " align " + std::to_string(cut.align) + " streamed " +
          std::to_string(cut.slicing.streamed);
  for (size_t loop = 0; loop < cut.slicing.loops; ++loop)
    text += " axis " + std::to_string(cut.slicing.axis[loop]) + " by " + std::to_string(cut.slicing.tile[loop]);
  for (size_t operand = 0; operand < operands_of(cut.of); ++operand) {
    text += " [";
    for (const int64_t dim : type_of(cut.of, operand).shape) text += std::to_string(dim) + " ";
    text += "]";
  }
  for (const int64_t value : cut.of.attrs.ints) text += " " + std::to_string(value);
  return text;
}

// Convolutions of random shapes, forward and backward.
std::vector<OpCase> random_convolutions(Random& random) {
  using enum ir::Kind;
  const auto f = [](ir::Shape shape) { return ir::TensorType{ir::DType::kF32, std::move(shape)}; };
  const int64_t groups = random() % 3 == 0 ? from(random, 2, 4) : 1, n = from(random, 1, 3), each = from(random, 1, 4),
                made = from(random, 1, 4), kh = from(random, 1, 4), kw = from(random, 1, 3), sh = from(random, 1, 3),
                sw = from(random, 1, 2), dh = from(random, 1, 2), dw = from(random, 1, 2),
                top = from(random, 0, kh - 1), left = from(random, 0, kw - 1), bottom = from(random, 0, kh - 1),
                right = from(random, 0, kw - 1);
  const int64_t h = (kh - 1) * dh + 1 + from(random, 0, 8), w = (kw - 1) * dw + 1 + from(random, 0, 6);
  const int64_t p = (h + top + bottom - (kh - 1) * dh - 1) / sh + 1,
                q = (w + left + right - (kw - 1) * dw - 1) / sw + 1;
  const ir::Shape x = {n, groups * each, h, w}, y = {n, groups * made, p, q}, k = {groups * made, each, kh, kw};
  const std::vector<int64_t> conv = {sh, sw, top, left, bottom, right, dh, dw, groups};
  const auto with = [&](std::vector<int64_t> more) {
    more.insert(more.begin(), conv.begin(), conv.end());
    return more;
  };
  return {
      {k_conv2d, {f(x), f(k), f({groups * made})}, {f(y)}, {conv, {}}},
      {k_conv2d, {f(x), f(k)}, {f(y)}, {conv, {}}},
      {k_conv2d_dx, {f(y), f(k)}, {f(x)}, {conv, {}}},
      {k_conv2d_dw, {f(x), f(y)}, {f(k)}, {conv, {}}},
      {k_conv2d_dz, {f(y), f(k), f(x)}, {f(x)}, {with({PT_OP_relu_grad, 0}), {0, 0, 0}}},
      {k_conv2d_act, {f(x), f(k), f({groups * made}), f(y)}, {f(y)}, {with({PT_OP_relu, PT_RESIDUAL_READ}), {0, 0}}},
      {k_conv2d_dw_update, {f(x), f(y), f(k), f(k)}, {f(k), f(k)}, {with({PT_OP_sgd, 0}), {0.9, 0.01, 0, 0}}}};
}

std::vector<OpCase> random_products(Random& random) {
  using enum ir::Kind;
  const auto f = [](ir::Shape shape) { return ir::TensorType{ir::DType::kF32, std::move(shape)}; };
  const int64_t m = from(random, 1, 12), n = from(random, 1, 12), k = from(random, 1, 70), batch = from(random, 1, 3);
  const int64_t ta = from(random, 0, 1), tb = from(random, 0, 1);
  const ir::Shape a = ta != 0 ? ir::Shape{k, m} : ir::Shape{m, k}, b = tb != 0 ? ir::Shape{n, k} : ir::Shape{k, n};
  const auto in_batch = [](ir::Shape of, const ir::Shape& of_batch) {
    of.insert(of.begin(), of_batch.begin(), of_batch.end());
    return of;
  };
  const ir::Shape heads = {batch, from(random, 1, 3)}, batched = in_batch(a, {batch}), in_heads = in_batch(a, heads);
  const std::vector<ir::Shape> broadcast = {b, in_batch(b, {1, 1}), in_batch(b, {1, heads[1]}), in_batch(b, {heads[1]}),
                                            in_batch(b, heads)};
  const ir::Shape& other = broadcast[random() % broadcast.size()];
  return {{k_matmul, {f(a), f(b), f({n})}, {f({m, n})}, {{ta, tb}, {}}},
          {k_matmul, {f(batched), f(b)}, {f({batch, m, n})}, {{ta, tb}, {}}},
          {k_matmul, {f(in_heads), f(other)}, {f(in_batch({m, n}, heads))}, {{ta, tb}, {}}},
          {k_matmul_act,
           {f(in_heads), f(in_batch(b, heads)), f(in_batch({m, n}, heads))},
           {f(in_batch({m, n}, heads))},
           {{ta, tb, PT_OP_relu, PT_RESIDUAL_READ}, {0, 0}}},
          {k_matmul_act, {f(a), f(b), f({n})}, {f({m, n})}, {{ta, tb, PT_OP_relu, PT_RESIDUAL_NONE}, {0, 0}}},
          {k_matmul_update,
           {f(a), f(b), f({m, n}), f({m, n})},
           {f({m, n}), f({m, n})},
           {{ta, tb, PT_OP_sgd, 0}, {0.9, 0, 0, 0}}}};
}

// Batch normalizations of images and of vectors, forward and backward, alone and with an activation.
std::vector<OpCase> random_norms(Random& random) {
  using enum ir::Kind;
  const auto f = [](ir::Shape shape) { return ir::TensorType{ir::DType::kF32, std::move(shape)}; };
  const int64_t channels = from(random, 1, 6);
  ir::Shape x = {from(random, 1, 7), channels};
  if (random() % 4 != 0) x.push_back(from(random, 1, 9)), x.push_back(from(random, 1, 9));
  const ir::TensorType image = f(x), vector = f({channels});
  return {{k_batch_norm, {image, vector, vector}, {image, vector, vector}, {{}, {1e-5}}},
          {k_batch_norm_grad, {image, image, vector, vector, vector}, {image, vector, vector}, {{}, {1e-5}}},
          {k_batch_norm_act, {image, vector, vector}, {image, vector, vector}, {{PT_OP_relu}, {1e-5, 0, 0}}},
          {k_batch_norm_act_grad,
           {image, image, vector, vector, vector, vector},
           {image, vector, vector},
           {{PT_OP_relu}, {1e-5, 0, 0}}}};
}

// Losses of classes and by element, with their gradients.
std::vector<OpCase> random_losses(Random& random) {
  using enum ir::Kind;
  const auto f = [](ir::Shape shape) { return ir::TensorType{ir::DType::kF32, std::move(shape)}; };
  ir::Shape x = {from(random, 1, 20), from(random, 2, 9)}, labels = {x[0]};
  if (random() % 2 == 0) x.push_back(from(random, 1, 7)), labels.push_back(x.back());
  const ir::TensorType scores = f(x), truth = {random() % 2 == 0 ? ir::DType::kI64 : ir::DType::kI32, labels},
                       one = f({});
  const ir::Attrs smoothed = {{random() % 2 == 0 ? -100 : 1}, {random() % 2 == 0 ? 0.0 : 0.1}};
  std::vector<OpCase> cases = {{k_cross_entropy, {scores, truth}, {one}, smoothed},
                               {k_cross_entropy_grad, {scores, truth}, {scores}, smoothed},
                               {k_nll, {scores, truth}, {one}, {smoothed.ints, {}}},
                               {k_nll_grad, {scores, truth}, {scores}, {smoothed.ints, {}}},
                               {k_soft_cross_entropy, {scores, scores}, {one}, {{}, smoothed.reals}},
                               {k_soft_cross_entropy_grad, {scores, scores}, {scores}, {{}, smoothed.reals}}};
  const std::vector<double> number = {random() % 2 == 0 ? 0.5 : 3.0};
  for (const ir::Kind kind : {k_mse, k_l1, k_bce_with_logits}) cases.push_back({kind, {scores, scores}, {one}, {}});
  for (const ir::Kind kind : {k_smooth_l1, k_kl_div}) cases.push_back({kind, {scores, scores}, {one}, {{}, number}});
  for (const ir::Kind kind : {k_mse_grad, k_l1_grad, k_bce_with_logits_grad})
    cases.push_back({kind, {scores, scores}, {scores}, {}});
  for (const ir::Kind kind : {k_smooth_l1_grad, k_kl_div_grad})
    cases.push_back({kind, {scores, scores}, {scores}, {{}, number}});
  return cases;
}

// Rows of tables that are looked up, and what flows back into them; layer normalizations, whose gradients sum over rows.
std::vector<OpCase> random_rows(Random& random) {
  using enum ir::Kind;
  const auto f = [](ir::Shape shape) { return ir::TensorType{ir::DType::kF32, std::move(shape)}; };
  const auto some = [&](int64_t rank, int64_t most) {
    ir::Shape shape;
    while (std::ssize(shape) < rank) shape.push_back(from(random, 1, most));
    return shape;
  };
  const ir::Shape table = some(from(random, 1, 3), 9), indices = some(from(random, 0, 2), 5);
  const auto axis =
      static_cast<size_t>(random() % 3 == 0 ? from(random, 0, static_cast<int64_t>(table.size()) - 1) : 0);
  ir::Shape rows = table;
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(axis));
  rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(axis), indices.begin(), indices.end());
  const ir::TensorType at = {random() % 2 == 0 ? ir::DType::kI64 : ir::DType::kI32, indices};
  const auto along = static_cast<int64_t>(axis);
  std::vector<OpCase> cases = {{k_gather, {f(table), at}, {f(rows)}, {{along}, {}}},
                               {k_gather_grad, {f(rows), at}, {f(table)}, {{along}, {}}}};
  if (axis == 0) {
    const ir::TensorType w = f(table), dy = f(rows);
    cases.push_back({k_sgd_rows, {w, at, dy}, {w}, {}});
    cases.push_back({k_adagrad_rows, {w, at, dy, w}, {w, w}, {{}, {0, 1e-10}}});
    cases.push_back({k_adam_rows, {w, at, dy, w, w}, {w, w, w}, {{}, {0.9, 0.999, 1e-8}}});
  }
  const ir::Shape x = some(from(random, 1, 4), 9);
  const auto split = x.begin() + from(random, 0, static_cast<int64_t>(x.size()) - 1);
  const ir::TensorType stats = f({x.begin(), split}), vector = f({split, x.end()});
  const std::vector<int64_t> behind = {split - x.begin()};
  cases.push_back({k_layer_norm, {f(x), vector, vector}, {f(x), stats, stats}, {behind, {1e-5}}});
  cases.push_back({k_layer_norm_grad, {f(x), f(x), vector, stats, stats}, {f(x), vector, vector}, {behind, {}}});
  return cases;
}

// Attention and its gradient, with a mask of each kind or none.
std::vector<OpCase> random_attention(Random& random) {
  using enum ir::Kind;
  const auto f = [](ir::Shape shape) { return ir::TensorType{ir::DType::kF32, std::move(shape)}; };
  const int64_t heads = from(random, 1, 3), m = from(random, 1, 12), n = from(random, 1, 12), d = from(random, 1, 9),
                e = from(random, 1, 9);
  const ir::Shape batch = random() % 2 == 0 ? ir::Shape{heads} : ir::Shape{from(random, 1, 2), heads};
  const auto matrix = [&](int64_t rows, int64_t columns, int64_t turned) {
    ir::Shape shape = batch;
    shape.insert(shape.end(), {turned != 0 ? columns : rows, turned != 0 ? rows : columns});
    return f(shape);
  };
  const int64_t tq = from(random, 0, 1), tk = from(random, 0, 1), tv = from(random, 0, 1);
  std::vector<ir::TensorType> forward = {matrix(m, d, tq), matrix(n, d, tk), matrix(n, e, tv)};
  int64_t masks = PT_STEP_NONE;
  if (random() % 2 == 0) {
    masks = random() % 2 == 0 ? PT_STEP_ADD : PT_STEP_KEEP;
    ir::Shape mask(batch.size(), 1);
    mask.insert(mask.end(), {random() % 2 == 0 ? m : 1, n});
    forward.push_back({masks == PT_STEP_ADD ? ir::DType::kF32 : ir::DType::kBool, mask});
  }
  std::vector<ir::TensorType> backward = forward;
  backward.insert(backward.begin(), matrix(m, e, 0));
  const ir::Attrs attrs = {{tq, tk, tv, PT_STEP_SCALE, masks, PT_STEP_NONE}, {0.5, -1000, 0}};
  return {{k_attention, forward, {matrix(m, e, 0)}, attrs},
          {k_attention_grad, backward, {forward[0], forward[1], forward[2]}, attrs}};
}

// Elements that move: some of each dimension by start and step, and back; parts that are laid end to end, and what is split into them; permutations.
std::vector<OpCase> random_moves(Random& random) {
  using enum ir::Kind;
  const ir::DType dtypes[] = {ir::DType::kF32, ir::DType::kI64, ir::DType::kBool};
  const ir::DType dtype = dtypes[random() % 3];
  const auto of = [&](const ir::Shape& shape) { return ir::TensorType{dtype, shape}; };
  ir::Shape whole, part, turned;
  std::vector<int64_t> picks, permutation;
  for (int64_t rank = from(random, 1, 5); rank > 0; --rank) {
    whole.push_back(from(random, 1, 8));
    if (random() % 3 == 0) {
      part.push_back(whole.back()), picks.insert(picks.end(), {0, 1});
      continue;
    }
    const int64_t last = whole.back() - 1, begin = from(random, 0, last), end = from(random, 0, last);
    const int64_t step = from(random, 1, 3) * (end < begin ? -1 : 1);
    part.push_back((end - begin) / step + 1), picks.insert(picks.end(), {begin, step});
  }
  for (size_t dim = 0; dim < whole.size(); ++dim) permutation.push_back(static_cast<int64_t>(dim));
  std::ranges::shuffle(permutation, random);
  for (const int64_t dim : permutation) turned.push_back(whole[static_cast<size_t>(dim)]);
  const auto axis = static_cast<size_t>(from(random, 0, std::ssize(whole) - 1));
  std::vector<ir::TensorType> parts;
  ir::Shape joined = whole;
  joined[axis] = 0;
  for (int64_t count = from(random, 1, 4); count > 0; --count) {
    ir::Shape each = whole;
    each[axis] = from(random, 1, 9), joined[axis] += each[axis];
    parts.push_back(of(each));
  }
  const ir::Attrs along = {{static_cast<int64_t>(axis)}, {}};
  return {{k_slice, {of(whole)}, {of(part)}, {picks, {}}},
          {k_slice_grad, {of(part)}, {of(whole)}, {picks, {}}},
          {k_assign_slice, {of(whole), of(part)}, {of(whole)}, {picks, {}}},
          {k_concat, parts, {of(joined)}, along},
          {k_split, {of(joined)}, parts, along},
          {k_transpose, {of(whole)}, {of(turned)}, {permutation, {}}}};
}

// Numbers that are drawn for each element by its place.
std::vector<OpCase> random_draws(Random& random) {
  using enum ir::Kind;
  const ir::TensorType x = {ir::DType::kF32, {from(random, 1, 9), from(random, 1, 99)}};
  return {{k_dropout, {x}, {x}, {{7}, {0.4}}},
          {k_random, {}, {x}, {{5, random() % 2 == 0 ? PT_RANDOM_NORMAL : PT_RANDOM_UNIFORM}, {0.5, 2}}}};
}

std::vector<uint16_t> algorithms_of(const OpCase& of) {
  std::vector<uint16_t> found;
  const pt_kernel_table& table = *pt_portable_kernels();
  for (size_t row = 0; row < table.count; ++row)
    if (table.kernels[row].op == static_cast<uint16_t>(of.kind) && !base::contains(found, table.kernels[row].algorithm))
      found.push_back(table.kernels[row].algorithm);
  return found;
}

// What the slicing has beside loops outside of those over terms.
std::string loops_of(const pt_axes& axes, const pt_slicing& slicing) {
  bool terms = false, inner = false, rests = false;
  for (size_t loop = 0; loop < slicing.loops; ++loop) {
    const uint8_t* const begin = slicing.axis;
    const bool reduces = axes.axis[slicing.axis[loop]].reduces != 0;
    rests |= reduces && std::find(begin, begin + loop, slicing.axis[loop]) != begin + loop;
    inner |= terms && !reduces;
    terms |= reduces;
  }
  return std::string(inner ? " inside of terms" : "") + (rests ? " behind terms" : "");
}

// Have slices of a result that is held gaps?
bool is_apart(const Cut& cut, const pt_op_view& whole) {
  pt_op_view view = whole;
  view.slicing = cut.slicing;
  const pt_kernel* const kernel = pt_kernel_find(pt_portable_kernels(), view.op, view.dtype, cut.algorithm, 0);
  pt_loop loop;
  return pt_loop_open(&loop, &view, static_cast<uint32_t>(cut.align), kernel, nullptr) == PT_OK && loop.apart != 0;
}

// Cuts the op in many ways; adds to `allowed` how often it was allowed to.
void try_all(const OpCase& of, int times, Random& random, std::map<std::string, int>& allowed) {
  for (const uint16_t algorithm : algorithms_of(of)) {
    Cut cut{.of = of, .algorithm = algorithm};
    const Decoded decoded(cut);
    pt_axes axes;
    pt_axes_of(&decoded.view, &axes);
    if (axes.count == 0) return;
    for (int time = 0; time < times; ++time) {
      cut.align = 4U << random() % 5;
      if (cut.align < 8 &&
          std::ranges::any_of(of.inputs, [](const auto& type) { return ir::size_of(type.dtype) == 8; }))
        continue;
      cut.slicing = some_slicing(axes, operands_of(of), random);
      if (agrees(cut, random, nullptr)) {
        const std::string name =
            std::string(ir::name_of(of.kind)) + " " + std::to_string(algorithm) + loops_of(axes, cut.slicing);
        ++allowed[name];
        if (is_apart(cut, decoded.view)) ++allowed[name + " apart"];
      }
      if (testing::Test::HasFailure()) FAIL() << told(cut);
    }
  }
}

#ifdef PANTOUM_SANITIZER
constexpr int kCuts = 8, kRounds = 6;
constexpr size_t kLeastKernels = 40;
constexpr int kLeastTimes = -1;
#else
constexpr int kCuts = 60, kRounds = 100;
constexpr size_t kLeastKernels = 60;
constexpr int kLeastTimes = 5;
#endif

TEST(Slices, HaveTheBitsOfTheWholeOpForEveryOperator) {
  Random random(1);
  std::map<std::string, int> allowed;
  for (const OpCase& of : op_cases()) {
    try_all(of, kCuts, random, allowed);
    if (HasFailure()) return;
  }
  for (const auto& [name, times] : allowed) RecordProperty(name, times);
  EXPECT_GT(allowed.size(), kLeastKernels);
}

TEST(Slices, HaveTheBitsOfTheWholeProduct) {
  Random random(2);
  std::map<std::string, int> allowed;
  for (int round = 0; round < kRounds; ++round)
    for (const auto& cases :
         {random_convolutions(random), random_products(random), random_norms(random), random_losses(random),
          random_rows(random), random_attention(random), random_moves(random), random_draws(random)})
      for (const OpCase& of : cases) {
        try_all(of, 6, random, allowed);
        if (HasFailure()) return;
      }
  for (const auto& [name, times] : allowed) RecordProperty(name, times);
  for (const char* op :
       {"matmul 2", "matmul_act 2", "conv2d 2", "conv2d_act 2", "conv2d_dx 2", "conv2d_dz 2", "conv2d_dw 2"})
    for (const auto& [how, times] : {std::pair("", kLeastTimes), {" apart", std::min(kLeastTimes, 2)}})
      EXPECT_GT(allowed[op + std::string(" inside of terms") + how], times) << op << how;
}

// Products with their update, of random shapes: parameter and states, of float32, are all in storage or all in RAM.
std::vector<OpCase> random_updates(Random& random) {
  using enum ir::Kind;
  std::vector<OpCase> cases;
  for (OpCase& of : random_convolutions(random))
    if (of.kind == k_conv2d_dw_update) cases.push_back(std::move(of));
  for (OpCase& of : random_products(random))
    if (of.kind == k_matmul_update) cases.push_back(std::move(of));
  OpCase adam = cases[random() % cases.size()];
  adam.inputs.push_back(adam.inputs.back()), adam.outputs.push_back(adam.outputs.back());
  adam.attrs.ints.end()[-2] = PT_OP_adam;
  adam.attrs.reals = {0.9, 0.999, 1e-8, 0};
  cases.push_back(std::move(adam));
  return cases;
}

// A slicing with a loop behind the terms; often one that cuts terms, and one inside of it.
pt_slicing some_update(const pt_axes& axes, const Cut& cut, Random& random) {
  pt_slicing slicing{};
  const auto add = [&](uint8_t axis, int64_t tile) {
    if (slicing.loops == PT_MAX_LOOPS) return;
    slicing.axis[slicing.loops] = axis;
    slicing.tile[slicing.loops++] = static_cast<uint32_t>(tile);
  };
  const auto some_of = [&](uint8_t axis) { return from(random, 1, axes.axis[axis].extent); };
  std::vector<uint8_t> results, terms;
  for (uint8_t axis = 0; axis < axes.count; ++axis) (axes.axis[axis].reduces != 0 ? terms : results).push_back(axis);
  std::ranges::shuffle(results, random);
  size_t outer = random() % 3 == 0 ? 0 : 1;
  if (outer == 1) add(results[0], some_of(results[0]));
  const uint8_t term = terms[random() % terms.size()];
  add(term, random() % 3 == 0 ? axes.axis[term].extent : some_of(term));
  if (random() % 3 != 0 && outer < results.size()) add(results[outer], some_of(results[outer]));
  const auto element = static_cast<int64_t>(ir::size_of(cut.of.inputs[2].dtype));
  add(term, random() % 4 == 0 ? from(random, 1, 40) : cut.align / element * from(random, 1, 6));
  const uint32_t all = (1U << operands_of(cut.of)) - 1;
  slicing.streamed = static_cast<uint32_t>(random()) & all & 3;
  if (random() % 3 != 0) slicing.streamed |= all & ~3U;
  return slicing;
}

TEST(Slices, HaveTheBitsOfTheWholeUpdateBehindItsTerms) {
  Random random(3);
  std::map<std::string, int> allowed;
  for (int round = 0; round < 6 * kRounds; ++round)
    for (const OpCase& of : random_updates(random))
      for (const uint16_t algorithm : algorithms_of(of)) {
        Cut cut{.of = of, .algorithm = algorithm, .align = 8U << random() % 3};
        const Decoded decoded(cut);
        pt_axes axes;
        pt_axes_of(&decoded.view, &axes);
        cut.slicing = some_update(axes, cut, random);
        if (agrees(cut, random, nullptr))
          ++allowed[std::string(ir::name_of(of.kind)) + " " + std::to_string(algorithm) + loops_of(axes, cut.slicing) +
                    ((cut.slicing.streamed & 4) != 0 ? " streaming" : "")];
        if (HasFailure()) FAIL() << told(cut);
      }
  for (const auto& [name, times] : allowed) RecordProperty(name, times);
  for (const char* op : {"matmul_update 0", "matmul_update 3", "conv2d_dw_update 0", "conv2d_dw_update 3"})
    for (const char* loops : {" behind terms", " inside of terms behind terms"})
      for (const char* where : {"", " streaming"})
        EXPECT_GT(allowed[std::string(op) + loops + where], kLeastTimes) << op << loops << where;
}

}  // namespace
}  // namespace pantoum::runtime_test
