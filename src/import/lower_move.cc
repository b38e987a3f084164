// Elements moved: picked by a rule, joined, cut, padded, repeated, turned around; parts by position; sequences of tensors, whose length the
// model alone decides.

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "import/onnx_messages.h"
#include "import/operators.h"
#include "import/parameter_marks.h"

namespace pantoum::import {
namespace {

bool swaps_last_two(const Integers& perm) {
  Integers swapped(perm.size());
  std::iota(swapped.begin(), swapped.end(), int64_t{0});
  if (swapped.size() < 2) return false;
  std::swap(swapped.back(), swapped[swapped.size() - 2]);
  return perm == swapped;
}

Result<void> lower_transpose(Node& node) {
  const Value x = node.value(0);
  Integers perm(x.rank());
  std::iota(perm.rbegin(), perm.rend(), int64_t{0});
  perm = node.attributes().integers("perm").value_or(perm);
  const Value y = transpose(x, perm);
  PANTOUM_TRY(node.refusal());
  auto made = std::make_shared<Operand>();
  made->id = y;
  if (swaps_last_two(perm)) made->untransposed = x;
  return node.set(0, std::move(made));
}

// Such a part adds nothing: its extent along the axis is 0, the others are those of the rest.
bool is_empty_part(const Node& node, size_t input, int64_t axis) {
  if (node.type(input).elements() != 0) return false;
  Shape rest = node.shape(input);
  for (size_t other = 0; other < node.input_count(); ++other) {
    if (node.type(other).elements() == 0) continue;
    const auto along = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rest.size()) : axis);
    if (along >= rest.size() || rest[along] != 0 || rest.size() != node.shape(other).size()) return false;
    rest[along] = node.shape(other)[along];
    return rest == node.shape(other) && node.type(input).dtype == node.type(other).dtype;
  }
  return false;
}

// Elements of no extent, while folding.
Result<void> set_nothing(Node& node, Shape shape) {
  return node.set_known(0, {{node.type(0).dtype, std::move(shape)}, std::make_shared<const std::vector<std::byte>>()});
}

Result<void> lower_concat(Node& node) {
  Values parts;
  for (size_t input = 0; input < node.input_count(); ++input)
    if (!is_empty_part(node, input, node.attributes().integer("axis", 0))) parts.push_back(node.value(input));
  PANTOUM_ASSIGN(const size_t axis, node.axis(parts[0].rank()));
  if (parts[0].elements() == 0) return set_nothing(node, parts[0].shape());
  TensorType whole = parts[0].type();
  for (size_t part = 1; part < parts.size(); ++part) {
    const std::vector<TensorType> pair = {whole, parts[part].type()};
    PANTOUM_ASSIGN(const std::vector<TensorType> joined,
                   ir::infer_types(Kind::k_concat, {pair, {}, {{static_cast<int64_t>(axis)}, {}}}));
    whole = joined[0];
  }
  return node.set(concat(parts, axis));
}

Result<void> lower_slice(Node& node) {
  const Value x = node.value(0);
  const char* const names[] = {"starts", "ends", "axes", "steps"};
  std::array<Integers, 4> lists;
  for (size_t list = 0; list < lists.size(); ++list)
    if (list < 2 || node.has(list + 1)) lists[list] = node.integers(list + 1, names[list]);
  PANTOUM_ASSIGN(const auto pieces, slice_pieces(x.shape(), lists[0], lists[1], lists[2], lists[3]));
  // torch.roll by 0 is what it takes nothing of, and the rest.
  Shape shape;
  for (const SlicePiece& piece : pieces) shape.push_back(piece.count);
  return std::ranges::find(shape, 0) != shape.end() ? set_nothing(node, shape) : node.set(sliced(x, pieces));
}

// One constant index is a slice, whose gradient is cheaper.
Result<void> gather_one(Node& node, const Value& x, size_t along, int64_t index) {
  Shape shape = x.shape();
  const int64_t at = index < 0 ? index + shape[along] : index;
  if (at < 0 || at >= shape[along]) return misfit("its index is out of range");
  std::vector<SlicePiece> pieces;
  for (const int64_t extent : shape) pieces.push_back({0, 1, extent});
  pieces[along] = {at, 1, 1};
  const auto place = shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(along));
  const Shape indices = node.shape(1);
  shape.insert(place, indices.begin(), indices.end());
  return node.set(reshape(sliced(x, pieces), shape));
}

