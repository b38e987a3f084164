#include "artifact/binary_plan.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>

#include "pantoum/pantoum.h"
#include "runtime/plan_layout.h"

namespace pantoum::artifact {
namespace {

// A growing string of bytes, little-endian whatever the host.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes.begin(), bytes.end()) {}
  void u8(uint8_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void u16(uint16_t value) { fixed(value, 2); }
  void u32(uint32_t value) { fixed(value, 4); }
  void u64(uint64_t value) { fixed(value, 8); }
  // A number of `size` bytes, which it fits.
  void field(uint32_t value, size_t size) { fixed(value, static_cast<int>(size)); }
  void real(double value) { u64(std::bit_cast<uint64_t>(value)); }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) u8(static_cast<uint8_t>(value | 0x80));
    u8(static_cast<uint8_t>(value));
  }
  void append(const Bytes& other) { bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end()); }
  void put_u32(size_t at, uint32_t value) {
    for (size_t byte = 0; byte < 4; ++byte) bytes_[at + byte] = static_cast<std::byte>(value >> (8 * byte));
  }
  std::string text() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }
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

uint64_t zigzag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ (value < 0 ? ~uint64_t{0} : 0);
}

// The bytes that hold numbers up to `most`: 0 to 4.
size_t size_of_field(uint32_t most) {
  return (static_cast<size_t>(std::bit_width(most)) + 7) / 8;
}

// The section of names: an offset for each, then the names, each once. The empty name has the offset 0.
class Names {
 public:
  void add(const std::string& name) { names_.push_back(name); }
  Bytes section() const {
    Bytes offsets, text;
    std::map<std::string, size_t> known;
    const size_t begin = PT_NAME_SIZE * names_.size();
    for (const std::string& name : names_) {
      const auto [entry, is_new] = known.try_emplace(name, begin + text.size());
      offsets.u32(name.empty() ? 0 : static_cast<uint32_t>(entry->second));
      if (!is_new || name.empty()) continue;
      for (const char letter : name) text.u8(static_cast<uint8_t>(letter));
      text.u8(0);
    }
    if (text.size() == 0) text.u8(0);
    offsets.append(text);
    return offsets;
  }

 private:
  std::vector<std::string> names_;
};

// Units and type of tensors, each pair once.
class Layouts {
 public:
  Result<uint32_t> number(uint32_t units, const ir::TensorType& type, const std::string& where) {
    if (type.shape.size() > PT_MAX_RANK) return refuse("a tensor has more than 6 dimensions", where);
    for (const int64_t dim : type.shape)
      if (dim < 1 || dim > std::numeric_limits<int32_t>::max())
        return refuse("a dimension is not between 1 and 2^31 - 1", where);
    const auto [entry, is_new] =
        numbers_.try_emplace({units, type.dtype, type.shape}, static_cast<uint32_t>(layouts_.size()));
    if (is_new) layouts_.push_back(&entry->first);
    if (entry->second > PT_MOST_LAYOUT) return refuse("the plan has too many different shapes", where);
    return entry->second;
  }
  size_t count() const { return layouts_.size(); }
  size_t units_size() const {
    uint32_t most = 0;
    for (const Layout* layout : layouts_) most = std::max(most, std::get<uint32_t>(*layout));
    return size_of_field(most);
  }
  size_t dim_size() const {
    uint32_t most = 0;
    for (const Layout* layout : layouts_)
      for (const int64_t dim : std::get<ir::Shape>(*layout)) most = std::max(most, static_cast<uint32_t>(dim));
    return size_of_field(most);
  }
  size_t size() const { return PT_LAYOUT_UNITS + units_size() + most_rank() * dim_size(); }
  Bytes section() const {
    Bytes bytes;
    for (const auto* layout : layouts_) {
      const auto& [units, dtype, shape] = *layout;
      bytes.u8(static_cast<uint8_t>(shape.size() * PT_LAYOUT_RANK + static_cast<size_t>(dtype)));
      bytes.field(units, units_size());
      for (size_t dim = 0; dim < most_rank(); ++dim)
        bytes.field(dim < shape.size() ? static_cast<uint32_t>(shape[dim]) : 0, dim_size());
    }
    return bytes;
  }

