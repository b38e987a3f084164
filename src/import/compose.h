// How operators of both front ends become ops: values, arithmetic on them, and what is composed of it.
#pragma once

#include <fmt/format.h>

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
  Value(Composer& in, ValueId id) : in_(&in), id_(id) {}
  operator ValueId() const { return id_; }
  explicit operator bool() const { return id_ != ir::kNone; }
  [[nodiscard]] Composer& in() const { return *in_; }
  [[nodiscard]] TensorType type() const;
  [[nodiscard]] Shape shape() const { return type().shape; }
  [[nodiscard]] size_t rank() const { return type().shape.size(); }
  [[nodiscard]] DType dtype() const { return type().dtype; }
  [[nodiscard]] bool is_real() const { return ir::is_float(dtype()); }
  [[nodiscard]] int64_t elements() const { return type().elements(); }

 private:
  Composer* in_ = nullptr;
  ValueId id_ = ir::kNone;
};

using Values = std::vector<Value>;

// The graph to which all operators of one lowering append.
struct Scope {
  explicit Scope(Graph& graph) : builder(graph) {}

  ir::Builder builder;
  int64_t constant_budget = int64_t{1} << 22;           // elements that constants made while lowering may still have
  std::map<std::pair<int64_t, float>, ValueId> filled;  // constant vectors, by length and element
  bool folds = false;  // the graph is evaluated at once: no operand changes, and constants may be empty
};

// Appends what one operator becomes; ops and constants carry its label.
class Composer {
 public:
  Composer(Scope& scope, std::string label) : scope_(scope), label_(std::move(label)) {}

  [[nodiscard]] const std::string& label() const { return label_; }
  [[nodiscard]] ir::Builder& builder() const { return scope_.builder; }
  [[nodiscard]] Value at(ValueId id) { return {*this, id}; }

  // Keeps the failure if it is the first.
  Value refuse(Failure failure);
  [[nodiscard]] Result<void> refusal() const;  // the first failure, if there was one

  // Appends an op after asking its rule (E0211): its output, or all of them.
  Value op(Kind kind, const Values& inputs, Attrs attrs = {}, std::vector<TensorType> given = {});
  Values ops(Kind kind, const Values& inputs, Attrs attrs = {}, std::vector<TensorType> given = {});

  Value constant(DType dtype, Shape shape, const std::vector<double>& values);
  Value whole(DType dtype, Shape shape, const Integers& values);  // wrapped to an integer type
  Value number(DType dtype, double value);                        // without dimensions
  Value positions(int64_t count, Shape shape, int64_t first = 0, int64_t step = 1, DType dtype = DType::kI64);
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

  Value nothing_of(Kind kind, const std::vector<TensorType>& types, const std::vector<TensorType>& given);
};

// As long as this object lives, appended ops carry the composer's label with this suffix.
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

// E0211: what does not fit.
template <class... Args>
[[nodiscard]] Failure misfit(fmt::format_string<Args...> why, Args&&... args) {
  return fail("E0211", fmt::format(why, std::forward<Args>(args)...));
}
// E0401 with what to do.
[[nodiscard]] Failure unsupported(std::string why, std::string help = {});

