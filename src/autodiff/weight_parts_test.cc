// Parts of weights beside whole ones: the same bits where both train, and no change elsewhere.
#include "autodiff/weight_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "ir/builder.h"
#include "testing/evaluate.h"

namespace pantoum::autodiff {
namespace {

using testing::HasSubstr;

TensorType real(Shape shape) {
  return {DType::kF32, std::move(shape)};
}

std::vector<std::byte> waves(int64_t count, double frequency) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t at = 0; at < values.size(); ++at)
    values[at] = static_cast<float>(std::sin(frequency * static_cast<double>(at + 1)));
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

ir::Data filled(int64_t count, double frequency) {
  return std::make_shared<const std::vector<std::byte>>(waves(count, frequency));
}

Attrs convolution(int64_t groups) {
  Attrs attrs{std::vector<int64_t>(PT_CONV_ATTRS, 1), {}};
  for (const int pad : {PT_CONV_PAD_TOP, PT_CONV_PAD_LEFT, PT_CONV_PAD_BOTTOM, PT_CONV_PAD_RIGHT})
    attrs.ints[static_cast<size_t>(pad)] = 1;
  attrs.ints[PT_CONV_GROUPS] = groups;
  return attrs;
}

// Convolutions of all kinds, then a linear layer with its weight as [out,in], and one as [in,out].
Graph network() {
  Graph graph;
  Builder builder(graph);
  const auto weight = [&](const char* name, Shape shape, double frequency) {
    const TensorType type = real(std::move(shape));
    return builder.parameter(name, type, filled(type.elements(), frequency));
  };
  ValueId x = builder.input("x", real({2, 4, 5, 5}));
  const auto convolve = [&](const char* name, Shape shape, int64_t groups, double frequency) {
    x = builder.op(Kind::k_conv2d, std::string(name) + ".y", {x, weight(name, std::move(shape), frequency)},
                   convolution(groups));
    x = builder.op(Kind::k_relu, std::string(name) + ".relu", {x});
  };
  convolve("plain", {8, 4, 3, 3}, 1, 0.7);
  convolve("depthwise", {8, 1, 3, 3}, 8, 1.1);
  convolve("grouped", {8, 4, 3, 3}, 2, 1.3);
  x = builder.reshape(x, {2, 200});
  x = builder.op(Kind::k_matmul, "fc1.y", {x, weight("fc1", {12, 200}, 0.3), weight("fc1.bias", {12}, 0.5)},
                 {{0, 1}, {}});
  x = builder.op(Kind::k_relu, "fc1.relu", {x});
  graph.outputs = {builder.op(Kind::k_matmul, "fc2.y", {x, weight("fc2", {12, 4}, 0.9)}, {{0, 0}, {}})};
  EXPECT_FALSE(builder.error());
  return graph;
}

using Tensors = std::map<std::string, std::vector<float>>;

// Parameters and state after so many steps.
Tensors trained(const Graph& graph, int steps = 1, int in_place = 0) {
  std::vector<std::byte> labels(2 * sizeof(int64_t));
  labels[sizeof(int64_t)] = std::byte{2};
  ir::Feeds feeds{{graph.inputs[0], waves(200, 0.37)}, {graph.labels[0], labels}};
  Tensors made;
  for (uint64_t step = 1; step <= static_cast<uint64_t>(steps); ++step) {
    const auto run = ir::evaluate(graph, *pt_portable_kernels(), feeds,
                                  {.scalars = {step, 5, 0.05}, .algorithms = {}, .in_place = in_place});
    EXPECT_TRUE(run) << (run ? "" : to_text(run.error()));
    if (!run) return made;
    for (size_t id = 0; id < graph.values.size(); ++id) {
      if (graph.values[id].next == kNone) continue;
      feeds[static_cast<ValueId>(id)] = run->bytes[position_of(graph.values[id].next)];
      made[graph.values[id].name] = run->as<float>(graph.values[id].next);
    }
  }
  return made;
}

std::vector<float> start_of(const Graph& graph, const std::string& name) {
  for (const Value& value : graph.values)
    if (value.name == name && value.data) {
      std::vector<float> values(value.data->size() / sizeof(float));
      std::memcpy(values.data(), value.data->data(), value.data->size());
      return values;
    }
  return {};
}

struct Case {
  const char *entry, *weight;
  Shape shape;
  WeightPart part;
};

const Case kCases[] = {
    {"plain=1/2", "plain", {8, 4, 3, 3}, {1, 2}},
    {"plain=out:25%", "plain", {8, 4, 3, 3}, {0, 2}},
    {"depthwise=3", "depthwise", {8, 1, 3, 3}, {0, 3}},
    {"grouped=out:4", "grouped", {8, 4, 3, 3}, {0, 4}},
    {"grouped=out:3", "grouped", {8, 4, 3, 3}, {0, 3}},
    {"fc1=in:10%", "fc1", {12, 200}, {1, 20}},
    {"fc1=out:1/3", "fc1", {12, 200}, {0, 4}},
    {"fc2=1/4", "fc2", {12, 4}, {0, 3}},
    {"fc2=out:1", "fc2", {12, 4}, {1, 1}},
};

// Is this element of the weight one that trains, and which one of them?
std::optional<size_t> place_in_part(const Case& each, size_t element) {
  size_t inner = 1;
  for (size_t dim = position_of(each.part.axis) + 1; dim < each.shape.size(); ++dim)
    inner *= static_cast<size_t>(each.shape[dim]);
  const auto all = static_cast<size_t>(each.shape[position_of(each.part.axis)]),
             count = static_cast<size_t>(each.part.count);
  const size_t along = element / inner % all;
  if (along >= count) return std::nullopt;
  return (element / inner / all * count + along) * inner + element % inner;
}

void expect_part(const Case& each, const Tensors& part, const Tensors& whole, const std::string& state) {
  const std::vector<float> before = start_of(network(), each.weight), &after = part.at(each.weight);
  const std::vector<float>&updated = whole.at(each.weight), &whole_state = whole.at(state + each.weight),
        &part_state = part.at(state + each.weight);
  size_t changed = 0;
  for (size_t element = 0; element < before.size(); ++element) {
    const auto place = place_in_part(each, element);
    EXPECT_EQ(after[element], place ? updated[element] : before[element]) << each.entry << " at " << element;
    changed += after[element] != before[element];
    if (place) {
      EXPECT_EQ(part_state.at(*place), whole_state[element]) << each.entry << " at " << element;
    }
  }
  EXPECT_GT(changed, 0U) << each.entry;
  EXPECT_LT(part_state.size(), whole_state.size());
}

TEST(WeightParts, TrainAsTheirPartOfAWholeUpdate) {
  for (const Optimizer& optimizer : {Optimizer(Sgd{.momentum = 0.9, .weight_decay = 0.1}), Optimizer(Adam{})}) {
    const bool is_adam = std::holds_alternative<Adam>(optimizer);
    const Tensors whole = trained(*make_training(network(), {.optimizer = optimizer}));
    for (const Case& each : kCases) {
      const auto graph = make_training(network(), {.optimizer = optimizer, .train_channels = {each.entry}});
      ASSERT_TRUE(graph) << to_text(graph.error());
      ASSERT_TRUE(ir::validate(*graph));
      const Tensors part = trained(*graph);
      expect_part(each, part, whole, is_adam ? "optim.adam_v." : "optim.momentum.");
      for (const auto& [name, values] : whole)
        if (name.find(each.weight) == std::string::npos) {
          EXPECT_EQ(part.at(name), values) << each.entry << ": " << name;
        }
    }
  }
}

TEST(WeightParts, AreTheSameInPlaceStepAfterStep) {
  std::vector<std::string> entries;
  for (const Case& each : kCases) entries.emplace_back(each.entry);
  const Graph graph = *make_training(network(), {.optimizer = Adam{}, .train_channels = entries});
  EXPECT_EQ(trained(graph, 4, 0), trained(graph, 4, kNone));
}

TEST(WeightParts, AreAccumulatedAndClippedAsParts) {
  const TrainingOptions options{
      .optimizer = Adam{}, .clip_norm = 0.1, .accumulate = 2, .train_channels = {"plain=1/2", "fc2=out:1"}};
  const Graph graph = *make_training(network(), options), other = *make_accumulation(network(), options);
  for (const Graph* each : {&graph, &other})
    for (const Value& value : each->values) {
      if (value.name == "accumulated.plain" || value.name == "accumulated.fc2") {
        EXPECT_EQ(value.type.shape, value.name.ends_with("plain") ? (Shape{8, 2, 3, 3}) : (Shape{12, 1}));
      }
    }
  TrainingOptions split = options;
  split.split_update = true;
  const auto update = make_update(*make_accumulation(network(), split), split);
  ASSERT_TRUE(update) << to_text(update.error());
  EXPECT_TRUE(ir::validate(*update));
  const auto is_assigned = [](const Op& op) { return op.kind == Kind::k_assign_slice; };
  EXPECT_EQ(std::ranges::count_if(update->ops, is_assigned), 2);
}

// Backward reads the channels that train alone, and they are cut before the next op of the forward pass.
TEST(WeightParts, RetainOnlyTheChannelsThatTheyNeed) {
  const Graph graph =
      *make_training(network(), {.freeze = {"plain", "depthwise"}, .train_channels = {"grouped=out:4", "fc1=in:10%"}});
  for (size_t at = 0; at < graph.ops.size(); ++at) {
    const Op& op = graph.ops[at];
    if (op.kind == Kind::k_conv2d_dw) {
      EXPECT_EQ(graph.value(op.inputs[0]).type.shape, (Shape{2, 4, 5, 5}));
      EXPECT_EQ(graph.value(op.inputs[1]).type.shape, (Shape{2, 4, 5, 5}));
    }
    if (op.name == "grouped.y" || op.name == "fc1.y") {
      EXPECT_EQ(graph.ops[at - 1].kind, Kind::k_slice) << "cut where it is made";
    }
  }
}

TEST(WeightParts, LeaveAWholeShareWholeAndTakeTheLastEntry) {
  const auto shape_of = [](std::vector<std::string> entries) {
    const Graph graph =
        *make_training(network(), {.optimizer = Sgd{.momentum = 0.9}, .train_channels = std::move(entries)});
    for (const Value& value : graph.values)
      if (value.name == "optim.momentum.plain") return value.type.shape;
    return Shape{};
  };
  EXPECT_EQ(shape_of({"[pf]*=100%"}), (Shape{8, 4, 3, 3})) << "biases have no channels of their own";
  EXPECT_EQ(shape_of({"p*=25%", "plain=out:7"}), (Shape{7, 4, 3, 3}));
  EXPECT_EQ(shape_of({"plain=0.01%"}), (Shape{8, 1, 3, 3})) << "one channel is the least";
}

TEST(WeightParts, RefuseWhatIsNone) {
  const auto told = [](const std::string& entry, std::vector<std::string> frozen = {}) {
    const auto graph = make_training(network(), {.freeze = std::move(frozen), .train_channels = {entry}});
    return graph ? "" : graph.error().code + ": " + graph.error().message + "; " + graph.error().help;
  };
  for (const char* entry : {"plain", "=1/2", "plain=", "plain=0", "plain=1.5", "plain=-1", "plain=0%", "plain=101%",
                            "plain=3/2", "plain=1/0", "plain=x%", "plain=mid:1/2", "plain=nan%", "plain=1/2/3"})
    EXPECT_THAT(told(entry), HasSubstr("E0113: '" + std::string(entry) + "' is no share of a weight's channels"))
        << entry;
  EXPECT_THAT(told("plain=5"), HasSubstr("E0113: 'plain' has 4 input channels, and 5 are to train; give 4 or fewer"));
  EXPECT_THAT(told("grouped=1/2"), HasSubstr("take output channels: 'grouped=out:..'"));
  EXPECT_THAT(told("nothing=1/2"), HasSubstr("E0104"));
  EXPECT_THAT(told("plain=1/2", {"plain"}), HasSubstr("E0104"));
}

}  // namespace
}  // namespace pantoum::autodiff