int64_t whole_argument(const FxCall& call, size_t argument, int64_t otherwise) {
  if (argument >= call.args.size()) return otherwise;
  char* end = nullptr;
  const int64_t told = std::strtoll(call.args[argument].c_str(), &end, 10);
  return end == call.args[argument].c_str() ? otherwise : told;
}

// What acts in the gradient alone, the newer exporter tells in the call: embedding(weight, indices, padding_idx, scale_grad_by_freq, ..), or
// embedding_bag(weight, indices, offsets, scale_grad_by_freq, ..).
Result<void> lower_embedding(Node& node, const Value& table, const FxCall& call) {
  const bool bag = call.target.starts_with("embedding_bag");
  const int64_t padding = bag ? -1 : whole_argument(call, 2, -1);
  const bool by_frequency = call.args.size() > 3 && call.args[3] == "True";
  return node.set(embedded(table, node.value(1), padding, by_frequency));
}

// A trained table of which one row is zeros: torch.nn.Embedding begins so with a padding_idx, whose row gets no gradient.
void tell_empty_row(Node& node, size_t axis, const FxCall& call) {
  if (axis != 0 || !call.target.empty() || node.lowering().folds || !node.operand(0)->weight) return;
  const auto& known = node.operand(0)->known;
  if (!known || known->type.shape.size() != 2 || known->type.shape[0] < 3) return;
  const auto rows = static_cast<size_t>(known->type.shape[0]), width = static_cast<size_t>(known->type.shape[1]);
  std::vector<size_t> empty;
  for (size_t row = 0; row < rows && width > 0 && empty.size() < 2; ++row)
    if (is_filled_with(*known, row * width, width, 0)) empty.push_back(row);
  if (empty.size() == 1)
    node.note(fmt::format(
        "row {} of '{}' is all zeros, as a padding_idx leaves it; the file does not tell of one, and the row trains: "
        "PyTorch's newer exporter (dynamo=True) does",
        empty[0], node.operand(0)->name));
}

Result<void> lower_gather(Node& node) {
  const Value x = node.value(0);
  PANTOUM_ASSIGN(const size_t axis, node.axis(x.rank()));
  const Tensor* setting = node.setting(1);
  if (setting != nullptr && !ir::is_float(setting->type.dtype)) {
    const Integers indices = *to_ints(*setting);
    if (indices.size() == 1) return gather_one(node, x, axis, indices[0]);
    Shape shape = x.shape();
    const int64_t extent = shape[axis];
    if (indices.empty() && node.lowering().folds) {
      const auto place = shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
      const Shape named = node.shape(1);
      shape.insert(place, named.begin(), named.end());
      return set_nothing(node, shape);
    }
    const auto inside = [&](int64_t index) { return index >= -extent && index < extent; };
    if (!std::ranges::all_of(indices, inside)) return misfit("a constant index is out of range");
  }
  const FxCall call = read_fx_call(node.message());
  if (axis == 0 && x.is_real() && !node.lowering().folds && call.target.starts_with("embedding"))
    return lower_embedding(node, x, call);
  tell_empty_row(node, axis, call);
  return node.set(gather(x, node.value(1), axis));
}

// Parts of `each`; the last one takes what is left.
Integers even_extents(int64_t whole, int64_t each) {
  Integers extents;
  for (int64_t start = 0; start < whole; start += each) extents.push_back(std::min(each, whole - start));
  return extents;
}

Result<void> check_extents(const Integers& extents, int64_t whole) {
  int64_t left = whole;
  for (const int64_t part : extents) left = part < 1 || part > left ? -1 : left - part;
  if (left == 0) return {};
  return misfit("its parts do not make up the extent {}", whole);
}

