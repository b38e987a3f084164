#include "train/tensor_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "runtime/plan_bytes.h"
#include "train/trainer.h"

namespace pantoum::train {
namespace {

constexpr const char* kHelp = "plan the model again with this release";

PlanTensor describe(const pt_plan& plan, uint32_t index, const pt_tensor_info& info) {
  PlanTensor tensor{index, info.name, static_cast<base::DType>(info.dtype), {}, info.payload};
  tensor.changes = pt_tensor_pair(&plan, index) != PT_NOWHERE;
  tensor.shape.assign(info.dims, info.dims + std::min<int>(info.rank, PT_MAX_RANK));
  return tensor;
}

struct Named {
  PlanTensor tensor;
  bool in_ram = false;
};

std::vector<Named> named_tensors(const pt_plan& plan) {
  std::vector<Named> named;
  for (uint32_t tensor = 0; tensor < plan.tensor_count; ++tensor) {
    pt_tensor_info info{};
    if (pt_plan_tensor_info(&plan, tensor, &info) != PT_OK || info.name == nullptr || info.name[0] == '\0') continue;
    if (info.home == PT_HOME_NONE) continue;
    named.push_back({describe(plan, tensor, info), info.home == PT_HOME_RAM});
  }
  return named;
}

class TableMaker {
 public:
  TableMaker(const InputNames& names, const weights::SafetensorFile& weights)
      : input_names_(names.inputs),
        feature_names_(names.features),
        weights_(weights),
        constants_(weights::constants_of(weights)) {}

  Result<TensorTable> make(const pt_plan& plan) {
    const std::vector<Named> named = named_tensors(plan);
    PANTOUM_TRY(find_programs(plan));
    if (!alone_) PANTOUM_TRY(find_labels(named));
    table_.inputs.resize(input_names_.size());
    table_.features.resize(feature_names_.size());
    table_.made_features.resize(feature_names_.size());
    for (const Named& entry : named) sort_in(entry);
    table_.computed = weights::computed_of(weights_);
    for (auto& [number, output] : outputs_) table_.outputs.push_back(std::move(output));
    if (alone_) describe_outputs_alone();
    PANTOUM_TRY(check());
    find_reads_of_prediction(plan);
    return std::move(table_);
  }

 private:
  const std::vector<std::string>&input_names_, &feature_names_;
  const weights::SafetensorFile& weights_;
  const std::set<std::string> constants_;
  TensorTable table_;
  std::map<size_t, PlanTensor> outputs_;  // by their places among the model's
  bool alone_ = false;                    // the plan gives outputs, and does nothing else

  Result<void> find_programs(const pt_plan& plan) {
    const int32_t train = pt_plan_program(&plan, "train"), eval = pt_plan_program(&plan, "eval");
    const int32_t gradients = pt_plan_program(&plan, "gradients"), update = pt_plan_program(&plan, "update");
    alone_ = plan.program_count == 1 && pt_plan_program(&plan, "predict") == 0;
    if (!alone_ && train < 0 && (gradients < 0 || update < 0))
      return fail("E0253", "the plan holds no program 'train'", {}, kHelp);
    table_.train_program = static_cast<uint32_t>(std::max({train, gradients, 0}));
    if (update >= 0) table_.update_program = static_cast<uint32_t>(update);
    if (eval >= 0) table_.eval_program = static_cast<uint32_t>(eval);
    if (const int32_t features = pt_plan_program(&plan, "features"); features >= 0)
      table_.features_program = static_cast<uint32_t>(features);
    if (const int32_t predict = pt_plan_program(&plan, "predict"); predict >= 0)
      table_.predict_program = static_cast<uint32_t>(predict);
    if (const int32_t accumulate = pt_plan_program(&plan, "accumulate"); accumulate >= 0)
      table_.accumulate_program = static_cast<uint32_t>(accumulate);
    return {};
  }

