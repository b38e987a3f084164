// Any bytes as a cost graph: refused, or a graph that is valid and is written as it was read.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cost/cost_graph_json.h"
#include "cost/json_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto graph = pantoum::cost::parse_cost_graph({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!graph) {
    if (graph.error().message.empty()) std::abort();
    return 0;
  }
  const std::string text = pantoum::cost::json_text(pantoum::cost::to_json(*graph));
  const auto again = pantoum::cost::parse_cost_graph(text, "again");
  if (!again || pantoum::cost::structure_hash(*again) != pantoum::cost::structure_hash(*graph)) std::abort();
  if (pantoum::cost::json_text(pantoum::cost::to_json(*again)) != text) std::abort();
  return 0;
}