// How much of `whole` each output of a Split takes.
Result<Integers> split_extents(Node& node, int64_t whole) {
  const auto told = node.integers_or_attribute(1, "split");
  const auto count = static_cast<int64_t>(node.output_count());
  if (!told && node.attributes().integer("num_outputs", count) != count) return misfit("its num_outputs is wrong");
  const Integers extents = told ? *told : even_extents(whole, count > 0 ? (whole - 1) / count + 1 : whole);
  PANTOUM_TRY(check_extents(static_cast<int64_t>(extents.size()) == count ? extents : Integers{}, whole));
  return extents;
}

Result<void> lower_split(Node& node) {
  const Tensor* known = node.setting(0);
  if (known != nullptr && known->type.dtype == DType::kI64 && known->type.shape.size() == 1) {
    // The extents of a shape, one by one: they stay known.
    PANTOUM_TRY(node.axis(1));
    PANTOUM_ASSIGN(const Integers extents, split_extents(node, known->type.shape[0]));
    const Integers whole = *to_ints(*known);
    auto begin = whole.begin();
    for (size_t part = 0; part < extents.size(); begin += extents[part], ++part)
      PANTOUM_TRY(
          node.set_known(part, make_tensor(DType::kI64, {extents[part]}, std::vector(begin, begin + extents[part]))));
    return {};
  }
  const Value x = node.value(0);
  PANTOUM_ASSIGN(const size_t axis, node.axis(x.rank()));
  PANTOUM_ASSIGN(const Integers extents, split_extents(node, x.shape()[axis]));
  const Values parts = split(x, axis, extents);
  for (size_t part = 0; part < parts.size(); ++part) PANTOUM_TRY(node.set(part, parts[part]));
  return {};
}

struct Margins {
  Integers before, after;  // of every dimension; negative: cut off
};

Result<Margins> read_margins(Node& node, size_t rank) {
  const Integers pads = node.integers(1, "pads");
  Integers axes(rank);
  std::iota(axes.begin(), axes.end(), int64_t{0});
  if (node.has(3)) axes = node.integers(3, "axes");
  if (pads.size() != 2 * axes.size()) return misfit("its pads do not name both ends of every dimension");
  PANTOUM_TRY(normalize_axes(axes, rank));  // each once
  Margins margins{Integers(rank, 0), Integers(rank, 0)};
  for (size_t entry = 0; entry < axes.size(); ++entry) {
    PANTOUM_ASSIGN(const int64_t axis, normalize_axis(axes[entry], rank));
    for (const int64_t pad : {pads[entry], pads[axes.size() + entry]})
      if (pad < -INT32_MAX || pad > INT32_MAX) return misfit("a pad of {} is out of range", pad);
    margins.before[static_cast<size_t>(axis)] = pads[entry];
    margins.after[static_cast<size_t>(axis)] = pads[axes.size() + entry];
  }
  return margins;
}

// Cuts off what negative pads name; they are 0 afterwards.
Value cut(const Value& x, Margins& margins) {
  const TensorType from = x.type();
  Shape shape = from.shape;
  Attrs attrs;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t first = std::max<int64_t>(-margins.before[d], 0), last = std::max<int64_t>(-margins.after[d], 0);
    attrs.ints.insert(attrs.ints.end(), {first, 1});
    shape[d] -= first + last;
    margins.before[d] = std::max<int64_t>(margins.before[d], 0);
    margins.after[d] = std::max<int64_t>(margins.after[d], 0);
  }
  if (shape == from.shape) return x;
  return x.in().op(Kind::k_slice, {x}, std::move(attrs), {{from.dtype, std::move(shape)}});
}

// Blocks of the value before and behind, dimension by dimension.
Value surrounded(Value x, const Margins& margins, double value) {
  Composer& in = x.in();
  for (size_t d = 0; d < margins.before.size(); ++d) {
    Values parts;
    const auto add = [&](int64_t margin) {
      TensorType block = x.type();
      block.shape[d] = margin;
      if (margin == 0 || !in.spend(block.elements())) return;
      parts.push_back(
          in.constant(DType::kF32, block.shape, std::vector<double>(static_cast<size_t>(block.elements()), value)));
    };
    add(margins.before[d]);
    parts.push_back(x);
    add(margins.after[d]);
    if (parts.size() > 1) x = in.op(Kind::k_concat, parts, {{static_cast<int64_t>(d)}, {}});
  }
  return x;
}

