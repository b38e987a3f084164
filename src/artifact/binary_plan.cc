#include "artifact/binary_plan.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <optional>

#include "pantoum/pantoum.h"
#include "runtime/plan_layout.h"

namespace pantoum::artifact {
namespace {

// A growing string of bytes, little-endian whatever the host.
class Bytes {
 public:
  void u8(uint8_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void u16(uint16_t value) { fixed(value, 2); }
  void u32(uint32_t value) { fixed(value, 4); }
  void u64(uint64_t value) { fixed(value, 8); }
  void real(double value) { u64(std::bit_cast<uint64_t>(value)); }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) u8(static_cast<uint8_t>(value | 0x80));
    u8(static_cast<uint8_t>(value));
  }
  void zigzag(int64_t value) {
    const auto bits = static_cast<uint64_t>(value);
    varint(bits << 1 ^ (value < 0 ? ~uint64_t{0} : 0));
  }
  void append(const Bytes& other) { bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end()); }
  void put_u32(size_t at, uint32_t value) {
    for (size_t byte = 0; byte < 4; ++byte) bytes_[at + byte] = static_cast<std::byte>(value >> (8 * byte));
  }
  size_t size() const { return bytes_.size(); }
  const std::byte* data() const { return bytes_.data(); }
  std::vector<std::byte> take() && { return std::move(bytes_); }

 private:
  void fixed(uint64_t value, int count) {
    for (int byte = 0; byte < count; ++byte) u8(static_cast<uint8_t>(value >> (8 * byte)));
  }
  std::vector<std::byte> bytes_;
};

Failure refuse(std::string message, std::string where) {
  return fail("E0250", std::move(message), std::move(where), "this plan cannot be written as a binary plan");
}

// The names, each once; "" stands at 0.
class Names {
 public:
  Names() { bytes_.u8(0); }
  uint32_t add(const std::string& name) {
    if (name.empty()) return 0;
    const auto [entry, is_new] = at_.try_emplace(name, static_cast<uint32_t>(bytes_.size()));
    if (is_new) {
      for (const char letter : name) bytes_.u8(static_cast<uint8_t>(letter));
      bytes_.u8(0);
    }
    return entry->second;
  }
  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
  std::map<std::string, uint32_t> at_;
};

// The dims of all types, each list once.
class Shapes {
 public:
  Result<uint32_t> reference(const ir::TensorType& type, const std::string& where) {
    if (type.shape.size() > PT_MAX_RANK) return refuse("a tensor has more than 6 dimensions", where);
    for (const int64_t dim : type.shape)
      if (dim < 1 || dim > std::numeric_limits<int32_t>::max())
        return refuse("a dimension is not between 1 and 2^31 - 1", where);
    const auto [entry, is_new] = at_.try_emplace(type.shape, static_cast<uint32_t>(words_.size() / 4));
    if (is_new)
      for (const int64_t dim : type.shape) words_.u32(static_cast<uint32_t>(dim));
    if (entry->second > PT_TYPE_MAX_DIMS_AT) return refuse("the plan has too many different shapes", where);
    return PT_TYPE_REF(entry->second, static_cast<uint32_t>(type.shape.size()), static_cast<uint32_t>(type.dtype));
  }
  const Bytes& words() const { return words_; }

 private:
  Bytes words_;
  std::map<ir::Shape, uint32_t> at_;
};

// The bytes of a type; none if they do not fit 64 bits.
std::optional<uint64_t> payload_of(const ir::TensorType& type) {
  uint64_t bytes = static_cast<uint64_t>(ir::size_of(type.dtype));
  for (const int64_t dim : type.shape)
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes)) return std::nullopt;
  return bytes;
}

class Encoder {
 public:
  explicit Encoder(const BinaryPlan& plan) : plan_(plan) {}

  Result<std::vector<std::byte>> run() {
    if (plan_.align_bytes == 0) return refuse("the alignment is 0", "align_bytes");
    PANTOUM_TRY(find_pairs());
    for (size_t tensor = 0; tensor < plan_.tensors.size(); ++tensor) PANTOUM_TRY(add_tensor(tensor));
    for (size_t op = 0; op < plan_.ops.size(); ++op) PANTOUM_TRY(add_op(op));
    for (const BinaryProgram& program : plan_.programs) PANTOUM_TRY(add_program(program));
    return assemble();
  }

 private:
  struct Place {  // what a program's record says
    uint32_t name, code_at, code_size, instructions, staging;
  };

  std::string tensor_name(size_t tensor) const {
    const std::string& name = plan_.tensors[tensor].name;
    return name.empty() ? "tensor " + std::to_string(tensor) : "tensor '" + name + "'";
  }

