#include "problem/cost_graph.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <optional>
#include <unordered_map>

#include "base/lists.h"
#include "base/round_up.h"

namespace pantoum::problem {
namespace {

constexpr Bytes kMostBytes =
    (int64_t{1} << 53) - 1;             // of all tensors together: every sum of offsets and sizes fits 64 bits
constexpr double kMostQuantity = 1e30;  // every sum stays finite
constexpr const char* kCode = "E0221";

bool quantity(double value) {
  return std::isfinite(value) && value >= 0 && value <= kMostQuantity;
}
bool byte_count(Bytes value) {
  return value >= 0 && value <= kMostBytes;
}
std::string named(const Op& op) {
  return fmt::format("op {} ({})", op.id, op.name);
}
std::string named(const Tensor& tensor) {
  return fmt::format("tensor {} ({})", tensor.id, tensor.name);
}

// Checks one graph; the maps are filled as the checks go on.
class Validator {
 public:
  explicit Validator(const CostGraph& graph) : graph_(graph) {}

  Result<void> run() {
    PANTOUM_TRY(device());
    PANTOUM_TRY(tensors());
    PANTOUM_TRY(successors());
    PANTOUM_TRY(ops());
    PANTOUM_TRY(takeovers());
    return order();
  }

 private:
  Result<void> device() const {
    const Device& device = graph_.device;
    const Pager& pager = device.pager;
    PANTOUM_TRY(engines());
    if (!byte_count(device.ram_bytes) || device.align_bytes < 1 || !byte_count(device.align_bytes) ||
        !quantity(device.idle_w))
      return fail(kCode, "a quantity of the device is negative, not finite or too large", "device");
    if (pager.block_bytes < 1 || !byte_count(pager.block_bytes) || !byte_count(pager.staging_bytes) ||
        pager.capacity_bytes < -1 || pager.capacity_bytes > kMostBytes)
      return fail(kCode, "a size of the pager is negative or too large", "device.pager");
    for (const Link* link : {&pager.in, &pager.out}) {
      const bool fast_enough = quantity(link->bytes_per_s) && link->bytes_per_s >= 1e-30;
      if (!quantity(link->latency_s) || !quantity(link->w) || !fast_enough)
        return fail(kCode, "a quantity of the pager is negative, not finite or too large", "device.pager");
    }
    return {};
  }

  Result<void> engines() const {
    const std::vector<Engine>& engines = graph_.device.engines;
    constexpr const char* kWhere = "device.engines";
    if (engines.empty() || engines.size() > kMostEngines)
      return fail(kCode, fmt::format("the device has {} engines; it may have 1 to {}", engines.size(), kMostEngines),
                  kWhere);
    for (size_t at = 0; at < engines.size(); ++at) {
      const Engine& engine = engines[at];
      if (!quantity(engine.idle_w) || !quantity(engine.launch_s) || !quantity(engine.handoff_s))
        return fail(kCode,
                    fmt::format("a quantity of the engine \"{}\" is negative, not finite or too large", engine.name),
                    kWhere);
      for (size_t other = 0; other < at; ++other)
        if (engines[other].name == engine.name)
          return fail(kCode, fmt::format("two engines are named \"{}\"", engine.name), kWhere);
    }
    if (engines.front().launch_s > 0)
      return fail(kCode,
                  fmt::format("the first engine, \"{}\", issues the ops; nobody launches it", engines.front().name),
                  kWhere, "leave out its launch_s, or list another engine first");
    return {};
  }

  Result<void> tensors() {
    Bytes total = graph_.device.pager.staging_bytes;
    for (const Tensor& tensor : graph_.tensors) {
      if (tensor.id < 0 || !tensor_of_.emplace(tensor.id, &tensor).second)
        return fail(kCode, "the id is negative or stands twice", named(tensor));
      if (!byte_count(tensor.bytes) || tensor.bytes > kMostBytes - total)
        return fail(kCode, "the size is negative, or all tensors together take more than 2^53 bytes", named(tensor));
      total += tensor.bytes;
      if (tensor.end == Home::kRom) return fail(kCode, "a tensor cannot end in rom", named(tensor));
    }
    most_workspace_ = kMostBytes - total;
    return {};
  }

