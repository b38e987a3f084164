// Trainers: one thread at a time, in the process that made them, until they are closed.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "arrays.h"
#include "bindings.h"
#include "raise.h"
#include "train/checkpoint.h"
#include "weights/safetensors.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pantoum::python {
namespace {

constexpr auto kBetweenSignals = std::chrono::milliseconds(50);

// A trainer, and the thread that uses it.
class PythonTrainer {
 public:
  PythonTrainer(Trainer trainer) : owned_(std::move(trainer)) {}

  // Keeps other threads out of the trainer until it is destroyed. A callback of fit may look at the trainer, but not compute with it.
  class Turn {
   public:
    Turn(PythonTrainer& of, bool computes) : of_(of) {
      of.check();
      std::thread::id none;
      const std::thread::id self = std::this_thread::get_id();
      outer_ = of.user_.compare_exchange_strong(none, self);
      if (!outer_ && (computes || none != self)) raise(in_use(none == self));
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      if (outer_) of_.user_ = std::thread::id();
    }
    Trainer* operator->() const { return of_.owned_.get().get(); }

   private:
    static Failure in_use(bool same_thread) {
      if (same_thread)
        return fail("E0108", "the trainer is in fit(), whose callback this is", {},
                    "step and evaluate after fit; give it validation data");
      return fail("E0108", "the trainer is in use by another thread", {}, "give every thread a trainer of its own");
    }
    PythonTrainer& of_;
    bool outer_;
  };

  void check() const {
    if (!owned_.is_own())
      raise(fail("E0108", "the trainer belongs to the process that this one was forked from", {},
                 "make one here, in a process that multiprocessing's \"spawn\" starts"));
    if (!owned_.get()) raise(fail("E0108", "the trainer is closed", {}, "make another one"));
  }
  [[nodiscard]] bool is_closed() const { return !owned_.get(); }
  void close() {
    if (is_closed()) return;
    if (!owned_.is_own()) return owned_.reset();
    { const Turn alone(*this, true); }
    owned_.reset();
  }
  [[nodiscard]] std::shared_ptr<Trainer> shared() const { return owned_.get(); }

 private:
  OwnedTrainer owned_;
  std::atomic<std::thread::id> user_{};
};

using Turn = PythonTrainer::Turn;
using TensorRows = nb::typed<nb::list, TupleOf<nb::str, nb::str, nb::typed<nb::list, nb::int_>, nb::str, bool>>;
using GroupRows = nb::typed<nb::list, TupleOf<nb::str, std::optional<double>, std::optional<double>>>;
using Stats = TupleOf<uint64_t, double, double>;  // step, loss, learning rate
using OnGradientCall = nb::typed<nb::callable, nb::any(nb::str, bool)>;

PythonTrainer* create(const OwnedPlan& plan, const TrainerOptions& options) {
  value_of(enter_process());
  const Plan& of = plan_of(plan);
  return new PythonTrainer(without_gil([&] { return Trainer::create(of, options); }));
}

Stats tuple_of(const StepStats& stats) {
  return nb::make_tuple(stats.step, stats.loss, stats.lr);
}

Stats step(PythonTrainer& self, const std::vector<Given>& arrays) {
  const Turn turn(self, true);
  const Batch batch = batch_of(arrays);
  return tuple_of(without_gil([&] { return turn->step(batch); }));
}

// `on_gradient(name, in_ram)` is called while backward goes on; the first exception that it throws is raised after it.
Stats gradients(PythonTrainer& self, const std::vector<Given>& arrays, std::optional<OnGradientCall> on_gradient) {
  const Turn turn(self, true);
  const Batch batch = batch_of(arrays);
  std::exception_ptr thrown;
  const OnGradient tell = [&](const TensorView& gradient) {
    if (thrown || !on_gradient) return;
    const nb::gil_scoped_acquire held;
    try {
      (*on_gradient)(std::string(gradient.name), !gradient.data.empty());
    } catch (...) {
      thrown = std::current_exception();
    }
  };
  Result<StepStats> stats = result_without_gil([&] { return turn->gradients(batch, tell); });
  if (thrown) std::rethrow_exception(thrown);
  return tuple_of(value_of(std::move(stats)));
}

Stats update(PythonTrainer& self) {
  const Turn turn(self, true);
  return tuple_of(without_gil([&] { return turn->update(); }));
}

Row dict_of(const Evaluation& found) {
  nb::dict made;
  made["loss"] = found.loss;
  if (found.accuracy) made["accuracy"] = *found.accuracy;
  if (found.top5) made["top5"] = *found.top5;
  if (found.mean_absolute_error) made["mean_absolute_error"] = *found.mean_absolute_error;
  made["losses"] = found.losses;
  made["samples"] = found.samples;
  return made;
}

nb::object dict_or_none(const std::optional<Evaluation>& found) {
  return found ? nb::object(dict_of(*found)) : nb::none();
}

// Calls back from a run that holds no GIL; the first exception, or a signal, ends the run and is raised after it.
class Callbacks {
 public:
  Callbacks(nb::object on_batch, nb::object on_epoch)
      : on_batch_(std::move(on_batch)), on_epoch_(std::move(on_epoch)) {}

