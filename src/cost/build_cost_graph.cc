#include "cost/build_cost_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/lists.h"
#include "base/round_up.h"
#include "cost/algorithm_cost.h"
#include "cost/roofline.h"
#include "cost/thread_counts.h"
#include "ir/kernel_call.h"
#include "ir/op_registry.h"
#include "kernels/back_end.h"
#include "kernels/portable/kernel_rows.h"

namespace pantoum::cost {

using problem::Choice;
using problem::Home;
using problem::Op;
using problem::PagerMode;
using problem::Tensor;
namespace {

// How much slower a reference kernel (plain loops) is than the kernel that the device's figures are about.
constexpr double kReferenceSlowdown = 6;
// How much slower a back end's later implementations are modelled: it lists first what it expects to be fastest, which only measuring tells.
constexpr double kLaterSlowdown = 1.5;
// How much slower a product in strips is than the whole product at once: each strip begins anew.
constexpr double kStripSlowdown = 1.05;
// How much slower a kernel that copies what it reads is modelled: only measuring tells what the copies save.
constexpr double kCopiesSlowdown = 1.05;
// A device with at most this RAM is a microcontroller; one with at least these flops computes floats in hardware (m4: 6.4e6 flops
// per second, m0: 1.7e5).
constexpr Bytes kMostSmallRam = Bytes{16} << 20;
constexpr double kLeastFlopsOfHardware = 1e6;

bool lives_between_steps(ir::Role role) {
  return role == ir::Role::kParameter || role == ir::Role::kBuffer || role == ir::Role::kState ||
         role == ir::Role::kConstant;
}

Bytes persistent_bytes(const ir::Graph& graph, const std::set<std::string>& in_rom) {
  Bytes sum = 0;
  for (const ir::Value& value : graph.values)
    if (lives_between_steps(value.role) && !in_rom.contains(value.name)) sum += value.type.bytes();
  return sum;
}

class Construction {
 public:
  Construction(const ir::Graph& graph, const DeviceProfile& device, const CostGraphOptions& options)
      : graph_(graph),
        device_(device),
        options_(options),
        kernels_(options.kernels ? options.kernels : pt_portable_kernels()) {
    const bool paging = device.device.pager.mode != PagerMode::kNone;
    const bool crowded = options.budget && persistent_bytes(graph, options.in_rom) > *options.budget / 4;
    in_aux_ = paging && (options.params_in == ParamsIn::kAux || (options.params_in == ParamsIn::kAuto && crowded));
  }

  Result<BuiltCostGraph> run() {
    built_.graph.name = graph_.name;
    built_.graph.device = device_.device;
    built_.graph.device.costs_of = "modelled by profile " + device_.device.name;
    add_tensors();
    for (size_t op = 0; op < graph_.ops.size(); ++op)
      if (graph_.ops[op].kind != ir::Kind::k_alias) add_op(static_cast<ir::OpId>(op));
    if (!gone_.empty())
      return fail("E0404", "some ops have no kernel of the class of numerics that they have to keep", graph_.name,
                  "give the plan (--plan) or the kernels (--kernels) that it was trained with, or begin anew with its "
                  "weights (--weights)",
                  gone_);
    if (!missing_.empty())
      return fail("E0404", "no kernel for some operators of the training step", graph_.name,
                  "use float32 for data and int64 for indices", missing_);
    for (const Op& op : built_.graph.ops) built_.graph.order.push_back(op.id);
    return std::move(built_);
  }

 private:
  // Marks the values that own bytes: roots that some op touches, and everything that lives between steps.
  std::vector<char> owners() const {
    std::vector<char> owns(graph_.values.size(), 0);
    const auto mark = [&](ir::ValueId id) { owns[static_cast<size_t>(ir::root_of(graph_, id))] = 1; };
    for (const ir::Op& op : graph_.ops) {
      if (op.kind == ir::Kind::k_alias) continue;
      std::for_each(op.inputs.begin(), op.inputs.end(), mark);
      std::for_each(op.outputs.begin(), op.outputs.end(), mark);
      for (const ir::Alternative& other : op.alternatives)
        std::for_each(other.inputs.begin(), other.inputs.end(), mark);
    }
    for (size_t id = 0; id < graph_.values.size(); ++id)
      if (lives_between_steps(graph_.values[id].role) && graph_.values[id].producer == ir::kNone) owns[id] = 1;
    std::for_each(graph_.inputs.begin(), graph_.inputs.end(), mark);
    std::for_each(graph_.labels.begin(), graph_.labels.end(), mark);
    return owns;
  }

