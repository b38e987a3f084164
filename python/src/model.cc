// Models and their options.
#include <nanobind/stl/variant.h>

#include "aten/operators.h"
#include "bindings.h"
#include "raise.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pantoum::python {
namespace {

void bind_options(nb::module_& module) {
  bind_settings<Loss>(module, "Loss");
  bind_settings<Sgd>(module, "Sgd");
  bind_settings<Adam>(module, "Adam");
  bind_settings<AdamW>(module, "AdamW");
  bind_settings<RmsProp>(module, "RmsProp");
  bind_settings<Adagrad>(module, "Adagrad");
  bind_settings<SparseAdam>(module, "SparseAdam");
  bind_settings<CustomUpdate>(module, "CustomUpdate");
  bind_settings<ParameterGroup>(module, "Group");
  bind_settings<ModelOptions>(module, "ModelOptions")
      .def(
          "set_groups", [](ModelOptions& self, const std::vector<ParameterGroup>& groups) { self.groups = groups; },
          "groups"_a)
      .def(
          "set_losses", [](ModelOptions& self, const std::vector<Loss>& terms) { self.loss = terms; }, "terms"_a)
      .def(
          "set_optimizer", [](ModelOptions& self, const Optimizer& optimizer) { self.optimizer = optimizer; },
          "optimizer"_a);
}

void bind_info(nb::module_& module) {
  nb::class_<NodeInfo>(module, "NodeInfo", "One node of the model's file.")
      .def_ro("name", &NodeInfo::name)
      .def_ro("op_type", &NodeInfo::op_type)
      .def_ro("domain", &NodeInfo::domain)
      .def_ro("runs", &NodeInfo::runs)
      .def_ro("trains", &NodeInfo::trains)
      .def_ro("problem", &NodeInfo::problem, "Empty: fine; else what is wrong and what to do.")
      .def_ro("output_shapes", &NodeInfo::output_shapes)
      .def("__repr__", [](const NodeInfo& self) { return "<node '" + self.name + "' (" + self.op_type + ")>"; });
  nb::class_<WeightInfo>(module, "WeightInfo", "A tensor of the model's file.")
      .def_ro("name", &WeightInfo::name)
      .def_ro("type", &WeightInfo::type, "\"f32[64,3,7,7]\"")
      .def_ro("trains", &WeightInfo::trains)
      .def_ro("why", &WeightInfo::why)
      .def("__repr__", [](const WeightInfo& self) { return "<weight '" + self.name + "' " + self.type + ">"; });
  nb::class_<ModelInfo>(module, "ModelInfo", "What `pantoum.inspect` tells of a model.")
      .def_ro("producer", &ModelInfo::producer)
      .def_ro("graph_name", &ModelInfo::graph_name)
      .def_ro("opset", &ModelInfo::opset)
      .def_ro("parameter_count", &ModelInfo::parameter_count)
      .def_ro("inputs", &ModelInfo::inputs, "\"x f32[N,3,8,8]\"")
      .def_ro("outputs", &ModelInfo::outputs)
      .def_ro("nodes", &ModelInfo::nodes)
      .def_ro("weights", &ModelInfo::weights)
      .def_ro("warnings", &ModelInfo::warnings)
      .def_ro("notes", &ModelInfo::notes)
      .def_prop_ro(
          "refusal", [](const ModelInfo& self) { return self.refusal ? to_text(*self.refusal) : std::string(); },
          "Why it cannot be trained; empty: it can.");
}

}  // namespace

void bind_model(nb::module_& module) {
  module.def(
      "torch_operators",
      [] {
        std::vector<std::string> names;
        for (const auto& [name, entry] : aten::all_operators()) names.push_back(name);
        return names;
      },
      "The operators of ATen that a step can have, without \"aten.\".");
  bind_options(module);
  bind_info(module);
  nb::class_<Model>(module, "Model")
      .def_static(
          "from_file",
          [](nb::handle path, const ModelOptions& options) {
            const std::string file = path_of(path);
            return without_gil([&] { return Model::from_file(file, options); });
          },
          "path"_a, "options"_a)
      .def_static(
          "from_bytes",
          [](const nb::bytes& contents, const ModelOptions& options) {
            std::string bytes(contents.c_str(), contents.size());
            return without_gil([&] { return Model::from_onnx(std::move(bytes), options); });
          },
          "contents"_a, "options"_a)
      .def("inspect", [](const Model& self) { return without_gil([&] { return self.inspect(); }); })
      .def("contents",
           [](const Model& self) {
             const std::string bytes = value_of(self.contents());
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def(
          "save",
          [](const Model& self, nb::handle path) {
            const std::string file = path_of(path);
            without_gil([&] { return self.save(file); });
          },
          "path"_a)
      .def(
          "with_options",
          [](const Model& self, const ModelOptions& options) {
            return without_gil([&] { return self.with(options); });
          },
          "options"_a);
}

}  // namespace pantoum::python
