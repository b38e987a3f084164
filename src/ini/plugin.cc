#include "ini/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <set>

#include "base/custom_operators.h"
#include "ini/plugin_layers.h"
#include "pantoum/plugin.h"

namespace pantoum::ini {
namespace {

static_assert(PT_PLUGIN_DIMENSIONS == PT_MAX_RANK && PT_PLUGIN_OPERANDS == PT_MAX_OPERANDS);
static_assert(PT_PLUGIN_SETTINGS + 1 == PT_MAX_ATTRS);
static_assert(int{PT_PLUGIN_F32} == PT_F32 && int{PT_PLUGIN_I64} == PT_I64 && int{PT_PLUGIN_I32} == PT_I32 &&
              int{PT_PLUGIN_U8} == PT_U8 && int{PT_PLUGIN_BOOL} == PT_BOOL);

constexpr size_t kMostName = 200, kMostText = 1000;
constexpr int64_t kMostExtent = UINT32_MAX;

std::string text_of(const char* text) {
  return {text, ::strnlen(text, kMostText)};
}

// Operands of a call as the plug-in reads them; without memory of their own.
class PluginTensors {
 public:
  PluginTensors(const pt_tensor* tensors, uint16_t count) : count_(std::min<uint32_t>(count, PT_PLUGIN_OPERANDS)) {
    for (uint32_t at = 0; at < count_; ++at) add(tensors[at], made_[at]);
  }
  [[nodiscard]] const pt_plugin_tensor* data() const { return made_.data(); }
  [[nodiscard]] uint32_t size() const { return count_; }

 private:
  static void add(const pt_tensor& tensor, pt_plugin_tensor& made) {
    made = {.dtype = tensor.dtype, .rank = tensor.rank, .dims = {}, .elements = 1, .data = tensor.data};
    for (uint32_t d = 0; d < made.rank; ++d) {
      made.dims[d] = tensor.dims[d];
      made.elements *= tensor.dims[d];
    }
  }

