#include "pipeline/request_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "base/json_text.h"
#include "plan/simulate/switches.h"

namespace pantoum::pipeline {
namespace {

using base::JsonErrors;
using base::JsonNode;
using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

constexpr const char* kCode = "E0230";
constexpr double kMostNumber = 1e300;

std::string listed(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", name);
  return text;
}

// The functions `describe` name every option once, for the reader and for the writer.

class Writer {
 public:
  explicit Writer(Json& json) : json_(json) { json_ = Json::object(); }

  template <class T>
  void field(const char* key, const T& value) {
    json_[key] = value;
  }
  template <class T>
  void field(const char* key, const std::optional<T>& value) {
    json_[key] = value ? Json(*value) : Json();
  }
  template <class T>
  void choice(const char* key, T value, const Names& names) {
    json_[key] = names.at(static_cast<size_t>(value));
  }
  template <class T>
  void choice_or_flag(const char* key, T value, const Names& names, T /*on*/) {
    choice(key, value, names);
  }
  template <class Known>
  void choices(const char* key, const Names& values, const Names& /*names*/, const Known& /*known*/) {
    json_[key] = values;
  }
  template <class T>
  void part(const char* key, T& value) {
    Writer inner(json_[key]);
    describe(inner, value);
  }
  template <class T>
  void parts(const char* key, std::vector<T>& values) {
    json_[key] = Json::array();
    for (T& value : values) {
      Writer inner(json_[key].emplace_back());
      describe(inner, value);
    }
  }

 private:
  Json& json_;
};

class Reader {
 public:
  explicit Reader(const JsonNode& node) : node_(node) {}
  // To be called last: every key that was not asked for is an error.
  void end() const { (void)node_.object(known_); }

  template <class T>
  void field(const char* key, T& value) {
    if (asks(key)) read(node_.need(key), value);
  }
  template <class T>
  void choice(const char* key, T& value, const Names& names) {
    if (!asks(key)) return;
    const JsonNode node = node_.need(key);
    value = static_cast<T>(index_in(names, node, node.text()));
  }
  // Older plans have true or false: `on`, or the first name.
  template <class T>
  void choice_or_flag(const char* key, T& value, const Names& names, T on) {
    if (!asks(key)) return;
    const JsonNode node = node_.need(key);
    if (node.raw() == nullptr || !node.raw()->is_boolean()) return choice(key, value, names);
    value = node.boolean() ? on : T{};
  }
  // `names`: what an error lists; `known` may accept other spellings too.
  template <class Known>
  void choices(const char* key, Names& values, const Names& names, const Known& known) {
    field(key, values);
    for (size_t item = 0; item < values.size(); ++item)
      if (!known(values[item])) (void)index_in(names, node_.need(key).item(item), values[item]);
  }
  template <class T>
  void part(const char* key, T& value) {
    if (asks(key)) read_part(node_.need(key), value);
  }
  template <class T>
  void parts(const char* key, std::vector<T>& values) {
    if (!asks(key)) return;
    const JsonNode node = node_.need(key);
    values.assign(node.array(), T{});
    for (size_t item = 0; item < values.size(); ++item) read_part(node.item(item), values[item]);
  }

