#include "aten/torch_graph.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json_reader.h"
#include "pantoum/pantoum.h"

namespace pantoum::aten {
namespace {

using base::DType;
using base::JsonNode;
using Json = nlohmann::json;

constexpr int64_t kMostExtent = int64_t{1} << 40;

DType read_dtype(const JsonNode& node) {
  constexpr std::array kTypes = {DType::kF32, DType::kI64, DType::kI32, DType::kU8, DType::kBool};
  return kTypes[node.one_of({"f32", "i64", "i32", "u8", "bool"})];
}

template <class Item>
std::vector<Item> read_all(const JsonNode& list, Item (*read)(const JsonNode& item)) {
  std::vector<Item> all;
  const size_t count = list.array();
  for (size_t item = 0; item < count; ++item) all.push_back(read(list.item(item)));
  return all;
}

int64_t read_extent(const JsonNode& item) {
  return item.integer(0, kMostExtent);
}

TypedValue read_value(const JsonNode& node) {
  TypedValue value{.name = node.need("value").text(), .type = {}};
  if (value.name.empty()) node.error("a value has no name");
  value.type.dtype = read_dtype(node.need("dtype"));
  value.type.shape = read_all(node.need("shape"), read_extent);
  return value;
}

Arg read_arg(const JsonNode& node);

// {"v": name}, {"dtype": "f32"}, {"real": "inf"}
Arg read_named(const JsonNode& node) {
  if (node.has("v")) {
    node.object({"v"});
    return {ValueName{node.need("v").text()}};
  }
  if (node.has("dtype")) {
    node.object({"dtype"});
    return {read_dtype(node.need("dtype"))};
  }
  node.object({"real"});
  constexpr std::array kReals = {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()};
  return {kReals[node.need("real").one_of({"inf", "-inf", "nan"})]};
}

Arg read_arg(const JsonNode& node) {
  const Json* raw = node.raw();
  if (raw == nullptr || raw->is_null()) return {};
  if (raw->is_boolean()) return {raw->get<bool>()};
  if (raw->is_number_unsigned() && raw->get<uint64_t>() > INT64_MAX) {
    node.error("an integer beyond 64 bits");
    return {};
  }
  if (raw->is_number_integer()) return {raw->get<int64_t>()};
  if (raw->is_number()) return {raw->get<double>()};
  if (raw->is_string()) return {node.text()};
  return raw->is_array() ? Arg{read_all(node, read_arg)} : read_named(node);
}

TypedValue read_output(const JsonNode& item) {
  return item.null() ? TypedValue{} : read_value(item);
}

Call read_call(const JsonNode& node) {
  node.object({"name", "op", "args", "kwargs", "outputs", "where", "module"});
  Call call{.name = node.need("name").text(), .op = node.need("op").text()};
  call.args = read_all(node.need("args"), read_arg);
  if (node.has("kwargs") && node.need("kwargs").is_object()) {
    const JsonNode kwargs = node.need("kwargs");
    if (kwargs.raw() != nullptr)
      for (const auto& [key, value] : kwargs.raw()->items()) {
        (void)value;
        call.kwargs.emplace_back(key, read_arg(kwargs.need(key.c_str())));
      }
  }
  call.outputs = read_all(node.need("outputs"), read_output);
  if (node.has("where") && !node.need("where").null()) call.where = node.need("where").text();
  if (node.has("module") && !node.need("module").null()) call.module = node.need("module").text();
  return call;
}

std::string read_name(const JsonNode& item) {
  return item.text();
}

Stored read_stored(const JsonNode& node) {
  node.object({"value", "name", "dtype", "shape", "trains", "becomes", "of"});
  Stored stored{.name = node.need("name").text(), .value = read_value(node)};
  if (node.has("trains")) stored.trains = node.need("trains").boolean();
  if (node.has("becomes") && !node.need("becomes").null()) stored.becomes = node.need("becomes").text();
  if (node.has("of")) stored.of = read_all(node.need("of"), read_name);
  return stored;
}

GraphInput read_input(const JsonNode& node) {
  node.object({"value", "name", "dtype", "shape", "target", "batch"});
  return {.name = node.need("name").text(),
          .value = read_value(node),
          .target = node.has("target") && node.need("target").boolean()};
}

GraphOutput read_graph_output(const JsonNode& item) {
  item.object({"value", "name"});
  return {item.need("name").text(), item.need("value").text()};
}

TorchGraph read_graph(const JsonNode& root) {
  root.object({"name", "torch", "batch", "inputs", "parameters", "buffers", "constants", "nodes", "outputs", "loss"});
  TorchGraph graph;
  graph.name = root.need("name").text();
  if (root.has("torch")) graph.torch_version = root.need("torch").text();
  graph.batch = root.need("batch").integer(1, INT32_MAX);
  graph.inputs = read_all(root.need("inputs"), read_input);
  graph.parameters = read_all(root.need("parameters"), read_stored);
  graph.buffers = read_all(root.need("buffers"), read_stored);
  graph.constants = read_all(root.need("constants"), read_stored);
  graph.calls = read_all(root.need("nodes"), read_call);
  graph.outputs = read_all(root.need("outputs"), read_graph_output);
  if (root.has("loss") && !root.need("loss").null()) graph.loss = root.need("loss").text();
  return graph;
}

// Every name is defined once, before it is read.
class NameCheck {
 public:
  std::vector<std::string> run(const TorchGraph& graph) {
    for (const GraphInput& input : graph.inputs) define(input.value, "inputs");
    for (const auto* list : {&graph.parameters, &graph.buffers, &graph.constants})
      for (const Stored& stored : *list) {
        define(stored.value, stored.name);
        if (!stored_.insert(stored.name).second)
          problems_.push_back(fmt::format("two tensors are called '{}'", stored.name));
      }
    for (const Call& call : graph.calls) {
      for (const Arg& arg : call.args) read(arg, call.name);
      for (const auto& [name, arg] : call.kwargs) read(arg, call.name);
      for (const TypedValue& output : call.outputs) {
        if (!output.name.empty()) define(output, call.name);
        if (output.type.shape.size() > PT_MAX_RANK)
          problems_.push_back(fmt::format("'{}' has more than {} dimensions", output.name, int{PT_MAX_RANK}));
      }
    }
    for (const Stored& buffer : graph.buffers) check_sources(graph, buffer);
    for (const GraphOutput& output : graph.outputs) want(output.value, "outputs");
    for (const Stored& buffer : graph.buffers)
      if (!buffer.becomes.empty()) want(buffer.becomes, buffer.name);
    if (!graph.loss.empty()) want(graph.loss, "loss");
    return std::move(problems_);
  }

