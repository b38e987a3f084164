#include "layers/newer_forms.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

namespace pantoum::layers {
namespace {

using Attribute = onnx::AttributeProto;

constexpr int64_t kNewest = 21;

const Attribute* find(const onnx::NodeProto& node, const std::string& name) {
  for (const Attribute& attribute : node.attribute())
    if (attribute.name() == name) return &attribute;
  return nullptr;
}

std::optional<Attribute> take(onnx::NodeProto& node, const std::string& name) {
  auto& all = *node.mutable_attribute();
  const auto found = std::ranges::find_if(all, [&](const Attribute& each) { return each.name() == name; });
  if (found == all.end()) return std::nullopt;
  Attribute taken = *found;
  all.erase(found);
  return taken;
}

void put(onnx::NodeProto& node, const char* name, int64_t value) {
  (void)take(node, name);
  Attribute& made = *node.add_attribute();
  made.set_name(name);
  made.set_type(Attribute::INT);
  made.set_i(value);
}

class Newer {
 public:
  Newer(const onnx::NodeProto& node, int64_t opset, std::vector<onnx::NodeProto>& to)
      : node_(node), opset_(opset), to_(to) {}

  void append() {
    const std::string& op = node_.op_type();
    if (opset_ < 13) {
      if (op == "Softmax" || op == "LogSoftmax" || op == "Hardmax") return by_rows();
      if (op == "Squeeze" || op == "Unsqueeze" || op == "ReduceSum") list_to_input("axes", 1);
      if (op == "Split") list_to_input("split", 1);
    }
    static const std::set<std::string> kReductions = {"ReduceL1",        "ReduceL2",   "ReduceLogSum",
                                                      "ReduceLogSumExp", "ReduceMax",  "ReduceMean",
                                                      "ReduceMin",       "ReduceProd", "ReduceSumSquare"};
    if (opset_ < 18 && kReductions.contains(op)) list_to_input("axes", 1);
    if (opset_ < 18 && op == "Split" && node_.input_size() < 2) put(node_, "num_outputs", node_.output_size());
    if (opset_ < 12 && op == "Dropout") dropout();
    if (opset_ < 14 && op == "BatchNormalization") batch_norm();
    if (opset_ < 20 && op == "GridSample") rename_mode();
    to_.push_back(std::move(node_));
  }

 private:
  onnx::NodeProto node_;
  int64_t opset_;
  std::vector<onnx::NodeProto>& to_;

  [[nodiscard]] std::string made_up(const char* what) const { return node_.output(0) + "." + what; }

  onnx::NodeProto& add(const char* op_type, const std::string& output) {
    onnx::NodeProto& node = to_.emplace_back();
    node.set_op_type(op_type);
    node.set_name(output);
    node.add_output(output);
    return node;
  }

  void set_input(int position, const std::string& name) {
    while (node_.input_size() <= position) node_.add_input("");
    node_.set_input(position, name);
  }

  void list_to_input(const char* attribute, int position) {
    const std::optional<Attribute> list = take(node_, attribute);
    if (!list) return;
    const std::string name = made_up(attribute);
    Attribute& value = *add("Constant", name).add_attribute();
    value.set_name("value_ints");
    value.set_type(Attribute::INTS);
    *value.mutable_ints() = list->ints();
    set_input(position, name);
  }

  // Before opset 13 all dimensions from the axis on are one row.
  void by_rows() {
    const Attribute* const axis = find(node_, "axis");
    const std::string x = node_.input(0), y = node_.output(0);
    const std::string rows = made_up("rows"), row = made_up("row"), shape = made_up("shape");
    onnx::NodeProto& flatten = add("Flatten", rows);
    flatten.add_input(x);
    put(flatten, "axis", axis == nullptr ? 1 : axis->i());
    add("Shape", shape).add_input(x);
    put(node_, "axis", -1);
    node_.set_input(0, rows);
    node_.set_output(0, row);
    to_.push_back(std::move(node_));
    onnx::NodeProto& back = add("Reshape", y);
    back.add_input(row);
    back.add_input(shape);
  }

  void dropout() {
    const std::optional<Attribute> ratio = take(node_, "ratio");
    if (!ratio) return;
    const std::string name = made_up("ratio");
    Attribute& value = *add("Constant", name).add_attribute();
    value.set_name("value_float");
    value.set_type(Attribute::FLOAT);
    value.set_f(ratio->f());
    set_input(1, name);
  }

  // Five outputs were the training form; the last two were never to be read.
  void batch_norm() {
    if (node_.output_size() < 2) return;
    while (node_.output_size() > 3) node_.mutable_output()->RemoveLast();
    put(node_, "training_mode", 1);
  }

  void rename_mode() {
    for (Attribute& attribute : *node_.mutable_attribute())
      if (attribute.name() == "mode" && attribute.s().starts_with("bi")) attribute.set_s(attribute.s().substr(2));
  }
};

}  // namespace

void append_newer(const onnx::NodeProto& node, int64_t opset, std::vector<onnx::NodeProto>& to) {
  if ((node.domain().empty() || node.domain() == "ai.onnx") && node.output_size() > 0 && opset < kNewest)
    Newer(node, opset, to).append();
  else
    to.push_back(node);
}

}  // namespace pantoum::layers
