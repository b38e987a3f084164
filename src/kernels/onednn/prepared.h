// Primitives made once per operator, shapes and attributes, found again when a kernel runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "kernels/back_end.h"
#include "kernels/onednn/api.h"
#include "kernels/portable/kernel_rows.h"
#include "kernels/portable/norm_activation.h"
#include "kernels/portable/parallel.h"
#include "pantoum/pantoum.h"

namespace pantoum::onednn {

// Where an argument of a primitive lies: in an operand of the call (inputs, then outputs) or in its workspace.
struct Place {
  int operand = kWorkspace;  // an index, or kWorkspace
  size_t offset = 0;         // bytes into the workspace
  static constexpr int kWorkspace = -1;
};

struct Argument {
  int name = 0;  // DNNL_ARG_*
  Desc desc;
  Place place;
};

// One primitive and its bindings. The workspace of a call is shared by its stages; `scratch` is taken there too.
class Stage {
 public:
  Stage(const dnnl::primitive& primitive, std::vector<Argument> arguments);
  // The same with bindings of its own.
  [[nodiscard]] Stage another() const { return {primitive_, arguments_}; }
  void run(const pt_call& call, const dnnl::stream& stream);

 private:
  dnnl::primitive primitive_;
  std::vector<Argument> arguments_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> bound_;
};

// The steps that a product's primitive leaves out. They are done in place, in one pass over its result.
struct Rest {
  int added = -1;  // the operand that is added; -1: none
  pt_activation activation{};
};

// The stages that calls of one operator with the same shapes run.
class Prepared {
 public:
  // Reserves bytes of the call's workspace; returns their offset.
  size_t reserve(const Desc& desc);
  void add(const PrimitiveHandle& made, std::vector<Argument> arguments);
  size_t workspace_bytes() const { return workspace_bytes_; }
  int threads() const { return threads_; }
  void set_threads(int threads) { threads_ = threads; }  // that its primitives are made for and run with
  // Which implementation its primitives take, as oneDNN lists them; 0 is its first.
  int later() const { return later_; }
  void set_later(int later) { later_ = later; }
  void finish(const Rest& rest) { rest_ = rest; }
  // Several threads may run it at the same time. The bindings of a call are made at the first call, and for each further call at the same time.
  void run(const pt_call& call, const dnnl::stream& stream);

 private:
  using Stages = std::vector<Stage>;
  std::unique_ptr<Stages> take();

  std::mutex guard_;                           // of idle_
  std::vector<std::unique_ptr<Stages>> idle_;  // stages that no call is bound to
  size_t workspace_bytes_ = 0;
  int threads_ = 1, later_ = 0;
  Stages stages_;
  std::optional<Rest> rest_;
};

// The larger is offered first: its class of numerics is the one that plans keep to. kSpread is kDirect with factors copied
// before, in its bits. Those from kSecond on are offered beside it: the implementations that oneDNN lists after its first (at
// most two are no plain loops).
enum Algorithm : uint16_t {
  kWinograd = PT_FIRST_BACK_END_ALGORITHM,
  kDirect,
  kSpread = PT_BACK_END_COPIES,
  kSecond = int{PT_FIRST_BACK_END_ALGORITHM} + int{PT_FIRST_OTHER},
  kThird
};

// Does the rest to the first output of a call, on as many threads.
void run_rest(const Rest& rest, const pt_call& call, int threads);

// The input of a maker: operator and algorithm of the kernel's row, operands and attributes of the call.
struct Asked {
  uint16_t op, algorithm;
  const pt_call& call;
};
// Makes what a call needs; throws dnnl::error, or returns false, where oneDNN does not compute it.
using Maker = bool (*)(const Asked& asked, Prepared& prepared);

// The stages for a call, made at its first sight; null where there are none. Remembers both answers.
Prepared* prepared_for(uint16_t op, uint16_t algorithm, const pt_call& call, Maker maker);

// The two functions of a kernel: its workspace and its run.
size_t workspace_of(Prepared* prepared);
pt_status run(Prepared* prepared, const pt_call& call);

// The most threads that a primitive is made for and run with; small ones take fewer.
void set_threads(int threads);
// Sets the number of threads for primitives that the calling thread makes and runs; OpenMP keeps it for each thread.
void keep_threads(int threads);
const pt_pool* pool();

}  // namespace pantoum::onednn