  void add_tensors() {
    built_.tensor_of.assign(graph_.values.size(), -1);
    const std::vector<char> owns = owners();
    for (size_t id = 0; id < graph_.values.size(); ++id) {
      if (!owns[id]) continue;
      built_.tensor_of[id] = static_cast<int64_t>(built_.value_of.size());
      built_.value_of.push_back(static_cast<ir::ValueId>(id));
      built_.graph.tensors.push_back(tensor_for(static_cast<ir::ValueId>(id)));
    }
    for (size_t id = 0; id < graph_.values.size(); ++id) {
      if (built_.tensor_of[id] < 0)
        built_.tensor_of[id] = built_.tensor_of[static_cast<size_t>(ir::root_of(graph_, static_cast<ir::ValueId>(id)))];
      const ir::ValueId next = graph_.values[id].next;
      if (owns[id] && next != ir::kNone)
        built_.graph.tensors[static_cast<size_t>(built_.tensor_of[id])].next =
            built_.tensor_of[static_cast<size_t>(next)];
    }
    for (ir::ValueId result : graph_.results) tensor_of(result).end = Home::kRam;
  }

  Tensor& tensor_of(ir::ValueId value) {
    return built_.graph.tensors[static_cast<size_t>(built_.tensor_of[static_cast<size_t>(value)])];
  }

  Tensor tensor_for(ir::ValueId id) const {
    const ir::Value& value = graph_.value(id);
    Tensor tensor{.id = static_cast<int64_t>(built_.graph.tensors.size()), .name = value.name};
    tensor.bytes = base::round_up(std::max<Bytes>(value.type.bytes(), 1), device_.device.align_bytes);
    if (value.producer != ir::kNone) return tensor;
    if (value.role == ir::Role::kInput || value.role == ir::Role::kLabel) {
      tensor.start = Home::kRam;
    } else if (lives_between_steps(value.role) && options_.in_rom.contains(value.name)) {
      tensor.start = Home::kRom;
    } else if (in_aux_) {
      tensor.start = Home::kAux;
    } else {
      tensor.start = Home::kRam;
      tensor.pinned = true;
      if (value.next == ir::kNone) tensor.end = Home::kRam;
    }
    return tensor;
  }

  void add_op(ir::OpId id) {
    const ir::Op& op = graph_.op(id);
    Op entry{.id = static_cast<int64_t>(built_.graph.ops.size()), .name = op.name};
    for (ir::ValueId output : op.outputs) entry.outputs.push_back(built_.tensor_of[static_cast<size_t>(output)]);
    entry.recompute = op.recompute && ir::op_def(op.kind).recompute;
    entry.optional = op.optional;
    built_.op_of.push_back(id);
    built_.kernel_of.emplace_back();
    built_.computed_as.emplace_back();
    built_.threads_of.emplace_back();
    add_choices(op, entry);
    const auto kept = options_.classes.find(op.name);
    if (entry.choices.empty() && kept != options_.classes.end())
      gone_.push_back(fmt::format("{} ({})", op.name, kept->second));
    else if (entry.choices.empty())
      missing_.push_back(
          fmt::format("{} ({} on {})", op.name, ir::name_of(op.kind), ir::name_of(key_dtype(graph_, op))));
    for (const ir::Alternative& other : op.alternatives) {
      ir::Op as = op;
      as.kind = other.kind, as.inputs = other.inputs, as.attrs = other.attrs;
      add_choices(as, entry);
    }
    built_.graph.ops.push_back(std::move(entry));
  }

  // One way to compute an op.
  struct Way {
    Choice choice;
    const pt_kernel* kernel = nullptr;
    int threads = 0;  // 0: all
  };

  // Adds the ways to compute the entry's outputs from the inputs of `op`, which join the entry's inputs.
  void add_choices(const ir::Op& op, Op& entry) {
    const int before = static_cast<int>(entry.inputs.size());
    for (ir::ValueId input : op.inputs) entry.inputs.push_back(built_.tensor_of[static_cast<size_t>(input)]);
    std::vector<Way> ways = ways_of(op);
    if (!device_.clocks.empty()) ways = at_levels(op, ways);
    add_fewer_threads(op, ways);
    if (const auto kept = options_.classes.find(op.name); kept != options_.classes.end())
      std::erase_if(ways, [&](const Way& way) { return way.choice.numerics != kept->second; });
    for (Way& way : ways) {
      for (int& position : way.choice.reads) position += before;
      for (auto& [output, input] : way.choice.overwrites) input += before;
      entry.choices.push_back(std::move(way.choice));
      built_.kernel_of.back().push_back(way.kernel);
      built_.computed_as.back().push_back(op);
      built_.threads_of.back().push_back(way.threads);
    }
  }