  Result<void> ops() {
    for (const Op& op : graph_.ops) {
      if (op.id < 0 || !op_of_.emplace(op.id, &op).second)
        return fail(kCode, "the id is negative or stands twice", named(op));
      for (const int64_t tensor : op.inputs)
        if (!tensor_of_.contains(tensor))
          return fail(kCode, fmt::format("reads tensor {}, which does not exist", tensor), named(op));
      for (const int64_t tensor : op.outputs) PANTOUM_TRY(output(op, tensor));
      if (op.choices.empty()) return fail(kCode, "has no choice", named(op), "give at least one way to run it");
      for (size_t number = 0; number < op.choices.size(); ++number) {
        PANTOUM_TRY(choice(op, op.choices[number]));
        PANTOUM_TRY(overwrites(op, number));
      }
      PANTOUM_TRY(whole_choice(op));
    }
    return {};
  }

  Result<void> output(const Op& op, int64_t tensor) {
    const auto found = tensor_of_.find(tensor);
    if (found == tensor_of_.end())
      return fail(kCode, fmt::format("writes tensor {}, which does not exist", tensor), named(op));
    if (found->second->start != Home::kNone)
      return fail(kCode, fmt::format("writes {}, which is there from the start", named(*found->second)), named(op),
                  "a tensor is written by one op only; what an update makes is another tensor, its \"next\"");
    if (!producer_of_.emplace(tensor, &op).second)
      return fail(kCode, fmt::format("writes {}, which has another producer already", named(*found->second)),
                  named(op));
    return {};
  }

  // A plan that keeps the bits uses choices of the first one's numerics alone: the first computation of the op takes one of them that makes
  // every output.
  static Result<void> whole_choice(const Op& op) {
    for (const Choice& choice : op.choices)
      if (choice.numerics == op.choices.front().numerics && choice.writes.size() == op.outputs.size()) return {};
    return fail(
        kCode,
        fmt::format("no choice of the first one's numerics (\"{}\") writes all outputs", op.choices.front().numerics),
        named(op), "give a choice without \"writes\" and with these numerics");
  }

  // nullopt: a position is out of range or stands twice; otherwise which positions are listed.
  static std::optional<std::vector<bool>> listed(const std::vector<int>& positions, size_t count) {
    std::vector<bool> seen(count, false);
    for (const int position : positions) {
      if (position < 0 || static_cast<size_t>(position) >= count || seen[static_cast<size_t>(position)])
        return std::nullopt;
      seen[static_cast<size_t>(position)] = true;
    }
    return seen;
  }

  static bool lists(const std::vector<bool>& positions, int position) {
    return position >= 0 && static_cast<size_t>(position) < positions.size() &&
           positions[static_cast<size_t>(position)];
  }

  Result<void> choice(const Op& op, const Choice& choice) const {
    const auto reads = listed(choice.reads, op.inputs.size());
    if (!reads) return fail(kCode, "a choice reads a position that does not exist or stands twice", named(op));
    const auto writes = listed(choice.writes, op.outputs.size());
    if (!writes) return fail(kCode, "a choice writes a position that does not exist or stands twice", named(op));
    for (const auto& [out, in] : choice.overwrites)
      if (!lists(*writes, out) || !lists(*reads, in))
        return fail(kCode, "a choice overwrites with an output or an input that it does not write or read", named(op));
    if (!quantity(choice.time_s) || !quantity(choice.energy_j))
      return fail(kCode, "a cost is negative, not finite or too large", named(op));
    if (choice.workspace_bytes < 0 || choice.workspace_bytes > most_workspace_)
      return fail(kCode, "a workspace is negative, or takes more than 2^53 bytes with all tensors", named(op));
    if (std::ranges::any_of(choice.slices, [](int count) { return count < 1; }))
      return fail(kCode, "a loop of slices has less than one step", named(op));
    PANTOUM_TRY(stream(op, choice, *reads, *writes));
    for (size_t at = 0; at < choice.engines.size(); ++at) {
      const std::string& name = choice.engines[at];
      if (std::ranges::find(graph_.device.engines, name, &Engine::name) == graph_.device.engines.end())
        return fail(kCode, fmt::format("runs on the engine \"{}\", which the device does not have", name), named(op));
      if (std::find(choice.engines.begin(), choice.engines.begin() + static_cast<std::ptrdiff_t>(at), name) !=
          choice.engines.begin() + static_cast<std::ptrdiff_t>(at))
        return fail(kCode, fmt::format("a choice lists the engine \"{}\" twice", name), named(op));
    }
    return {};
  }

