#include "testing/random_graph.h"

#include <algorithm>
#include <numeric>

#include "base/lists.h"
#include "base/round_up.h"

namespace pantoum::check {
namespace {

using problem::Choice;
using problem::CostGraph;
using problem::Home;
using problem::Op;
using problem::PagerMode;
using problem::Tensor;

class Maker {
 public:
  Maker(uint64_t seed, const RandomGraphOptions& options) : random_(seed), options_(options) {}

  CostGraph make() {
    graph_.name = "random";
    make_device();
    make_sources();
    const int64_t ops = random_.between(options_.least_ops, options_.most_ops);
    for (int64_t op = 0; op < ops; ++op) random_.chance(0.15) ? make_masked_pair() : make_op();
    for (const int64_t parameter : parameters_)
      if (random_.chance(0.7)) make_update(parameter);
    make_ends();
    shuffle_ids();
    return std::move(graph_);
  }

 private:
  void make_device() {
    problem::Device& device = graph_.device;
    device.name = "random";
    constexpr int64_t kAligns[] = {1, 1, 4, 8, 64};
    device.align_bytes = kAligns[random_.index(5)];
    device.ram_bytes = 1 << 20;
    if (random_.chance(0.4)) device.idle_w = random_.unit();
    if (options_.engines) make_engines();
    problem::Pager& pager = device.pager;
    pager.mode = !options_.pager ? PagerMode::kNone
                                 : static_cast<PagerMode>(random_.between(0, 5) == 0 ? 0 : random_.between(1, 2));
    if (pager.mode == PagerMode::kNone) return;
    pager.full_duplex = random_.chance(0.4);
    constexpr int64_t kBlocks[] = {1, 1, 16, 512};
    pager.block_bytes = kBlocks[random_.index(4)];
    if (random_.chance(0.3)) pager.staging_bytes = random_.between(1, 600);
    pager.in = random_link();
    pager.out = random_link();
  }

  void make_engines() {
    std::vector<problem::Engine>& engines = graph_.device.engines;
    for (int64_t more = random_.between(1, 3); more > 0; --more) {
      problem::Engine& engine = engines.emplace_back();
      engine.name = "e" + std::to_string(more);
      if (random_.chance(0.4)) engine.launch_s = random_.unit() * 3e-5;
    }
    for (problem::Engine& engine : engines) {
      if (random_.chance(0.4)) engine.idle_w = random_.unit();
      if (random_.chance(0.5)) engine.handoff_s = random_.unit() * 1e-4;
    }
  }

  // A tenth leaves the choice to the issuer, a quarter are gangs.
  std::vector<std::string> random_engines() {
    std::vector<std::string> names;
    if (random_.chance(0.1)) return names;
    for (const problem::Engine& engine : graph_.device.engines) names.push_back(engine.name);
    const size_t most = random_.chance(0.25) ? names.size() : 1;
    for (size_t at = 0; at < most; ++at) std::swap(names[at], names[at + random_.index(names.size() - at)]);
    names.resize(static_cast<size_t>(random_.between(1, static_cast<int64_t>(most))));
    return names;
  }

  problem::Link random_link() {
    return {random_.chance(0.2) ? 0 : random_.unit() * 1e-4, 1e6 + random_.unit() * 5e7, random_.unit()};
  }

  int64_t random_size() {
    if (options_.empty_tensors && random_.chance(0.04)) return 0;
    const int64_t size = random_.between(1, random_.chance(0.3) ? 4096 : 300);
    const int64_t align = graph_.device.align_bytes;
    return options_.odd_sizes && random_.chance(0.5) ? size : (size + align - 1) / align * align;
  }

  int64_t add_tensor(int64_t bytes, Home start = Home::kNone) {
    const auto id = static_cast<int64_t>(graph_.tensors.size());
    graph_.tensors.push_back({.id = id, .name = "t" + std::to_string(id), .bytes = bytes, .start = start});
    return id;
  }
  Tensor& tensor(int64_t id) { return graph_.tensors[static_cast<size_t>(id)]; }

  void make_sources() {
    const bool storage = graph_.device.pager.mode != PagerMode::kNone;
    for (int64_t source = random_.between(1, options_.most_sources); source > 0; --source) {
      const int64_t kind = random_.between(0, 9);
      const Home start = kind < 6 || (kind < 8 && !storage) ? Home::kRam : kind < 8 ? Home::kAux : Home::kRom;
      const int64_t id = add_tensor(random_size(), start);
      readable_.push_back(id);
      if (start == Home::kRam && random_.chance(0.3)) tensor(id).pinned = true;
      if (start != Home::kRom && random_.chance(0.6)) parameters_.push_back(id);
    }
  }

  int64_t random_input() {  // recent ones more often
    const size_t count = readable_.size();
    const size_t back = random_.chance(0.6) ? random_.index(std::min<size_t>(count, 3)) : random_.index(count);
    return readable_[count - 1 - back];
  }

