// A step in two halves: Trainer.gradients and Trainer.update, and what is between them.
#pragma once

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <memory>
#include <optional>

#include "arrays.h"
#include "bindings.h"
#include "raise.h"

namespace pantoum::python {

// `on_gradient(name, in_ram)` in Python, called from a run that holds no GIL. What it throws first is raised after the run.
class GradientCallback {
 public:
  explicit GradientCallback(nanobind::object call) : call_(std::move(call)) {}

  [[nodiscard]] OnGradient function() {
    if (call_.is_none()) return {};
    return [this](const TensorView& gradient) {
      if (thrown_) return;
      const nanobind::gil_scoped_acquire held;
      try {
        call_(std::string(gradient.name), !gradient.data.empty());
      } catch (...) {
        thrown_ = std::current_exception();
      }
    };
  }
  void raise_what_was_thrown() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  nanobind::object call_;
  std::exception_ptr thrown_;
};

// "gradient", "state" (of the optimizer), "changes" (what training changes beside these), "fixed".
[[nodiscard]] inline const char* kind_of(const TensorInfo& tensor) {
  if (tensor.is_gradient) return "gradient";
  if (tensor.is_state) return "state";
  return tensor.changes ? "changes" : "fixed";
}

// Step, loss, learning rate.
using Stats = TupleOf<uint64_t, double, double>;
using OnGradientCall = nanobind::typed<nanobind::callable, nanobind::any(nanobind::str, bool)>;
using KindRows =
    nanobind::typed<nanobind::list, TupleOf<nanobind::str, nanobind::str,
                                            nanobind::typed<nanobind::list, nanobind::int_>, nanobind::str>>;

template <class Trainer>
Stats gradients_of(Trainer& self, const std::vector<Given>& arrays, std::optional<OnGradientCall> on_gradient) {
  const typename Trainer::Turn turn(self, true);
  const Batch batch = batch_of(arrays);
  GradientCallback callback(on_gradient ? nanobind::object(*on_gradient) : nanobind::none());
  const OnGradient tell = callback.function();
  Result<StepStats> stats = [&] {
    const nanobind::gil_scoped_release released;
    return turn->gradients(batch, tell);
  }();
  callback.raise_what_was_thrown();
  const StepStats made = value_of(std::move(stats));
  return nanobind::make_tuple(made.step, made.loss, made.lr);
}

template <class Trainer>
Stats update_of(Trainer& self) {
  const typename Trainer::Turn turn(self, true);
  const StepStats made = without_gil([&] { return turn->update(); });
  return nanobind::make_tuple(made.step, made.loss, made.lr);
}

// A view that may be written, of a gradient between the halves; it keeps the arena, also after close().
template <class Trainer>
nanobind::ndarray<nanobind::numpy, float> gradient_of(Trainer& self, const std::string& name) {
  const typename Trainer::Turn turn(self, false);
  const TensorView view = value_of(turn->tensor(name));
  if (!name.starts_with("accumulated.") || view.dtype != DType::f32)
    raise(pantoum::fail("E0104", "there is no gradient '" + name + "'", name).error());
  auto keeps = std::make_unique<OwnedTrainer>(self.shared());
  const nanobind::capsule owner(keeps.get(), [](void* kept) noexcept { delete static_cast<OwnedTrainer*>(kept); });
  static_cast<void>(keeps.release());
  const std::vector<size_t> shape(view.shape.begin(), view.shape.end());
  return nanobind::ndarray<nanobind::numpy, float>(reinterpret_cast<float*>(view.data.data()), shape.size(),
                                                   shape.data(), owner);
}

template <class Trainer>
KindRows tensor_kinds_of(Trainer& self) {
  const typename Trainer::Turn turn(self, false);
  nanobind::list all;
  for (const TensorInfo& tensor : turn->tensors())
    all.append(nanobind::make_tuple(tensor.name, std::string(name_of(tensor.dtype)), nanobind::cast(tensor.shape),
                                    kind_of(tensor)));
  return all;
}

template <class Trainer>
void bind_halves(nanobind::class_<Trainer>& trainer) {
  using namespace nanobind::literals;
  trainer
      .def("gradients", &gradients_of<Trainer>, "arrays"_a, "on_gradient"_a.none(),
           nanobind::sig("def gradients(self, arrays: list[typing.Any], on_gradient: typing.Callable[[str, bool], "
                         "typing.Any] | None) -> tuple[int, float, float]"),
           "step, loss, lr")
      .def("update", &update_of<Trainer>, "step, loss, lr")
      .def("gradient", &gradient_of<Trainer>, "name"_a, "A view, which may be written between gradients and update.")
      .def("tensor_kinds", &tensor_kinds_of<Trainer>, "name, dtype, shape, kind");
}

}  // namespace pantoum::python
