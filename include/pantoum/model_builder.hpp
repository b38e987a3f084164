// A model built in code: layers and functions on tensors, in the order of their calls. A network with a way past a layer.
// Example:
//
//   pantoum::Result<std::string> small() {
//     pantoum::ModelBuilder net("small");
//     auto x = net.input("x", {1, 28, 28});                                     // of one sample; the batch comes before it
//     x = net.relu(net.conv2d(x, {.channels = 8, .kernel = 3, .padding = 1, .name = "conv1"}));
//     x = x + net.conv2d(x, {.channels = 8, .kernel = 3, .padding = 1, .name = "conv2"});
//     net.output("logits", net.linear(net.flatten(x), {.features = 10, .name = "fc"}));
//     return net.onnx();                                                     // the bytes of an ONNX model in training form
//   }
//
// An invalid call returns a tensor that is not valid. Functions accept such tensors and return further invalid tensors; the error of onnx() lists
// every invalid call, with its layer and the line of the program. Only one thread at a time may use a builder; several builders are independent.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "pantoum/export.h"
#include "pantoum/layer_types.hpp"
#include "pantoum/result.hpp"
#include "pantoum/tensor.hpp"

namespace pantoum {

namespace layers {
class State;
}
class Layer;
class SharedLayer;

// The place of a call in the program, for messages; the default argument of every function fills it in. Replaces std::source_location, which some
// C++20 compilers lack.
struct Place {
  const char* file = "";
  unsigned line = 0;

  static constexpr Place current(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) noexcept {
    return {file, line};
  }
};

// A value of a model that is being built. A handle: a copy copies no data. The handle keeps the model of its builder alive.
class PANTOUM_API Tensor {
 public:
  Tensor() = default;  // makes a tensor of no model, which is not valid

  [[nodiscard]] bool valid() const;
  // Returns the extents; -1 for an extent that depends on the batch. Empty if the tensor is not valid.
  [[nodiscard]] std::vector<int64_t> shape() const;
  [[nodiscard]] DType dtype() const;

 private:
  friend class layers::State;
  Tensor(std::shared_ptr<layers::State> state, int32_t value) : state_(std::move(state)), value_(value) {}

  std::shared_ptr<layers::State> state_;
  int32_t value_ = -1;
};

// A tensor or a number as the operand of an operator (+, *, ..), with the line of the program.
class PANTOUM_API Operand {
 public:
  Operand(const Tensor& tensor, Place place = Place::current()) : tensor_(tensor), place_(place) {}
  Operand(double number, Place place = Place::current()) : number_(number), is_number_(true), place_(place) {}

  [[nodiscard]] bool is_number() const { return is_number_; }
  [[nodiscard]] double number() const { return number_; }
  [[nodiscard]] const Tensor& tensor() const { return tensor_; }
  [[nodiscard]] const Place& place() const { return place_; }

 private:
  Tensor tensor_;
  double number_ = 0;
  bool is_number_ = false;
  Place place_;
};

// These operators compute element by element, with numpy's broadcasting. A number has the type of the other operand.
[[nodiscard]] PANTOUM_API Tensor operator+(const Operand& a, const Operand& b);
[[nodiscard]] PANTOUM_API Tensor operator-(const Operand& a, const Operand& b);
[[nodiscard]] PANTOUM_API Tensor operator*(const Operand& a, const Operand& b);
[[nodiscard]] PANTOUM_API Tensor operator/(const Operand& a, const Operand& b);
[[nodiscard]] PANTOUM_API Tensor operator-(const Operand& a);

struct BuilderOptions {
  uint64_t seed = 0;  // seed of the parameters' initial values
};

// The results of lstm, gru and rnn. The states are those of the last layer, with both directions side by side.
struct Recurrent {
  Tensor output;       // [N, T, hidden]
  Tensor final_state;  // [N, hidden]
  Tensor final_cell;   // of an LSTM
};

// Attributes of an ONNX operator, by name: {{"axis", 1}, {"mode", "linear"}}.
using Attribute =
    std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>, std::vector<std::string>>;
using Attributes = std::map<std::string, Attribute>;

// The type of a value. -1: the extent is the batch.
struct ValueType {
  DType dtype = DType::f32;
  std::vector<int64_t> shape = {};
};

struct NodeOptions {
  Attributes attributes = {};
  int outputs = 1;
  std::string domain = {};  // "": the domain of ONNX
  // The types of the outputs, for an operator of another domain that the reader of the model registers; otherwise the types are inferred.
  std::vector<ValueType> types = {};
  std::string name = {};
};

class PANTOUM_API ModelBuilder {
 public:
  explicit ModelBuilder(std::string name = "model", BuilderOptions options = {});
  ModelBuilder(ModelBuilder&&) noexcept = default;
  ModelBuilder& operator=(ModelBuilder&&) noexcept = default;
  ModelBuilder(const ModelBuilder&) = delete;
  ModelBuilder& operator=(const ModelBuilder&) = delete;

