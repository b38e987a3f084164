// How operators of both front ends become ops: values, arithmetic on them, and what is composed of it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "import/shapes.h"
#include "ir/builder.h"
#include "pantoum/ops.h"

namespace pantoum::import {

class Composer;

// A value that an operator reads or makes. A value that cannot be made is refused once: its composer keeps the first refusal, the
// value has no id and a type of PT_MAX_RANK dimensions of 1, and no op is appended that would read it.
class Value {
 public:
  Value() = default;  // an operand that is left out
  Value(Composer& in, ir::ValueId id) : in_(&in), id_(id) {}
  operator ir::ValueId() const { return id_; }
  explicit operator bool() const { return id_ != ir::kNone; }
  [[nodiscard]] Composer& in() const { return *in_; }
  [[nodiscard]] ir::TensorType type() const;
  [[nodiscard]] ir::Shape shape() const { return type().shape; }
  [[nodiscard]] size_t rank() const { return type().shape.size(); }
  [[nodiscard]] ir::DType dtype() const { return type().dtype; }
  [[nodiscard]] bool is_real() const { return ir::is_float(dtype()); }
  [[nodiscard]] int64_t elements() const { return type().elements(); }

 private:
  Composer* in_ = nullptr;
  ir::ValueId id_ = ir::kNone;
};

using Values = std::vector<Value>;

// What all operators of one lowering append to.
struct Scope {
  explicit Scope(ir::Graph& graph) : builder(graph) {}

  ir::Builder builder;
  int64_t constant_budget = int64_t{1} << 22;  // elements that constants made while lowering may still have
  std::map<std::pair<int64_t, float>, ir::ValueId> filled;  // constant vectors, by length and element
  bool folds = false;  // the graph is evaluated at once: no operand changes, and constants may be empty
};

// Appends what one operator becomes; ops and constants carry its label.
class Composer {
 public:
  Composer(Scope& scope, std::string label) : scope_(scope), label_(std::move(label)) {}

  [[nodiscard]] const std::string& label() const { return label_; }
  [[nodiscard]] ir::Builder& builder() const { return scope_.builder; }
  [[nodiscard]] Value at(ir::ValueId id) { return {*this, id}; }

  // Keeps the failure if it is the first.
  Value refuse(Failure failure);
  [[nodiscard]] Result<void> refusal() const;  // the first failure, if there was one

  // Appends an op after asking its rule (E0211): its output, or all of them.
  Value op(ir::Kind kind, const Values& inputs, ir::Attrs attrs = {}, std::vector<ir::TensorType> given = {});
  Values ops(ir::Kind kind, const Values& inputs, ir::Attrs attrs = {}, std::vector<ir::TensorType> given = {});

  Value constant(ir::DType dtype, ir::Shape shape, const std::vector<double>& values);
  Value whole(ir::DType dtype, ir::Shape shape, const std::vector<int64_t>& values);  // wrapped to an integer type
  Value number(ir::DType dtype, double value);                                        // without dimensions
  Value positions(int64_t count, ir::Shape shape, int64_t first = 0, int64_t step = 1,
                  ir::DType dtype = ir::DType::kI64);
  // A constant vector of equal elements, made once for the whole lowering.
  Value filled(int64_t count, float element);
  // Takes elements of the budget for constants. False where it is spent: refused as E0401, or left to the caller.
  bool spend(int64_t elements);
  bool try_spend(int64_t elements);

 protected:
  friend class Suffix;
  Scope& scope_;
  std::string label_;

 private:
  std::optional<Error> refusal_;

  Value nothing_of(ir::Kind kind, const std::vector<ir::TensorType>& types, const std::vector<ir::TensorType>& given);
};

// What is appended while this lives carries the composer's label with the suffix behind it.
class Suffix {
 public:
  Suffix(Composer& in, const std::string& suffix) : in_(in), length_(in.label_.size()) { in.label_ += suffix; }
  Suffix(const Suffix&) = delete;
  Suffix& operator=(const Suffix&) = delete;
  ~Suffix() { in_.label_.resize(length_); }

