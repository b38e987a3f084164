#include "aten/torch_graph.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace pantoum::aten {
namespace {

constexpr const char* kSound = R"({"name":"net","torch":"2.13.0","batch":2,
 "inputs":[{"value":"x","name":"x","dtype":"f32","shape":[2,3],"target":false,"batch":true}],
 "parameters":[{"value":"p_w","name":"w","dtype":"f32","shape":[4,3],"trains":true}],
 "buffers":[{"value":"b_n","name":"n","dtype":"i64","shape":[],"becomes":"add"}],"constants":[],
 "nodes":[{"name":"lin","op":"aten.linear.default","args":[{"v":"x"},{"v":"p_w"},null],"kwargs":{},
           "outputs":[{"value":"y","dtype":"f32","shape":[2,4]}],"where":"net.py:3, in forward","module":"fc"},
          {"name":"more","op":"aten.add.Tensor","args":[{"v":"b_n"},1],"kwargs":{"alpha":{"real":"-inf"}},
           "outputs":[{"value":"add","dtype":"i64","shape":[]},null]}],
 "outputs":[{"value":"y","name":"output_0"}],"loss":null})";

std::string with(const std::string& from, const std::string& to) {
  std::string text = kSound;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(TorchGraph, IsReadAsItIsWritten) {
  const Result<TorchGraph> graph = parse_torch_graph(kSound);
  ASSERT_TRUE(graph) << to_text(graph.error());
  EXPECT_EQ(graph->batch, 2);
  ASSERT_EQ(graph->calls.size(), 2u);
  const Call& linear = graph->calls[0];
  EXPECT_EQ(linear.args[0].as<ValueName>()->name, "x");
  EXPECT_TRUE(linear.args[2].is_none());
  EXPECT_EQ(linear.where, "net.py:3, in forward");
  EXPECT_EQ(*graph->calls[1].args[1].as<int64_t>(), 1);
  EXPECT_LT(*graph->calls[1].kwargs[0].second.as<double>(), -1e300);
  EXPECT_TRUE(graph->calls[1].outputs[1].name.empty());
  EXPECT_EQ(graph->buffers[0].becomes, "add");
}

struct Damage {
  const char *from, *to, *told;
};

TEST(TorchGraph, TellsWhatDoesNotFit) {
  for (const Damage& damage :
       {Damage{"\"batch\":2", "\"batch\":0", "batch"},
        Damage{"\"dtype\":\"i64\",\"shape\":[]", "\"dtype\":\"f16\",\"shape\":[]", "dtype"},
        Damage{"[4,3]", "[4,-3]", "shape"}, Damage{"\"trains\":true", "\"trains\":1", "trains"},
        Damage{"{\"v\":\"p_w\"}", "{\"v\":\"p_q\"}", "p_q"},
        Damage{"\"value\":\"y\",\"dtype\"", "\"value\":\"x\",\"dtype\"", "defined twice"},
        Damage{"\"becomes\":\"add\"", "\"becomes\":\"gone\"", "gone"},
        Damage{"\"becomes\":\"add\"", "\"becomes\":\"add\",\"of\":[\"n\"]", "no buffer of the module"},
        Damage{"\"becomes\":\"add\"", "\"becomes\":null,\"of\":[\"gone\"]", "computed of 'gone'"},
        Damage{"\"loss\":null", "\"loss\":\"nothing\"", "nothing"},
        Damage{"\"name\":\"n\"", "\"name\":\"w\"", "two tensors"},
        Damage{"{\"real\":\"-inf\"}", "{\"real\":\"much\"}", "real"},
        Damage{"{\"v\":\"b_n\"},1", "{\"v\":\"b_n\"},18446744073709551615", "64 bits"},
        Damage{"\"loss\":null", "\"loss\":null,\"extra\":1", "extra"}}) {
    const Result<TorchGraph> graph = parse_torch_graph(with(damage.from, damage.to));
    ASSERT_FALSE(graph) << damage.to;
    EXPECT_TRUE(graph.error().code == "E0209" || graph.error().code == "E0202") << damage.to;
    EXPECT_NE(to_text(graph.error()).find(damage.told), std::string::npos) << to_text(graph.error());
  }
}

TEST(TorchGraph, TellsAllNamesAtOnce) {
  std::string text = with("{\"v\":\"p_w\"}", "{\"v\":\"p_q\"}");
  text.replace(text.find("{\"v\":\"b_n\"}"), 11, "{\"v\":\"b_q\"}");
  const Result<TorchGraph> graph = parse_torch_graph(text);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().notes.size(), 2u);
}

// Cut short, and with bytes changed: an error or a graph, never a fault.
TEST(TorchGraph, LivesThroughAnyDamage) {
  const std::string sound = kSound;
  for (size_t size = 0; size < sound.size(); size += 3) EXPECT_FALSE(parse_torch_graph(sound.substr(0, size)));
  base::Random random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = sound;
    for (int change = 0; change < 3; ++change)
      damaged[random.next() % damaged.size()] = static_cast<char>(random.next() % 128);
    (void)parse_torch_graph(damaged);
  }
}

}  // namespace
}  // namespace pantoum::aten
