// Products with what follows them: the primitive's own where its implementation gives the bits of the ops apart, else a
// pass over its result.
#include <algorithm>
#include <utility>

#include "kernels/onednn/kernels.h"

namespace pantoum::onednn {
namespace {

// The portable op's bits.
float hard_swish(float x) {
  const float gate = x + 3;
  return x * (gate < 0 ? 0 : gate > 6 ? 6 : gate) / 6;
}

template <int64_t kOp, bool kAdds>
void finish_elements(const Rest& rest, const float* added, float* y, int64_t count) {
  const float p = rest.activation.p, q = rest.activation.q;
  for (int64_t at = 0; at < count; ++at) {
    const float x = kAdds ? y[at] + added[at] : y[at];
    y[at] = kOp == PT_OP_hard_swish ? hard_swish(x) : pt_activate(kOp, p, q, x);
  }
}

using Elements = void (*)(const Rest&, const float* added, float* y, int64_t count);

template <int64_t kOp>
Elements elements_of(const Rest& rest) {
  return rest.added < 0 ? finish_elements<kOp, false> : finish_elements<kOp, true>;
}

Elements elements_of(const Rest& rest) {
  switch (rest.activation.op) {
    case PT_OP_relu:
      return elements_of<PT_OP_relu>(rest);
    case PT_OP_leaky_relu:
      return elements_of<PT_OP_leaky_relu>(rest);
    case PT_OP_clip:
      return elements_of<PT_OP_clip>(rest);
    case PT_OP_hard_swish:
      return elements_of<PT_OP_hard_swish>(rest);
    default:
      return elements_of<0>(rest);
  }
}

// Below this a result is still in the caches when it is whole: a pass over it takes no longer than steps of the primitive
// (0.9 to 1.1 of their time, one core with AVX-512, 2 MiB of second-level cache).
constexpr size_t kFinishedFrom = size_t{1} << 20;

// An implementation that multiplies copied patches (gemm) is slow at these steps.
bool may_finish(const PrimitiveHandle& plain, const Desc& y, const FinishedBy& finish) {
  return y.get_size() >= kFinishedFrom && plain.implementation.find("gemm") == std::string::npos &&
         (finish.adds || finish.activation != Finish::kNone);
}

}  // namespace

void run_rest(const Rest& rest, const pt_call& call, int threads) {
  const auto count = static_cast<int64_t>(pt_elements(call.outputs));
  auto* y = static_cast<float*>(call.outputs[0].data);
  const float* added = rest.added < 0 ? nullptr : static_cast<const float*>(call.inputs[rest.added].data);
  const Elements elements = elements_of(rest);
  if (threads == 1) return elements(rest, added, y, count);
  constexpr int64_t kLine = 16;  // elements of a line of the caches, which one thread has
  const int64_t lines = (count + kLine - 1) / kLine;
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int piece = 0; piece < threads; ++piece) {
    const int64_t begin = lines * piece / threads * kLine, end = std::min(count, lines * (piece + 1) / threads * kLine);
    if (begin < end) elements(rest, added == nullptr ? nullptr : added + begin, y + begin, end - begin);
  }
}

std::optional<Epilogue> epilogue_of(const pt_call& call) {
  const int64_t* ints = call.ints + call.int_count - int{PT_EPILOGUE_ATTRS};
  Epilogue made;
  made.rest.activation = {ints[PT_EPILOGUE_ACTIVATION], static_cast<float>(call.reals[0]),
                          static_cast<float>(call.reals[1])};
  switch (made.rest.activation.op) {
    case PT_OP_relu:
      made.by_primitive.activation = Finish::kRelu;
      break;
    case PT_OP_leaky_relu:
      // A slope of 0 is oneDNN's relu.
      if (made.rest.activation.p != 0) made.by_primitive.activation = Finish::kLeakyRelu;
      made.by_primitive.slope = made.rest.activation.p;
      break;
    case 0:
    case PT_OP_clip:
    case PT_OP_hard_swish:
      break;
    default:
      return std::nullopt;
  }
  if (ints[PT_EPILOGUE_RESIDUAL] != PT_RESIDUAL_NONE) {
    made.by_primitive.adds = true;
    made.rest.added = call.input_count - 1;
  }
  made.inputs = call.input_count - (made.by_primitive.adds ? 1 : 0);
  return made;
}

void add_finished(const Epilogue& epilogue, const PrimitiveHandle& plain, const Desc& y,
                  std::vector<Argument> arguments, const std::function<PrimitiveHandle(const FinishedBy&)>& finishing,
                  Prepared& prepared) {
  Rest rest = epilogue.rest;
  FinishedBy own = epilogue.by_primitive;
  const auto finished = [&]() -> std::optional<PrimitiveHandle> {
    if (!may_finish(plain, y, own)) return std::nullopt;
    try {
      return finishing(own);
    } catch (const dnnl::error&) {
      return std::nullopt;
    }
  };
  std::optional<PrimitiveHandle> made = finished();
  if (!made && own.adds && own.activation != Finish::kNone) {
    own.activation = Finish::kNone;
    made = finished();
  }
  if (made && own.activation != Finish::kNone) rest.activation.op = 0;
  if (made && own.adds) {
    arguments.push_back({FinishedBy::kAdded, y, {rest.added}});
    rest.added = -1;
  }
  prepared.add(made ? *made : plain, std::move(arguments));
  if (rest.added >= 0 || rest.activation.op != 0) prepared.finish(rest);
}

}  // namespace pantoum::onednn
