#include "artifact/compile_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace pantoum::artifact {
namespace {

Failure disagree(const std::string& what, const std::string& tensor) {
  return fail("E0250", fmt::format("the programs of one plan disagree: {}", what), tensor, "plan them together again");
}

bool persistent(const ir::Value& value) {
  return value.producer == ir::kNone;
}

class Compiler {
 public:
  Result<BinaryPlan> run(const std::vector<PlannedProgram>& programs) {
    for (const PlannedProgram& program : programs) all_engines_ |= program.built.with_threads;
    if (all_engines_ == 0) all_engines_ = 1;
    for (const PlannedProgram& program : programs) {
      PANTOUM_TRY(add(program));
      storage_base_ = static_cast<int64_t>(binary_.storage_bytes);
    }
    add_waits(binary_);
    return std::move(binary_);
  }

 private:
  Result<void> add(const PlannedProgram& program) {
    const problem::Device& device = program.plan.graph.device;
    binary_.align_bytes = static_cast<uint32_t>(device.align_bytes);
    binary_.arena_bytes = std::max(binary_.arena_bytes, static_cast<uint64_t>(program.plan.predicted.arena_bytes));
    program_ = &program;
    tensor_index_.assign(program.built.graph.tensors.size(), 0);
    find_predecessors();
    for (size_t tensor = 0; tensor < program.built.graph.tensors.size(); ++tensor) PANTOUM_TRY(add_tensor(tensor));
    link_successors();
    PANTOUM_TRY(place_results());
    BinaryProgram compiled{.name = program.name, .instructions = {}, .staging_at = program.plan.staging_at};
    if (program.plan.staging_at >= 0) binary_.staging_bytes = static_cast<uint64_t>(device.pager.staging_bytes);
    op_index_.clear();
    for (const problem::Instruction& instruction : program.plan.instructions)
      compiled.instructions.push_back(translate(instruction));
    binary_.programs.push_back(std::move(compiled));
    return check_storage(device);
  }

  const ir::Value& value_of(size_t tensor) const { return program_->graph.value(program_->built.value_of[tensor]); }

  Result<void> add_tensor(size_t tensor) {
    const problem::Tensor& planned = program_->built.graph.tensors[tensor];
    const ir::Value& value = value_of(tensor);
    BinaryTensor entry{.bytes = static_cast<uint64_t>(planned.bytes), .type = value.type, .home = planned.start};
    if (const auto at = program_->plan.initial.find(planned.id); at != program_->plan.initial.end())
      entry.ram_at = at->second;
    if (const auto at = program_->plan.storage.find(planned.id); at != program_->plan.storage.end())
      entry.storage_at = storage_base_ + at->second;
    if (persistent(value)) {
      entry.name = value.name;
      const auto known = by_name_.find(value.name);
      if (known != by_name_.end()) return share(tensor, known->second, entry);
      by_name_.emplace(value.name, binary_.tensors.size());
      if (entry.home == problem::Home::kRom) entry.rom_at = next_in_rom(entry);
    }
    if (const int32_t successor = known_successor(tensor); successor >= 0)
      return share(tensor, static_cast<size_t>(successor), entry);
    tensor_index_[tensor] = static_cast<uint32_t>(binary_.tensors.size());
    reserve(entry);
    binary_.tensors.push_back(std::move(entry));
    return {};
  }

  void reserve(const BinaryTensor& entry) {
    if (entry.storage_at >= 0)
      binary_.storage_bytes = std::max(binary_.storage_bytes, static_cast<uint64_t>(entry.storage_at) + entry.bytes);
  }

  // The next free place in ROM, aligned for kernels and for the type of the elements.
  int64_t next_in_rom(const BinaryTensor& entry) {
    const auto align = std::max<int64_t>(binary_.align_bytes, ir::size_of(entry.type.dtype));
    const int64_t at = (rom_bytes_ + align - 1) / align * align;
    rom_bytes_ = at + static_cast<int64_t>(entry.bytes);
    return at;
  }

