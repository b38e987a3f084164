// top_k, scatter_elements and random against plain definitions, however their work is split.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "pantoum/pantoum.h"

namespace {

using Dims = std::vector<uint32_t>;

size_t count_of(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), size_t{1}, [](size_t a, uint32_t b) { return a * b; });
}

template <class T>
pt_tensor tensor_of(std::vector<T>& values, const Dims& dims, pt_dtype dtype) {
  pt_tensor made{};
  made.data = values.data();
  made.dtype = static_cast<uint8_t>(dtype);
  made.rank = static_cast<uint8_t>(dims.size());
  std::copy(dims.begin(), dims.end(), made.dims);
  return made;
}

// Pieces of uneven size, from the last to the first: an answer that depends on the split or its order shows.
void run_backwards(void*, size_t count, void (*body)(void*, size_t, size_t), void* arg) {
  size_t end = count;
  for (size_t piece = 1; end > 0; piece = 2 * piece + 1) {
    const size_t begin = end > piece ? end - piece : 0;
    body(arg, begin, end);
    end = begin;
  }
}

struct Call {
  std::vector<pt_tensor> inputs, outputs;
  std::vector<int64_t> ints;
  std::vector<double> reals = {};
  pt_scalars scalars = {1, 7, 0};
};

pt_status status_of(pt_op op, Call& of, const pt_pool* pool = nullptr) {
  pt_call call{};
  call.inputs = of.inputs.data(), call.input_count = static_cast<uint16_t>(of.inputs.size());
  call.outputs = of.outputs.data(), call.output_count = static_cast<uint16_t>(of.outputs.size());
  call.ints = of.ints.data(), call.int_count = static_cast<uint16_t>(of.ints.size());
  call.reals = of.reals.data(), call.real_count = static_cast<uint16_t>(of.reals.size());
  call.scalars = &of.scalars, call.pool = pool;
  const pt_kernel* kernel = pt_kernel_find(pt_portable_kernels(), static_cast<uint16_t>(op), of.outputs[0].dtype, 0, 0);
  if (kernel == nullptr) return PT_E_PLAN;
  std::vector<char> workspace(kernel->workspace_bytes != nullptr ? kernel->workspace_bytes(&call) : 0);
  call.workspace = workspace.data();
  return kernel->submit(&call);
}

TEST(TopK, IsAStableSortsBeginning) {
  std::mt19937 random(1);
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (int round = 0; round < 300; ++round) {
    const Dims dims = {1 + static_cast<uint32_t>(random() % 3), 1 + static_cast<uint32_t>(random() % 17),
                       1 + static_cast<uint32_t>(random() % 3)};
    const int64_t most = 1 + static_cast<int64_t>(random() % dims[1]);
    const bool largest = random() % 2 == 0;
    std::vector<float> x(count_of(dims));
    const std::vector<float> some = {nan, inf, -inf, 0, -0.0F, 1, 2, 3};
    for (float& value : x)
      value = some[random() % (round % 2 == 0 ? some.size() : size_t{3} + static_cast<size_t>(round % 5))];
    const Dims out = {dims[0], static_cast<uint32_t>(most), dims[2]};
    std::vector<int64_t> found(count_of(out));
    Call call{{tensor_of(x, dims, PT_F32)}, {tensor_of(found, out, PT_I64)}, {1, most, largest}};
    ASSERT_EQ(status_of(PT_OP_top_k, call), PT_OK);
    const auto above = [](float a, float b) { return std::isnan(b) ? false : std::isnan(a) || a > b; };
    for (size_t row = 0; row < size_t{dims[0]} * dims[2]; ++row) {
      const size_t outer = row / dims[2], inner = row % dims[2];
      const auto at = [&](size_t place) { return x[(outer * dims[1] + place) * dims[2] + inner]; };
      std::vector<size_t> order(dims[1]);
      std::iota(order.begin(), order.end(), size_t{0});
      std::stable_sort(order.begin(), order.end(),
                       [&](size_t a, size_t b) { return largest ? above(at(a), at(b)) : above(at(b), at(a)); });
      for (size_t place = 0; place < static_cast<size_t>(most); ++place)
        ASSERT_EQ(found[(outer * out[1] + place) * out[2] + inner], static_cast<int64_t>(order[place])) << round;
    }
  }
}

