// Any bytes as a plan: refused, or a plan that is replayed without a fault and is written as it was read.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/json_text.h"
#include "check/certificate.h"
#include "check/replay.h"
#include "problem/plan_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto plan = pantoum::problem::parse_plan({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!plan) {
    if (plan.error().message.empty()) std::abort();
    return 0;
  }
  const auto found = pantoum::check::replay(plan->graph, *plan);
  if (found && found->peak_bytes > found->arena_bytes) std::abort();  // what is held together fits in the arena
  if (found && plan->certificate) {
    const auto bound = pantoum::check::check_bound(*plan, found->energy_j);
    if (bound && !(*bound >= 0)) std::abort();
  }
  if (plan->certificate) (void)pantoum::check::check_certificate(plan->graph, *plan->certificate);
  const std::string text = pantoum::base::json_text(pantoum::problem::to_json(*plan));
  const auto again = pantoum::problem::parse_plan(text, "again");
  if (!again || pantoum::base::json_text(pantoum::problem::to_json(*again)) != text) std::abort();
  if (pantoum::check::replay(again->graph, *again).has_value() != found.has_value()) std::abort();
  return 0;
}
