#include "problem/cost_graph_json.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "testing/temporary_folder.h"

namespace pantoum::problem {
namespace {

const std::string kWhole = R"({
  "schema": "pantoum.costgraph/1", "name": "two-layers", "x-note": {"anything": [1, "goes"]},
  "device": {
    "name": "nrf52840", "ram_bytes": 262144, "align_bytes": 4, "idle_w": 0.1, "engines": ["cpu"],
    "pager": { "mode": "async", "duplex": "full", "block_bytes": 512, "staging_bytes": 512, "capacity_bytes": 33554432,
               "in":  {"latency_s": 1.09e-4, "bytes_per_s": 4616510, "w": 0.33},
               "out": {"latency_s": 1.13e-4, "bytes_per_s": 4440000, "w": 0.33} } },
  "tensors": [
    {"id": 0, "name": "x", "bytes": 1024, "start": "ram"},
    {"id": 1, "name": "w1", "bytes": 4096, "start": "ram", "pinned": true, "next": 4},
    {"id": 2, "name": "y1", "bytes": 2048, "end": "aux"},
    {"id": 3, "name": "dw1", "bytes": 4096},
    {"id": 4, "name": "w1'", "bytes": 4096} ],
  "ops": [
    {"id": 0, "name": "fc1", "inputs": [0, 1], "outputs": [2], "recompute": true, "optional": false,
     "choices": [ {"algorithm": "direct", "numerics": "ascending", "engine": "cpu", "time_s": 1e-3, "energy_j": 2e-5,
                   "workspace_bytes": 0, "overwrites": []} ]},
    {"id": 1, "name": "fc1.dw", "inputs": [0, 2], "outputs": [3], "choices": [
       {"time_s": 0.1, "energy_j": 0.30000000000000004, "reads": [1], "workspace_bytes": 12}, {"time_s": 1e-3, "energy_j": 5e-324} ]},
    {"id": 2, "name": "fc1.sgd", "inputs": [1, 3], "outputs": [4], "recompute": false,
     "choices": [ {"time_s": 1e-4, "energy_j": 1e-6, "overwrites": [[0, 0]]} ]} ],
  "order": [0, 1, 2] })";

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = kWhole;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string refusal(const std::string& text) {
  const auto graph = parse_cost_graph(text, "g.json");
  if (graph) return "accepted";
  return graph.error().code + " " + graph.error().message + " @ " + graph.error().where;
}

TEST(CostGraphJson, ReadsEveryField) {
  const auto graph = parse_cost_graph(kWhole, "g.json");
  ASSERT_TRUE(graph.has_value()) << to_text(graph.error());
  EXPECT_EQ(graph->name, "two-layers");
  EXPECT_EQ(graph->device.align_bytes, 4);
  EXPECT_EQ(graph->device.pager.mode, PagerMode::kAsync);
  EXPECT_TRUE(graph->device.pager.full_duplex);
  EXPECT_EQ(graph->device.pager.capacity_bytes, 33554432);
  EXPECT_EQ(graph->device.pager.out.bytes_per_s, 4440000);
  EXPECT_TRUE(graph->tensors[1].pinned);
  EXPECT_EQ(graph->tensors[1].next, 4);
  EXPECT_EQ(graph->tensors[2].end, Home::kAux);
  EXPECT_EQ(graph->ops[1].choices[0].reads, std::vector<int>{1});
  EXPECT_EQ(graph->ops[1].choices[1].reads, (std::vector<int>{0, 1}));
  EXPECT_EQ(graph->ops[1].choices[0].writes, std::vector<int>{0});
  EXPECT_EQ(graph->ops[2].choices[0].overwrites, (std::vector<std::pair<int, int>>{{0, 0}}));
  EXPECT_FALSE(graph->ops[2].recompute);
}

TEST(CostGraphJson, FillsDefaults) {
  const auto graph = parse_cost_graph(R"({"schema": "pantoum.costgraph/1", "device": {},
      "tensors": [{"id": 7, "bytes": 3}], "ops": [{"id": 9, "inputs": [], "outputs": [7], "choices": [{"time_s": 1, "energy_j": 2}]}]})",
                                      "");
  ASSERT_TRUE(graph.has_value()) << to_text(graph.error());
  EXPECT_EQ(graph->order, std::vector<int64_t>{9});
  EXPECT_EQ(graph->device.engines, (std::vector<Engine>{{.name = "cpu"}}));
  EXPECT_EQ(graph->device.pager.mode, PagerMode::kNone);
  EXPECT_TRUE(graph->ops[0].recompute);
}

