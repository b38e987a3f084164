#include "ini/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace pantoum::ini {
namespace {

constexpr double kAny = 1e30;

// `path` as it is named from the folder of the model file.
std::string beside(const Text& file, const std::string& path) {
  return (std::filesystem::path(file.path).parent_path() / path).lexically_normal().string();
}

class SettingsReader {
 public:
  explicit SettingsReader(const Text& file) : file_(file) {}

  Result<Settings> read() {
    if (const Section* section = file_.find("model")) PANTOUM_TRY(read_model(*section));
    if (const Section* section = file_.find("optimizer")) PANTOUM_TRY(read_optimizer(*section));
    if (const Section* section = file_.find("learningratescheduler")) PANTOUM_TRY(read_scheduler(*section));
    PANTOUM_TRY(read_old_data());
    PANTOUM_TRY(read_data("train_set", made_.training.train_data));
    PANTOUM_TRY(read_data("valid_set", made_.training.test_data));
    if (const Section* section = file_.find("test_set")) ignore_all(*section, "evaluate with pantoum eval --data");
    finish_rate();
    return std::move(made_);
  }

 private:
  const Text& file_;
  Settings made_;
  bool adam_ = true;  // NNTrainer's optimizer where none is named
  bool has_optimizer_ = false;
  Adam adam_settings_{.eps = 1e-7, .eps_before_correction = true};
  double decay_ = 0;
  std::optional<double> rate_, decay_rate_, scheduler_rate_;
  double decay_steps_ = 0;

  void note(const std::string& text) { made_.training.notes.push_back(text); }

  void ignore_all(const Section& section, const std::string& instead) {
    note(fmt::format("{}: [{}] is passed over: {}", place_of(file_.path, section.line), section.name, instead));
  }

  // Keys of NNTrainer that say how it keeps its memory: the plan says that here.
  void pass_over(Keys& keys, const std::vector<const char*>& names) {
    for (const char* name : names)
      if (const Entry* found = keys.entry(name))
        note(fmt::format("{}: '{}' is passed over: the plan decides that", place_of(file_.path, found->line), name));
  }

  Result<void> read_model(const Section& section) {
    Keys keys(section, file_.path);
    keys.ignore("type");
    Training& training = made_.training;
    if (keys.entry("epochs") != nullptr) training.epochs = keys.whole("epochs", 1, 1);
    training.batch = keys.whole("batch_size", 1, 1);
    const std::string loss = keys.word("loss", {"mse", "cross", "none"}, "none");
    made_.loss = loss == "mse" ? LossName::kMse : loss == "cross" ? LossName::kCross : LossName::kNone;
    made_.clip_of_all = clip_limit(keys);
    read_names(keys, "input_layers", made_.input_layers);
    read_names(keys, "label_layers", made_.label_layers);
    keys.ignore("save_path"), keys.ignore("save_best_path");
    training.continue_train = keys.boolean("continue_train", false);
    keys.ignore("tensor_format"), keys.ignore("tensor_type");
    pass_over(keys, {"memory_optimization", "fsu", "fsu_path", "fsu_lookahead", "memory_swap", "memory_swap_path",
                     "memory_swap_lookahead"});
    if (keys.number("loss_scale", 0, kAny, 1) != 1)
      keys.refuse("loss_scale", "a scaled loss is not read: everything is computed in float32", "delete the line");
    if (lower_case(keys.text("model_tensor_type", "FP32-FP32")) != "fp32-fp32")
      keys.refuse("model_tensor_type", "only FP32-FP32 is read", "delete the line");
    const Entry* const old = keys.entry("optimizer");
    if (old == nullptr) {
      pass_over_rate(keys);
      return keys.done();
    }
    has_optimizer_ = true;
    adam_ = keys.word("optimizer", {"sgd", "adam"}, old->value) == "adam";
    read_rate(keys);
    return keys.done();
  }

  static void read_names(Keys& keys, const char* key, NamedLayers& into) {
    const Entry* const found = keys.entry(key);
    if (found == nullptr) return;
    into.line = found->line;
    for (const std::string& name : comma_list(found->value)) into.names.push_back(lower_case(name));
  }

  // Keys of old files, which had the optimizer in [model].
  void pass_over_rate(Keys& keys) {
    for (const char* name : {"learning_rate", "decay_rate", "decay_steps", "beta1", "beta2", "epsilon"})
      if (const Entry* found = keys.entry(name))
        note(fmt::format("{}: '{}' of [model] is passed over, as by NNTrainer, since [model] names no optimizer",
                         place_of(file_.path, found->line), name));
  }

  // The keys that [optimizer] has, and [model] had in old files.
  void read_rate(Keys& keys) {
    if (keys.entry("learning_rate") != nullptr) rate_ = keys.number("learning_rate", 0, kAny, 0);
    if (keys.entry("decay_rate") != nullptr) decay_rate_ = keys.number("decay_rate", 0, 1, 1);
    decay_steps_ = keys.number("decay_steps", 1, kAny, decay_steps_ == 0 ? 1 : decay_steps_);
    adam_settings_.beta1 = keys.number("beta1", 0, 1, adam_settings_.beta1);
    adam_settings_.beta2 = keys.number("beta2", 0, 1, adam_settings_.beta2);
    adam_settings_.eps = keys.number("epsilon", 0, 1, adam_settings_.eps);
  }