  // ---- Inputs, outputs, parameters and constants.

  // Adds an input of the model with the shape [N, sample_shape..]. All inputs have the same batch.
  Tensor input(const std::string& name, std::vector<int64_t> sample_shape, DType dtype = DType::f32,
               Place = Place::current());
  // Makes the value an output of the model under this name. Outputs are in the order of these calls; the loss uses the first output unless it names
  // another.
  void output(const std::string& name, const Tensor& value, Place = Place::current());
  // Adds a parameter, which training changes.
  Tensor parameter(const std::string& name, std::vector<int64_t> shape, Initial initial = Initial::zeros(),
                   Place = Place::current());
  // Adds a constant: a table or a number, which training does not change.
  Tensor constant(std::vector<int64_t> shape, const std::vector<float>& elements, Place = Place::current());
  Tensor constant(double number, Place = Place::current());
  Tensor constant_i64(std::vector<int64_t> shape, const std::vector<int64_t>& elements, Place = Place::current());
  // Adds a constant of any type. Copies the elements; the name may be empty.
  Tensor constant(const TensorView& tensor, Place = Place::current());

  // ---- Layers. Each call makes its own parameters; make() returns a layer whose calls share parameters.

  // net.conv2d(x, {.channels = 8, .kernel = 3}), and so on, for each layer of the lists of layer_types.hpp.
#define PANTOUM_LAYER(Type, function, kind) \
  Tensor function(const Tensor& x, Type options = {}, Place = Place::current());
  PANTOUM_OPTION_LAYERS(PANTOUM_LAYER)
#undef PANTOUM_LAYER
  // net.dropout(x, 0.5), net.flatten(x), net.reshape(x, {0, 4, -1}), net.softmax(x), ...
#define PANTOUM_LAYER(Type, function, kind, Setting, ...) \
  Tensor function(const Tensor& x, Setting setting = __VA_ARGS__, Place = Place::current());
  PANTOUM_SETTING_LAYERS(PANTOUM_LAYER)
#undef PANTOUM_LAYER
  // net.relu(x), net.global_avg_pool(x), ...
#define PANTOUM_LAYER(Type, function, ...) Tensor function(const Tensor& x, Place = Place::current());
  PANTOUM_ELEMENT_LAYERS(PANTOUM_LAYER)
  PANTOUM_PLAIN_LAYERS(PANTOUM_LAYER)
#undef PANTOUM_LAYER
  Tensor linear(const Tensor& x, int64_t features, Place = Place::current());
  Recurrent lstm(const Tensor& x, Lstm options, Place = Place::current());
  Recurrent gru(const Tensor& x, Gru options, Place = Place::current());
  Recurrent rnn(const Tensor& x, Rnn options, Place = Place::current());
  // Attention of queries [N, T, E] to keys and values [N, S, ..]. `mask`, if valid, is added to the scores [N, heads, T, S].
  Tensor multi_head_attention(const Tensor& query, const Tensor& key, const Tensor& value, MultiHeadAttention options,
                              const Tensor& mask = {}, Place = Place::current());

  // Applies a layer or Sequential, with its own parameters.
  Tensor apply(const Layer& layer, const Tensor& x, Place = Place::current());
  // Returns a layer or Sequential that may be called several times with the same parameters.
  SharedLayer make(const Layer& layer, Place = Place::current());

  // ---- Elementwise functions; each is one operator of ONNX. Functions of two tensors broadcast. equal, less and greater return booleans.

#define PANTOUM_UNARY_FUNCTIONS(FUNCTION) \
  FUNCTION(exp, "Exp")                    \
  FUNCTION(log, "Log")                    \
  FUNCTION(sqrt, "Sqrt")                  \
  FUNCTION(abs, "Abs")                    \
  FUNCTION(neg, "Neg")                    \
  FUNCTION(erf, "Erf")                    \
  FUNCTION(sin, "Sin")                    \
  FUNCTION(cos, "Cos")
#define PANTOUM_BINARY_FUNCTIONS(FUNCTION) \
  FUNCTION(add, "Add")                     \
  FUNCTION(sub, "Sub")                     \
  FUNCTION(mul, "Mul")                     \
  FUNCTION(div, "Div")                     \
  FUNCTION(pow, "Pow")                     \
  FUNCTION(minimum, "Min")                 \
  FUNCTION(maximum, "Max")                 \
  FUNCTION(equal, "Equal")                 \
  FUNCTION(less, "Less")                   \
  FUNCTION(greater, "Greater")             \
  FUNCTION(matmul, "MatMul")
#define PANTOUM_FUNCTION(function, op_type) Tensor function(const Tensor& x, Place = Place::current());
  PANTOUM_UNARY_FUNCTIONS(PANTOUM_FUNCTION)
#undef PANTOUM_FUNCTION
#define PANTOUM_FUNCTION(function, op_type) Tensor function(const Tensor& a, const Tensor& b, Place = Place::current());
  PANTOUM_BINARY_FUNCTIONS(PANTOUM_FUNCTION)
#undef PANTOUM_FUNCTION
  Tensor clip(const Tensor& x, double least, double most, Place = Place::current());
  Tensor cast(const Tensor& x, DType dtype, Place = Place::current());
  Tensor where(const Tensor& condition, const Tensor& yes, const Tensor& no, Place = Place::current());

