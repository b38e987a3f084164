// Products, softmax and activations on plain tensors.
#include <optional>
#include <utility>
#include <vector>

#include "kernels/onednn/kernels.h"

namespace pantoum::onednn {
namespace {

// A factor of a product: `rank` dimensions, the last two in the order that the product reads them in; its rows lie `gap`
// elements apart.
Desc factor(const pt_tensor& tensor, size_t rank, bool transposed, int64_t gap = 0) {
  Dims dims = dims_of(tensor);
  dims.insert(dims.begin(), rank - dims.size(), 1);
  Dims strides(rank, 1);
  for (size_t dim = rank; dim-- > 1;) strides[dim - 1] = strides[dim] * dims[dim] + (dim == rank - 1 ? gap : 0);
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
  rows.dims[0] = static_cast<uint32_t>(pt_elements(&tensor) / rows.dims[1]);
  return rows;
}

struct Product {
  MatmulShape shape;
  std::vector<Argument> arguments;
};

// The shape of a product, for a call whose first inputs are those of the product.
class ProductCall {
 public:
  ProductCall(const pt_call& call, int inputs)
      : inputs_(inputs),
        output_(call.input_count),
        trans_a_(call.ints[PT_MATMUL_TRANS_A] != 0),
        trans_b_(call.ints[PT_MATMUL_TRANS_B] != 0),
        a_(call.inputs[0]),
        b_(call.inputs[1]),
        y_(call.outputs[0]) {
    if (b_.rank == 2 && a_.rank > 2 && !trans_a_) a_ = flat(a_), y_ = flat(y_);
  }

  [[nodiscard]] Product product() const {
    Dims bias_dims(rank(), 1);
    bias_dims[rank() - 1] = y_.dims[rank() - 1];
    const MatmulShape shape{.a = factor(a_, rank(), trans_a_),
                            .b = factor(b_, rank(), trans_b_),
                            .bias = inputs_ > 2 ? row_major(bias_dims) : none(),
                            .y = row_major(dims_of(y_))};
    std::vector<Argument> arguments = {
        {DNNL_ARG_SRC, shape.a, {0}}, {DNNL_ARG_WEIGHTS, shape.b, {1}}, {DNNL_ARG_DST, shape.y, {output_}}};
    if (inputs_ > 2) arguments.push_back({DNNL_ARG_BIAS, shape.bias, {2}});
    return {shape, std::move(arguments)};
  }

  // Has `product` read copies of the factors whose columns it reads and whose rows hide each other in the cache; false:
  // there are none.
  bool with_gaps(Product& product, Prepared& prepared) const {
    const bool a = trans_a_ && hides(a_, y_.dims[rank() - 1]), b = !trans_b_ && hides(b_, y_.dims[rank() - 2]);
    if (a) copy(a_, trans_a_, product.shape.a, product.arguments[0], prepared);
    if (b) copy(b_, trans_b_, product.shape.b, product.arguments[1], prepared);
    return a || b;
  }

 private:
  static constexpr int64_t kGap = 16;  // elements: a line of the cache

  [[nodiscard]] size_t rank() const { return y_.rank; }

  // Where rows are this far apart, a column of them lies in few sets of a cache of 32 KiB, and is read from the next one
  // again and again. Copying is worth it where an element of the factor is read often, once for each of `readers`.
  static bool hides(const pt_tensor& matrix, uint32_t readers) {
    constexpr uint32_t kElements = 512, kReaders = 64, kRows = 64;
    return matrix.rank >= 2 && matrix.dims[matrix.rank - 1] % kElements == 0 && matrix.dims[matrix.rank - 2] >= kRows &&
           readers >= kReaders;
  }

  void copy(const pt_tensor& tensor, bool transposed, Desc& read, Argument& argument, Prepared& prepared) const {
    const Desc from = factor(tensor, rank(), false), to = factor(tensor, rank(), false, kGap);
    const Place place{Place::kWorkspace, prepared.reserve(to)};
    prepared.add(reorder(from, to), {{DNNL_ARG_FROM, from, argument.place}, {DNNL_ARG_TO, to, place}});
    read = factor(tensor, rank(), transposed, kGap);
    argument.desc = read, argument.place = place;
  }

