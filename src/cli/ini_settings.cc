#include "cli/ini_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/contents.h"
#include "cli/planning.h"
#include "ini/model.h"

namespace pantoum::cli {
namespace {

class Taker {
 public:
  Taker(const std::vector<Given>& given, const IniTargets& into) : given_(given), into_(into) {}

  Result<void> take() {
    const Given* const model = of("MODEL");
    if (model == nullptr || of("--plan") != nullptr) return {};
    if (base::contents_of(model->value) != base::Contents::kIni) return {};
    PANTOUM_ASSIGN(ini::Model read, ini::read_model(model->value));
    ini::Training& file = read.training;
    PANTOUM_TRY(check(file, model->value));
    ModelOptions& options = *into_.model;
    put(file.batch, options.batch, "--batch", "batch_size");
    put(file.loss, options.loss, "--loss", "loss");
    put(file.optimizer, options.optimizer, "--optimizer", "optimizer");
    if (file.optimizer && of("--lr") != nullptr) tell("--lr", "learning_rate");
    put(file.clip_norm, options.clip_norm, "--clip-norm", "clip_grad_by_norm");
    put_list(std::move(file.groups), options.groups, "--group", "penalties of weights");
    put_list(std::move(file.freeze), options.freeze, "--freeze", "trainable");
    std::optional<uint64_t> epochs;
    if (file.epochs) epochs = static_cast<uint64_t>(*file.epochs);
    if (into_.fit != nullptr) put(epochs, into_.fit->epochs, "--epochs", "epochs");
    if (into_.trainer != nullptr) put(file.schedule, into_.trainer->schedule, "--schedule", "learning rate scheduler");
    take_data(file);
    return {};
  }

 private:
  const std::vector<Given>& given_;
  const IniTargets& into_;

  const Given* of(std::string_view option) const {
    const auto found = std::find_if(given_.begin(), given_.end(),
                                    [&](const Given& each) { return each.option->is_called(std::string(option)); });
    return found == given_.end() ? nullptr : &*found;
  }

  Result<void> check(const ini::Training& file, const std::string& path) const {
    if (!into_.trains || of("--inference") != nullptr) return {};
    if (!file.loss && of("--loss") == nullptr)
      return fail("E0214", "the file names no loss", path,
                  "give one with --loss: mse, or soft_cross_entropy for probabilities of classes");
    if (!file.optimizer && of("--optimizer") == nullptr)
      return fail("E0214", "the file names no optimizer", path, "give one with --optimizer: sgd, or adam");
    return {};
  }

  void tell(const char* option, const char* key) const {
    print_note(fmt::format("{} replaces the {} of the model's file", option, key));
  }

  // The file's data sets belong together: with --data it gives none.
  void take_data(ini::Training& file) const {
    if (of("--data") != nullptr) {
      if (into_.data != nullptr && (file.train_data || file.test_data)) tell("--data", "data sets");
      return;
    }
    if (into_.data != nullptr) put(file.train_data, *into_.data, "--data", "training data");
    if (into_.samples != nullptr) put(file.test_data, into_.samples->test_path, "--test-data", "validation data");
  }

  template <class Value, class Option>
  void put(std::optional<Value>& value, Option& option, const char* name, const char* key) const {
    if (!value) return;
    if (of(name) != nullptr) tell(name, key);
    option = *std::move(value);
  }

  template <class Value>
  void put_list(std::vector<Value> values, std::vector<Value>& option, const char* name, const char* key) const {
    if (values.empty()) return;
    if (of(name) != nullptr) tell(name, key);
    option = std::move(values);
  }
};

}  // namespace

bool is_named_or_holds(const std::string& path, const char* ending, base::Contents contents) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return path.ends_with(ending);
  return base::contents_of(path) == contents;
}

void add_ini_settings(Verb& verb, const IniTargets& into) {
  verb.begins([into](const std::vector<Given>& given) { return Taker(given, into).take(); });
}

}  // namespace pantoum::cli
