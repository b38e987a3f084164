#include "ini/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>

#include "base/files.h"
#include "base/nearest_name.h"
#include "ini/backbone.h"
#include "ini/network.h"
#include "ini/training.h"
#include "ir/graph.h"

namespace pantoum::ini {
namespace {

// What a layer leaves for its readers, and for the loss.
struct Built {
  std::vector<Tensor> outputs;
  LossLayer loss = LossLayer::kNone;
  Tensor own_loss = {};             // of LossLayer::kOwn
  std::string activation = "none";  // what made the outputs last, of a layer with one output
  Tensor before = {};               // what it was applied to
};

class Builder {
 public:
  Builder(const Network& network, Settings settings)
      : network_(network),
        settings_(std::move(settings)),
        net_(std::filesystem::path(network.files.front().path).stem().string()),
        built_(network.layers.size()) {
    made_.training = std::move(settings_.training);
  }

  Result<Model> build() {
    PANTOUM_TRY(check_types());
    PANTOUM_TRY(check_names(settings_.input_layers, "input_layers", inputs()));
    PANTOUM_TRY(check_names(settings_.label_layers, "label_layers", ends()));
    PANTOUM_TRY(read_backbones());
    PANTOUM_TRY(add_inputs());
    for (const size_t place : network_.order) PANTOUM_TRY(build(network_.layers[place], built_[place]));
    PANTOUM_TRY(finish_clipping());
    PANTOUM_TRY(add_outputs());
    Result<std::string> onnx = net_.onnx();
    if (!onnx) return refused(onnx.error());
    made_.onnx = *std::move(onnx);
    return std::move(made_);
  }

 private:
  // The layers whose gradients have a limit of their own for their norm.
  struct Clipped {
    const NetworkLayer* layer;
    std::optional<double> most;
  };

  const Network& network_;
  Settings settings_;
  ModelBuilder net_;
  std::vector<Built> built_;
  std::map<std::string, Tensor> shared_;
  std::map<std::string, std::vector<std::vector<int64_t>>>
      step_inputs_;                                    // of unrolled layers, by the name of their weights
  std::map<const NetworkLayer*, Tensor> inputs_;       // of layers that read no other
  std::vector<Clipped> clipped_;                       // of the layers with weights
  std::map<const NetworkLayer*, Backbone> backbones_;  // of other formats
  Model made_;

  static Failure refused(Error error) {
    error.code = "E0214";
    error.message = "layers of the file do not fit together";
    error.where.clear();
    error.help = "the notes have the lines; shapes are channels:rows:columns of one sample";
    return Failure(std::move(error));
  }

  static std::string place_of_type(const NetworkLayer& layer) {
    return place_of(*layer.path, layer.section->find("type")->line);
  }

  // Names every type that is not known: who brings layers of his own learns of all of them.
  Result<void> check_types() const {
    const std::vector<std::string> known = layer_types();
    std::vector<const NetworkLayer*> others;
    for (const NetworkLayer& layer : network_.layers)
      if (layer.backbone.empty() && !layer.is_made && std::ranges::find(known, layer.type) == known.end())
        others.push_back(&layer);
    if (others.empty()) return {};
    constexpr size_t kMostNotes = 20;
    std::vector<std::string> names, notes;
    for (const NetworkLayer* layer : others) {
      const std::string quoted = fmt::format("'{}'", layer->type);
      if (std::ranges::find(names, quoted) == names.end()) names.push_back(quoted);
      notes.push_back(fmt::format("{}: [{}] has the type {}", place_of_type(*layer), layer->name, quoted));
      if (notes.size() == kMostNotes) break;
    }
    if (others.size() == 1) notes.clear();
    return fail(
        "E0214",
        fmt::format("[{}]: layers of type {} are not read from .ini files", others[0]->name, fmt::join(names, ", ")),
        place_of_type(*others[0]),
        fmt::format("{}the types are {}; --plugin FILE.so adds types of your own; other networks come as ONNX, or from "
                    "the C++ builder",
                    base::hint_at(others[0]->type, known), fmt::join(known, ", ")),
        std::move(notes));
  }

  // Layers that read no other, in the order of [model]'s input_layers where it names them, else of the file.
  std::vector<size_t> inputs() const {
    return sorted(settings_.input_layers, [](const NetworkLayer& layer) { return layer.sources.empty(); });
  }

