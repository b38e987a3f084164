#include "cost/slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "base/round_up.h"
#include "ir/kernel_call.h"
#include "kernels/portable/kernel_rows.h"
#include "runtime/slices.h"

namespace pantoum::cost {
namespace {

using problem::Choice;
using problem::Home;
using problem::Link;
using problem::PagerMode;
using problem::Tensor;

constexpr Bytes kSmall = 64;                 // an operand of less than this part of the budget is never streamed
constexpr size_t kMostGroups = 5;            // of operands that are in storage together
constexpr int64_t kMostTransfers = 1 << 20;  // of one op
constexpr uint32_t kInnerTiles = 4;          // extents of slices inside of those over terms grow by this factor
constexpr uint32_t kMostUnitsUpdated = 16;   // of a parameter together
// Parts of the budget: of the slicings with the same operands in storage, the cheapest whose workspace is at most this part is kept.
// The last ones are for what is left beside large tensors: without them there is nothing between a twentieth and slices of a block, which move a block a transfer.
constexpr double kParts[] = {0.95, 0.7, 0.5, 0.35, 0.2, 0.1, 0.05, 0.015, 0.004};

// ---- one op ----

// An op as the runtime will see it.
struct View {
  pt_op_view view{};
  const pt_kernel* kernel = nullptr;
};

View view_of(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel) {
  View made{.kernel = &kernel};
  pt_op_view& view = made.view;
  view.op = static_cast<uint16_t>(op.kind);
  view.algorithm = kernel.algorithm;
  view.dtype = static_cast<uint8_t>(key_dtype(graph, op));
  view.engines = 1;
  view.input_count = static_cast<uint8_t>(op.inputs.size());
  view.output_count = static_cast<uint8_t>(op.outputs.size());
  view.int_count = static_cast<uint8_t>(op.attrs.ints.size());
  view.real_count = static_cast<uint8_t>(op.attrs.reals.size());
  size_t operand = 0;
  for (const std::vector<ir::ValueId>* values : {&op.inputs, &op.outputs})
    for (const ir::ValueId value : *values) view.operands[operand++] = ir::tensor_at(graph.value(value).type);
  std::ranges::copy(op.attrs.ints, view.ints);
  std::ranges::copy(op.attrs.reals, view.reals);
  return made;
}

bool fits_a_view(const ir::Op& op) {
  return op.inputs.size() + op.outputs.size() <= PT_MAX_OPERANDS && op.attrs.ints.size() <= PT_MAX_ATTRS &&
         op.attrs.reals.size() <= PT_MAX_ATTRS;
}

struct Traffic {
  Bytes bytes_in = 0, bytes_out = 0;
  int64_t transfers_in = 0, transfers_out = 0;
  int64_t steps = 1;
  Bytes packed = 0;  // copied within RAM
};

void add_moved(const pt_loop& loop, unsigned operand, const pt_traffic& moved, Traffic& sum) {
  const auto bytes = static_cast<Bytes>(moved.bytes);
  const auto transfers = static_cast<int64_t>(moved.transfers);
  if (loop.how[operand] == PT_PACKED) {
    sum.packed += bytes;
  } else if (operand < loop.whole->input_count) {
    sum.bytes_in += bytes, sum.transfers_in += transfers;
  } else {
    sum.bytes_out += bytes, sum.transfers_out += transfers;
  }
}

// What passes over an op's operands move. Slicings that cut an operand alike share it: of 1e5 slicings of a product, each of its operands has 1e3.
class Passes {
 public:
  const pt_traffic& over(const pt_loop& loop, unsigned operand) {
    Key key{operand, loop.how[operand], loop.run_dim[operand], loop.whole->slicing.streamed >> operand & 1};
    for (unsigned at = 0; at < loop.loops; ++at)
      if ((pt_loops_of(&loop, operand) >> at & 1) != 0) key[4 + loop.axis[at]] = loop.tile[at];
    const auto [entry, is_new] = known_.try_emplace(key);
    if (is_new) entry->second = pt_traffic_of_pass(&loop, operand);
    return entry->second;
  }