TEST(TopK, OrdersIntegersOfEveryWidth) {
  std::vector<int64_t> wide = {INT64_MAX, INT64_MIN, 0, INT64_MAX - 1}, found(4);
  Call call{{tensor_of(wide, {4}, PT_I64)}, {tensor_of(found, {4}, PT_I64)}, {0, 4, 1}};
  ASSERT_EQ(status_of(PT_OP_top_k, call), PT_OK);
  EXPECT_EQ(found, (std::vector<int64_t>{0, 3, 2, 1}));
  std::vector<uint8_t> bytes = {200, 3, 255, 3};
  Call small{{tensor_of(bytes, {4}, PT_U8)}, {tensor_of(found, {4}, PT_I64)}, {0, 4, 0}};
  ASSERT_EQ(status_of(PT_OP_top_k, small), PT_OK);
  EXPECT_EQ(found, (std::vector<int64_t>{1, 3, 0, 2}));
}

float joined(int64_t reduction, float old, float update) {
  switch (reduction) {
    case PT_SCATTER_ADD:
      return old + update;
    case PT_SCATTER_MUL:
      return old * update;
    case PT_SCATTER_MAX:
      return std::max(old, update);
    case PT_SCATTER_MIN:
      return std::min(old, update);
    default:
      return update;
  }
}

struct ScatterCase {
  Dims x, u, indices;
  int64_t axis = 0, reduction = 0;
  std::vector<float> data, updates;
  std::vector<int64_t> at;

  explicit ScatterCase(std::mt19937& random) {
    const size_t rank = 1 + random() % 4;
    axis = static_cast<int64_t>(random() % rank);
    const bool by_row = random() % 3 == 0;
    for (size_t d = 0; d < rank; ++d) {
      x.push_back(1 + static_cast<uint32_t>(random() % 5));
      const bool along = static_cast<int64_t>(d) == axis;
      u.push_back(along ? 1 + static_cast<uint32_t>(random() % 9)
                        : (by_row ? x[d] : 1 + static_cast<uint32_t>(random() % x[d])));
    }
    indices = by_row ? Dims{u[static_cast<size_t>(axis)]} : u;
    reduction = static_cast<int64_t>(random() % PT_SCATTER_COUNT);
    std::uniform_real_distribution<float> real(-2, 2);
    for (size_t element = 0; element < count_of(x); ++element) data.push_back(real(random));
    for (size_t element = 0; element < count_of(u); ++element) updates.push_back(real(random));
    const auto extent = static_cast<int64_t>(x[static_cast<size_t>(axis)]);
    for (size_t element = 0; element < count_of(indices); ++element)
      at.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(2 * extent)) - extent);
  }

  // Update by update, in ascending position.
  [[nodiscard]] std::vector<float> expected() const {
    std::vector<float> y = data;
    for (size_t element = 0; element < updates.size(); ++element) {
      size_t rest = element, step = 1, to = 0, along = 0;
      for (size_t d = x.size(); d-- > 0;) {
        if (static_cast<int64_t>(d) == axis) along = rest % u[d];
        rest /= u[d];
      }
      rest = element;
      const int64_t told = at[indices.size() == u.size() ? element : along];
      for (size_t d = x.size(); d-- > 0;) {
        const bool here = static_cast<int64_t>(d) == axis;
        to += (here ? static_cast<size_t>(told < 0 ? told + x[d] : told) : rest % u[d]) * step;
        rest /= u[d];
        step *= x[d];
      }
      if (indices.size() == u.size() || x.size() > 1) y[to] = joined(reduction, y[to], updates[element]);
    }
    return y;
  }
};

TEST(ScatterElements, TakesUpdatesInAscendingPositionHoweverTheWorkIsSplit) {
  std::mt19937 random(3);
  const pt_pool pool{nullptr, 3, run_backwards};
  for (int round = 0; round < 600; ++round) {
    ScatterCase of(random);
    std::vector<float> y(of.data.size());
    Call call{
        {tensor_of(of.data, of.x, PT_F32), tensor_of(of.at, of.indices, PT_I64), tensor_of(of.updates, of.u, PT_F32)},
        {tensor_of(y, of.x, PT_F32)},
        {of.axis, of.reduction}};
    const std::vector<float> expected = of.expected();
    ASSERT_EQ(status_of(PT_OP_scatter_elements, call), PT_OK);
    ASSERT_EQ(y, expected) << round << " reduction " << of.reduction;
    std::fill(y.begin(), y.end(), -1.0F);
    ASSERT_EQ(status_of(PT_OP_scatter_elements, call, &pool), PT_OK);
    ASSERT_EQ(y, expected) << round;
    y = of.data;
    call.inputs[0].data = y.data();
    ASSERT_EQ(status_of(PT_OP_scatter_elements, call), PT_OK);
    ASSERT_EQ(y, expected) << round << " in place";
  }
}

