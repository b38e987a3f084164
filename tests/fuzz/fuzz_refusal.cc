// Any bytes as a plan or a refusal: refused, or one that is checked without a fault and is written as it was read.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>
#include <variant>

#include "base/json_text.h"
#include "check/claims.h"
#include "problem/plan_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto answer = pantoum::problem::parse_answer({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!answer) {
    if (answer.error().message.empty()) std::abort();
    return 0;
  }
  if (const auto* plan = std::get_if<pantoum::problem::Plan>(&*answer)) {
    const auto judged = pantoum::check::judge(*plan);
    if (judged && !(judged->bound >= 0 && judged->gap >= 0)) std::abort();
    return 0;
  }
  const auto& refusal = std::get<pantoum::problem::Refusal>(*answer);
  const auto proved = pantoum::check::check_refusal(refusal);
  if (proved && !(*proved >= refusal.least)) std::abort();
  const std::string text = pantoum::base::json_text(pantoum::problem::to_json(refusal));
  const auto again = pantoum::problem::parse_answer(text, "again");
  const auto* read = again ? std::get_if<pantoum::problem::Refusal>(&*again) : nullptr;
  if (read == nullptr || pantoum::base::json_text(pantoum::problem::to_json(*read)) != text) std::abort();
  if (pantoum::check::check_refusal(*read).has_value() != proved.has_value()) std::abort();
  return 0;
}