 private:
  using Key = std::array<uint32_t, 4 + PT_REST + 1>;
  std::map<Key, pt_traffic> known_;
};

void add_traffic(const pt_loop& loop, unsigned operand, Passes& passes, Traffic& sum) {
  const uint64_t times = pt_passes_over(&loop, operand);
  const pt_traffic& pass = passes.over(loop, operand);
  add_moved(loop, operand, {.bytes = pass.bytes * times, .transfers = pass.transfers * times}, sum);
}

// Is the operand a part of another one, or made of parts? Its slices may then be empty, or leave elements out.
bool has_parts(const pt_loop& loop, unsigned operand) {
  for (unsigned at = 0; at < loop.loops; ++at) {
    const pt_axis& axis = loop.axes.axis[loop.axis[at]];
    if (pt_is_windowed(&axis, operand) != 0 && axis.window >= PT_WINDOW_PICKED) return true;
  }
  return false;
}

// At most what the operand moves, without a walk: its bytes, as often as all of its slices are moved, and a transfer for each run but for those that
// may be carried. Nothing, where slices may be empty.
void add_least_traffic(const pt_loop& loop, unsigned operand, Traffic& sum) {
  if (has_parts(loop, operand)) return;
  if (operand == 0 && pt_looks_up(&loop) != 0) {  // some rows of a table
    add_moved(loop, operand, pt_traffic_of(&loop, operand), sum);
    return;
  }
  const pt_box box = pt_slice_of(&loop, operand);
  const pt_runs run = pt_runs_of(&loop, operand, &box);
  const pt_tensor& whole = loop.whole->operands[operand];
  const pt_traffic least = {
      .bytes = pt_type_elements(&whole) * pt_dtype_size(whole.dtype) * pt_passes_over(&loop, operand),
      .transfers = loop.how[operand] == PT_CARRIED ? 1 : run.count * pt_moves_of(&loop, operand)};
  add_moved(loop, operand, least, sum);
}

// What a step copies of a slice with gaps: of a result to the call and back.
Bytes copied_bytes(const pt_loop& loop, unsigned operand) {
  const pt_box part = pt_part_of(&loop, operand);
  Bytes bytes = part.element;
  for (unsigned dim = 0; dim < part.rank; ++dim) bytes *= part.extent[dim];
  return operand < loop.whole->input_count ? bytes : 2 * bytes;
}

template <class Add>
Traffic traffic_of(const pt_loop& loop, const Add& add) {
  Traffic sum;
  const unsigned operands = loop.whole->input_count + loop.whole->output_count;
  for (unsigned operand = 0; operand < operands; ++operand)
    if (loop.how[operand] != PT_IN_PLACE) add(loop, operand, sum);
  sum.steps = static_cast<int64_t>(pt_steps_of(&loop));
  for (unsigned operand = 0; loop.apart != 0 && operand < operands; ++operand)
    if (loop.part[operand] != PT_NOWHERE) sum.packed += sum.steps * copied_bytes(loop, operand);
  return sum;
}

problem::Seconds seconds_of(const problem::Pager& pager, const Traffic& traffic) {
  const auto one = [](const Link& link, int64_t transfers, Bytes bytes) {
    return static_cast<double>(transfers) * link.latency_s + static_cast<double>(bytes) / link.bytes_per_s;
  };
  return one(pager.in, traffic.transfers_in, traffic.bytes_in) +
         one(pager.out, traffic.transfers_out, traffic.bytes_out);
}

// ---- slicings ----

// A slicing with what it holds and moves.
struct Found {
  pt_slicing slicing{};
  std::vector<int> counts;  // steps of each loop
  Bytes workspace = 0;
  Traffic traffic;
  problem::Seconds beside = 0;   // of steps and copies, which the whole op does not have
  problem::Seconds seconds = 0;  // the same, and of transfers
};

// Extents of slices that are tried: powers of two, and the whole.
std::vector<uint32_t> tiles_of(uint32_t extent, bool is_flat) {
  std::vector<uint32_t> tiles;
  for (uint32_t tile = is_flat ? 128 : 1; tile < extent; tile *= 2) tiles.push_back(tile);
  tiles.push_back(extent);
  return tiles;
}

class Slicings {
  using Key =
      std::array<uint32_t, size_t{2} * PT_MAX_LOOPS>;  // of the loops: axis + 1 and tile each, the outermost first