TEST(CostGraphJson, WritesWhatItReads) {
  const auto graph = parse_cost_graph(kWhole, "g.json");
  ASSERT_TRUE(graph.has_value());
  const std::string text = base::json_text(to_json(*graph));
  const auto again = parse_cost_graph(text, "again");
  ASSERT_TRUE(again.has_value()) << to_text(again.error());
  EXPECT_EQ(base::json_text(to_json(*again)), text);
  EXPECT_EQ(structure_hash(*again), structure_hash(*graph));
  EXPECT_EQ(again->ops[1].choices[0].energy_j, 0.30000000000000004);
  EXPECT_EQ(again->ops[1].choices[1].energy_j, 5e-324);
  EXPECT_NE(text.find("\n    {\"id\":2,\"name\":\"y1\",\"bytes\":2048,\"end\":\"aux\"},\n"), std::string::npos) << text;
}

// With the keys of the second choice of the second op, which streams x in.
std::string with_stream(const std::string& stream) {
  return replaced(R"({"time_s": 1e-3, "energy_j": 5e-324})",
                  R"({"time_s": 1e-3, "energy_j": 5e-324, "stream": )" + stream + "}");
}

TEST(CostGraphJson, WritesStreamsAsItReadsThem) {
  const auto graph =
      parse_cost_graph(with_stream(R"({"in": [1, 0], "out": [0], "bytes_in": 6144, "transfers_in": 7, "bytes_out": 4096,
                      "transfers_out": 8, "async_s": 3e-3, "x-loop": "AW"})"),
                       "g.json");
  ASSERT_TRUE(graph.has_value()) << to_text(graph.error());
  const Stream& stream = graph->ops[1].choices[1].stream;
  EXPECT_EQ(stream.in, (std::vector<int>{1, 0}));
  EXPECT_EQ(stream.out, std::vector<int>{0});
  EXPECT_EQ(stream.bytes_in, 6144);
  EXPECT_EQ(stream.bytes_out, 4096);
  EXPECT_EQ(stream.transfers_in, 7);
  EXPECT_EQ(stream.transfers_out, 8);
  EXPECT_EQ(stream.async_s, 3e-3);
  EXPECT_FALSE(stream.in_place);
  EXPECT_FALSE(graph->ops[1].choices[0].stream.any());
  const auto again = parse_cost_graph(base::json_text(to_json(*graph)), "g.json");
  ASSERT_TRUE(again.has_value()) << to_text(again.error());
  EXPECT_EQ(again->ops[1].choices[1].stream, stream);
  EXPECT_EQ(to_json(*again), to_json(*graph));
  EXPECT_EQ(structure_hash(*again), structure_hash(*graph));
}

TEST(CostGraphJson, KeepsHowManySlicesAChoiceHas) {
  const auto with = [](const std::string& slices) {
    return parse_cost_graph(with_stream(R"({"in": [1], "bytes_in": 2048, "transfers_in": 3}, "slices": )" + slices),
                            "g.json");
  };
  const auto graph = with("[3, 8]");
  ASSERT_TRUE(graph.has_value()) << to_text(graph.error());
  EXPECT_EQ(graph->ops[1].choices[1].slices, (std::vector<int>{3, 8}));
  EXPECT_EQ(structure_hash(*graph), structure_hash(*with("[24]"))) << "they are told, not planned with";
  const auto again = parse_cost_graph(base::json_text(to_json(*graph)), "again");
  ASSERT_TRUE(again.has_value()) << to_text(again.error());
  EXPECT_EQ(again->ops[1].choices[1].slices, graph->ops[1].choices[1].slices);
  for (const char* bad : {"[0]", "[-1, 2]", "[1.5]", "3"}) EXPECT_FALSE(with(bad).has_value()) << bad;
}