  // ---- Products and reductions. Without axes, a reduction is over all dimensions except the batch.

  Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands, Place = Place::current());
  Tensor sum(const Tensor& x, std::vector<int64_t> axes = {}, bool keep = false, Place = Place::current());
  Tensor mean(const Tensor& x, std::vector<int64_t> axes = {}, bool keep = false, Place = Place::current());
  Tensor max(const Tensor& x, std::vector<int64_t> axes = {}, bool keep = false, Place = Place::current());
  Tensor min(const Tensor& x, std::vector<int64_t> axes = {}, bool keep = false, Place = Place::current());
  Tensor argmax(const Tensor& x, int64_t axis = -1, bool keep = false, Place = Place::current());

  // [N, C r r, H, W] -> [N, C, r H, r W]
  Tensor pixel_shuffle(const Tensor& x, int64_t factor, Place = Place::current());

  // ---- Shapes and positions. A negative axis counts from the last; axis 0 is the batch.

  Tensor transpose(const Tensor& x, int64_t a, int64_t b, Place = Place::current());
  Tensor squeeze(const Tensor& x, std::vector<int64_t> axes, Place = Place::current());
  Tensor unsqueeze(const Tensor& x, std::vector<int64_t> axes, Place = Place::current());
  Tensor expand(const Tensor& x, std::vector<int64_t> shape, Place = Place::current());
  Tensor concat(const std::vector<Tensor>& parts, int64_t axis = 1, Place = Place::current());
  std::vector<Tensor> split(const Tensor& x, const std::vector<int64_t>& sizes, int64_t axis = 1,
                            Place = Place::current());
  // Splits into this number of equal parts.
  std::vector<Tensor> chunk(const Tensor& x, int64_t parts, int64_t axis = 1, Place = Place::current());
  // Returns the positions begin, begin + step, .. (below end) of one axis, as a slice in Python.
  Tensor slice(const Tensor& x, int64_t axis, int64_t begin, int64_t end, int64_t step = 1, Place = Place::current());
  // Returns one position of an axis; the result does not have that axis.
  Tensor select(const Tensor& x, int64_t axis, int64_t position, Place = Place::current());
  // Returns the positions of an axis that the integers name; the shape of the integers replaces the axis.
  Tensor gather(const Tensor& x, const Tensor& indices, int64_t axis, Place = Place::current());

  // ---- Other functions.

  // Adds any operator of ONNX (opset 21) or of another domain. Tensor{} stands for an omitted operand.
  std::vector<Tensor> node(const std::string& op_type, const std::vector<Tensor>& operands, NodeOptions options = {},
                           Place = Place::current());

  // Until the returned object goes out of scope, names of layers and parameters begin with "name.".
  class PANTOUM_API Scope {
   public:
    Scope(Scope&&) noexcept = default;
    Scope& operator=(Scope&&) = delete;
    ~Scope();

   private:
    friend class ModelBuilder;
    Scope(std::shared_ptr<layers::State> state, std::string before);
    std::shared_ptr<layers::State> state_;
    std::string before_;
  };
  [[nodiscard]] Scope scope(const std::string& name, Place = Place::current());

  // Returns the errors so far, one line for each invalid call.
  [[nodiscard]] const std::vector<std::string>& problems() const;
  // Returns names, shapes and elements of all parameters and running statistics so far, for reading and writing. Valid until the next call.
  [[nodiscard]] std::vector<TensorView> parameters() const;

  // Returns the model as the bytes of an ONNX file, for load_onnx. The same calls give the same bytes. E0213: some calls were invalid; the error
  // lists all of them.
  [[nodiscard]] Result<std::string> onnx() const;

 private:
  friend class layers::State;
  explicit ModelBuilder(std::shared_ptr<layers::State> state) : state_(std::move(state)) {}

  std::shared_ptr<layers::State> state_;
};

}  // namespace pantoum