 public:
  Slicings(View view, const problem::Device& device, const Compute& compute, const SliceOptions& options)
      : view_(view), device_(device), compute_(compute), options_(options) {
    pt_axes_of(&view_.view, &axes_);
    pool_.threads = static_cast<uint32_t>(std::max(1, options.threads));
  }

  [[nodiscard]] bool exist() const { return axes_.count > 0; }

  // The slicings worth keeping with these operands in storage, a bit each.
  std::vector<Found> with(uint32_t streamed) {
    best_.assign(std::size(kParts), std::nullopt);
    least_.reset();
    seen_.clear();
    view_.view.slicing = {};
    view_.view.slicing.streamed = streamed;
    std::vector<uint8_t> order(axes_.count);
    for (size_t axis = 0; axis < order.size(); ++axis) order[axis] = static_cast<uint8_t>(axis);
    do {
      try_order(order);
    } while (std::ranges::next_permutation(order).found);
    refine();
    return kept();
  }

  // The slicing of that name, if the op has it.
  std::optional<Found> one(const pt_slicing& slicing) {
    view_.view.slicing = slicing;
    return opened();
  }

 private:
  // Tries all extents in this order of loops; loops of one slice are left out, so that orders differ in what matters.
  void try_order(const std::vector<uint8_t>& order) {
    bool reduces = false;
    for (const uint8_t axis : order) {  // terms are inside
      if (reduces && axes_.axis[axis].reduces == 0) return;
      reduces = axes_.axis[axis].reduces != 0;
    }
    view_.view.slicing.loops = 0;
    add_loops(order, 0);
  }

  void add_loops(const std::vector<uint8_t>& order, size_t at) {
    pt_slicing& slicing = view_.view.slicing;
    if (at == order.size()) {
      if (slicing.loops > 0) consider();
      if (pt_holds_sums(&view_.view) != 0) add_inner_loops();
      return;
    }
    const pt_axis& axis = axes_.axis[order[at]];
    const bool picks = axis.windowed != 0 && axis.window == PT_WINDOW_PICKED;  // one slice is less than the whole, too
    add_loops(order, at + 1);
    for (const uint32_t tile : tiles_of(axis.extent, axes_.flat != 0))
      if (tile < axis.extent || picks) with_loop(order[at], tile, [&] { add_loops(order, at + 1); });
  }

  // Tries extents beside those of the best slicings, as long as that finds better ones. Powers of two alone leave up to half of a workspace unused.
  void refine() {
    std::set<Key> refined;
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (size_t part = 0; part < best_.size(); ++part) {
        if (!best_[part] || !refined.insert(key_of(best_[part]->slicing)).second) continue;
        goes_on = true;
        const pt_slicing slicing = best_[part]->slicing;
        for (size_t loop = 0; loop < slicing.loops; ++loop)
          for (const uint32_t tile : tiles_beside(slicing, loop)) {
            view_.view.slicing = slicing;
            view_.view.slicing.tile[loop] = tile;
            consider();
          }
      }
    }
  }

  // Extents of the loop that make a step more or less, and those a half and a third away.
  [[nodiscard]] std::vector<uint32_t> tiles_beside(const pt_slicing& slicing, size_t loop) const {
    const uint32_t tile = slicing.tile[loop];
    uint32_t extent = axes_.axis[slicing.axis[loop]].extent;
    for (size_t outer = 0; outer < loop; ++outer)
      if (slicing.axis[outer] == slicing.axis[loop]) extent = slicing.tile[outer];
    std::vector<uint32_t> tiles = {tile / 4 * 3, tile / 2 * 3};
    if (tile < extent) {
      const uint32_t steps = (extent - 1) / tile + 1;
      tiles.push_back((extent - 1) / (steps + 1) + 1);
      tiles.push_back((extent - 1) / (steps - 1) + 1);
    }
    std::erase_if(tiles, [&](uint32_t each) { return each == 0 || each == tile || (each >= extent && tile < extent); });
    return tiles;
  }