// As many updates as threads take: 40 lanes of 900 each.
TEST(ScatterElements, IsTheSameOnManyThreads) {
  std::mt19937 random(5);
  const pt_pool pool{nullptr, 3, run_backwards};
  const Dims x_dims = {8, 30, 5}, u_dims = {8, 900, 5};
  for (const int64_t reduction : {PT_SCATTER_LAST, PT_SCATTER_ADD, PT_SCATTER_MUL, PT_SCATTER_MAX, PT_SCATTER_MIN}) {
    std::vector<float> x(count_of(x_dims)), u(count_of(u_dims)), y(x.size()), again(x.size());
    std::vector<int64_t> at(u.size());
    for (float& value : x) value = std::uniform_real_distribution<float>(-1, 1)(random);
    for (float& value : u) value = std::uniform_real_distribution<float>(0.5F, 1.5F)(random);
    for (int64_t& index : at) index = static_cast<int64_t>(random() % 30);
    Call call{{tensor_of(x, x_dims, PT_F32), tensor_of(at, u_dims, PT_I64), tensor_of(u, u_dims, PT_F32)},
              {tensor_of(y, x_dims, PT_F32)},
              {1, reduction}};
    ASSERT_EQ(status_of(PT_OP_scatter_elements, call), PT_OK);
    call.outputs[0].data = again.data();
    ASSERT_EQ(status_of(PT_OP_scatter_elements, call, &pool), PT_OK);
    EXPECT_EQ(y, again) << reduction;
  }
}

TEST(ScatterElements, RefusesIndicesOutOfRangeAndWritesNothing) {
  for (const int64_t outside : {int64_t{3}, int64_t{-4}, INT64_MAX, INT64_MIN}) {
    std::vector<float> x = {1, 2, 3}, u = {4, 5}, y = {-1, -1, -1}, more = {0, 0};
    std::vector<int64_t> at = {0, outside};
    Call call{{tensor_of(x, {3}, PT_F32), tensor_of(at, {2}, PT_I64), tensor_of(u, {2}, PT_F32)},
              {tensor_of(y, {3}, PT_F32)},
              {0, PT_SCATTER_ADD}};
    EXPECT_EQ(status_of(PT_OP_scatter_elements, call), PT_E_DATA);
    EXPECT_EQ(y, (std::vector<float>{-1, -1, -1}));
    Call last{{call.inputs[0], call.inputs[1]}, {call.outputs[0], tensor_of(more, {2}, PT_F32)}, {0}};
    EXPECT_EQ(status_of(PT_OP_scatter_elements_grad, last), PT_E_DATA);
    Call product{{call.inputs[0], call.inputs[1], call.inputs[0], call.inputs[2], call.inputs[0]},
                 {call.outputs[0], tensor_of(more, {2}, PT_F32)},
                 {0, PT_SCATTER_MUL}};
    EXPECT_EQ(status_of(PT_OP_scatter_reduce_grad, product), PT_E_DATA);
  }
}

TEST(ScatterElements, WrapsIntegersAndTakesTheLastOfBools) {
  std::vector<int32_t> x = {INT32_MAX, 3}, u = {1, -5}, y(2);
  std::vector<int64_t> at = {0, 1};
  Call sum{{tensor_of(x, {2}, PT_I32), tensor_of(at, {2}, PT_I64), tensor_of(u, {2}, PT_I32)},
           {tensor_of(y, {2}, PT_I32)},
           {0, PT_SCATTER_ADD}};
  ASSERT_EQ(status_of(PT_OP_scatter_elements, sum), PT_OK);
  EXPECT_EQ(y, (std::vector<int32_t>{INT32_MIN, -2}));
  std::vector<uint8_t> truth = {0, 0}, told = {1, 0}, made(2);
  at = {0, 0};
  Call last{{tensor_of(truth, {2}, PT_BOOL), tensor_of(at, {2}, PT_I64), tensor_of(told, {2}, PT_BOOL)},
            {tensor_of(made, {2}, PT_BOOL)},
            {0, PT_SCATTER_MAX}};
  ASSERT_EQ(status_of(PT_OP_scatter_elements, last), PT_OK);
  EXPECT_EQ(made, (std::vector<uint8_t>{1, 0}));
}

// Equal updates and data share a maximum's gradient evenly, as torch.scatter_reduce("amax") has it.
TEST(ScatterElements, SharesAMaximumsGradientEvenly) {
  std::vector<float> dy = {6, 1}, x = {2, 5}, u = {2, 2, 1, 3}, y = {2, 5}, dx(2), du(4);
  std::vector<int64_t> at = {0, 0, 0, 1};
  Call call{{tensor_of(dy, {2}, PT_F32), tensor_of(at, {4}, PT_I64), tensor_of(x, {2}, PT_F32),
             tensor_of(u, {4}, PT_F32), tensor_of(y, {2}, PT_F32)},
            {tensor_of(dx, {2}, PT_F32), tensor_of(du, {4}, PT_F32)},
            {0, PT_SCATTER_MAX}};
  ASSERT_EQ(status_of(PT_OP_scatter_reduce_grad, call), PT_OK);
  EXPECT_EQ(dx, (std::vector<float>{2, 1}));
  EXPECT_EQ(du, (std::vector<float>{2, 2, 0, 0}));
}