 private:
  Composer& in_;
  size_t length_;
};

// E0401 with what to do.
[[nodiscard]] Failure unsupported(std::string why, std::string help = {});

// Element by element. Operands of one type broadcast.
Value apply(ir::Kind kind, const Value& x, ir::Attrs attrs = {});
Value operator+(const Value& a, const Value& b);
Value operator-(const Value& a, const Value& b);
Value operator*(const Value& a, const Value& b);
Value operator/(const Value& a, const Value& b);
Value scale(const Value& x, double factor,
            double offset = 0);  // factor * x + offset; x itself where that changes nothing
inline Value operator+(const Value& x, double offset) {
  return scale(x, 1, offset);
}
inline Value operator*(const Value& x, double factor) {
  return scale(x, factor);
}
Value operator-(const Value& x);  // of integers, too
Value abs(const Value& x);        // the same; of the least integer that is itself
Value sign(const Value& x);       // the same
Value relu(const Value& x);       // the same
Value exp(const Value& x);
Value log(const Value& x);
Value sqrt(const Value& x);
Value tanh(const Value& x);
Value sigmoid(const Value& x);
Value softplus(const Value& x);
Value mish(const Value& x);
Value tan(const Value& x);
Value cosh(const Value& x);
Value pow(const Value& x, const Value& exponent);
Value maximum(const Value& a, const Value& b);
Value minimum(const Value& a, const Value& b);
Value clip(const Value& x, double least, double most);
enum Rounding : int64_t { kDown, kUp, kToEven };
Value rounded(const Value& x, Rounding way);
Value cast(const Value& x, ir::DType dtype);                      // x itself where it has the type
Value compare(const Value& a, int64_t relation, const Value& b);  // PT_COMPARE_*
Value compare(const Value& a, int64_t relation, double b);
Value where(const Value& condition, const Value& a, const Value& b);
Value bitwise(const Value& a, int64_t operation, const Value& b);  // PT_BITWISE_*
Value bits_inverted(const Value& x);                               // of bools: not
Value inverted(const Value& truth);                                // of bools, by a comparison
Value opposite(const Value& x);  // turns the order around without an overflow: -x, or all bits inverted
Value detached(const Value& x);  // the same value, through which no gradient passes
Value softmax(const Value& x, size_t axis);
Value log_softmax(const Value& x, size_t axis);

// Movements. A dimension is counted from 0.
Value reshape(const Value& x, ir::Shape shape);
Value flattened(const Value& x);
Value transpose(const Value& x, const std::vector<int64_t>& perm);
Value expand(const Value& x, ir::Shape shape);                      // x itself where it has the shape
Value repeated(const Value& x, const std::vector<int64_t>& times);  // by dimension
Value piece(const Value& x, size_t axis, int64_t begin, int64_t count, int64_t step = 1);
// The pieces of all dimensions; the part itself where x was concatenated from it.
Value sliced(const Value& x, const std::vector<SlicePiece>& pieces);
// Zeros around x, by dimension; x itself where there are none.
Value with_zeros(const Value& x, const std::vector<int64_t>& before, const std::vector<int64_t>& after);
Value concat(const Values& parts, size_t axis);
Values split(const Value& x, size_t axis, const std::vector<int64_t>& extents);
Value gather(const Value& x, const Value& indices, size_t axis);
Value gather_elements(const Value& x, const Value& indices, size_t axis);
Value scatter(const Value& x, const Value& indices, const Value& updates, size_t axis, int64_t how);  // PT_SCATTER_*
Value top_k(const Value& x, size_t axis, int64_t count, bool largest);                                // positions
// [C] as [C,1,..], for a value of `rank` dimensions whose channels are dimension 1.
Value by_channel(const Value& vector, size_t rank);

// Reductions over the dimensions (none: all of them); `keep` leaves them as 1.
Value reduce(ir::Kind kind, const Value& x, const std::vector<int64_t>& dimensions, bool keep);
Value product(const Value& x, size_t axis);  // the dimension stays as 1
Value sum_of_all(const Value& x);

// Normalizations and losses.
// Rows of `width` elements to mean 0 and variance 1, in the shape of x; then mean and variance of each row.
Values normalized_rows(const Value& x, int64_t width, double epsilon, const Value& ones, const Value& zeros);
// (x - mean) / sqrt(variance + epsilon) * scale + bias, each one element a channel.
Value normalized_by(const Value& x, const Value& scale, const Value& bias, const Value& mean, const Value& variance,
                    double epsilon);
enum class Reduction { kNone, kMean, kSum };
// What log-probabilities [N,C,..] lose on labels [N,..] of int64 or int32. The mean is that of the weights (of the classes; left out:
// all 1) of the labels that are not `ignored`.
Value negative_likelihood(const Value& log_probabilities, const Value& labels, const Value& weights,
                          std::optional<int64_t> ignored, Reduction reduction);

// Numbers drawn with the trainer's seed; `key` tells streams apart.
Value drawn(Composer& in, int64_t key, int64_t distribution, double a, double b, ir::Shape shape);  // PT_RANDOM_*

// An image read at computed places, and the rules for what lies between and outside of its elements.
enum class Between { kLinear, kNearest, kCubic };
enum class Outside { kZeros, kBorder, kReflection };
// x [N,C,..] of one to three dimensions of space (cubic: up to two), grid [N,..,dimensions]. E0211, E0401.
Value sampled(const Value& x, const Value& grid, Between between, Outside outside, bool corners);

}  // namespace pantoum::import