  // Calls act() with one loop more, the innermost, if a slicing can have it.
  template <class Act>
  void with_loop(uint8_t axis, uint32_t tile, const Act& act) {
    pt_slicing& slicing = view_.view.slicing;
    if (slicing.loops == PT_MAX_LOOPS) return;
    slicing.axis[slicing.loops] = axis;
    slicing.tile[slicing.loops] = tile;
    ++slicing.loops;
    act();
    --slicing.loops;
    slicing.axis[slicing.loops] = 0, slicing.tile[slicing.loops] = 0;
  }

  // The tile of the loop over the axis; its extent, if there is no loop.
  [[nodiscard]] uint32_t tile_of(size_t axis) const {
    const pt_slicing& slicing = view_.view.slicing;
    for (size_t loop = 0; loop < slicing.loops; ++loop)
      if (slicing.axis[loop] == axis) return slicing.tile[loop];
    return axes_.axis[axis].extent;
  }

  // The innermost axis of terms that has a loop, or the last of all; nothing: the op has none.
  [[nodiscard]] std::optional<uint8_t> axis_of_terms() const {
    std::optional<uint8_t> found;
    for (uint8_t axis = 0; axis < axes_.count; ++axis)
      if (axes_.axis[axis].reduces != 0 && (!found || tile_of(axis) < axes_.axis[axis].extent)) found = axis;
    return found;
  }

  // Tries loops inside of those over terms, and behind them.
  void add_inner_loops() {
    const std::optional<uint8_t> terms = axis_of_terms();
    if (!terms) return;
    const bool updates = pt_has_rest(&view_.view) != 0;
    if (tile_of(*terms) < axes_.axis[*terms].extent) {
      if (updates) add_rests(*terms);
      for_each_inner_loop([&] { updates ? add_rests(*terms) : consider(); });
    } else if (updates) {
      with_loop(*terms, axes_.axis[*terms].extent, [&] {
        add_rests(*terms);
        for_each_inner_loop([&] { add_rests(*terms); });
      });
    }
  }

  template <class Act>
  void for_each_inner_loop(const Act& act) {
    const bool updates = pt_has_rest(&view_.view) != 0;
    for (uint8_t axis = 0; axis < axes_.count; ++axis) {
      const uint32_t extent = axes_.axis[axis].extent, outer = tile_of(axis);
      if (axes_.axis[axis].reduces != 0 || (outer < extent && (updates || extent % outer != 0))) continue;
      for (uint32_t tile = 1; tile < outer; tile *= kInnerTiles)
        if (outer == extent || outer % tile == 0) with_loop(axis, tile, act);
    }
  }

  // Parameter and states in parts of a few units.
  void add_rests(uint8_t terms) {
    const pt_tensor& parameter = view_.view.operands[2];
    const auto unit = static_cast<uint32_t>(device_.align_bytes / pt_dtype_size(parameter.dtype));
    const uint64_t all = pt_type_elements(&parameter);
    for (uint32_t units = 1; units <= kMostUnitsUpdated && uint64_t{units} * unit < all; units *= kInnerTiles)
      with_loop(terms, units * unit, [&] { consider(); });
  }

  std::optional<Found> opened() {
    pt_loop loop;
    if (pt_loop_open(&loop, &view_.view, static_cast<uint32_t>(device_.align_bytes), view_.kernel, &pool_) != PT_OK)
      return std::nullopt;
    Found found;
    found.slicing = view_.view.slicing;
    found.counts.assign(loop.counts, loop.counts + loop.loops);
    found.workspace = static_cast<Bytes>(loop.workspace_bytes);
    take(traffic_of(loop, add_least_traffic), found);
    if (found.traffic.transfers_in + found.traffic.transfers_out > kMostTransfers || !improves(found))
      return std::nullopt;
    take(traffic_of(loop,
                    [&](const pt_loop& of, unsigned operand, Traffic& sum) { add_traffic(of, operand, passes_, sum); }),
         found);
    return found;
  }

  void take(const Traffic& traffic, Found& found) const {
    found.traffic = traffic;
    found.beside = static_cast<double>(traffic.steps) * std::max(compute_.op_overhead_s, compute_.slice_overhead_s);
    if (compute_.bytes_per_s > 0) found.beside += 2 * static_cast<double>(traffic.packed) / compute_.bytes_per_s;
    found.seconds = found.beside + seconds_of(device_.pager, traffic);
  }

