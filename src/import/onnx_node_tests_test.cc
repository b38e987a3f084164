// The node tests of the Python package onnx (tests/onnx/fetch.py lays them out): every case of an operator that runs
// computes what ONNX expects, or stands in testing/onnx_node_exceptions.h with its reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "autodiff/running_statistics.h"
#include "import/catalog.h"
#include "import/onnx.h"
#include "import/onnx_messages.h"
#include "import/tensor.h"
#include "testing/evaluate.h"
#include "testing/onnx_node_exceptions.h"

namespace pantoum::import {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kFirstOpset = 11, kLastOpset = 21;

fs::path cases_folder() {
  const char* other = std::getenv("PANTOUM_ONNX_NODE_TESTS");
  return other != nullptr ? fs::path(other) : fs::path(PANTOUM_SOURCE_DIR) / "build/onnx-node-tests";
}

std::string file_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// One case: its model, and the tensors that go in and out, by name; a value that is no tensor of ours has none.
struct NodeCase {
  std::string name;
  onnx::ModelProto model;
  std::map<std::string, onnx::TensorProto> inputs;
  std::map<std::string, Tensor> outputs;
  std::vector<std::string> strange;  // values that are no tensors, or of element types that Pantoum does not have
  bool empty = false;                // a tensor without elements
  int rank = 0;                      // the most dimensions of a tensor
};

std::optional<Tensor> as_computed(onnx::TensorProto message) {
  ExternalData external("", false);
  auto tensor = read_tensor(message, external, "a node test");
  if (!tensor) return std::nullopt;
  if (tensor->type.dtype == ir::DType::kF64)
    return make_tensor(ir::DType::kF32, tensor->type.shape, *to_reals(*tensor));
  return *tensor;
}

// Reads `kind`_N.pb for every value; those that are no tensors are strange.
template <class Values, class Keep>
void read_values(NodeCase& test, const fs::path& data, const std::string& kind, const Values& values, Keep keep) {
  for (int number = 0; number < values.size(); ++number) {
    const auto& value = values[number];
    const int32_t type = value.type().tensor_type().elem_type();
    const std::string bytes = file_bytes(data / (kind + "_" + std::to_string(number) + ".pb"));
    onnx::TensorProto message;
    if (!value.type().has_tensor_type()) {
      test.strange.push_back("values that are no tensors");
    } else if (!dtype_of(type)) {
      test.strange.push_back(onnx_type_name(type));
    } else if (message.ParseFromString(bytes)) {
      if (message.data_type() == onnx::TensorProto::UINT16) message.set_data_type(type);  // how onnx stores bfloat16
      keep(value.name(), message);
      test.rank = std::max(test.rank, message.dims_size());
      test.empty = test.empty || std::ranges::count(message.dims(), 0) > 0;
    }
  }
}

NodeCase read_case(const fs::path& folder) {
  NodeCase test{.name = folder.filename().string()};
  EXPECT_TRUE(test.model.ParseFromString(file_bytes(folder / "model.onnx"))) << test.name;
  const fs::path data = folder / "test_data_set_0";
  read_values(test, data, "input", test.model.graph().input(),
              [&](const std::string& name, const onnx::TensorProto& message) { test.inputs[name] = message; });
  read_values(test, data, "output", test.model.graph().output(),
              [&](const std::string& name, const onnx::TensorProto& message) {
                if (auto tensor = as_computed(message)) test.outputs[name] = *tensor;
              });
  for (const auto& node : test.model.graph().node())
    for (const auto& attribute : node.attribute())
      if ((attribute.name() == "to" || attribute.name() == "dtype") && !dtype_of(static_cast<int32_t>(attribute.i())))
        test.strange.push_back(onnx_type_name(static_cast<int32_t>(attribute.i())));
  return test;
}

// What of a case's inputs is constant: an exporter of today writes shapes, axes and bounds as initializers.
enum class Bound { kNothing, kSettings, kAllButFirst, kAll };

bool is_bound(Bound bound, int position, const onnx::TensorProto& value) {
  const bool whole = value.data_type() == onnx::TensorProto::INT64 || value.data_type() == onnx::TensorProto::INT32 ||
                     value.data_type() == onnx::TensorProto::BOOL;
  if (bound == Bound::kAll) return true;
  if (bound == Bound::kNothing || position == 0) return false;
  return bound == Bound::kAllButFirst || whole || value.dims_size() == 0;
}

std::string model_bytes(const NodeCase& test, Bound bound, int64_t opset) {
  onnx::ModelProto model = test.model;
  model.set_ir_version(std::clamp<int64_t>(model.ir_version(), 4, 10));
  for (auto& import : *model.mutable_opset_import())
    if (import.domain().empty()) import.set_version(std::max<int64_t>(opset, import.version()));
  for (int position = 0; position < model.graph().input_size(); ++position) {
    const auto found = test.inputs.find(model.graph().input(position).name());
    if (found == test.inputs.end() || !is_bound(bound, position, found->second)) continue;
    onnx::TensorProto& initializer = *model.mutable_graph()->add_initializer();
    initializer = found->second;
    initializer.set_name(found->first);
  }
  return model.SerializeAsString();
}

// A tensor of bfloat16 was rounded to eight bits, ours was not.
double tolerance_of(const NodeCase& test, const std::string& output) {
  for (const auto& value : test.model.graph().output())
    if (value.name() == output && value.type().tensor_type().elem_type() == onnx::TensorProto::BFLOAT16)
      return 1.0 / 128;
  return 1e-3;
}

// Is every element within the tolerances of onnx's own runner, integers and bools the same?
bool agrees(std::span<const std::byte> ours, const Tensor& theirs, double tolerance) {
  if (ours.size() != theirs.data->size()) return false;
  if (theirs.type.dtype != ir::DType::kF32) return ir::same_bytes(ours, *theirs.data);
  for (size_t at = 0; at < ours.size(); at += sizeof(float)) {
    float a = 0, b = 0;
    std::memcpy(&a, &ours[at], sizeof a);
    std::memcpy(&b, &(*theirs.data)[at], sizeof b);
    const bool same = a == b || (std::isnan(a) && std::isnan(b));
    if (!same && !(std::fabs(double{a} - double{b}) <= 1e-7 + tolerance * std::fabs(double{b}))) return false;
  }
  return true;
}

bool trains(const onnx::NodeProto& node) {
  return std::ranges::any_of(node.attribute(), [](const auto& a) { return a.name() == "training_mode" && a.i() != 0; });
}

// What a node in inference form says is what an evaluation computes: the running statistics, and no dropout.
Result<void> as_evaluated(const NodeCase& test, ir::Graph& graph) {
  if (std::ranges::any_of(test.model.graph().node(), trains)) return {};
  const autodiff::StatsOf stats_of = autodiff::stats_of_means(graph);
  for (ir::Op& op : graph.ops) {
    if (op.kind == ir::Kind::k_dropout) op.attrs.reals[0] = 0;
    if (op.kind == ir::Kind::k_batch_norm) PANTOUM_TRY(autodiff::use_running_statistics(graph, op, stats_of));
  }
  for (ir::Value& value : graph.values) value.next = ir::kNone;
  ir::drop_dead_ops(graph);
  return {};
}

// Empty: all outputs agree. Else what differs.
std::string compare(const NodeCase& test, ir::Graph graph) {
  if (const auto evaluated = as_evaluated(test, graph); !evaluated) return to_text(evaluated.error());
  ir::Feeds feeds;
  for (const ir::ValueId id : graph.inputs) {
    const auto given = test.inputs.find(graph.value(id).name);
    const auto tensor = given == test.inputs.end() ? std::nullopt : as_computed(given->second);
    if (!tensor || tensor->type != graph.value(id).type)
      return "its input " + graph.value(id).name + " has another type";
    feeds[id] = tensor->data.copy();
  }
  const auto found = ir::evaluate(graph, *pt_portable_kernels(), feeds);
  if (!found) return to_text(found.error());
  for (size_t number = 0; number < graph.outputs.size(); ++number) {
    const ir::ValueId id = graph.outputs[number];
    const auto wanted = test.outputs.find(graph.output_names[number]);
    if (wanted == test.outputs.end()) return "an output cannot be read";
    if (graph.value(id).type != wanted->second.type)
      return "the output is " + ir::to_text(graph.value(id).type) + ", not " + ir::to_text(wanted->second.type);
    const ir::Data& known = graph.value(id).data;
    const auto& computed = found->bytes[static_cast<size_t>(ir::root_of(graph, id))];
    if (!agrees(known ? *known : std::span<const std::byte>(computed), wanted->second,
                tolerance_of(test, graph.output_names[number])))
      return known ? "a constant output differs" : "an output differs";
  }
  return "";
}

struct Verdict {
  bool compared = false;
  std::string problem;  // empty: every form that is imported agrees
  Error refusal;        // of the form whose inputs are all constant, where none is imported
};

// A case is compared in each form that is imported: with more and more of its inputs constant, in its own opset and, an
// operator's last form being that of opset 21, in that.
Verdict judge_case(const NodeCase& test) {
  Verdict verdict;
  const bool several = test.model.graph().node_size() > 1;  // an operator written out: its nodes may be of older forms
  for (const int64_t opset : {kFirstOpset, several ? kFirstOpset : kLastOpset}) {
    for (const Bound bound : {Bound::kAll, Bound::kAllButFirst, Bound::kSettings, Bound::kNothing}) {
      const std::string bytes = model_bytes(test, bound, opset);
      const auto model = parse_onnx(bytes.data(), bytes.size(), "");
      if (!model && bound != Bound::kAll && verdict.refusal.code.empty()) verdict.refusal = model.error();
      if (!model) continue;
      EXPECT_TRUE(ir::validate(model->graph).has_value()) << test.name;
      verdict.compared = true;
      if (verdict.problem.empty()) verdict.problem = compare(test, model->graph);
    }
  }
  return verdict;
}

std::string text_of(const Error& error) {
  std::string text = error.code + " " + error.message;
  for (const std::string& note : error.notes) text += "\n    " + note;
  return text;
}

std::string form_rule(const RefusedForm& form) {
  return std::string(form.op_type) + ": " + form.refusal;
}

bool says(const Error& refusal, const std::string& op_type, const std::string& text) {
  return std::ranges::any_of(refusal.notes, [&](const std::string& note) {
    const size_t named = note.find("(" + op_type + "): ");
    return named != std::string::npos && note.find(text, named) != std::string::npos;
  });
}

// Why no form of a case is imported, where that follows from what it is; empty: it does not.
std::string rule_of(const NodeCase& test, const Error& refusal) {
  for (const auto& import : test.model.opset_import())
    if (!import.domain().empty() && import.domain() != "ai.onnx") return "operators of the domain " + import.domain();
  for (const auto& node : test.model.graph().node()) {
    if (says(refusal, node.op_type(), "there is no such operator here")) return "operator " + node.op_type();
  }
  if (!test.strange.empty()) return test.strange.front();
  if (test.empty) return "tensors without elements";
  if (test.rank > PT_MAX_RANK) return "more dimensions than the runtime has";
  for (const RefusedForm& form : kRefusedForms)
    if (says(refusal, form.op_type, form.refusal)) return form_rule(form);
  return "";
}

TEST(OnnxNodeTests, EveryCaseOfAnOperatorThatRunsAgreesOrIsAnExceptionWithItsReason) {
  const fs::path folder = cases_folder();
  if (!fs::exists(folder)) GTEST_SKIP() << "no " << folder << ": tests/onnx/fetch.py fetches it";
  std::map<std::string, int> outcomes, refused;
  std::set<std::string> seen;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const NodeCase test = read_case(entry.path());
    const Verdict verdict = judge_case(test);
    const bool passes = verdict.compared && verdict.problem.empty();
    const std::string rule = verdict.compared ? "" : rule_of(test, verdict.refusal);
    const auto exception = kOnnxNodeExceptions.find(test.name);
    seen.insert(test.name);
    ++outcomes[passes ? "agree" : !rule.empty() ? "refused by rule" : "exceptions"];
    if (!rule.empty()) ++refused[rule];
    if (exception != kOnnxNodeExceptions.end()) {
      EXPECT_FALSE(passes) << test.name << " passes by now: take it out of kOnnxNodeExceptions";
      EXPECT_TRUE(rule.empty()) << test.name << " is refused by rule (" << rule << "): take it out";
    } else {
      EXPECT_TRUE(passes || !rule.empty())
          << test.name << ": " << (verdict.compared ? verdict.problem : text_of(verdict.refusal));
    }
  }
  for (const auto& [what, count] : outcomes) std::cout << count << " " << what << "\n";
  for (const auto& [what, count] : refused) std::cout << "  " << count << " " << what << "\n";
  if (std::getenv("PANTOUM_ONNX_NODE_TESTS") != nullptr) return;
  EXPECT_GE(outcomes["agree"], 910);
  for (const auto& [name, reason] : kOnnxNodeExceptions) EXPECT_TRUE(seen.contains(name)) << name;
  for (const RefusedForm& form : kRefusedForms)
    EXPECT_TRUE(refused.contains(form_rule(form)))
        << form_rule(form) << ": no case is refused so by now: take it out of kRefusedForms";
}

}  // namespace
}  // namespace pantoum::import