  Result<void> read_optimizer(const Section& section) {
    Keys keys(section, file_.path);
    has_optimizer_ = true;
    const std::string type = keys.word("type", {"sgd", "adam", "adamw"}, "adam");
    adam_ = type != "sgd";
    if (type == "adamw")
      keys.refuse("type", "NNTrainer's adamw is not read from .ini files",
                  "delete the line and give --optimizer adamw");
    read_rate(keys);
    adam_settings_.eps_before_correction = !keys.boolean("torch_ref", false);
    decay_ = keys.number("weight_decay", 0, kAny, 0);
    return keys.done();
  }

  Result<void> read_scheduler(const Section& section) {
    Keys keys(section, file_.path);
    const std::string type = keys.word("type", {"constant", "exponential", "step", "linear", "cosine"}, std::nullopt);
    if (type == "linear" || type == "cosine") {
      read_slope(keys, type);
      return keys.done();
    }
    const std::vector<double> rates = keys.numbers("learning_rate", 0, kAny);
    const std::vector<int64_t> at = keys.wholes("iteration", 0, 4096);
    if (!rates.empty()) scheduler_rate_ = rates.front();
    if (keys.entry("decay_rate") != nullptr) decay_rate_ = keys.number("decay_rate", 0, 1, 1);
    decay_steps_ = keys.number("decay_steps", 1, kAny, 1);
    if (type != "exponential") decay_rate_.reset();
    if (type == "exponential" && !decay_rate_)
      keys.refuse("", "the key 'decay_rate' is missing", "add decay_rate = 0.96, or another");
    if (type == "step") read_steps(keys, rates, at);
    return keys.done();
  }

  // From the one rate to the other in `decay_steps` steps. NNTrainer's cosine begins again then, its linear rate stays.
  void read_slope(Keys& keys, const std::string& type) {
    const double most = keys.number("max_learning_rate", 0, kAny, std::nullopt);
    const double least = keys.number("min_learning_rate", 0, kAny, std::nullopt);
    const double steps = keys.number("decay_steps", 1, 1e15, std::nullopt);
    if (least > most) keys.refuse("min_learning_rate", "the least rate is above the most", "exchange the two");
    if (steps != std::floor(steps))
      keys.refuse("decay_steps", fmt::format("{} is no whole number", steps), "write 100");
    decay_rate_.reset();
    scheduler_rate_ = most;
    made_.training.schedule =
        fmt::format("{},to={},{}={}", type, least, type == "cosine" ? "every" : "over", static_cast<int64_t>(steps));
  }

  // NNTrainer counts iterations from 0, and the rate changes behind the iteration that is named.
  void read_steps(Keys& keys, const std::vector<double>& rates, const std::vector<int64_t>& at) {
    if (rates.size() < 2 || rates.size() != at.size() + 1)
      return keys.refuse("learning_rate", "a step schedule has one rate more than iterations",
                         "write learning_rate = 0.1, 0.01 and iteration = 1000, or others");
    if (!std::ranges::is_sorted(at, std::less_equal()))
      return keys.refuse("iteration", "the iterations do not rise", "write them from the first to the last");
    std::vector<int64_t> first;
    first.reserve(at.size());
    for (const int64_t last : at) first.push_back(last + 1);
    made_.training.schedule =
        fmt::format("multi_step,at={},to={}", fmt::join(first, ":"), fmt::join(rates.begin() + 1, rates.end(), ":"));
  }

  // [dataset] of old files. Its labels have no effect in NNTrainer either.
  Result<void> read_old_data() {
    const Section* const section = file_.find("dataset");
    if (section == nullptr) return {};
    Keys keys(*section, file_.path);
    for (const auto& [key, into] :
         {std::pair{"traindata", &made_.training.train_data}, std::pair{"validdata", &made_.training.test_data}})
      if (const Entry* found = keys.entry(key)) *into = beside(file_, found->value);
    for (const char* key : {"testdata", "labeldata", "buffersize", "buffer_size"}) keys.ignore(key);
    return keys.done();
  }

  Result<void> read_data(std::string_view name, std::optional<std::string>& into) {
    const Section* const section = file_.find(name);
    if (section == nullptr) return {};
    Keys keys(*section, file_.path);
    if (keys.word("type", {"file"}, "file") == "file") into = keys.text("path");
    keys.ignore("buffer_size");
    return keys.done();
  }

  // The scheduler's rate, else the optimizer's, else NNTrainer's own.
  void finish_rate() {
    if (!has_optimizer_) return;
    Training& training = made_.training;
    const double rate = scheduler_rate_ ? *scheduler_rate_ : rate_.value_or(adam_ ? 1e-3 : 1e-4);
    adam_settings_.lr = rate;
    adam_settings_.weight_decay = decay_;
    training.optimizer = adam_ ? Optimizer(adam_settings_) : Optimizer(Sgd{.lr = rate, .weight_decay = decay_});
    if (decay_rate_ && !training.schedule)
      training.schedule = fmt::format("exponential,gamma={}", std::pow(*decay_rate_, 1 / decay_steps_));
  }
};

}  // namespace

std::optional<double> clip_limit(Keys& keys) {
  constexpr double kLeast = 1e-6;
  const double limit = keys.number("clip_grad_by_norm", 0, kAny, 0);
  return limit > kLeast ? std::optional(limit) : std::nullopt;
}

Result<Settings> read_settings(const Text& file) {
  return SettingsReader(file).read();
}

}  // namespace pantoum::ini
