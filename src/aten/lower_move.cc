// The same elements in another shape, order, type or number: views, copies, pieces, joins, repetitions; and tensors made from numbers.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "aten/operators.h"

namespace pantoum::aten {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 22;  // of a constant

// The captured shape.
Result<void> lower_view(Node& node) {
  return node.set_reshaped(node.tensor(kSelf));
}

Result<void> lower_same(Node& node) {
  return node.set(node.as_output(kSelf));
}

Result<void> lower_detach(Node& node) {
  return node.set(detached(node.tensor(kSelf)));
}

Result<void> lower_expand(Node& node) {
  return node.set(expand(node.tensor(kSelf), node.output().shape));
}

Value permuted(const Value& x, const Integers& perm) {
  return perm.empty() ? x : transpose(x, perm);
}

Result<void> lower_permute(Node& node) {
  const Value x = node.tensor(kSelf);
  Integers perm = node.integers({1, "dims"});
  for (int64_t& d : perm) d += d < 0 ? static_cast<int64_t>(x.rank()) : 0;
  return node.set(permuted(x, perm));
}

Result<void> lower_transpose(Node& node) {
  const Value x = node.tensor(kSelf);
  const size_t a = node.dimension({1, "dim0"}, x.rank(), 0), b = node.dimension({2, "dim1"}, x.rank(), 1);
  Integers perm(x.rank());
  std::iota(perm.begin(), perm.end(), int64_t{0});
  if (!perm.empty()) std::swap(perm[a], perm[b]);
  return node.set(permuted(x, perm));
}

Result<void> lower_t(Node& node) {
  const Value x = node.tensor(kSelf);
  return node.set(x.rank() < 2 ? x : transpose(x, {1, 0}));
}

Result<void> lower_slice(Node& node) {
  const Value x = node.tensor(kSelf);
  PANTOUM_ASSIGN(const size_t axis, node.axis(kDim, x, 0));
  const int64_t extent = x.shape()[axis], step = node.integer({4, "step"}, 1);
  const auto within = [&](int64_t index) { return std::clamp<int64_t>(index < 0 ? index + extent : index, 0, extent); };
  const int64_t begin = within(node.integer({2, "start"}, 0)), end = within(node.integer({3, "end"}, extent));
  if (step < 1) return misfit("its step is not above 0");
  return node.set(piece(x, axis, begin, std::max<int64_t>(0, (end - begin + step - 1) / step), step));
}

Result<void> lower_select(Node& node) {
  const Value x = node.tensor(kSelf);
  PANTOUM_ASSIGN(const size_t axis, node.axis(kDim, x, 0));
  const int64_t index = node.integer({2, "index"});
  return node.set_reshaped(piece(x, axis, index < 0 ? index + x.shape()[axis] : index, 1));
}

Result<void> lower_cat(Node& node) {
  Values parts = node.tensors({0, "tensors"});
  for (Value& part : parts) part = cast(part, node.output().dtype);
  return node.set(concat(parts, node.dimension(kDim, node.output().shape.size(), 0)));
}

// Pieces as they were captured, one behind the other.
Result<void> lower_split(Node& node) {
  const Value x = node.tensor(kSelf);
  PANTOUM_ASSIGN(const size_t axis, node.axis({2, "dim"}, x, 0));
  Integers extents = node.integers({1, "split_size"});
  const int64_t extent = x.shape()[axis];
  if (extents.size() == 1) {
    const int64_t each = extents[0];
    if (each < 1) return misfit("its parts have no elements");
    extents.clear();
    for (int64_t begin = 0; begin < extent; begin += each) extents.push_back(std::min(each, extent - begin));
  }
  int64_t left = extent;
  bool all = extents.size() > 1;
  for (size_t part = 0; part < extents.size(); ++part) {
    left = extents[part] < 1 || extents[part] > left ? -1 : left - extents[part];
    all = all && node.wants(part);
  }
  if (left != 0) return misfit("its parts do not fit");
  const Values parts = all ? split(x, axis, extents) : Values();
  int64_t begin = 0;
  for (size_t part = 0; part < extents.size(); ++part) {
    if (node.wants(part)) PANTOUM_TRY(node.set(part, all ? parts[part] : piece(x, axis, begin, extents[part])));
    begin += extents[part];
  }
  return {};
}

Result<void> lower_unbind(Node& node) {
  const Value x = node.tensor(kSelf);
  PANTOUM_ASSIGN(const size_t axis, node.axis(kDim, x, 0));
  for (size_t part = 0; part < node.output_count(); ++part) {
    if (!node.wants(part)) continue;
    const Value made = piece(x, axis, static_cast<int64_t>(part), 1);
    PANTOUM_TRY(node.set(part, reshape(made, node.output(part).shape)));
  }
  return {};
}

Result<void> lower_flip(Node& node) {
  Value x = node.tensor(kSelf);
  const Shape shape = x.shape();
  for (const int64_t told : node.dimensions({1, "dims"}, shape.size())) {
    if (shape.empty()) break;
    const auto axis = static_cast<size_t>(told);
    x = piece(x, axis, shape[axis] - 1, shape[axis], -1);
  }
  return node.set(x);
}

Result<void> lower_repeat(Node& node) {
  const Value x = node.tensor(kSelf);
  const Integers times = node.integers({1, "repeats"});
  Shape shape = x.shape();
  if (times.size() < shape.size()) return misfit("it repeats fewer dimensions than there are");
  shape.insert(shape.begin(), times.size() - shape.size(), 1);
  return node.set(repeated(reshape(x, shape), times));
}

// Elements of `value` before and behind those of an axis; negative counts cut.
Value padded(const Value& given, size_t axis, int64_t before, int64_t after, double value) {
  if (!given) return given;
  const int64_t begin = std::max<int64_t>(0, -before), end = std::max<int64_t>(0, -after);
  const Value x = piece(given, axis, begin, given.shape()[axis] - begin - end);
  if (value == 0 && x.is_real()) {
    Integers zeros_before(x.rank(), 0), zeros_after(x.rank(), 0);
    zeros_before[axis] = std::max<int64_t>(0, before);
    zeros_after[axis] = std::max<int64_t>(0, after);
    return with_zeros(x, zeros_before, zeros_after);
  }
  Values parts;
  const auto add = [&](int64_t count) {
    TensorType block = x.type();
    block.shape[axis] = count;
    if (count > 0) parts.push_back(expand(x.in().number(block.dtype, value), block.shape));
  };
  add(before);
  parts.push_back(x);
  add(after);
  return concat(parts, axis);
}

// Pairs of the last dimension, the one before it, ...
Result<void> lower_pad(Node& node) {
  Value x = node.tensor(kSelf);
  const Integers pads = node.integers({1, "pad"});
  const double value = node.number({2, "value"}, 0);
  const size_t rank = x.rank();
  if (pads.size() % 2 != 0 || pads.size() / 2 > rank) return misfit("its padding does not fit");
  if (value == 0 && x.is_real() && std::ranges::all_of(pads, [](int64_t pad) { return pad >= 0; })) {
    Integers before(rank, 0), after(rank, 0);
    for (size_t pair = 0; pair < pads.size() / 2; ++pair) {
      before[rank - 1 - pair] = pads[2 * pair];
      after[rank - 1 - pair] = pads[2 * pair + 1];
    }
    return node.set(with_zeros(x, before, after));
  }
  for (size_t pair = 0; pair < pads.size() / 2; ++pair)
    x = padded(x, rank - 1 - pair, pads[2 * pair], pads[2 * pair + 1], value);
  return node.set(x);
}

// Windows of `size` along a dimension, every `step`: gathered, the window last.
Result<void> lower_unfold(Node& node) {
  const Value x = node.tensor(kSelf);
  const Shape shape = x.shape();
  const size_t axis = node.dimension({1, "dimension"}, shape.size(), 0);
  const int64_t size = node.integer({2, "size"}), step = node.integer({3, "step"});
  if (shape.empty() || step < 1 || size < 1 || size > shape[axis]) return misfit("its windows do not fit");
  const int64_t count = (shape[axis] - size) / step + 1;
  Integers index, perm;
  for (int64_t window = 0; window < count; ++window)
    for (int64_t place = 0; place < size; ++place) index.push_back(window * step + place);
  for (size_t d = 0; d <= shape.size(); ++d)
    if (d != axis + 1) perm.push_back(static_cast<int64_t>(d));
  perm.push_back(static_cast<int64_t>(axis) + 1);
  return node.set(transpose(gather(x, node.whole(DType::kI64, {count, size}, index), axis), perm));
}

// Elements of the diagonal of two dimensions, which becomes the last one.
Result<void> lower_diagonal(Node& node) {
  const Value x = node.tensor(kSelf);
  const size_t rank = x.rank(), a = node.dimension({2, "dim1"}, rank, 0), b = node.dimension({3, "dim2"}, rank, 1);
  const int64_t offset = node.integer({1, "offset"}, 0);
  if (rank < 2 || a == b) return misfit("it has no two dimensions");
  Integers perm, places;
  for (size_t d = 0; d < rank; ++d)
    if (d != a && d != b) perm.push_back(static_cast<int64_t>(d));
  perm.insert(perm.end(), {static_cast<int64_t>(a), static_cast<int64_t>(b)});
  Shape flat = x.shape();
  const int64_t rows = flat[a], columns = flat[b];
  for (int64_t row = 0; row < rows; ++row)
    if (row + offset >= 0 && row + offset < columns) places.push_back(row * columns + row + offset);
  const Value turned = transpose(x, perm);
  flat = turned.shape();
  flat.resize(rank - 2);
  flat.push_back(rows * columns);
  const auto count = static_cast<int64_t>(places.size());
  return node.set(gather(reshape(turned, flat), node.whole(DType::kI64, {count}, places), rank - 2));
}

Result<void> lower_full(Node& node) {
  const Value value = node.as_output({1, "fill_value"});
  return node.set(expand(value, node.output().shape));
}

// Places of the schema: arange(end), arange(start, end), arange(start, end, step).
Result<void> lower_arange(Node& node) {
  const bool stepped = node.is("aten.arange.start_step"), begun = node.is("aten.arange.start");
  const double start = begun ? node.number({0, "start"}, 0) : 0, step = stepped ? node.number({2, "step"}, 1) : 1;
  const TensorType& type = node.output();
  const int64_t count = type.elements();
  if (count > kMostElements || !(std::abs(start) < 1e15) || !(std::abs(step) < 1e12))
    return unsupported("it counts too far", "compute it in smaller parts");
  if (!ir::is_float(type.dtype))
    return node.set(
        node.positions(count, type.shape, static_cast<int64_t>(start), static_cast<int64_t>(step), type.dtype));
  std::vector<double> values(static_cast<size_t>(count));
  for (size_t each = 0; each < values.size(); ++each) values[each] = start + step * static_cast<double>(each);
  return node.set(node.constant(type.dtype, type.shape, values));
}

constexpr OperatorEntry kMove[] = {{"view.default _reshape_copy.default view_copy.default", lower_view},
                                   {"_to_copy.default _conj.default", lower_same},
                                   {"detach.default detach_copy.default", lower_detach},
                                   {"expand.default", lower_expand},
                                   {"permute.default permute_copy.default", lower_permute},
                                   {"transpose.int", lower_transpose},
                                   {"t.default", lower_t},
                                   {"slice.Tensor slice_copy.Tensor", lower_slice},
                                   {"select.int select_copy.int", lower_select},
                                   {"cat.default", lower_cat},
                                   {"split.Tensor split_copy.Tensor split_with_sizes.default", lower_split},
                                   {"unbind.int unbind_copy.int", lower_unbind},
                                   {"flip.default", lower_flip},
                                   {"repeat.default", lower_repeat},
                                   {"constant_pad_nd.default", lower_pad},
                                   {"unfold.default", lower_unfold},
                                   {"diagonal.default", lower_diagonal},
                                   {"full.default", lower_full, false},
                                   {"arange.default arange.start arange.start_step", lower_arange, false}};

}  // namespace

constinit const Family move_operators = kMove;

}  // namespace pantoum::aten