 private:
  std::set<std::string> defined_, stored_;
  std::vector<std::string> problems_;

  // A buffer is computed of buffers of the module, and neither changes in a step.
  void check_sources(const TorchGraph& graph, const Stored& buffer) {
    const auto stays = [](const Stored& of) { return of.becomes.empty() || of.becomes == of.value.name; };
    for (const std::string& name : buffer.of) {
      const auto source = std::ranges::find(graph.buffers, name, &Stored::name);
      if (source == graph.buffers.end() || !source->of.empty())
        problems_.push_back(
            fmt::format("'{}' is computed of '{}', which is no buffer of the module", buffer.name, name));
      else if (!stays(buffer) || !stays(*source))
        problems_.push_back(fmt::format("'{}' is computed of '{}', and a step changes one of them", buffer.name, name));
    }
  }

  void define(const TypedValue& value, const std::string& where) {
    if (!defined_.insert(value.name).second)
      problems_.push_back(fmt::format("'{}' is defined twice, again in {}", value.name, where));
  }
  void want(const std::string& name, const std::string& where) {
    if (!defined_.contains(name))
      problems_.push_back(fmt::format("{} reads '{}', which is not defined before", where, name));
  }
  void read(const Arg& arg, const std::string& where) {
    if (const ValueName* value = arg.as<ValueName>()) want(value->name, where);
    if (const Arg::List* items = arg.as<Arg::List>())
      for (const Arg& item : *items) read(item, where);
  }
};

}  // namespace

Result<TorchGraph> parse_torch_graph(std::string_view json) {
  PANTOUM_ASSIGN(const Json document, base::parse_json(json, "E0202", "the torch graph"));
  base::JsonErrors errors{.code = "E0209", .where = "the torch graph", .first = {}};
  TorchGraph graph = read_graph(JsonNode(document, errors));
  if (errors.first) return Failure(*std::move(errors.first));
  std::vector<std::string> problems = NameCheck().run(graph);
  if (!problems.empty())
    return fail("E0209", "names of the torch graph do not fit", graph.name, "capture the module again",
                std::move(problems));
  return graph;
}

}  // namespace pantoum::aten
