#include "cli/run_reporter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace pantoum::cli {
namespace {

TEST(EvaluationReport, OfOneLossHasItsMeasuresAtTheTop) {
  train::Evaluation evaluation{.loss = 0.5, .accuracy = 0.75, .samples = 4, .has_accuracy = true, .term_count = 1};
  evaluation.terms[0] = {.loss = 0.5, .accuracy = 0.75, .top5 = 1.0};
  const ReportedLosses losses{{autodiff::LossTerm{}}, true};
  const nlohmann::ordered_json json = to_json(evaluation, losses);
  EXPECT_EQ(json["test_loss"], 0.5);
  EXPECT_EQ(json["test_accuracy"], 0.75);
  EXPECT_EQ(json["test_top5"], 1.0);
  EXPECT_EQ(json["test_perplexity"], std::exp(0.5));
  EXPECT_EQ(to_text(evaluation, losses),
            "  test loss 0.5000  test accuracy 0.7500  test top5 1.0000  test perplexity 1.6487");
}

TEST(EvaluationReport, OfSeveralLossesHasThoseOfEachOutput) {
  train::Evaluation evaluation{.loss = 0.75, .term_count = 2};
  evaluation.terms[0].loss = 0.5;
  evaluation.terms[1] = {.loss = 0.25, .mean_absolute_error = 0.125};
  const ReportedLosses losses{{{.output = "class"}, {.name = "l1", .output = "box"}}};
  EXPECT_EQ(to_json(evaluation, losses).dump(),
            R"({"test_loss":0.75,"outputs":{"class":{"loss":0.5},"box":{"loss":0.25,"mae":0.125}}})");
  EXPECT_EQ(to_text(evaluation, losses), "  test loss 0.7500  class: loss 0.5000  box: loss 0.2500  mae 0.1250");
}

}  // namespace
}  // namespace pantoum::cli
