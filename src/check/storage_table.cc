#include "check/storage_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "check/arena.h"

namespace pantoum::check {
namespace {

struct Slot {
  const Tensor* tensor;
  const StorageUse* use;
  int64_t at;
};

bool follows(const Slot& old, const Slot& successor) {
  const bool ended = old.use->last_transfer < successor.use->first_out &&
                     old.use->last_transfer_end_s <= successor.use->first_out_begin_s;
  return old.tensor->next == successor.tensor->id && old.at == successor.at && successor.use->first_out >= 0 && ended;
}

Result<void> check_apart(std::vector<Slot>& slots) {
  std::sort(slots.begin(), slots.end(), [](const Slot& a, const Slot& b) { return a.at < b.at; });
  std::vector<Slot> reaching;  // slots that may reach into the next ones
  for (const Slot& slot : slots) {
    std::erase_if(reaching, [&](const Slot& other) { return other.at + other.tensor->bytes <= slot.at; });
    for (const Slot& other : reaching)
      if (!follows(other, slot) && !follows(slot, other))
        return fail("E0804", fmt::format("tensors {} and {} share bytes in storage", other.tensor->id, slot.tensor->id),
                    "storage");
    reaching.push_back(slot);
  }
  return {};
}

}  // namespace

Result<void> check_storage(const CostGraph& graph, const std::map<int64_t, int64_t>& storage,
                           const std::vector<StorageUse>& uses) {
  std::unordered_set<int64_t> known;
  std::vector<Slot> slots;
  const int64_t capacity = graph.device.pager.capacity_bytes;
  for (size_t index = 0; index < graph.tensors.size(); ++index) {
    const Tensor& tensor = graph.tensors[index];
    known.insert(tensor.id);
    if (!uses[index].ever) continue;
    const auto place = storage.find(tensor.id);
    if (place == storage.end())
      return fail("E0804", fmt::format("tensor {} is in storage and has no place there", tensor.id), "storage");
    if (place->second < 0 || place->second > kLargestOffset)
      return fail("E0804", fmt::format("tensor {} has an impossible place in storage, {}", tensor.id, place->second),
                  "storage");
    if (capacity >= 0 && place->second + tensor.bytes > capacity)
      return fail("E0804",
                  fmt::format("tensor {} ends at byte {} of a storage of {}", tensor.id, place->second + tensor.bytes,
                              capacity),
                  "storage");
    if (tensor.bytes > 0) slots.push_back({&tensor, &uses[index], place->second});
  }
  for (const auto& [id, at] : storage)
    if (!known.contains(id)) return fail("E0804", fmt::format("there is no tensor {}", id), "storage");
  return check_apart(slots);
}

}  // namespace pantoum::check
