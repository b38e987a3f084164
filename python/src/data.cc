// Data sets, and arrays of Python.
#include <nanobind/stl/pair.h>

#include <array>

#include "arrays.h"
#include "bindings.h"
#include "raise.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pantoum::python {
namespace {

// The types of tensors, in the library and in arrays.
constexpr std::array kTypes{std::pair(DType::f32, nb::dtype<float>()), std::pair(DType::i64, nb::dtype<int64_t>()),
                            std::pair(DType::i32, nb::dtype<int32_t>()), std::pair(DType::u8, nb::dtype<uint8_t>()),
                            std::pair(DType::boolean, nb::dtype<bool>())};

DType dtype_of(const nb::dlpack::dtype& given) {
  for (const auto& [type, in_arrays] : kTypes)
    if (given == in_arrays) return type;
  raise(fail("E0262", "elements are f32, i64, i32, u8 or bool", {}, "convert them"));
}

// Samples in arrays, which are kept alive with it.
struct PythonDataset {
  Dataset data;
  std::vector<Given> arrays;
};

PythonDataset from_arrays(const OwnedPlan& plan, std::vector<Given> arrays) {
  Dataset data = value_of(Dataset::from_arrays(plan_of(plan), batch_of(arrays)));
  return {std::move(data), std::move(arrays)};
}

std::pair<PythonDataset, PythonDataset> open(nb::handle path, const OwnedPlan& plan, const DataOptions& options) {
  const std::string folder = path_of(path);
  const Plan& of = plan_of(plan);
  DatasetPair pair = without_gil([&] { return Dataset::open(folder, of, options); });
  return {PythonDataset{std::move(pair.train), {}}, PythonDataset{std::move(pair.test), {}}};
}

std::pair<PythonDataset, PythonDataset> hold_out(const PythonDataset& self, double share) {
  DatasetPair pair = value_of(self.data.hold_out(share));
  return {PythonDataset{std::move(pair.train), self.arrays}, PythonDataset{std::move(pair.test), self.arrays}};
}

}  // namespace

Batch batch_of(const std::vector<Given>& arrays) {
  Batch batch;
  batch.reserve(arrays.size());
  for (const Given& array : arrays)
    batch.emplace_back(dtype_of(array.dtype()), std::span(static_cast<const std::byte*>(array.data()), array.nbytes()));
  return batch;
}

std::optional<DType> dtype_named(const std::string& name) {
  for (const auto& [type, in_arrays] : kTypes)
    if (name == name_of(type)) return type;
  return std::nullopt;
}

nb::object view_of(const TensorView& tensor, nb::handle owner, bool writable) {
  const std::vector<size_t> shape(tensor.shape.begin(), tensor.shape.end());
  void* const data = tensor.data.data();
  nb::dlpack::dtype type{};
  for (const auto& [known, in_arrays] : kTypes)
    if (known == tensor.dtype) type = in_arrays;
  if (writable) return nb::cast(nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), owner, nullptr, type));
  return nb::cast(nb::ndarray<nb::numpy, nb::ro>(data, shape.size(), shape.data(), owner, nullptr, type));
}

void bind_data(nb::module_& module) {
  bind_settings<DataOptions>(module, "DataOptions");
  nb::class_<PythonDataset>(module, "Dataset")
      .def(nb::init<>())
      .def_static("from_arrays", &from_arrays, "plan"_a, "arrays"_a,
                  nb::sig("def from_arrays(plan: Plan, arrays: list[typing.Any]) -> Dataset"))
      .def_static("open", &open, "path"_a, "plan"_a, "options"_a)
      .def("count", [](const PythonDataset& self) { return self.data.count(); })
      .def("format", [](const PythonDataset& self) { return self.data.format(); })
      .def("classes", [](const PythonDataset& self) { return self.data.classes(); })
      .def("warnings", [](const PythonDataset& self) { return self.data.warnings(); })
      .def("hold_out", &hold_out, "share"_a)
      .def_ro("data", &PythonDataset::data);
  nb::class_<Dataset>(module, "Samples");
}

}  // namespace pantoum::python
