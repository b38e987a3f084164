// Every optimizer against a reference in double that is written here: over many elements and steps, no coefficient is
// off by more than its own rounding.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "pantoum/ops.h"
#include "pantoum/pantoum.h"
#include "testing/two_pieces.h"

namespace {

using Doubles = std::vector<double>;

// One element in double: w and the states, in the order of the op's operands.
struct Element {
  double w = 0;
  Doubles states = {};
};

struct Step {
  double lr, number;
};

using Reference = std::function<void(Element& element, double g, const Step& step)>;

struct Case {
  std::string name;
  pt_op op;
  std::vector<int64_t> ints;
  Doubles reals;
  double lr;
  size_t states;
  Reference reference;
};

Case sgd(double momentum, double decay, bool nesterov) {
  return {"sgd",
          PT_OP_sgd,
          {nesterov},
          {momentum, decay},
          0.01,
          momentum != 0 ? 1U : 0U,
          [=](Element& e, double g, const Step& step) {
            g += decay * e.w;
            if (momentum != 0) {
              e.states[0] = momentum * e.states[0] + g;
              g = nesterov ? g + momentum * e.states[0] : e.states[0];
            }
            e.w -= step.lr * g;
          }};
}

Case adam(pt_op op, double beta1, double beta2, double decay, bool amsgrad = false) {
  return {op == PT_OP_adam ? "adam" : "adamw",
          op,
          {},
          {beta1, beta2, 1e-8, decay},
          0.001,
          amsgrad ? 3U : 2U,
          [=](Element& e, double g, const Step& step) {
            if (op == PT_OP_adam)
              g += decay * e.w;
            else
              e.w *= 1 - step.lr * decay;
            e.states[0] = beta1 * e.states[0] + (1 - beta1) * g;
            e.states[1] = beta2 * e.states[1] + (1 - beta2) * g * g;
            if (amsgrad) e.states[2] = std::max(e.states[2], e.states[1]);
            const double mean = e.states[0] / (1 - std::pow(beta1, step.number)),
                         square = e.states.back() / (1 - std::pow(beta2, step.number));
            e.w -= step.lr * mean / (std::sqrt(square) + 1e-8);
          }};
}

// An eps that is added before the correction of the root, as TensorFlow does: a kernel is told so by its sign. A large one, so that its place counts.
Case adam_of_tensorflow(double beta1, double beta2, double decay, double eps, bool amsgrad = false) {
  return {"adam, eps before correction",
          PT_OP_adam,
          {},
          {beta1, beta2, -eps, decay},
          0.001,
          amsgrad ? 3U : 2U,
          [=](Element& e, double g, const Step& step) {
            g += decay * e.w;
            e.states[0] = beta1 * e.states[0] + (1 - beta1) * g;
            e.states[1] = beta2 * e.states[1] + (1 - beta2) * g * g;
            if (amsgrad) e.states[2] = std::max(e.states[2], e.states[1]);
            const double size =
                step.lr * std::sqrt(1 - std::pow(beta2, step.number)) / (1 - std::pow(beta1, step.number));
            e.w -= size * e.states[0] / (std::sqrt(e.states.back()) + eps);
          }};
}

Case rmsprop(double alpha, double momentum, double decay, bool centered) {
  return {"rmsprop",
          PT_OP_rmsprop,
          {centered},
          {alpha, 1e-8, momentum, decay},
          0.01,
          1U + (centered ? 1U : 0U) + (momentum != 0 ? 1U : 0U),
          [=](Element& e, double g, const Step& step) {
            g += decay * e.w;
            e.states[0] = alpha * e.states[0] + (1 - alpha) * g * g;
            double square = e.states[0];
            if (centered) {
              e.states[1] = alpha * e.states[1] + (1 - alpha) * g;
              square -= e.states[1] * e.states[1];
            }
            double update = g / (std::sqrt(square) + 1e-8);
            if (momentum != 0) {
              double& last = e.states.back();
              update = last = momentum * last + update;
            }
            e.w -= step.lr * update;
          }};
}

Case adagrad(double lr_decay, double decay, double begin = 0) {
  return {"adagrad",
          PT_OP_adagrad,
          {},
          begin != 0 ? Doubles{lr_decay, 1e-10, decay, begin} : Doubles{lr_decay, 1e-10, decay},
          0.01,
          1,
          [=](Element& e, double g, const Step& step) {
            g += decay * e.w;
            e.states[0] += g * g;
            e.w -= step.lr / (1 + (step.number - 1) * lr_decay) * g / (std::sqrt(begin + e.states[0]) + 1e-10);
          }};
}

std::vector<Case> cases() {
  std::vector<Case> all{sgd(0, 0, false),      sgd(0, 1e-2, false),     sgd(0.9, 0, false), sgd(0.9, 1e-2, false),
                        sgd(0.95, 1e-4, true), adagrad(0, 0),           adagrad(1e-2, 0),   adagrad(1e-3, 1e-2),
                        adagrad(0, 0, 0.1),    adagrad(1e-3, 1e-2, 100)};
  for (const double beta2 : {0.9, 0.99, 0.999, 0.9999, 0.99999})
    for (const double decay : {0.0, 1e-2}) {
      for (const double beta1 : {0.0, 0.9, 0.999, 0.99999}) {
        all.push_back(adam(PT_OP_adam, beta1, beta2, decay));
        all.push_back(adam(PT_OP_adamw, beta1, beta2, decay));
        if (beta1 != 0.9) continue;
        all.push_back(adam(PT_OP_adam, beta1, beta2, decay, true));
        all.push_back(adam(PT_OP_adamw, beta1, beta2, decay, true));
      }
      for (const double eps : {1e-7, 0.1})
        for (const bool amsgrad : {false, true}) all.push_back(adam_of_tensorflow(0.9, beta2, decay, eps, amsgrad));
      for (const double momentum : {0.0, 0.9})
        for (const bool centered : {false, true}) all.push_back(rmsprop(beta2, momentum, decay, centered));
    }
  return all;
}

constexpr uint32_t kElements = 10'000;
constexpr uint64_t kSteps = 100;

pt_tensor tensor_of(std::vector<float>& data, bool matrix) {
  pt_tensor made{.data = data.data(), .dims = {}, .rank = static_cast<uint8_t>(matrix ? 2 : 1), .dtype = PT_F32};
  made.dims[0] = static_cast<uint32_t>(data.size());
  if (matrix) made.dims[1] = 1;
  return made;
}

// An optimizer's weights and states in float32, updated by a kernel of its own or behind the product of the gradient and 1.
class Run {
 public:
  Run(const Case& c, const Doubles& start, bool fused, uint16_t algorithm, std::vector<pt_group> groups = {},
      std::vector<int64_t> group = {})
      : case_(c),
        fused_(fused),
        algorithm_(algorithm),
        groups_(std::move(groups)),
        group_(std::move(group)),
        held_(1 + c.states, std::vector<float>(start.size())) {
    held_[0].assign(start.begin(), start.end());
  }
  void step(std::vector<float>& gradient, uint64_t number) {
    std::vector<float> one{1}, workspace;
    std::vector<pt_tensor> in, out;
    for (std::vector<float>& each : held_) out.push_back(tensor_of(each, fused_));
    in = out;
    std::vector<int64_t> ints = case_.ints;
    Doubles reals = case_.reals;
    if (fused_) {
      in.insert(in.begin(), {tensor_of(gradient, true), tensor_of(one, true)});
      ints = {0, 0, case_.op, case_.ints.empty() ? 0 : case_.ints[0]};
      reals.resize(PT_UPDATE_REALS);
    } else {
      in.insert(in.begin() + 1, tensor_of(gradient, false));
    }
    ints.insert(ints.end(), group_.begin(), group_.end());
    const pt_scalars scalars{.step = number,
                             .seed = 0,
                             .lr = case_.lr,
                             .groups = groups_.empty() ? nullptr : groups_.data(),
                             .group_count = static_cast<uint32_t>(groups_.size())};
    pt_call call{};
    call.inputs = in.data(), call.input_count = static_cast<uint16_t>(in.size());
    call.outputs = out.data(), call.output_count = static_cast<uint16_t>(out.size());
    call.ints = ints.data(), call.int_count = static_cast<uint16_t>(ints.size());
    call.reals = reals.data(), call.real_count = static_cast<uint16_t>(reals.size());
    call.scalars = &scalars;
    const pt_kernel* kernel =
        pt_kernel_find(pt_portable_kernels(), fused_ ? PT_OP_matmul_update : case_.op, PT_F32, algorithm_, 0);
    ASSERT_NE(kernel, nullptr);
    workspace.resize(kernel->workspace_bytes == nullptr ? 0 : kernel->workspace_bytes(&call) / sizeof(float));
    call.workspace = workspace.data();
    ASSERT_EQ(kernel->submit(&call), PT_OK);
  }
  [[nodiscard]] double weight(size_t at) const { return held_[0][at]; }
  [[nodiscard]] const std::vector<std::vector<float>>& held() const { return held_; }