  // Adds ways on fewer threads behind those with all threads. The first way with all threads gives the class of numerics.
  void add_fewer_threads(const ir::Op& op, std::vector<Way>& ways) {
    const size_t all = ways.size();
    const auto kept = options_.classes.find(op.name);
    const int kept_threads = kept != options_.classes.end() ? threads_of_class(kept->second) : 0;
    if (kept_threads >= options_.threads)  // all that there are
      for (Way& way : ways) way.choice.numerics = of_threads(way.choice.numerics, kept_threads);
    std::vector<int> counts;
    if (!options_.first_choices) counts = fewer_threads(device_.compute, options_.threads);
    for (const int count : options_.thread_counts)
      if (count < options_.threads && !base::contains(counts, count)) counts.push_back(count);
    if (kept_threads > 0 && kept_threads < options_.threads) counts = {kept_threads};
    for (const int count : counts) {
      for (size_t at = 0; at < all; ++at) {
        const pt_kernel& kernel = *ways[at].kernel;
        const std::optional<Bytes> asked = workspace_of(op, kernel, count);
        if (!asked) continue;
        const Work work = work_of(graph_, op, ways[at].choice.workspace_bytes, &kernel);
        Choice on =
            on_fewer_threads(ways[at].choice, work, device_.compute, count, options_.threads, !is_back_end(kernel));
        on.workspace_bytes = base::round_up(*asked, device_.device.align_bytes);
        ways.push_back({std::move(on), &kernel, count});
      }
    }
  }

  [[nodiscard]] std::vector<Way> at_levels(const ir::Op& op, const std::vector<Way>& ways) const {
    std::vector<Way> found;
    for (const Way& way : ways)
      for (Choice& level :
           at_clock_levels(way.choice, work_of(graph_, op, way.choice.workspace_bytes, way.kernel), device_))
        found.push_back({std::move(level), way.kernel});
    return found;
  }

  // Ways of the first kernel's class of numerics, which plans keep to, come before others. Within a class the fastest comes first; a
  // slower kernel follows only if it needs less workspace or copies what it reads. Where a back end computes an op, the portable
  // kernels are not offered.
  std::vector<Way> ways_of(const ir::Op& op) {
    std::vector<Way> ways;
    std::map<std::string, Bytes> least;  // workspace, by class of numerics
    for (const pt_kernel* kernel : kernels_for(op)) {
      if (!ways.empty() && is_back_end(*ways.front().kernel) && !is_back_end(*kernel)) continue;
      const std::optional<Bytes> asked = workspace_of(op, *kernel, options_.threads);
      if (!asked) continue;
      const Bytes workspace = base::round_up(*asked, device_.device.align_bytes);
      const auto [entry, first] = least.try_emplace(kernel->numerics, workspace);
      if (!first && workspace >= entry->second && !is_copying(*kernel)) continue;
      entry->second = std::min(entry->second, workspace);
      Choice choice = choice_for(op, *kernel, workspace, slowdown_of(*kernel, first, ways));
      if (!first && choice.time_s <= ways.back().choice.time_s && ways.back().kernel->numerics == choice.numerics)
        ways.pop_back();  // needs more workspace for nothing
      ways.push_back({std::move(choice), kernel});
    }
    if (options_.first_choices && ways.size() > 1) ways.resize(1);
    return ways;
  }

  // How many times slower the kernel is than algorithm_cost says. `first`: it is the first of its class; `ways`: those before it.
  static double slowdown_of(const pt_kernel& kernel, bool first, const std::vector<Way>& ways) {
    if (is_copying(kernel)) return kCopiesSlowdown;
    if (first || is_other(kernel)) return is_later(kernel) ? kLaterSlowdown : 1;
    if (kernel.algorithm == 0) return kReferenceSlowdown;
    return ways.front().kernel->algorithm == PT_SHIFT_COMPACT ? 1 : kStripSlowdown;
  }

  static bool is_back_end(const pt_kernel& kernel) { return kernel.algorithm >= PT_FIRST_BACK_END_ALGORITHM; }
  static bool is_copying(const pt_kernel& kernel) { return kernel.algorithm == PT_BACK_END_COPIES; }
  // Is it one of a back end's implementations after its first?
  static bool is_later(const pt_kernel& kernel) { return is_back_end(kernel) && is_other(kernel); }
  // Is it offered beside the first kernel even if it needs more workspace?
  static bool is_other(const pt_kernel& kernel) {
    return kernel.algorithm >= (is_back_end(kernel) ? PT_FIRST_BACK_END_ALGORITHM : 0) + PT_FIRST_OTHER;
  }

