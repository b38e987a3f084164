// Models, and the options of their training step: loss, optimizer, frozen parameters.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "pantoum/export.h"
#include "pantoum/result.hpp"
#include "pantoum/setting.hpp"
#include "pantoum/tensor.hpp"
#include "pantoum/units.hpp"

namespace pantoum {

// The names of the losses. "captured": the model computes its own loss.
inline constexpr std::array kLossNames{"cross_entropy", "soft_cross_entropy", "nll",    "mse",     "l1",
                                       "smooth_l1",     "bce_with_logits",    "kl_div", "captured"};

// One term of the loss that training minimizes, as in torch.nn.functional; a mean over the batch.
struct Loss {
  std::string name = "cross_entropy";     // one of kLossNames
  std::optional<std::string> output = {};  // the name of the model's output; nullopt: the first output
  double weight = 1;
  double smoothing = 0;
  int64_t ignore_index = -1;
  double beta = 1;
  bool classes_last = false;
  bool mean_of_batch = false;
  std::vector<double> class_weights = {};
  int64_t batch_axis = 0;
};

template <class Visitor>
void describe(Visitor& v, Loss& loss) {
  v.field(loss.name, {.name = "name", .help = "name of the loss", .shown = Shown::nowhere});
  v.field(loss.output, {.name = "output", .help = "output of the model, by its name", .shown = Shown::nowhere,
                        .otherwise = "the first"});
  v.field(loss.weight, {.name = "weight", .help = "factor of the loss in the sum of all", .least = 0, .most = 1e30});
  v.field(loss.smoothing, {.name = "smoothing", .help = "label smoothing", .least = 0, .most = 1,
                           .only_of = "cross_entropy soft_cross_entropy"});
  v.field(loss.ignore_index, {.name = "ignore_index", .help = "label that does not count; labels below 0 never do",
                              .only_of = "cross_entropy nll"});
  v.field(loss.beta, {.name = "beta", .help = "error at which the parabola of smooth_l1 ends", .least = 0,
                      .most = 1e30, .only_of = "smooth_l1"});
  v.field(loss.classes_last, {.name = "classes_last", .help = "classes are the last dimension, not dimension 1",
                              .only_of = "cross_entropy soft_cross_entropy nll"});
  v.field(loss.mean_of_batch, {.name = "mean_of_batch", .help = "divide by the number of samples, not of elements",
                               .only_of = "kl_div"});
  v.field(loss.class_weights, {.name = "class_weights",
                               .help = "a weight for each class, as 1:2:0.5; on the command line an NPY file, too",
                               .least = 0, .most = 1e30, .only_of = "cross_entropy soft_cross_entropy nll"});
  v.field(loss.batch_axis, {.name = "batch_axis", .help = "dimension of the output that is the batch: 1 of [T,N,..]",
                            .least = 0, .most = 5,
                            .only_of = "cross_entropy soft_cross_entropy nll mse l1 smooth_l1 bce_with_logits kl_div"});
}

// The loss: a name (.loss = "mse"), a Loss, or several Losses, each of another output.
class Losses {
 public:
  Losses() : terms_(1) {}
  Losses(const char* name) : terms_{Loss{.name = name}} {}
  Losses(std::string name) : terms_{Loss{.name = std::move(name)}} {}
  Losses(Loss term) : terms_{std::move(term)} {}
  Losses(std::initializer_list<Loss> terms) : terms_(terms) {}
  Losses(std::vector<Loss> terms) : terms_(std::move(terms)) {}
  [[nodiscard]] const std::vector<Loss>& terms() const { return terms_; }
  [[nodiscard]] std::vector<Loss>& terms() { return terms_; }