 private:
  const Case& case_;
  bool fused_;
  uint16_t algorithm_;
  std::vector<pt_group> groups_;  // of the step; empty: there is no table
  std::vector<int64_t> group_;    // the op's integer; empty: it has none
  std::vector<std::vector<float>> held_;
};

std::string words_of(const Case& c) {
  std::string words = c.name;
  for (const int64_t value : c.ints) words += " " + std::to_string(value);
  for (const double value : c.reals) words += " " + std::to_string(value);
  return words;
}

// The component of the updates along the right ones, less 1: what a wrong coefficient leaves after many elements.
double slope_error(const Doubles& found, const Doubles& right) {
  double along = 0, whole = 0;
  for (size_t at = 0; at < found.size(); ++at) along += found[at] * right[at], whole += right[at] * right[at];
  return std::abs(along / whole - 1);
}

double error_of(const Case& c, bool fused, uint16_t algorithm) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  Doubles start(kElements), found(kElements), right(kElements);
  for (double& w : start) w = 0.1F * normal(random);
  std::vector<Element> elements;
  for (const double w : start) elements.push_back({w, Doubles(c.states)});
  Run run(c, start, fused, algorithm);
  std::vector<float> gradient(kElements);
  for (uint64_t step = 1; step <= kSteps; ++step) {
    for (float& g : gradient) g = normal(random);
    run.step(gradient, step);
    for (size_t at = 0; at < kElements; ++at)
      c.reference(elements[at], gradient[at], {c.lr, static_cast<double>(step)});
  }
  for (size_t at = 0; at < kElements; ++at)
    found[at] = run.weight(at) - start[at], right[at] = elements[at].w - start[at];
  return slope_error(found, right);
}