  [[nodiscard]] static bool is_less(Bytes workspace, problem::Seconds seconds, const std::optional<Found>& than) {
    return !than || std::pair(workspace, seconds) < std::pair(than->workspace, than->seconds);
  }

  [[nodiscard]] Bytes most_of(size_t part) const {
    return static_cast<Bytes>(kParts[part] * static_cast<double>(options_.budget));
  }

  [[nodiscard]] bool is_better(const Found& found, size_t part) const {
    const std::optional<Found>& best = best_[part];
    return found.workspace <= most_of(part) &&
           (!best || std::pair(found.seconds, found.workspace) < std::pair(best->seconds, best->workspace));
  }

  // Is it less than one that was found for a part of the budget, or leaner than all?
  [[nodiscard]] bool improves(const Found& found) const {
    if (is_less(found.workspace, found.seconds, least_)) return true;
    for (size_t part = 0; part < best_.size(); ++part)
      if (is_better(found, part)) return true;
    return false;
  }

  static Key key_of(const pt_slicing& slicing) {
    Key key{};
    for (size_t loop = 0; loop < slicing.loops; ++loop)
      key[2 * loop] = slicing.axis[loop] + 1U, key[2 * loop + 1] = slicing.tile[loop];
    return key;
  }

  void consider() {
    if (!seen_.insert(key_of(view_.view.slicing)).second) return;
    const std::optional<Found> found = opened();
    if (!found) return;
    if (is_less(found->workspace, found->seconds, least_)) least_ = found;
    for (size_t part = 0; part < best_.size(); ++part)
      if (is_better(*found, part)) best_[part] = found;
  }

  std::vector<Found> kept() const {
    std::vector<Found> found;
    for (const std::optional<Found>& best : best_)
      if (best && (found.empty() || best->workspace < found.back().workspace)) found.push_back(*best);
    if (least_ && (found.empty() || least_->workspace < found.back().workspace)) found.push_back(*least_);
    return found;
  }

  View view_;
  const problem::Device& device_;
  const Compute& compute_;
  const SliceOptions& options_;
  pt_axes axes_{};
  pt_pool pool_{};
  std::vector<std::optional<Found>> best_;  // by part of the budget
  std::optional<Found> least_;              // workspace
  std::set<Key> seen_;                      // slicings
  Passes passes_;
};

// ---- the graph ----

// Has a part of an op the bits that it has in the whole? Those of other kernels depend on extents.
bool keeps_bits(const pt_kernel& kernel) {
  return kernel.algorithm < PT_FIRST_OTHER && kernel.engine == 0;
}

class Adder {
 public:
  Adder(BuiltCostGraph& built, const ir::Graph& graph, const Compute& compute, const SliceOptions& options)
      : built_(built), graph_(graph), compute_(compute), options_(options) {}

  void add_all() {
    for (size_t op = 0; op < built_.graph.ops.size(); ++op) {
      std::vector<Way> ways;
      for_each_way(op, [&](size_t base) {
        if (!is_beaten(op, base)) add_ways(op, base, ways);
      });
      for (const Way& way : ways)
        if (std::ranges::none_of(ways, [&](const Way& other) { return beats(other, way); })) add(op, way);
    }
  }

  void add_given(const problem::Op& given, size_t op) {
    const size_t before = built_.graph.ops[op].choices.size();
    for (size_t choice = before; choice < given.choices.size(); ++choice) {
      const std::optional<pt_slicing> slicing = slicing_of_name(given.choices[choice].algorithm);
      if (!slicing) return;
      bool found = false;
      for_each_way(op, [&](size_t base) {
        if (found ||
            name_in_slices(built_.graph.ops[op].choices[base].algorithm, *slicing) != given.choices[choice].algorithm)
          return;
        const ir::Op& as = built_.computed_as[op][base];
        Slicings slicings(view_of(graph_, as, *built_.kernel_of[op][base]), built_.graph.device, compute_, options_);
        const std::optional<Found> one = slicings.one(*slicing);
        if (!one) return;
        add(op, way_of(op, base, *one));
        found = true;
      });
      if (!found) return;
    }
  }

 private:
  // A way in slices: the choice that it is of.
  struct Way {
    size_t base = 0;
    Found found;
    Choice choice;
  };