  // Is the device a microcontroller that computes floats in hardware? Where software computes them, products with zeros cost more than
  // they save; nothing was measured for processors with caches.
  [[nodiscard]] bool is_small_with_floats() const {
    return device_.device.ram_bytes <= kMostSmallRam && device_.compute.flops_per_s >= kLeastFlopsOfHardware;
  }

  // The host has algorithms that pack operands; devices lack the caches and the stack for them. A plan for either runs on the other.
  [[nodiscard]] bool is_offered(const pt_kernel& kernel) const {
    switch (kernel.algorithm) {
      case PT_BLOCKED:
      case PT_WINOGRAD:
      case PT_WINOGRAD4:
        return device_.host;
      case PT_SHIFT_COMPACT:
        return !device_.host && is_small_with_floats();
      case PT_COMPACT:
      case PT_COMPACT_WHOLE:
      case PT_WINOGRAD_COMPACT:
      case PT_WINOGRAD_COMPACT_WHOLE:
      case PT_WINOGRAD4_COMPACT:
      case PT_WINOGRAD4_COMPACT_WHOLE:
        return !device_.host;
      default:
        return true;
    }
  }

  // Larger algorithm numbers come first: they are faster, and a back end's stand before the portable ones. Kernels that are offered
  // beside the first follow. Kernels that copy come last: as an op's only choice they would take their bytes from every budget.
  std::vector<const pt_kernel*> kernels_for(const ir::Op& op) const {
    std::set<uint16_t, std::greater<>> algorithms;
    for (size_t row = 0; row < kernels_->count; ++row)
      if (kernels_->kernels[row].op == static_cast<uint16_t>(op.kind) && is_offered(kernels_->kernels[row]))
        algorithms.insert(kernels_->kernels[row].algorithm);
    std::vector<const pt_kernel*> found;
    for (const uint16_t algorithm : algorithms)
      if (const pt_kernel* kernel = pt_kernel_find(kernels_, static_cast<uint16_t>(op.kind),
                                                   static_cast<uint8_t>(key_dtype(graph_, op)), algorithm, 0))
        found.push_back(kernel);
    const auto rank = [](const pt_kernel* kernel) { return std::pair(is_other(*kernel), is_copying(*kernel)); };
    std::stable_sort(found.begin(), found.end(), [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
    if (const auto kept = options_.classes.find(op.name); kept != options_.classes.end())
      std::erase_if(found, [&](const pt_kernel* kernel) {  // "CLASS@2t" is the class of a kernel on fewer threads
        return kept->second != kernel->numerics && !kept->second.starts_with(std::string(kernel->numerics) + "@");
      });
    return found;
  }

  Choice choice_for(const ir::Op& op, const pt_kernel& kernel, Bytes workspace, double slowdown) {
    Choice choice{
        .algorithm = kernel.algorithm_name, .numerics = kernel.numerics ? kernel.numerics : "", .engines = {"cpu"}};
    choice.workspace_bytes = workspace;
    const Work work = work_of(graph_, op, workspace, &kernel);
    choice.time_s = modelled_seconds(device_.compute, work) * slowdown;
    choice.energy_j = modelled_joules(device_.compute, work, choice.time_s);
    if (device_.compute.core_w > 0) choice.energy_j = choice.time_s * watts_on(device_.compute, options_.threads);
    for (size_t position = 0; position < op.inputs.size(); ++position)
      choice.reads.push_back(static_cast<int>(position));
    for (size_t position = 0; position < op.outputs.size(); ++position)
      choice.writes.push_back(static_cast<int>(position));
    if (options_.in_place || !ir::op_def(op.kind).recompute)  // an update always replaces what it updates
      choice.overwrites = ir::in_place_pairs(graph_, op);
    std::erase_if(choice.overwrites, [&](const auto& pair) {
      return !yields(op.inputs[static_cast<size_t>(pair.second)], op.outputs[static_cast<size_t>(pair.first)]);
    });
    return choice;
  }

  // May the output take the place of the input's bytes? Nothing writes ROM, and only its successor replaces a pinned tensor.
  [[nodiscard]] bool yields(ir::ValueId input, ir::ValueId output) const {
    const Tensor& source = built_.graph.tensors[static_cast<size_t>(built_.tensor_of[static_cast<size_t>(input)])];
    if (source.start == Home::kRom) return false;
    return !source.pinned || source.next == built_.tensor_of[static_cast<size_t>(output)];
  }

  // None: the kernel does not compute these shapes.
  std::optional<Bytes> workspace_of(const ir::Op& op, const pt_kernel& kernel, int threads) const {
    if (kernel.workspace_bytes == nullptr) return 0;
    std::vector<pt_tensor> inputs, outputs;
    for (ir::ValueId input : op.inputs) inputs.push_back(ir::tensor_at(graph_.value(input).type));
    for (ir::ValueId output : op.outputs) outputs.push_back(ir::tensor_at(graph_.value(output).type));
    const pt_pool pool{.context = nullptr, .threads = static_cast<uint32_t>(std::max(1, threads)), .run = nullptr};
    pt_call call = call_of(op, inputs, outputs);
    call.pool = &pool;
    const size_t bytes = kernel.workspace_bytes(&call);
    if (bytes == PT_NO_KERNEL) return std::nullopt;
    return static_cast<Bytes>(bytes);
  }

  const ir::Graph& graph_;
  const DeviceProfile& device_;
  const CostGraphOptions& options_;
  const pt_kernel_table* kernels_;
  bool in_aux_ = false;
  BuiltCostGraph built_;
  std::vector<std::string> missing_, gone_;  // ops without any kernel; ops without a kernel of the class that they keep
};

}  // namespace

ir::DType key_dtype(const ir::Graph& graph, const ir::Op& op) {
  return graph.value(op.kind == ir::Kind::k_count_correct ? op.inputs[0] : op.outputs[0]).type.dtype;
}

Result<BuiltCostGraph> build_cost_graph(const ir::Graph& graph, const DeviceProfile& device,
                                        const CostGraphOptions& options) {
  return Construction(graph, device, options).run();
}

namespace {

constexpr Bytes kWidest = 8;  // of an element: where it may begin

bool may_be_frozen(const ir::Value& value) {
  return value.producer == ir::kNone &&
         (value.role == ir::Role::kParameter || value.role == ir::Role::kBuffer || value.role == ir::Role::kConstant);
}

std::set<std::string> changed_or_results(const std::vector<const ir::Graph*>& programs) {
  std::set<std::string> names;
  for (const ir::Graph* program : programs) {
    for (const ir::Value& value : program->values)
      if (value.next != ir::kNone) names.insert(value.name);
    for (const ir::ValueId result : program->results) names.insert(program->value(ir::root_of(*program, result)).name);
  }
  return names;
}

}  // namespace

std::set<std::string> read_in_place(const std::vector<const ir::Graph*>& programs, const DeviceProfile& device) {
  std::set<std::string> names;
  if (device.rom_bytes <= 0 || programs.empty()) return names;
  const std::set<std::string> others = changed_or_results(programs);
  const Bytes align = std::max(device.device.align_bytes, kWidest);
  Bytes left = device.rom_bytes;
  for (const ir::Value& value : programs.front()->values) {
    if (!may_be_frozen(value) || others.contains(value.name)) continue;
    const Bytes bytes = (std::max<Bytes>(value.type.bytes(), 1) + align - 1) / align * align;
    if (bytes > left) continue;
    left -= bytes;
    names.insert(value.name);
  }
  return names;
}

using problem::Choice;

Compute at_level(const Compute& compute, const ClockLevel& level) {
  Compute scaled = compute;
  scaled.flops_per_s *= level.flops_factor;
  scaled.op_overhead_s /= level.flops_factor;
  scaled.slice_overhead_s /= level.flops_factor;
  scaled.bytes_per_s *= level.bytes_factor;
  for (CacheLevel& cache : scaled.caches) cache.bytes_per_s *= level.flops_factor;  // caches run at the core's clock
  scaled.active_w = level.active_w;
  return scaled;
}

std::vector<Choice> at_clock_levels(const Choice& choice, const Work& work, const DeviceProfile& device) {
  if (device.clocks.empty()) return {choice};
  const Seconds nominal = modelled_seconds(device.compute, work);
  std::vector<Choice> levels;
  for (const ClockLevel& level : device.clocks) {
    Choice at = choice;
    at.algorithm += "@" + level.name;
    if (nominal > 0) at.time_s *= modelled_seconds(at_level(device.compute, level), work) / nominal;
    at.energy_j = at.time_s * level.active_w;
    levels.push_back(std::move(at));
  }
  std::stable_sort(levels.begin(), levels.end(), [](const Choice& a, const Choice& b) {
    return a.time_s != b.time_s ? a.time_s < b.time_s : a.energy_j < b.energy_j;
  });
  std::vector<Choice> kept;
  for (Choice& level : levels)
    if (kept.empty() || level.energy_j < kept.back().energy_j) kept.push_back(std::move(level));
  return kept;
}

}  // namespace pantoum::cost