// Element by element. Operands of one type broadcast.
Value apply(Kind kind, const Value& x, Attrs attrs = {});
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
Value negative(const Value& x);   // -x, as a function
Value square(const Value& x);
Value reciprocal(const Value& x);
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
Value cast(const Value& x, DType dtype);                          // x itself where it has the type
Value compare(const Value& a, int64_t relation, const Value& b);  // PT_COMPARE_*
Value compare(const Value& a, int64_t relation, double b);
Value where(const Value& condition, const Value& a, const Value& b);
Value bitwise(const Value& a, int64_t operation, const Value& b);  // PT_BITWISE_*
Value bits_inverted(const Value& x);                               // of bools: not
Value is_nan(const Value& x);
Value inverted(const Value& truth);  // of bools, by a comparison
// What torch has a gradient of its own for, at a kink.
Value not_below(const Value& x, const Value& least);  // as torch.clamp: x itself at the bound
Value not_above(const Value& x, const Value& most);
Value chosen_above(const Value& x, double threshold, const Value& other);  // x where it is above, else the other
Value prelu(const Value& x, const Value& slope);
Value log_sigmoid(const Value& x);
Value root_of_squares(const Value& sum);                  // the root of a sum of squares; 0 has slope 0
Value root_of_powers(const Value& sum, double exponent);  // the same of powers above 1; 0 < exponent < 1
Value opposite(const Value& x);  // turns the order around without an overflow: -x, or all bits inverted
Value detached(const Value& x);  // the same value, through which no gradient passes
Value softmax(const Value& x, size_t axis);
Value log_softmax(const Value& x, size_t axis);

// Movements. A dimension is counted from 0.
Value reshape(const Value& x, Shape shape);
Value flattened(const Value& x);
Value transpose(const Value& x, const Integers& perm);
Value expand(const Value& x, Shape shape);              // x itself where it has the shape
Value repeated(const Value& x, const Integers& times);  // by dimension
Value piece(const Value& x, size_t axis, int64_t begin, int64_t count, int64_t step = 1);
// The pieces of all dimensions; the part itself where x was concatenated from it.
Value sliced(const Value& x, const std::vector<SlicePiece>& pieces);
// Zeros around x, by dimension; x itself where there are none.
Value with_zeros(const Value& x, const Integers& before, const Integers& after);
Value concat(const Values& parts, size_t axis);
Values split(const Value& x, size_t axis, const Integers& extents);
Value gather(const Value& x, const Value& indices, size_t axis);
Value gather_elements(const Value& x, const Value& indices, size_t axis);
Value scatter(const Value& x, const Value& indices, const Value& updates, size_t axis, int64_t how);  // PT_SCATTER_*
Value apart(const Value& x);  // with a dimension of 1 behind
// Rows of a table. That of the padding (below 0: none) gets no gradient; by frequency, a row's gradient is divided by how often the
// indices name it.
Value embedded(const Value& table, const Value& indices, int64_t padding, bool by_frequency);
// The elements at the first maximum, or minimum, along the axis, which stays as 1: they alone get the gradient; and their positions.
Values extreme_along(const Value& x, size_t axis, bool least);
Value position_of_extreme(const Value& x, size_t axis, bool least);
Value top_k(const Value& x, size_t axis, int64_t count, bool largest);  // positions
// [C] as [C,1,..], for a value of `rank` dimensions whose channels are dimension 1.
Value by_channel(const Value& vector, size_t rank);

// Reductions over the dimensions (none: all of them); `keep` leaves them as 1.
Value reduce(Kind kind, const Value& x, const Integers& dimensions, bool keep);
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
Value drawn(Composer& in, int64_t key, int64_t distribution, double a, double b, Shape shape);  // PT_RANDOM_*

// An image read at computed places, and the rules for what lies between and outside of its elements.
enum class Between { kLinear, kNearest, kCubic };
enum class Outside { kZeros, kBorder, kReflection };
// x [N,C,..] of one to three dimensions of space (cubic: up to two), grid [N,..,dimensions]. E0211, E0401.
Value sampled(const Value& x, const Value& grid, Between between, Outside outside, bool corners);

// Windows that slide over an image: convolutions, their transposes, poolings, as ops. [N,C,..] of one to three dimensions of space, which
// [N,C,L] has as [N,C,1,L].

// One dimension of space.
struct Window {
  int64_t kernel = 1, stride = 1, before = 0, after = 0, dilation = 1;
};
using Windows = std::vector<Window>;

// E0401 unless there are one to three dimensions of space.
[[nodiscard]] Result<void> want_space(size_t dimensions);