  // `bytes` in units of the alignment.
  Result<uint32_t> units(uint64_t bytes, const std::string& where) const {
    if (bytes % plan_.align_bytes != 0) return refuse("an offset or a size is no multiple of the alignment", where);
    if (bytes / plan_.align_bytes >= PT_NOWHERE)
      return refuse("an offset or a size is too large for its alignment", where);
    return static_cast<uint32_t>(bytes / plan_.align_bytes);
  }

  Result<uint32_t> units_or_none(int64_t at, const std::string& where) const {
    if (at < 0) return PT_NOWHERE;
    return units(static_cast<uint64_t>(at), where);
  }

  // An offset of something `bytes` long inside `limit` bytes.
  Result<uint32_t> inside(uint64_t at, uint64_t bytes, uint64_t limit, const std::string& where) const {
    if (at > limit || bytes > limit - at) return refuse("an offset lies outside the arena or the storage", where);
    return units(at, where);
  }

  Result<void> find_pairs() {
    const size_t count = plan_.tensors.size();
    pair_.assign(count, PT_NOWHERE);
    is_successor_.assign(count, false);
    for (size_t tensor = 0; tensor < count; ++tensor) {
      const int32_t next = plan_.tensors[tensor].next;
      if (next < 0) continue;
      const auto successor = static_cast<size_t>(next);
      if (successor >= count || successor == tensor || pair_[successor] != PT_NOWHERE || pair_[tensor] != PT_NOWHERE)
        return refuse("a successor does not exist, or has two roles", tensor_name(tensor));
      if (plan_.tensors[tensor].bytes != plan_.tensors[successor].bytes)
        return refuse("a tensor and its successor differ in size", tensor_name(tensor));
      pair_[tensor] = static_cast<uint32_t>(successor);
      pair_[successor] = static_cast<uint32_t>(tensor);
      is_successor_[successor] = true;
    }
    return {};
  }

  Result<void> check_home(const BinaryTensor& tensor, const std::string& where) const {
    using problem::Home;
    if (tensor.home == Home::kRam && tensor.ram_at < 0)
      return refuse("a tensor lives in RAM and has no offset there", where);
    if (tensor.home == Home::kAux && tensor.storage_at < 0)
      return refuse("a tensor lives in storage and has no slot", where);
    if ((tensor.home == Home::kRom) != (tensor.rom_at >= 0))
      return refuse("a tensor has an offset in ROM if and only if it lives there", where);
    const auto fits = [&](int64_t at, uint64_t limit) {
      return at < 0 || (static_cast<uint64_t>(at) <= limit && tensor.bytes <= limit - static_cast<uint64_t>(at));
    };
    if (!fits(tensor.ram_at, plan_.arena_bytes) || !fits(tensor.storage_at, plan_.storage_bytes))
      return refuse("a tensor lies outside the arena or the storage", where);
    return {};
  }

  Result<void> add_tensor(size_t index) {
    const BinaryTensor& tensor = plan_.tensors[index];
    const std::string where = tensor_name(index);
    PANTOUM_TRY(check_home(tensor, where));
    if (tensor.name.find('\0') != std::string::npos) return refuse("a name holds a zero byte", where);
    PANTOUM_ASSIGN(const uint32_t size, units(tensor.bytes, where));
    PANTOUM_ASSIGN(const uint32_t ram, units_or_none(tensor.ram_at, where));
    PANTOUM_ASSIGN(const uint32_t storage, units_or_none(tensor.storage_at, where));
    PANTOUM_ASSIGN(const uint32_t rom, units_or_none(tensor.rom_at, where));
    PANTOUM_ASSIGN(const uint32_t type, shapes_.reference(tensor.type, where));
    const std::optional<uint64_t> payload = payload_of(tensor.type);
    if (!payload || *payload > tensor.bytes) return refuse("a tensor has fewer bytes than its type", where);
    if (tensor.rom_at >= 0) rom_bytes_ = std::max(rom_bytes_, static_cast<uint64_t>(tensor.rom_at) + tensor.bytes);
    for (const uint32_t field : {size, names_.add(tensor.name), ram, storage, rom, pair_[index], type})
      tensors_.u32(field);
    tensors_.u8(static_cast<uint8_t>(tensor.home));
    tensors_.u8(is_successor_[index] ? PT_FLAG_SUCCESSOR : 0);
    tensors_.u16(0);
    return {};
  }

  Result<void> add_operand(const BinaryOperand& operand, const std::string& where) {
    if (operand.tensor >= plan_.tensors.size()) return refuse("an operand is no tensor of the plan", where);
    PANTOUM_ASSIGN(const uint32_t type, shapes_.reference(operand.type, where));
    const std::optional<uint64_t> payload = payload_of(operand.type);
    if (!payload || *payload > plan_.tensors[operand.tensor].bytes)
      return refuse("an operand is larger than its tensor", where);
    ops_.varint(operand.tensor);
    ops_.varint(type);
    return {};
  }