  Result<void> stream(const Op& op, const Choice& choice, const std::vector<bool>& reads,
                      const std::vector<bool>& writes) const {
    const Stream& stream = choice.stream;
    if (!stream.any())
      return stream == Stream() ? Result<void>{} : fail(kCode, "a stream moves bytes of no input or output", named(op));
    const auto known = [](const std::vector<int>& positions, const std::vector<bool>& of) {
      const auto seen = listed(positions, of.size());
      return seen && std::ranges::all_of(positions, [&](int position) { return lists(of, position); });
    };
    if (!known(stream.in, reads) || !known(stream.out, writes))
      return fail(kCode, "a choice streams a position that it does not read or write, or that stands twice", named(op));
    const Pager& pager = graph_.device.pager;
    const auto whole_blocks = [&](Bytes bytes, int64_t transfers, bool any) {
      return byte_count(bytes) && transfers >= 0 && bytes % pager.block_bytes == 0 &&
             transfers <= bytes / pager.block_bytes && (bytes > 0) == any && (transfers > 0) == any;
    };
    if (!whole_blocks(stream.bytes_in, stream.transfers_in, !stream.in.empty()) ||
        !whole_blocks(stream.bytes_out, stream.transfers_out, !stream.out.empty()))
      return fail(kCode, "a stream does not move whole blocks, or less than a block in each transfer", named(op));
    for (const auto& [out, in] : choice.overwrites)
      if (base::contains(stream.out, out) != base::contains(stream.in, in))
        return fail(kCode, fmt::format("output {} overwrites input {}, and one of the two is streamed", out, in),
                    named(op));
    PANTOUM_TRY(stream_outputs(op, choice));
    return stream_seconds(op, choice);
  }

  // Each is written whole, or in part over an input.
  Result<void> stream_outputs(const Op& op, const Choice& choice) const {
    const Stream& stream = choice.stream;
    Bytes least = 0;
    for (const int position : stream.out) {
      const auto over = std::ranges::find(choice.overwrites, position, &std::pair<int, int>::first);
      if (stream.in_place && over == choice.overwrites.end())
        return fail(kCode, fmt::format("a stream writes parts of output {}, which overwrites no input", position),
                    named(op));
      least += base::round_up(tensor_of_.at(op.output(position))->bytes, graph_.device.pager.block_bytes);
    }
    if (stream.in_place ? stream.out.empty() : stream.bytes_out < least)
      return fail(kCode, fmt::format("a stream writes {} bytes, and its outputs have {}", stream.bytes_out, least),
                  named(op));
    return {};
  }

  Result<void> stream_seconds(const Op& op, const Choice& choice) const {
    constexpr double kRounding = 1e-9;
    const Pager& pager = graph_.device.pager;
    const std::optional<Seconds>& async_s = choice.stream.async_s;
    if (!async_s || pager.mode == PagerMode::kNone) return {};
    const ChoiceCosts costs = costs_of(pager, choice);
    const Seconds both = costs.seconds_in + costs.seconds_out;
    const Seconds moving = pager.full_duplex ? std::max(costs.seconds_in, costs.seconds_out) : both;
    if (!quantity(*async_s) || *async_s < std::max(choice.time_s, moving) * (1 - kRounding) ||
        *async_s > (choice.time_s + both) * (1 + kRounding))
      return fail(kCode,
                  fmt::format("async_s is {} s; computing takes {} s and moving {} s", *async_s, choice.time_s, moving),
                  named(op), "give no less than either, and no more than both in turn");
    return {};
  }

  // What is pinned never leaves RAM, so its bytes go to its successor alone. Every position exists.
  Result<void> overwrites(const Op& op, size_t number) const {
    for (const auto& [out, in] : op.choices[number].overwrites) {
      const Tensor& source = *tensor_of_.at(op.input(in));
      const int64_t output = op.output(out);
      if (!source.pinned || source.next == output) continue;
      return fail(kCode,
                  fmt::format("choice {} overwrites {}, which is pinned, with tensor {}, which is not its next", number,
                              named(source), output),
                  named(op),
                  fmt::format("leave [{}, {}] out of its \"overwrites\", or make tensor {} the \"next\" of tensor {}",
                              out, in, output, source.id));
    }
    return {};
  }

  Result<void> successors() const {
    for (const Tensor& tensor : graph_.tensors)
      if (tensor.next != -1 && !tensor_of_.contains(tensor.next))
        return fail(kCode, fmt::format("its next, tensor {}, does not exist", tensor.next), named(tensor));
    return {};
  }