TEST(Update, EveryOptimizerFollowsDoubleToItsCoefficientsRounding) {
  double worst = 0;
  for (const Case& c : cases()) {
    const double error = error_of(c, false, 0);
    EXPECT_LE(error, 1e-6) << words_of(c);
    worst = std::max(worst, error);
  }
  RecordProperty("worst", std::to_string(worst * 1e9) + "e-9");
}

TEST(Update, BehindAProductToo) {
  for (const Case& c : {sgd(0.9, 1e-2, true), adam(PT_OP_adam, 0.9, 0.99999, 1e-2),
                        adam(PT_OP_adamw, 0.9, 0.9999, 1e-2), rmsprop(0.9999, 0.9, 1e-2, true), adagrad(1e-2, 1e-2),
                        adagrad(0, 0, 0.1), adam(PT_OP_adam, 0.9, 0.99, 0, true),
                        adam_of_tensorflow(0.9, 0.999, 1e-2, 0.1)})
    for (const uint16_t algorithm : {uint16_t{0}, uint16_t{2}, uint16_t{3}})
      EXPECT_LE(error_of(c, true, algorithm), 1e-6) << words_of(c) << " algorithm " << algorithm;
}

// Where the weight decay stands among the reals of an op.
double& own_decay(Case& c) {
  return c.reals[c.op == PT_OP_sgd ? 1 : c.op == PT_OP_adagrad ? 2 : 3];
}

// Weights and states after a few steps.
std::vector<std::vector<float>> after(const Case& c, bool fused, std::vector<pt_group> groups = {},
                                      std::vector<int64_t> group = {}) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  Doubles start(700);
  for (double& w : start) w = normal(random);
  Run run(c, start, fused, fused ? uint16_t{2} : uint16_t{0}, std::move(groups), std::move(group));
  std::vector<float> gradient(start.size());
  for (uint64_t step = 1; step <= 3; ++step) {
    for (float& g : gradient) g = normal(random);
    run.step(gradient, step);
  }
  return run.held();
}