  int inputs_, output_;
  bool trans_a_, trans_b_;
  pt_tensor a_, b_, y_;
};

// The class of numerics is that of the product where it lies: copied or not, an implementation adds in the same order. Of
// others than this one, and of wider vectors, that was not shown.
bool keeps_bits(const PrimitiveHandle& product) {
  return vector_elements() <= 8 && product.implementation == "gemm:jit";
}

dnnl::algorithm gelu_of(const pt_call& call) {
  return call.ints[0] != 0 ? dnnl::algorithm::eltwise_gelu_tanh : dnnl::algorithm::eltwise_gelu_erf;
}

// The product with copied factors; none if no factor needs a copy, or if a copy might change bits.
std::optional<Product> spread_product(const pt_call& call, int inputs, Prepared& prepared) {
  const ProductCall asked(call, inputs);
  Product product = asked.product();
  if (!keeps_bits(matmul(product.shape, 0)) || !asked.with_gaps(product, prepared)) return std::nullopt;
  return product;
}

bool finished(Product product, const Epilogue& epilogue, const PrimitiveHandle& plain, Prepared& prepared) {
  const auto finishing = [&](const FinishedBy& finish) { return matmul(product.shape, finish, plain.implementation); };
  add_finished(epilogue, plain, product.shape.y, std::move(product.arguments), finishing, prepared);
  return true;
}

}  // namespace

bool make_matmul(const Asked& asked, Prepared& prepared) {
  const pt_call& call = asked.call;
  if (asked.algorithm == kSpread) {
    std::optional<Product> product = spread_product(call, call.input_count, prepared);
    if (!product) return false;
    prepared.add(matmul(product->shape, 0), std::move(product->arguments));
    return true;
  }
  Product product = ProductCall(call, call.input_count).product();
  const PrimitiveHandle made = matmul(product.shape, prepared.later());
  if (made.is_reference) return false;
  prepared.add(made, std::move(product.arguments));
  return true;
}

bool make_matmul_act(const Asked& asked, Prepared& prepared) {
  const std::optional<Epilogue> epilogue = epilogue_of(asked.call);
  if (!epilogue) return false;
  const bool spreads = asked.algorithm == kSpread;
  std::optional<Product> product = spreads ? spread_product(asked.call, epilogue->inputs, prepared)
                                           : ProductCall(asked.call, epilogue->inputs).product();
  if (!product) return false;
  const PrimitiveHandle plain = matmul(product->shape, spreads ? 0 : prepared.later());
  if (!spreads && plain.is_reference) return false;
  return finished(*std::move(product), *epilogue, plain, prepared);
}

bool make_softmax(const Asked& asked, Prepared& prepared) {
  const Desc x = row_major(dims_of(asked.call.inputs[0]));
  const PrimitiveHandle made = softmax(x, static_cast<int>(asked.call.ints[0]), asked.op == PT_OP_log_softmax);
  if (made.is_reference) return false;
  prepared.add(made, {{DNNL_ARG_SRC, x, {0}}, {DNNL_ARG_DST, x, {1}}});
  return true;
}

bool make_softmax_grad(const Asked& asked, Prepared& prepared) {
  const Desc x = row_major(dims_of(asked.call.inputs[0]));
  const PrimitiveHandle made =
      softmax_grad(x, static_cast<int>(asked.call.ints[0]), asked.op == PT_OP_log_softmax_grad);
  if (made.is_reference) return false;
  prepared.add(made, {{DNNL_ARG_DIFF_DST, x, {0}}, {DNNL_ARG_DST, x, {1}}, {DNNL_ARG_DIFF_SRC, x, {2}}});
  return true;
}

bool make_elementwise(const Asked& asked, Prepared& prepared) {
  const Desc x = row_major({static_cast<int64_t>(pt_elements(&asked.call.inputs[0]))});
  const dnnl::algorithm algorithm = asked.op == PT_OP_gelu      ? gelu_of(asked.call)
                                    : asked.op == PT_OP_tanh    ? dnnl::algorithm::eltwise_tanh
                                    : asked.op == PT_OP_sigmoid ? dnnl::algorithm::eltwise_logistic
                                                                : dnnl::algorithm::eltwise_exp;
  prepared.add(eltwise(algorithm, x, 0, 0), {{DNNL_ARG_SRC, x, {0}}, {DNNL_ARG_DST, x, {1}}});
  return true;
}

bool make_gelu_grad(const Asked& asked, Prepared& prepared) {
  const Desc x = row_major({static_cast<int64_t>(pt_elements(&asked.call.inputs[0]))});
  prepared.add(eltwise_grad(gelu_of(asked.call), x, 0, 0),
               {{DNNL_ARG_DIFF_DST, x, {0}}, {DNNL_ARG_SRC, x, {1}}, {DNNL_ARG_DIFF_SRC, x, {2}}});
  return true;
}

}  // namespace pantoum::onednn