 private:
  std::vector<Loss> terms_;
};

// The metrics of an evaluation, in addition to the loss and, for outputs with labels, the accuracy.
struct Metrics {
  bool top5 = false, mae = false, perplexity = false;
};

template <class Visitor>
void describe(Visitor& v, Metrics& metrics) {
  v.field(metrics.top5, {.name = "top5", .help = "share of labels among the five highest scores"});
  v.field(metrics.mae, {.name = "mae", .help = "mean absolute error of outputs with targets"});
  v.field(metrics.perplexity, {.name = "perplexity", .help = "e to the cross-entropy",
                               .beside_plan = BesidePlan::taken});
}

// Optimizers; each works as in torch.optim.
struct Sgd {
  double lr = 0.01, momentum = 0, weight_decay = 0;
  bool nesterov = false;
};
struct Adam {
  double lr = 0.001, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool amsgrad = false, eps_before_correction = false;
};
struct AdamW {  // decoupled weight decay
  double lr = 0.001, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;
  bool amsgrad = false;
};
struct RmsProp {
  double lr = 0.01, alpha = 0.99, eps = 1e-8, momentum = 0, weight_decay = 0;
  bool centered = false;
};
struct Adagrad {
  double lr = 0.01, lr_decay = 0, eps = 1e-10, weight_decay = 0, initial_accumulator_value = 0;
};
// Adam in the rows of embedding tables that a step reads: other rows keep their moments. A parameter that is no such table trains as
// with Adam. The gradient of a table is never made, so that accumulate, clipping and split_update are refused beside it (E0117).
struct SparseAdam {
  double lr = 0.001, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
};
// A custom optimizer, which add_optimizer (custom_operator.hpp) has registered.
struct CustomUpdate {
  std::string name;  // "my.company::Lion"
  double lr = 0.01;
  std::vector<double> settings = {};  // the `reals` of its kernel
};
using Optimizer = std::variant<Sgd, Adam, AdamW, RmsProp, Adagrad, SparseAdam, CustomUpdate>;
// In the order of the variant's alternatives.
inline constexpr std::array kOptimizerNames{"sgd", "adam", "adamw", "rmsprop", "adagrad", "sparse_adam", "custom"};

// Settings that several optimizers have.
template <class Visitor, class Alternative>
void describe(Visitor& v, Alternative& optimizer) requires std::is_constructible_v<Optimizer, Alternative> {
  const auto number = [&](double& value, const char* name, const char* help) {
    v.field(value, {.name = name, .help = help, .least = 0, .most = 1e30});
  };
  const auto share = [&](double& value, const char* name, const char* help) {
    v.field(value, {.name = name, .help = help, .least = 0, .most = 1, .below = true});
  };
  if constexpr (requires { optimizer.name; })
    v.field(optimizer.name, {.name = "operator", .help = "name that add_optimizer was given"});
  v.field(optimizer.lr, {.name = "lr", .help = "learning rate", .option = "--lr", .shown = Shown::common, .least = 0,
                         .most = 1e30, .beside_plan = BesidePlan::taken});
  if constexpr (requires { optimizer.alpha; })
    share(optimizer.alpha, "alpha", "decay of the running mean of squared gradients");
  if constexpr (requires { optimizer.beta1; })
    share(optimizer.beta1, "beta1", "decay of the running mean of gradients");
  if constexpr (requires { optimizer.beta2; })
    share(optimizer.beta2, "beta2", "decay of the running mean of squared gradients");
  if constexpr (requires { optimizer.lr_decay; })
    number(optimizer.lr_decay, "lr_decay", "the learning rate falls as 1 / (1 + steps * lr_decay)");
  if constexpr (requires { optimizer.eps; }) number(optimizer.eps, "eps", "number added to the denominator");
  if constexpr (requires { optimizer.momentum; }) number(optimizer.momentum, "momentum", "factor of the last update");
  if constexpr (requires { optimizer.weight_decay; })
    v.field(optimizer.weight_decay, {.name = "weight_decay", .help = "L2 penalty; of adamw, decoupled weight decay",
                                     .option = "--weight-decay", .least = 0, .most = 1e30});
  if constexpr (requires { optimizer.initial_accumulator_value; })
    number(optimizer.initial_accumulator_value, "initial_accumulator_value",
           "sum of squared gradients to begin with");
  if constexpr (requires { optimizer.amsgrad; })
    v.field(optimizer.amsgrad, {.name = "amsgrad", .help = "divide by the largest mean of squared gradients so far"});
  if constexpr (requires { optimizer.eps_before_correction; })
    v.field(optimizer.eps_before_correction,
            {.name = "eps_before_correction",
             .help = "add eps to the root before its bias correction, as TensorFlow and NNTrainer do"});
  if constexpr (requires { optimizer.nesterov; })
    v.field(optimizer.nesterov, {.name = "nesterov", .help = "Nesterov's form of momentum"});
  if constexpr (requires { optimizer.centered; })
    v.field(optimizer.centered, {.name = "centered", .help = "normalize by the variance, not by the mean square"});
  if constexpr (requires { optimizer.settings; })
    v.field(optimizer.settings, {.name = "settings", .help = "numbers that the update's kernel reads"});
}

// Parameters with a learning rate or a weight decay of their own, which can be set between steps.
struct ParameterGroup {
  std::string names;  // a glob; or several, with | between them
  std::optional<double> lr = {}, weight_decay = {};
};

template <class Visitor>
void describe(Visitor& v, ParameterGroup& group) {
  v.field(group.names, {.name = "names", .help = "glob over parameters, or several with | between them"});
  v.field(group.lr, {.name = "lr", .help = "learning rate", .otherwise = "the optimizer's", .least = 0, .most = 1e30});
  v.field(group.weight_decay, {.name = "weight_decay", .help = "weight decay", .otherwise = "the optimizer's",
                               .least = 0, .most = 1e30});
}

// The place of parameters and optimizer state between steps.
enum class ParamsIn : uint8_t { ram, aux, automatic };
[[nodiscard]] constexpr std::array<const char*, 3> names_of(ParamsIn) {
  return {"ram", "aux", "auto"};
}

// The options of training a model. Globs match names of tensors, as in fnmatch(3).
struct ModelOptions {
  std::optional<int64_t> batch = {};
  std::vector<std::string> shapes = {};  // "x=N,3,224,224": for inputs of ONNX files with open dimensions
  Losses loss = {};
  Optimizer optimizer = Sgd{};
  std::vector<ParameterGroup> groups = {};  // the last entry that matches a parameter applies; not for custom optimizers
  std::vector<std::string> freeze = {};
  std::optional<double> clip_value = {}, clip_norm = {};
  int64_t accumulate = 1;
  bool split_update = false;  // compile Trainer::gradients and Trainer::update as two programs
  Metrics metrics = {};
  std::vector<std::string> train = {};
  std::vector<std::string> train_channels = {};  // "GLOB=[in:|out:]SHARE": 25%, 1/4 or a number of channels; the last that matches applies
  std::optional<std::string> update_within = {}, contributions = {};
  std::vector<std::string> freeze_stats = {};
  bool accept_folded = false;
  bool inference = false;
  std::optional<std::string> weights = {};
  std::vector<std::string> keep_init = {};
  std::optional<Bytes> feature_cache = {};
  ParamsIn params_in = ParamsIn::ram;
};

template <class Visitor>
void describe(Visitor& v, ModelOptions& o) {
  v.group("model");
  v.field(o.batch, {.name = "batch", .help = "number of samples in a step; needed where the model leaves it open",
                    .option = "--batch", .shown = Shown::common, .otherwise = "the model's own", .least = 1,
                    .most = INT32_MAX});
  v.field(o.shapes, {.name = "shapes",
                     .help = "INPUT=N,3,224,224: numbers for the open dimensions of an input, N for the batch; or NAME=16: for a "
                             "dimension that has a name",
                     .option = "--shape"});
  v.field(o.weights, {.name = "weights", .help = "safetensors file whose tensors replace the model's, by name",
                      .option = "--weights", .shown = Shown::common, .holds = Holds::weights,
                      .beside_plan = BesidePlan::taken});
  v.field(o.keep_init, {.name = "keep_init", .help = "parameters that --weights leaves as they are, as globs",
                        .option = "--keep-init", .holds = Holds::glob, .beside_plan = BesidePlan::taken});
  v.field(o.freeze, {.name = "freeze", .help = "parameters that are not trained, as globs", .option = "--freeze",
                     .shown = Shown::common, .holds = Holds::glob});
  v.field(o.train, {.name = "train", .help = "tensors that are trained although the model's file fixes them, as globs",
                    .option = "--train", .holds = Holds::glob});
  v.field(o.train_channels, {.name = "train_channels",
                             .help = "GLOB=[in:|out:]SHARE: weights of which only the first channels are trained, of the inputs or "
                                     "outputs, as conv5.weight=25%, =1/4 or =out:16",
                             .option = "--train-channels"});
  v.field(o.update_within, {.name = "update_within",
                            .help = "most that a step takes, as an energy (20mJ), a time (30ms) or RAM (206KiB): of the tensors that "
                                    "--contributions lists those are trained that contribute the most in it",
                            .option = "--update-within", .otherwise = "off", .recorded = false});
  v.field(o.contributions, {.name = "contributions",
                            .help = "CSV of tensors and what training each of them contributes, for --update-within",
                            .option = "--contributions", .otherwise = "none", .recorded = false});
  v.field(o.freeze_stats, {.name = "freeze_stats",
                           .help = "running statistics that training uses and leaves as they are, as globs",
                           .option = "--freeze-stats", .holds = Holds::glob});
  v.field(o.accept_folded, {.name = "accept_folded",
                            .help = "train the model as it is although its exporter folded parts that train, as batch "
                                    "norm",
                            .option = "--accept-folded"});
  v.field(o.inference, {.name = "inference", .help = "plan the forward program alone, in which nothing trains",
                        .option = "--inference"});
  v.field(o.params_in, {.name = "params_in", .help = "where parameters and optimizer state live between steps",
                        .option = "--params-in"});
  v.group("training");
  v.field(o.loss, {.name = "loss", .help = "what is minimized, as [OUTPUT=]LOSS[,KEY=VALUE]; once for each output that has targets",
                   .option = "--loss", .shown = Shown::common});
  v.field(o.metrics, {.name = "metrics", .help = "what is measured beside loss and accuracy", .option = "--metrics",
                      .list = true});
  v.field(o.optimizer, {.name = "optimizer", .help = "optimizer with its settings, as adam,beta1=0.8", .option = "--optimizer",
                        .shown = Shown::common});
  v.field(o.groups, {.name = "groups",
                     .help = "GLOB[|GLOB..][,lr=LR][,weight_decay=VALUE]: parameters with a learning rate or weight "
                             "decay of their own",
                     .option = "--group"});
  v.field(o.clip_value, {.name = "clip_value", .help = "clip each gradient element to [-V, V]",
                         .option = "--clip-value", .otherwise = "off", .least = 0, .most = 1e30, .above = true});
  v.field(o.clip_norm, {.name = "clip_norm", .help = "scale gradients down to this norm of all of them together",
                        .option = "--clip-norm", .otherwise = "off", .least = 0, .most = 1e30, .above = true});
  v.field(o.accumulate, {.name = "accumulate", .help = "number of batches whose mean gradient makes one step",
                         .option = "--accumulate", .least = 1, .most = 1e6});
  v.field(o.split_update, {.name = "split_update", .help = "make gradients and update two programs",
                           .option = "--split-update"});
  v.group("data");
  v.field(o.feature_cache, {.name = "feature_cache",
                            .help = "bytes of storage for what a frozen backbone gives, computed once for each sample",
                            .option = "--feature-cache", .otherwise = "off", .least = 0});
}

// One node of the model's file.
struct NodeInfo {
  std::string name, op_type, domain;
  bool runs = false, trains = false;
  std::string problem;  // what is wrong and what to do; empty: nothing is wrong
  std::vector<std::string> output_shapes;
};

// A tensor of the model's file.
struct WeightInfo {
  std::string name, type;  // "f32[64,3,7,7]"
  bool trains = false;  // also where the file leaves it open
  std::string why;
};

struct ModelInfo {
  std::string producer, graph_name;
  int64_t opset = 0, parameter_count = 0;
  std::vector<std::string> inputs, outputs;  // "x f32[N,3,8,8]"
  std::vector<NodeInfo> nodes;
  std::vector<WeightInfo> weights;
  std::vector<std::string> warnings, notes;
  std::optional<Error> refusal;  // why the model cannot be trained; nullopt: it can
};

class Plan;

// A model and its training options. A handle: copies share one immutable model, and any thread may use it.
class PANTOUM_API Model {
 public:
  // Loads a model file. Reads the file now, to check that every node is supported and that the options are valid. Planning reads the file again and
  // adds loss, weights and frozen parameters, so the model takes no RAM during training. E01xx: of the options; E02xx: of the file; E04xx: nodes that
  // are not supported. One error lists all problems.
  [[nodiscard]] static Result<Model> from_file(const std::string& path, ModelOptions options = {});
  // Loads a model from the bytes of an ONNX file (ModelBuilder::onnx returns such bytes). The bytes stay in RAM as long as the model.
  [[nodiscard]] static Result<Model> from_onnx(std::string bytes, ModelOptions options = {});

  // Describes every node and weight, and whether the model can be trained. Cost: that of an import.
  [[nodiscard]] Result<ModelInfo> inspect() const;
  // Returns the bytes of the model's file, unchanged. E0201.
  [[nodiscard]] Result<std::string> contents() const;
  // Writes the model's file, unchanged. E0901.
  [[nodiscard]] Result<void> save(const std::string& path) const;
  [[nodiscard]] const ModelOptions& options() const;
  // Returns the same model with other training options.
  [[nodiscard]] Result<Model> with(ModelOptions options) const;

 private:
  friend struct Access;
  struct Impl;
  explicit Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace pantoum