  Result<void> add_op(size_t index) {
    const BinaryOp& op = plan_.ops[index];
    const std::string where = "op " + std::to_string(index);
    if (op.outputs.empty()) return refuse("an op has no output", where);
    if (op.inputs.size() + op.outputs.size() > PT_MAX_OPERANDS) return refuse("an op has more than 32 operands", where);
    if (op.attrs.ints.size() > PT_MAX_ATTRS || op.attrs.reals.size() > PT_MAX_ATTRS)
      return refuse("an op has more than 16 attributes", where);
    const bool keyed_by_input = op.kind == ir::Kind::k_count_correct && !op.inputs.empty();
    op_at_.push_back(ops_.size());
    ops_.u16(static_cast<uint16_t>(op.kind));
    ops_.u16(op.algorithm);
    ops_.u8(op.engine);
    ops_.u8(static_cast<uint8_t>((keyed_by_input ? op.inputs : op.outputs)[0].type.dtype));
    for (const size_t count : {op.inputs.size(), op.outputs.size(), op.attrs.ints.size(), op.attrs.reals.size()})
      ops_.u8(static_cast<uint8_t>(count));
    ops_.u16(op.threads);
    if (has_engines()) {
      if (op.engines == 0) return refuse("an op has no engine", where);
      ops_.varint(op.engines);
    }
    if (has_slices()) add_slicing(op.slicing);
    ops_.varint(op.workspace_bytes);
    for (const BinaryOperand& operand : op.inputs) PANTOUM_TRY(add_operand(operand, where));
    for (const BinaryOperand& operand : op.outputs) PANTOUM_TRY(add_operand(operand, where));
    for (const int64_t value : op.attrs.ints) ops_.zigzag(value);
    for (const double value : op.attrs.reals) ops_.real(value);
    return {};
  }

  void add_slicing(const pt_slicing& slicing) {
    ops_.varint(slicing.loops);
    for (size_t loop = 0; loop < slicing.loops; ++loop) {
      ops_.varint(slicing.axis[loop]);
      ops_.varint(slicing.tile[loop]);
    }
    if (slicing.loops > 0) ops_.varint(slicing.streamed);
  }

  Result<void> add_compute(const BinaryInstruction& instruction, const std::string& where) {
    if (instruction.subject >= plan_.ops.size()) return refuse("an instruction computes no op of the plan", where);
    const BinaryOp& op = plan_.ops[instruction.subject];
    size_t placed = 0;
    for (size_t output = 0; output < op.outputs.size(); ++output) {
      if (op.streams_out(output)) continue;
      if (placed == instruction.at.size()) return refuse("a compute must place every output of its op", where);
      const uint64_t bytes = plan_.tensors[op.outputs[output].tensor].bytes;
      PANTOUM_ASSIGN(const uint32_t at, inside(instruction.at[placed++], bytes, plan_.arena_bytes, where));
      code_.varint(at);
    }
    if (placed != instruction.at.size()) return refuse("a compute must place every output of its op", where);
    if (op.workspace_bytes == 0) return {};
    PANTOUM_ASSIGN(const uint32_t at, inside(instruction.workspace_at, op.workspace_bytes, plan_.arena_bytes, where));
    code_.varint(at);
    return {};
  }

  Result<void> add_transfer(const BinaryInstruction& instruction, const std::string& where) {
    if (instruction.subject >= plan_.tensors.size()) return refuse("an instruction names no tensor of the plan", where);
    const BinaryTensor& tensor = plan_.tensors[instruction.subject];
    if (tensor.home == problem::Home::kRom) return refuse("a tensor in ROM is moved or freed", where);
    if (instruction.what == problem::Do::kFree) return {};
    if (tensor.storage_at < 0) return refuse("a tensor is paged and has no slot in storage", where);
    if (instruction.what == problem::Do::kPageOut) return {};
    if (instruction.at.size() != 1) return refuse("a page_in must have one offset", where);
    PANTOUM_ASSIGN(const uint32_t at, inside(instruction.at[0], tensor.bytes, plan_.arena_bytes, where));
    code_.varint(at);
    return {};
  }

  Result<void> add_instruction(const BinaryInstruction& instruction, const std::string& where) {
    code_.varint(uint64_t{instruction.subject} << PT_DO_BITS | static_cast<uint64_t>(instruction.what));
    PANTOUM_TRY(instruction.what == problem::Do::kCompute ? add_compute(instruction, where)
                                                          : add_transfer(instruction, where));
    if (!has_engines() || instruction.what == problem::Do::kFree) return {};
    uint64_t queues = 0;
    for (size_t queue = 0; queue < instruction.waits.size(); ++queue)
      if (instruction.waits[queue] != 0) queues |= uint64_t{1} << queue;
    code_.varint(queues);
    for (const uint32_t ended : instruction.waits)
      if (ended != 0) code_.varint(ended);
    return {};
  }