  // A parameter may be called alike: then the weights hold it.
  bool is_label(const Named& entry) const {
    const std::string& name = entry.tensor.name;
    return (name == "label" || name.starts_with("label.")) && weights_.find(name) == nullptr;
  }

  Result<void> find_labels(const std::vector<Named>& named) {
    for (const Named& entry : named)
      if (is_label(entry) && entry.in_ram && !entry.tensor.shape.empty())
        table_.terms.push_back({.label = entry.tensor});
    if (table_.terms.empty()) return fail("E0253", "the plan holds no tensor 'label' in RAM", {}, kHelp);
    if (table_.terms.size() > kMaxLosses)
      return fail("E0253", fmt::format("the plan has more than {} losses", int{kMaxLosses}), {},
                  "train fewer outputs at a time");
    table_.batch = table_.terms[0].label.shape[0];
    return {};
  }

  void sort_in(const Named& entry) {
    const std::string& name = entry.tensor.name;
    if (is_label(entry) || take_output(entry)) return;
    if (name == "loss" || name.starts_with("eval.") || name == "accumulate.loss") return result(entry);
    if (name.starts_with("optim.")) return table_.states.push_back(entry.tensor);
    if (name.starts_with("accumulated.")) return table_.sums.push_back(entry.tensor);
    if (is_feature(entry)) return;
    const auto input = std::find(input_names_.begin(), input_names_.end(), name);
    if (input != input_names_.end() && entry.in_ram) {
      table_.inputs[static_cast<size_t>(input - input_names_.begin())] = entry.tensor;
    } else if (input_names_.empty() && looks_like_input(entry)) {
      table_.inputs.push_back(entry.tensor);
    } else {
      (constants_.contains(name) ? table_.constants : table_.weights).push_back(entry.tensor);
    }
  }

  // "predict.<k>:<output>"
  bool take_output(const Named& entry) {
    constexpr std::string_view kBegin = "predict.";
    const std::string& name = entry.tensor.name;
    if (!table_.predict_program || !name.starts_with(kBegin) || weights_.find(name) != nullptr) return false;
    size_t number = 0;
    const char* const end = name.data() + name.size();
    const auto [after, wrong] = std::from_chars(name.data() + kBegin.size(), end, number);
    if (wrong != std::errc() || after == end || *after != ':' || !entry.in_ram) return false;
    PlanTensor& output = outputs_[number] = entry.tensor;
    output.name.assign(after + 1, end);
    return true;
  }

  // Inputs that no output is made of are not in the plan.
  void describe_outputs_alone() {
    table_.batch = table_.outputs.empty() || table_.outputs.front().shape.empty() ? 0 : table_.outputs.front().shape[0];
    for (size_t input = 0; input < table_.inputs.size(); ++input)
      if (table_.inputs[input].name.empty())
        table_.inputs[input] = {.name = input_names_[input], .shape = {table_.batch}};
  }

  void find_reads_of_prediction(const pt_plan& plan) {
    if (!table_.predict_program) return;
    std::set<uint32_t> read;
    for (const PlanTensor& output : table_.outputs) read.insert(output.index);
    uint32_t instructions = 0;
    pt_code code = pt_program_code(&plan, *table_.predict_program, &instructions);
    for (uint32_t instruction = 0; instruction < instructions; ++instruction) {
      pt_step step;
      pt_op_view view;
      if (pt_decode_step(&plan, &code, &step, &view) != PT_OK) return;  // the engine has opened the plan
      for (unsigned input = 0; step.kind == PT_DO_COMPUTE && input < view.input_count; ++input)
        read.insert(view.tensors[input]);
    }
    for (size_t at = 0; at < table_.inputs.size() + table_.terms.size(); ++at)
      if (read.contains(table_.batch_tensor(at).index)) table_.prediction_reads.push_back(at);
  }

