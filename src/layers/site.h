// Where one layer is built: its name, its parameters, its nodes, and its problems.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "layers/state.h"

namespace pantoum::layers {

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

}  // namespace pantoum::layers