// The position in [0, extent) from which the padded element at `at` is read; `at` may lie outside.
int64_t read_from(const std::string& mode, int64_t at, int64_t extent) {
  if (mode == "edge") return std::clamp<int64_t>(at, 0, extent - 1);
  if (mode == "wrap") return ((at % extent) + extent) % extent;
  const int64_t period = std::max<int64_t>(2 * (extent - 1), 1), within = ((at % period) + period) % period;
  return extent == 1 ? 0 : std::min(within, period - within);
}

Value surrounded_by_reading(Value x, const Margins& margins, const std::string& mode) {
  Composer& in = x.in();
  for (size_t d = 0; d < margins.before.size(); ++d) {
    if (margins.before[d] == 0 && margins.after[d] == 0) continue;
    const int64_t extent = x.shape()[d], count = margins.before[d] + extent + margins.after[d];
    if (!in.spend(count)) break;
    Integers sources;
    for (int64_t at = -margins.before[d]; at < extent + margins.after[d]; ++at)
      sources.push_back(read_from(mode, at, extent));
    x = gather(x, in.whole(DType::kI64, {count}, sources), d);
  }
  return x;
}

Result<void> lower_pad(Node& node) {
  const Value whole = node.value(0);
  PANTOUM_TRY(node.refusal());
  PANTOUM_ASSIGN(Margins margins, read_margins(node, whole.rank()));
  const Value x = cut(whole, margins);
  PANTOUM_TRY(node.refusal());
  const std::string mode = node.attributes().text("mode", "constant");
  const auto is_zero = [](int64_t pad) { return pad == 0; };
  if (std::ranges::all_of(margins.before, is_zero) && std::ranges::all_of(margins.after, is_zero)) return node.set(x);
  if (mode == "constant") {
    const std::optional<double> value = node.has(2) ? node.scalar(2) : std::optional(0.0);
    if (!value) return unsupported("its value is not constant", "pad with a fixed number");
    if (*value == 0) return node.set(with_zeros(x, margins.before, margins.after));
    std::ignore = node.real(0);
    return node.set(surrounded(x, margins, *value));
  }
  if (mode == "reflect" || mode == "edge" || mode == "wrap") return node.set(surrounded_by_reading(x, margins, mode));
  return misfit("its mode is '{}'", mode);
}

Result<void> lower_tile(Node& node) {
  const Value x = node.value(0);
  const Integers repeats = node.integers(1, "repeats");
  if (repeats.size() != x.rank()) return misfit("its repeats do not name every dimension");
  for (const int64_t times : repeats)
    if (times < 1 || times > INT32_MAX) return misfit("it repeats {} times", times);
  return node.set(repeated(x, repeats));
}

// A constant mask selects the elements of the last two dimensions that stay; the others become 0.
Result<void> lower_trilu(Node& node) {
  const Value x = node.value(0);
  const Shape shape = x.shape();
  if (shape.size() < 2) return misfit("its input is no matrix");
  const int64_t diagonal = node.has(1) ? std::clamp<int64_t>(node.integer(1, "diagonal"), -INT32_MAX, INT32_MAX) : 0;
  const bool upper = node.attributes().integer("upper", 1) != 0;
  const int64_t rows = shape[shape.size() - 2], columns = shape.back();
  if (!node.spend(rows * columns)) return node.refusal();
  Integers stays;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      stays.push_back(upper ? column - row >= diagonal : column - row <= diagonal);
  const Value mask = node.whole(DType::kBool, {rows, columns}, stays);
  return node.set(where(mask, x, node.number(x.dtype(), 0)));
}

// The extents of an image [N,C,H,W], and how many elements make up a block along each dimension of space.
Result<int64_t> block_of(Node& node, Shape& image) {
  image = node.value(0).shape();
  if (image.size() != 4) return misfit("its input is not an image [N,C,H,W]");
  const int64_t block = node.attributes().integer("blocksize", 0);
  if (block < 1 || block > INT16_MAX) return misfit("its blocksize is out of range");
  return block;
}