  Result<void> add_program(const BinaryProgram& program) {
    if (program.name.find('\0') != std::string::npos) return refuse("a program's name holds a zero byte", program.name);
    const size_t begin = code_.size();
    for (size_t step = 0; step < program.instructions.size(); ++step) {
      const std::string where = "program '" + program.name + "', instruction " + std::to_string(step);
      PANTOUM_TRY(add_instruction(program.instructions[step], where));
    }
    if ((program.staging_at < 0) != (plan_.staging_bytes == 0))
      return refuse("a program has no place for the staging buffer", program.name);
    uint32_t staging = PT_NOWHERE;
    if (program.staging_at >= 0) {
      PANTOUM_ASSIGN(staging, inside(static_cast<uint64_t>(program.staging_at), plan_.staging_bytes, plan_.arena_bytes,
                                     "program '" + program.name + "', staging"));
    }
    programs_.push_back({names_.add(program.name), static_cast<uint32_t>(begin),
                         static_cast<uint32_t>(code_.size() - begin),
                         static_cast<uint32_t>(program.instructions.size()), staging});
    return {};
  }

  bool has_engines() const {
    return std::ranges::any_of(plan_.ops, [](const BinaryOp& op) { return op.engines != 1; });
  }

  bool has_slices() const {
    return std::ranges::any_of(plan_.ops, [](const BinaryOp& op) { return op.slicing.loops > 0; });
  }

  uint16_t flags() const {
    const bool has_threads = std::ranges::any_of(plan_.ops, [](const BinaryOp& op) { return op.threads > 0; });
    return static_cast<uint16_t>((has_threads ? PT_FLAG_THREADS : 0) | (has_engines() ? PT_FLAG_ENGINES : 0) |
                                 (has_slices() ? PT_FLAG_SLICES : 0));
  }

  Result<std::vector<std::byte>> assemble() {
    const size_t tensors_at = PT_HEADER_SIZE;
    const size_t index_at = tensors_at + tensors_.size();
    const size_t programs_at = index_at + 4 * op_at_.size();
    const size_t shapes_at = programs_at + PT_PROGRAM_SIZE * programs_.size();
    const size_t ops_at = shapes_at + shapes_.words().size();
    const size_t code_at = ops_at + ops_.size();
    const size_t names_at = code_at + code_.size();
    const size_t size = names_at + names_.bytes().size();
    if (size >= PT_NOWHERE) return refuse("the plan is larger than 4 GiB", "");
    const auto word = [](size_t value) { return static_cast<uint32_t>(value); };
    Bytes all;
    for (const char letter : {'P', 'T', 'M', 'P'}) all.u8(static_cast<uint8_t>(letter));
    all.u16(PT_PLAN_VERSION);
    all.u16(flags());
    all.u32(word(size));
    all.u32(0);  // the checksum, below
    all.u64(plan_.arena_bytes);
    all.u64(plan_.storage_bytes);
    all.u64(rom_bytes_);
    all.u32(plan_.align_bytes);
    for (const size_t field : {plan_.tensors.size(), plan_.ops.size(), plan_.programs.size(), tensors_at, index_at,
                               programs_at, shapes_at, shapes_.words().size() / 4, names_at, names_.bytes().size()})
      all.u32(word(field));
    all.u32(word(plan_.staging_bytes));
    all.append(tensors_);
    for (const size_t at : op_at_) all.u32(word(ops_at + at));
    for (const Place& program : programs_)
      for (const uint32_t field :
           {program.name, word(code_at) + program.code_at, program.code_size, program.instructions, program.staging})
        all.u32(field);
    all.append(shapes_.words());
    all.append(ops_);
    all.append(code_);
    all.append(names_.bytes());
    const auto* checked = reinterpret_cast<const Bytef*>(all.data() + PT_AT_ARENA);
    all.put_u32(PT_AT_CRC, word(crc32_z(0, checked, all.size() - PT_AT_ARENA)));
    return std::move(all).take();
  }

  const BinaryPlan& plan_;
  std::vector<uint32_t> pair_;
  std::vector<bool> is_successor_;
  Names names_;
  Shapes shapes_;
  Bytes tensors_, ops_, code_;
  std::vector<size_t> op_at_;
  std::vector<Place> programs_;
  uint64_t rom_bytes_ = 0;
};

}  // namespace

Result<std::vector<std::byte>> encode(const BinaryPlan& plan) {
  return Encoder(plan).run();
}

}  // namespace pantoum::artifact