  template <class Takes>
  std::vector<size_t> sorted(const NamedLayers& first, const Takes& takes) const {
    std::vector<size_t> found;
    for (size_t place = 0; place < network_.layers.size(); ++place)
      if (takes(network_.layers[place])) found.push_back(place);
    const auto rank = [&](size_t place) {
      return std::ranges::find(first.names, network_.layers[place].name) - first.names.begin();
    };
    std::ranges::stable_sort(found, [&](size_t a, size_t b) { return rank(a) < rank(b); });
    return found;
  }

  // Are all names those of `layers`?
  Result<void> check_names(const NamedLayers& given, const char* key, const std::vector<size_t>& layers) const {
    std::vector<std::string> names;
    names.reserve(layers.size());
    for (const size_t place : layers) names.push_back(network_.layers[place].name);
    for (const std::string& name : given.names)
      if (std::ranges::find(names, name) == names.end())
        return fail("E0214",
                    fmt::format("[model]: '{}' of '{}' is none of the layers that {}", name, key,
                                key[0] == 'i' ? "read no other" : "no other reads"),
                    place_of(network_.files.front().path, given.line),
                    fmt::format("{}they are {}", base::hint_at(name, names), fmt::join(names, ", ")));
    return {};
  }

  Result<void> read_backbones() {
    for (const NetworkLayer& layer : network_.layers) {
      if (layer.backbone.empty()) continue;
      PANTOUM_ASSIGN(Backbone backbone, Backbone::read(layer));
      const std::vector<std::string>& notes = backbone.notes();
      made_.training.notes.insert(made_.training.notes.end(), notes.begin(), notes.end());
      backbones_.emplace(&layer, std::move(backbone));
    }
    return {};
  }

  // The model's inputs: a data set has them in this order. A layer without a shape is refused where it is built.
  Result<void> add_inputs() {
    for (const size_t place : inputs()) {
      const NetworkLayer& layer = network_.layers[place];
      if (const auto backbone = backbones_.find(&layer); backbone != backbones_.end()) {
        const Entry* const given = layer.section->find("input_shape");
        PANTOUM_ASSIGN(const std::vector<int64_t> extents,
                       backbone->second.sample_shape(given == nullptr ? std::nullopt : sample_shape(given->value)));
        inputs_[&layer] = net_.input(layer.name, extents, DType::f32, place_of_layer(layer));
        continue;
      }
      const Entry* const shape = layer.section->find("input_shape");
      const std::optional<std::vector<int64_t>> extents = shape == nullptr ? std::nullopt : sample_shape(shape->value);
      if (extents) inputs_[&layer] = net_.input(layer.name, *extents, DType::f32, place_of_layer(layer));
    }
    return {};
  }

  // Without inputs yet. Keeps `layer` and `keys` by reference.
  LayerSite site_of(const NetworkLayer& layer, Keys& keys) {
    return {.net = net_,
            .keys = keys,
            .name = layer.name,
            .weights = layer.weights.empty() ? layer.name : layer.weights,
            .shared = shared_,
            .inputs = {},
            .stored = made_.stored};
  }

  Result<void> build_backbone(const NetworkLayer& layer, Built& built) {
    Keys keys(*layer.section, *layer.path);
    LayerSite site = site_of(layer, keys);
    const size_t first = made_.stored.size();
    take_inputs(layer, site);
    if (keys.has_problem()) return Failure(keys.done().error());
    if (!net_.problems().empty()) return refused(net_.onnx().error());
    PANTOUM_ASSIGN(const Tensor output, backbones_.at(&layer).join(site));
    built.outputs = {output};
    if (made_.stored.size() > first) clipped_.push_back({&layer, settings_.clip_of_all});
    return {};
  }

  Result<void> build(const NetworkLayer& layer, Built& built) {
    if (!layer.backbone.empty()) return build_backbone(layer, built);
    Keys keys(*layer.section, *layer.path);
    for (const char* read_already : {"type", "input_layers", "name"}) keys.ignore(read_already);
    LayerSite site = site_of(layer, keys);
    const size_t first = made_.stored.size();
    take_inputs(layer, site);
    if (layer.is_step && !keys.has_problem()) check_step(layer, site);
    if (keys.has_problem()) return keys.done();
    if (!net_.problems().empty()) return refused(net_.onnx().error());
    built.outputs = build_layer(layer.type, site);
    if (!keys.has_problem() && layer.section->find("shared_from") != nullptr) check_shared(layer, site, first);
    if (!keys.has_problem()) read_common(site, built);
    if (!keys.has_problem() && site.has_weights) read_common_of_weights(layer, keys, first);
    PANTOUM_TRY(keys.done());
    if (!net_.problems().empty()) return refused(net_.onnx().error());
    return {};
  }

