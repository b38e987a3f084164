#include "api/access.h"
#include "base/files.h"
#include "import/onnx.h"
#include "pipeline/import_model.h"

namespace pantoum {
namespace {

import::OnnxOptions import_options(const ModelOptions& options){return {
    .batch = options.batch.value_or(0), .train = options.train, .freeze = options.freeze,
    .shapes = options.shapes, .accept_folded = options.accept_folded};
}

NodeInfo node_info(const import::NodeCoverage& node) {
  return {node.name, node.op_type, node.domain, node.forward, node.gradient, node.problem, node.output_shapes};
}

ModelInfo model_info(import::ModelInfo info) {
  ModelInfo made{.producer = info.producer,
                 .graph_name = info.graph_name,
                 .opset = info.opset,
                 .parameter_count = info.parameter_count,
                 .inputs = std::move(info.inputs),
                 .outputs = std::move(info.outputs),
                 .warnings = std::move(info.warnings),
                 .notes = std::move(info.notes),
                 .refusal = std::move(info.refusal)};
  made.nodes.reserve(info.nodes.size());
  for (const import::NodeCoverage& node : info.nodes) made.nodes.push_back(node_info(node));
  for (const import::TensorInfo& tensor : info.tensors)
    made.weights.push_back({tensor.name, tensor.type, tensor.trains != "no", tensor.why});
  return made;
}

// Is the model one that can be trained so? With the batch that is chosen when it is planned, or 1. Files that it is read from
// are guarded as long as it lives.
Result<void> check_model(Access::ModelImpl& model) {
  const auto inputs = std::make_shared<base::InputsInUse>();
  inputs->add(model.options.weights.value_or(""));
  model.inputs = inputs;
  const base::RecordInputs recorded(inputs.get());
  PANTOUM_TRY(api::model_request(model));
  const import::OnnxOptions options = import_options(model.options);
  PANTOUM_TRY(pipeline::import_model({model.path, model.bytes.get()}, options));
  return {};
}

}  // namespace pantoum

Result<pipeline::ModelRequest> api::model_request(const Access::ModelImpl& model) {
  PANTOUM_TRY(pipeline::check_model_options(model.options));
  return pipeline::ModelRequest{.path = model.path, .options = model.options, .bytes = model.bytes};
}

Result<Model> Access::model(const PlanImpl& plan, const std::string& weights) {
  auto impl = std::make_shared<ModelImpl>(
      ModelImpl{.path = plan.step.model.path, .bytes = plan.step.model.bytes, .options = plan.step.model.options, .inputs = plan.inputs});
  impl->options.weights = weights;
  return Model(std::move(impl));
}

Result<Model> Model::from_file(const std::string& path, ModelOptions options) {
  auto impl = std::make_shared<Impl>(Impl{.path = path, .options = std::move(options)});
  PANTOUM_TRY(check_model(*impl));
  return Model(std::move(impl));
}

Result<Model> Model::from_onnx(std::string bytes, ModelOptions options) {
  auto impl = std::make_shared<Impl>(
      Impl{.bytes = std::make_shared<const std::string>(std::move(bytes)), .options = std::move(options)});
  PANTOUM_TRY(check_model(*impl));
  return Model(std::move(impl));
}

Result<Model> Model::with(ModelOptions options) const {
  auto impl = std::make_shared<Impl>(Impl{.path = impl_->path, .bytes = impl_->bytes, .options = std::move(options)});
  PANTOUM_TRY(check_model(*impl));
  return Model(std::move(impl));
}

const ModelOptions& Model::options() const {
  return impl_->options;
}

Result<ModelInfo> Model::inspect() const {
  const import::OnnxOptions options = import_options(impl_->options);
  PANTOUM_ASSIGN(import::ModelInfo info, pipeline::inspect_model({impl_->path, impl_->bytes.get()}, options));
  return model_info(std::move(info));
}

Result<std::string> Model::contents() const {
  if (impl_->bytes) return *impl_->bytes;
  return base::read_file(impl_->path);
}

Result<void> Model::save(const std::string& path) const {
  PANTOUM_ASSIGN(const std::string bytes, contents());
  return base::write_file_atomically(path, bytes);
}

}  // namespace pantoum
