#include "pipeline/training_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/batch_loader.h"
#include "settings/fields.h"
#include "train/batch_queue.h"

namespace pantoum::pipeline {
namespace {

data::WantedTensor sample_of(const ir::Value& value) {
  ir::Shape shape = value.type.shape;  // a shape without a batch is refused by the trainer
  if (!shape.empty()) shape.erase(shape.begin());
  return {value.name, value.type.dtype, std::move(shape)};
}

}  // namespace

data::Wanted wanted_of(const ir::Graph& model) {
  data::Wanted wanted;
  for (const ir::ValueId input : model.inputs) wanted.inputs.push_back(sample_of(model.value(input)));
  if (model.labels.empty()) return wanted;  // of inference
  wanted.label = sample_of(model.value(model.labels.front()));
  if (model.labels.size() == 1) return wanted;
  const auto output_of = [](const std::string& label) { return label.substr(std::string("label.").size()); };
  wanted.label.name = output_of(wanted.label.name);
  for (auto label = model.labels.begin() + 1; label != model.labels.end(); ++label) {
    wanted.more_labels.push_back(sample_of(model.value(*label)));
    wanted.more_labels.back().name = output_of(wanted.more_labels.back().name);
  }
  return wanted;
}

Result<data::TrainTest> open_training_data(const DataRequest& request, const ir::Graph& model) {
  return open_training_data(request, wanted_of(model));
}

Result<data::TrainTest> open_training_data(const DataRequest& request, const data::Wanted& wanted) {
  return data::open_data(request.path, wanted, request.options);
}

namespace {

void add_label_ranges(const ir::Graph& graph, std::vector<data::LabelRange>& ranges) {
  const auto source_of = [&](ir::ValueId value) {
    while (graph.value(value).producer != ir::kNone && graph.op(graph.value(value).producer).kind == ir::Kind::k_alias)
      value = graph.op(graph.value(value).producer).inputs[0];
    return value;
  };
  for (const ir::Op& op : graph.ops) {
    if (op.kind != ir::Kind::k_cross_entropy && op.kind != ir::Kind::k_nll && op.kind != ir::Kind::k_count_correct) continue;
    const auto label = std::find(graph.labels.begin(), graph.labels.end(), source_of(op.inputs[1]));
    const auto at = static_cast<size_t>(label - graph.labels.begin());
    if (label != graph.labels.end() && at < ranges.size()) ranges[at] = {graph.value(op.inputs[0]).type.shape[1], op.attrs.ints[0]};
  }
}

}  // namespace

std::vector<data::LabelRange> label_ranges(const ir::Graph& training, const ir::Graph& evaluation) {
  std::vector<data::LabelRange> ranges(training.labels.size());
  add_label_ranges(training, ranges);
  add_label_ranges(evaluation, ranges);
  return ranges;
}

Result<void> check_labels(const data::TrainTest& data, const std::vector<data::LabelRange>& ranges) {
  constexpr uint64_t kMostBytes = uint64_t{8} << 20;  // as much as is read while a user waits for nothing to happen
  PANTOUM_TRY(data::check_labels(data.train, ranges, kMostBytes));
  return data::check_labels(data.test, ranges, kMostBytes);
}

Result<void> check_fit(const data::TrainTest& data, const data::Preparation& preparation, const ir::Graph& model) {
  std::vector<data::BatchView> batch;
  for (const std::vector<ir::ValueId>* ids : {&model.inputs, &model.labels})
    for (const ir::ValueId id : *ids) {
      const ir::Value& value = model.value(id);
      batch.push_back({value.name, value.type.dtype, value.type.shape,
                       std::span(static_cast<std::byte*>(nullptr), static_cast<size_t>(value.type.bytes()))});
    }
  data::BatchLoader loader(preparation, model.inputs.size(), model.labels.size());
  PANTOUM_TRY(loader.bind(data.train, batch));
  return data.test.count() > 0 ? loader.bind(data.test, batch) : Result<void>();
}

int64_t feature_bytes(const ir::Graph& training, int64_t samples) {
  int64_t row_bytes = 0;
  for (const ir::ValueId input : training.inputs)
    row_bytes += training.value(input).type.bytes() / training.value(input).type.shape.front();
  return samples * row_bytes;
}

Result<data::Preparation> preparation_of(const TrainerOptions& options) {
  PANTOUM_TRY(settings::check(settings::fields_of(const_cast<TrainerOptions&>(options)), "TrainerOptions"));
  return data::Preparation{options.normalize, options.augment, options.shuffle};
}

int64_t prefetch_bytes(int64_t prefetch, const ir::Graph& training) {
  if (prefetch == 0) return 0;
  std::vector<uint64_t> bytes;
  for (const std::vector<ir::ValueId>* ids : {&training.inputs, &training.labels})
    for (const ir::ValueId id : *ids) bytes.push_back(static_cast<uint64_t>(training.value(id).type.bytes()));
  return static_cast<int64_t>(train::queue_bytes(bytes, prefetch));
}

}  // namespace pantoum::pipeline