TEST(Update, OfAGroupTakesItsRateAndDecayFromTheTable) {
  for (const Case& c : {sgd(0, 1e-2, false), sgd(0.9, 1e-2, true), adam(PT_OP_adam, 0.9, 0.99, 1e-2, true),
                        adam(PT_OP_adamw, 0.9, 0.999, 1e-2), rmsprop(0.9, 0.5, 1e-2, true), adagrad(1e-2, 1e-2, 0.5)})
    for (const bool fused : {false, true}) {
      Case decays = c, both = c;
      own_decay(decays) = 0.25, own_decay(both) = 0.25, both.lr = 0.03;
      const std::vector<pt_group> table{{9, 9}, {0.03, 0.25}, {-1, 0.25}, {-1, -1}};
      EXPECT_EQ(after(c, fused, table, {1}), after(both, fused)) << words_of(c);
      EXPECT_EQ(after(c, fused, table, {2}), after(decays, fused)) << "the step's rate: " << words_of(c);
      EXPECT_EQ(after(c, fused, table, {3}), after(c, fused)) << "the op's own decay: " << words_of(c);
      EXPECT_EQ(after(c, fused, {}, {1}), after(c, fused)) << "without a table: " << words_of(c);
      EXPECT_EQ(after(c, fused, table, {4}), after(c, fused)) << "beyond the table: " << words_of(c);
      EXPECT_EQ(after(c, fused, table), after(c, fused)) << "in no group: " << words_of(c);
      EXPECT_NE(after(both, fused), after(c, fused));
    }
}

struct Table {
  std::vector<float> data;
  std::vector<uint32_t> dims;
  pt_tensor tensor() {
    pt_tensor made{.data = data.data(), .dims = {}, .rank = static_cast<uint8_t>(dims.size()), .dtype = PT_F32};
    std::copy(dims.begin(), dims.end(), made.dims);
    return made;
  }
};

void compute(pt_op op, std::vector<pt_tensor> in, std::vector<pt_tensor> out, std::vector<int64_t> ints, Doubles reals,
             const pt_scalars& scalars, bool pieces) {
  const pt_pool pool{.context = nullptr, .threads = 2, .run = pantoum::testing::run_pieces};
  pt_call call{};
  call.inputs = in.data(), call.input_count = static_cast<uint16_t>(in.size());
  call.outputs = out.data(), call.output_count = static_cast<uint16_t>(out.size());
  call.ints = ints.data(), call.int_count = static_cast<uint16_t>(ints.size());
  call.reals = reals.data(), call.real_count = static_cast<uint16_t>(reals.size());
  call.scalars = &scalars;
  call.pool = pieces ? &pool : nullptr;
  const pt_kernel* kernel = pt_kernel_find(pt_portable_kernels(), static_cast<uint16_t>(op), PT_F32, 0, 0);
  std::vector<uint32_t> workspace(kernel->workspace_bytes == nullptr ? 0 : kernel->workspace_bytes(&call) / 4 + 1);
  call.workspace = workspace.data();
  ASSERT_EQ(kernel->submit(&call), PT_OK);
}

// A table, and what a step reads of it: rows in any order, often twice or never, counted from either end.
struct Reads {
  uint32_t extent, columns, count;
  std::vector<int64_t> index;
  Table dy;

  Reads(std::mt19937& random, uint32_t rows, uint32_t width, uint32_t positions)
      : extent(rows),
        columns(width),
        count(positions),
        index(positions),
        dy{std::vector<float>(size_t{positions} * width), {positions, width}} {
    std::normal_distribution<float> normal;
    for (float& value : dy.data) value = normal(random);
    for (int64_t& each : index) each = static_cast<int64_t>(random() % extent) - (random() % 2 == 0 ? extent : 0);
  }
  pt_tensor indices() {
    pt_tensor made{.data = index.data(), .dims = {}, .rank = 1, .dtype = PT_I64};
    made.dims[0] = count;
    return made;
  }
  [[nodiscard]] size_t row(size_t at) const {
    return static_cast<size_t>(index[at] < 0 ? index[at] + extent : index[at]);
  }
  [[nodiscard]] Table table() const { return {std::vector<float>(size_t{extent} * columns), {extent, columns}}; }
};