  // Does another way need no more time and no more workspace, so that its slices do too?
  [[nodiscard]] bool is_beaten(size_t op, size_t choice) const {
    const std::vector<Choice>& choices = built_.graph.ops[op].choices;
    const auto figures = [&](size_t of) { return std::tuple(choices[of].time_s, choices[of].workspace_bytes, of); };
    for (size_t other = 0; other < choices.size(); ++other)
      if (has_slices(op, other) && choices[other].time_s <= choices[choice].time_s &&
          choices[other].workspace_bytes <= choices[choice].workspace_bytes && figures(other) < figures(choice))
        return true;
    return false;
  }

  // Is it a whole way on all threads, by a kernel whose parts have the bits of the whole?
  [[nodiscard]] bool has_slices(size_t op, size_t choice) const {
    const pt_kernel* kernel = built_.kernel_of[op][choice];
    return kernel != nullptr && keeps_bits(*kernel) && built_.threads_of[op][choice] == 0 &&
           !built_.graph.ops[op].choices[choice].stream.any() && !built_.slicing_of.contains({op, choice}) &&
           fits_a_view(built_.computed_as[op][choice]);
  }

  // Calls act(choice) for the whole ways of the op that have slices: the first of each kernel.
  template <class Act>
  void for_each_way(size_t op, const Act& act) {
    const size_t choices = built_.graph.ops[op].choices.size();
    std::set<const pt_kernel*> kernels;
    for (size_t choice = 0; choice < choices; ++choice)
      if (has_slices(op, choice) && kernels.insert(built_.kernel_of[op][choice]).second) act(choice);
  }

  [[nodiscard]] const Tensor& tensor_of(ir::ValueId value) const {
    return built_.graph.tensors[static_cast<size_t>(built_.tensor_of[static_cast<size_t>(value)])];
  }

  // May the operand be in storage while the op runs, and is it worth it?
  [[nodiscard]] bool may_stream(ir::ValueId value, bool is_output) const {
    const Tensor& tensor = tensor_of(value);
    if (tensor.bytes * kSmall < options_.budget || tensor.pinned || tensor.start == Home::kRom) return false;
    if (is_output) return tensor.end != Home::kRam;
    return tensor.start != Home::kRam;
  }

  [[nodiscard]] Bytes bytes_of(const ir::Op& op, uint32_t operands) const {
    Bytes bytes = 0;
    for (const std::vector<ir::ValueId>* values : {&op.inputs, &op.outputs})
      for (const ir::ValueId value : *values) {
        if ((operands & 1) != 0) bytes += tensor_of(value).bytes;
        operands >>= 1;
      }
    return bytes;
  }

  // Operands that are in storage together, the largest first: those of one tensor, and a tensor with what takes its place after the step.
  [[nodiscard]] std::vector<uint32_t> groups_of(const ir::Op& op) const {
    std::map<int64_t, uint32_t> by_tensor;
    const auto first_of = [&](ir::ValueId value) {
      const Tensor& tensor = tensor_of(value);
      for (const ir::ValueId input : op.inputs)
        if (tensor_of(input).next == tensor.id) return tensor_of(input).id;
      return tensor.id;
    };
    uint32_t bit = 1;
    for (const ir::ValueId input : op.inputs) {
      if (may_stream(input, false)) by_tensor[first_of(input)] |= bit;
      bit <<= 1;
    }
    for (const ir::ValueId output : op.outputs) {
      if (may_stream(output, true)) by_tensor[first_of(output)] |= bit;
      bit <<= 1;
    }
    // Parameter and states are sliced alike: together. So are the smallest, where there are many, as the vectors of a norm.
    uint32_t updated = 0;
    std::vector<uint32_t> groups;
    for (const auto& [tensor, bits] : by_tensor)
      (std::has_single_bit(bits) ? groups.emplace_back(bits) : updated) |= bits;
    if (updated != 0) groups.push_back(updated);
    std::ranges::stable_sort(groups, std::greater<>(), [&](uint32_t group) { return bytes_of(op, group); });
    while (groups.size() > kMostGroups) {
      groups[groups.size() - 2] |= groups.back();
      groups.pop_back();
    }
    return groups;
  }

