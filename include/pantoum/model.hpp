// Models, and what a training step of them is: loss, optimizer, what is frozen.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "pantoum/export.h"
#include "pantoum/result.hpp"
#include "pantoum/tensor.hpp"
#include "pantoum/units.hpp"

namespace pantoum {

// One term of what is minimized, as torch.nn.functional has it; a mean over the batch.
struct Loss {
  // cross_entropy, soft_cross_entropy, nll, mse, l1, smooth_l1, bce_with_logits, kl_div
  std::string name = "cross_entropy";
  std::string output = {};     // of the model, by its name; "": the first
  double weight = 1;           // its part in the sum
  double smoothing = 0;        // of labels: cross-entropy
  int64_t ignore_index = -1;   // a label that does not count, beside those below 0
  double beta = 1;             // smooth_l1: where the parabola ends
  bool classes_last = false;   // classes are the last dimension, in place of dimension 1
  bool mean_of_batch = false;  // kl_div: over the samples' number, in place of the elements'
};

// .loss = "mse", or a Loss, or several, each of another output.
class Losses {
 public:
  Losses() : terms_(1) {}
  Losses(const char* name) : terms_{Loss{.name = name}} {}
  Losses(std::string name) : terms_{Loss{.name = std::move(name)}} {}
  Losses(Loss term) : terms_{std::move(term)} {}
  Losses(std::initializer_list<Loss> terms) : terms_(terms) {}
  Losses(std::vector<Loss> terms) : terms_(std::move(terms)) {}
  [[nodiscard]] const std::vector<Loss>& terms() const { return terms_; }

 private:
  std::vector<Loss> terms_;
};

// Optimizers, each as torch.optim has it.
struct Sgd {
  double lr = 0.01, momentum = 0, weight_decay = 0;
  bool nesterov = false;
};
struct Adam {
  double lr = 0.001, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
};
struct AdamW {
  double lr = 0.001, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;
};
struct RmsProp {
  double lr = 0.01, alpha = 0.99, eps = 1e-8, momentum = 0, weight_decay = 0;
  bool centered = false;
};
struct Adagrad {
  double lr = 0.01, lr_decay = 0, eps = 1e-10, weight_decay = 0;
};
// An optimizer of your own: add_optimizer (custom_operator.hpp) made its name known.
struct CustomUpdate {
  std::string name;  // "my.company::Lion"
  double lr = 0.01;
  std::vector<double> settings = {};  // what its kernel reads as `reals`
};
using Optimizer = std::variant<Sgd, Adam, AdamW, RmsProp, Adagrad, CustomUpdate>;

// The weight decay of some parameters, in place of the optimizer's.
struct DecayOf {
  std::string names;  // a glob
  double weight_decay = 0;
};

// How a model is trained. Globs are those of fnmatch(3), over names of tensors.
struct ModelOptions {
  int64_t batch = 0;  // samples of a step; 0: as the model has it, where it is static
  Losses loss = {};
  Optimizer optimizer = Sgd{};
  std::vector<DecayOf> decays = {};            // the last that names a parameter holds; not for custom optimizers
  int64_t accumulate = 1;                      // micro-batches whose mean gradient makes a step
  bool split_update = false;                   // Trainer::gradients and update, as two programs
  double clip_value = 0, clip_norm = 0;        // limits of gradients; 0: none
  std::vector<std::string> freeze = {};        // parameters that are not trained
  std::vector<std::string> train = {};         // tensors that are trained though the file says otherwise
  std::vector<std::string> freeze_stats = {};  // running statistics that stay as they are
  bool accept_folded = false;                  // train what the exporter folded as it stands in the file
  std::string weights = {};                    // safetensors whose tensors replace the model's, by name
  std::vector<std::string> keep_init = {};     // parameters that `weights` leaves alone
  // Compute a frozen backbone once for every sample, and keep what it gives in at most so many bytes of storage.
  std::optional<Bytes> feature_cache = {};
  bool top5 = false, mean_absolute_error = false;  // measured beside loss and accuracy
};

// One node of the model's file.
struct NodeInfo {
  std::string name, op_type, domain;
  bool runs = false, trains = false;
  std::string problem;  // empty: fine; else what is wrong and what to do
  std::vector<std::string> output_shapes;
};

// A tensor of the model's file.
struct WeightInfo {
  std::string name, type;  // "f32[64,3,7,7]"
  bool trains = false;
  std::string why;
};

struct ModelInfo {
  std::string producer, graph_name;
  int64_t opset = 0, parameter_count = 0;
  std::vector<std::string> inputs, outputs;  // "x f32[N,3,8,8]"
  std::vector<NodeInfo> nodes;
  std::vector<WeightInfo> weights;
  std::vector<std::string> warnings, notes;
  std::optional<Error> refusal;  // why it cannot be trained; none: it can
};

class Plan;

// A model and how it is trained. A handle: copies share one immutable model, from any thread.
class PANTOUM_API Model {
 public:
  // From a file: read now, once, to see that every node is supported and the options are sound; read again when it is
  // planned (which joins the loss, the weights and what is frozen), so that it takes no RAM while it is trained. E01xx options, E02xx the file, E04xx what is not supported, all problems at once.
  [[nodiscard]] static Result<Model> from_file(const std::string& path, ModelOptions options = {});
  // From the bytes of an ONNX model (ModelBuilder::onnx makes them), which stay in RAM as long as the model.
  [[nodiscard]] static Result<Model> from_onnx(std::string bytes, ModelOptions options = {});

  // Every node and weight, and whether it trains; cost: that of an import.
  [[nodiscard]] Result<ModelInfo> inspect() const;
  // The bytes of the model's file as it was given. E0201.
  [[nodiscard]] Result<std::string> contents() const;
  // The model as it was given, as a file. E0901.
  [[nodiscard]] Result<void> save(const std::string& path) const;
  [[nodiscard]] const ModelOptions& options() const;
  // The same model, trained in another way.
  [[nodiscard]] Result<Model> with(ModelOptions options) const;

 private:
  friend struct Access;
  struct Impl;
  explicit Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace pantoum
