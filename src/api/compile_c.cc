// The functions of pantoum/compile.h: each finds its compiler, checks what it was given, and asks the C++ library.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "api/access.h"
#include "base/contents.h"
#include "base/nearest_name.h"
#include "base/output_folder.h"
#include "base/owned_file.h"
#include "capi/handle.h"
#include "ini/model.h"
#include "pantoum/compile.h"
#include "pantoum/deploy.hpp"
#include "settings/fields.h"

namespace pantoum::capi {
namespace {

// The object that a pt_compiler refers to.
struct Compiler {
  std::mutex guard;  // of all below: one call at a time
  std::optional<Error> error;
  std::string path;
  bool is_open = false;
  ModelOptions model;
  PlanOptions plan;
  Device device;
  std::string schedule = "constant";
  std::set<std::string> set;         // options that were set: the first value of a list replaces what it begins with
  std::vector<std::string> missing;  // options that an .ini file leaves open, and that a step needs
  std::optional<Plan> planned;
};

constexpr const char* kSee = "see pantoum/compile.h";

// Never destroyed: threads may still call while the program ends.
Register<Compiler>& compilers() {
  static auto* const all = new Register<Compiler>;
  return *all;
}

// Runs `work(compiler)` under the compiler's lock. What it returns or throws is kept, and its number returned.
template <class Work>
int with(const pt_compiler* compiler, const char* function, const Work& work) noexcept {
  try {
    const std::shared_ptr<Compiler> found = compilers().find(compiler);
    if (found == nullptr)
      return failed(error_without_trainer(),
                    Error{"E0150",
                          compiler == nullptr ? "the compiler is a null pointer" : "this is no open compiler",
                          function,
                          {},
                          "pt_compile_open makes one, until pt_compile_close"});
    const std::lock_guard lock(found->guard);
    try {
      const Result<void> done = work(*found);
      return done ? 0 : failed(found->error, done.error());
    } catch (...) {
      return failed(found->error, caught(function));
    }
  } catch (...) {
    return failed(error_without_trainer(), caught(function));
  }
}

// The same for a compiler whose model was opened.
template <class Work>
int with_model(const pt_compiler* compiler, const char* function, const Work& work) noexcept {
  return with(compiler, function, [&](Compiler& of) -> Result<void> {
    if (!of.is_open) return misuse("the model could not be opened", function, "close the compiler, and open it again");
    return work(of);
  });
}

// The same for one that has a plan.
template <class Work>
int with_plan(const pt_compiler* compiler, const char* function, const Work& work) noexcept {
  return with_model(compiler, function, [&](Compiler& of) -> Result<void> {
    if (!of.planned) return misuse("nothing is planned", function, "call pt_compile_plan first");
    return work(of);
  });
}

Result<void> open(Compiler& compiler, const char* model, const char* function) {
  if (model == nullptr) return misuse("the model's path is a null pointer", function, kSee);
  compiler.path = model;
  if (base::contents_of(compiler.path) == base::Contents::kIni) {
    PANTOUM_ASSIGN(const ini::Model read, ini::read_model(compiler.path));
    ini::apply(read.training, compiler.model);
    compiler.schedule = read.training.schedule.value_or(compiler.schedule);
    if (!read.training.loss) compiler.missing.emplace_back("loss");
    if (!read.training.optimizer) compiler.missing.emplace_back("optimizer");
  } else if (std::optional<Error> error = base::why_no_model(compiler.path)) {
    return Failure(*std::move(error));
  } else {  // the model is read when it is planned, with the options that it may need
    PANTOUM_TRY(base::OwnedFile::open_to_read(compiler.path));
  }
  compiler.is_open = true;
  return {};
}

settings::Fields fields_of(Compiler& compiler) {
  settings::Fields fields = settings::fields_of(compiler.model);
  for (settings::Fields more : {settings::fields_of(compiler.device), settings::fields_of(compiler.plan)})
    std::move(more.begin(), more.end(), std::back_inserter(fields));
  return fields;
}

Result<void> set(Compiler& compiler, const char* option, const char* value, const char* function) {
  if (option == nullptr || value == nullptr) return misuse("the option or its value is a null pointer", function, kSee);
  const std::string name = std::string("--") + option;
  Compiler changed{.path = {}, .model = compiler.model, .plan = compiler.plan, .device = compiler.device};
  bool found = false;
  std::vector<std::string> names;
  for (const settings::Field& field : fields_of(changed)) {
    if (field.setting.option == nullptr) continue;
    names.emplace_back(field.setting.option + 2);
    if (name != field.setting.option) continue;
    found = true;
    if (name.starts_with("--no-") && std::string_view(value) != "on")
      return fail("E0115", fmt::format("'{}' is not on", value), option, "write on, or leave the option out");
    if (field.repeats && !compiler.set.contains(name)) field.clear();
    PANTOUM_TRY(field.set(value, option));
  }
  if (!found)
    return fail("E0100", fmt::format("there is no option '{}'", option), function,
                base::hint_at(option, names) + "the options are those of `pantoum plan`, without the dashes in front");
  compiler.model = std::move(changed.model), compiler.plan = std::move(changed.plan),
  compiler.device = std::move(changed.device);
  compiler.set.insert(name);
  compiler.planned.reset();
  return {};
}

Result<void> make_plan(Compiler& compiler) {
  for (const std::string& option : compiler.missing)
    if (!compiler.set.contains("--" + option))
      return fail("E0214", fmt::format("the file names no {}", option), compiler.path,
                  fmt::format("set the option \"{}\"", option));
  PANTOUM_ASSIGN(const Model model, Model::from_file(compiler.path, compiler.model));
  PANTOUM_ASSIGN(compiler.planned, Plan::make(model, compiler.device, compiler.plan));
  return {};
}

pt_compiled facts_of(const Plan& plan) {
  const PlanFacts facts = plan.facts();
  return {.size = sizeof(pt_compiled),
          .arena_bytes = static_cast<uint64_t>(facts.arena_bytes),
          .batch = static_cast<uint64_t>(plan.samples_per_step()),
          .unplanned_bytes = static_cast<uint64_t>(facts.unplanned_peak_bytes),
          .step_seconds = facts.time_s,
          .step_joules = facts.energy_j,
          .gap = facts.gap};
}

// The error of a call on the trainer, which is closed.
Failure taken_from(pt_trainer* trainer) {
  const pt_train_error* const told = pt_train_last_error(trainer);
  Error error{told->code, told->message, told->where, {}, told->help};
  if (told->notes[0] != '\0') error.notes.emplace_back(told->notes);
  pt_train_close(trainer);
  return Failure(std::move(error));
}

Result<void> open_trainer(const Compiler& compiler, pt_trainer** trainer, const pt_train_options* options,
                          const char* function) {
  if (trainer == nullptr) return misuse("the place for the trainer is a null pointer", function, kSee);
  *trainer = nullptr;
  if (options != nullptr && !is_size_of<pt_train_options>(options->size))
    return misuse("the options' size is not set, or larger than that of this library", function,
                  "set .size = sizeof of the struct");
  pt_train_options asked{};
  if (options != nullptr) std::memcpy(&asked, options, options->size);
  asked.size = sizeof asked;
  Optimizer optimizer = compiler.model.optimizer;
  if (asked.learning_rate == 0) asked.learning_rate = settings::learning_rate(optimizer);
  if (asked.schedule == nullptr) asked.schedule = compiler.schedule.c_str();
  if (asked.accumulate == 0) asked.accumulate = static_cast<uint32_t>(compiler.model.accumulate);
  PANTOUM_ASSIGN(const auto binary, base::TemporaryPath::create("step.bin"));
  PANTOUM_TRY(compiler.planned->save_binary(binary->path()));
  const std::string& weights = Access::impl(*compiler.planned).weights->path();
  pt_trainer* made = nullptr;
  if (pt_train_open(&made, binary->path().c_str(), weights.c_str(), &asked) != 0) return taken_from(made);
  *trainer = made;
  return {};
}

}  // namespace
}  // namespace pantoum::capi