  uint32_t count_;
  std::array<pt_plugin_tensor, PT_PLUGIN_OPERANDS> made_;
};

void run_parallel(const pt_plugin_call* call, size_t count, void (*body)(void* arg, size_t begin, size_t end),
                  void* arg) {
  const auto* pool = static_cast<const pt_pool*>(call->pool);
  if (count == 0) return;
  if (pool == nullptr || pool->threads <= 1 || pool->run == nullptr) return body(arg, 0, count);
  pool->run(pool->context, count, body, arg);
}

std::function<Result<void>(const pt_call&)> run_of(const std::string& name, pt_plugin_kernel kernel, void* user) {
  return [name, kernel, user](const pt_call& call) -> Result<void> {
    const PluginTensors inputs(call.inputs, call.input_count), outputs(call.outputs, call.output_count);
    pt_plugin_call made = {.size = sizeof made,
                           .inputs = inputs.data(),
                           .outputs = outputs.data(),
                           .input_count = inputs.size(),
                           .output_count = outputs.size(),
                           .ints = call.ints,
                           .reals = call.reals,
                           .int_count = call.int_count,
                           .real_count = call.real_count,
                           .workspace = call.workspace,
                           .step = call.scalars == nullptr ? 1 : call.scalars->step,
                           .seed = call.scalars == nullptr ? 0 : call.scalars->seed,
                           .parallel = run_parallel,
                           .pool = call.pool};
    const char* const why = kernel(user, &made);
    if (why == nullptr) return {};
    return fail("E0262", text_of(why), name);
  };
}

Result<std::vector<base::TensorType>> shapes_by(pt_plugin_shape rule, void* user, const std::string& name,
                                                const base::CustomOperands& operands) {
  if (operands.inputs.size() > PT_PLUGIN_OPERANDS) return fail("E0211", "it has too many inputs", name);
  std::array<pt_plugin_tensor, PT_PLUGIN_OPERANDS> inputs{}, outputs{};
  for (size_t at = 0; at < operands.inputs.size(); ++at) {
    const base::TensorType& type = operands.inputs[at];
    if (type.shape.size() > PT_PLUGIN_DIMENSIONS) return fail("E0211", "an input has too many dimensions", name);
    inputs[at].dtype = static_cast<uint32_t>(type.dtype);
    inputs[at].rank = static_cast<uint32_t>(type.shape.size());
    inputs[at].elements = static_cast<uint64_t>(type.elements());
    std::ranges::copy(type.shape, inputs[at].dims);
  }
  pt_plugin_call call = {};
  call.size = sizeof call;
  call.inputs = inputs.data();
  call.input_count = static_cast<uint32_t>(operands.inputs.size());
  call.ints = operands.ints.data();
  call.reals = operands.reals.data();
  call.int_count = static_cast<uint32_t>(operands.ints.size());
  call.real_count = static_cast<uint32_t>(operands.reals.size());
  uint32_t count = 0;
  if (const char* const why = rule(user, &call, outputs.data(), &count)) return fail("E0211", text_of(why), name);
  if (count == 0 || count > PT_PLUGIN_OPERANDS)
    return fail("E0211", fmt::format("its shape rule gives {} outputs", count), name);
  std::vector<base::TensorType> made;
  for (uint32_t at = 0; at < count; ++at) {
    const pt_plugin_tensor& output = outputs[at];
    const auto extents = std::span(output.dims).first(std::min<uint32_t>(output.rank, PT_PLUGIN_DIMENSIONS));
    if (output.dtype > PT_PLUGIN_BOOL || output.rank > PT_PLUGIN_DIMENSIONS ||
        std::ranges::any_of(extents, [](int64_t extent) { return extent < 1 || extent > kMostExtent; }))
      return fail("E0211", fmt::format("its shape rule gives output {} an invalid type", at), name);
    made.push_back({static_cast<base::DType>(output.dtype), {extents.begin(), extents.end()}});
  }
  return made;
}

// What an entry adds, until all of it is known to be sound.
class Collector {
 public:
  Collector() : host_{sizeof host_, PT_PLUGIN_ABI, add_operator, add_layer, refuse, this} {}
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  // Calls the entry. Returns why nothing may be added, or "".
  std::string run(int (*entry)(const pt_plugin_host*)) {
    const int status = entry(&host_);
    if (!problem_.empty()) return problem_;
    if (!refusal_.empty()) return "its entry refuses: " + refusal_;
    if (status != 0) return fmt::format("its entry returns {}", status);
    if (operators_.empty() && layers_.empty()) return "it adds nothing";
    return {};
  }

  // E0106: an operator is unsound, or its name is taken.
  [[nodiscard]] Result<void> check() const {
    for (const base::CustomOperator& op : operators_) PANTOUM_TRY(base::check_custom_operator(op));
    return {};
  }

  // Adds all that check() accepted. Another thread may have taken a name since; what was added before stays, so the library has to stay too.
  Result<void> add() {
    for (base::CustomOperator& op : operators_) PANTOUM_TRY(base::add_custom_operator(std::move(op)));
    for (PluginLayer& layer : layers_) add_plugin_layer(std::move(layer));
    return {};
  }

 private:
  pt_plugin_host host_;
  std::vector<base::CustomOperator> operators_;
  std::vector<PluginLayer> layers_;
  std::string problem_, refusal_;  // the first of each

  int failed(std::string why) {
    if (problem_.empty()) problem_ = std::move(why);
    return 1;
  }

  static Collector* of(const pt_plugin_host* host) {
    return host == nullptr ? nullptr : static_cast<Collector*>(host->context);
  }
  static int add_operator(const pt_plugin_host* host, const pt_plugin_operator* op) {
    Collector* const into = of(host);
    return into == nullptr ? 1 : into->take(op);
  }
  static int add_layer(const pt_plugin_host* host, const pt_plugin_layer* layer) {
    Collector* const into = of(host);
    return into == nullptr ? 1 : into->take(layer);
  }
  static void refuse(const pt_plugin_host* host, const char* why) {
    Collector* const into = of(host);
    if (into != nullptr && into->refusal_.empty()) into->refusal_ = why == nullptr ? "no reason given" : text_of(why);
  }

  static bool is_text(const char* text) {
    return text != nullptr && *text != 0 && ::strnlen(text, kMostName + 1) <= kMostName;
  }