  // Does one way in slices, with the same operands in storage, need no more of anything than another?
  [[nodiscard]] bool beats(const Way& one, const Way& than) const {
    const auto figures = [&](const Way& way) {
      const problem::Seconds moving = seconds_of(built_.graph.device.pager, way.found.traffic);
      return std::array{way.choice.time_s + moving, way.choice.energy_j, moving,
                        static_cast<double>(way.choice.workspace_bytes)};
    };
    if (one.found.slicing.streamed != than.found.slicing.streamed || one.choice.numerics != than.choice.numerics ||
        one.choice.overwrites != than.choice.overwrites)
      return false;
    const auto a = figures(one), b = figures(than);
    return std::ranges::equal(a, b, std::less_equal()) && (a != b || &one < &than);
  }

  void add_ways(size_t op, size_t base, std::vector<Way>& ways) {
    const ir::Op as = built_.computed_as[op][base];
    const std::vector<uint32_t> groups = groups_of(as);
    const View view = view_of(graph_, as, *built_.kernel_of[op][base]);
    Slicings slicings(view, built_.graph.device, compute_, options_);
    if (!slicings.exist()) return;
    for (uint32_t set = 0; set < (1U << groups.size()); ++set) {
      uint32_t streamed = 0;
      for (size_t group = 0; group < groups.size(); ++group)
        if ((set >> group & 1) != 0) streamed |= groups[group];
      const Bytes workspace = built_.graph.ops[op].choices[base].workspace_bytes;
      if (streamed == 0 && workspace * 16 < options_.budget) continue;  // slices would save nothing
      for (const Found& found : known(view, streamed, slicings)) {
        if (streamed == 0 && found.workspace >= workspace) continue;
        ways.push_back(way_of(op, base, found));
      }
    }
  }

  // The same ops have the same slicings.
  const std::vector<Found>& known(const View& view, uint32_t streamed, Slicings& slicings) {
    std::string key = fmt::format("{} {} {}", view.view.op, view.view.algorithm, streamed);
    for (unsigned operand = 0; operand < static_cast<unsigned>(view.view.input_count + view.view.output_count);
         ++operand) {
      const pt_tensor& tensor = view.view.operands[operand];
      key += fmt::format(" {}:", tensor.dtype);
      for (unsigned dim = 0; dim < tensor.rank; ++dim) key += fmt::format("{},", tensor.dims[dim]);
    }
    for (unsigned at = 0; at < view.view.int_count; ++at) key += fmt::format(" {}", view.view.ints[at]);
    const auto [entry, is_new] = known_.try_emplace(std::move(key));
    if (is_new) entry->second = slicings.with(streamed);
    return entry->second;
  }

  // The same way to compute the op, in slices.
  [[nodiscard]] Way way_of(size_t op, size_t base, const Found& found) const {
    const ir::Op& as = built_.computed_as[op][base];
    const size_t inputs = as.inputs.size();
    Choice choice = built_.graph.ops[op].choices[base];
    const int before = choice.reads.empty() ? 0 : choice.reads.front();
    choice.algorithm = name_in_slices(choice.algorithm, found.slicing);
    choice.slices = found.counts;
    choice.workspace_bytes = base::round_up(found.workspace, built_.graph.device.align_bytes);
    if (choice.time_s > 0) choice.energy_j *= 1 + found.beside / choice.time_s;
    choice.time_s += found.beside;
    for (size_t operand = 0; operand < inputs + as.outputs.size(); ++operand) {
      if ((found.slicing.streamed >> operand & 1) == 0) continue;
      if (operand < inputs)
        choice.stream.in.push_back(before + static_cast<int>(operand));
      else
        choice.stream.out.push_back(static_cast<int>(operand - inputs));
    }
    choice.stream.bytes_in = found.traffic.bytes_in, choice.stream.bytes_out = found.traffic.bytes_out;
    choice.stream.transfers_in = found.traffic.transfers_in, choice.stream.transfers_out = found.traffic.transfers_out;
    pt_op_view view = view_of(graph_, as, *built_.kernel_of[op][base]).view;
    view.slicing = found.slicing;
    std::erase_if(choice.overwrites, [&](const auto& pair) {
      const auto input = static_cast<unsigned>(pair.second - before), output = static_cast<unsigned>(pair.first);
      return pt_is_streamed(&view, input) || pt_is_streamed(&view, static_cast<unsigned>(inputs) + output) ||
             pt_slices_take_over(&view, input, output) == 0;
    });
    return {.base = base, .found = found, .choice = std::move(choice)};
  }

