#include "kernels/onednn/prepared.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "kernels/portable/epilogue.h"

namespace pantoum::onednn {
namespace {

constexpr size_t kAlignment = 64;
int threads_wanted = 1;

void* address(const pt_call& call, const Place& place) {
  if (place.operand == Place::kWorkspace) return static_cast<std::byte*>(call.workspace) + place.offset;
  const int inputs = call.input_count;
  return place.operand < inputs ? call.inputs[place.operand].data : call.outputs[place.operand - inputs].data;
}

// The most threads that the call allows.
int most_threads(const pt_call& call) {
  return call.pool == nullptr ? 1 : std::min(threads_wanted, static_cast<int>(call.pool->threads));
}

// As many threads as have something to do: waking a thread and waiting for it costs more than a few microseconds of work, and
// much more where others want the processors. Work is the memory that is touched, and of products and convolutions,
// whose weight is input 1 or the output, the multiplications. What is added to a product does not count: fused and apart,
// it takes as many threads, and so has the same bits.
int threads_for(uint16_t op, const pt_call& call) {
  constexpr double kBytesPerSecond = 8e9, kFlopsPerSecond = 5e10, kSecondsWorthAThread = 2e-5;
  double touched = 0, largest = 0, all = 1;
  const bool is_finished = op == PT_OP_conv2d_act || op == PT_OP_matmul_act;
  const unsigned inputs = is_finished ? pt_product_inputs(&call) : call.input_count;
  for (unsigned operand = 0; operand < inputs + call.output_count; ++operand) {
    const pt_tensor& tensor = operand < inputs ? call.inputs[operand] : call.outputs[operand - inputs];
    const auto count = static_cast<double>(pt_elements(&tensor));
    touched += count;
    largest = std::max(largest, count);
    if (operand < 2 || operand == inputs) all *= count;
  }
  // The three factors of a product have m k, k n and m n elements: the root of their product is m n k.
  const bool multiplies =
      is_finished || op == PT_OP_matmul || op == PT_OP_conv2d || op == PT_OP_conv2d_dx || op == PT_OP_conv2d_dw;
  const double seconds =
      4 * touched / kBytesPerSecond + (multiplies ? 2 * std::max(std::sqrt(all), largest) / kFlopsPerSecond : 0);
  return static_cast<int>(std::clamp(std::ceil(seconds / kSecondsWorthAThread), 1.0, double(most_threads(call))));
}

template <class Number>
void append(std::string& key, Number number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void append_tensor(std::string& key, const pt_tensor& tensor) {
  append(key, tensor.dtype);
  append(key, tensor.rank);
  key.append(reinterpret_cast<const char*>(tensor.dims), tensor.rank * sizeof tensor.dims[0]);
}

// Everything that a call's stages depend on. The buffer is reused: nothing is allocated once it is long enough.
const std::string& key_of(uint16_t op, uint16_t algorithm, const pt_call& call) {
  thread_local std::string key;
  key.clear();
  append(key, op);
  append(key, algorithm);
  append(key, most_threads(call));
  append(key, call.input_count);
  append(key, call.output_count);
  for (unsigned input = 0; input < call.input_count; ++input) append_tensor(key, call.inputs[input]);
  for (unsigned output = 0; output < call.output_count; ++output) append_tensor(key, call.outputs[output]);
  key.append(reinterpret_cast<const char*>(call.ints), call.int_count * sizeof call.ints[0]);
  key.append(reinterpret_cast<const char*>(call.reals), call.real_count * sizeof call.reals[0]);
  return key;
}

std::unique_ptr<Prepared> make(uint16_t op, uint16_t algorithm, const pt_call& call, Maker maker) {
  auto prepared = std::make_unique<Prepared>();
  prepared->set_threads(threads_for(pt_plain_op(op), call));
  if (algorithm >= kSecond) prepared->set_later(algorithm - kSecond + 1);
  try {
    keep_threads(prepared->threads());
    if (maker({op, algorithm, call}, *prepared)) return prepared;
  } catch (const dnnl::error&) {  // no implementation
  }
  return nullptr;
}

}  // namespace

void keep_threads(int threads) {
  if (omp_get_max_threads() != threads) omp_set_num_threads(threads);
}

Stage::Stage(const dnnl::primitive& primitive, std::vector<Argument> arguments)
    : primitive_(primitive), arguments_(std::move(arguments)) {
  for (const Argument& argument : arguments_)
    memories_.push_back(dnnl::memory(argument.desc, engine(), DNNL_MEMORY_NONE));
  for (size_t argument = 0; argument < arguments_.size(); ++argument)
    bound_.push_back({arguments_[argument].name, memories_[argument].get()});
}

void Stage::run(const pt_call& call, const dnnl::stream& stream) {
  for (size_t argument = 0; argument < arguments_.size(); ++argument)
    bind(memories_[argument], address(call, arguments_[argument].place), stream);
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(primitive_.get(), stream.get(), static_cast<int>(bound_.size()), bound_.data()),
      "a primitive failed");
}

size_t Prepared::reserve(const Desc& desc) {
  const size_t at = workspace_bytes_;
  workspace_bytes_ += (desc.get_size() + kAlignment - 1) / kAlignment * kAlignment;
  return at;
}

void Prepared::add(const PrimitiveHandle& made, std::vector<Argument> arguments) {
  if (made.scratch.get_size() > 0)
    arguments.push_back({DNNL_ARG_SCRATCHPAD, made.scratch, {Place::kWorkspace, reserve(made.scratch)}});
  stages_.emplace_back(made.primitive, std::move(arguments));
}

std::unique_ptr<Prepared::Stages> Prepared::take() {
  {
    const std::lock_guard lock(guard_);
    if (!idle_.empty()) {
      std::unique_ptr<Stages> stages = std::move(idle_.back());
      idle_.pop_back();
      return stages;
    }
  }
  auto stages = std::make_unique<Stages>();
  for (const Stage& stage : stages_) stages->push_back(stage.another());
  return stages;
}

void Prepared::run(const pt_call& call, const dnnl::stream& stream) {
  std::unique_ptr<Stages> stages = take();
  for (Stage& stage : *stages) stage.run(call, stream);
  if (rest_) run_rest(*rest_, call, threads_);
  const std::lock_guard lock(guard_);
  idle_.push_back(std::move(stages));
}

Prepared* prepared_for(uint16_t op, uint16_t algorithm, const pt_call& call, Maker maker) {
  static std::mutex guard;
  static std::unordered_map<std::string, std::unique_ptr<Prepared>> known;
  const std::string& key = key_of(op, algorithm, call);
  const std::lock_guard lock(guard);
  const auto found = known.find(key);
  if (found != known.end()) return found->second.get();
  return known.emplace(key, make(op, algorithm, call, maker)).first->second.get();
}

size_t workspace_of(Prepared* prepared) {
  return prepared == nullptr ? PT_NO_KERNEL : prepared->workspace_bytes();
}

pt_status run(Prepared* prepared, const pt_call& call) {
  thread_local const dnnl::stream stream(engine());  // one belongs to one thread
  if (prepared == nullptr) return PT_E_KERNEL;
  try {
    keep_threads(prepared->threads());
    prepared->run(call, stream);
  } catch (const dnnl::error&) {
    return PT_E_KERNEL;
  }
  return PT_OK;
}

void set_threads(int threads) {
  threads_wanted = threads;
  keep_threads(threads);
}

const pt_pool* pool() {
  static pt_pool team = {nullptr, 1, [](void*, size_t count, void (*body)(void*, size_t, size_t), void* arg) {
                           keep_threads(threads_wanted);
                           const size_t pieces = static_cast<size_t>(threads_wanted);
#pragma omp parallel for schedule(static, 1)
                           for (size_t piece = 0; piece < pieces; ++piece) {
                             const auto begin_of = [&](size_t at) {
                               return count / pieces * at + count % pieces * at / pieces;
                             };
                             if (begin_of(piece) < begin_of(piece + 1)) body(arg, begin_of(piece), begin_of(piece + 1));
                           }
                         }};
  team.threads = static_cast<uint32_t>(threads_wanted);
  return &team;
}

}  // namespace pantoum::onednn