TEST(CostGraphJson, WritesStreamsInPlaceAsItReadsThem) {
  const auto graph = parse_cost_graph(
      replaced(R"("energy_j": 1e-6, "overwrites": [[0, 0]])",
               R"("energy_j": 1e-6, "overwrites": [[0, 0]], "stream": {"in": [0], "out": [0], "bytes_in": 1024,
                  "transfers_in": 2, "bytes_out": 512, "transfers_out": 1, "in_place": true})"),
      "g.json");
  ASSERT_TRUE(graph.has_value()) << to_text(graph.error());
  const Stream& stream = graph->ops[2].choices[0].stream;
  EXPECT_TRUE(stream.in_place);
  EXPECT_FALSE(stream.async_s.has_value());
  const auto again = parse_cost_graph(base::json_text(to_json(*graph)), "g.json");
  ASSERT_TRUE(again.has_value()) << to_text(again.error());
  EXPECT_EQ(again->ops[2].choices[0].stream, stream);
}

TEST(CostGraphJson, RefusesStreamsThatSayNothingOrTooMuch) {
  EXPECT_NE(refusal(with_stream("{}")).find("E0220 a stream names no input and no output"), std::string::npos);
  EXPECT_NE(refusal(with_stream(R"({"bytes_in": 512, "transfers_in": 1})")).find("E0220"), std::string::npos);
  const std::string good = R"("in": [0], "bytes_in": 1024, "transfers_in": 1)";
  EXPECT_EQ(refusal(with_stream("{" + good + "}")), "accepted");
  for (const char* more : {R"("loop": "AW")", R"("in_place": 1)", R"("async_s": "long")", R"("bytes_out": 1.5)"})
    EXPECT_EQ(refusal(with_stream("{" + good + ", " + more + "}")).substr(0, 5), "E0220") << more;
}

TEST(CostGraphJson, WritesAFileWhole) {
  const TemporaryFolder folder;
  const std::string path = folder.file("graph.json");
  const auto graph = parse_cost_graph(kWhole, "g.json");
  ASSERT_TRUE(graph.has_value());
  ASSERT_TRUE(write_cost_graph(*graph, path).has_value());
  const auto again = read_cost_graph(path);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(base::json_text(to_json(*again)), base::json_text(to_json(*graph)));
}

TEST(CostGraphJson, NamesTheKeyThatIsWrong) {
  EXPECT_EQ(refusal(replaced("costgraph/1", "costgraph/2")),
            "E0220 the schema is \"pantoum.costgraph/2\", and this release reads \"pantoum.costgraph/1\" @ g.json");
  EXPECT_EQ(refusal(replaced("\"pinned\"", "\"pined\"")),
            "E0220 the key \"pined\" is not known here @ g.json: tensors[1]");
  EXPECT_EQ(refusal(replaced("\"time_s\": 0.1", "\"time_s\": \"0.1\"")),
            "E0220 must be a number, not a string @ g.json: ops[1].choices[0].time_s");
  EXPECT_EQ(refusal(replaced("\"time_s\": 0.1", "\"time_s\": -0.1")),
            "E0220 must be between 0 and 1e+30, not -0.1 @ g.json: ops[1].choices[0].time_s");
  EXPECT_EQ(refusal(replaced("\"time_s\": 0.1, ", "")),
            "E0220 the key \"time_s\" is missing @ g.json: ops[1].choices[0]");
  EXPECT_EQ(refusal(replaced("\"bytes\": 1024", "\"bytes\": 1024.5")),
            "E0220 must be an integer, not a number with a fraction @ g.json: tensors[0].bytes");
  EXPECT_EQ(refusal(replaced("\"bytes\": 1024", "\"bytes\": -1")),
            "E0220 must be between 0 and 9007199254740991, not -1 @ g.json: tensors[0].bytes");
  EXPECT_EQ(refusal(replaced("\"id\": 3", "\"id\": 9007199254740992")),
            "E0220 must be between 0 and 9007199254740991, not 9007199254740992 @ g.json: tensors[3].id");
  EXPECT_EQ(refusal(replaced("\"id\": 3", "\"id\": 18446744073709551615")),
            "E0220 must be between 0 and 9007199254740991, not 18446744073709551615 @ g.json: tensors[3].id");
  EXPECT_EQ(refusal(replaced("\"start\": \"ram\"", "\"start\": \"flash\"")),
            "E0220 must be one of \"none\", \"ram\", \"aux\", \"rom\", not \"flash\" @ g.json: tensors[0].start");
  EXPECT_EQ(refusal(replaced("[[0, 0]]", "[[0]]")),
            "E0220 must be a pair [output position, input position] @ g.json: ops[2].choices[0].overwrites[0]");
  EXPECT_EQ(refusal(replaced("\"pinned\": true", "\"pinned\": 1")),
            "E0220 must be true or false, not a number @ g.json: tensors[1].pinned");
  EXPECT_EQ(refusal(replaced("\"bytes_per_s\": 4616510", "\"bytes_per_s\": 0")),
            "E0220 must be between 1e-30 and 1e+30, not 0 @ g.json: device.pager.in.bytes_per_s");
  EXPECT_EQ(refusal("[]"), "E0220 must be an object, not an array @ g.json");
}

