#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/foreign_text.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/run_reporter.h"
#include "cli/trained.h"
#include "data/label_range.h"

namespace pantoum::cli {
namespace {

using Json = nlohmann::ordered_json;
using Matrix = std::vector<std::vector<int64_t>>;

constexpr int64_t kMostClasses = 1000, kMostShown = 20;

// The whole number of a label as it is stored.
int64_t label_of(base::DType dtype, const std::byte* from) {
  const auto read = [from](auto value) {
    std::memcpy(&value, from, sizeof value);
    return static_cast<int64_t>(value);
  };
  return dtype == base::DType::kI64 ? read(int64_t{}) : dtype == base::DType::kI32 ? read(int32_t{}) : read(uint8_t{});
}

// The output whose classes the first loss compares with one label of each sample; nullopt: there is none.
std::optional<size_t> classified_output(const TrainedModel& model) {
  const train::TensorTable& table = model.trainer->tensors();
  const Loss& term = model.step.model.options.loss.terms().front();
  if (!autodiff::has_labels(term) || model.parts.front()->labels == nullptr ||
      table.terms.front().label.shape.size() != 1)
    return std::nullopt;
  for (size_t output = 0; output < table.outputs.size(); ++output) {
    const train::PlanTensor& each = table.outputs[output];
    if (term.output && each.name != *term.output) continue;
    const bool fits = each.dtype == base::DType::kF32 && each.shape.size() == 2 && each.shape[1] <= kMostClasses;
    return fits ? std::optional(output) : std::nullopt;
  }
  return std::nullopt;
}

// Rows: the label; columns: the class that the model gives. Labels that do not count are left out.
Result<Matrix> confusion_of(TrainedModel& model, size_t output, const std::function<bool()>& go_on) {
  const train::TensorTable& table = model.trainer->tensors();
  const auto classes = static_cast<size_t>(table.outputs[output].shape[1]);
  const int64_t ignored = model.step.model.options.loss.terms().front().ignore_index;
  Matrix matrix(classes, std::vector<int64_t>(classes, 0));
  std::vector<float> row(classes);
  for (const data::Dataset* part : model.parts) {
    const data::SampleFile& labels = *part->labels;
    std::vector<std::byte> label(static_cast<size_t>(data::sample_bytes(labels)));
    PANTOUM_ASSIGN(const auto files, train::prediction_files(table, *part));
    const auto take = [&](size_t made, int64_t first, std::span<const std::byte> rows) -> Result<void> {
      if (made != output) return {};
      for (size_t at = 0; at < rows.size(); at += classes * sizeof(float)) {
        std::memcpy(row.data(), rows.data() + at, classes * sizeof(float));
        PANTOUM_TRY(labels.read(first + static_cast<int64_t>(at / (classes * sizeof(float))), label));
        const int64_t wanted = label_of(labels.dtype(), label.data());
        if (wanted < 0 || wanted == ignored || static_cast<size_t>(wanted) >= classes) continue;
        const auto given = static_cast<size_t>(std::max_element(row.begin(), row.end()) - row.begin());
        ++matrix[static_cast<size_t>(wanted)][given];
      }
      return {};
    };
    PANTOUM_TRY(model.trainer->predict(files, take, go_on));
  }
  return matrix;
}

std::string shown(const Matrix& matrix, const std::vector<std::string>& names) {
  const auto name = [&](size_t at) {
    return names.size() == matrix.size() ? base::one_line(names[at]).substr(0, 12) : std::to_string(at);
  };
  size_t width = 4;
  for (size_t at = 0; at < matrix.size(); ++at) {
    width = std::max(width, name(at).size());
    for (const int64_t each : matrix[at]) width = std::max(width, std::to_string(each).size());
  }
  std::string text =
      fmt::format("confusion  a row for each label, a column for each class that the model gives\n{:>{}}", "", width);
  for (size_t at = 0; at < matrix.size(); ++at) text += fmt::format(" {:>{}}", name(at), width);
  for (size_t at = 0; at < matrix.size(); ++at) {
    text += fmt::format("\n{:>{}}", name(at), width);
    for (const int64_t each : matrix[at]) text += fmt::format(" {:>{}}", each, width);
  }
  return text + "\n";
}

Result<int> evaluate(const TrainedAsked& asked) {
  const std::stop_token stop = interrupted();
  const auto go_on = [&] { return !stop.stop_requested(); };
  PANTOUM_ASSIGN(TrainedModel model, open_trained(asked, true));
  PANTOUM_TRY(pipeline::check_labels(*model.data, model.step.labels));
  const ReportedLosses losses{model.step.model.options.loss.terms(), model.step.model.options.metrics.perplexity};
  PANTOUM_ASSIGN(const train::Evaluation found, model.trainer->evaluate(*model.parts.front(), go_on));
  std::optional<Matrix> confusion;
  if (const std::optional<size_t> output = classified_output(model)) {
    PANTOUM_ASSIGN(confusion, confusion_of(model, *output, go_on));
  }
  const std::vector<std::string>& names = model.parts.front()->classes;
  if (!asked.common.json()) {
    print_formatted("evaluated  {} sample{}\n{}\n", found.samples, found.samples == 1 ? "" : "s",
                    to_text(found, losses));
    if (confusion && static_cast<int64_t>(confusion->size()) <= kMostShown) print_result(shown(*confusion, names));
    return 0;
  }
  Json answer{
      {"samples", found.samples}, {"batch", model.trainer->tensors().batch}, {"kernels", model.step.kernels->name()}};
  answer.update(to_json(found, losses));
  if (confusion) answer["confusion"] = *confusion;
  if (confusion) answer["classes"] = names;
  print_json(answer);
  return 0;
}

}  // namespace

void add_eval(CommandLine& line) {
  auto asked = std::make_shared<TrainedAsked>();
  Verb verb = line.add_verb("eval", "loss, accuracy and confusions of a trained model");
  add_trained_options(verb, *asked, {"train", "test"});
  verb.add_settings_of(settings::fields_of(asked->step.options), {"metrics"});
  add_common(verb, asked->common);
  verb.does([asked, verb] {
    see_given(verb, *asked);
    return evaluate(*asked);
  });
}

}  // namespace pantoum::cli
