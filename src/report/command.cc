#include "report/command.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/foreign_text.h"

namespace pantoum::report {
namespace {

using Json = nlohmann::ordered_json;

class Words {
 public:
  explicit Words(const std::string& verb) : line_("pantoum " + verb) {}

  void word(const std::string& value) { line_ += " " + base::shell_word(value); }
  void flag(const char* name, bool on) {
    if (on) line_ += fmt::format(" {}", name);
  }
  void option(const char* name, const std::string& value) {
    if (!value.empty()) line_ += fmt::format(" {} {}", name, base::shell_word(value));
  }
  // A number or a text of `from`, unless it is missing, null or as without the option.
  void option(const char* name, const Json& from, const char* key, const Json& usual) {
    if (!from.is_object() || !from.contains(key) || from[key].is_null() || from[key] == usual) return;
    option(name, shown(from[key]));
  }
  void each(const char* name, const Json& from, const char* key) {
    if (from.is_object() && from.contains(key) && from[key].is_array())
      for (const Json& value : from[key]) option(name, shown(value));
  }
  void with_unit(const char* name, const Json& from, const char* key, const char* unit, const char* before = "") {
    if (from.is_object() && from.contains(key) && from[key].is_number() && from[key] != 0)
      option(name, before + shown(from[key]) + unit);
  }
  [[nodiscard]] const std::string& line() const { return line_; }

 private:
  static std::string shown(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', true, Json::error_handler_t::replace);
  }
  std::string line_;
};

std::string loss_word(const Json& loss) {
  std::string word = loss.value("loss", "");
  std::string settings;
  const auto put = [&](const char* key, const Json& usual) {
    if (!loss.contains(key) || loss[key] == usual) return;
    const std::string value = loss[key].is_string() ? loss[key].get<std::string>()
                                                    : loss[key].dump(-1, ' ', true, Json::error_handler_t::replace);
    settings += fmt::format("{}{}={}", settings.empty() ? ":" : ",", key, value);
  };
  put("output", "");
  put("weight", 1.0);
  put("smoothing", 0.0);
  return word + settings;
}

void put_model(const Json& model, Words& words) {
  words.option("--batch", model, "batch", 0);
  if (model.contains("losses"))
    for (const Json& loss : model["losses"])
      if (loss.is_object()) words.option("--loss", loss_word(loss));
  if (model.contains("optimizer") && model["optimizer"].is_object()) {
    const Json& optimizer = model["optimizer"];
    words.option("--optimizer", optimizer, "name", "");
    words.option("--momentum", optimizer, "momentum", 0.0);
    words.flag("--nesterov", optimizer.value("nesterov", false));
    const bool decays = optimizer.contains("name") && optimizer["name"] == "adamw";  // unless another is asked for
    words.option("--weight-decay", optimizer, "weight_decay", decays ? Json(nullptr) : Json(0.0));
    words.option("--beta1", optimizer, "beta1", 0.9);
    words.option("--beta2", optimizer, "beta2", 0.999);
    words.option("--eps", optimizer, "eps", optimizer.value("name", "") == "adagrad" ? 1e-10 : 1e-8);
    words.option("--alpha", optimizer, "alpha", 0.99);
    words.flag("--centered", optimizer.value("centered", false));
    words.option("--lr-decay", optimizer, "lr_decay", 0.0);
  }
  words.option("--lr", model, "lr", 0.01);
  words.option("--accumulate", model, "accumulate", 1);
  words.option("--clip-norm", model, "clip_norm", 0.0);
  words.option("--clip-value", model, "clip_value", 0.0);
  words.each("--freeze", model, "freeze");
  words.each("--train", model, "train");
  words.flag("--accept-folded", model.value("accept_folded", false));
  words.each("--freeze-stats", model, "freeze_stats");
  words.with_unit("--feature-cache", model, "feature_cache_bytes", "B");
  words.option("--params-in", model, "params_in", "ram");
  words.option("--weights", model, "weights", "");
  words.each("--keep-init", model, "keep_init");
  words.option("--seed", model, "seed", 0);
}

void put_freedoms(const Json& from, Words& words) {
  if (!from.contains("freedoms") || !from["freedoms"].is_object()) return;
  const Json& freedoms = from["freedoms"];
  words.flag("--no-paging", !freedoms.value("paging", true));
  words.flag("--no-remat", !freedoms.value("recomputing", true));
  words.flag("--no-inplace", !freedoms.value("in_place", true));
  words.flag("--no-reorder", !freedoms.value("reordering", true));
}

// How long was trained, where the plan was told.
void put_length(const Json& request, Words& words) {
  if (!request.contains("length") || !request["length"].is_object()) return;
  words.option("--epochs", request["length"], "epochs", 0);
}

void put_request(const Json& request, Words& words) {
  words.option("--device", request, "device", "");
  words.with_unit("--ram", request, "budget_bytes", "B");
  words.with_unit("--reserve", request, "reserve_bytes", "B");
  if (request.contains("deadline") && request["deadline"].is_object()) {
    words.with_unit("--deadline", request["deadline"], "step_s", "s");
    words.with_unit("--deadline", request["deadline"], "relative", "x");
  }
  words.with_unit("--at-most", request, "energy_limit_j", "J", "energy=");
  words.option("--objective", request, "objective", "energy");
  put_freedoms(request, words);
  words.flag("--compact-activations", request.value("compact_activations", false));
  words.option("--kernels", request, "kernels", "auto");
  words.option("--threads", request, "threads", nullptr);
  words.option("--effort", request, "effort", 0);
  if (request.contains("effort") && request["effort"] == 0)
    words.with_unit("--time-limit", request, "time_limit_s", "s");
  words.option("--gap", request, "gap", 1e-4);
  if (request.contains("measure") && request["measure"].is_object())
    words.option("--measure", request["measure"], "measure", "auto");
}

// A value of another type than an option's is none: plan files are a stranger's.
template <class Put>
void tolerant(const Json& options, Words& words, Put put) {
  Words tried = words;
  try {
    if (options.is_object()) put(options, tried);
    words = tried;
  } catch (const Json::exception&) {
    return;
  }
}

}  // namespace

std::string command_of(const Json& model, const Json& request, const Json& asked, Followed followed) {
  if (!model.is_object()) {
    Words words("plan --costgraph GRAPH.json");
    words.with_unit("--ram", asked, "budget_bytes", "B");
    words.with_unit("--deadline", asked, "deadline_s", "s");
    words.with_unit("--at-most", asked, "most_energy_j", "J", "energy=");
    words.option("--objective", asked, "objective", "energy");
    tolerant(asked, words, put_freedoms);
    return words.line() + " -o plan.json";
  }
  Words words(followed == Followed::kByTraining ? "train" : "plan");
  words.word(model.contains("path") && model["path"].is_string() ? model["path"].get<std::string>() : "MODEL.onnx");
  tolerant(model, words, put_model);
  tolerant(request, words, put_request);
  if (followed == Followed::kByTraining) {
    tolerant(request, words, put_length);
    return words.line() + " --data DATA -o trained.safetensors";
  }
  const char* board = "\npantoum emit plan.json --target TARGET --data DATA -o project\npantoum run-firmware project";
  return words.line() + " -o plan.json" + (followed == Followed::kByBoard ? board : "");
}

}  // namespace pantoum::report