  Choice random_choice(const Op& op) {
    Choice choice;
    choice.algorithm = "a" + std::to_string(op.choices.size());
    choice.numerics = "ascending";
    if (options_.engines)
      choice.engines = random_engines();
    else if (random_.chance(0.5))
      choice.engines = {"cpu"};
    choice.time_s = random_.chance(0.05) ? 0 : random_.unit() * 2e-4;
    choice.energy_j = random_.unit() * 1e-4;
    if (random_.chance(0.3)) choice.workspace_bytes = random_.between(1, 500);
    choice.reads.resize(op.inputs.size());
    std::iota(choice.reads.begin(), choice.reads.end(), 0);
    choice.writes.resize(op.outputs.size());
    std::iota(choice.writes.begin(), choice.writes.end(), 0);
    return choice;
  }

  Op new_op() {
    Op op;
    op.id = static_cast<int64_t>(graph_.ops.size());
    op.name = "o" + std::to_string(op.id);
    op.recompute = !random_.chance(0.1);
    return op;
  }

  void add_op(Op op) {
    for (const int64_t output : op.outputs) readable_.push_back(output);
    graph_.order.push_back(op.id);
    graph_.ops.push_back(std::move(op));
  }

  // One to three inputs (one may stand twice), one to three outputs, one to three choices.
  void make_op() {
    Op op = new_op();
    for (int64_t input = random_.between(random_.chance(0.05) ? 0 : 1, 3); input > 0; --input)
      op.inputs.push_back(random_input());
    const int64_t outputs = random_.chance(0.6) ? 1 : random_.between(1, 3);
    for (int64_t output = 0; output < outputs; ++output) op.outputs.push_back(add_tensor(random_size()));
    for (int64_t choice = random_.between(1, 3); choice > 0; --choice) {
      op.choices.push_back(random_choice(op));
      vary(op, op.choices.back());
      if (options_.streams && (op.choices.size() > 1 || random_.chance(0.4))) stream(op, op.choices.back());
    }
    if (options_.several_numerics && random_.chance(0.1)) {
      op.choices.push_back(random_choice(op));
      op.choices.back().numerics = "pairwise";
      stream(op, op.choices.back());
    }
    add_op(std::move(op));
  }

  // Writes fewer outputs or in another order, reads in another order, works in place.
  void vary(const Op& op, Choice& choice) {
    const bool first = op.choices.size() == 1;
    if (op.outputs.size() > 1 && random_.chance(0.4)) {
      std::swap(choice.writes.front(), choice.writes.back());
      if (!first) choice.writes.pop_back();
    }
    if (op.inputs.size() > 1 && random_.chance(0.2)) std::swap(choice.reads.front(), choice.reads.back());
    if (op.inputs.empty() || !random_.chance(0.5)) return;
    for (int64_t pair = random_.between(1, 2); pair > 0; --pair) {
      const int out = choice.writes[random_.index(choice.writes.size())];
      const int in = static_cast<int>(random_.index(op.inputs.size()));
      const Tensor& source = tensor(op.inputs[static_cast<size_t>(in)]);
      if (source.start != Home::kRom && !source.pinned) choice.overwrites.emplace_back(out, in);
    }
  }

  // Streams some of what the choice reads and writes: of each pair in its `overwrites` both or neither. The first choice of an
  // op is one that runs on the device, so that some plan solves the graph.
  void stream(const Op& op, Choice& choice) {
    const bool first = &choice == &op.choices.front();
    const bool storage = graph_.device.pager.mode != PagerMode::kNone;
    if (!options_.streams || !random_.chance(0.7) || (first && !storage)) return;
    problem::Stream& stream = choice.stream;
    for (const int read : choice.reads)
      if (random_.chance(0.5) && (tensor(op.input(read)).start != Home::kRom || (!first && random_.chance(0.1))))
        stream.in.push_back(read);
    for (const int written : choice.writes)
      if (random_.chance(0.4)) stream.out.push_back(written);
    close_over_pairs(choice);
    if (!stream.any()) return;
    const auto overwrites = [&](int out) {
      return std::ranges::any_of(choice.overwrites, [&](const auto& pair) { return pair.first == out; });
    };
    if (!first && !stream.out.empty() && std::ranges::all_of(stream.out, overwrites))
      stream.in_place = random_.chance(0.4);
    const auto blocks_of = [&](const std::vector<int>& positions, const std::vector<int64_t>& ids) {
      int64_t blocks = 0;
      for (const int position : positions) blocks += blocks_in(tensor(ids[static_cast<size_t>(position)]).bytes);
      return std::max<int64_t>(1, blocks);
    };
    if (!stream.in.empty())
      set_moved(blocks_of(stream.in, op.inputs) * random_.between(1, 3), stream.bytes_in, stream.transfers_in);
    if (!stream.out.empty()) {
      const int64_t all = blocks_of(stream.out, op.outputs);
      set_moved(stream.in_place ? random_.between(1, all) : all * (random_.chance(0.2) ? 2 : 1), stream.bytes_out,
                stream.transfers_out);
    }
    if (random_.chance(0.5)) choice.workspace_bytes = random_.between(1, 500);
    if (random_.chance(0.5)) set_async(choice);
  }