Result<void> rearrange(Node& node, Shape apart, const Integers& perm, Shape together) {
  return node.set(reshape(transpose(reshape(node.value(0), std::move(apart)), perm), std::move(together)));
}

Result<void> lower_depth_to_space(Node& node) {
  Shape s;
  PANTOUM_ASSIGN(const int64_t b, block_of(node, s));
  if (s[1] % (b * b) != 0) return misfit("its blocks do not divide the channels");
  const int64_t c = s[1] / (b * b);
  const Shape together = {s[0], c, s[2] * b, s[3] * b};
  if (node.attributes().text("mode", "DCR") == "CRD")
    return rearrange(node, {s[0], c, b, b, s[2], s[3]}, {0, 1, 4, 2, 5, 3}, together);
  return rearrange(node, {s[0], b, b, c, s[2], s[3]}, {0, 3, 4, 1, 5, 2}, together);
}

Result<void> lower_space_to_depth(Node& node) {
  Shape s;
  PANTOUM_ASSIGN(const int64_t b, block_of(node, s));
  if (s[2] % b != 0 || s[3] % b != 0) return misfit("its blocks do not divide the image");
  return rearrange(node, {s[0], s[1], s[2] / b, b, s[3] / b, b}, {0, 3, 5, 1, 2, 4},
                   {s[0], s[1] * b * b, s[2] / b, s[3] / b});
}

// If the difference is odd, the extra element is cut off or added at the end.
Result<void> lower_center_crop_pad(Node& node) {
  const Value x = node.value(0);
  const Integers extents = node.integers(1, "shape");
  const Shape from = x.shape();
  Integers axes(from.size());
  std::iota(axes.begin(), axes.end(), int64_t{0});
  if (const auto told = node.attributes().integers("axes")) {
    PANTOUM_TRY(normalize_axes(*told, from.size()));
    axes = *told;  // in the order of the extents
    for (int64_t& axis : axes) axis += axis < 0 ? static_cast<int64_t>(from.size()) : 0;
  }
  if (axes.size() != extents.size()) return misfit("its shape does not name every axis");
  std::vector<SlicePiece> pieces;
  for (const int64_t extent : from) pieces.push_back({0, 1, extent});
  Integers before(from.size(), 0), after(from.size(), 0);
  for (size_t entry = 0; entry < axes.size(); ++entry) {
    const auto d = static_cast<size_t>(axes[entry]);
    const int64_t extent = extents[entry], more = extent - from[d];
    if (extent < 1 || extent > INT32_MAX) return misfit("an extent of {} is out of range", extent);
    if (more < 0) pieces[d] = {-more / 2, 1, extent};
    before[d] = std::max<int64_t>(more, 0) / 2;
    after[d] = std::max<int64_t>(more, 0) - before[d];
  }
  return node.set(with_zeros(sliced(x, pieces), before, after));
}

Result<void> lower_compress(Node& node) {
  Value x = node.value(0);
  const Tensor* condition = node.setting(1);
  const auto stays = condition == nullptr ? std::nullopt : to_ints(*condition);
  if (!stays) return unsupported("its condition is not constant", "export with fixed shapes");
  size_t axis = 0;
  if (node.attributes().has("axis")) {
    PANTOUM_ASSIGN(axis, node.axis(x.rank()));
  } else {
    x = flattened(x);
  }
  Integers kept;
  for (size_t at = 0; at < stays->size(); ++at)
    if ((*stays)[at] != 0) kept.push_back(static_cast<int64_t>(at));
  if (kept.empty()) return unsupported("it keeps nothing");
  if (kept.back() >= x.shape()[axis]) return misfit("its condition is longer than its input");
  const auto count = static_cast<int64_t>(kept.size());
  if (!node.spend(count)) return node.refusal();
  return node.set(gather(x, node.whole(DType::kI64, {count}, kept), axis));
}