  // All steps of a layer read the same shapes.
  void check_step(const NetworkLayer& layer, LayerSite& site) {
    std::vector<std::vector<int64_t>>& first = step_inputs_[layer.weights];
    for (size_t each = 0; each < site.inputs.size(); ++each) {
      const std::vector<int64_t> shape = site.inputs[each].shape();
      if (each == first.size()) first.push_back(shape);
      if (shape != first[each])
        return site.keys.refuse("",
                                fmt::format("'{}' has at input {} the shape {}, and at another step {}", layer.name,
                                            each, fmt::join(shape.begin() + 1, shape.end(), ":"),
                                            fmt::join(first[each].begin() + 1, first[each].end(), ":")),
                                "let recurrent_output have the shape that recurrent_input reads at the first step");
    }
  }

  // The layer's inputs, or an input of the model with the shape that it gives.
  void take_inputs(const NetworkLayer& layer, LayerSite& site) {
    for (const Source& source : layer.sources) {
      const std::vector<Tensor>& outputs = built_[source.layer].outputs;
      const auto& from = network_.layers[source.layer];
      const bool copies = from.type == "multiout" || from.type == "output";
      const size_t which = copies ? 0 : static_cast<size_t>(source.output);
      if (which >= outputs.size())
        return site.keys.refuse("input_layers",
                                fmt::format("the layer '{}' has no output {}", from.name, source.output),
                                fmt::format("it has {}, counted from 0", outputs.size()));
      site.inputs.push_back(outputs[which]);
    }
    const Entry* const shape = site.keys.entry("input_shape");
    if (!site.inputs.empty()) return;
    if (shape == nullptr && layer.backbone.empty())
      return site.keys.refuse("", "the layer reads no other and has no input_shape",
                              "add input_shape = channels:rows:columns");
    const auto input = inputs_.find(&layer);
    if (input == inputs_.end())
      return site.keys.refuse("input_shape", fmt::format("'{}' is no shape", shape->value),
                              "write channels:rows:columns, as 3:32:32");
    site.inputs.push_back(input->second);
  }

  // "3:32:32", "28:28", "1:3:32:32": filled up with 1 from the left; the batch in front is passed over.
  static std::optional<std::vector<int64_t>> sample_shape(std::string text) {
    std::replace(text.begin(), text.end(), ':', ',');
    const Section one{"", 0, {{"input_shape", text, 0}}};
    const std::string path;
    Keys keys(one, path);
    std::vector<int64_t> extents = keys.wholes("input_shape", 1, 4);
    if (keys.has_problem() || extents.empty()) return std::nullopt;
    if (extents.size() == 4) extents.erase(extents.begin());
    extents.insert(extents.begin(), 3 - extents.size(), 1);
    return extents;
  }

  // The keys that any layer has.
  void read_common(LayerSite& site, Built& built) {
    Keys& keys = site.keys;
    std::string activation = keys.word("activation", activation_names(), "none");
    if (site.loss == LossLayer::kCrossSoftmax) activation = "softmax";
    if (site.loss == LossLayer::kCrossSigmoid) activation = "sigmoid";
    const bool flattens = keys.boolean("flatten", false);
    if (activation != "none") {
      if (built.outputs.size() == 1 && !flattens) built.activation = activation, built.before = built.outputs[0];
      for (Tensor& output : built.outputs) output = activate(site, activation, output);
    }
    if (flattens)
      for (Tensor& output : built.outputs) output = flatten(site, output);
    built.loss = site.loss;
    built.own_loss = site.own_loss;
    for (const char* key : {"engine", "print", "packed"}) keys.ignore(key);
    (void)keys.boolean("trainable", true);  // both count of layers with weights
    (void)keys.number("clip_grad_by_norm", 0, 1e30, 0);
    refuse_unread(keys);
  }

