// Operators and optimizers whose rules and kernels are functions of Python, on numpy views of the arena.
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include "arrays.h"
#include "bindings.h"
#include "raise.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pantoum::python {
namespace {

using Type = std::pair<std::string, std::vector<int64_t>>;  // "f32", shape

// A function of Python that lives as long as the process: operators do, and the interpreter ends before them.
class Function {
 public:
  explicit Function(nb::object function) : function_(new nb::object(std::move(function))) {}
  [[nodiscard]] const nb::object& operator*() const { return *function_; }

 private:
  nb::object* function_;
};

Failure failure_of(const nb::python_error& thrown, const std::string& where) {
  return fail("E0107", std::string("the function raised: ") + thrown.what(), where, "mend the function");
}

// Calls with the GIL; what is thrown is an error of the operator's.
template <class Call>
auto guarded(const std::string& where, const Call& call) -> decltype(call()) {
  nb::gil_scoped_acquire held;
  try {
    return call();
  } catch (const nb::python_error& thrown) {
    return failure_of(thrown, where);
  } catch (const std::exception& thrown) {
    return fail("E0107", std::string("the function gave what does not fit: ") + thrown.what(), where);
  }
}

nb::list views_of(std::span<const TensorView> tensors, bool writable) {
  nb::list views;
  for (const TensorView& tensor : tensors) views.append(view_of(tensor, nb::none(), writable));
  return views;
}

Row settings_of(const KernelCall& call) {
  return row_of("ints", std::vector<int64_t>(call.ints().begin(), call.ints().end()), "reals",
                std::vector<double>(call.reals().begin(), call.reals().end()), "lr", call.lr(), "step", call.step(),
                "seed", call.seed());
}

// The views end with the call. A function that keeps one would see other memory later; the documentation forbids it.
Kernel kernel_of(const std::string& name, nb::object function) {
  return [name, function = Function(std::move(function))](const KernelCall& call) -> Result<void> {
    return guarded(name, [&]() -> Result<void> {
      (*function)(views_of(call.inputs(), false), views_of(call.outputs(), true), settings_of(call));
      return {};
    });
  };
}

std::vector<Type> types_of(const std::vector<TensorType>& types) {
  std::vector<Type> made;
  for (const TensorType& type : types) made.emplace_back(name_of(type.dtype), type.shape);
  return made;
}

Result<std::vector<TensorType>> types_of_python(const std::vector<Type>& types, const std::string& where) {
  std::vector<TensorType> made;
  for (const auto& [name, shape] : types) {
    const std::optional<DType> dtype = dtype_named(name);
    if (!dtype) return fail("E0211", "'" + name + "' is no type", where, "use f32, i64, i32, u8 or bool");
    made.push_back({*dtype, shape});
  }
  return made;
}

// function([(dtype, shape)], ints, reals)
template <class Made>
Made asked(const nb::object& function, const Operands& operands) {
  return nb::cast<Made>(function(types_of(operands.inputs), operands.ints, operands.reals));
}

void add_shape(CustomOperator& op, nb::object function) {
  op.shape = [name = op.name,
              function = Function(std::move(function))](const Operands& operands) -> Result<std::vector<TensorType>> {
    return guarded(name, [&]() -> Result<std::vector<TensorType>> {
      return types_of_python(asked<std::vector<Type>>(*function, operands), name);
    });
  };
}

void add_flops(CustomOperator& op, nb::object function) {
  if (function.is_none()) return;
  op.flops = [function = Function(std::move(function))](const Operands& operands) {
    nb::gil_scoped_acquire held;
    try {
      return asked<double>(*function, operands);
    } catch (...) {
      return 1.0;
    }
  };
}

using AttributeWords = std::vector<std::pair<std::string, std::optional<double>>>;

std::vector<OperatorAttribute> attributes_of(const AttributeWords& words) {
  std::vector<OperatorAttribute> made;
  for (const auto& [name, otherwise] : words) made.push_back({name, otherwise});
  return made;
}

void add_python_operator(const std::string& name, int64_t version, nb::object shape, nb::object kernel,
                         const nb::list& gradients, const AttributeWords& ints, const AttributeWords& reals,
                         nb::object flops, const std::vector<std::pair<int, int>>& in_place, bool deterministic) {
  CustomOperator op{.name = name, .version = version};
  add_shape(op, std::move(shape));
  op.kernel = kernel_of(name, std::move(kernel));
  for (nb::handle gradient : gradients)
    op.gradients.push_back({.of = nb::cast<std::vector<int>>(gradient[0]),
                            .reads_inputs = nb::cast<std::vector<int>>(gradient[1]),
                            .reads_outputs = nb::cast<std::vector<int>>(gradient[2]),
                            .kernel = kernel_of(name + ", gradient", nb::object(gradient[3])),
                            .flops_per_element = nb::cast<double>(gradient[4])});
  op.ints = attributes_of(ints);
  op.reals = attributes_of(reals);
  add_flops(op, std::move(flops));
  op.in_place = in_place;
  op.deterministic = deterministic;
  value_of(add_operator(std::move(op)));
}

void add_python_optimizer(const std::string& name, int64_t version, const std::vector<std::string>& states,
                          nb::object kernel) {
  value_of(add_optimizer(
      {.name = name, .version = version, .states = states, .kernel = kernel_of(name, std::move(kernel))}));
}

}  // namespace

void bind_custom(nb::module_& module) {
  module.def("load_plugin", [](const std::string& path) { value_of(load_plugin(path)); }, "path"_a,
             nb::sig("def load_plugin(path: str) -> None"));
  module.def("add_operator", &add_python_operator, "name"_a, "version"_a, "shape"_a, "kernel"_a, "gradients"_a,
             "ints"_a, "reals"_a, "flops"_a.none(), "in_place"_a, "deterministic"_a,
             nb::sig("def add_operator(name: str, version: int, shape: typing.Any, kernel: typing.Any, "
                     "gradients: list[typing.Any], ints: list[tuple[str, float | None]], "
                     "reals: list[tuple[str, float | None]], flops: typing.Any, in_place: list[tuple[int, int]], "
                     "deterministic: bool) -> None"));
  module.def("add_optimizer", &add_python_optimizer, "name"_a, "version"_a, "states"_a, "kernel"_a,
             nb::sig("def add_optimizer(name: str, version: int, states: list[str], kernel: typing.Any) -> None"));
}

}  // namespace pantoum::python
