// Reductions of integers, and positions of the last extreme: values of onnx.reference.
#include <gtest/gtest.h>

#include "testing/evaluate.h"
#include "testing/onnx_model.h"

namespace pantoum::import {
namespace {

OnnxModel& cast(OnnxModel& model, const std::string& from, const std::string& to, int64_t type) {
  return model.node("Cast", {from}, {to}).attribute("to", type);
}

std::vector<float> rows_of(OnnxModel model) {
  cast(model, "r", "y", onnx::TensorProto::FLOAT).output("y");
  const auto loaded = model.load();
  if (!loaded) throw std::runtime_error(to_text(loaded.error()));
  const std::vector<float> x = {3, -4, -4, 3, 1, 1, 0, 1};
  const auto* bytes = reinterpret_cast<const std::byte*>(x.data());
  const auto values = ir::evaluate(loaded->graph, *pt_portable_kernels(),
                                   {{loaded->graph.inputs[0], {bytes, bytes + x.size() * sizeof(float)}}});
  if (!values) throw std::runtime_error(to_text(values.error()));
  return values->as<float>(loaded->graph.outputs[0]);
}

OnnxModel reduction(const std::string& op, int64_t type) {
  OnnxModel model(18);
  model.input("x", {"2", "4"}).integers("axes", {1});
  cast(model, "x", "i", type).node(op, {"i", "axes"}, {"r"}).attribute("keepdims", 0);
  return model;
}

TEST(Reduce, ComputesNormsOfIntegers) {
  for (const int64_t type : {onnx::TensorProto::INT64, onnx::TensorProto::INT32}) {
    EXPECT_EQ(rows_of(reduction("ReduceL1", type)), (std::vector<float>{14, 3}));
    EXPECT_EQ(rows_of(reduction("ReduceL2", type)), (std::vector<float>{7, 1}));  // of 50 and 3, cut off
    EXPECT_EQ(rows_of(reduction("ReduceSumSquare", type)), (std::vector<float>{50, 3}));
  }
  // The logarithms of 22 and 3, cut off.
  OnnxModel positive(18);
  positive.input("x", {"2", "4"}).integers("axes", {1}).node("Abs", {"x"}, {"a"}).node("Add", {"a", "a"}, {"b"});
  cast(positive, "b", "i", onnx::TensorProto::INT64).node("ReduceLogSum", {"i", "axes"}, {"r"});
  EXPECT_EQ(rows_of(positive), (std::vector<float>{3, 1}));
}

TEST(ArgMax, FindsTheFirstAndTheLastOfEqualElements) {
  for (const char* op : {"ArgMax", "ArgMin"}) {
    for (const bool whole : {true, false}) {
      for (const int64_t last : {0, 1}) {
        OnnxModel model;
        model.input("x", {"2", "4"});
        cast(model, "x", "i", whole ? onnx::TensorProto::INT64 : onnx::TensorProto::FLOAT);
        model.node(op, {"i"}, {"r"}).attribute("axis", 1).attribute("keepdims", 0).attribute("select_last_index", last);
        const std::vector<float> expected = op[3] == 'M' && op[4] == 'a'
                                                ? (last != 0 ? std::vector<float>{3, 3} : std::vector<float>{0, 0})
                                            : last != 0 ? std::vector<float>{2, 2}
                                                        : std::vector<float>{1, 2};
        EXPECT_EQ(rows_of(model), expected) << op << " " << whole << " " << last;
      }
    }
  }
}

}  // namespace
}  // namespace pantoum::import