  // The keys that any layer with weights has. Its tensors are those from `first` on.
  void read_common_of_weights(const NetworkLayer& layer, Keys& keys, size_t first) {
    for (const char* key : {"weight_initializer", "bias_initializer", "disable_bias"}) keys.ignore(key);
    read_penalties(keys, std::span(made_.stored).subspan(first));
    const bool trains = keys.boolean("trainable", true) && !layer.frozen;
    if (!trains)
      for (size_t each = first; each < made_.stored.size(); ++each)
        if (!made_.stored[each].is_statistic) {
          made_.stored[each].is_frozen = true;
          made_.training.freeze.push_back(made_.stored[each].name);
        }
    const bool has_own = keys.entry("clip_grad_by_norm") != nullptr;
    if (trains) clipped_.push_back({&layer, has_own ? clip_limit(keys) : settings_.clip_of_all});
  }

  // Weights that two layers share are made by the first of them, and what the file says of them stands there.
  void check_shared(const NetworkLayer& layer, LayerSite& site, size_t first) const {
    Keys& keys = site.keys;
    keys.ignore("shared_from");
    if (!site.has_weights) return keys.refuse("shared_from", "the layer has no weights to share", "delete the line");
    if (layer.type == "batch_normalization")
      return keys.refuse("shared_from", "batch normalizations do not share their statistics here", "delete the line");
    if (made_.stored.size() > first)
      return keys.refuse("shared_from",
                         fmt::format("'{}' is computed later, or lacks weights of this layer", layer.weights),
                         "name the first of the layers, which has all weights");
    for (const char* key : {"trainable", "weight_initializer", "bias_initializer", "weight_regularizer",
                            "weight_regularizer_constant", "weight_decay", "bias_decay", "clip_grad_by_norm"})
      if (layer.section->find(key) != nullptr)
        return keys.refuse(
            key, fmt::format("the weights are those of '{}', and this layer has a key of weights", layer.weights),
            "write it there alone");
  }

  static void refuse_unread(Keys& keys) {
    if (keys.boolean("distribute", false))
      keys.refuse("distribute", "layers that are applied to each time step are not read from .ini files",
                  "fully_connected does that without the key");
    if (lower_case(keys.text("weight_dtype", "fp32")) != "fp32")
      keys.refuse("weight_dtype", "only FP32 is read", "delete the line");
    if (keys.number("loss_scale", 0, 1e30, 1) != 1)
      keys.refuse("loss_scale", "a scaled loss is not read: everything is computed in float32", "delete the line");
  }

  // The penalty of a regularizer adds constant * w to the gradient, as weight_decay does.
  void read_penalties(Keys& keys, std::span<const StoredTensor> tensors) {
    const std::string regularizer = keys.word("weight_regularizer", {"l2norm", "none"}, "none");
    const double constant = keys.number("weight_regularizer_constant", 0, 1e30, 1);
    const double of_weights = keys.number("weight_decay", 0, 1e30, 0) + (regularizer == "l2norm" ? constant : 0);
    const double of_biases = keys.number("bias_decay", 0, 1e30, 0);
    for (const StoredTensor& tensor : tensors) {
      const std::string_view local = std::string_view(tensor.name).substr(tensor.name.rfind('.') + 1);
      const double decay = local.starts_with("weight") ? of_weights : of_biases;
      if (decay > 0 && !tensor.is_statistic)
        made_.training.groups.push_back({.names = tensor.name, .weight_decay = decay});
    }
  }

  // NNTrainer takes one norm over all gradients that have a limit.
  Result<void> finish_clipping() {
    if (clipped_.empty() || std::ranges::none_of(clipped_, [](const Clipped& each) { return each.most.has_value(); }))
      return {};
    for (const Clipped& each : clipped_)
      if (each.most != clipped_.front().most)
        return fail("E0214",
                    fmt::format("[{}]: the gradients of some layers are clipped, or by other norms", each.layer->name),
                    place_of(*each.layer->path, each.layer->section->line),
                    "write clip_grad_by_norm in [model], for all layers, and delete it from the layers");
    made_.training.clip_norm = clipped_.front().most;
    return {};
  }

  // The layers that no other reads, in the order of label_layers where it names them.
  std::vector<size_t> ends() const {
    return sorted(settings_.label_layers, [](const NetworkLayer& layer) { return !layer.is_read; });
  }