  // A persistent tensor that an earlier program has placed already.
  Result<void> share(size_t tensor, size_t index, const BinaryTensor& entry) {
    BinaryTensor& known = binary_.tensors[index];
    if (known.bytes != entry.bytes || known.home != entry.home) return disagree("another size or home", entry.name);
    if (known.home == problem::Home::kRam && known.ram_at != entry.ram_at)
      return disagree("another offset in the arena", entry.name);
    if (known.storage_at < 0 && entry.storage_at >= 0) {
      known.storage_at = entry.storage_at;
      reserve(known);
    }
    tensor_index_[tensor] = static_cast<uint32_t>(index);
    return {};
  }

  void find_predecessors() {
    const std::vector<problem::Tensor>& tensors = program_->built.graph.tensors;
    predecessor_.assign(tensors.size(), -1);
    for (size_t tensor = 0; tensor < tensors.size(); ++tensor)
      if (tensors[tensor].next >= 0)
        predecessor_[static_cast<size_t>(tensors[tensor].next)] = static_cast<int64_t>(tensor);
  }

  // A tensor that several programs update has one successor in all of them. -1: no earlier program has made it.
  int32_t known_successor(size_t tensor) const {
    if (predecessor_[tensor] < 0) return -1;
    return binary_.tensors[tensor_index_[static_cast<size_t>(predecessor_[tensor])]].next;
  }

  void link_successors() {
    for (size_t tensor = 0; tensor < tensor_index_.size(); ++tensor) {
      const int64_t next = program_->built.graph.tensors[tensor].next;
      if (next >= 0)
        binary_.tensors[tensor_index_[tensor]].next = static_cast<int32_t>(tensor_index_[static_cast<size_t>(next)]);
    }
  }

  // A result is read after the run at the place where the last instruction put it. A result that is a view of another result,
  // of an input or of a parameter gets an entry of its own, so that it is found by its own name.
  Result<void> place_results() {
    for (ir::ValueId result : program_->graph.results) {
      const int64_t id = program_->built.tensor_of[static_cast<size_t>(result)];
      const int64_t at = final_offset(id);
      const ir::Value& value = program_->graph.value(result);
      if (at < 0)
        return fail("E0250", "a result is not in RAM at the end of the plan", value.name,
                    "plan it on a device without 'rom', or give out a copy of it");
      BinaryTensor& entry = binary_.tensors[tensor_index_[static_cast<size_t>(id)]];
      const std::string name = program_->result_prefix + value.name;
      if (!entry.name.empty() && entry.name != name) {
        binary_.tensors.push_back(
            {.name = name, .bytes = entry.bytes, .type = value.type, .home = problem::Home::kRam, .ram_at = at});
        continue;
      }
      entry.name = name;
      entry.type = value.type;  // which may be a view of what the op made
      entry.home = problem::Home::kRam;
      entry.ram_at = at;
    }
    return {};
  }

  int64_t final_offset(int64_t id) const {
    const auto initial = program_->plan.initial.find(id);
    int64_t at = initial != program_->plan.initial.end() ? initial->second : -1;
    for (const problem::Instruction& instruction : program_->plan.instructions) {
      if (instruction.what == problem::Do::kPageIn && instruction.subject == id) at = instruction.at.at(0);
      if (instruction.what != problem::Do::kCompute) continue;
      const problem::Op& op = program_->built.graph.ops[static_cast<size_t>(instruction.subject)];
      const problem::Choice& choice = op.choices[static_cast<size_t>(instruction.choice)];
      const std::vector<int> writes = choice.whole_writes();
      for (size_t written = 0; written < writes.size(); ++written)
        if (op.outputs[static_cast<size_t>(writes[written])] == id) at = instruction.at.at(written);
    }
    return at;
  }

  BinaryInstruction translate(const problem::Instruction& instruction) {
    BinaryInstruction entry{.what = instruction.what};
    entry.at.assign(instruction.at.begin(), instruction.at.end());
    if (instruction.what == problem::Do::kCompute) entry.also_takes = others_of(instruction);
    entry.workspace_at = instruction.workspace_at < 0 ? 0 : static_cast<uint64_t>(instruction.workspace_at);
    entry.subject = instruction.what == problem::Do::kCompute ? op_of(instruction.subject, instruction.choice)
                                                              : tensor_index_[static_cast<size_t>(instruction.subject)];
    return entry;
  }

