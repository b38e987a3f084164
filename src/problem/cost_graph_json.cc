#include "problem/cost_graph_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "base/files.h"
#include "base/json_reader.h"
#include "base/json_text.h"

namespace pantoum::problem {
namespace {

constexpr const char* kCode = "E0220";
constexpr const char* kSchema = "pantoum.costgraph/1";
constexpr const char* kCosts = "x-costs";
constexpr double kMostQuantity = 1e30;
constexpr size_t kMostOperands = 1 << 16;           // of one op
constexpr size_t kMostPositions = size_t{1} << 26;  // of all choices together: a small file cannot ask for much memory

double quantity(const base::JsonNode& node) {
  return node.number(0, kMostQuantity);
}
int64_t count(const base::JsonNode& node) {
  return node.integer(0, base::kLargestInteger);
}

Link read_link(const base::JsonNode& node) {
  Link link;
  if (!node.object({"latency_s", "bytes_per_s", "w"})) return link;
  link.latency_s = quantity(node.need("latency_s"));
  link.bytes_per_s = node.need("bytes_per_s").number(1e-30, kMostQuantity);
  link.w = quantity(node.need("w"));
  return link;
}

Pager read_pager(const base::JsonNode& node) {
  Pager pager;
  if (!node.object({"mode", "duplex", "block_bytes", "staging_bytes", "capacity_bytes", "in", "out"})) return pager;
  pager.mode = static_cast<PagerMode>(node.need("mode").one_of({"none", "sync", "async"}));
  if (node.has("duplex")) pager.full_duplex = node.need("duplex").one_of({"half", "full"}) == 1;
  if (node.has("block_bytes")) pager.block_bytes = node.need("block_bytes").integer(1, base::kLargestInteger);
  if (node.has("staging_bytes")) pager.staging_bytes = count(node.need("staging_bytes"));
  if (node.has("capacity_bytes")) pager.capacity_bytes = count(node.need("capacity_bytes"));
  const bool needed = pager.mode != PagerMode::kNone;
  if (needed || node.has("in")) pager.in = read_link(node.need("in"));
  if (needed || node.has("out")) pager.out = read_link(node.need("out"));
  return pager;
}

Device read_device(const base::JsonNode& node) {
  Device device;
  if (!node.object({"name", "ram_bytes", "align_bytes", "idle_w", "engines", "pager"})) return device;
  if (node.has("name")) device.name = node.need("name").text();
  if (node.has("ram_bytes")) device.ram_bytes = count(node.need("ram_bytes"));
  if (node.has("align_bytes")) device.align_bytes = node.need("align_bytes").integer(1, base::kLargestInteger);
  if (node.has("idle_w")) device.idle_w = quantity(node.need("idle_w"));
  if (node.has("engines")) {
    const base::JsonNode engines = node.need("engines");
    device.engines.clear();
    for (size_t engine = 0, engine_count = engines.array(); engine < engine_count; ++engine)
      device.engines.push_back(engines.item(engine).text());
  }
  if (node.has("pager")) device.pager = read_pager(node.need("pager"));
  if (node.has(kCosts)) device.costs_of = node.need(kCosts).text();
  return device;
}

Tensor read_tensor(const base::JsonNode& node) {
  Tensor tensor;
  if (!node.object({"id", "name", "bytes", "start", "end", "pinned", "next"})) return tensor;
  tensor.id = count(node.need("id"));
  if (node.has("name")) tensor.name = node.need("name").text();
  tensor.bytes = count(node.need("bytes"));
  if (node.has("start")) tensor.start = static_cast<Home>(node.need("start").one_of({"none", "ram", "aux", "rom"}));
  if (node.has("end")) tensor.end = static_cast<Home>(node.need("end").one_of({"none", "ram", "aux"}));
  if (node.has("pinned")) tensor.pinned = node.need("pinned").boolean();
  if (node.has("next")) tensor.next = count(node.need("next"));
  return tensor;
}

std::vector<int64_t> read_ids(const base::JsonNode& node) {
  std::vector<int64_t> ids(node.array());
  for (size_t index = 0; index < ids.size(); ++index) ids[index] = count(node.item(index));
  return ids;
}

// Positions below `limit`; all of them when the key is left out.
std::vector<int> read_positions(const base::JsonNode& choice, const char* key, size_t limit) {
  if (!choice.has(key)) {
    std::vector<int> all(limit);
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  const base::JsonNode node = choice.need(key);
  std::vector<int> positions(node.array());
  for (size_t index = 0; index < positions.size(); ++index)
    positions[index] = static_cast<int>(node.item(index).integer(0, static_cast<int64_t>(kMostOperands)));
  return positions;
}

std::vector<std::pair<int, int>> read_overwrites(const base::JsonNode& node) {
  std::vector<std::pair<int, int>> overwrites;
  for (size_t index = 0, pairs = node.array(); index < pairs; ++index) {
    const base::JsonNode pair = node.item(index);
    if (pair.array() != 2) {
      pair.error("must be a pair [output position, input position]");
      break;
    }
    const int64_t most = static_cast<int64_t>(kMostOperands);
    overwrites.emplace_back(static_cast<int>(pair.item(0).integer(0, most)),
                            static_cast<int>(pair.item(1).integer(0, most)));
  }
  return overwrites;
}

Choice read_choice(const base::JsonNode& node, const Op& op) {
  Choice choice;
  if (!node.object({"algorithm", "numerics", "engine", "time_s", "energy_j", "workspace_bytes", "overwrites", "reads",
                    "writes"}))
    return choice;
  if (node.has("algorithm")) choice.algorithm = node.need("algorithm").text();
  if (node.has("numerics")) choice.numerics = node.need("numerics").text();
  if (node.has("engine")) choice.engine = node.need("engine").text();
  choice.time_s = quantity(node.need("time_s"));
  choice.energy_j = quantity(node.need("energy_j"));
  if (node.has("workspace_bytes")) choice.workspace_bytes = count(node.need("workspace_bytes"));
  if (node.has("overwrites")) choice.overwrites = read_overwrites(node.need("overwrites"));
  choice.reads = read_positions(node, "reads", op.inputs.size());
  choice.writes = read_positions(node, "writes", op.outputs.size());
  return choice;
}

Op read_op(const base::JsonNode& node, size_t& positions) {
  Op op;
  if (!node.object({"id", "name", "inputs", "outputs", "recompute", "optional", "choices"})) return op;
  op.id = count(node.need("id"));
  if (node.has("name")) op.name = node.need("name").text();
  op.inputs = read_ids(node.need("inputs"));
  op.outputs = read_ids(node.need("outputs"));
  if (node.has("recompute")) op.recompute = node.need("recompute").boolean();
  if (node.has("optional")) op.optional = node.need("optional").boolean();
  const base::JsonNode choices = node.need("choices");
  const size_t choice_count = choices.array();
  const size_t operands = op.inputs.size() + op.outputs.size();
  positions += operands <= kMostOperands ? operands * choice_count : kMostPositions + 1;
  if (positions > kMostPositions) {
    node.error("has too many inputs, outputs and choices");
    return op;
  }
  op.choices.reserve(choice_count);
  for (size_t choice = 0; choice < choice_count; ++choice) op.choices.push_back(read_choice(choices.item(choice), op));
  return op;
}

CostGraph read_graph(const base::JsonNode& root, const base::JsonErrors& errors) {
  CostGraph graph;
  if (!root.object({"schema", "name", "device", "tensors", "ops", "order"})) return graph;
  const std::string schema = root.need("schema").text();
  if (schema != kSchema)
    root.error(fmt::format("the schema is \"{}\", and this release reads \"{}\"", schema, kSchema));
  if (root.has("name")) graph.name = root.need("name").text();
  graph.device = read_device(root.need("device"));
  const base::JsonNode tensors = root.need("tensors");
  for (size_t tensor = 0, tensor_count = tensors.array(); tensor < tensor_count && !errors.first; ++tensor)
    graph.tensors.push_back(read_tensor(tensors.item(tensor)));
  const base::JsonNode ops = root.need("ops");
  size_t positions = 0;
  for (size_t op = 0, op_count = ops.array(); op < op_count && !errors.first; ++op)
    graph.ops.push_back(read_op(ops.item(op), positions));
  if (root.has("order")) {
    graph.order = read_ids(root.need("order"));
  } else {
    for (const Op& op : graph.ops) graph.order.push_back(op.id);
  }
  return graph;
}

using Json = nlohmann::ordered_json;

const char* home_text(Home home) {
  constexpr const char* kTexts[] = {"none", "ram", "aux", "rom"};
  return kTexts[static_cast<size_t>(home)];
}

bool is_all(const std::vector<int>& positions, size_t limit) {
  if (positions.size() != limit) return false;
  for (size_t index = 0; index < limit; ++index)
    if (positions[index] != static_cast<int>(index)) return false;
  return true;
}

Json link_json(const Link& link) {
  return {{"latency_s", link.latency_s}, {"bytes_per_s", link.bytes_per_s}, {"w", link.w}};
}

Json device_json(const Device& device) {
  constexpr const char* kModes[] = {"none", "sync", "async"};
  const Pager& pager = device.pager;
  Json json = {{"name", device.name},
               {"ram_bytes", device.ram_bytes},
               {"align_bytes", device.align_bytes},
               {"idle_w", device.idle_w},
               {"engines", device.engines}};
  if (!device.costs_of.empty()) json[kCosts] = device.costs_of;
  Json& out = json["pager"];
  out["mode"] = kModes[static_cast<size_t>(pager.mode)];
  if (pager.mode == PagerMode::kNone && pager.staging_bytes == 0) return json;
  out["duplex"] = pager.full_duplex ? "full" : "half";
  out["block_bytes"] = pager.block_bytes;
  if (pager.staging_bytes != 0) out["staging_bytes"] = pager.staging_bytes;
  if (pager.capacity_bytes >= 0) out["capacity_bytes"] = pager.capacity_bytes;
  out["in"] = link_json(pager.in);
  out["out"] = link_json(pager.out);
  return json;
}

Json tensor_json(const Tensor& tensor) {
  Json json = {{"id", tensor.id}, {"name", tensor.name}, {"bytes", tensor.bytes}};
  if (tensor.start != Home::kNone) json["start"] = home_text(tensor.start);
  if (tensor.end != Home::kNone) json["end"] = home_text(tensor.end);
  if (tensor.pinned) json["pinned"] = true;
  if (tensor.next >= 0) json["next"] = tensor.next;
  return json;
}

Json choice_json(const Choice& choice, const Op& op) {
  Json json = {{"algorithm", choice.algorithm}};
  if (!choice.numerics.empty()) json["numerics"] = choice.numerics;
  if (!choice.engine.empty()) json["engine"] = choice.engine;
  json["time_s"] = choice.time_s;
  json["energy_j"] = choice.energy_j;
  if (choice.workspace_bytes != 0) json["workspace_bytes"] = choice.workspace_bytes;
  for (const auto& [out, in] : choice.overwrites) json["overwrites"].push_back(Json::array({out, in}));
  if (!is_all(choice.reads, op.inputs.size())) json["reads"] = choice.reads;
  if (!is_all(choice.writes, op.outputs.size())) json["writes"] = choice.writes;
  return json;
}

Json op_json(const Op& op) {
  Json json = {{"id", op.id}, {"name", op.name}, {"inputs", op.inputs}, {"outputs", op.outputs}};
  if (!op.recompute) json["recompute"] = false;
  if (op.optional) json["optional"] = true;
  json["choices"] = Json::array();
  for (const Choice& choice : op.choices) json["choices"].push_back(choice_json(choice, op));
  return json;
}

}  // namespace

Result<CostGraph> cost_graph_from_json(const nlohmann::json& json, const std::string& where, const std::string& path) {
  base::JsonErrors errors{kCode, where, {}};
  const base::JsonNode root(json, errors, path);
  CostGraph graph = read_graph(root, errors);
  if (errors.first) return Failure(std::move(*errors.first));
  if (Result<void> valid = validate(graph); !valid) {
    Error error = std::move(valid).error();
    error.where = where + ": " + (path.empty() ? "" : path + ": ") + error.where;
    return Failure(std::move(error));
  }
  return graph;
}

Result<CostGraph> cost_graph_from_json(const Json& json, const std::string& where) {
  return cost_graph_from_json(nlohmann::json(json), where, {});
}

Result<CostGraph> parse_cost_graph(std::string_view json_text, const std::string& where) {
  PANTOUM_ASSIGN(const nlohmann::json json, base::parse_json(json_text, kCode, where));
  return cost_graph_from_json(json, where, {});
}

Result<CostGraph> read_cost_graph(const std::string& path) {
  PANTOUM_ASSIGN(const std::string text, base::read_file(path));
  return parse_cost_graph(text, path);
}

Json to_json(const CostGraph& graph) {
  Json json = {{"schema", kSchema}, {"name", graph.name}, {"device", device_json(graph.device)}};
  json["tensors"] = Json::array();
  for (const Tensor& tensor : graph.tensors) json["tensors"].push_back(tensor_json(tensor));
  json["ops"] = Json::array();
  for (const Op& op : graph.ops) json["ops"].push_back(op_json(op));
  json["order"] = graph.order;
  return json;
}

Result<void> write_cost_graph(const CostGraph& graph, const std::string& path) {
  return base::write_file_atomically(path, base::json_text(to_json(graph)));
}

}  // namespace pantoum::problem