 private:
  using Layout = std::tuple<uint32_t, ir::DType, ir::Shape>;
  size_t most_rank() const {
    size_t most = 0;
    for (const Layout* layout : layouts_) most = std::max(most, std::get<ir::Shape>(*layout).size());
    return most;
  }
  std::map<Layout, uint32_t> numbers_;
  std::vector<const Layout*> layouts_;  // in the order of their numbers
};

// Forms of ops, each once, and the ops' own records behind them. Forms that more ops have come first: their offsets are shorter.
class Ops {
 public:
  void add(const Bytes& form, Bytes own) {
    const auto [entry, is_new] = numbers_.try_emplace(form.text(), forms_.size());
    if (is_new) forms_.push_back({form, 0});
    ++forms_[entry->second].uses;
    ops_.push_back({entry->second, std::move(own)});
  }
  struct Sections {
    Bytes ops;
    std::vector<uint32_t> index;
  };
  Sections sections() const {
    std::vector<size_t> order(forms_.size()), at(forms_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return forms_[a].uses > forms_[b].uses; });
    Sections made;
    for (const size_t form : order) {
      at[form] = made.ops.size();
      made.ops.append(forms_[form].bytes);
    }
    for (const auto& [form, own] : ops_) {
      made.index.push_back(static_cast<uint32_t>(made.ops.size()));
      made.ops.varint(at[form]);
      made.ops.append(own);
    }
    return made;
  }

 private:
  struct Form {
    Bytes bytes;
    size_t uses;
  };
  std::vector<Form> forms_;
  std::map<std::string, size_t> numbers_;
  std::vector<std::pair<size_t, Bytes>> ops_;  // form, and what is the op's own
};

// The bytes of a type; none if they do not fit 64 bits.
std::optional<uint64_t> payload_of(const ir::TensorType& type) {
  uint64_t bytes = static_cast<uint64_t>(ir::size_of(type.dtype));
  for (const int64_t dim : type.shape)
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes)) return std::nullopt;
  return bytes;
}

