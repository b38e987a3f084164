#include "plan/engine_chains.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/lists.h"

namespace pantoum::plan {
namespace {

template <class Of>
double least_choice(const EngineModel::Op& op, const Of& of) {
  double least = HUGE_VAL;
  for (size_t way = 0; way < op.ways.size(); ++way)
    if (op.ways[way].permitted) least = std::min(least, of(way));
  return least;
}

}  // namespace

EngineChains::EngineChains(const EngineModel& from)
    : model(from),
      ops(from.order.size()),
      blocks(from.graph->device.pager.mode == PagerMode::kSync),
      position_of_(from.ops.size(), -1),
      into_(from.tensors.size(), HUGE_VAL),
      back_(from.tensors.size(), HUGE_VAL),
      out_(from.tensors.size(), 0),
      first_(from.tensors.size(), 0) {
  for (size_t at = 0; at < from.order.size(); ++at)
    position_of_[static_cast<size_t>(from.order[at])] = static_cast<int32_t>(at);
  add_what_runs();
  add_heads();
  add_tails();
}

void EngineChains::add_what_runs() {
  std::vector<bool> read(model.tensors.size(), false);
  for (size_t at = 0; at < ops.size(); ++at) ops[at].runs = !of(static_cast<int32_t>(at)).optional;
  for (size_t at = ops.size(); at-- > 0;) {
    if (!ops[at].runs) continue;
    const std::vector<EngineModel::Way>& ways = of(static_cast<int32_t>(at)).ways;
    const auto first = std::ranges::find_if(ways, &EngineModel::Way::permitted);
    std::vector<int32_t> always = first->inputs;
    for (const EngineModel::Way& way : ways)
      if (way.permitted) std::erase_if(always, [&](int32_t each) { return !base::contains(way.inputs, each); });
    for (const int32_t each : always) {
      const auto streams = [&](const EngineModel::Way& way) {
        return way.permitted && base::contains(way.streams_in, each);
      };
      if (std::ranges::none_of(ways, streams)) read[static_cast<size_t>(each)] = true;
      const int32_t maker = model.tensors[static_cast<size_t>(each)].maker;
      if (maker < 0) continue;
      const int32_t made_at = position_of_[static_cast<size_t>(maker)];
      if (base::contains(ops[at].before, made_at)) continue;
      ops[static_cast<size_t>(made_at)].runs = true;
      ops[at].before.push_back(made_at);
      ops[static_cast<size_t>(made_at)].after.push_back(static_cast<int32_t>(at));
    }
  }
  add_transfers(read);
}

void EngineChains::add_transfers(const std::vector<bool>& read) {
  const problem::Pager& pager = model.graph->device.pager;
  for (size_t tensor = 0; tensor < model.tensors.size(); ++tensor) {
    const EngineModel::Tensor& each = model.tensors[tensor];
    const Seconds in = problem::transfer_seconds(pager, pager.in, each.bytes);
    const Seconds out = problem::transfer_seconds(pager, pager.out, each.bytes);
    if (pager.mode != PagerMode::kNone) into_[tensor] = out, back_[tensor] = in;
    const auto streams = [&](const EngineModel::Way& way) {
      return way.permitted && base::contains(way.streams_out, static_cast<int32_t>(tensor));
    };
    const bool streamed =
        each.maker >= 0 && std::ranges::any_of(model.ops[static_cast<size_t>(each.maker)].ways, streams);
    if (each.start == Home::kAux) first_[tensor] = in;
    if (each.start == Home::kAux && read[tensor]) moved_in += in, moved += in * pager.in.w;
    if (each.start != Home::kAux && each.ends_in_storage && !streamed)
      out_[tensor] = out, moved_out += out, moved += out * pager.out.w;
  }
}

Seconds EngineChains::hand_off(Engines one, Engines other) const {
  Seconds most = 0;
  for (Engines apart = one ^ other; apart != 0; apart &= apart - 1)
    most = std::max(most, model.hand_offs[static_cast<size_t>(std::countr_zero(apart))]);
  return most;
}

Seconds EngineChains::delay(const EngineModel::Way& made, const EngineModel::Way& way, int32_t tensor) const {
  const bool from_storage = base::contains(way.streams_in, tensor),
             to_storage = base::contains(made.streams_out, tensor);
  const Seconds into = into_[static_cast<size_t>(tensor)], back = back_[static_cast<size_t>(tensor)];
  if (from_storage) return to_storage ? 0 : into;
  return to_storage ? back : std::min(hand_off(made.engines, way.engines), into + back);
}

Seconds EngineChains::arrival(int32_t tensor, const EngineModel::Way& reader) const {
  const int32_t maker = model.tensors[static_cast<size_t>(tensor)].maker;
  if (maker < 0) return base::contains(reader.streams_in, tensor) ? 0 : first_[static_cast<size_t>(tensor)];
  const EngineModel::Op& op = model.ops[static_cast<size_t>(maker)];
  const Op& made = ops[static_cast<size_t>(position_of_[static_cast<size_t>(maker)])];
  const double first = least_choice(op, [&](size_t way) {
    if (!base::contains(op.ways[way].outputs, tensor)) return HUGE_VAL;
    return made.begin[way] + op.ways[way].seconds + delay(op.ways[way], reader, tensor);
  });
  return std::isinf(first) ? 0 : first;
}

void EngineChains::add_heads() {
  for (size_t at = 0; at < ops.size(); ++at) {
    Op& op = ops[at];
    const EngineModel::Op& own = of(static_cast<int32_t>(at));
    for (const EngineModel::Way& way : own.ways) {
      Seconds& begin = op.begin.emplace_back(way.launch);
      for (const int32_t read : way.inputs) begin = std::max(begin, arrival(read, way));
    }
    op.head = least_choice(own, [&](size_t way) { return op.begin[way]; });
    op.end = least_choice(own, [&](size_t way) { return op.begin[way] + own.ways[way].seconds; });
  }
}

void EngineChains::add_tails() {
  for (size_t at = ops.size(); at-- > 0;) {
    Op& op = ops[at];
    for (const EngineModel::Way& way : of(static_cast<int32_t>(at)).ways)
      if (way.permitted)
        for (const int32_t written : way.outputs) op.tail = std::max(op.tail, out_[static_cast<size_t>(written)]);
    for (const int32_t next : op.after) {
      const EngineModel::Op& reader = of(next);
      op.tail = std::max(op.tail, least_choice(reader, [&](size_t way) {
                                    return wait(static_cast<int32_t>(at), reader.ways[way]) + reader.ways[way].seconds;
                                  }) + this->op(next).tail);
    }
    if (op.runs) longest = std::max(longest, op.end + op.tail);
  }
}

Seconds EngineChains::wait(int32_t from, const EngineModel::Way& way) const {
  const EngineModel::Op& maker = of(from);
  const double least = least_choice(maker, [&](size_t at) {
    const EngineModel::Way& made = maker.ways[at];
    Seconds soonest = HUGE_VAL;
    for (const int32_t written : made.outputs)
      if (base::contains(way.inputs, written)) soonest = std::min(soonest, delay(made, way, written));
    return std::isinf(soonest) ? hand_off(made.engines, way.engines) : soonest;
  });
  return std::isinf(least) ? 0 : least;
}

std::vector<bool> EngineChains::reached(int32_t from, std::vector<int32_t> Op::*next) const {
  std::vector<bool> seen(ops.size(), from < 0);
  std::vector<int32_t> waiting;
  if (from >= 0) waiting.push_back(from);
  while (!waiting.empty()) {
    const int32_t at = waiting.back();
    waiting.pop_back();
    for (const int32_t each : op(at).*next) {
      if (seen[static_cast<size_t>(each)]) continue;
      seen[static_cast<size_t>(each)] = true;
      waiting.push_back(each);
    }
  }
  return seen;
}

std::vector<int32_t> EngineChains::between(int32_t from, int32_t to) const {
  const std::vector<bool> behind = reached(from, &Op::after), ahead = reached(to, &Op::before);
  std::vector<int32_t> list;
  for (size_t at = 0; at < ops.size(); ++at)
    if (ops[at].runs && behind[at] && ahead[at]) list.push_back(static_cast<int32_t>(at));
  return list;
}

}  // namespace pantoum::plan
