// Products, softmax and activations on plain tensors.
#include <optional>
#include <utility>
#include <vector>

#include "kernels/onednn/kernels.h"

namespace pantoum::onednn {
namespace {

Dims dims_of(const pt_tensor& tensor) {
  return {tensor.dims, tensor.dims + tensor.rank};
}

int64_t elements(const pt_tensor& tensor) {
  int64_t count = 1;
  for (unsigned dim = 0; dim < tensor.rank; ++dim) count *= tensor.dims[dim];
  return count;
}

// A factor of a product: `rank` dimensions, the last two in the order that the product reads them in.
Desc factor(const pt_tensor& tensor, size_t rank, bool transposed) {
  Dims dims = dims_of(tensor);
  dims.insert(dims.begin(), rank - dims.size(), 1);
  Dims strides(rank, 1);
  for (size_t dim = rank; dim-- > 1;) strides[dim - 1] = strides[dim] * dims[dim];
  if (transposed) {
    std::swap(dims[rank - 1], dims[rank - 2]);
    std::swap(strides[rank - 1], strides[rank - 2]);
  }
  return strided(dims, strides);
}

// A stack of matrices times one matrix is one product of more rows.
pt_tensor flat(const pt_tensor& tensor) {
  pt_tensor rows = tensor;
  rows.rank = 2;
  rows.dims[1] = tensor.dims[tensor.rank - 1];
  rows.dims[0] = static_cast<uint32_t>(elements(tensor) / rows.dims[1]);
  return rows;
}

struct Product {
  MatmulShape shape;
  std::vector<Argument> arguments;
};

// Of a call whose first inputs are the product's.
Product product_of(const pt_call& call, int inputs) {
  const bool trans_a = call.ints[PT_MATMUL_TRANS_A] != 0, trans_b = call.ints[PT_MATMUL_TRANS_B] != 0;
  pt_tensor a = call.inputs[0], y = call.outputs[0];
  const pt_tensor& b = call.inputs[1];
  if (b.rank == 2 && a.rank > 2 && !trans_a) a = flat(a), y = flat(y);
  const size_t rank = y.rank;
  Dims bias_dims(rank, 1);
  bias_dims[rank - 1] = y.dims[rank - 1];
  const MatmulShape shape{.a = factor(a, rank, trans_a),
                          .b = factor(b, rank, trans_b),
                          .bias = inputs > 2 ? row_major(bias_dims) : none(),
                          .y = row_major(dims_of(y))};
  std::vector<Argument> arguments = {
      {DNNL_ARG_SRC, shape.a, {0}}, {DNNL_ARG_WEIGHTS, shape.b, {1}}, {DNNL_ARG_DST, shape.y, {call.input_count}}};
  if (inputs > 2) arguments.push_back({DNNL_ARG_BIAS, shape.bias, {2}});
  return {shape, std::move(arguments)};
}

bool elementwise(const pt_call& call, dnnl::algorithm algorithm, Prepared& prepared) {
  const Desc x = row_major({elements(call.inputs[0])});
  prepared.add(eltwise(algorithm, x, 0, 0), {{DNNL_ARG_SRC, x, {0}}, {DNNL_ARG_DST, x, {1}}});
  return true;
}

dnnl::algorithm gelu_of(const pt_call& call) {
  return call.ints[0] != 0 ? dnnl::algorithm::eltwise_gelu_tanh : dnnl::algorithm::eltwise_gelu_erf;
}

bool rows(const pt_call& call, bool logarithm, Prepared& prepared) {
  const Desc x = row_major(dims_of(call.inputs[0]));
  prepared.add(softmax(x, static_cast<int>(call.ints[0]), logarithm), {{DNNL_ARG_SRC, x, {0}}, {DNNL_ARG_DST, x, {1}}});
  return true;
}

bool rows_grad(const pt_call& call, bool logarithm, Prepared& prepared) {
  const Desc x = row_major(dims_of(call.inputs[0]));
  prepared.add(softmax_grad(x, static_cast<int>(call.ints[0]), logarithm),
               {{DNNL_ARG_DIFF_DST, x, {0}}, {DNNL_ARG_DST, x, {1}}, {DNNL_ARG_DIFF_SRC, x, {2}}});
  return true;
}

}  // namespace

bool make_matmul(const pt_call& call, Prepared& prepared) {
  Product product = product_of(call, call.input_count);
  const PrimitiveHandle made = matmul(product.shape, prepared.later());
  if (made.is_reference && prepared.later() > 0) return false;
  prepared.add(made, std::move(product.arguments));
  return true;
}

bool make_matmul_act(const pt_call& call, Prepared& prepared) {
  const std::optional<Epilogue> epilogue = epilogue_of(call);
  if (!epilogue) return false;
  Product product = product_of(call, epilogue->inputs);
  const PrimitiveHandle plain = matmul(product.shape, prepared.later());
  if (plain.is_reference && prepared.later() > 0) return false;
  const auto finishing = [&](const FinishedBy& finish) { return matmul(product.shape, finish, plain.implementation); };
  add_finished(*epilogue, plain, product.shape.y, std::move(product.arguments), finishing, prepared);
  return true;
}

bool make_softmax(const pt_call& call, Prepared& prepared) {
  return rows(call, false, prepared);
}
bool make_softmax_grad(const pt_call& call, Prepared& prepared) {
  return rows_grad(call, false, prepared);
}
bool make_log_softmax(const pt_call& call, Prepared& prepared) {
  return rows(call, true, prepared);
}
bool make_log_softmax_grad(const pt_call& call, Prepared& prepared) {
  return rows_grad(call, true, prepared);
}

bool make_gelu(const pt_call& call, Prepared& prepared) {
  return elementwise(call, gelu_of(call), prepared);
}

bool make_gelu_grad(const pt_call& call, Prepared& prepared) {
  const Desc x = row_major({elements(call.inputs[0])});
  prepared.add(eltwise_grad(gelu_of(call), x, 0, 0),
               {{DNNL_ARG_DIFF_DST, x, {0}}, {DNNL_ARG_SRC, x, {1}}, {DNNL_ARG_DIFF_SRC, x, {2}}});
  return true;
}

bool make_tanh(const pt_call& call, Prepared& prepared) {
  return elementwise(call, dnnl::algorithm::eltwise_tanh, prepared);
}
bool make_sigmoid(const pt_call& call, Prepared& prepared) {
  return elementwise(call, dnnl::algorithm::eltwise_logistic, prepared);
}
bool make_exp(const pt_call& call, Prepared& prepared) {
  return elementwise(call, dnnl::algorithm::eltwise_exp, prepared);
}

}  // namespace pantoum::onednn