// For every time t and sample b the row of [T, B] that is read: that of time length - 1 - t before b's end.
Value rows_read(Node& node, int64_t steps, int64_t batch, bool time_first) {
  const Value lengths = node.value(1);
  if (lengths.dtype() != DType::kI64) return node.refuse(unsupported("its lengths are not int64"));
  if (lengths.shape() != Shape{batch}) return node.refuse(misfit("its lengths are not one a sample"));
  const auto along = [&](int64_t extent, bool first, int64_t step) {
    return node.positions(extent, first ? Shape{extent, 1} : Shape{1, extent}, 0, step);
  };
  if (!node.spend(steps + batch)) return node.at(ir::kNone);
  const Value time = along(steps, time_first, 1), sample = along(batch, !time_first, time_first ? 1 : steps);
  const Value ends = reshape(lengths, time_first ? Shape{1, batch} : Shape{batch, 1});
  const Value before = compare(time, PT_COMPARE_LESS, ends);
  const Value mirrored = ends - node.number(DType::kI64, 1) - time;
  const Value read = where(before, mirrored, time);
  // Through a table of the times' rows: the kernel refuses a length beyond the input, which would lead to another sample.
  const Value table = reshape(along(steps, true, time_first ? batch : 1), {steps});
  return gather(table, read, 0) + sample;
}

Result<void> lower_reverse_sequence(Node& node) {
  const Value x = node.value(0);
  const Shape shape = x.shape();
  const int64_t time_axis = node.attributes().integer("time_axis", 0);
  const int64_t batch_axis = node.attributes().integer("batch_axis", 1);
  if (shape.size() < 2 || time_axis + batch_axis != 1 || time_axis * batch_axis != 0)
    return misfit("its time and batch are not the first two dimensions");
  const bool time_first = time_axis == 0;
  const Value rows = rows_read(node, shape[time_first ? 0 : 1], shape[time_first ? 1 : 0], time_first);
  Shape table(shape.begin() + 1, shape.end());
  table[0] *= shape[0];
  return node.set(gather(reshape(x, table), rows, 0));
}

Values parts_of(Node& node) {
  Values parts;
  for (const ValueId part : node.operand(0)->parts) parts.push_back(node.at(part));
  return parts;
}

// A position among `count` places, which negative ones count from the end of `parts` parts.
Result<std::ptrdiff_t> position_of(Node& node, size_t input, size_t parts, size_t count) {
  const Integers told = node.integers(input, "position");
  const auto length = static_cast<int64_t>(parts);
  if (told.size() != 1 || told[0] < -length || told[0] >= static_cast<int64_t>(count))
    return misfit("its position is out of range");
  return static_cast<std::ptrdiff_t>(told[0] < 0 ? told[0] + length : told[0]);
}

Result<void> lower_sequence_at(Node& node) {
  const Values parts = parts_of(node);
  PANTOUM_ASSIGN(const std::ptrdiff_t at, position_of(node, 1, parts.size(), parts.size()));
  return node.set(parts[static_cast<size_t>(at)]);
}

Result<void> lower_sequence_construct(Node& node) {
  Values parts;
  for (size_t input = 0; input < node.input_count(); ++input) parts.push_back(node.value(input));
  return node.set_sequence(parts);
}

Result<void> lower_sequence_insert(Node& node) {
  Values parts = parts_of(node);
  const Value fresh = node.value(1);
  auto at = static_cast<std::ptrdiff_t>(parts.size());
  if (node.has(2)) {
    PANTOUM_ASSIGN(at, position_of(node, 2, parts.size(), parts.size() + 1));
  }
  parts.insert(parts.begin() + at, fresh);
  return node.set_sequence(parts);
}

Result<void> lower_sequence_erase(Node& node) {
  Values parts = parts_of(node);
  if (parts.empty()) return misfit("its sequence is empty");
  auto at = static_cast<std::ptrdiff_t>(parts.size()) - 1;
  if (node.has(1)) {
    PANTOUM_ASSIGN(at, position_of(node, 1, parts.size(), parts.size()));
  }
  parts.erase(parts.begin() + at);
  return node.set_sequence(parts);
}

Result<void> lower_sequence_length(Node& node) {
  const auto length = static_cast<int64_t>(parts_of(node).size());
  return node.set_known(0, make_tensor(DType::kI64, {}, std::vector{length}));
}