  uint32_t op_of(int64_t id, int choice) {
    const auto [entry, added] = op_index_.try_emplace({id, choice}, static_cast<uint32_t>(binary_.ops.size()));
    if (!added) return entry->second;
    const auto at = static_cast<size_t>(id), which = static_cast<size_t>(choice);
    const cost::BuiltCostGraph& built = program_->built;
    const ir::Op& op = built.computed_as[at][which];
    const pt_kernel& kernel = *built.kernel_of[at][which];
    BinaryOp compiled{.kind = op.kind, .algorithm = kernel.algorithm, .engine = kernel.engine, .attrs = op.attrs};
    compiled.threads = static_cast<uint16_t>(built.threads_of[at][which]);
    compiled.engines = engines_of(id, choice);
    if (const auto slicing = built.slicing_of.find({at, which}); slicing != built.slicing_of.end())
      compiled.slicing = slicing->second;
    compiled.workspace_bytes = static_cast<uint64_t>(built.graph.ops[at].choices[which].workspace_bytes);
    for (ir::ValueId input : op.inputs) compiled.inputs.push_back(operand(input));
    for (ir::ValueId output : op.outputs) compiled.outputs.push_back(operand(output));
    binary_.ops.push_back(std::move(compiled));
    return entry->second;
  }

  // The engines of a choice, a bit each.
  uint64_t set_of(int64_t id, int choice) const {
    const problem::CostGraph& graph = program_->built.graph;
    return problem::engines_of(graph.device, graph.ops[static_cast<size_t>(id)].choices[static_cast<size_t>(choice)]);
  }

  // The engines that compute it; those of all programs that have threads where this one was planned for one engine.
  uint8_t engines_of(int64_t id, int choice) const {
    const uint64_t own = program_->built.computing;
    return static_cast<uint8_t>(own != 0 ? set_of(id, choice) & own : all_engines_);
  }

  // The engines that it takes beside them.
  uint64_t others_of(const problem::Instruction& step) const {
    const uint64_t own = program_->built.computing;
    return own != 0 ? set_of(step.subject, step.choice) & ~uint64_t{own} : 0;
  }

  BinaryOperand operand(ir::ValueId value) const {
    const auto tensor = static_cast<size_t>(program_->built.tensor_of[static_cast<size_t>(value)]);
    return {.tensor = tensor_index_[tensor], .type = program_->graph.value(value).type};
  }

  Result<void> check_storage(const problem::Device& device) const {
    std::vector<std::pair<uint64_t, uint64_t>> slots;
    for (const BinaryTensor& tensor : binary_.tensors)
      if (tensor.storage_at >= 0) slots.emplace_back(static_cast<uint64_t>(tensor.storage_at), tensor.bytes);
    std::ranges::sort(slots);
    for (size_t slot = 1; slot < slots.size(); ++slot)
      if (slots[slot - 1].first + slots[slot - 1].second > slots[slot].first)
        return fail("E0250", fmt::format("two tensors share storage at byte {}", slots[slot].first), program_->name);
    const problem::Bytes capacity = device.pager.capacity_bytes;
    if (capacity >= 0 && binary_.storage_bytes > static_cast<uint64_t>(capacity))
      return fail(
          "E0250",
          fmt::format("the plan needs {} bytes of storage and the device has {}", binary_.storage_bytes, capacity),
          program_->name);
    return {};
  }

  BinaryPlan binary_;
  std::map<std::string, size_t> by_name_;
  const PlannedProgram* program_ = nullptr;
  std::vector<uint32_t> tensor_index_;  // by cost-graph tensor id of the current program
  std::vector<int64_t> predecessor_;    // by the same: the tensor it succeeds; -1: none
  std::map<std::pair<int64_t, int>, uint32_t> op_index_;
  int64_t storage_base_ = 0, rom_bytes_ = 0;
  uint8_t all_engines_ = 0;  // a bit each
};

}  // namespace

Result<BinaryPlan> compile_programs(const std::vector<PlannedProgram>& programs) {
  return Compiler().run(programs);
}

}  // namespace pantoum::artifact