std::vector<float> drawn(int64_t distribution, double a, double b, size_t count, pt_scalars scalars = {1, 7, 0},
                         int64_t key = 5, const pt_pool* pool = nullptr) {
  std::vector<float> y(count);
  Call call{{}, {tensor_of(y, {static_cast<uint32_t>(count)}, PT_F32)}, {key, distribution}, {a, b}, scalars};
  EXPECT_EQ(status_of(PT_OP_random, call, pool), PT_OK);
  return y;
}

// Kolmogorov's distance between the numbers and a distribution, times the root of their count: above 1.63 one time in
// a hundred. The seeds are fixed, so that the answer is too.
template <class Distribution>
double distance(std::vector<float> numbers, Distribution below) {
  std::sort(numbers.begin(), numbers.end());
  const auto count = static_cast<double>(numbers.size());
  double most = 0;
  for (size_t at = 0; at < numbers.size(); ++at) {
    const double expected = below(static_cast<double>(numbers[at]));
    most = std::max({most, std::abs(expected - static_cast<double>(at) / count),
                     std::abs(expected - static_cast<double>(at + 1) / count)});
  }
  return most * std::sqrt(count);
}

void expect_moments(const std::vector<float>& numbers, double mean, double variance) {
  const auto count = static_cast<double>(numbers.size());
  double sum = 0, squares = 0;
  for (const float number : numbers) sum += static_cast<double>(number);
  for (const float number : numbers) squares += std::pow(static_cast<double>(number) - sum / count, 2);
  EXPECT_NEAR(sum / count, mean, 5 * std::sqrt(variance / count));
  EXPECT_NEAR(squares / count, variance, 10 * variance / std::sqrt(count));
}

TEST(Random, IsUniformBetweenItsBounds) {
  const std::vector<float> numbers = drawn(PT_RANDOM_UNIFORM, -1, 3, 200003);
  expect_moments(numbers, 1, 16.0 / 12);
  EXPECT_LT(distance(numbers, [](double x) { return (x + 1) / 4; }), 1.63);
  for (const float number : numbers) ASSERT_TRUE(number >= -1 && number < 3);
  for (const float number : drawn(PT_RANDOM_UNIFORM, 16777216, 16777217, 1000)) ASSERT_EQ(number, 16777216);
}

TEST(Random, IsNormal) {
  const std::vector<float> numbers = drawn(PT_RANDOM_NORMAL, 0.5, 2, 200003);
  expect_moments(numbers, 0.5, 4);
  EXPECT_LT(distance(numbers, [](double x) { return 0.5 * std::erfc(-(x - 0.5) / 2 / std::sqrt(2.0)); }), 1.63);
  double products = 0;  // neighbours are made of the same words
  for (size_t at = 0; at + 1 < numbers.size(); ++at)
    products += static_cast<double>(numbers[at] - 0.5F) * static_cast<double>(numbers[at + 1] - 0.5F);
  EXPECT_LT(std::abs(products / 200002 / 4), 0.01);
}

TEST(Random, IsTheSameHoweverItsWorkIsSplitAndOtherInEveryStep) {
  const pt_pool pool{nullptr, 3, run_backwards};
  for (const int64_t distribution : {PT_RANDOM_UNIFORM, PT_RANDOM_NORMAL}) {
    const std::vector<float> once = drawn(distribution, 0, 1, 100001);
    EXPECT_EQ(drawn(distribution, 0, 1, 100001), once);
    EXPECT_EQ(drawn(distribution, 0, 1, 100001, {1, 7, 0}, 5, &pool), once);
    const std::vector<float> start(once.begin(), once.begin() + 7);
    EXPECT_EQ(drawn(distribution, 0, 1, 7), start);
    for (const auto& other :
         {drawn(distribution, 0, 1, 100001, {2, 7, 0}), drawn(distribution, 0, 1, 100001, {1, 8, 0}),
          drawn(distribution, 0, 1, 100001, {1, 7, 0}, 6)}) {
      size_t same = 0;
      for (size_t at = 0; at < once.size(); ++at) same += other[at] == once[at];
      EXPECT_LT(same, 10U);
    }
  }
}

}  // namespace