  void add(size_t op, const Way& way) {
    problem::Op& entry = built_.graph.ops[op];
    built_.slicing_of[{op, entry.choices.size()}] = way.found.slicing;
    entry.choices.push_back(way.choice);
    built_.kernel_of[op].push_back(built_.kernel_of[op][way.base]);
    built_.computed_as[op].push_back(ir::Op(built_.computed_as[op][way.base]));
    built_.threads_of[op].push_back(0);
  }

  BuiltCostGraph& built_;
  const ir::Graph& graph_;
  const Compute& compute_;
  const SliceOptions& options_;
  std::map<std::string, std::vector<Found>> known_;
};

std::optional<uint32_t> number(std::string_view& text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

constexpr std::string_view kSlices = " in slices ", kStreaming = " streaming ";

}  // namespace

std::string name_in_slices(const std::string& algorithm, const pt_slicing& slicing) {
  std::string name = algorithm + std::string(kSlices);
  for (size_t loop = 0; loop < slicing.loops; ++loop)
    name += fmt::format("{}{}:{}", loop > 0 ? "," : "", slicing.axis[loop], slicing.tile[loop]);
  return name + fmt::format("{}{}", kStreaming, slicing.streamed);
}

std::optional<pt_slicing> slicing_of_name(const std::string& name) {
  const size_t at = name.rfind(kSlices);
  if (at == std::string::npos) return std::nullopt;
  std::string_view rest = std::string_view(name).substr(at + kSlices.size());
  pt_slicing slicing{};
  for (bool more = true; more; more = rest.starts_with(',')) {
    if (slicing.loops > 0) rest.remove_prefix(1);
    const std::optional<uint32_t> axis = number(rest);
    if (!axis || *axis >= PT_MAX_LOOPS || slicing.loops == PT_MAX_LOOPS || !rest.starts_with(':')) return std::nullopt;
    rest.remove_prefix(1);
    const std::optional<uint32_t> tile = number(rest);
    if (!tile || *tile == 0) return std::nullopt;
    slicing.axis[slicing.loops] = static_cast<uint8_t>(*axis);
    slicing.tile[slicing.loops++] = *tile;
  }
  if (!rest.starts_with(kStreaming)) return std::nullopt;
  rest.remove_prefix(kStreaming.size());
  const std::optional<uint32_t> streamed = number(rest);
  if (!streamed || !rest.empty()) return std::nullopt;
  slicing.streamed = *streamed;
  return slicing;
}

void align_to_blocks(BuiltCostGraph& built) {
  problem::Device& device = built.graph.device;
  if (device.pager.mode == PagerMode::kNone || device.align_bytes % device.pager.block_bytes == 0) return;
  device.align_bytes = std::lcm(device.align_bytes, device.pager.block_bytes);
  device.pager.staging_bytes = 0;  // no transfer begins or ends inside a block any more
  for (Tensor& tensor : built.graph.tensors) tensor.bytes = base::round_up(tensor.bytes, device.align_bytes);
  for (problem::Op& op : built.graph.ops)
    for (Choice& choice : op.choices)
      choice.workspace_bytes = base::round_up(choice.workspace_bytes, device.align_bytes);
}

void add_slices(BuiltCostGraph& built, const ir::Graph& graph, const Compute& compute, const SliceOptions& options) {
  const problem::Device& device = built.graph.device;
  if (device.pager.mode == PagerMode::kNone || device.align_bytes % device.pager.block_bytes != 0) return;
  Adder(built, graph, compute, options).add_all();
}

void take_slices_of(const CostGraph& given, BuiltCostGraph& built, const ir::Graph& graph, const Compute& compute,
                    int threads) {
  if (built.graph.ops.size() != given.ops.size()) return;
  const SliceOptions options{.budget = std::numeric_limits<Bytes>::max(), .threads = threads};
  Adder adder(built, graph, compute, options);
  for (size_t op = 0; op < given.ops.size(); ++op) adder.add_given(given.ops[op], op);
}

}  // namespace pantoum::cost
