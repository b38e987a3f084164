// Products, convolutions and batch normalizations that make parts of a sum (parts.h): calls with one range of the terms after the other leave the bits of one
// call with all of them, and those of the reference. src/runtime/slices_test.cc has all kernels that make parts.
#include "kernels/portable/parts.h"

#include <algorithm>
#include <string>

#include "kernels/portable/kernel_rows.h"
#include "testing/all_cases.h"
#include "testing/product_calls.h"

namespace {

using namespace product_test;

struct Draw {
  std::mt19937 random;
  uint32_t operator()(uint32_t least, uint32_t most) {
    return least + static_cast<uint32_t>(random()) % (most - least + 1);
  }
};

// The products behind the ops, and how an op goes on behind its sums.
enum class Kind { kMatmul, kForward, kInput, kWeight };
enum class Rest { kBias, kNothing, kEpilogue, kGradient, kUpdate };
struct Form {
  pt_op op, product_op;
  Kind product;
  Rest rest;
};
constexpr Form kForms[] = {{PT_OP_matmul, PT_OP_matmul, Kind::kMatmul, Rest::kBias},
                           {PT_OP_matmul_act, PT_OP_matmul, Kind::kMatmul, Rest::kEpilogue},
                           {PT_OP_matmul_update, PT_OP_matmul, Kind::kMatmul, Rest::kUpdate},
                           {PT_OP_conv2d, PT_OP_conv2d, Kind::kForward, Rest::kBias},
                           {PT_OP_conv2d_act, PT_OP_conv2d, Kind::kForward, Rest::kEpilogue},
                           {PT_OP_conv2d_dx, PT_OP_conv2d_dx, Kind::kInput, Rest::kNothing},
                           {PT_OP_conv2d_dz, PT_OP_conv2d_dx, Kind::kInput, Rest::kGradient},
                           {PT_OP_conv2d_dw, PT_OP_conv2d_dw, Kind::kWeight, Rest::kNothing},
                           {PT_OP_conv2d_dw_update, PT_OP_conv2d_dw, Kind::kWeight, Rest::kUpdate}};

// A call of an op: `product` are the operands that its terms come from, `rest` what is read behind the sums.
template <class Real>
struct Call {
  const Form* form = nullptr;
  std::vector<Operand<Real>> product, rest;
  std::vector<uint32_t> made;
  uint16_t outputs = 1;
  std::vector<int64_t> product_ints, rest_ints;
  std::vector<double> reals;
};

template <class Real>
void add_operand(Call<Real>& call, const std::vector<uint32_t>& dims, Draw& draw) {
  call.rest.push_back(make<Real>(dims, draw.random));
}

template <class Real>
void add_epilogue(Call<Real>& call, Draw& draw) {
  std::vector<int64_t> activations{0};
#define PT_ACTIVATION(name) activations.push_back(PT_OP_##name);
  PT_EPILOGUES(PT_ACTIVATION)
#undef PT_ACTIVATION
  const int64_t residual = draw(0, PT_RESIDUAL_COUNT - 1);
  if (residual != PT_RESIDUAL_NONE) add_operand(call, call.made, draw);
  call.rest_ints = {activations[draw(0, static_cast<uint32_t>(activations.size() - 1))], residual};
  call.reals = {0.1, 0.5};
}

template <class Real>
void add_gradient(Call<Real>& call, Draw& draw) {
  std::vector<int64_t> gradients;
#define PT_GRADIENT(name) gradients.push_back(PT_OP_##name);
  PT_CONV_GRADIENTS(PT_GRADIENT)
#undef PT_GRADIENT
  add_operand(call, call.made, draw);
  for (Real& value : call.rest.back().data) value = std::abs(value) + Real(0.01);  // sqrt_grad's is a root
  call.rest_ints = {gradients[draw(0, static_cast<uint32_t>(gradients.size() - 1))], draw(0, 1)};
  call.reals = {0.2, 0.1, 0.7};
}

template <class Real>
void add_update(Call<Real>& call, Draw& draw) {
  struct Rule {
    int64_t op, flag;
    std::vector<double> reals;
    uint16_t states;
  };
  const Rule rules[] = {{PT_OP_sgd, 0, {0, 0}, 0},
                        {PT_OP_sgd, 1, {0.9, 0.01}, 1},
                        {PT_OP_adam, 0, {0.9, 0.99, 1e-8, 0.01}, 2},
                        {PT_OP_adam, 0, {0.9, 0.99, 1e-8, 0}, 3},
                        {PT_OP_adamw, 0, {0.9, 0.99, 1e-8, 0.01}, 2},
                        {PT_OP_rmsprop, 0, {0.9, 1e-8, 0, 0.01}, 1},
                        {PT_OP_rmsprop, 1, {0.9, 1e-8, 0.5, 0}, 3},
                        {PT_OP_adagrad, 0, {0.1, 1e-10, 0.01}, 1}};
#define PT_UPDATE(name) \
  EXPECT_TRUE(std::ranges::any_of(rules, [](const Rule& rule) { return rule.op == PT_OP_##name; })) << #name;
  PT_PRODUCT_UPDATES(PT_UPDATE)
#undef PT_UPDATE
  const Rule& rule = rules[draw(0, std::size(rules) - 1)];
  call.outputs = static_cast<uint16_t>(1 + rule.states);
  for (uint16_t state = 0; state <= rule.states; ++state) {
    add_operand(call, call.made, draw);
    if (state == 0) continue;
    for (Real& value : call.rest.back().data) value = 1 + std::abs(value);  // greater than the square of a mean
  }
  call.rest_ints = {rule.op, rule.flag};
  call.reals = rule.reals;
  call.reals.resize(PT_UPDATE_REALS);
}

// The factors of a matrix product: some lie turned, some stacks broadcast.
template <class Real>
void draw_matmul(Call<Real>& call, Draw& draw) {
  const bool large = draw(0, 7) == 0;
  const uint32_t m = draw(1, large ? 90 : 13), n = draw(1, large ? 150 : 13), k = draw(2, large ? 150 : 12);
  const bool turned_a = draw(0, 1) != 0, turned_b = draw(0, 1) != 0;
  std::vector<uint32_t> a = turned_a ? std::vector{k, m} : std::vector{m, k},
                        b = turned_b ? std::vector{n, k} : std::vector{k, n};
  call.made = {m, n};
  if (call.form->rest != Rest::kUpdate && draw(0, 2) == 0) {
    const uint32_t stack = draw(1, 3);
    call.made.insert(call.made.begin(), stack);
    a.insert(a.begin(), stack);
    if (draw(0, 1) != 0) b.insert(b.begin(), stack);
  }
  call.product = {make<Real>(a, draw.random), make<Real>(b, draw.random)};
  call.product_ints = {turned_a, turned_b};
}

ConvCase draw_convolution(Kind product, Draw& draw) {
  const bool large = draw(0, 7) == 0, plain = draw(0, 2) == 0, few = draw(0, 3) == 0;
  const uint32_t most = few ? 3 : large ? 40 : 13, groups = product == Kind::kWeight ? draw(1, 3) : 1;
  ConvCase c{draw(1, 4), groups * draw(1, most), 0, 0, groups * draw(1, most), draw(1, 5), draw(1, 5), {}};
  if (product != Kind::kWeight) (product == Kind::kForward ? c.channels : c.outputs) += 1;  // for a cut
  if (plain) c.kernel_h = c.kernel_w = 3;
  const int64_t least = product == Kind::kWeight && large ? 3 : 1;
  c.ints = {draw(1, 3), draw(1, 3), draw(0, 2), draw(0, 2), draw(0, 2), draw(0, 2), draw(1, 3), draw(1, 3), groups};
  if (plain) c.ints = {1, 1, 1, 1, 1, 1, 1, 1, groups};
  const auto extent = [&](uint32_t kernel, size_t axis) {
    const int64_t reach = c.ints[PT_CONV_DILATION_H + axis] * (kernel - 1) + 1 - c.ints[PT_CONV_PAD_TOP + axis] -
                          c.ints[PT_CONV_PAD_BOTTOM + axis];
    return static_cast<uint32_t>(std::max(least, reach)) + draw(0, large ? 25 : 9);
  };
  c.height = extent(c.kernel_h, 0), c.width = extent(c.kernel_w, 1);
  return c;
}

template <class Real>
void draw_conv(Call<Real>& call, Draw& draw) {
  const ConvCase c = draw_convolution(call.form->product, draw);
  const std::vector<uint32_t> x = c.x(), w = c.w(), y = c.y();
  const bool forward = call.form->product == Kind::kForward, weight = call.form->product == Kind::kWeight;
  call.product = {make<Real>(forward || weight ? x : y, draw.random), make<Real>(weight ? y : w, draw.random)};
  call.made = forward ? y : weight ? w : x;
  call.product_ints = c.ints;
}

template <class Real>
Call<Real> draw_call(const Form& form, Draw& draw) {
  Call<Real> call;
  call.form = &form;
  if (form.product == Kind::kMatmul)
    draw_matmul(call, draw);
  else
    draw_conv(call, draw);
  if ((form.rest == Rest::kBias || form.rest == Rest::kEpilogue) && draw(0, 1) != 0)
    add_operand(call, {form.product == Kind::kMatmul ? call.made.back() : call.made[1]}, draw);
  if (form.rest == Rest::kEpilogue) add_epilogue(call, draw);
  if (form.rest == Rest::kGradient) add_gradient(call, draw);
  if (form.rest == Rest::kUpdate) add_update(call, draw);
  return call;
}

// ---- cuts ----

template <class Real>
Operand<Real> slice(const Operand<Real>& of, size_t dim, uint32_t begin, uint32_t end) {
  size_t outer = 1, inner = 1;
  for (size_t at = 0; at < of.dims.size(); ++at) (at < dim ? outer : inner) *= of.dims[at];
  inner /= of.dims[dim];
  Operand<Real> made{of.dims, {}};
  made.dims[dim] = end - begin;
  for (size_t at = 0; at < outer; ++at) {
    const Real* from = of.data.data() + (at * of.dims[dim] + begin) * inner;
    made.data.insert(made.data.end(), from, from + (end - begin) * inner);
  }
  return made;
}

// Ends of ranges that cover [0, extent): all of one term, or few.
std::vector<uint32_t> draw_ends(uint32_t extent, Draw& draw) {
  std::vector<uint32_t> ends;
  const bool ones = extent < 30 && draw(0, 2) == 0;
  for (uint32_t at = 0; at < extent;) ends.push_back(at += ones ? 1 : draw(1, std::min(extent - at, extent / 2 + 1)));
  return ends;
}

template <class Real>
struct Part {
  std::vector<Operand<Real>> product;
  std::vector<int64_t> ints;
};

// The rows of X that rows [begin, end) of dY read, and the padding around them; end <= begin: none.
struct Rows {
  int64_t begin, end, top, bottom;
};
Rows rows_of(const std::vector<int64_t>& ints, uint32_t height, uint32_t kernel, uint32_t begin, uint32_t end) {
  const int64_t from = begin * ints[PT_CONV_STRIDE_H] - ints[PT_CONV_PAD_TOP],
                to = (end - int64_t{1}) * ints[PT_CONV_STRIDE_H] - ints[PT_CONV_PAD_TOP] +
                     (kernel - 1) * ints[PT_CONV_DILATION_H] + 1;
  return {std::max<int64_t>(from, 0), std::min<int64_t>(to, height), std::max<int64_t>(-from, 0),
          std::max<int64_t>(to - height, 0)};
}

// Cuts one sample into bands of rows of dY, each of which reads at least one row of X.
template <class Real>
void cut_rows(const Part<Real>& sample, uint32_t kernel, Draw& draw, std::vector<Part<Real>>& parts) {
  const Operand<Real>&x = sample.product[0], &dy = sample.product[1];
  const uint32_t height = x.dims[2], rows = dy.dims[2];
  const auto reads = [&](uint32_t begin, uint32_t end) {
    const Rows band = rows_of(sample.ints, height, kernel, begin, end);
    return band.begin < band.end;
  };
  uint32_t begin = 0;
  for (const uint32_t end : draw_ends(rows, draw)) {
    if (end < rows && (!reads(begin, end) || !reads(end, rows))) continue;
    const Rows band = rows_of(sample.ints, height, kernel, begin, end);
    Part<Real> part = sample;
    part.ints[PT_CONV_PAD_TOP] = band.top, part.ints[PT_CONV_PAD_BOTTOM] = band.bottom;
    part.product = {slice(x, 2, static_cast<uint32_t>(band.begin), static_cast<uint32_t>(band.end)),
                    slice(dy, 2, begin, end)};
    parts.push_back(part);
    begin = end;
  }
}

template <class Real>
std::vector<Part<Real>> cut(const Call<Real>& call, Draw& draw) {
  size_t first = 1, second = 1;  // the dimensions of the two operands along which they are cut
  const auto last = [](const Operand<Real>& operand, size_t from_end) { return operand.dims.size() - 1 - from_end; };
  if (call.form->product == Kind::kMatmul) {
    first = last(call.product[0], call.product_ints[0] != 0 ? 1 : 0);
    second = last(call.product[1], call.product_ints[1] != 0 ? 0 : 1);
  }
  if (call.form->product == Kind::kInput) second = 0;
  if (call.form->product == Kind::kWeight) first = second = 0;
  std::vector<Part<Real>> parts;
  uint32_t begin = 0;
  for (const uint32_t end : draw_ends(call.product[0].dims[first], draw)) {
    const Part<Real> part{{slice(call.product[0], first, begin, end), slice(call.product[1], second, begin, end)},
                          call.product_ints};
    if (call.form->product == Kind::kWeight && end == begin + 1 && draw(0, 3) != 0)
      cut_rows(part, call.made[2], draw, parts);
    else
      parts.push_back(part);
    begin = end;
  }
  return parts;
}

// ---- runs ----

// Operands that stay the same from part to part: what is read behind the sums, outputs, and the workspace.
template <class Real>
struct Memory {
  std::vector<Operand<Real>> rest, made;
  std::vector<Real> workspace;
  bool in_place = false;  // an update's outputs are its weights and states
  [[nodiscard]] std::vector<Operand<Real>>& outputs() { return in_place ? rest : made; }
};

template <class Real>
Memory<Real> memory_of(const Call<Real>& call, bool in_place) {
  Memory<Real> memory{call.rest, {}, {}, in_place};
  Draw draw{std::mt19937(5)};
  for (uint16_t output = 0; output < call.outputs; ++output) {
    memory.made.push_back(make<Real>(call.made, draw.random));
    std::ranges::fill(memory.made.back().data, Real(NAN));
  }
  return memory;
}

struct How {
  uint16_t algorithm;
  uint32_t threads;
  uint8_t terms;
};

template <class Real>
void run_part(const Call<Real>& call, Part<Real> part, const How& how, Memory<Real>& memory) {
  std::vector<pt_tensor> in, out;
  for (Operand<Real>& operand : part.product) in.push_back(operand.tensor());
  for (Operand<Real>& operand : memory.rest) in.push_back(operand.tensor());
  for (Operand<Real>& operand : memory.outputs()) out.push_back(operand.tensor());
  part.ints.insert(part.ints.end(), call.rest_ints.begin(), call.rest_ints.end());
  uint32_t threads = how.threads;
  const pt_pool pool{&threads, threads, run_on_threads};
  const pt_scalars scalars{.step = 3, .seed = 0, .lr = 0.01, .groups = nullptr, .group_count = 0};
  pt_call made{};
  made.inputs = in.data(), made.input_count = static_cast<uint16_t>(in.size());
  made.outputs = out.data(), made.output_count = static_cast<uint16_t>(out.size());
  made.ints = part.ints.data(), made.int_count = static_cast<uint16_t>(part.ints.size());
  made.reals = call.reals.data(), made.real_count = static_cast<uint16_t>(call.reals.size());
  made.scalars = &scalars;
  made.pool = &pool;
  made.terms = how.terms;
  const pt_kernel* kernel = pt_kernel_find(table<Real>(), call.form->op, in[0].dtype, how.algorithm, 0);
  ASSERT_NE(kernel, nullptr);
  const size_t bytes = kernel->workspace_bytes != nullptr ? kernel->workspace_bytes(&made) : 0;
  ASSERT_NE(bytes, PT_NO_KERNEL);
  memory.workspace.resize(std::max(memory.workspace.size(), bytes / sizeof(Real)), Real(NAN));
  made.workspace = memory.workspace.data();
  EXPECT_EQ(kernel->submit(&made), PT_OK);
}

template <class Real>
std::vector<Real> bits_of(std::vector<Operand<Real>>& operands) {
  std::vector<Real> all;
  for (const Operand<Real>& operand : operands) all.insert(all.end(), operand.data.begin(), operand.data.end());
  return all;
}

template <class Real>
std::vector<Real> in_one_call(const Call<Real>& call, uint16_t algorithm) {
  Memory<Real> memory = memory_of(call, false);
  run_part(call, {call.product, call.product_ints}, {algorithm, 1, PT_ALL_TERMS}, memory);
  return bits_of(memory.made);
}

// The sums of a part alone.
template <class Real>
std::vector<Real> sums_of(const Call<Real>& call, Part<Real> part) {
  return run<Real>(call.form->product_op, 0, {&part.product[0], &part.product[1]}, call.made, part.ints);
}

template <class Real>
std::vector<Real> in_parts(const Call<Real>& call, const std::vector<Part<Real>>& parts, uint16_t algorithm,
                           uint32_t threads, bool in_place) {
  const bool updates = call.form->rest == Rest::kUpdate;
  Memory<Real> memory = memory_of(call, in_place);
  for (size_t at = 0; at < parts.size(); ++at) {
    const bool goes_on = at > 0, unfinished = at + 1 < parts.size();
    const auto terms = static_cast<uint8_t>((goes_on ? PT_GOES_ON : 0) | (unfinished ? PT_UNFINISHED : 0));
    if (!updates) std::ranges::fill(memory.workspace, Real(NAN));
    memory.rest = call.rest;
    if (unfinished && !in_place)  // nothing may come from what only the last call reads
      for (Operand<Real>& operand : memory.rest) std::ranges::fill(operand.data, Real(NAN));
    const std::vector<Real> rest = bits_of(memory.rest), made = bits_of(memory.made);
    run_part(call, parts[at], {algorithm, threads, terms}, memory);
    if (unfinished) {
      EXPECT_TRUE(same_bits(bits_of(memory.rest), rest));
      EXPECT_TRUE(!updates || same_bits(bits_of(memory.made), made));
    }
    if (unfinished && !goes_on) {
      EXPECT_TRUE(same_bits(updates ? memory.workspace : memory.made[0].data, sums_of(call, parts[at])));
    }
  }
  return bits_of(memory.outputs());
}

template <class Real>
void expect_parts_make_the_whole(const Form& form, uint16_t algorithm, uint32_t trials) {
  Draw draw{std::mt19937(form.op * 8U + algorithm)};
  size_t cuts = 0;
  for (uint32_t trial = 0; trial < trials && !testing::Test::HasFailure(); ++trial) {
    const Call<Real> call = draw_call<Real>(form, draw);
    const std::vector<Part<Real>> parts = cut(call, draw);
    const bool in_place = form.rest == Rest::kUpdate && draw(0, 1) != 0;
    const std::vector<Real> expected = in_one_call(call, 0);
    cuts += parts.size() - 1;
    EXPECT_TRUE(same_bits(in_one_call(call, algorithm), expected)) << trial << " in one call";
    for (const uint32_t threads : {1U, 3U})
      EXPECT_TRUE(same_bits(in_parts(call, parts, algorithm, threads, in_place), expected))
          << trial << " in " << parts.size() << " parts on " << threads << " threads";
  }
  EXPECT_TRUE(testing::Test::HasFailure() || cuts > trials) << "too few cuts";
}

// A batch normalization of images, forward or backward, with or without an activation; the first operands are images, the rest vectors.
struct NormForm {
  pt_op op;
  uint16_t images, inputs;
  unsigned passes;
};
constexpr NormForm kNormForms[] = {{PT_OP_batch_norm, 1, 3, 3},
                                   {PT_OP_batch_norm_act, 1, 3, 3},
                                   {PT_OP_batch_norm_grad, 2, 5, 2},
                                   {PT_OP_batch_norm_act_grad, 2, 6, 2}};

// The outputs of calls with so many samples each, in passes; of one call where `parts` is empty.
std::vector<std::vector<float>> normalized(const NormForm& of, const std::vector<uint32_t>& dims,
                                           const std::vector<Operand<float>>& inputs,
                                           const std::vector<uint32_t>& parts) {
  const size_t plane = size_t{dims[1]} * dims[2] * dims[3];
  std::vector<std::vector<float>> outputs = {std::vector<float>(dims[0] * plane), std::vector<float>(dims[1]),
                                             std::vector<float>(dims[1])};
  const pt_kernel* kernel = pt_kernel_find(table<float>(), of.op, PT_F32, 0, 0);
  const int64_t relu = PT_OP_relu;
  const double reals[] = {1e-5, 0, 0};
  std::vector<std::byte> workspace;
  for (unsigned pass = parts.empty() ? 0 : 1; pass <= (parts.empty() ? 0 : of.passes); ++pass) {
    uint32_t begin = 0;
    for (size_t part = 0; part < std::max<size_t>(1, parts.size()); ++part) {
      const uint32_t samples = parts.empty() ? dims[0] : parts[part];
      const auto image = [&](float* data) {
        return pt_tensor{data + begin * plane, {samples, dims[1], dims[2], dims[3]}, 4, PT_F32};
      };
      std::vector<pt_tensor> ins, outs = {image(outputs[0].data()),
                                          {outputs[1].data(), {dims[1]}, 1, PT_F32},
                                          {outputs[2].data(), {dims[1]}, 1, PT_F32}};
      for (size_t input = 0; input < of.inputs; ++input) {
        auto* data = const_cast<float*>(inputs[input].data.data());
        ins.push_back(input < of.images ? image(data) : pt_tensor{data, {dims[1]}, 1, PT_F32});
      }
      pt_call call{};
      call.inputs = ins.data(), call.outputs = outs.data(), call.ints = &relu, call.reals = reals;
      call.input_count = of.inputs, call.output_count = 3, call.int_count = 1, call.real_count = 3;
      call.terms = static_cast<uint8_t>(pass * PT_PASS | (part > 0 ? PT_GOES_ON : 0) |
                                        (part + 1 < parts.size() ? PT_UNFINISHED : 0));
      workspace.resize(std::max<size_t>(workspace.size(), kernel->workspace_bytes(&call)));
      call.workspace = workspace.data();
      EXPECT_EQ(kernel->submit(&call), PT_OK);
      begin += samples;
    }
  }
  return outputs;
}

template <class Real>
void expect_of_every_kernel(uint32_t trials) {
  size_t kernels = 0;
  for (size_t row = 0; row < table<Real>()->count; ++row) {
    const pt_kernel& kernel = table<Real>()->kernels[row];
    const Form* form = std::ranges::find(kForms, kernel.op, &Form::op);
    if (form == std::end(kForms) || pt_kernel_makes_parts(kernel.op, kernel.algorithm) == 0) continue;
    SCOPED_TRACE("op " + std::to_string(kernel.op) + ", " + kernel.algorithm_name);
    expect_parts_make_the_whole<Real>(*form, kernel.algorithm, trials);
    ++kernels;
  }
  EXPECT_EQ(kernels, 7 * 3 + 2 * 2u);
}

TEST(Parts, OfASumGiveTheBitsOfOneCallInEveryKernelThatMakesThem) {
  expect_of_every_kernel<float>(pantoum::all_cases() ? 200 : 60);
}

TEST(Parts, OfABatchNormalizationGiveTheBitsOfOneCall) {
  Draw draw{std::mt19937(4)};
  for (const NormForm& of : kNormForms)
    for (int trial = 0; trial < 60; ++trial) {
      const std::vector<uint32_t> dims = {draw(1, 9), draw(1, 5), draw(1, 7), draw(1, 7)};
      std::vector<Operand<float>> inputs;
      for (uint16_t input = 0; input < of.inputs; ++input) {
        inputs.push_back(make<float>(input < of.images ? dims : std::vector{dims[1]}, draw.random));
        if (input >= of.images)
          for (float& value : inputs.back().data) value = 1 + std::abs(value);  // a variance is positive
      }
      std::vector<uint32_t> parts;
      for (uint32_t left = dims[0]; left > 0; left -= parts.back()) parts.push_back(draw(1, left));
      EXPECT_EQ(normalized(of, dims, inputs, parts), normalized(of, dims, inputs, {})) << of.op << " trial " << trial;
    }
}

TEST(Parts, OfASumGiveTheBitsOfOneCallInDoubleToo) {
  expect_of_every_kernel<double>(pantoum::all_cases() ? 40 : 12);
}

TEST(Parts, AreOfKernelsThatHoldTheirSumsBetweenCalls) {
  EXPECT_EQ(pt_kernel_makes_parts(PT_OP_conv2d_dw_update, PT_COMPACT), 0);
  EXPECT_EQ(pt_kernel_makes_parts(PT_OP_matmul_update, PT_COMPACT), 0);
  EXPECT_EQ(pt_kernel_makes_parts(PT_OP_conv2d, PT_SHIFT_COMPACT), 0);
  EXPECT_EQ(pt_kernel_makes_parts(PT_OP_conv2d, PT_WINOGRAD), 0);
  EXPECT_EQ(pt_kernel_makes_parts(PT_OP_matmul, PT_FIRST_BACK_END_ALGORITHM), 0);
  EXPECT_EQ(pt_kernel_makes_parts(PT_OP_add, 0), 0);
}

}  // namespace
