#include "emit/export_onnx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "autodiff/autodiff.h"
#include "base/files.h"
#include "emit/inference_form.h"
#include "import/onnx.h"
#include "import/onnx_messages.h"
#include "testing/evaluate.h"
#include "testing/temporary_folder.h"
#include "weights/safetensors.h"

namespace pantoum::emit {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kModel = PANTOUM_SOURCE_DIR "/examples/fashion/cnn.onnx";
constexpr int64_t kBatch = 4;

// x -> Conv -> BatchNormalization (training) -> Dropout (training) -> Flatten -> MatMul -> Dropout -> y
onnx::ModelProto small_model() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  auto* opset = model.add_opset_import();
  opset->set_domain("");
  opset->set_version(17);
  auto& graph = *model.mutable_graph();
  graph.set_name("small");
  const auto tensor = [&](const std::string& name, const std::vector<int64_t>& dims, float start) {
    auto* made = graph.add_initializer();
    made->set_name(name);
    made->set_data_type(onnx::TensorProto::FLOAT);
    int64_t count = 1;
    for (const int64_t dim : dims) made->add_dims(dim), count *= dim;
    for (int64_t at = 0; at < count; ++at) made->add_float_data(start + 0.01F * static_cast<float>(at % 7));
  };
  const auto node = [&](const char* op, std::vector<std::string> inputs, std::vector<std::string> outputs) {
    auto* made = graph.add_node();
    made->set_op_type(op);
    made->set_name(outputs[0]);
    for (const auto& input : inputs) made->add_input(input);
    for (const auto& output : outputs) made->add_output(output);
    return made;
  };
  const auto value = [](onnx::ValueInfoProto* info, const char* name, std::vector<int64_t> dims) {
    info->set_name(name);
    auto* type = info->mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx::TensorProto::FLOAT);
    for (const int64_t dim : dims) type->mutable_shape()->add_dim()->set_dim_value(dim);
  };
  tensor("conv.weight", {3, 2, 3, 3}, -0.05F);
  for (const char* name : {"bn.weight", "bn.bias", "bn.mean", "bn.var"}) tensor(name, {3}, 0.5F);
  tensor("fc.weight", {12, 5}, -0.02F);
  tensor("ratio", {}, 0.25F);
  auto* training = graph.add_initializer();
  training->set_name("training");
  training->set_data_type(onnx::TensorProto::BOOL);
  training->add_int32_data(1);
  value(graph.add_input(), "x", {kBatch, 2, 4, 4});
  value(graph.add_output(), "y", {kBatch, 5});
  node("Conv", {"x", "conv.weight"}, {"conv"});
  auto* norm = node("BatchNormalization", {"conv", "bn.weight", "bn.bias", "bn.mean", "bn.var"},
                    {"norm", "new_mean", "new_var"});
  for (const char* name : {"training_mode", "pantoum_biased_statistics"}) {
    auto* attribute = norm->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_i(1);
  }
  node("Dropout", {"norm", "ratio", "training"}, {"dropped", "mask"});
  node("Flatten", {"dropped"}, {"flat"});
  node("MatMul", {"flat", "fc.weight"}, {"product"});
  node("Dropout", {"product", "ratio", "training"}, {"y"});
  return model;
}

class ExportOnnx : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(base::write_file_atomically(path("small.onnx"), small_model().SerializeAsString()));
  }
  std::string path(const std::string& name) const { return folder_.file(name); }

  // Random contents for every parameter and statistic, into the graph and into a file.
  std::string randomize(ir::Graph& graph) const {
    std::vector<weights::SafetensorSource> sources;
    uint32_t random = 77;
    for (ir::Value& value : graph.values) {
      if (value.producer != ir::kNone || (value.role != ir::Role::kParameter && value.role != ir::Role::kBuffer))
        continue;
      std::vector<float> numbers(static_cast<size_t>(value.type.elements()));
      for (float& number : numbers)
        number = 0.05F + static_cast<float>((random = random * 1664525U + 1013904223U) >> 8) * 0x1p-25F;
      auto data = std::make_shared<std::vector<std::byte>>(numbers.size() * sizeof(float));
      std::memcpy(data->data(), numbers.data(), data->size());
      value.data = data;
      sources.push_back({value.name, value.type.dtype, value.type.shape,
                         [data](uint64_t at, std::span<std::byte> piece) -> Result<void> {
                           std::memcpy(piece.data(), data->data() + at, piece.size());
                           return {};
                         }});
    }
    EXPECT_TRUE(weights::write_safetensors(path("weights"), sources, {}));
    return path("weights");
  }

  // What the evaluation computes of a fixed batch: the loss, whose bits hang on every output.
  static std::vector<float> evaluate(const ir::Graph& forward) {
    const auto graph = autodiff::make_evaluation(forward, {.loss = {{.name = "mse"}}});
    EXPECT_TRUE(graph) << to_text(graph.error());
    ir::Feeds feeds;
    for (const auto& ids : {graph->inputs, graph->labels}) {
      std::vector<float> numbers(static_cast<size_t>(graph->value(ids[0]).type.elements()));
      for (size_t at = 0; at < numbers.size(); ++at) numbers[at] = static_cast<float>(at % 13) * 0.1F;
      feeds[ids[0]].resize(numbers.size() * sizeof(float));
      std::memcpy(feeds[ids[0]].data(), numbers.data(), feeds[ids[0]].size());
    }
    const auto run = ir::evaluate(*graph, *pt_portable_kernels(), feeds);
    EXPECT_TRUE(run) << to_text(run.error());
    return run->as<float>(graph->results[0]);
  }

  static onnx::ModelProto message(const std::string& file) {
    onnx::ModelProto model;
    EXPECT_TRUE(model.ParseFromString(base::read_file(file).value()));
    return model;
  }

  TemporaryFolder folder_;
};

