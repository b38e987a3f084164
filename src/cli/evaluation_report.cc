#include "cli/evaluation_report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/foreign_text.h"

namespace pantoum::cli {
namespace {

using Measures = std::vector<std::pair<std::string, double>>;

Measures measures_of(const train::TermEvaluation& term, const autodiff::LossTerm& loss, bool perplexity) {
  Measures measures;
  if (term.accuracy) measures.emplace_back("accuracy", *term.accuracy);
  if (term.top5) measures.emplace_back("top5", *term.top5);
  if (term.mean_absolute_error) measures.emplace_back("mae", *term.mean_absolute_error);
  if (perplexity && autodiff::has_labels(loss) && loss.weight > 0)
    measures.emplace_back("perplexity", std::exp(term.loss / loss.weight));
  return measures;
}

Measures measures_of(const train::Evaluation& evaluation, const ReportedLosses& losses, size_t term) {
  return measures_of(evaluation.terms[term], losses.terms[term], losses.perplexity);
}

}  // namespace

nlohmann::ordered_json to_json(const train::Evaluation& evaluation, const ReportedLosses& losses) {
  nlohmann::ordered_json json{{"test_loss", evaluation.loss}};
  if (evaluation.has_accuracy) json["test_accuracy"] = evaluation.accuracy;
  const bool alone = losses.terms.size() == 1;
  for (size_t term = 0; term < losses.terms.size(); ++term) {
    nlohmann::ordered_json output{{"loss", evaluation.terms[term].loss}};
    for (const auto& [name, value] : measures_of(evaluation, losses, term))
      (alone ? json["test_" + name] : output[name]) = value;
    if (!alone) json["outputs"][losses.terms[term].output.value_or("")] = output;
  }
  return json;
}

std::string to_text(const train::Evaluation& evaluation, const ReportedLosses& losses) {
  std::string text = fmt::format("  test loss {:.4f}", evaluation.loss);
  for (size_t term = 0; term < losses.terms.size(); ++term) {
    if (losses.terms.size() > 1)
      text += fmt::format("  {}: loss {:.4f}", base::one_line(losses.terms[term].output.value_or("")), evaluation.terms[term].loss);
    for (const auto& [name, value] : measures_of(evaluation, losses, term))
      text += fmt::format("  {}{} {:.4f}", losses.terms.size() > 1 ? "" : "test ", name, value);
  }
  return text;
}

}  // namespace pantoum::cli