// All rows of the table decay, those that no position reads too.
TEST(Update, OfRowsGivesTheBitsOfTheUpdateByTheWholeGradient) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (uint32_t trial = 0; trial < 120; ++trial) {
    const auto draw = [&](uint32_t most) { return 1 + static_cast<uint32_t>(random()) % most; };
    const uint32_t rows = draw(300), columns = draw(130);
    Reads reads(random, rows, columns, trial % 10 == 0 ? 0 : draw(trial % 3 == 0 ? 900 : 40));
    Table w = reads.table(), sum = w, gradient = w, dense = w, dense_sum = w, found = w, found_sum = w;
    for (float& value : w.data) value = normal(random);
    for (float& value : sum.data) value = std::abs(normal(random));
    const pt_group table[] = {{0.1, 0}, {0.05, 0.125}};
    const int64_t group = trial % 2;
    const pt_scalars scalars{.step = 3, .seed = 0, .lr = 3, .groups = table, .group_count = 2};
    compute(PT_OP_gather_grad, {reads.dy.tensor(), reads.indices()}, {gradient.tensor()}, {0}, {}, scalars, false);
    const bool in_place = trial % 4 < 2, pieces = trial % 5 < 3, adagrad = trial % 7 < 3;
    if (in_place) found.data = w.data, found_sum.data = sum.data;
    const std::vector<pt_tensor> at{in_place ? found.tensor() : w.tensor(), reads.indices(), reads.dy.tensor(),
                                    in_place ? found_sum.tensor() : sum.tensor()};
    if (adagrad) {
      compute(PT_OP_adagrad, {w.tensor(), gradient.tensor(), sum.tensor()}, {dense.tensor(), dense_sum.tensor()},
              {group}, {0.01, 1e-10, 0, 0.25}, scalars, false);
      compute(PT_OP_adagrad_rows, at, {found.tensor(), found_sum.tensor()}, {group}, {0.01, 1e-10, 0.25}, scalars,
              pieces);
      EXPECT_EQ(found_sum.data, dense_sum.data);
    } else {
      compute(PT_OP_sgd, {w.tensor(), gradient.tensor()}, {dense.tensor()}, {0, group}, {0, 0}, scalars, false);
      compute(PT_OP_sgd_rows, {at[0], at[1], at[2]}, {found.tensor()}, {group}, {}, scalars, pieces);
    }
    EXPECT_EQ(found.data, dense.data) << rows << " rows, " << reads.count << " read, group " << group << " " << adagrad;
  }
}

// One training of a table by adam_rows, beside torch.optim.SparseAdam's formula in double.
double error_of_adam_rows(double beta1, double beta2, double eps, bool in_place, bool pieces) {
  constexpr uint32_t kRows = 250, kColumns = 40;
  constexpr double kLr = 0.001;
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  Table w = Reads(random, kRows, kColumns, 0).table(), m = w, v = w;
  for (float& value : w.data) value = 0.1F * normal(random);
  const std::vector<float> start = w.data;
  Doubles rw(start.begin(), start.end()), rm(rw.size()), rv(rw.size());
  for (uint64_t step = 1; step <= kSteps; ++step) {
    constexpr uint32_t kCounts[] = {0, 1, 40, 300, 700};
    Reads reads(random, kRows, kColumns, kCounts[step % 5]);
    const pt_scalars scalars{.step = step, .seed = 0, .lr = kLr, .groups = nullptr, .group_count = 0};
    Table next_w = w, next_m = m, next_v = v;
    std::vector<pt_tensor> out{next_w.tensor(), next_m.tensor(), next_v.tensor()};
    if (!in_place) std::fill(next_w.data.begin(), next_w.data.end(), 7.0F);
    const std::vector<pt_tensor> old = in_place ? out : std::vector{w.tensor(), m.tensor(), v.tensor()};
    compute(PT_OP_adam_rows, {old[0], reads.indices(), reads.dy.tensor(), old[1], old[2]}, out, {}, {beta1, beta2, eps},
            scalars, pieces);
    Doubles gradient(rw.size());
    std::vector<char> read(kRows);
    for (uint32_t at = 0; at < reads.count; ++at) {
      read[reads.row(at)] = 1;
      for (size_t column = 0; column < kColumns; ++column)
        gradient[reads.row(at) * kColumns + column] += reads.dy.data[size_t{at} * kColumns + column];
    }
    const double number = static_cast<double>(step);
    const double size = kLr * std::sqrt(1 - std::pow(beta2, number)) / (1 - std::pow(beta1, number));
    for (size_t at = 0; at < rw.size(); ++at) {
      if (!read[at / kColumns]) {
        EXPECT_TRUE(next_w.data[at] == w.data[at] && next_m.data[at] == m.data[at] && next_v.data[at] == v.data[at])
            << "row " << at / kColumns << " is not read";
        continue;
      }
      rm[at] += (1 - beta1) * (gradient[at] - rm[at]);
      rv[at] += (1 - beta2) * (gradient[at] * gradient[at] - rv[at]);
      rw[at] -= size * rm[at] / (std::sqrt(rv[at]) + eps);
    }
    w.data = next_w.data, m.data = next_m.data, v.data = next_v.data;
  }
  Doubles found(rw.size()), right(rw.size());
  for (size_t at = 0; at < rw.size(); ++at) found[at] = w.data[at] - start[at], right[at] = rw[at] - start[at];
  return slope_error(found, right);
}