  int take(const pt_plugin_operator* op) {
    if (op == nullptr) return failed("it adds an operator that is a null pointer");
    if (op->size != sizeof *op)
      return failed(fmt::format("pt_plugin_operator has {} bytes, not {}", op->size, sizeof *op));
    if (!is_text(op->name)) return failed("an operator has no name, or a name of more than 200 bytes");
    const std::string name = op->name;
    if (operators_.size() == PT_PLUGIN_ADDED) return failed("it adds too many operators");
    if (known(name) != nullptr) return failed(fmt::format("the operator '{}' exists already", name));
    if (op->shape == nullptr || op->forward == nullptr)
      return failed(fmt::format("the operator '{}' has no {}", name, op->shape == nullptr ? "shape rule" : "kernel"));
    if (op->gradient_count > PT_PLUGIN_GRADIENTS || op->int_count > PT_PLUGIN_SETTINGS ||
        op->real_count > PT_PLUGIN_SETTINGS || op->int_count + op->real_count > PT_PLUGIN_SETTINGS)
      return failed(fmt::format("the operator '{}' has {} gradients, {} ints and {} reals; at most {}, and {} settings",
                                name, op->gradient_count, op->int_count, op->real_count, int{PT_PLUGIN_GRADIENTS},
                                int{PT_PLUGIN_SETTINGS}));
    if ((op->gradient_count > 0 && op->gradients == nullptr) || (op->int_count > 0 && op->ints == nullptr) ||
        (op->real_count > 0 && op->reals == nullptr))
      return failed(fmt::format("the operator '{}' has a null pointer with a count above 0", name));
    if (!std::isfinite(op->flops_per_element) || op->flops_per_element < 0 || op->flops_per_element > 1e9)
      return failed(fmt::format("the operator '{}' has {} flops per element", name, op->flops_per_element));
    return take_sound(*op, name);
  }

  int take_sound(const pt_plugin_operator& op, const std::string& name) {
    base::CustomOperator made{
        .name = name,
        .version = op.version,
        .states = {},
        .shape = [rule = op.shape, user = op.user,
                  name](const base::CustomOperands& operands) { return shapes_by(rule, user, name, operands); },
        .run = run_of(name, op.forward, op.user),
        .workspace_bytes = {},
        .flops = {},
        .in_place = {},
        .gradients = {},
        .ints = {},
        .reals = {},
        .recompute = op.varies == 0,
        .concurrent = op.concurrent != 0};
    if (op.workspace_bytes > 0)
      made.workspace_bytes = [bytes = op.workspace_bytes](const base::CustomOperands&) -> Result<size_t> {
        return static_cast<size_t>(bytes);
      };
    if (op.flops_per_element > 0)
      made.flops = [rule = made.shape, each = op.flops_per_element](const base::CustomOperands& operands) {
        const auto types = rule(operands);
        return types ? each * static_cast<double>(types->front().elements()) : 0;
      };
    for (uint32_t at = 0; at < op.int_count; ++at)
      if (take(op.ints[at], made, made.ints) != 0) return 1;
    for (uint32_t at = 0; at < op.real_count; ++at)
      if (take(op.reals[at], made, made.reals) != 0) return 1;
    for (uint32_t at = 0; at < op.gradient_count; ++at)
      if (take(op.gradients[at], op.user, made) != 0) return 1;
    operators_.push_back(std::move(made));
    return 0;
  }

  int take(const pt_plugin_setting& setting, const base::CustomOperator& op,
           std::vector<base::CustomAttribute>& settings) {
    if (!is_text(setting.name)) return failed(fmt::format("a setting of the operator '{}' has no name", op.name));
    const auto has_name = [&](const base::CustomAttribute& each) { return each.name == setting.name; };
    if (std::ranges::any_of(op.ints, has_name) || std::ranges::any_of(op.reals, has_name))
      return failed(fmt::format("the operator '{}' has two settings '{}'", op.name, setting.name));
    if (setting.required == 0 && !std::isfinite(setting.otherwise))
      return failed(fmt::format("the setting '{}' of the operator '{}' is not finite", setting.name, op.name));
    settings.push_back({setting.name, setting.required != 0 ? std::nullopt : std::optional(setting.otherwise)});
    return 0;
  }

