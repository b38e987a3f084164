#include "plan/earliest_finish.h"

#include <algorithm>
#include <limits>

#include "base/lists.h"

namespace pantoum::plan {
namespace {

// The least over an op's permitted choices.
template <class Of>
double least_way(const EngineModel::Op& op, const Of& of) {
  double least = std::numeric_limits<double>::infinity();
  for (const EngineModel::Way& way : op.ways)
    if (way.permitted) least = std::min(least, of(way));
  return least;
}

class EarliestFinish {
 public:
  explicit EarliestFinish(const EngineModel& model)
      : model_(model),
        rank_(model.ops.size(), 0),
        made_(model.tensors.size(), 0),
        maker_(model.tensors.size(), 0),
        here_(model.tensors.size(), 0),
        read_(model.tensors.size(), 0),
        old_(model.tensors.size(), -1),
        readers_left_(model.tensors.size(), 0),
        free_(model.hand_offs.size(), 0) {}

  List run() {
    rank();
    for (size_t tensor = 0; tensor < model_.tensors.size(); ++tensor)
      here_[tensor] = model_.tensors[tensor].start == Home::kRam;
    std::vector<int32_t> left = model_.order;
    std::erase_if(left, [&](int32_t op) { return model_.ops[static_cast<size_t>(op)].optional; });
    find_readers(left);
    const bool keeps_order = !model_.question.freedoms.reordering;
    while (!left.empty()) {
      size_t best = left.size();
      for (size_t at = 0; at < left.size(); ++at) {
        if (way_of(left[at]) < 0) continue;
        if (best == left.size() || is_before(left[at], left[best])) best = at;
        if (keeps_order) break;
      }
      if (best == left.size()) return {};  // reads what an optional op makes
      compute(left[best]);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(best));
    }
    std::ranges::stable_sort(timed_, {}, &Timed::begin);
    List list;
    for (const Timed& each : timed_) list.insert(list.end(), each.entries.begin(), each.entries.end());
    return list;
  }

 private:
  struct Timed {
    Seconds begin = 0;
    List entries;
  };

  void rank() {
    std::vector<Seconds> behind(model_.tensors.size(), 0);
    for (auto each = model_.order.rbegin(); each != model_.order.rend(); ++each) {
      const EngineModel::Op& op = model_.ops[static_cast<size_t>(*each)];
      Seconds longest = 0;
      for (const EngineModel::Way& way : op.ways)
        for (const int32_t written : way.writes) longest = std::max(longest, behind[static_cast<size_t>(written)]);
      longest += least_way(op, [](const EngineModel::Way& way) { return way.seconds; });
      rank_[static_cast<size_t>(*each)] = longest;
      for (const EngineModel::Way& way : op.ways)
        for (const int32_t read : way.reads)
          behind[static_cast<size_t>(read)] = std::max(behind[static_cast<size_t>(read)], longest);
    }
  }

  template <class Visit>
  void for_each_input(int32_t number, const Visit& visit) const {
    std::vector<int32_t> inputs;
    for (const EngineModel::Way& way : model_.ops[static_cast<size_t>(number)].ways)
      inputs.insert(inputs.end(), way.inputs.begin(), way.inputs.end());
    base::make_set(inputs);
    for (const int32_t input : inputs) visit(input);
  }

  // What an update takes the place of is read before it.
  void find_readers(const std::vector<int32_t>& ops) {
    for (size_t tensor = 0; tensor < model_.tensors.size(); ++tensor) {
      const EngineModel::Tensor& of = model_.tensors[tensor];
      const bool is_lost = of.slot_heir >= 0 || (of.next >= 0 && of.start == Home::kRam);
      if (is_lost) old_[static_cast<size_t>(of.next)] = static_cast<int32_t>(tensor);
    }
    for (const int32_t op : ops)
      for_each_input(op, [&](int32_t input) { ++readers_left_[static_cast<size_t>(input)]; });
  }
  bool is_too_early(int32_t number) const {
    bool early = false;
    for (const EngineModel::Way& way : model_.ops[static_cast<size_t>(number)].ways)
      for (const int32_t output : way.outputs) {
        const int32_t old = old_[static_cast<size_t>(output)];
        if (old < 0) continue;
        int others = readers_left_[static_cast<size_t>(old)];
        for_each_input(number, [&](int32_t input) { others -= input == old ? 1 : 0; });
        early = early || others > 0;
      }
    return early;
  }
  bool is_before(int32_t one, int32_t other) const {
    if (const bool early = is_too_early(one); early != is_too_early(other)) return !early;
    return rank_[static_cast<size_t>(one)] > rank_[static_cast<size_t>(other)];
  }