  void attach(FitOptions& options) {
    options.stop = stop_.get_token();
    options.on_batch = [this](const StepStats& stats) { batch(stats); };
    options.on_epoch = [this](const EpochStats& stats) { epoch(stats); };
    options.on_evaluated = [this] { static_cast<void>(go_on()); };
  }
  // Whether no signal came and no callback threw.
  bool go_on() {
    if (is_time_to_look()) guarded([&] { look_for_signals(); });
    return !thrown_;
  }
  void raise_what_was_thrown() {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  void batch(const StepStats& stats) {
    const bool looks = is_time_to_look();
    if (on_batch_.is_none() && !looks) return;
    guarded([&] {
      if (looks) look_for_signals();
      if (!on_batch_.is_none() && !nb::cast<bool>(on_batch_(stats.step, stats.loss, stats.lr))) stop_.request_stop();
    });
  }
  void epoch(const EpochStats& stats) {
    if (on_epoch_.is_none()) return;
    guarded([&] {
      if (!nb::cast<bool>(
              on_epoch_(stats.epoch, stats.step, stats.mean_loss, dict_or_none(stats.evaluation), stats.best)))
        stop_.request_stop();
    });
  }
  [[nodiscard]] bool is_time_to_look() const { return std::chrono::steady_clock::now() - last_ >= kBetweenSignals; }
  void look_for_signals() {
    last_ = std::chrono::steady_clock::now();
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  template <class Call>
  void guarded(const Call& call) {
    if (thrown_) return;
    nb::gil_scoped_acquire held;
    try {
      call();
    } catch (...) {
      thrown_ = std::current_exception();
      stop_.request_stop();
    }
  }

  nb::object on_batch_, on_epoch_;
  std::exception_ptr thrown_;
  std::stop_source stop_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

Row evaluate(PythonTrainer& self, const Dataset& data) {
  const Turn turn(self, true);
  Callbacks callbacks{nb::none(), nb::none()};
  Result<Evaluation> found =
      result_without_gil([&] { return turn->evaluate(data, [&] { return callbacks.go_on(); }); });
  callbacks.raise_what_was_thrown();
  return dict_of(value_of(std::move(found)));
}

using BatchRows = nb::typed<nb::list, TupleOf<nb::str, nb::str, nb::typed<nb::list, nb::int_>, bool>>;

BatchRows rows_of(const std::vector<BatchTensor>& tensors) {
  nb::list all;
  for (const BatchTensor& tensor : tensors)
    all.append(
        nb::make_tuple(tensor.name, std::string(name_of(tensor.dtype)), nb::cast(tensor.shape), tensor.is_target));
  return all;
}

using Bytes1d = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::vector<std::span<std::byte>> spans_of(std::vector<Bytes1d>& arrays) {
  std::vector<std::span<std::byte>> spans;
  for (Bytes1d& array : arrays) spans.emplace_back(reinterpret_cast<std::byte*>(array.data()), array.size());
  return spans;
}

void predict(PythonTrainer& self, const std::vector<Given>& arrays, std::vector<Bytes1d> into) {
  const Turn turn(self, true);
  const Batch batch = batch_of(arrays);
  const std::vector<std::span<std::byte>> spans = spans_of(into);
  Callbacks callbacks{nb::none(), nb::none()};
  Result<void> made =
      result_without_gil([&] { return turn->predict(batch, spans, [&] { return callbacks.go_on(); }); });
  callbacks.raise_what_was_thrown();
  value_of(std::move(made));
}

void predict_data(PythonTrainer& self, const Dataset& data, std::vector<Bytes1d> into) {
  const Turn turn(self, true);
  const std::vector<std::span<std::byte>> spans = spans_of(into);
  const auto count = static_cast<size_t>(std::max<int64_t>(data.count(), 1));
  Callbacks callbacks{nb::none(), nb::none()};
  const OnRows take = [&](size_t output, int64_t first, std::span<const std::byte> rows) -> Result<void> {
    if (!callbacks.go_on()) return fail("E0999", "interrupted while outputs were made");
    std::memcpy(spans[output].data() + spans[output].size() / count * static_cast<size_t>(first), rows.data(),
                rows.size());
    return {};
  };
  Result<void> made = result_without_gil([&] { return turn->predict(data, take); });
  callbacks.raise_what_was_thrown();
  value_of(std::move(made));
}

Row dict_of(const FitSummary& summary) {
  return row_of("steps", summary.steps, "ran", summary.ran, "loss", summary.loss, "seconds", summary.seconds,
                "evaluation", dict_or_none(summary.evaluation), "stopped", summary.stopped, "out_of_time",
                summary.out_of_time, "stopped_early", summary.stopped_early);
}

Row fit(PythonTrainer& self, const Dataset& train, const Dataset& test, FitOptions options, nb::object on_batch,
        nb::object on_epoch) {
  const Turn turn(self, true);
  Callbacks callbacks(std::move(on_batch), std::move(on_epoch));
  callbacks.attach(options);
  Result<FitSummary> summary = result_without_gil([&] { return turn->fit(train, options, test); });
  callbacks.raise_what_was_thrown();
  return dict_of(value_of(std::move(summary)));
}

// What a tensor is between steps: "gradient", "state" (of the optimizer), "changes" (trained, or a statistic) or "fixed".
const char* kind_of(const TensorInfo& tensor) {
  if (tensor.is_gradient) return "gradient";
  if (tensor.is_state) return "state";
  return tensor.changes ? "changes" : "fixed";
}

TensorRows tensors(PythonTrainer& self) {
  const Turn turn(self, false);
  nb::list all;
  for (const TensorInfo& tensor : turn->tensors())
    all.append(nb::make_tuple(tensor.name, std::string(name_of(tensor.dtype)), nb::cast(tensor.shape), kind_of(tensor),
                              tensor.in_ram));
  return all;
}

// The view keeps the arena, also after close(). A gradient may be written between gradients() and update().
nb::typed<nb::object, nb::any> tensor(PythonTrainer& self, const std::string& name) {
  const Turn turn(self, false);
  const TensorView view = value_of(turn->tensor(name));
  auto keeps = std::make_unique<OwnedTrainer>(self.shared());
  const nb::capsule owner(keeps.get(), [](void* kept) noexcept { delete static_cast<OwnedTrainer*>(kept); });
  static_cast<void>(keeps.release());
  return view_of(view, owner, name.starts_with("accumulated."));
}

using BytesRead1d = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void read(PythonTrainer& self, const std::string& name, Bytes1d into) {
  const Turn turn(self, false);
  const std::span bytes(reinterpret_cast<std::byte*>(into.data()), into.size());
  without_gil([&] { return turn->read(name, bytes); });
}

void write(PythonTrainer& self, const std::string& name, BytesRead1d from) {
  const Turn turn(self, false);
  const std::span bytes(reinterpret_cast<const std::byte*>(from.data()), from.size());
  without_gil([&] { return turn->write(name, bytes); });
}

GroupRows groups(PythonTrainer& self) {
  const Turn turn(self, false);
  nb::list all;
  for (const ParameterGroup& group : turn->groups())
    all.append(nb::make_tuple(group.names, nb::cast(group.lr), nb::cast(group.weight_decay)));
  return all;
}

Row usage(PythonTrainer& self) {
  const Turn turn(self, false);
  const Usage usage = turn->usage();
  return row_of("arena_bytes", usage.arena_bytes, "steps", usage.steps, "bytes_paged_in", usage.bytes_paged_in,
                "bytes_paged_out", usage.bytes_paged_out, "io_backend", usage.io_backend, "page_encryption",
                usage.cipher, "rss_growth_bytes", usage.rss_growth_bytes);
}

}  // namespace

void bind_trainer(nb::module_& module) {
  bind_settings<TrainerOptions>(module, "TrainerOptions")
      .def(
          "set_weights", [](TrainerOptions& self, nb::handle path) { self.weights = path_of(path); }, "path"_a)
      .def_rw("lr", &TrainerOptions::lr);
  bind_settings<FitOptions>(module, "FitOptions");
  nb::class_<PythonTrainer>(module, "Trainer")
      .def_static("create", &create, "plan"_a, "options"_a, nb::rv_policy::take_ownership)
      .def("step", &step, "arrays"_a, nb::sig("def step(self, arrays: list[typing.Any]) -> tuple[int, float, float]"),
           "step, loss, lr")
      .def("gradients", &gradients, "arrays"_a, "on_gradient"_a.none(),
           nb::sig("def gradients(self, arrays: list[typing.Any], on_gradient: typing.Callable[[str, bool], "
                   "typing.Any] | None) -> tuple[int, float, float]"),
           "step, loss, lr")
      .def("update", &update, "step, loss, lr")
      .def("fit", &fit, "train"_a, "test"_a, "options"_a, "on_batch"_a.none(), "on_epoch"_a.none())
      .def("evaluate", &evaluate, "data"_a)
      .def(
          "prediction_inputs", [](PythonTrainer& self) { return rows_of(Turn(self, false)->prediction_inputs()); },
          "name, dtype, shape, is_target")
      .def(
          "outputs", [](PythonTrainer& self) { return rows_of(Turn(self, false)->outputs()); },
          "name, dtype, shape, is_target")
      .def("predict", &predict, "arrays"_a, "into"_a.noconvert(),
           nb::sig("def predict(self, arrays: list[typing.Any], into: list[typing.Any]) -> None"))
      .def("predict_data", &predict_data, "data"_a, "into"_a.noconvert(),
           nb::sig("def predict_data(self, data: Samples, into: list[typing.Any]) -> None"))
      .def(
          "save",
          [](PythonTrainer& self, nb::handle path) {
            const Turn turn(self, false);
            const std::string file = path_of(path);
            without_gil([&] { return turn->save(file); });
          },
          "path"_a.none())
      .def(
          "resume",
          [](PythonTrainer& self, nb::handle path) {
            const Turn turn(self, true);
            const std::string file = path_of(path);
            without_gil([&] { return turn->resume(file); });
          },
          "path"_a.none())
      .def(
          "resume_point_shuffles",
          [](PythonTrainer& self, nb::handle path) {
            const Turn turn(self, false);
            const weights::SafetensorFile file = value_of(weights::open_safetensors(path_of(path)));
            return value_of(train::read_progress(file)).shuffle;
          },
          "path"_a.none())
      .def("tensors", &tensors, "name, dtype, shape, kind, in_ram")
      .def("tensor", &tensor, "name"_a, nb::sig("def tensor(self, name: str) -> typing.Any"))
      .def("read", &read, "name"_a, "into"_a.noconvert(),
           nb::sig("def read(self, name: str, into: typing.Any) -> None"))
      .def("write", &write, "name"_a, "from_"_a.noconvert(),
           nb::sig("def write(self, name: str, from_: typing.Any) -> None"))
      .def("steps_done", [](PythonTrainer& self) { return Turn(self, false)->steps_done(); })
      .def("samples_per_step", [](PythonTrainer& self) { return Turn(self, false)->samples_per_step(); })
      .def(
          "set_learning_rate",
          [](PythonTrainer& self, double lr) { value_of(Turn(self, false)->set_learning_rate(lr)); }, "lr"_a)
      .def("groups", &groups, "names, lr, weight_decay")
      .def(
          "set_group_rate",
          [](PythonTrainer& self, size_t group, double lr) { value_of(Turn(self, false)->set_group_rate(group, lr)); },
          "group"_a, "lr"_a)
      .def(
          "set_group_decay",
          [](PythonTrainer& self, size_t group, double weight_decay) {
            value_of(Turn(self, false)->set_group_decay(group, weight_decay));
          },
          "group"_a, "weight_decay"_a)
      .def("usage", &usage)
      .def("is_closed", &PythonTrainer::is_closed)
      .def("close", &PythonTrainer::close);
}

}  // namespace pantoum::python
