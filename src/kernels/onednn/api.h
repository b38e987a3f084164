// The one place that knows which version of oneDNN this is: descriptors of primitives under one set of signatures.
#pragma once

#include <dnnl.hpp>
#include <string>

#include "kernels/portable/layout.h"

namespace pantoum::onednn {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;

const dnnl::engine& engine();
const dnnl::primitive_attr& attributes();  // scratch memory is the caller's
// The number of float32 in a vector of the processor: 8 or 16. Fast convolutions work on blocks of as many channels.
uint32_t vector_elements();

// ---- memory ----

// float32 in a layout; weights of a grouped convolution carry the groups as a dimension of their own.
Desc image(const pt_tensor& logical, pt_layout layout, uint32_t block);
Desc weight(const pt_tensor& logical, int64_t groups, pt_layout layout, uint32_t block);
// A weight whose layout oneDNN chooses.
Desc any_weight(const uint32_t logical[4], int64_t groups);
Dims dims_of(const pt_tensor& tensor);
Desc row_major(const Dims& dims);
Desc strided(const Dims& dims, const Dims& strides);
Desc none();
Dims extents(const Desc& desc);
// Sets the bytes that the memory object uses from now on.
void bind(dnnl::memory& memory, void* data, const dnnl::stream& stream);

// ---- primitives: each throws dnnl::error where oneDNN has no implementation ----

struct PrimitiveHandle {  // a primitive, and what it asks for
  dnnl::primitive primitive;
  Desc scratch;
  Desc workspace;              // of max pooling
  Desc weights;                // of convolutions: as oneDNN wants them, where it was left to it
  bool is_reference = false;   // plain loops: slower than the portable kernels
  std::string implementation;  // as oneDNN calls it
};

struct ConvShape {
  Desc x, w, y;
  Dims strides, dilations, before, after;  // dilations as oneDNN counts them: 0 is dense
};
enum class ConvAlgorithm { kDirect, kWinograd };
// `later`: which implementation, as oneDNN lists them; 0 is its first.
PrimitiveHandle convolution(const ConvShape& shape, const Desc& bias, ConvAlgorithm algorithm, int later);
// The steps that the primitive of a convolution or product applies to its result: adds a tensor with y's layout, then
// an activation.
enum class Finish { kNone, kRelu, kLeakyRelu };
struct FinishedBy {
  bool adds = false;
  Finish activation = Finish::kNone;
  float slope = 0;                                                                   // of kLeakyRelu
  static constexpr int kAdded = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1;  // the argument of what is added
};
// Uses the named implementation, and so has its bits; throws dnnl::error where it cannot apply these steps. Its relu
// turns NaN into infinity, which no later sum hides.
PrimitiveHandle convolution(const ConvShape& shape, const Desc& bias, ConvAlgorithm algorithm, const FinishedBy& finish,
                            const std::string& implementation);
PrimitiveHandle convolution_data(const ConvShape& shape, ConvAlgorithm algorithm, int later);
PrimitiveHandle convolution_weights(const ConvShape& shape, ConvAlgorithm algorithm, int later);

struct PoolShape {
  Desc x, y;
  Dims kernel, strides, dilations, before, after;
  dnnl::algorithm algorithm;
};
PrimitiveHandle pool(const PoolShape& shape, bool with_workspace);
PrimitiveHandle pool_grad(const PoolShape& shape);

struct MatmulShape {
  Desc a, b, bias, y;  // bias: none(), or as y
};
PrimitiveHandle matmul(const MatmulShape& shape, int later);
// A product with the steps of `finish`, as convolution() has them.
PrimitiveHandle matmul(const MatmulShape& shape, const FinishedBy& finish, const std::string& implementation);
// y += a b.
PrimitiveHandle matmul_added(const Desc& a, const Desc& b, const Desc& y);
PrimitiveHandle softmax(const Desc& x, int axis, bool logarithm);
PrimitiveHandle softmax_grad(const Desc& x, int axis, bool logarithm);
PrimitiveHandle eltwise(dnnl::algorithm algorithm, const Desc& x, float alpha, float beta);
PrimitiveHandle eltwise_grad(dnnl::algorithm algorithm, const Desc& x, float alpha, float beta);
PrimitiveHandle reorder(const Desc& from, const Desc& to);

}  // namespace pantoum::onednn