// Makes `after` so large that the last window fits, which begins inside the image or the padding before it (ceil_mode).
void grow_to_ceil(Window& window, int64_t extent);

// The bias may be left out.
Value convolution(const Value& x, const Value& weight, const Value& bias, const Windows& windows, int64_t groups);

// One dimension of space of a transposed convolution. `extra` elements more are made behind than the windows determine; `extent`, where it
// is not 0, is that of the result.
struct Upward {
  Window window;
  int64_t extra = 0, extent = 0;
};
// Without a bias: `with_bias` adds one.
Value transposed_convolution(const Value& x, const Value& weight, const std::vector<Upward>& up, int64_t groups);
// y [N,C,..] with one element added for each channel. The bias may be left out.
Value with_bias(const Value& y, const Value& bias);

Value max_pool(const Value& x, const Windows& windows);
// `ceil`: windows that reach behind the padding count, without what lies there. `count_padding`: the padding counts as zeros.
Value average_pool(const Value& x, Windows windows, bool ceil, bool count_padding);

// Resizing: every element of the result is a weighted sum of elements of the source, axis by axis.

enum class ResizeMode : int64_t { kNearest, kLinear, kCubic };
// The first four are those of the resize op (PT_RESIZE_*), in its order.
enum class ResizeCoordinates : int64_t {
  kHalfPixel,
  kAsymmetric,
  kAlignCorners,
  kPytorchHalfPixel,
  kHalfPixelSymmetric,
  kCropAndResize
};

struct ResizeRule {
  ResizeMode mode = ResizeMode::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  int64_t rounding = 0;  // of nearest: PT_RESIZE_FLOOR, ...
  bool antialias = false, exclude_outside = false;
  double cubic_a = -0.75;
  double beyond = 0;  // what lies outside of the source, of kCropAndResize alone
};

struct ResizeAxis {
  int64_t from = 1, to = 1;
  double scale = 1;
  double begin = 0, end = 1;  // the part of the source that is resized, of kCropAndResize alone
  // Is every element its own source?
  [[nodiscard]] bool stays() const;
};

// The weights [to, from], row by row, as ONNX's reference has them; a row of zeros where kCropAndResize reads outside.
[[nodiscard]] std::vector<double> resize_weights(const ResizeRule& rule, const ResizeAxis& axis);

// Every dimension of x by its axis: nearest and linear are an op on the last two dimensions, the rest is a product with the weights.
Value resized(const Value& x, const ResizeRule& rule, const std::vector<ResizeAxis>& axes);

// The axis of a dimension that becomes `extent` elements, or `factor` times as many. E0211 where that is out of range.
[[nodiscard]] Result<ResizeAxis> axis_to(int64_t from, double extent);
[[nodiscard]] Result<ResizeAxis> axis_by(int64_t from, double factor);

// One index along an axis of something concatenated is often a value of its own: the last time step of a sequence.

// x at `index` of `axis`, which keeps its place with extent 1; looked for through transposes, reshapes that leave the
// axis whole, and concats, through a few ops at most. ir::kNone where only a slice of x would do; then nothing of use was
// appended.
[[nodiscard]] ValueId concat_part(ir::Builder& builder, ValueId x, size_t axis, int64_t index);

// Running statistics of a batch norm that the model calls several times in a step (twin networks, a head shared by levels).

// The buffer of which earlier calls left this value, its mean (0) or variance (1); ir::kNone: of none.
[[nodiscard]] ValueId kept_statistic(const Graph& graph, ValueId value, size_t which);

// Every call has a batch_norm_stats of its own, on the same buffers or on what an earlier call left of them. One that stands
// for all of them takes their place, since a buffer is updated once a step: m' = W m + (1 - W) sum_i c_i m_i, where w_i is what
// call i keeps of the old, W = product of all w_i, and c_i = (1 - w_i) (product of w_j behind i) / (1 - W).
void merge_statistics(ir::Builder& builder);

}  // namespace pantoum::import
