// Weights of recurrent layers stand in NNTrainer's order and orientation: the products read them as they are.
#include <gtest/gtest.h>

#include <fstream>

#include "import/onnx.h"
#include "ini/model.h"
#include "testing/temporary_folder.h"

namespace pantoum::ini {
namespace {

Result<import::Imported> imported(const std::string& type, const std::string& keys, bool series) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("net.ini"))
      << "[model]\nloss = mse\n[x]\ntype = input\ninput_shape = 1:5:3\n[cell]\nunit = 4\ntype = " << type << "\n"
      << keys << "[y]\ntype = fully_connected\nunit = 1\n";
  PANTOUM_ASSIGN(const Model model, read_model(folder.file("net.ini")));
  return import::parse_onnx(model.onnx.data(), model.onnx.size(), "", {.batch = 2, .recurrent_series = series});
}

class RecurrentWeights : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(RecurrentWeights, AreNotTransposedInAStep) {
  const auto model = imported(GetParam().first, GetParam().second, false);
  ASSERT_TRUE(model) << to_text(model.error());
  const ir::Graph& graph = model->graph;
  int64_t read = 0;
  for (ir::OpId op = 0; op < static_cast<ir::OpId>(graph.ops.size()); ++op)
    for (const ir::ValueId input : graph.op(op).inputs) {
      if (!graph.value(input).name.starts_with("cell.weight")) continue;
      EXPECT_NE(graph.op(op).kind, ir::Kind::k_transpose) << graph.op(op).name;
      ++read;
    }
  EXPECT_GT(read, 0);
}

INSTANTIATE_TEST_SUITE_P(Types, RecurrentWeights,
                         testing::Values(std::pair{"lstm", ""}, std::pair{"lstm", "integrate_bias = true\n"},
                                         std::pair{"gru", ""}, std::pair{"gru", "reset_after = false\n"},
                                         std::pair{"rnn", "return_sequences = true\n"}));

TEST(RecurrentWeights, OfOpsOfSeveralStepsComeAsTheyAreWanted) {
  const auto model = imported("lstm", "", true);
  EXPECT_TRUE(model) << to_text(model.error());
}

}  // namespace
}  // namespace pantoum::ini
