#include "problem/cost_graph_json.h"

#include <nlohmann/json.hpp>
#include <numeric>

#include "base/files.h"
#include "base/json_text.h"
#include "problem/json_fields.h"

namespace pantoum::problem {
namespace {

constexpr const char* kCode = "E0220";
constexpr double kMostQuantity = 1e30;
constexpr size_t kMostOperands = 1 << 16;           // of one op
constexpr size_t kMostPositions = size_t{1} << 26;  // of all choices together: a small file cannot ask for much memory
constexpr const char* kHomes[] = {"none", "ram", "aux", "rom"};
constexpr const char* kModes[] = {"none", "sync", "async"};
constexpr const char* kDuplex[] = {"half", "full"};

int position(const base::JsonNode& node) {
  return static_cast<int>(node.integer(0, static_cast<int64_t>(kMostOperands)));
}

void read_overwrites(const base::JsonNode& node, std::vector<std::pair<int, int>>& overwrites) {
  for (size_t index = 0, pairs = node.array(); index < pairs; ++index) {
    const base::JsonNode pair = node.item(index);
    if (pair.array() != 2) return pair.error("must be a pair [output position, input position]");
    overwrites.emplace_back(position(pair.item(0)), position(pair.item(1)));
  }
}

// The name of an engine, or a list of names.
void describe_engines(JsonFields& fields, std::vector<std::string>& names) {
  constexpr const char* kKey = "engine";
  if (!fields.has(kKey, !names.empty())) return;
  if (!fields.reads() && names.size() == 1) return fields.need(kKey, names.front());
  fields.need_by(kKey, names, [](const base::JsonNode& node, std::vector<std::string>& read) {
    if (node.is_text()) return read.push_back(node.text());
    for (size_t index = 0, count = node.array(); index < count; ++index) read.push_back(node.item(index).text());
    if (read.empty()) node.error("must be the name of an engine, or a list of names");
  });
}

// Positions below `limit`. Where all of them are meant, in order, the key may be left out.
void describe_positions(JsonFields& fields, const char* key, std::vector<int>& positions, size_t limit) {
  std::vector<int> all(limit);
  std::iota(all.begin(), all.end(), 0);
  if (!fields.has(key, positions != all)) {
    positions = std::move(all);
    return;
  }
  fields.need_by(key, positions, [](const base::JsonNode& node, std::vector<int>& read) {
    for (size_t index = 0, count = node.array(); index < count; ++index) read.push_back(position(node.item(index)));
  });
}

void describe_stream(JsonFields& fields, Stream& stream) {
  fields.rare("in", stream.in, {});
  fields.rare("out", stream.out, {});
  fields.rare("bytes_in", stream.bytes_in, 0);
  fields.rare("transfers_in", stream.transfers_in, 0);
  fields.rare("bytes_out", stream.bytes_out, 0);
  fields.rare("transfers_out", stream.transfers_out, 0);
  fields.rare("async_s", stream.async_s);
  fields.rare("in_place", stream.in_place, false);
  if (fields.reads() && !stream.any()) fields.wrong("a stream names no input and no output");
}

void describe_choice(JsonFields& fields, Choice& choice, const Op& op) {
  fields.may("algorithm", choice.algorithm);
  fields.rare("numerics", choice.numerics, {});
  describe_engines(fields, choice.engines);
  fields.need("time_s", choice.time_s);
  fields.need("energy_j", choice.energy_j);
  fields.rare("workspace_bytes", choice.workspace_bytes, 0);
  if (fields.has("overwrites", !choice.overwrites.empty()))
    fields.need_by("overwrites", choice.overwrites, read_overwrites);
  describe_positions(fields, "reads", choice.reads, op.inputs.size());
  describe_positions(fields, "writes", choice.writes, op.outputs.size());
  if (fields.has("stream", choice.stream.any()))
    fields.part("stream", [&](JsonFields& part) { describe_stream(part, choice.stream); });
  fields.rare("slices", choice.slices, {});
}

// `positions`: inputs and outputs of all choices read so far.
void describe_op(JsonFields& fields, Op& op, size_t& positions) {
  fields.need("id", op.id);
  fields.may("name", op.name);
  fields.need("inputs", op.inputs);
  fields.need("outputs", op.outputs);
  fields.rare("recompute", op.recompute, true);
  fields.rare("optional", op.optional, false);
  if (fields.reads()) {
    const size_t operands = op.inputs.size() + op.outputs.size();
    positions += operands <= kMostOperands ? operands * fields.count("choices") : kMostPositions + 1;
    if (positions > kMostPositions) return fields.wrong("has too many inputs, outputs and choices");
  }
  fields.list("choices", op.choices,
              [&](JsonFields& choice_fields, Choice& choice) { describe_choice(choice_fields, choice, op); });
}

}  // namespace

static void describe(JsonFields& fields, Link& link) {
  fields.need("latency_s", link.latency_s);
  fields.need("bytes_per_s", link.bytes_per_s, 1e-30);
  fields.need("w", link.w);
}

static void describe(JsonFields& fields, Pager& pager) {
  fields.words("mode", pager.mode, kModes);
  const bool pages = pager.mode != PagerMode::kNone;
  if (!fields.reads() && !pages && pager.staging_bytes == 0) return;
  if (fields.has("duplex")) fields.words("duplex", pager.full_duplex, kDuplex);
  fields.may("block_bytes", pager.block_bytes, 1);
  fields.rare("staging_bytes", pager.staging_bytes, 0);
  fields.rare("capacity_bytes", pager.capacity_bytes, -1);
  if (pages || fields.has("in")) fields.need("in", pager.in);
  if (pages || fields.has("out")) fields.need("out", pager.out);
}

static void describe(JsonFields& fields, Engine& engine) {
  fields.need("name", engine.name);
  fields.rare("idle_w", engine.idle_w, 0);
  fields.rare("launch_s", engine.launch_s, 0);
  fields.rare("handoff_s", engine.handoff_s, 0);
}

// Each is a name, or an object. The writer gives names alone where no engine has costs.
static void describe_engines(JsonFields& fields, std::vector<Engine>& engines) {
  constexpr const char* kKey = "engines";
  if (!fields.has(kKey)) return;
  std::vector<std::string> names;
  for (const Engine& engine : engines)
    if (engine == Engine{.name = engine.name}) names.push_back(engine.name);
  if (!fields.reads() && names.size() == engines.size()) return fields.need(kKey, names);
  fields.need_by(kKey, engines, [&](const base::JsonNode& node, std::vector<Engine>& read) {
    read.clear();
    for (size_t index = 0, count = node.array(); index < count && !node.failed(); ++index) {
      const base::JsonNode item = node.item(index);
      if (item.is_text())
        read.push_back({.name = item.text()});
      else
        fields.read(item, read.emplace_back());
    }
  });
}

static void describe(JsonFields& fields, Device& device) {
  fields.may("name", device.name);
  fields.may("ram_bytes", device.ram_bytes);
  fields.may("align_bytes", device.align_bytes, 1);
  fields.may("idle_w", device.idle_w);
  describe_engines(fields, device.engines);
  fields.rare("x-costs", device.costs_of, {});
  fields.may("pager", device.pager);
}

static void describe(JsonFields& fields, Tensor& tensor) {
  fields.need("id", tensor.id);
  fields.may("name", tensor.name);
  fields.need("bytes", tensor.bytes);
  if (fields.has("start", tensor.start != Home::kNone)) fields.words("start", tensor.start, kHomes);
  if (fields.has("end", tensor.end != Home::kNone))
    fields.words("end", tensor.end, JsonFields::Words(kHomes).first(3));  // nothing ends in rom
  fields.rare("pinned", tensor.pinned, false);
  fields.rare("next", tensor.next, -1);
}

static void describe(JsonFields& fields, CostGraph& graph) {
  fields.schema("pantoum.costgraph/1");
  fields.may("name", graph.name);
  fields.need("device", graph.device);
  fields.need("tensors", graph.tensors);
  size_t positions = 0;
  fields.list("ops", graph.ops, [&](JsonFields& op_fields, Op& op) { describe_op(op_fields, op, positions); });
  if (fields.has("order"))
    fields.need("order", graph.order);
  else
    for (const Op& op : graph.ops) graph.order.push_back(op.id);
}

Result<CostGraph> cost_graph_from_json(const nlohmann::json& json, const std::string& where, const std::string& path) {
  base::JsonErrors errors{kCode, where, {}};
  CostGraph graph = read_fields<CostGraph>(base::JsonNode(json, errors, path), kMostQuantity);
  if (errors.first) return Failure(std::move(*errors.first));
  if (Result<void> valid = validate(graph); !valid) {
    Error error = std::move(valid).error();
    error.where = where + ": " + (path.empty() ? "" : path + ": ") + error.where;
    return Failure(std::move(error));
  }
  return graph;
}

Result<CostGraph> cost_graph_from_json(const nlohmann::ordered_json& json, const std::string& where) {
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

nlohmann::ordered_json to_json(const CostGraph& graph) {
  return written_fields(graph);
}

Result<void> write_cost_graph(const CostGraph& graph, const std::string& path) {
  return base::write_file_atomically(path, base::json_text(to_json(graph)));
}

}  // namespace pantoum::problem