 private:
  bool asks(const char* key) {
    known_.emplace_back(key);
    return node_.has(key);
  }
  static size_t index_in(const Names& names, const JsonNode& node, const std::string& text) {
    const auto found = std::find(names.begin(), names.end(), text);
    if (found != names.end()) return static_cast<size_t>(found - names.begin());
    if (node.raw() != nullptr) node.error(fmt::format("must be one of {}, not \"{}\"", listed(names), text));
    return 0;
  }
  template <class T>
  static void read_part(const JsonNode& node, T& value) {
    Reader inner(node);
    describe(inner, value);
    inner.end();
  }
  static void read(const JsonNode& node, bool& value) { value = node.boolean(); }
  static void read(const JsonNode& node, double& value) { value = node.number(0, kMostNumber); }
  static void read(const JsonNode& node, std::string& value) { value = node.text(); }
  static void read(const JsonNode& node, int& value) { value = static_cast<int>(node.integer(0, INT32_MAX)); }
  static void read(const JsonNode& node, int64_t& value) {
    value = node.integer(-base::kLargestInteger, base::kLargestInteger);
  }
  static void read(const JsonNode& node, uint64_t& value) {
    if (node.raw() != nullptr && node.raw()->is_number_unsigned())
      value = node.raw()->get<uint64_t>();
    else
      node.error("must be a whole number from 0");
  }
  static void read(const JsonNode& node, std::vector<double>& values) {
    values.resize(node.array());
    for (size_t item = 0; item < values.size(); ++item)
      values[item] = node.item(item).number(-kMostNumber, kMostNumber);
  }
  static void read(const JsonNode& node, Names& values) {
    values.resize(node.array());
    for (size_t item = 0; item < values.size(); ++item) values[item] = node.item(item).text();
  }
  template <class T>
  static void read(const JsonNode& node, std::optional<T>& value) {
    value.reset();
    if (!node.null()) read(node, value.emplace());
  }