  bool can_read(int32_t tensor) const {
    return here_[static_cast<size_t>(tensor)] != 0 || model_.tensors[static_cast<size_t>(tensor)].start == Home::kAux;
  }

  Seconds begin_of(const EngineModel::Way& way) const {
    Seconds begin = 0;
    for (const int32_t read : way.reads) {
      const Engines apart = maker_[static_cast<size_t>(read)] ^ way.engines;
      begin = std::max(begin, made_[static_cast<size_t>(read)] +
                                  (maker_[static_cast<size_t>(read)] != 0 && apart != 0 ? model_.longest_hand_off : 0));
    }
    for (size_t engine = 0; engine < free_.size(); ++engine)
      if ((way.engines >> engine & 1) != 0) begin = std::max(begin, free_[engine]);
    return begin + way.launch;
  }

  // The permitted choice that makes all outputs and ends first; -1: none can run yet.
  int32_t way_of(int32_t number) const {
    const EngineModel::Op& op = model_.ops[static_cast<size_t>(number)];
    int32_t best = -1;
    Seconds first = std::numeric_limits<double>::infinity();
    size_t most = 0;
    for (const EngineModel::Way& way : op.ways)
      if (way.permitted) most = std::max(most, way.writes.size());
    for (size_t at = 0; at < op.ways.size(); ++at) {
      const EngineModel::Way& way = op.ways[at];
      if (!way.permitted || way.writes.size() < most) continue;
      if (!std::ranges::all_of(way.reads, [&](int32_t read) { return can_read(read); })) continue;
      if (const Seconds end = begin_of(way) + way.seconds; end < first) first = end, best = static_cast<int32_t>(at);
    }
    return best;
  }

  void compute(int32_t number) {
    const int32_t chosen = way_of(number);
    const EngineModel::Way& way = model_.ops[static_cast<size_t>(number)].ways[static_cast<size_t>(chosen)];
    Timed timed{.begin = begin_of(way), .entries = {}};
    for (const int32_t read : way.reads) {
      if (here_[static_cast<size_t>(read)] != 0) continue;
      timed.entries.push_back({Do::kPageIn, read, 0});
      here_[static_cast<size_t>(read)] = 1;
    }
    timed.entries.push_back({Do::kCompute, number, chosen});
    const Seconds end = timed.begin + way.seconds;
    for (const int32_t written : way.outputs)  // behind its readers, in the list too
      if (const int32_t old = old_[static_cast<size_t>(written)]; old >= 0)
        timed.begin = std::max(timed.begin, read_[static_cast<size_t>(old)]);
    for (const int32_t read : way.reads)
      read_[static_cast<size_t>(read)] = std::max(read_[static_cast<size_t>(read)], timed.begin);
    for_each_input(number, [&](int32_t input) { --readers_left_[static_cast<size_t>(input)]; });
    for (const int32_t written : way.writes) {
      made_[static_cast<size_t>(written)] = end;
      maker_[static_cast<size_t>(written)] = way.engines;
      here_[static_cast<size_t>(written)] = 1;
      if (model_.tensors[static_cast<size_t>(written)].ends_in_storage)
        timed.entries.push_back({Do::kPageOut, written, 0});
    }
    for (size_t engine = 0; engine < free_.size(); ++engine)
      if ((way.engines >> engine & 1) != 0) free_[engine] = end;
    timed_.push_back(std::move(timed));
  }

  const EngineModel& model_;
  std::vector<Seconds> rank_, made_;
  std::vector<Engines> maker_;
  std::vector<char> here_;
  std::vector<Seconds> read_;      // by tensor: the last begin of who reads it
  std::vector<int32_t> old_;       // by tensor: whose place it takes; -1: nobody's
  std::vector<int> readers_left_;  // by tensor
  std::vector<Seconds> free_;
  std::vector<Timed> timed_;
};

}  // namespace

List earliest_finish(const EngineModel& model) {
  return EarliestFinish(model).run();
}

}  // namespace pantoum::plan
