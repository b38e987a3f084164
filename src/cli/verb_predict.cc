#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/foreign_text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/trained.h"
#include "data/array_writer.h"

namespace pantoum::cli {
namespace {

using Json = nlohmann::ordered_json;

struct PredictOptions {
  TrainedAsked trained;
  std::string output;
  int64_t top = 0;  // 0: the outputs as they are
};

// The output as scores of classes, f32 [N,C]; null: it is none.
const train::PlanTensor* scores_of(const train::TensorTable& table) {
  const bool fits =
      table.outputs.size() == 1 && table.outputs[0].dtype == base::DType::kF32 && table.outputs[0].shape.size() == 2;
  return fits ? &table.outputs[0] : nullptr;
}

// The classes of a row, the best first; of equal ones the first.
std::vector<int64_t> best_of(std::span<const float> row, size_t count) {
  std::vector<int64_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  const auto better = [&](int64_t a, int64_t b) {
    const float x = row[static_cast<size_t>(a)], y = row[static_cast<size_t>(b)];
    if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) || (std::isnan(y) && a < b);
    return x != y ? x > y : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), better);
  order.resize(count);
  return order;
}

// What is written, and how it is made of the outputs.
class Written {
 public:
  static Result<Written> of(const PredictOptions& options, const TrainedModel& model) {
    Written made;
    const train::TensorTable& table = model.trainer->tensors();
    const std::vector<std::string>& names = model.parts.front()->classes;
    const train::PlanTensor* scores = scores_of(table);
    const bool named = scores != nullptr && static_cast<int64_t>(names.size()) == scores->shape[1];
    if (options.top > 0 && scores == nullptr)
      return fail("E0117", "the classes are those of one output of numbers, [N, classes]", "--top", "leave it out");
    if (options.top > 0 && options.top > scores->shape[1])
      return fail("E0117", fmt::format("there are {} classes", scores->shape[1]), "--top", "give a smaller one");
    const bool is_csv = !options.output.ends_with(".npy") && !options.output.ends_with(".npz");
    made.top_ = options.top > 0 ? options.top : named && is_csv ? 1 : 0;
    if (made.top_ > 0) {
      const data::WrittenArray classes{.name = "class", .dtype = base::DType::kI64};
      made.arrays_.push_back(classes);
      if (options.top > 0) made.arrays_[0].shape = {made.top_};
      if (named) made.arrays_[0].values = names;
    }
    made.keeps_all_ = options.top == 0;
    if (!made.keeps_all_) made.arrays_.push_back({.name = "score", .shape = {made.top_}});
    for (const train::PlanTensor& output : table.outputs) {
      if (!made.keeps_all_) break;
      data::WrittenArray array{
          .name = output.name, .dtype = output.dtype, .shape = {output.shape.begin() + 1, output.shape.end()}};
      if (named) array.columns = names;
      made.arrays_.push_back(std::move(array));
    }
    return made;
  }

  [[nodiscard]] const std::vector<data::WrittenArray>& arrays() const { return arrays_; }

  Result<void> put(data::ArrayWriter& writer, size_t output, std::span<const std::byte> rows, size_t row_bytes) {
    if (top_ == 0) return writer.put(output, rows);
    classes_.clear(), scores_.clear(), row_.resize(row_bytes / sizeof(float));
    for (size_t at = 0; at < rows.size(); at += row_bytes) {
      std::memcpy(row_.data(), rows.data() + at, row_bytes);
      for (const int64_t each : best_of(row_, static_cast<size_t>(top_))) {
        classes_.push_back(each);
        scores_.push_back(row_[static_cast<size_t>(each)]);
      }
    }
    PANTOUM_TRY(writer.put(0, std::as_bytes(std::span(classes_))));
    return writer.put(1, keeps_all_ ? rows : std::as_bytes(std::span(scores_)));
  }

 private:
  std::vector<data::WrittenArray> arrays_;
  int64_t top_ = 0;
  bool keeps_all_ = true;
  std::vector<int64_t> classes_;
  std::vector<float> scores_, row_;
};

Result<int> predict(const PredictOptions& options) {
  const std::stop_token stop = interrupted();
  PANTOUM_ASSIGN(TrainedModel model, open_trained(options.trained, false));
  if (!model.step.no_prediction.empty())
    return fail("E0105", "the plan gives no outputs: " + model.step.no_prediction, options.trained.file,
                "give the model outputs with the batch as their first dimension, or more --ram");
  for (const std::string& note : model.step.planning_notes) print_note(note);
  PANTOUM_ASSIGN(Written written, Written::of(options, model));
  PANTOUM_ASSIGN(const std::unique_ptr<data::ArrayWriter> writer,
                 data::open_array_writer(options.output, written.arrays(), model.count()));
  const train::TensorTable& table = model.trainer->tensors();
  const auto begun = std::chrono::steady_clock::now();
  ProgressLine line(options.trained.common.json());
  line.phase("predicting");
  int64_t done = 0;
  for (const data::Dataset* part : model.parts) {
    PANTOUM_ASSIGN(const auto files, train::prediction_files(table, *part));
    const auto take = [&](size_t output, int64_t first, std::span<const std::byte> rows) {
      if (line.due()) line.show(fmt::format("predicted {} of {} samples", done + first, model.count()));
      return written.put(*writer, output, rows, table.outputs[output].row_bytes());
    };
    PANTOUM_TRY(model.trainer->predict(files, take, [&] { return !stop.stop_requested(); }));
    done += part->count();
  }
  PANTOUM_TRY(writer->finish());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  const train::Usage usage = model.trainer->usage();
  Json arrays = Json::array();
  std::string shown;
  for (const data::WrittenArray& array : written.arrays()) {
    base::TensorType type{array.dtype, array.shape};
    type.shape.insert(type.shape.begin(), done);
    arrays.push_back({{"name", array.name}, {"dtype", base::name_of(array.dtype)}, {"shape", type.shape}});
    shown += fmt::format("{}{} {}", shown.empty() ? "" : ", ", base::one_line(array.name), base::to_text(type));
  }
  const Json answer{{"output", options.output},
                    {"samples", done},
                    {"arrays", arrays},
                    {"batch", table.batch},
                    {"seconds", seconds},
                    {"arena_bytes", usage.arena_bytes},
                    {"kernels", model.step.kernels->name()}};
  if (options.trained.common.json())
    print_json(answer);
  else
    print_formatted("predicted {} sample{} in {}, {} at a time: {} in {}\n", done, done == 1 ? "" : "s",
                    base::show_seconds(seconds), table.batch, shown, base::one_line(options.output));
  return 0;
}

}  // namespace

void add_predict(CommandLine& line) {
  auto options = std::make_shared<PredictOptions>();
  Verb verb = line.add_verb("predict", "the outputs of a trained model, for any number of samples");
  add_trained_options(verb, options->trained, {"train", "test", "all"});
  verb.add_option("-o,--output", options->output, "the outputs: a file .npy, .npz or .csv").required();
  verb.add_option("--top", options->top, "the K best classes of each sample and their scores, in place of all scores")
      .within(1, 1000000);
  add_common(verb, options->trained.common);
  verb.does([options, verb] {
    see_given(verb, options->trained);
    return predict(*options);
  });
}

}  // namespace pantoum::cli
