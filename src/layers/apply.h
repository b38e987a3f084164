// The layers, one function each: what they make of a tensor at a site. The lists of layer_types.hpp declare them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "layers/state.h"
#include "pantoum/layers.hpp"

namespace pantoum::layers {

// Where one layer is built: its name, its parameters, its nodes, and its problems.

class Site {
 public:
  // A layer of this kind; without a name it gets one.
  Site(State& state, std::string_view kind, const std::string& wanted, const Place& place)
      : Site(state, kind, state.claim(kind, wanted, place), place, 0) {}
  // A layer under a name that is claimed already.
  static Site of_name(State& state, std::string_view kind, const std::string& full_name, const Place& place) {
    return {state, kind, full_name, place, 0};
  }

  [[nodiscard]] State& state() { return state_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Place& place() const { return place_; }

  // The result of a call that went wrong: not valid.
  [[nodiscard]] Tensor none() { return state_.handle(kNoValue); }
  // Reports what is wrong with this call; gives none().
  Tensor fail(const std::string& problem);
  // Claims the site's name for a value. Reports one that is none, or is another's.
  [[nodiscard]] bool names_value();
  // Is it a value of this model? Reports what never was one; what went wrong earlier was reported then.
  [[nodiscard]] bool takes(const Tensor& x);
  [[nodiscard]] bool takes(const std::vector<Tensor>& tensors);
  // takes(), and has as many dimensions; `form` shows them: "[N, C, H, W]". -1: `rank` or more.
  [[nodiscard]] bool takes(const Tensor& x, size_t rank, const char* form, bool or_more = false);

  // The shape of a valid tensor; -1 for the batch.
  [[nodiscard]] Shape shape(const Tensor& x) const;
  [[nodiscard]] std::string type(const Tensor& x) const;
  // An extent that does not depend on the batch; reports one that does.
  [[nodiscard]] std::optional<int64_t> extent(const Tensor& x, size_t dimension);
  // Reports a number outside its limits under its name.
  [[nodiscard]] bool within(const char* what, int64_t number, int64_t least, int64_t most = kMostExtent);
  [[nodiscard]] bool within(const char* what, double number, double least, double most);
  template <class Numbers>
  [[nodiscard]] bool all_within(const char* what, const Numbers& numbers, int64_t least) {
    for (const int64_t number : numbers)
      if (!within(what, number, least)) return false;
    return true;
  }

  // "name.weight", made once; of a shared layer the one that there is. `initial` that is left to the layer is `otherwise`.
  [[nodiscard]] Tensor parameter(const char* local, const Shape& shape, const Initial& initial,
                                 const Initial& otherwise, Role role = Role::kParameter);
  [[nodiscard]] Tensor parameter(const char* local, const Shape& shape, const Initial& initial) {
    return parameter(local, shape, initial, initial);
  }
  // Tensors that are not trained: a table under the site's name; a number or a list that a node reads, which nodes
  // may share.
  [[nodiscard]] Tensor table(DType dtype, const Shape& shape, Bytes elements);
  [[nodiscard]] Tensor constant(DType dtype, const Shape& shape, Bytes elements);
  [[nodiscard]] Tensor reals(const Shape& shape, const std::vector<float>& elements);
  [[nodiscard]] Tensor filled(const Shape& shape, float element);
  [[nodiscard]] Tensor number(float element) { return reals({}, {element}); }
  [[nodiscard]] Tensor integers(const std::vector<int64_t>& elements);
  [[nodiscard]] Tensor integer(int64_t element);

  // A node of ONNX, its types inferred; Tensor{} is an operand that is left out. Not valid where an operand is not, or it does not fit.
  Tensor node(const char* op_type, const std::vector<Tensor>& operands, Attributes attributes = {});
  std::vector<Tensor> nodes(const std::string& op_type, const std::vector<Tensor>& operands,
                            const NodeOptions& options);

 private:
  Site(State& state, std::string_view kind, std::string name, const Place& place, int)
      : state_(state), kind_(kind), name_(std::move(name)), place_(place) {}

  State& state_;
  std::string kind_, name_;
  Place place_;

  [[nodiscard]] std::string problem_of_constant(DType dtype, const Shape& shape, size_t bytes);
  [[nodiscard]] Tensor existing(const std::string& name, ValueId id, const Shape& shape);
};

// The kind of a layer, as messages name it. A layer without a name is called by its kind and a number.
template <class L>
inline constexpr std::string_view kKindOf;
template <class L>
constexpr std::string_view kind(const L&) {
  return kKindOf<L>;
}

#define PANTOUM_LAYER(Type, function, kind, ...)          \
  template <>                                             \
  inline constexpr std::string_view kKindOf<Type> = kind; \
  Tensor apply(Site& site, const Type& layer, const Tensor& x);
#define PANTOUM_ELEMENT(Type, function, op_type) PANTOUM_LAYER(Type, function, #function)
PANTOUM_ELEMENT_LAYERS(PANTOUM_ELEMENT)
PANTOUM_OPTION_LAYERS(PANTOUM_LAYER)
PANTOUM_PLAIN_LAYERS(PANTOUM_LAYER)
PANTOUM_SETTING_LAYERS(PANTOUM_LAYER)
PANTOUM_OTHER_LAYERS(PANTOUM_LAYER)
#undef PANTOUM_ELEMENT
#undef PANTOUM_LAYER

// Functions of several results or operands, of which apply() uses a part.
Recurrent recur(Site& site, const Lstm& layer, const Tensor& x);
Recurrent recur(Site& site, const Gru& layer, const Tensor& x);
Recurrent recur(Site& site, const Rnn& layer, const Tensor& x);
Tensor attend(Site& site, const MultiHeadAttention& layer, const Tensor& query, const Tensor& key, const Tensor& value,
              const Tensor& mask);

[[nodiscard]] std::string_view kind_of(const Layer& layer);
[[nodiscard]] const std::string& name_of(const Layer& layer);
// The layer at its site.
Tensor apply(Site& site, const Layer& layer, const Tensor& x);

// A layer without a place in a row: named as it says, or by its kind.
template <class L>
Tensor call(State& state, const L& layer, const Tensor& x, const Place& place) {
  Site site(state, kind(layer), layer.name, place);
  return apply(site, layer, x);
}

// ---- What convolutions and pools share.

// The forms of inputs with 1, 2 and 3 dimensions of space.
inline constexpr std::array kForms = {"[N, C, L]", "[N, C, H, W]", "[N, C, D, H, W]"};

template <std::size_t dimensions>
std::vector<int64_t> list(const Extents<dimensions>& extents) {
  return {extents.values.begin(), extents.values.end()};
}

// The same before and behind.
template <std::size_t dimensions>
std::vector<int64_t> both_sides(const Extents<dimensions>& padding) {
  std::vector<int64_t> pads = list(padding);
  pads.insert(pads.end(), padding.values.begin(), padding.values.end());
  return pads;
}

// x times a weight of [features, in] plus a bias, as PyTorch's functional linear; either may be not valid after a problem. `bias`: Tensor{} is none.
Tensor affine(Site& site, const Tensor& x, const Tensor& weight, const Tensor& bias);

}  // namespace pantoum::layers