TEST(CostGraphJson, NamesTheRuleThatTheGraphBreaks) {
  EXPECT_EQ(refusal(replaced("\"id\": 3", "\"id\": 2")),
            "E0221 the id is negative or stands twice @ g.json: tensor 2 (dw1)");
  EXPECT_EQ(refusal(replaced("\"order\": [0, 1, 2]", "\"order\": [0, 1]")), "E0221 lists 2 ops of 3 @ g.json: order");
}

TEST(CostGraphJson, RefusesWhatIsNoJson) {
  EXPECT_EQ(refusal("{\n  \"schema\": }"),
            "E0220 the file is no JSON: at line 2, column 13: syntax error while parsing value - unexpected '}'; "
            "expected '[', '{', or a "
            "literal @ g.json");
  EXPECT_EQ(refusal(replaced("\"time_s\": 0.1", "\"time_s\": NaN")).substr(0, 36),
            "E0220 the file is no JSON: at line 1");
  EXPECT_EQ(refusal(replaced("\"time_s\": 0.1", "\"time_s\": Infinity")).substr(0, 34),
            "E0220 the file is no JSON: at line");
  EXPECT_EQ(refusal(replaced("\"time_s\": 0.1", "\"time_s\": 1e999")).substr(0, 23), "E0220 the file is no JS");
  EXPECT_EQ(refusal(replaced("\"name\": \"x\"", "\"name\": \"x\", \"name\": \"y\"")),
            "E0220 the key \"name\" stands twice in one object @ g.json");
  EXPECT_EQ(refusal(std::string(100000, '[')), "E0220 values are nested deeper than 32 @ g.json");
  std::string many = "[";
  while (many.size() < (1 << 23)) many += "0,";
  EXPECT_EQ(refusal(many), "E0220 it has more than 4194304 keys, values and brackets @ g.json");
  EXPECT_EQ(refusal('"' + std::string(1 << 21, ',') + '"'), "E0220 a text in it has more than 1048576 bytes @ g.json");
  EXPECT_EQ(refusal("[" + std::string(1 << 21, '1')), "E0220 a text in it has more than 1048576 bytes @ g.json");
  EXPECT_EQ(refusal("").substr(0, 26), "E0220 the file is no JSON:");
  for (size_t length = 0; length < kWhole.size(); length += 7)
    EXPECT_NE(refusal(kWhole.substr(0, length)), "accepted") << length;
}

TEST(CostGraphJson, DoesNotLetASmallFileAskForMuchMemory) {
  std::string inputs, choices;
  for (int input = 0; input < 40000; ++input) inputs += input == 0 ? "0" : ",0";
  for (int choice = 0; choice < 10000; ++choice)
    choices += std::string(choice == 0 ? "" : ",") + R"({"time_s":0,"energy_j":0})";
  const std::string text =
      R"({"schema":"pantoum.costgraph/1","device":{},"tensors":[{"id":0,"bytes":1,"start":"ram"}],"ops":[{"id":0,"inputs":[)" +
      inputs + R"(],"outputs":[],"choices":[)" + choices + "]}]}";
  EXPECT_EQ(refusal(text), "E0220 has too many inputs, outputs and choices @ g.json: ops[0]");
}

}  // namespace
}  // namespace pantoum::problem
