// Any bytes as a cost graph: refused, or a graph that is valid and is written as it was read.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/json_text.h"
#include "problem/cost_graph_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto graph = pantoum::problem::parse_cost_graph({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!graph) {
    if (graph.error().message.empty()) std::abort();
    return 0;
  }
  const std::string text = pantoum::base::json_text(pantoum::problem::to_json(*graph));
  const auto again = pantoum::problem::parse_cost_graph(text, "again");
  if (!again || pantoum::problem::structure_hash(*again) != pantoum::problem::structure_hash(*graph)) std::abort();
  if (pantoum::base::json_text(pantoum::problem::to_json(*again)) != text) std::abort();
  return 0;
}
