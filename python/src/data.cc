// Data sets, and arrays of Python.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "bindings.h"
#include "raise.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pantoum::python {
namespace {

DType dtype_of(const nb::dlpack::dtype& dtype) {
  if (dtype == nb::dtype<float>()) return DType::f32;
  if (dtype == nb::dtype<int64_t>()) return DType::i64;
  if (dtype == nb::dtype<int32_t>()) return DType::i32;
  if (dtype == nb::dtype<uint8_t>()) return DType::u8;
  if (dtype == nb::dtype<bool>()) return DType::boolean;
  raise(fail("E0262", "elements are f32, i64, i32, u8 or bool", {}, "convert them").error());
}

nb::dlpack::dtype dlpack_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return nb::dtype<float>();
    case DType::i64:
      return nb::dtype<int64_t>();
    case DType::i32:
      return nb::dtype<int32_t>();
    case DType::u8:
      return nb::dtype<uint8_t>();
    case DType::boolean:
      return nb::dtype<bool>();
  }
  return nb::dtype<uint8_t>();
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

std::pair<PythonDataset, PythonDataset> open(nb::handle path, const OwnedPlan& plan, nb::handle test_path,
                                             nb::handle cache_folder, const std::vector<std::string>& label_columns) {
  DataOptions options{.label_columns = label_columns};
  if (!test_path.is_none()) options.test_path = path_of(test_path);
  if (!cache_folder.is_none()) options.cache_folder = path_of(cache_folder);
  const std::string folder = path_of(path);
  const Plan& of = plan_of(plan);
  DatasetPair pair = without_gil([&] { return Dataset::open(folder, of, options); });
  return {PythonDataset{std::move(pair.train), {}}, PythonDataset{std::move(pair.test), {}}};
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
  for (const DType dtype : {DType::f32, DType::i64, DType::i32, DType::u8, DType::boolean})
    if (name == name_of(dtype)) return dtype;
  return std::nullopt;
}

nb::object writable_view_of(const TensorView& tensor) {
  const std::vector<size_t> shape(tensor.shape.begin(), tensor.shape.end());
  const nb::object nobody = nb::none();
  return nb::cast(nb::ndarray<nb::numpy>(static_cast<void*>(tensor.data.data()), shape.size(), shape.data(), nobody,
                                         nullptr, dlpack_type(tensor.dtype)));
}

nb::object view_of(const TensorView& tensor, nb::handle owner) {
  const std::vector<size_t> shape(tensor.shape.begin(), tensor.shape.end());
  return nb::cast(nb::ndarray<nb::numpy, nb::ro>(static_cast<const void*>(tensor.data.data()), shape.size(),
                                                 shape.data(), owner, nullptr, dlpack_type(tensor.dtype)));
}

void bind_data(nb::module_& module) {
  nb::class_<PythonDataset>(module, "Dataset")
      .def(nb::init<>())
      .def_static("from_arrays", &from_arrays, "plan"_a, "arrays"_a,
                  nb::sig("def from_arrays(plan: Plan, arrays: list[typing.Any]) -> Dataset"))
      .def_static("open", &open, "path"_a, "plan"_a, "test_path"_a.none(), "cache_folder"_a.none(), "label_columns"_a)
      .def("count", [](const PythonDataset& self) { return self.data.count(); })
      .def("format", [](const PythonDataset& self) { return self.data.format(); })
      .def("classes", [](const PythonDataset& self) { return self.data.classes(); })
      .def_ro("data", &PythonDataset::data);
  nb::class_<Dataset>(module, "Samples");
}

}  // namespace pantoum::python