  const JsonNode& node_;
  Names known_;
};

template <class Visitor>
void describe(Visitor& visitor, autodiff::LossTerm& term) {
  visitor.choice("loss", term.loss, loss_names());
  visitor.field("output", term.output);
  visitor.field("weight", term.weight);
  visitor.field("smoothing", term.smoothing);
  visitor.field("ignore_index", term.ignore_index);
  visitor.field("beta", term.beta);
  visitor.field("classes_last", term.classes_last);
  visitor.field("mean_of_batch", term.mean_of_batch);
}

template <class Visitor>
void describe(Visitor& visitor, autodiff::Metrics& metrics) {
  visitor.field("top5", metrics.top5);
  visitor.field("mean_absolute_error", metrics.mean_absolute_error);
}

template <class Visitor>
void describe(Visitor& visitor, autodiff::Sgd& sgd) {
  visitor.field("momentum", sgd.momentum);
  visitor.field("weight_decay", sgd.weight_decay);
  visitor.field("nesterov", sgd.nesterov);
}

template <class Visitor, class Adam>
void describe_adam(Visitor& visitor, Adam& adam) {
  visitor.field("beta1", adam.beta1);
  visitor.field("beta2", adam.beta2);
  visitor.field("eps", adam.eps);
  visitor.field("weight_decay", adam.weight_decay);
}

template <class Visitor>
void describe(Visitor& visitor, autodiff::Adam& adam) {
  describe_adam(visitor, adam);
}

template <class Visitor>
void describe(Visitor& visitor, autodiff::AdamW& adam) {
  describe_adam(visitor, adam);
}

template <class Visitor>
void describe(Visitor& visitor, autodiff::RmsProp& rmsprop) {
  visitor.field("alpha", rmsprop.alpha);
  visitor.field("eps", rmsprop.eps);
  visitor.field("momentum", rmsprop.momentum);
  visitor.field("weight_decay", rmsprop.weight_decay);
  visitor.field("centered", rmsprop.centered);
}

template <class Visitor>
void describe(Visitor& visitor, autodiff::Adagrad& adagrad) {
  visitor.field("lr_decay", adagrad.lr_decay);
  visitor.field("eps", adagrad.eps);
  visitor.field("weight_decay", adagrad.weight_decay);
}

template <class Visitor>
void describe(Visitor& visitor, autodiff::CustomOptimizer& custom) {
  visitor.field("operator", custom.op);
  visitor.field("states", custom.states);
  visitor.field("settings", custom.settings);
}

template <class Visitor>
void describe(Visitor& /*visitor*/, autodiff::NoOptimizer& /*none*/) {}

// The name tells which alternative the other keys are of.
template <class Visitor>
void describe(Visitor& visitor, autodiff::Optimizer& optimizer) {
  static const Names names{"sgd", "adam", "adamw", "rmsprop", "adagrad", "custom", "none"};
  static const std::vector<autodiff::Optimizer> defaults{autodiff::Sgd{},        autodiff::Adam{},
                                                         autodiff::AdamW{},      autodiff::RmsProp{},
                                                         autodiff::Adagrad{},    autodiff::CustomOptimizer{},
                                                         autodiff::NoOptimizer{}};
  size_t index = optimizer.index();
  visitor.choice("name", index, names);
  if (index != optimizer.index()) optimizer = defaults[index];
  std::visit([&](auto& alternative) { describe(visitor, alternative); }, optimizer);
}

template <class Visitor>
void describe(Visitor& visitor, autodiff::DecayOf& decay) {
  visitor.field("names", decay.names);
  visitor.field("weight_decay", decay.weight_decay);
}

template <class Visitor>
void describe(Visitor& visitor, ModelOptions& model) {
  visitor.field("path", model.path);
  visitor.field("batch", model.batch);
  visitor.parts("losses", model.training.losses);
  visitor.part("metrics", model.training.metrics);
  visitor.part("optimizer", model.training.optimizer);
  visitor.parts("decays", model.training.decays);
  visitor.field("clip_value", model.training.clip_value);
  visitor.field("clip_norm", model.training.clip_norm);
  visitor.field("accumulate", model.training.accumulate);
  visitor.field("split_update", model.training.split_update);
  visitor.field("freeze", model.training.freeze);
  visitor.field("train", model.train);
  visitor.field("accept_folded", model.accept_folded);
  visitor.field("freeze_stats", model.freeze_stats);
  visitor.field("inference", model.inference);
  visitor.field("feature_cache_bytes", model.feature_cache);
  visitor.choice("params_in", model.params_in, Names{"ram", "aux", "auto"});
  visitor.field("lr", model.lr);
  visitor.field("seed", model.seed);
  visitor.field("weights", model.weights.path);
  visitor.field("keep_init", model.weights.keep_init);
}

template <class Visitor>
void describe(Visitor& visitor, Deadline& deadline) {
  visitor.field("step_s", deadline.seconds);
  visitor.field("relative", deadline.relative);
  visitor.field("training_s", deadline.training);
}

template <class Visitor>
void describe(Visitor& visitor, TrainingLength& length) {
  visitor.field("steps", length.steps);
  visitor.field("epochs", length.epochs);
  visitor.field("samples", length.samples);
}

template <class Visitor>
void describe(Visitor& visitor, problem::Freedoms& freedoms) {
  visitor.field("paging", freedoms.paging);
  visitor.field("recomputing", freedoms.recomputing);
  visitor.field("in_place", freedoms.in_place);
  visitor.field("reordering", freedoms.reordering);
  visitor.field("numerics", freedoms.numerics);
}

template <class Visitor>
void describe(Visitor& visitor, Substitution& substitution) {
  visitor.field("rule", substitution.rule);
  visitor.field("at", substitution.at);
}

template <class Visitor>
void describe(Visitor& visitor, problem::Weights& weights) {
  visitor.field("energy", weights.joule);
  visitor.field("time", weights.second);
}

template <class Visitor>
void describe(Visitor& visitor, MeasureOptions& measure) {
  visitor.choice_or_flag("measure", measure.measure, Names{"off", "missing", "all", "auto", "known"}, Measure::kAll);
  visitor.field("profile_store", measure.profile_store);
  visitor.field("page_folder", measure.page_folder);
  visitor.field("page_encryption", measure.page_encryption);
}

template <class Visitor>
void describe_rules(Visitor& visitor, plan::Without& without) {
  Names names, known;
  for (const plan::SwitchInfo& each : plan::all_switches()) {
    known.emplace_back(each.name);
    if (without.has(each.rule)) names.emplace_back(each.name);
  }
  visitor.choices("without", names, known,
                  [](const std::string& name) { return plan::switch_named(name).has_value(); });
  for (const std::string& name : names)
    if (const auto rule = plan::switch_named(name)) without.add(*rule);
}

template <class Visitor>
void describe(Visitor& visitor, PlanRequest& request) {
  plan::PlanOptions& options = request.options;
  visitor.field("device", request.device);
  visitor.choice("kernels", request.kernels, Names{"auto", "portable", "onednn"});
  visitor.field("threads", request.kernel_threads);
  visitor.field("budget_bytes", options.question.budget);
  visitor.field("reserve_bytes", request.reserve);
  visitor.field("rom_bytes", request.rom);
  visitor.part("deadline", request.deadline);
  visitor.part("length", request.length);
  visitor.field("energy_limit_j", options.question.energy_limit);
  visitor.choice("objective", options.question.objective, Names{"energy", "time", "edp", "ram", "weighted"});
  visitor.part("weights", options.question.weights);
  visitor.field("expression", request.expression);
  visitor.part("freedoms", options.question.freedoms);
  visitor.field("fusions", request.fuse);
  visitor.field("fused_updates", request.fuse_updates);
  visitor.field("layouts", request.layouts);
  visitor.field("rewriting", request.rewrite.search);
  visitor.field("without_rules", request.rewrite.without);
  visitor.parts("substitutions", request.rewrite.substitutions);
  visitor.field("algorithms", request.rewrite.algorithms);
  visitor.field("remaking", request.rewrite.remake);
  visitor.field("attention", request.rewrite.attention);
  visitor.field("compact_activations", request.compact_activations);
  visitor.field("planner", request.planner);
  describe_rules(visitor, options.without);
  visitor.field("gap", options.gap);
  visitor.field("time_limit_s", options.time_limit);
  visitor.field("effort", options.effort);
  visitor.part("measure", request.measure);
}

template <class T>
std::string written(T value) {
  Json json;
  Writer writer(json);
  describe(writer, value);
  return base::ascii_json(json);
}

template <class T>
Result<T> read(const std::string& text, const std::string& where, const std::string& path) {
  PANTOUM_ASSIGN(const nlohmann::json json, base::parse_json(text, kCode, where));
  JsonErrors errors{kCode, where, {}};
  const JsonNode node(json, errors, path);
  T value;
  Reader reader(node);
  describe(reader, value);
  reader.end();
  if (errors.first) return Failure(std::move(*errors.first));
  return value;
}

}  // namespace

std::string model_json(const ModelOptions& model) {
  return written(model);
}

std::string request_json(const PlanRequest& request) {
  return written(request);
}

Result<ModelOptions> parse_model_json(const std::string& text, const std::string& where) {
  return read<ModelOptions>(text, where, "x-model");
}

Result<PlanRequest> parse_request_json(const std::string& text, const std::string& where) {
  return read<PlanRequest>(text, where, "x-request");
}

Result<void> take_graph_of(const problem::Plan& plan, RewriteOptions& rewrite) {
  rewrite.search = false;
  if (plan.request.empty()) return {};  // an older plan, or a bare cost graph's
  PANTOUM_ASSIGN(const PlanRequest made, parse_request_json(plan.request, "x-request"));
  rewrite.substitutions = made.rewrite.substitutions;
  rewrite.algorithms = made.rewrite.algorithms;
  rewrite.remake = made.rewrite.remake;
  rewrite.attention = made.rewrite.attention;
  return {};
}

const std::vector<std::string>& loss_names() {
  static const Names names{"cross_entropy", "soft_cross_entropy", "nll",    "mse",     "l1",
                           "smooth_l1",     "bce_with_logits",    "kl_div", "captured"};
  return names;
}

}  // namespace pantoum::pipeline
