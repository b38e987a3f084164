#include "plan/realize/engine_model.h"

#include <algorithm>
#include <bit>

#include "base/lists.h"
#include "base/round_up.h"

namespace pantoum::plan {

EngineModel::EngineModel(const CostGraph& of, const Question& asked, const Plan* places)
    : graph(&of), question(asked), starts(places) {
  const problem::Device& device = of.device;
  std::unordered_map<int64_t, int32_t> op_of;
  const Bytes block = std::max<Bytes>(1, device.pager.block_bytes);
  align = std::max<Bytes>(1, device.align_bytes);
  staging = device.pager.staging_bytes;
  for (const problem::Engine& engine : device.engines) hand_offs.push_back(engine.handoff_s);
  longest_hand_off = std::ranges::max(hand_offs);
  users = {0};
  for (const problem::Tensor& each : of.tensors) {
    tensor_of_[each.id] = static_cast<int32_t>(tensors.size());
    tensors.push_back({.bytes = each.bytes,
                       .slot = base::round_up(each.bytes, block),
                       .start = each.start,
                       .pinned = each.pinned,
                       .ends_in_ram = each.end == Home::kRam,
                       .ends_in_storage = each.end == Home::kAux});
  }
  for (size_t at = 0; at < tensors.size(); ++at) {
    const problem::Tensor& each = of.tensors[at];
    const bool ends_there = each.next >= 0 || each.end == Home::kRam;
    const int32_t heir = each.next >= 0 ? tensor_of_.at(each.next) : static_cast<int32_t>(at);
    if (each.next >= 0) tensors[at].next = heir;
    if (each.start == Home::kRam && ends_there) {
      tensors[static_cast<size_t>(heir)].ends_in_ram = true;
      tensors[static_cast<size_t>(heir)].home = static_cast<int32_t>(at);
    }
    if (each.start == Home::kAux && each.next >= 0) tensors[static_cast<size_t>(heir)].ends_in_storage = true;
  }
  for (const problem::Op& each : of.ops) {
    op_of[each.id] = static_cast<int32_t>(ops.size());
    Op& op = ops.emplace_back(Op{.ways = {}, .again = each.recompute, .optional = each.optional});
    for (const int64_t output : each.outputs)
      tensors[static_cast<size_t>(tensor_of_.at(output))].maker = static_cast<int32_t>(ops.size()) - 1;
    for (const Choice& choice : each.choices) add_way(each, choice, op);
    permit(op, each);
  }
  for (const int64_t id : of.order) order.push_back(op_of.at(id));
  for (const Engines from : users)
    for (const Engines to : users) {
      Seconds longest = 0;
      for (Engines apart = from == 0 || to == 0 ? 0 : from ^ to; apart != 0; apart &= apart - 1)
        longest = std::max(longest, hand_offs[static_cast<size_t>(std::countr_zero(apart))]);
      hand_overs.push_back(longest);
    }
  share_slots();
  if (streams) find_possible();
}

void EngineModel::add_way(const problem::Op& op, const Choice& choice, Op& to) {
  const problem::Device& device = graph->device;
  Way& way = to.ways.emplace_back();
  for (const int position : choice.reads) {
    const int32_t read = tensor_of_.at(op.input(position));
    if (tensors[static_cast<size_t>(read)].start == Home::kRom) continue;
    way.inputs.push_back(read);
    (choice.reads_whole(position) ? way.reads : way.streams_in).push_back(read);
  }
  for (const int position : choice.writes) {
    const int32_t written = tensor_of_.at(op.output(position));
    way.outputs.push_back(written);
    (choice.writes_whole(position) ? way.writes : way.streams_out).push_back(written);
  }
  for (const auto& [out, in] : choice.overwrites)
    if (choice.writes_whole(out))
      way.overwrites.emplace_back(tensor_of_.at(op.output(out)), tensor_of_.at(op.input(in)));
  const problem::ChoiceCosts costs = problem::costs_of(device.pager, choice);
  way.workspace = choice.workspace_bytes;
  way.seconds = costs.seconds;
  way.joules = costs.joules;
  way.engines = problem::engines_of(device, choice);
  for (size_t engine = 0; engine < hand_offs.size(); ++engine)
    if ((way.engines >> engine & 1) != 0) way.launch = std::max(way.launch, device.engines[engine].launch_s);
  way.user = static_cast<size_t>(std::ranges::find(users, way.engines) - users.begin());
  if (way.user == users.size()) users.push_back(way.engines);
  way.moves_in = !choice.stream.in.empty() || (!device.pager.full_duplex && !choice.stream.out.empty());
  way.in_part = choice.stream.in_place;
  way.moves_out = device.pager.full_duplex && !choice.stream.out.empty();
  streams = streams || way.streams();
}

Bytes EngineModel::working_set(const Way& way) const {
  std::vector<int32_t> held = way.reads;
  for (const int32_t written : way.writes)
    if (std::ranges::none_of(way.overwrites, [&](const auto& pair) { return pair.first == written; }))
      held.push_back(written);
  base::make_set(held);
  Bytes bytes = base::round_up(way.workspace, align) + staging - (align - 1);
  for (const int32_t each : held) bytes += base::round_up(tensors[static_cast<size_t>(each)].bytes, align);
  return bytes;
}

// Where no way fits, all of the right numerics stay: the search tells what there is.
void EngineModel::permit(Op& op, const problem::Op& of) const {
  bool any = false;
  const auto numerics = [&](size_t at) {
    return question.freedoms.numerics || of.choices[at].numerics == of.choices.front().numerics;
  };
  for (size_t at = 0; at < op.ways.size(); ++at) {
    Way& way = op.ways[at];
    const auto may_end_there = [&](int32_t out) { return tensors[static_cast<size_t>(out)].ends_in_storage; };
    const bool stored = graph->device.pager.mode != PagerMode::kNone || !way.streams();
    const bool slots = question.freedoms.one_slot || !of.choices[at].stream.in_place;
    const bool paging = question.freedoms.paging || std::ranges::all_of(way.streams_out, may_end_there);
    way.permitted = numerics(at) && stored && slots && paging && working_set(way) <= question.budget_bytes();
    any = any || way.permitted;
  }
  for (size_t at = 0; at < op.ways.size() && !any; ++at) op.ways[at].permitted = numerics(at);
}

// With one_slot a tensor's next may take its slot, where some way writes it in part, or where the storage has no room for both, and no way reads
// one and writes the other without knowing.
void EngineModel::share_slots() {
  if (!question.freedoms.one_slot) return;
  Bytes all = 0;
  for (const Tensor& each : tensors) all += each.slot;
  const Bytes capacity = graph->device.pager.capacity_bytes;
  const bool scarce = capacity >= 0 && all > capacity;
  for (size_t at = 0; at < tensors.size(); ++at) {
    const int32_t heir = tensors[at].next;
    if (heir < 0 || static_cast<size_t>(heir) == at || tensors[static_cast<size_t>(heir)].bytes > tensors[at].bytes)
      continue;
    if (tensors[static_cast<size_t>(heir)].slot_of >= 0 || tensors[at].slot_of >= 0) continue;
    bool in_place = false, apart = true;
    const int32_t maker = tensors[static_cast<size_t>(heir)].maker;
    for (size_t way = 0; maker >= 0 && way < ops[static_cast<size_t>(maker)].ways.size(); ++way) {
      const problem::Op& op = graph->ops[static_cast<size_t>(maker)];
      const Choice& choice = op.choices[way];
      const Way& of = ops[static_cast<size_t>(maker)].ways[way];
      const bool pair = std::ranges::any_of(choice.overwrites, [&](const auto& each) {
        return tensor_of_.at(op.output(each.first)) == heir &&
               tensor_of_.at(op.input(each.second)) == static_cast<int32_t>(at);
      });
      const bool both = base::contains(of.streams_out, heir) && base::contains(of.streams_in, static_cast<int32_t>(at));
      if (both && !pair) apart = false;
      if (both && choice.stream.in_place) in_place = true;
    }
    if (!apart || !(in_place || scarce)) continue;
    tensors[static_cast<size_t>(heir)].slot_of = static_cast<int32_t>(at);
    tensors[at].slot_heir = heir;
  }
}

// What is written in part has the slot of each input that it is paired with. Where no way of an op fits, permitted ones may break the other
// rules, and no list may.
void EngineModel::find_possible() {
  const bool stores = graph->device.pager.mode != PagerMode::kNone;
  for (size_t at = 0; at < ops.size(); ++at)
    for (size_t number = 0; number < ops[at].ways.size(); ++number) {
      Way& way = ops[at].ways[number];
      if (!way.streams()) continue;
      const problem::Op& op = graph->ops[at];
      const Choice& choice = op.choices[number];
      const auto may_end_there = [&](int32_t out) { return tensors[static_cast<size_t>(out)].ends_in_storage; };
      const auto has_slot = [&](const std::pair<int, int>& pair) {
        const int32_t out = tensor_of_.at(op.output(pair.first)), in = tensor_of_.at(op.input(pair.second));
        return choice.writes_whole(pair.first) || tensors[static_cast<size_t>(out)].slot_of == in;
      };
      const bool from_rom = std::ranges::any_of(choice.stream.in, [&](int position) {
        return tensors[static_cast<size_t>(tensor_of_.at(op.input(position)))].start == Home::kRom;
      });
      way.possible = stores && !from_rom &&
                     (question.freedoms.paging || std::ranges::all_of(way.streams_out, may_end_there)) &&
                     (!choice.stream.in_place || std::ranges::all_of(choice.overwrites, has_slot));
    }
}

}  // namespace pantoum::plan
