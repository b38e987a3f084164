#include "import/weight_roles.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "base/nearest_name.h"
#include "import/onnx_messages.h"
#include "import/parameter_marks.h"
#include "import/weight_use.h"

namespace pantoum::import {
namespace {

using Globs = std::vector<std::string>;

struct Role {
  Trains trains;
  std::string why;
};

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool matches(const std::string& name, const Globs& globs) {
  return std::ranges::any_of(globs,
                             [&](const std::string& glob) { return fnmatch(glob.c_str(), name.c_str(), 0) == 0; });
}

// A glob that matches this name alone, in quotes for a shell.
std::string exact_glob(const std::string& name) {
  std::string glob = "'";
  for (const char letter : name) {
    if (std::strchr("*?[]\\", letter) != nullptr && letter != '\0') glob += '\\';
    glob += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  }
  return glob + "'";
}

template <class Element>
bool elements_finite(const Tensor& tensor) {
  for (size_t at = 0; at + sizeof(Element) <= tensor.data->size(); at += sizeof(Element)) {
    Element element = 0;
    std::memcpy(&element, tensor.data->data() + at, sizeof element);
    if (!std::isfinite(element)) return false;
  }
  return true;
}

bool all_finite(const Tensor& tensor) {
  return tensor.type.dtype == ir::DType::kF64 ? elements_finite<double>(tensor) : elements_finite<float>(tensor);
}

bool is_statistic(const std::string& name, uint8_t uses) {
  // An exporter may have merged a statistic with a weight of the same contents: the weight trains.
  return (uses & ~kAsSetting) == kAsStatistic || name.ends_with("running_mean") || name.ends_with("running_var");
}

// Why nothing can train this tensor, whatever an option says; "" when it can be trained.
std::string hindrance(const std::string& name, const Initializer& initializer, uint8_t uses) {
  if (!initializer.problem.empty()) return "its type is not supported";
  const ir::TensorType& type = initializer.tensor.type;
  if (!ir::is_float(type.dtype)) return fmt::format("its elements are {}", ir::name_of(type.dtype));
  if (type.elements() == 0) return "it has no elements";
  if (is_statistic(name, uses)) return "a running statistic";
  if (uses == kUnused) return "no node reads it";
  if ((uses & ~kAsSetting) == 0) return "a setting of an operator";
  return all_finite(initializer.tensor) ? "" : "it holds an infinity or NaN";
}

std::string arithmetic_use(uint8_t uses) {
  if ((uses & kInProducts) == 0) return "it is only added to an activation";
  return (uses & kInSums) == 0 ? "it only multiplies an activation" : "it only multiplies and is added to activations";
}

Role by_use(const std::string& name, const Initializer& initializer, uint8_t uses) {
  const bool invented = is_invented_name(name);
  if ((uses & kAsWeight) != 0) {
    const bool scalar = initializer.tensor.type.shape.empty();
    if (!invented || !scalar) return {Trains::kYes, "used as a weight"};
  }
  if (invented && initializer.tensor.type.elements() == 1) return {Trains::kNo, "a number under an exporter's name"};
  constexpr uint8_t kArithmetic = kInSums | kInProducts;
  // A mask embedding takes the place of activations.
  if ((uses & ~kAsSetting) == kAsChoice && !invented && initializer.tensor.type.elements() > 1)
    return {Trains::kAmbiguous, "an operator chooses between it and others"};
  if ((uses & ~kAsSetting & ~kAsChoice) == 0) return {Trains::kNo, "operators choose it or are set by it"};
  if ((uses & kAsOther) == 0 && (uses & kArithmetic) != 0) return {Trains::kAmbiguous, arithmetic_use(uses)};
  return invented ? Role{Trains::kNo, "its name is an exporter's, its use no weight's"}
                  : Role{Trains::kYes, "its name is a parameter's"};
}

// A tensor without a mark in a file that has marks: of the exporter's making.
Role unmarked(const std::string& name, const Initializer& initializer, uint8_t uses, const ParameterMarks& marks) {
  if (marks.parameters.contains(name)) return {Trains::kYes, "named as a PARAMETER of the program"};
  if (marks.buffers.contains(name)) return {Trains::kNo, "named as a BUFFER of the program"};
  const auto sources = marks.sources.find(name);
  if (sources == marks.sources.end()) {
    const Role role = by_use(name, initializer, uses);
    if (role.trains != Trains::kYes || !is_invented_name(name)) return {Trains::kNo, "it has no PARAMETER mark"};
    return {Trains::kAmbiguous, "it has no PARAMETER mark, but is used as a weight"};
  }
  for (const std::string& source : sources->second)
    if (marks.parameters.contains(source)) return {Trains::kYes, fmt::format("folded from PARAMETER '{}'", source)};
  return {Trains::kNo, "the exporter made it from no PARAMETER"};
}

Role role_of(const std::string& name, const Initializer& initializer, uint8_t uses, const ParameterMarks& marks) {
  if (const std::string why = hindrance(name, initializer, uses); !why.empty()) return {Trains::kNo, why};
  switch (marks.of(name)) {
    case Mark::kParameter:
      return {Trains::kYes, "marked PARAMETER"};
    case Mark::kBuffer:
      return {Trains::kNo, "marked BUFFER"};
    case Mark::kContradictory:
      return {Trains::kAmbiguous, "marked both PARAMETER and BUFFER"};
    case Mark::kNone:
      break;
  }
  return marks.any ? unmarked(name, initializer, uses, marks) : by_use(name, initializer, uses);
}

// What --train and --freeze say over the role. Why --train cannot be followed, as a note.
std::string apply_options(const std::string& name, Initializer& initializer, uint8_t uses, const OnnxOptions& options) {
  if (matches(name, options.train)) {
    if (const std::string why = hindrance(name, initializer, uses); !why.empty())
      return fmt::format("'{}' cannot be trained: {}", name, why);
    initializer.trains = Trains::kYes;
    initializer.why = "--train";
  } else if (initializer.is_parameter() && matches(name, options.freeze)) {
    initializer.frozen = true;
    initializer.why = "--freeze";
  }
  return {};
}

Result<void> check_both(const Model& model, const OnnxOptions& options) {
  std::vector<std::string> both;
  for (const auto& [name, initializer] : model.initializers)
    if (initializer.is_parameter() && matches(name, options.train) && matches(name, options.freeze))
      both.push_back(fmt::format("'{}'", name));
  if (both.empty()) return {};
  return fail("E0117", "--train and --freeze name the same tensor", "--train",
              "leave it out of one of them; where a glob takes in too much, name the tensors one by one",
              std::move(both));
}

std::string tell_unmatched(const std::string& glob, const Model& model) {
  std::vector<std::string> names;
  for (const auto& [name, initializer] : model.initializers) names.push_back(name);
  for (const auto& [name, type] : model.tables) names.push_back(name);
  const std::string meant = base::nearest_name(glob, names);
  const bool exists = meant == glob || meant.empty();
  return exists ? fmt::format("'{}'", glob) : fmt::format("'{}'; did you mean '{}'?", glob, meant);
}

// What is fixed already may be frozen, too.
Result<void> check_freeze_globs(const Model& model, const OnnxOptions& options) {
  Globs unmatched;
  for (const std::string& glob : options.freeze) {
    const bool found =
        std::ranges::any_of(model.initializers, [&](const auto& entry) { return matches(entry.first, {glob}); });
    const bool table =
        std::ranges::any_of(model.tables, [&](const auto& entry) { return matches(entry.first, {glob}); });
    if (!found && !table) unmatched.push_back(tell_unmatched(glob, model));
  }
  if (unmatched.empty()) return {};
  return fail("E0104", "--freeze names no tensor", model.proto->graph().name(), "see the names with: pantoum inspect",
              std::move(unmatched));
}

Result<void> check_train_globs(const Model& model, const OnnxOptions& options, std::vector<std::string> refused) {
  Globs unmatched;
  for (const std::string& glob : options.train) {
    const bool found = std::ranges::any_of(model.initializers, [&](const auto& entry) {
      return entry.second.is_parameter() && matches(entry.first, {glob});
    });
    if (!found) unmatched.push_back(tell_unmatched(glob, model));
  }
  if (unmatched.empty()) return {};
  unmatched.insert(unmatched.end(), refused.begin(), refused.end());
  return fail("E0104", "--train names no tensor that can be trained", model.proto->graph().name(),
              "see the names with: pantoum inspect", std::move(unmatched));
}

}  // namespace

bool is_invented_name(const std::string& name) {
  const std::string_view text = name;
  if (is_number(text) || text.starts_with("onnx::") || text.starts_with("/")) return true;
  for (const std::string_view prefix : {"val_", "const_", "constant_", "tensor_constant"}) {
    if (text.starts_with(prefix) && is_number(text.substr(prefix.size()))) return true;
  }
  for (const std::string_view part : {"scalar_tensor", "Constant_", "lifted_tensor"}) {
    if (text.find(part) != std::string_view::npos) return true;
  }
  return false;
}

Result<void> assign_weight_roles(Model& model, const OnnxOptions& options) {
  const ParameterMarks marks = read_parameter_marks(model.proto->graph());
  const Uses uses = find_uses(model);
  std::vector<std::string> refused;
  for (auto& [name, initializer] : model.initializers) {
    const auto found = uses.find(name);
    const uint8_t use = found == uses.end() ? uint8_t{kUnused} : found->second;
    Role role = role_of(name, initializer, use, marks);
    initializer.trains = role.trains;
    initializer.why = std::move(role.why);
    std::string problem = apply_options(name, initializer, use, options);
    if (!problem.empty()) refused.push_back(std::move(problem));
  }
  for (const auto& [name, type] : model.tables)
    if (matches(name, options.train))
      refused.push_back(fmt::format("'{}' cannot be trained: its elements are {}", name, ir::name_of(type.dtype)));
  PANTOUM_TRY(check_freeze_globs(model, options));
  PANTOUM_TRY(check_train_globs(model, options, std::move(refused)));
  return check_both(model, options);
}

std::string warn_of_ambiguous(const Model& model) {
  std::vector<std::string> names, globs;
  for (const auto& [name, initializer] : model.initializers) {
    if (initializer.trains != Trains::kAmbiguous || initializer.frozen) continue;
    names.push_back(fmt::format("'{}' {}", name, ir::to_text(initializer.tensor.type)));
    globs.push_back("--freeze " + exact_glob(name));
  }
  if (names.empty()) return {};
  const bool one = names.size() == 1;
  const bool computed =
      std::ranges::any_of(globs, [](const std::string& glob) { return glob.find("'onnx::") != std::string::npos; });
  return fmt::format("{} tensor{} may be {} or fixed, the file does not say which, and {} trained: {}; to fix {}: {}{}",
                     names.size(), one ? "" : "s", one ? "a parameter" : "parameters", one ? "it is" : "they are",
                     fmt::join(names, ", "), one ? "it" : "them", fmt::join(globs, " "),
                     computed ? "; what is called onnx::.. was computed ahead of time, perhaps from parameters: "
                                "do_constant_folding=False keeps those"
                              : "");
}

}  // namespace pantoum::import