TEST(Update, OfRowsByAdamFollowsDoubleInTheRowsThatAreRead) {
  for (const double beta2 : {0.9, 0.999, 0.9999, 0.99999})
    for (const double beta1 : {0.0, 0.9, 0.99999})
      for (const double eps : {1e-8, 0.1})
        EXPECT_LE(error_of_adam_rows(beta1, beta2, eps, eps<1e-3, beta1> 0), 1e-6) << beta1 << " " << beta2;
}

TEST(Update, OfRowsByAdamHasTheSameBitsInPiecesAndInPlace) {
  std::mt19937 random(2);
  for (uint32_t trial = 0; trial < 40; ++trial) {
    const auto draw = [&](uint32_t most) { return 1 + static_cast<uint32_t>(random()) % most; };
    const uint32_t rows = draw(200), columns = draw(130);
    Reads reads(random, rows, columns, draw(600));
    const pt_group table[] = {{0.3, 0.5}};
    const pt_scalars scalars{.step = draw(50), .seed = 0, .lr = 0.3, .groups = table, .group_count = 1};
    Table w = reads.table(), m = w, v = w;
    for (float& value : w.data) value = static_cast<float>(draw(1000)) / 500 - 1;
    std::vector<std::vector<float>> results;
    for (const bool in_place : {false, true})
      for (const bool pieces : {false, true}) {
        Table a = w, b = m, c = v;
        std::vector<pt_tensor> out{a.tensor(), b.tensor(), c.tensor()};
        const std::vector<pt_tensor> old = in_place ? out : std::vector{w.tensor(), m.tensor(), v.tensor()};
        compute(PT_OP_adam_rows, {old[0], reads.indices(), reads.dy.tensor(), old[1], old[2]}, out, {0},
                {0.9, 0.99, 1e-8}, scalars, pieces);
        a.data.insert(a.data.end(), b.data.begin(), b.data.end());
        a.data.insert(a.data.end(), c.data.begin(), c.data.end());
        results.push_back(a.data);
      }
    for (const std::vector<float>& each : results) EXPECT_EQ(each, results[0]) << rows << " x " << columns;
  }
}

TEST(Update, OfRowsRefusesAnIndexBeyondTheTable) {
  for (const int64_t index : {int64_t{4}, int64_t{-5}, int64_t{1} << 40}) {
    std::mt19937 random(1);
    Reads reads(random, 4, 3, 1);
    reads.index[0] = index;
    Table w = reads.table(), m = w, v = w;
    const pt_scalars scalars{.step = 1, .seed = 0, .lr = 0.3, .groups = nullptr, .group_count = 0};
    std::vector<pt_tensor> out{w.tensor(), m.tensor(), v.tensor()},
        in{out[0], reads.indices(), reads.dy.tensor(), out[1], out[2]};
    const Doubles reals{0.9, 0.99, 1e-8};
    std::vector<uint32_t> workspace(2);
    pt_call call{};
    call.inputs = in.data(), call.input_count = 5;
    call.outputs = out.data(), call.output_count = 3;
    call.reals = reals.data(), call.real_count = 3;
    call.scalars = &scalars;
    call.workspace = workspace.data();
    EXPECT_EQ(pt_kernel_find(pt_portable_kernels(), PT_OP_adam_rows, PT_F32, 0, 0)->submit(&call), PT_E_DATA);
    EXPECT_EQ(w.data, std::vector<float>(12));
  }
}

}  // namespace