  int take(const pt_plugin_gradient& gradient, void* user, base::CustomOperator& op) {
    if (gradient.size != sizeof gradient)
      return failed(fmt::format("pt_plugin_gradient has {} bytes, not {}", gradient.size, sizeof gradient));
    if (gradient.kernel == nullptr)
      return failed(fmt::format("a gradient of the operator '{}' has no kernel", op.name));
    base::CustomGradient made;
    const auto copy = [](const uint32_t* from, uint32_t count, std::vector<int>& into) {
      if (count > PT_PLUGIN_OPERANDS || (count > 0 && from == nullptr)) return false;
      for (uint32_t at = 0; at < count; ++at) into.push_back(static_cast<int>(std::min<uint32_t>(from[at], INT32_MAX)));
      return true;
    };
    if (!copy(gradient.of, gradient.of_count, made.of) ||
        !copy(gradient.reads_inputs, gradient.reads_input_count, made.reads_inputs) ||
        !copy(gradient.reads_outputs, gradient.reads_output_count, made.reads_outputs))
      return failed(fmt::format("a gradient of the operator '{}' names more than {} operands, or is a null pointer",
                                op.name, int{PT_PLUGIN_OPERANDS}));
    made.run = run_of(op.name, gradient.kernel, user);
    if (gradient.workspace_bytes > 0)
      made.workspace_bytes = [bytes = gradient.workspace_bytes](std::span<const base::TensorType>) -> Result<size_t> {
        return static_cast<size_t>(bytes);
      };
    op.gradients.push_back(std::move(made));
    return 0;
  }

  [[nodiscard]] const base::CustomOperator* known(const std::string& name) const {
    for (const base::CustomOperator& each : operators_)
      if (each.name == name) return &each;
    return base::custom_operator(name).get();  // it lives as long as the process
  }

  static bool is_word(const char* text) {
    return is_text(text) && std::ranges::all_of(std::string_view(text), [](char c) {
             return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
           });
  }

  int take(const pt_plugin_layer* layer) {
    if (layer == nullptr) return failed("it adds a layer type that is a null pointer");
    if (layer->size != sizeof *layer)
      return failed(fmt::format("pt_plugin_layer has {} bytes, not {}", layer->size, sizeof *layer));
    if (!is_word(layer->type)) return failed("a layer type is not of lower case letters, digits and _");
    const std::string type = layer->type;
    if (layers_.size() == PT_PLUGIN_ADDED) return failed("it adds too many layer types");
    const std::vector<std::string> types = layer_types();
    if (std::ranges::find(types, type) != types.end() ||
        std::ranges::any_of(layers_, [&](const PluginLayer& each) { return each.type == type; }))
      return failed(fmt::format("the layer type '{}' exists already", type));
    const base::CustomOperator* const op = is_text(layer->operator_name) ? known(layer->operator_name) : nullptr;
    if (op == nullptr) return failed(fmt::format("the layer type '{}' names no operator that was added before", type));
    if (layer->key_count > PT_PLUGIN_SETTINGS || (layer->key_count > 0 && layer->keys == nullptr))
      return failed(fmt::format("the layer type '{}' has {} keys, or they are a null pointer", type, layer->key_count));
    PluginLayer made{.type = type, .operator_name = op->name, .keys = {}, .is_loss = layer->is_loss != 0};
    for (uint32_t at = 0; at < layer->key_count; ++at)
      if (take(layer->keys[at], *op, made) != 0) return 1;
    for (const auto* settings : {&op->ints, &op->reals})
      for (const base::CustomAttribute& each : *settings)
        if (!each.otherwise &&
            std::ranges::none_of(made.keys, [&](const PluginKey& key) { return key.name == each.name; }))
          return failed(fmt::format("the layer type '{}' has no key for the required setting '{}'", type, each.name));
    layers_.push_back(std::move(made));
    return 0;
  }