Result<void> lower_concat_from_sequence(Node& node) {
  Values parts = parts_of(node);
  if (parts.empty()) return unsupported("its sequence is empty, and nothing has no elements");
  const bool stacks = node.attributes().integer("new_axis", 0) != 0;
  const size_t rank = parts[0].rank() + (stacks ? 1 : 0);
  PANTOUM_ASSIGN(const size_t axis, node.axis(rank));
  for (Value& part : parts) {
    Shape shape = part.shape();
    if (stacks && shape.size() + 1 == rank) shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    part = reshape(part, std::move(shape));
    TensorType like = part.type();
    if (like.shape.size() != rank) return misfit("its tensors differ in their number of dimensions");
    if (!stacks) like.shape[axis] = parts[0].shape()[axis];
    if (like != parts[0].type()) return misfit("its tensors differ in type or shape");
  }
  return node.set(concat(parts, axis));
}

// Without extents every part is one element, whose dimension leaves unless it is kept.
Result<void> lower_split_to_sequence(Node& node) {
  const Value x = node.value(0);
  PANTOUM_ASSIGN(const size_t axis, node.axis(x.rank()));
  const int64_t whole = x.shape()[axis];
  Integers extents = even_extents(whole, 1);
  if (node.has(1)) {
    extents = node.integers(1, "extents");
    PANTOUM_TRY(node.refusal());
    if (node.shape(1).empty()) {
      if (extents[0] < 1 || extents[0] > whole) return misfit("its parts are out of range");
      extents = even_extents(whole, extents[0]);
    }
    PANTOUM_TRY(check_extents(extents, whole));
  }
  const bool squeezes = !node.has(1) && node.attributes().integer("keepdims", 1) == 0;
  Values parts = split(x, axis, extents);
  for (Value& part : parts) {
    Shape shape = part.shape();
    if (squeezes) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    part = reshape(part, shape);
  }
  return node.set_sequence(parts);
}

constexpr const char* kKnownPosition = "a constant position";
constexpr OperatorEntry kMoveOperators[] = {
    {"Transpose", lower_transpose, "transpose"},
    {"Concat", lower_concat, "concat"},
    {"Slice", lower_slice, "slice", "constant starts, ends, axes and steps"},
    {"Gather", lower_gather, "gather slice",
     "an embedding's padding_idx and scale_grad_by_freq are read from what PyTorch's newer exporter tells of it, and "
     "are not in other "
     "files: the row trains like the others; SGD without momentum, Adagrad and SparseAdam update the rows of the batch alone (`sgd_rows`, `adagrad_rows`, `adam_rows`)"},
    {"Split", lower_split, "split", "constant parts"},
    {"Pad", lower_pad, "slice_grad slice concat gather",
     "constant, reflect, edge, wrap; constant pads, negative ones too"},
    {"Tile", lower_tile, "expand", "constant repeats"},
    {"Trilu", lower_trilu, "where", "any type; constant diagonal"},
    {"DepthToSpace", lower_depth_to_space, "transpose"},
    {"SpaceToDepth", lower_space_to_depth, "transpose"},
    {"CenterCropPad", lower_center_crop_pad, "slice slice_grad", "constant shape"},
    {"Compress", lower_compress, "gather", "constant condition, which keeps something"},
    {"ReverseSequence", lower_reverse_sequence, "compare sub where add gather"},
    {"SequenceAt", lower_sequence_at, "", kKnownPosition},
    {"SequenceEmpty", lower_sequence_construct},
    {"SequenceConstruct", lower_sequence_construct},
    {"SequenceInsert", lower_sequence_insert, "", kKnownPosition},
    {"SequenceErase", lower_sequence_erase, "", kKnownPosition},
    {"SequenceLength", lower_sequence_length, "", "folded"},
    {"SplitToSequence", lower_split_to_sequence, "split", "constant parts"},
    {"ConcatFromSequence", lower_concat_from_sequence, "concat"}};

}  // namespace

constinit const Family move_operators = kMoveOperators;

}  // namespace pantoum::import