  // One that is an input of the model too is not taken here.
  bool is_feature(const Named& entry) {
    bool taken = false;
    for (size_t feature = 0; feature < feature_names_.size(); ++feature) {
      const std::string& name = feature_names_[feature];
      const bool is_input = std::find(input_names_.begin(), input_names_.end(), name) != input_names_.end();
      if (entry.tensor.name == name) table_.features[feature] = entry.tensor;
      if (entry.tensor.name == (is_input ? name : "features." + name)) table_.made_features[feature] = entry.tensor;
      taken = taken || (!is_input && (entry.tensor.name == name || entry.tensor.name == "features." + name));
    }
    return taken;
  }

  void result(const Named& entry) {
    if (!entry.in_ram || entry.tensor.dtype != base::DType::kF32) return;
    if (entry.tensor.name == "loss" && entry.tensor.bytes == 4) table_.loss = entry.tensor;
    if (entry.tensor.name == "accumulate.loss" && entry.tensor.bytes == 4) table_.accumulate_loss = entry.tensor;
    for (LossTensors& term : table_.terms) {
      const std::string suffix = term.label.name.substr(std::string("label").size());
      const auto take = [&](const char* what, uint64_t bytes, std::optional<PlanTensor>& into) {
        if (entry.tensor.name == what + suffix && entry.tensor.bytes == bytes) into = entry.tensor;
      };
      take("eval.loss", 4, term.loss);
      take("eval.count_correct", 8, term.correct);
      take("eval.count_top5", 8, term.top5);
      take("eval.mean_absolute_error", 4, term.absolute_error);
      take("eval.label_weight", 4, term.label_weight);
    }
  }

  bool looks_like_input(const Named& entry) const {
    return entry.in_ram && !entry.tensor.shape.empty() && entry.tensor.shape[0] == table_.batch &&
           weights_.find(entry.tensor.name) == nullptr;
  }

  Result<void> check() const {
    if (alone_ && table_.batch <= 0) return fail("E0253", "the plan holds no output with rows", {}, kHelp);
    if (!alone_ && !table_.loss) return fail("E0253", "the plan holds no result 'loss' (one f32 in RAM)", {}, kHelp);
    if (table_.accumulate_program.has_value() != table_.accumulate_loss.has_value())
      return fail("E0253", "the plan holds no result 'accumulate.loss' (one f32 in RAM)", {}, kHelp);
    if (table_.inputs.empty()) return fail("E0253", "the plan holds no input", {}, kHelp);
    for (size_t input = 0; input < table_.inputs.size(); ++input) {
      const PlanTensor& tensor = table_.inputs[input];
      if (tensor.name.empty())
        return fail("E0253", fmt::format("the plan holds no input '{}' in RAM", input_names_[input]), {}, kHelp);
      if (tensor.shape.empty() || tensor.shape[0] != table_.batch || (tensor.bytes == 0 && !alone_))
        return fail("E0253", "the first dimension of the input '" + tensor.name + "' is not the labels' batch", {},
                    kHelp);
    }
    for (size_t feature = 0; feature < feature_names_.size(); ++feature)
      if (!table_.features_program || table_.features[feature].bytes == 0 ||
          table_.features[feature].bytes != table_.made_features[feature].bytes)
        return fail("E0253", "the plan does not make the feature '" + feature_names_[feature] + "'", {}, kHelp);
    for (const PlanTensor& output : table_.outputs)
      if (output.shape.empty() || output.shape[0] != table_.batch)
        return fail("E0253", "the first dimension of the output '" + output.name + "' is not the labels' batch", {},
                    kHelp);
    for (const LossTensors& term : table_.terms)
      if (table_.batch <= 0 || term.label.shape[0] != table_.batch || term.label.bytes == 0)
        return fail("E0253", "the plan's batch is empty, or not the same for every loss", {}, kHelp);
    return {};
  }
};

}  // namespace

Result<TensorTable> make_tensor_table(const pt_plan& plan, const InputNames& names,
                                      const weights::SafetensorFile& weights) {
  return TableMaker(names, weights).make(plan);
}

}  // namespace pantoum::train