  int take(const pt_plugin_key& key, const base::CustomOperator& op, PluginLayer& layer) {
    if (!is_word(key.name))
      return failed(fmt::format("a key of the layer type '{}' is not of lower case letters, digits and _", layer.type));
    if (is_common_key(key.name))
      return failed(fmt::format("the key '{}' of the layer type '{}' is one that any layer has", key.name, layer.type));
    if (std::ranges::any_of(layer.keys, [&](const PluginKey& each) { return each.name == key.name; }))
      return failed(fmt::format("the layer type '{}' has two keys '{}'", layer.type, key.name));
    const auto has_name = [&](const base::CustomAttribute& each) { return each.name == key.name; };
    const bool is_real = key.kind == PT_PLUGIN_REAL;
    if (key.kind > PT_PLUGIN_BOOLEAN || std::ranges::none_of(is_real ? op.reals : op.ints, has_name))
      return failed(fmt::format("the key '{}' of the layer type '{}' is no setting of that kind of the operator '{}'",
                                key.name, layer.type, op.name));
    if (!std::isfinite(key.least) || !std::isfinite(key.most) || key.least > key.most)
      return failed(fmt::format("the key '{}' of the layer type '{}' is from {} to {}", key.name, layer.type, key.least,
                                key.most));
    layer.keys.push_back({key.name, static_cast<PluginKey::Kind>(key.kind), key.least, key.most});
    return 0;
  }

  static bool is_common_key(std::string_view name) {
    constexpr std::array<std::string_view, 18> kCommon = {"type",
                                                          "input_layers",
                                                          "input_shape",
                                                          "activation",
                                                          "flatten",
                                                          "trainable",
                                                          "shared_from",
                                                          "distribute",
                                                          "clip_grad_by_norm",
                                                          "packed",
                                                          "weight_dtype",
                                                          "loss_scale",
                                                          "engine",
                                                          "print",
                                                          "backbone",
                                                          "name",
                                                          "weight_initializer",
                                                          "bias_initializer"};
    return std::ranges::find(kCommon, name) != kCommon.end();
  }
};

Failure refused(const std::string& path, const std::string& why, const std::string& help) {
  return fail("E0106", "the plug-in cannot be used: " + why, path, help);
}

constexpr const char* kSeeHeader = "see include/pantoum/plugin.h, and mend the plug-in";

// Closes a library that was not accepted.
class Library {
 public:
  explicit Library(const std::string& path) : handle_(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  ~Library() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  [[nodiscard]] void* handle() const { return handle_; }
  void keep() { handle_ = nullptr; }

 private:
  void* handle_;
};

// Runs the entry, and checks what it adds.
Result<void> collect(const Library& library, const std::string& path, Collector& collector) {
  void* const handle = library.handle();
  const auto* const abi = static_cast<const unsigned*>(::dlsym(handle, "pantoum_plugin_abi"));
  void* const symbol = ::dlsym(handle, PT_PLUGIN_ENTRY);
  if (symbol == nullptr || abi == nullptr)
    return refused(
        path,
        fmt::format("it is a shared object without {}", symbol == nullptr ? PT_PLUGIN_ENTRY : "pantoum_plugin_abi"),
        symbol == nullptr ? "define the entry of include/pantoum/plugin.h, with C names (extern \"C\")"
                          : "write PT_PLUGIN_DECLARE_ABI; in it");
  if (*abi != PT_PLUGIN_ABI)
    return refused(path,
                   fmt::format("it has version {} of the interface, and this release has {}", *abi, PT_PLUGIN_ABI),
                   "compile it with include/pantoum/plugin.h of this release");
  const std::string why = collector.run(reinterpret_cast<int (*)(const pt_plugin_host*)>(symbol));
  if (!why.empty()) return refused(path, why, kSeeHeader);
  const Result<void> checked = collector.check();
  return checked ? checked : refused(path, checked.error().message, kSeeHeader);
}

}  // namespace

Result<void> load_plugin(const std::string& path) {
  static std::mutex one_at_a_time;
  static std::set<void*> accepted;
  const std::scoped_lock lock(one_at_a_time);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    return refused(path, "there is no such file", "check the path of the shared object");
  Library library(path.find('/') == std::string::npos ? "./" + path : path);
  if (library.handle() == nullptr) {
    const char* const why = ::dlerror();
    return refused(path, why == nullptr ? "it is no shared object" : text_of(why),
                   "compile it for this machine: gcc -O2 -shared -fPIC plugin.c -o plugin.so");
  }
  if (accepted.contains(library.handle())) return {};
  Collector collector;
  PANTOUM_TRY(collect(library, path, collector));
  accepted.insert(library.handle());
  library.keep();
  return collector.add();
}

}  // namespace pantoum::ini