  static void close_over_pairs(Choice& choice) {
    problem::Stream& stream = choice.stream;
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [out, in] : choice.overwrites) {
        const bool streams_out = base::contains(stream.out, out), streams_in = base::contains(stream.in, in);
        if (streams_out == streams_in) continue;
        streams_out ? stream.in.push_back(in) : stream.out.push_back(out);
        changed = true;
      }
    }
  }

  int64_t blocks_in(int64_t bytes) const {
    const int64_t block = graph_.device.pager.block_bytes;
    return base::round_up(bytes, block) / block;
  }

  void set_moved(int64_t blocks, int64_t& bytes, int64_t& transfers) {
    bytes = blocks * graph_.device.pager.block_bytes;
    transfers = random_.between(1, std::min<int64_t>(blocks, 40));
  }

  // Between what is taken by the longer one of computing and moving, and by both in turn; both ends turn up.
  void set_async(Choice& choice) {
    const problem::Pager& pager = graph_.device.pager;
    const problem::ChoiceCosts costs = problem::costs_of(pager, choice);
    const double both = costs.seconds_in + costs.seconds_out;
    const double moving = pager.full_duplex ? std::max(costs.seconds_in, costs.seconds_out) : both;
    const double least = std::max(choice.time_s, moving), most = choice.time_s + both;
    const double share = random_.chance(0.2) ? 0 : random_.chance(0.2) ? 1 : random_.unit();
    choice.stream.async_s = std::min(most, least + share * (most - least));
  }

  // An optional op makes a small stand-in (a mask) of a tensor; the reader needs the one or the other.
  void make_masked_pair() {
    const int64_t whole = random_input();
    Op mask = new_op();
    mask.optional = true;
    mask.recompute = true;
    mask.inputs = {whole};
    mask.outputs = {add_tensor(1 + tensor(whole).bytes / 8)};
    mask.choices.push_back(random_choice(mask));
    const int64_t stand_in = mask.outputs.front();
    add_op(std::move(mask));
    Op reader = new_op();
    reader.inputs = {whole, stand_in, random_input()};
    reader.outputs = {add_tensor(random_size())};
    for (const int skipped : {1, 0}) {
      reader.choices.push_back(random_choice(reader));
      std::erase(reader.choices.back().reads, skipped);
    }
    if (options_.streams && random_.chance(0.3)) {
      reader.choices.push_back(reader.choices.back());
      stream(reader, reader.choices.back());
    }
    add_op(std::move(reader));
  }

  // w, g -> w' in place: w' stands where the next step looks for w.
  void make_update(int64_t parameter) {
    Op op = new_op();
    op.recompute = false;
    op.inputs = {parameter, random_input()};
    op.outputs = {add_tensor(tensor(parameter).bytes, Home::kNone)};
    tensor(parameter).next = op.outputs.front();
    op.choices.push_back(random_choice(op));
    op.choices.back().overwrites = {{0, 0}};
    for (int64_t more = options_.streams ? random_.between(0, 3) : 0; more > 0; --more) {
      op.choices.push_back(random_choice(op));
      if (random_.chance(0.8)) op.choices.back().overwrites = {{0, 0}};
      stream(op, op.choices.back());
    }
    add_op(std::move(op));
    readable_.pop_back();  // nobody reads it in this step
  }

  void make_ends() {
    const bool storage = graph_.device.pager.mode != PagerMode::kNone;
    for (Tensor& each : graph_.tensors) {
      const bool updated = each.next >= 0;
      if (each.start == Home::kRom || updated || !random_.chance(0.2)) continue;
      each.end = storage && !each.pinned && random_.chance(0.4) ? Home::kAux : Home::kRam;
      if (each.start == Home::kAux) each.end = Home::kAux;
    }
  }

  // Ids are names, not indices.
  void shuffle_ids() {
    if (!random_.chance(0.5)) return;
    const int64_t step = random_.between(1, 9), shift = random_.between(0, 1000);
    const auto renamed = [&](int64_t id) { return id < 0 ? id : id * step + shift; };
    for (Tensor& each : graph_.tensors) {
      each.id = renamed(each.id);
      each.next = renamed(each.next);
    }
    for (Op& op : graph_.ops) {
      op.id = renamed(op.id);
      for (auto* ids : {&op.inputs, &op.outputs})
        for (int64_t& id : *ids) id = renamed(id);
    }
    for (int64_t& id : graph_.order) id = renamed(id);
  }

  Random random_;
  const RandomGraphOptions options_;
  CostGraph graph_;
  std::vector<int64_t> readable_, parameters_;
};

}  // namespace

uint64_t Random::bits() {
  uint64_t value = state_ += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

int64_t Random::between(int64_t least, int64_t most) {
  if (most <= least) return least;
  return least + static_cast<int64_t>(bits() % static_cast<uint64_t>(most - least + 1));
}

bool Random::chance(double probability) {
  return unit() < probability;
}

double Random::unit() {
  return static_cast<double>(bits() >> 11) * 0x1p-53;
}

CostGraph random_cost_graph(uint64_t seed, const RandomGraphOptions& options) {
  return Maker(seed, options).make();
}

}  // namespace pantoum::check