// Fills in the checksum.
std::vector<std::byte> sealed(Bytes all) {
  const auto* checked = reinterpret_cast<const Bytef*>(all.data() + PT_AT_ARENA);
  all.put_u32(PT_AT_CRC, static_cast<uint32_t>(crc32_z(0, checked, all.size() - PT_AT_ARENA)));
  return std::move(all).take();
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
    for (const BinaryProgram& program : plan_.programs) names_.add(program.name);
    for (const BinaryTensor& tensor : plan_.tensors) names_.add(tensor.name);
    return assemble();
  }

 private:
  struct Place {  // what a program's record says
    uint32_t code_at, code_size, instructions, staging;
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
    PANTOUM_ASSIGN(const uint32_t slot, units_or_none(tensor.storage_at, where));
    PANTOUM_ASSIGN(const uint32_t place, units_or_none(place_of(tensor), where));
    PANTOUM_ASSIGN(const uint32_t layout, layouts_.number(size, tensor.type, where));
    const std::optional<uint64_t> payload = payload_of(tensor.type);
    if (!payload || *payload > tensor.bytes) return refuse("a tensor has fewer bytes than its type", where);
    if (tensor.rom_at >= 0) rom_bytes_ = std::max(rom_bytes_, static_cast<uint64_t>(tensor.rom_at) + tensor.bytes);
    const uint32_t what = layout << PT_WHAT_LAYOUT_SHIFT | static_cast<uint32_t>(tensor.home) << PT_WHAT_HOME_SHIFT |
                          (is_successor_[index] ? uint32_t{PT_WHAT_SUCCESSOR} : 0);
    tensors_.push_back({what, slot + 1, place + 1, pair_[index] + 1});
    sizes_.push_back(size);
    return {};
  }

  static int64_t place_of(const BinaryTensor& tensor) {
    return tensor.home == problem::Home::kRam ? tensor.ram_at : tensor.home == problem::Home::kRom ? tensor.rom_at : -1;
  }

  // `before`: the operand in front of it; null: it is the first.
  Result<void> add_operand(Bytes& own, const BinaryOperand& operand, const BinaryOperand* before,
                           const std::string& where) {
    if (operand.tensor >= plan_.tensors.size()) return refuse("an operand is no tensor of the plan", where);
    PANTOUM_ASSIGN(const uint32_t layout, layouts_.number(sizes_[operand.tensor], operand.type, where));
    const std::optional<uint64_t> payload = payload_of(operand.type);
    if (!payload || *payload > plan_.tensors[operand.tensor].bytes)
      return refuse("an operand is larger than its tensor", where);
    const bool is_view = layout != tensors_[operand.tensor][PT_TENSOR_WHAT] >> PT_WHAT_LAYOUT_SHIFT;
    const uint64_t number =
        before == nullptr ? operand.tensor : zigzag(int64_t{operand.tensor} - int64_t{before->tensor});
    own.varint(number << 1 | (is_view ? 1 : 0));
    if (is_view) own.varint(layout);
    return {};
  }

  Result<void> add_op(size_t index) {
    const BinaryOp& op = plan_.ops[index];
    const std::string where = "op " + std::to_string(index);
    if (op.outputs.empty()) return refuse("an op has no output", where);
    if (op.inputs.size() + op.outputs.size() > PT_MAX_OPERANDS) return refuse("an op has more than 32 operands", where);
    if (op.attrs.ints.size() > PT_MAX_ATTRS || op.attrs.reals.size() > PT_MAX_ATTRS)
      return refuse("an op has more than 16 attributes", where);
    if (has_engines() && op.engines == 0) return refuse("an op has no engine", where);
    Bytes own;
    if (has_slices()) add_slicing(own, op.slicing);
    own.varint(op.workspace_bytes);
    const BinaryOperand* before = nullptr;
    for (const std::vector<BinaryOperand>* operands : {&op.inputs, &op.outputs})
      for (const BinaryOperand& operand : *operands) {
        PANTOUM_TRY(add_operand(own, operand, before, where));
        before = &operand;
      }
    ops_.add(form_of(op), std::move(own));
    return {};
  }

  Bytes form_of(const BinaryOp& op) const {
    const bool keyed_by_input = op.kind == ir::Kind::k_count_correct && !op.inputs.empty();
    Bytes form;
    form.u16(static_cast<uint16_t>(op.kind));
    form.u16(op.algorithm);
    form.u8(op.engine);
    form.u8(static_cast<uint8_t>((keyed_by_input ? op.inputs : op.outputs)[0].type.dtype));
    for (const size_t count : {op.inputs.size(), op.outputs.size(), op.attrs.ints.size(), op.attrs.reals.size()})
      form.u8(static_cast<uint8_t>(count));
    form.u16(op.threads);
    if (has_engines()) form.varint(op.engines);
    for (const int64_t value : op.attrs.ints) form.varint(zigzag(value));
    for (const double value : op.attrs.reals) form.real(value);
    return form;
  }

  static void add_slicing(Bytes& own, const pt_slicing& slicing) {
    own.varint(slicing.loops);
    for (size_t loop = 0; loop < slicing.loops; ++loop) {
      own.varint(slicing.axis[loop]);
      own.varint(slicing.tile[loop]);
    }
    if (slicing.loops > 0) own.varint(slicing.streamed);
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
    const bool is_compute = instruction.what == problem::Do::kCompute;
    const int64_t expected = is_compute ? next_op_ : last_tensor_;
    code_.varint(zigzag(int64_t{instruction.subject} - expected) << PT_DO_BITS |
                 static_cast<uint64_t>(instruction.what));
    PANTOUM_TRY(is_compute ? add_compute(instruction, where) : add_transfer(instruction, where));
    if (is_compute) next_op_ = int64_t{instruction.subject} + 1;
    last_tensor_ = is_compute ? plan_.ops[instruction.subject].outputs.back().tensor : instruction.subject;
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
    next_op_ = last_tensor_ = 0;
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
    programs_.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(code_.size() - begin),
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

  // The bytes of each field of a tensor's record. PT_TENSOR_WHAT has one at least.
  std::array<size_t, PT_TENSOR_FIELDS> tensor_fields() const {
    std::array<size_t, PT_TENSOR_FIELDS> sizes{1};
    for (const auto& tensor : tensors_)
      for (size_t field = 0; field < PT_TENSOR_FIELDS; ++field)
        sizes[field] = std::max(sizes[field], size_of_field(tensor[field]));
    return sizes;
  }

  Result<std::vector<std::byte>> assemble() {
    const Ops::Sections ops = ops_.sections();
    const Bytes layouts = layouts_.section(), names = names_.section();
    const std::array<size_t, PT_TENSOR_FIELDS> fields = tensor_fields();
    const size_t tensor_size = std::accumulate(fields.begin(), fields.end(), size_t{0});
    const size_t index_size = std::max<size_t>(1, size_of_field(ops.index.empty() ? 0 : ops.index.back()));
    const size_t layouts_at = PT_HEADER_SIZE + tensor_size * tensors_.size();
    const size_t index_at = layouts_at + layouts.size();
    const size_t ops_at = index_at + index_size * ops.index.size();
    const size_t programs_at = ops_at + ops.ops.size();
    const size_t code_at = programs_at + PT_PROGRAM_SIZE * programs_.size();
    const size_t names_at = code_at + code_.size();
    const size_t size = names_at + names.size();
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
    all.u32(word(plan_.staging_bytes));
    for (const size_t field : {tensors_.size(), ops.index.size(), programs_.size(), layouts_.count(),
                               size_t{PT_HEADER_SIZE}, layouts_at, index_at, ops_at, programs_at, names_at})
      all.u32(word(field));
    for (size_t field = 0, end = 0; field < PT_TENSOR_FIELDS; ++field)
      all.u8(static_cast<uint8_t>(end += fields[field]));
    for (const size_t each :
         {PT_LAYOUT_UNITS + layouts_.units_size(), layouts_.dim_size(), layouts_.size(), index_size})
      all.u8(static_cast<uint8_t>(each));
    for (const auto& tensor : tensors_)
      for (size_t field = 0; field < PT_TENSOR_FIELDS; ++field) all.field(tensor[field], fields[field]);
    all.append(layouts);
    for (const uint32_t at : ops.index) all.field(at, index_size);
    all.append(ops.ops);
    for (const Place& program : programs_)
      for (const uint32_t field :
           {word(code_at) + program.code_at, program.code_size, program.instructions, program.staging})
        all.u32(field);
    all.append(code_);
    all.append(names);
    return sealed(std::move(all));
  }

  const BinaryPlan& plan_;
  std::vector<uint32_t> pair_;
  std::vector<bool> is_successor_;
  Names names_;
  Layouts layouts_;
  std::vector<std::array<uint32_t, PT_TENSOR_FIELDS>> tensors_;
  std::vector<uint32_t> sizes_;  // of tensors, in units
  Ops ops_;
  Bytes code_;
  int64_t next_op_ = 0, last_tensor_ = 0;  // as the reader's pt_code
  std::vector<Place> programs_;
  uint64_t rom_bytes_ = 0;
};

}  // namespace

Result<std::vector<std::byte>> encode(const BinaryPlan& plan) {
  return Encoder(plan).run();
}

std::vector<std::byte> without_names(std::span<const std::byte> plan) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(plan.data());
  const uint32_t names_at = pt_load_u32(bytes + PT_AT_NAMES);
  Bytes kept(plan.first(names_at == 0 ? plan.size() : names_at));
  kept.put_u32(PT_AT_NAMES, 0);
  kept.put_u32(PT_AT_SIZE, static_cast<uint32_t>(kept.size()));
  return sealed(std::move(kept));
}

}  // namespace pantoum::artifact