using namespace pantoum::capi;
using pantoum::Result;

int pt_compile_open(pt_compiler** compiler, const char* model) {
  try {
    if (compiler == nullptr)
      return failed(error_without_trainer(),
                    {"E0150", "the place for the compiler is a null pointer", __func__, {}, {}});
    *compiler = nullptr;
    auto made = std::make_shared<Compiler>();
    auto* const name = reinterpret_cast<pt_compiler*>(made.get());
    compilers().enter(std::move(made));
    *compiler = name;
    return with(name, __func__, [&, function = __func__](Compiler& of) { return open(of, model, function); });
  } catch (...) {
    return failed(error_without_trainer(), caught(__func__));
  }
}

void pt_compile_close(pt_compiler* compiler) {
  try {
    const std::shared_ptr<Compiler> removed = compilers().remove(compiler);
    if (removed != nullptr) const std::lock_guard lock(removed->guard);  // a call that another thread is in ends first
  } catch (...) {  // a lock that the system refuses: the memory stays with who holds it
  }
}

const pt_train_error* pt_compile_last_error(const pt_compiler* compiler) {
  try {
    const std::shared_ptr<Compiler> found = compilers().find(compiler);
    if (found == nullptr) return tell(error_without_trainer());
    const std::lock_guard lock(found->guard);
    return tell(found->error);
  } catch (...) {
    return &out_of_memory();
  }
}

int pt_compile_set(pt_compiler* compiler, const char* option, const char* value) {
  return with_model(compiler, __func__,
                    [&, function = __func__](Compiler& of) { return set(of, option, value, function); });
}

int pt_compile_plan(pt_compiler* compiler, pt_compiled* plan) {
  return with_model(compiler, __func__, [&, function = __func__](Compiler& of) -> Result<void> {
    if (plan != nullptr) PANTOUM_TRY(check_place(plan, function));
    PANTOUM_TRY(make_plan(of));
    return plan == nullptr ? Result<void>() : answer(plan, facts_of(*of.planned), function);
  });
}

int pt_compile_save(pt_compiler* compiler, const char* plan, const char* binary, const char* weights) {
  return with_plan(compiler, __func__, [&](Compiler& of) -> Result<void> {
    if (plan != nullptr) PANTOUM_TRY(of.planned->save(plan));
    if (binary != nullptr) PANTOUM_TRY(of.planned->save_binary(binary));
    return weights != nullptr ? of.planned->save_initial_weights(weights) : Result<void>();
  });
}

int pt_compile_train(pt_compiler* compiler, pt_trainer** trainer, const pt_train_options* options) {
  return with_plan(compiler, __func__,
                   [&, function = __func__](Compiler& of) { return open_trainer(of, trainer, options, function); });
}

int pt_compile_export(pt_compiler* compiler, const char* weights, const char* onnx) {
  return with_model(compiler, __func__, [&, function = __func__](Compiler& of) -> Result<void> {
    if (weights == nullptr || onnx == nullptr) return misuse("a path is a null pointer", function, kSee);
    PANTOUM_ASSIGN(const pantoum::Model model, pantoum::Model::from_file(of.path, of.model));
    return pantoum::export_onnx(model, weights, onnx);
  });
}
