// Models and their options.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "raise.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pantoum::python {
namespace {

void bind_loss(nb::module_& module) {
  nb::class_<Loss>(module, "Loss")
      .def(nb::init<>())
      .def_rw("name", &Loss::name)
      .def_prop_rw(
          "output", [](const Loss& self) { return self.output.value_or(""); },
          [](Loss& self, const std::string& name) { self.output = name.empty() ? std::nullopt : std::optional(name); })
      .def_rw("weight", &Loss::weight)
      .def_rw("smoothing", &Loss::smoothing)
      .def_rw("ignore_index", &Loss::ignore_index)
      .def_rw("beta", &Loss::beta)
      .def_rw("classes_last", &Loss::classes_last)
      .def_rw("mean_of_batch", &Loss::mean_of_batch);
}

void bind_optimizers(nb::module_& module) {
  nb::class_<Sgd>(module, "Sgd")
      .def(nb::init<>())
      .def_rw("lr", &Sgd::lr)
      .def_rw("momentum", &Sgd::momentum)
      .def_rw("weight_decay", &Sgd::weight_decay)
      .def_rw("nesterov", &Sgd::nesterov);
  nb::class_<Adam>(module, "Adam")
      .def(nb::init<>())
      .def_rw("lr", &Adam::lr)
      .def_rw("beta1", &Adam::beta1)
      .def_rw("beta2", &Adam::beta2)
      .def_rw("eps", &Adam::eps)
      .def_rw("weight_decay", &Adam::weight_decay);
  nb::class_<AdamW>(module, "AdamW")
      .def(nb::init<>())
      .def_rw("lr", &AdamW::lr)
      .def_rw("beta1", &AdamW::beta1)
      .def_rw("beta2", &AdamW::beta2)
      .def_rw("eps", &AdamW::eps)
      .def_rw("weight_decay", &AdamW::weight_decay);
  nb::class_<RmsProp>(module, "RmsProp")
      .def(nb::init<>())
      .def_rw("lr", &RmsProp::lr)
      .def_rw("alpha", &RmsProp::alpha)
      .def_rw("eps", &RmsProp::eps)
      .def_rw("momentum", &RmsProp::momentum)
      .def_rw("weight_decay", &RmsProp::weight_decay)
      .def_rw("centered", &RmsProp::centered);
  nb::class_<Adagrad>(module, "Adagrad")
      .def(nb::init<>())
      .def_rw("lr", &Adagrad::lr)
      .def_rw("lr_decay", &Adagrad::lr_decay)
      .def_rw("eps", &Adagrad::eps)
      .def_rw("weight_decay", &Adagrad::weight_decay);
  nb::class_<CustomUpdate>(module, "CustomUpdate")
      .def(nb::init<>())
      .def_rw("name", &CustomUpdate::name)
      .def_rw("lr", &CustomUpdate::lr)
      .def_rw("settings", &CustomUpdate::settings);
}

void bind_options(nb::module_& module) {
  nb::class_<ModelOptions>(module, "ModelOptions")
      .def(nb::init<>())
      .def_rw("batch", &ModelOptions::batch, nb::for_setter(nb::arg().none()))
      .def_prop_rw(
          "losses", [](const ModelOptions& self) { return self.loss.terms(); },
          [](ModelOptions& self, const std::vector<Loss>& terms) { self.loss = terms; })
      .def_rw("optimizer", &ModelOptions::optimizer)
      .def_prop_rw(
          "decays",
          [](const ModelOptions& self) {
            std::vector<std::pair<std::string, double>> decays;
            for (const DecayOf& decay : self.decays) decays.emplace_back(decay.names, decay.weight_decay);
            return decays;
          },
          [](ModelOptions& self, const std::vector<std::pair<std::string, double>>& decays) {
            self.decays.clear();
            for (const auto& [names, decay] : decays) self.decays.push_back({names, decay});
          })
      .def_rw("accumulate", &ModelOptions::accumulate)
      .def_rw("split_update", &ModelOptions::split_update)
      .def_rw("clip_value", &ModelOptions::clip_value, nb::for_setter(nb::arg().none()))
      .def_rw("clip_norm", &ModelOptions::clip_norm, nb::for_setter(nb::arg().none()))
      .def_rw("freeze", &ModelOptions::freeze)
      .def_rw("train", &ModelOptions::train)
      .def_rw("freeze_stats", &ModelOptions::freeze_stats)
      .def_rw("accept_folded", &ModelOptions::accept_folded)
      .def_prop_rw(
          "weights",
          [](const ModelOptions& self) {
            const std::string path = self.weights.value_or("");
            return nb::bytes(path.data(), path.size());
          },
          [](ModelOptions& self, const nb::bytes& path) {
            self.weights = path.size() > 0 ? std::optional(std::string(path.c_str(), path.size())) : std::nullopt;
          })
      .def_rw("keep_init", &ModelOptions::keep_init)
      .def_prop_rw(
          "feature_cache",
          [](const ModelOptions& self) {
            return self.feature_cache ? std::optional(self.feature_cache->count()) : std::nullopt;
          },
          [](ModelOptions& self, std::optional<int64_t> bytes) {
            self.feature_cache = bytes ? std::optional(Bytes(*bytes)) : std::nullopt;
          },
          nb::for_setter(nb::arg().none()))
      .def_prop_rw(
          "top5", [](const ModelOptions& self) { return self.metrics.top5; },
          [](ModelOptions& self, bool measured) { self.metrics.top5 = measured; })
      .def_prop_rw(
          "mean_absolute_error", [](const ModelOptions& self) { return self.metrics.mae; },
          [](ModelOptions& self, bool measured) { self.metrics.mae = measured; });
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
  bind_loss(module);
  bind_optimizers(module);
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
          "with_options",
          [](const Model& self, const ModelOptions& options) {
            return without_gil([&] { return self.with(options); });
          },
          "options"_a);
}

}  // namespace pantoum::python