  Result<void> add_outputs() {
    std::vector<Loss> losses;
    for (const size_t place : ends()) {
      const NetworkLayer& layer = network_.layers[place];
      const Built& built = built_[place];
      PANTOUM_ASSIGN(const std::optional<Loss> loss, loss_of(layer, built));
      for (size_t output = 0; output < built.outputs.size(); ++output) {
        const std::string name = output_name(layer, built, output);
        net_.output(name, result_of(layer, built, output), place_of_layer(layer));
        if (!loss) continue;
        if (built.loss == LossLayer::kOwn) {
          net_.output(ir::kCapturedLoss, built.own_loss, place_of_layer(layer));
          losses.push_back(*loss);
          continue;
        }
        losses.push_back(*loss);
        losses.back().output = name;
        losses.back().classes_last = loss->name == "soft_cross_entropy" && !is_row(built.outputs[output]);
      }
    }
    if (!losses.empty()) made_.training.loss = Losses(std::move(losses));
    return {};
  }

  static bool is_row(const Tensor& x) { return x.shape()[1] == 1 && x.shape()[2] == 1; }

  static Place place_of_layer(const NetworkLayer& layer) {
    return {layer.path->c_str(), static_cast<unsigned>(layer.section->line)};
  }

  // [N,1,1,W] becomes [N,W]. A last activation comes behind that: the loss takes what stands before it.
  Tensor result_of(const NetworkLayer& layer, const Built& built, size_t output) {
    const Tensor& tensor = built.outputs[output];
    if (!is_row(tensor)) return tensor;
    const std::vector<int64_t> row = {0, tensor.shape()[3]};
    const Place place = place_of_layer(layer);
    if (!built.before.valid() || built.before.shape() != tensor.shape()) return net_.reshape(tensor, row, place);
    Keys keys(*layer.section, *layer.path);
    LayerSite site = site_of(layer, keys);
    return activate(site, built.activation, net_.reshape(built.before, row, place));
  }

  // The layer's name; with a number where it has several outputs, or where the name is that of the layer's own input of the model.
  static std::string output_name(const NetworkLayer& layer, const Built& built, size_t output) {
    if (built.outputs.size() > 1) return fmt::format("{}({})", layer.name, output);
    return layer.sources.empty() ? layer.name + "(0)" : layer.name;
  }

  // NNTrainer joins a last softmax or sigmoid with the loss `cross`.
  Result<std::optional<Loss>> loss_of(const NetworkLayer& layer, const Built& built) const {
    if (built.loss == LossLayer::kOwn) return Loss{.name = "captured"};
    if (built.loss == LossLayer::kMse) return Loss{.name = "mse"};
    if (built.loss == LossLayer::kCrossSoftmax) return Loss{.name = "soft_cross_entropy"};
    if (built.loss == LossLayer::kCrossSigmoid) return Loss{.name = "bce_with_logits"};
    if (settings_.loss == LossName::kNone) return std::optional<Loss>();
    if (settings_.loss == LossName::kMse) return Loss{.name = "mse"};
    if (built.activation == "softmax") return Loss{.name = "soft_cross_entropy"};
    if (built.activation == "sigmoid") return Loss{.name = "bce_with_logits"};
    return fail("E0214",
                fmt::format("[{}]: the loss 'cross' needs a last activation of softmax or sigmoid", layer.name),
                place_of(*layer.path, layer.section->line), "add activation = softmax, or take loss = mse");
  }
};

}  // namespace

void apply(const Training& training, ModelOptions& options) {
  if (training.batch) options.batch = training.batch;
  if (training.loss) options.loss = *training.loss;
  if (training.optimizer) options.optimizer = *training.optimizer;
  if (training.clip_norm) options.clip_norm = training.clip_norm;
  if (!training.groups.empty()) options.groups = training.groups;
  if (!training.freeze.empty()) options.freeze = training.freeze;
}

Result<Model> read_model(const std::string& path) {
  PANTOUM_ASSIGN(const std::string bytes, base::read_file(path));
  return parse_model(bytes, path);
}

Result<Model> parse_model(std::string_view bytes, const std::string& path) {
  PANTOUM_ASSIGN(Text text, parse_ini(bytes, path));
  PANTOUM_ASSIGN(Settings settings, read_settings(text));
  PANTOUM_ASSIGN(const Network network, read_network(std::move(text)));
  return Builder(network, std::move(settings)).build();
}

}  // namespace pantoum::ini