  Result<void> takeovers() const {
    for (const Tensor& tensor : graph_.tensors)
      if (tensor.next != -1) PANTOUM_TRY(taken_over(tensor));
    return {};
  }

  // What is pinned is in RAM until its next is written over it, and that is where its next must be.
  Result<void> taken_over(const Tensor& tensor) const {
    const auto maker = producer_of_.find(tensor.next);
    if (!tensor.pinned || tensor.start != Home::kRam || tensor.bytes == 0 || maker == producer_of_.end()) return {};
    const Op& op = *maker->second;
    if (const int64_t bytes = tensor_of_.at(tensor.next)->bytes; bytes > tensor.bytes)
      return fail(kCode,
                  fmt::format("it is pinned and has {} bytes, and its next, tensor {}, has {}", tensor.bytes,
                              tensor.next, bytes),
                  named(tensor),
                  "a next is written over its tensor: give both the same bytes, or leave \"pinned\" out");
    for (const Choice& choice : op.choices)
      for (const auto& [out, in] : choice.overwrites)
        if (op.output(out) == tensor.next && op.input(in) == tensor.id) return {};
    return fail(
        kCode,
        fmt::format("it is pinned, and no choice of {} overwrites it with its next, tensor {}", named(op), tensor.next),
        named(tensor), "list the pair in \"overwrites\" of a choice, or leave \"pinned\" out");
  }

  Result<void> order() const {
    if (graph_.order.size() != graph_.ops.size())
      return fail(kCode, fmt::format("lists {} ops of {}", graph_.order.size(), graph_.ops.size()), "order");
    std::unordered_map<int64_t, bool> passed;
    for (const int64_t id : graph_.order) {
      const auto op = op_of_.find(id);
      if (op == op_of_.end()) return fail(kCode, fmt::format("names op {}, which does not exist", id), "order");
      if (passed.contains(id)) return fail(kCode, fmt::format("names op {} twice", id), "order");
      for (const int64_t tensor : op->second->inputs) {
        if (tensor_of_.at(tensor)->start != Home::kNone) continue;
        const auto producer = producer_of_.find(tensor);
        if (producer == producer_of_.end())
          return fail(
              kCode,
              fmt::format("reads {}, which no op writes and which starts nowhere", named(*tensor_of_.at(tensor))),
              named(*op->second), "give it a start (ram, aux or rom), or an op that makes it");
        if (!passed.contains(producer->second->id))
          return fail(kCode,
                      fmt::format("{} reads {} before {} writes it", named(*op->second), named(*tensor_of_.at(tensor)),
                                  named(*producer->second)),
                      "order", "list the ops so that each stands after those it reads from");
      }
      passed.emplace(id, true);
    }
    return {};
  }

  const CostGraph& graph_;
  Bytes most_workspace_ = 0;
  std::unordered_map<int64_t, const Tensor*> tensor_of_;
  std::unordered_map<int64_t, const Op*> op_of_, producer_of_;
};

class Hasher {
 public:
  Hasher() : state_(XXH64_createState(), &XXH64_freeState) {
    if (!state_) throw std::bad_alloc();
    XXH64_reset(state_.get(), 0);
  }
  void add(int64_t value) {  // little-endian on every machine
    unsigned char bytes[8];
    for (int byte = 0; byte < 8; ++byte)
      bytes[byte] = static_cast<unsigned char>(static_cast<uint64_t>(value) >> (8 * byte));
    XXH64_update(state_.get(), bytes, sizeof bytes);
  }
  void add(const std::string& text) {
    add(static_cast<int64_t>(text.size()));
    XXH64_update(state_.get(), text.data(), text.size());
  }
  template <class Number>
  void add_all(const std::vector<Number>& numbers) {
    add(static_cast<int64_t>(numbers.size()));
    for (const Number number : numbers) add(static_cast<int64_t>(number));
  }
  uint64_t value() const { return XXH64_digest(state_.get()); }

