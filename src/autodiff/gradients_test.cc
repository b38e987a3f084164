// Every gradient rule against central differences, in double precision.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "testing/evaluate.h"
#include "testing/gradient_cases.h"

namespace pantoum::autodiff {
namespace {

using ir::Evaluated;
using ir::Feeds;
using ir::Graph;
using ir::ValueId;

constexpr pt_scalars kScalars{1, 42, 0.1};

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Labels: classes in turn with one ignored, or numbers spread between 0 and 1.
Feeds labels_for(const Graph& graph) {
  const ir::Value& label = graph.value(graph.labels[0]);
  const auto count = static_cast<size_t>(label.type.elements());
  if (label.type.dtype == ir::DType::kI64) {
    std::vector<int64_t> classes(count);
    for (size_t element = 0; element < count; ++element) classes[element] = static_cast<int64_t>(element % 3);
    classes[count / 2] = -1;
    return {{graph.labels[0], bytes_of(classes)}};
  }
  std::vector<double> targets(count);
  for (size_t element = 0; element < count; ++element)
    targets[element] = 0.5 + 0.5 * std::sin(1.0 + 2.0 * static_cast<double>(element));
  if (label.type.dtype == ir::DType::kF64) return {{graph.labels[0], bytes_of(targets)}};
  return {{graph.labels[0], bytes_of(std::vector<float>(targets.begin(), targets.end()))}};
}

double loss_of(const Graph& graph, const Feeds& feeds) {
  const Result<Evaluated> run = ir::evaluate(graph, *pt_portable_kernels_f64(), feeds, {.scalars = kScalars});
  return run ? run->as<double>(graph.results[0])[0] : std::nan("");
}

double central_difference(const Graph& graph, Feeds feeds, ValueId parameter, std::vector<double> values,
                          size_t element) {
  const double here = values[element], step = 1e-5;
  values[element] = here + step;
  feeds[parameter] = bytes_of(values);
  const double above = loss_of(graph, feeds);
  values[element] = here - step;
  feeds[parameter] = bytes_of(values);
  return (above - loss_of(graph, feeds)) / (2 * step);
}

ValueId parameter_of(const Graph& graph, ValueId gradient) {
  for (size_t id = 0; id < graph.values.size(); ++id) {
    if ("grad." + graph.values[id].name == graph.value(gradient).name) return static_cast<ValueId>(id);
  }
  return ir::kNone;
}

TEST(Gradients, HaveACaseForEveryOp) {
  std::set<ir::Kind> covered;
  for (const GradientCase& which : gradient_cases()) {
    for (const ir::Op& op : forward_of(which).ops) covered.insert(op.kind);
    const Result<Graph> training = make_training(forward_of(which), {.loss = {which.loss}});
    ASSERT_TRUE(training) << to_text(training.error());
    for (const ir::Op& op : training->ops) covered.insert(op.kind);
  }
  for (const ir::OpDef& def : ir::all_op_defs()) {
    EXPECT_TRUE(def.gradient == nullptr || ir::is_custom(def.kind) || covered.contains(def.kind))
        << "no gradient test for " << def.name;
  }
}

class GradientsOf : public testing::TestWithParam<GradientCase> {
 protected:
  Graph forward_ = forward_of(GetParam());
  TrainingOptions options_{.loss = {GetParam().loss}, .optimizer = NoOptimizer{}, .freeze = {}};
};

TEST_P(GradientsOf, EqualCentralDifferences) {
  ASSERT_THAT(forward_.notes, testing::IsEmpty());
  Result<Graph> training = make_training(forward_, options_);
  ASSERT_TRUE(training) << to_text(training.error());
  const Graph graph = ir::to_double(*training);
  const Result<void> valid = ir::validate(graph);
  ASSERT_TRUE(valid) << to_text(valid.error());
  const Feeds feeds = labels_for(graph);
  const Result<Evaluated> run = ir::evaluate(graph, *pt_portable_kernels_f64(), feeds, {.scalars = kScalars});
  ASSERT_TRUE(run) << to_text(run.error());
  ASSERT_FALSE(graph.outputs.empty());
  for (const ValueId gradient : graph.outputs) {
    const ValueId parameter = parameter_of(graph, gradient);
    ASSERT_NE(parameter, ir::kNone) << graph.value(gradient).name;
    ASSERT_EQ(graph.value(gradient).type, graph.value(parameter).type);
    const std::vector<double> values = run->as<double>(parameter), slopes = run->as<double>(gradient);
    for (size_t element = 0; element < values.size(); ++element) {
      const double expected = central_difference(graph, feeds, parameter, values, element);
      EXPECT_NEAR(slopes[element], expected, 2e-8 * std::max(1.0, std::abs(expected)))
          << graph.value(parameter).name << "[" << element << "]\n"
          << ir::to_text(graph);
    }
  }
}

// The registry's claim that an output may be written over an input, held against the kernels bit for bit.
TEST_P(GradientsOf, AreTheSameInPlace) {
  Result<Graph> graph = make_training(forward_, options_);
  ASSERT_TRUE(graph) << to_text(graph.error());
  const Feeds feeds = labels_for(*graph);
  const Result<Evaluated> apart = ir::evaluate(*graph, *pt_portable_kernels(), feeds, {.scalars = kScalars});
  ASSERT_TRUE(apart) << to_text(apart.error());
  for (const int first : {0, 1, 2}) {
    const Result<Evaluated> shared =
        ir::evaluate(*graph, *pt_portable_kernels(), feeds, {.scalars = kScalars, .in_place = first});
    ASSERT_TRUE(shared) << to_text(shared.error());
    for (size_t id = 0; id < graph->values.size(); ++id) {
      EXPECT_EQ(apart->bytes[id], shared->bytes[id]) << graph->values[id].name << "\n" << ir::to_text(*graph);
    }
  }
}

std::string readable(const testing::TestParamInfo<GradientCase>& info) {
  std::string name = std::to_string(info.index) + "_" + info.param.name;
  for (char& letter : name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(EveryOp, GradientsOf, testing::ValuesIn(gradient_cases()), readable);

}  // namespace
}  // namespace pantoum::autodiff
