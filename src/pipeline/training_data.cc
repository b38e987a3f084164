#include "pipeline/training_data.h"

#include "train/batch_queue.h"

namespace pantoum::pipeline {
namespace {

data::WantedTensor sample_of(const ir::Value& value) {
  ir::Shape shape = value.type.shape;  // a shape without a batch is refused by the trainer
  if (!shape.empty()) shape.erase(shape.begin());
  return {value.name, value.type.dtype, std::move(shape)};
}

// One sample of what the training step reads.
data::Wanted wanted_of(const ir::Graph& training) {
  data::Wanted wanted;
  for (const ir::ValueId input : training.inputs) wanted.inputs.push_back(sample_of(training.value(input)));
  wanted.label = sample_of(training.value(training.labels.front()));
  if (training.labels.size() == 1) return wanted;
  const auto output_of = [](const std::string& label) { return label.substr(std::string("label.").size()); };
  wanted.label.name = output_of(wanted.label.name);
  for (auto label = training.labels.begin() + 1; label != training.labels.end(); ++label) {
    wanted.more_labels.push_back(sample_of(training.value(*label)));
    wanted.more_labels.back().name = output_of(wanted.more_labels.back().name);
  }
  return wanted;
}

}  // namespace

Result<data::TrainTest> open_training_data(const DataRequest& request, const ir::Graph& model) {
  return data::open_data(
      request.path, wanted_of(model),
      {.cache_folder = request.cache_folder, .label_columns = request.label_columns, .test_path = request.test_path});
}

int64_t feature_bytes(const ir::Graph& training, int64_t samples) {
  int64_t row_bytes = 0;
  for (const ir::ValueId input : training.inputs)
    row_bytes += training.value(input).type.bytes() / training.value(input).type.shape.front();
  return samples * row_bytes;
}

int64_t prefetch_bytes(const DataRequest& request, const ir::Graph& training) {
  std::vector<uint64_t> bytes;
  for (const std::vector<ir::ValueId>* ids : {&training.inputs, &training.labels})
    for (const ir::ValueId id : *ids) bytes.push_back(static_cast<uint64_t>(training.value(id).type.bytes()));
  return static_cast<int64_t>(train::queue_bytes(bytes, request.prefetch));
}

}  // namespace pantoum::pipeline