TEST_F(ExportOnnx, ImportedAgainItEvaluatesToTheSameBits) {
  for (const std::string& model : {path("small.onnx"), kModel}) {
    ir::Graph graph = import::load_onnx(model, {.batch = kBatch})->graph;
    const std::vector<float> before = evaluate(graph);
    const std::string weights = randomize(graph);
    for (const bool outside : {false, true}) {
      const auto exported = export_onnx({model, weights, path("out.onnx"), outside});
      ASSERT_TRUE(exported) << to_text(exported.error());
      EXPECT_EQ(exported->data_file, outside ? path("out.onnx.data") : "");
      const auto again = import::load_onnx(path("out.onnx"), {.batch = kBatch});
      ASSERT_TRUE(again) << to_text(again.error());
      const std::vector<float> found = evaluate(again->graph);
      EXPECT_EQ(found, evaluate(graph));
      EXPECT_NE(found, before);
    }
  }
}

TEST_F(ExportOnnx, NothingOfTrainingIsLeft) {
  ir::Graph graph = import::load_onnx(path("small.onnx"))->graph;
  ASSERT_TRUE(export_onnx({path("small.onnx"), randomize(graph), path("out.onnx")}));
  const onnx::GraphProto made = message(path("out.onnx")).graph();
  std::vector<std::string> ops, initializers;
  for (const auto& node : made.node()) ops.push_back(node.op_type());
  for (const auto& tensor : made.initializer()) initializers.push_back(tensor.name());
  EXPECT_THAT(ops, ElementsAre("Conv", "BatchNormalization", "Flatten", "MatMul", "Identity"));
  EXPECT_THAT(initializers, ElementsAre("conv.weight", "bn.weight", "bn.bias", "bn.mean", "bn.var", "fc.weight"));
  EXPECT_THAT(made.node(1).output(), ElementsAre("norm"));
  EXPECT_EQ(made.node(1).attribute_size(), 0);
  EXPECT_EQ(made.node(2).input(0), "norm");
  EXPECT_EQ(made.node(4).input(0), "product");
  EXPECT_EQ(made.node(4).output(0), "y");
}

TEST_F(ExportOnnx, ExternalContentsAreAlignedAndBesideTheModel) {
  ir::Graph graph = import::load_onnx(kModel)->graph;
  ASSERT_TRUE(export_onnx({kModel, randomize(graph), path("out.onnx"), true}));
  EXPECT_LT(std::filesystem::file_size(path("out.onnx")), 16'000U);
  const onnx::ModelProto made = message(path("out.onnx"));
  for (const auto& tensor : made.graph().initializer()) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) continue;
    EXPECT_EQ(tensor.external_data(0).value(), "out.onnx.data");
    EXPECT_EQ(std::stoul(tensor.external_data(1).value()) % 4096, 0U);
    EXPECT_FALSE(tensor.has_raw_data());
  }
}

TEST_F(ExportOnnx, WeightsThatDoNotFitAreAllTold) {
  ir::Graph graph = import::load_onnx(path("small.onnx"))->graph;
  ASSERT_TRUE(weights::write_safetensors(
      path("other"), {{"bn.bias", ir::DType::kF32, {2}, [](uint64_t, std::span<std::byte>) { return Result<void>(); }}},
      {}));
  const auto exported = export_onnx({path("small.onnx"), path("other"), path("out.onnx")});
  ASSERT_FALSE(exported);
  EXPECT_EQ(exported.error().code, "E0242");
  EXPECT_EQ(exported.error().notes.size(), 6U);
  EXPECT_THAT(to_text(exported.error()), HasSubstr("'bn.bias' is f32[2], the model has f32[3]"));
  EXPECT_FALSE(std::filesystem::exists(path("out.onnx")));
  EXPECT_EQ(export_onnx({path("none.onnx"), path("other"), path("out.onnx")}).error().code, "E0201");
}

TEST(InferenceForm, RefusesAMaskThatIsUsed) {
  onnx::ModelProto model = small_model();
  model.mutable_graph()->mutable_node(3)->set_input(0, "mask");
  EXPECT_EQ(make_inference_form(*model.mutable_graph()).error().code, "E0401");
}

TEST(InferenceForm, ReadersOfUpdatedStatisticsReadTheStatistics) {
  onnx::ModelProto model = small_model();
  auto& graph = *model.mutable_graph();
  graph.add_output()->set_name("new_mean");
  ASSERT_TRUE(make_inference_form(graph));
  const auto& last = graph.node(graph.node_size() - 1);
  EXPECT_EQ(last.op_type(), "Identity");
  EXPECT_EQ(last.input(0), "bn.mean");
  EXPECT_EQ(last.output(0), "new_mean");
}

}  // namespace
}  // namespace pantoum::emit