 private:
  std::unique_ptr<XXH64_state_t, decltype(&XXH64_freeState)> state_;
};

void add_choice(const Choice& choice, Hasher& hash) {
  hash.add(choice.algorithm);
  hash.add(choice.numerics);
  if (choice.engines.size() > 1) hash.add(static_cast<int64_t>(choice.engines.size()));
  if (choice.engines.empty()) hash.add(std::string());
  for (const std::string& engine : choice.engines) hash.add(engine);
  hash.add(choice.workspace_bytes);
  hash.add(static_cast<int64_t>(choice.overwrites.size()));
  for (const auto& [out, in] : choice.overwrites) {
    hash.add(out);
    hash.add(in);
  }
  hash.add_all(choice.reads);
  hash.add_all(choice.writes);
  const Stream& stream = choice.stream;
  if (!stream.any()) return;
  hash.add_all(stream.in);
  hash.add_all(stream.out);
  for (const int64_t moved :
       {stream.bytes_in, stream.transfers_in, stream.bytes_out, stream.transfers_out, int64_t{stream.in_place}})
    hash.add(moved);
}

}  // namespace

uint64_t engines_of(const Device& device, const Choice& choice) {
  uint64_t set = choice.engines.empty() ? 1 : 0;
  for (size_t engine = 0; engine < device.engines.size(); ++engine)
    if (base::contains(choice.engines, device.engines[engine].name)) set |= uint64_t{1} << engine;
  return set;
}

std::vector<int> Choice::whole_writes() const {
  std::vector<int> whole = writes;
  std::erase_if(whole, [&](int position) { return !writes_whole(position); });
  return whole;
}

bool streams(const CostGraph& graph) {
  const auto any = [](const Choice& choice) { return choice.stream.any(); };
  return std::ranges::any_of(graph.ops, [&](const Op& op) { return std::ranges::any_of(op.choices, any); });
}

bool has_queues(const CostGraph& graph) {
  return several_engines(graph.device) || streams(graph);
}

ChoiceCosts costs_of(const Pager& pager, const Choice& choice) {
  const Stream& stream = choice.stream;
  const auto moving = [](const Link& link, Bytes bytes, int64_t transfers) {
    return bytes == 0 ? 0
                      : static_cast<double>(transfers) * link.latency_s + static_cast<double>(bytes) / link.bytes_per_s;
  };
  ChoiceCosts costs;
  costs.seconds_in = moving(pager.in, stream.bytes_in, stream.transfers_in);
  costs.seconds_out = moving(pager.out, stream.bytes_out, stream.transfers_out);
  const Seconds in_turn = choice.time_s + (costs.seconds_in + costs.seconds_out);
  costs.seconds = pager.mode == PagerMode::kAsync ? stream.async_s.value_or(in_turn) : in_turn;
  costs.joules = choice.energy_j + costs.seconds_in * pager.in.w + costs.seconds_out * pager.out.w;
  return costs;
}

Watts idle_watts(const CostGraph& graph) {
  const Device& device = graph.device;
  const bool used = std::ranges::any_of(graph.ops, [](const Op& op) { return !op.optional; });
  return device.idle_w + (used && !has_queues(graph) ? device.engines.front().idle_w : 0);
}

Seconds transfer_seconds(const Pager& pager, const Link& link, Bytes bytes) {
  const Bytes block = std::max<Bytes>(1, pager.block_bytes);
  const Bytes blocks = bytes / block + (bytes % block != 0 ? 1 : 0);
  return link.latency_s + static_cast<double>(blocks) * static_cast<double>(block) / link.bytes_per_s;
}

Result<void> validate(const CostGraph& graph) {
  return Validator(graph).run();
}

uint64_t structure_hash(const CostGraph& graph) {
  Hasher hash;
  hash.add(graph.device.align_bytes);
  hash.add(graph.device.pager.staging_bytes);
  if (several_engines(graph.device))
    for (const Engine& engine : graph.device.engines) hash.add(engine.name);
  hash.add(static_cast<int64_t>(graph.tensors.size()));
  for (const Tensor& tensor : graph.tensors) {
    hash.add(tensor.id);
    hash.add(tensor.bytes);
    hash.add(static_cast<int64_t>(tensor.start));
    hash.add(static_cast<int64_t>(tensor.end));
    hash.add(tensor.pinned ? 1 : 0);
    hash.add(tensor.next);
  }
  hash.add(static_cast<int64_t>(graph.ops.size()));
  for (const Op& op : graph.ops) {
    hash.add(op.id);
    hash.add_all(op.inputs);
    hash.add_all(op.outputs);
    hash.add((op.recompute ? 1 : 0) + (op.optional ? 2 : 0));
    hash.add(static_cast<int64_t>(op.choices.size()));
    for (const Choice& choice : op.choices) add_choice(choice, hash);
  }
  hash.add_all(graph.order);
  return hash.value();
}

}  // namespace pantoum::problem
