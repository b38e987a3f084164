#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>
#include <nlohmann/json.hpp>
#include <stop_token>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <map>

#include "base/foreign_text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/ini_settings.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "cost/device.h"
#include "cost/energy_meter.h"
#include "cost/kernel_bench.h"
#include "cost/profile_exchange.h"
#include "host/this_machine.h"
#include "pipeline/profile_model.h"
#include "plan/planner.h"

namespace pantoum::cli {

namespace {

// Lines on standard input, each of which asks for one step: `pantoum profile --on-request`.
class StepRequests {
 public:
  // Reads `descriptor`, which stays the caller's.
  StepRequests(int descriptor, std::stop_token stop) : descriptor_(descriptor), stop_(std::move(stop)) {}

  // Waits for the end of the next line, whatever it says, and is true; false at the end of the input, when it cannot be
  // read, and once the token asks to stop. What follows the last line's end asks for nothing.
  [[nodiscard]] bool next();

 private:
  int descriptor_;
  std::stop_token stop_;
  size_t waiting_ = 0;  // lines that were read and not answered yet
};

bool StepRequests::next() {
  constexpr int kPatience = 100;  // milliseconds: after so long at most, a wish to stop is seen
  while (waiting_ == 0) {
    if (stop_.stop_requested()) return false;
    pollfd waited{.fd = descriptor_, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waited, 1, kPatience);
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    std::array<char, 512> read{};
    const ssize_t count = ::read(descriptor_, read.data(), read.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) return false;
    waiting_ = static_cast<size_t>(std::count(read.begin(), read.begin() + count, '\n'));
  }
  --waiting_;
  return true;
}

using Json = nlohmann::ordered_json;

struct ProfileOptions {
  Common common;
  StepAsked step;
  std::string exported, imported, machine, meter;
  int64_t steps = 0, top = 20;
  bool storage = false, on_request = false;
};

// ---- the table as a file ----

Result<std::string> store_to_exchange(const ProfileOptions& options) {
  const std::string path = options.step.plan.profile_store.value_or(default_profile_store());
  if (path.empty())
    return fail("E0275", "there is no folder for measured times", "--profile-store",
                "name a file with --profile-store");
  if (path == ":memory:")
    return fail("E0275", "':memory:' keeps nothing, so that no table can be taken into it or written from it",
                "--profile-store", "name a file");
  std::error_code none;
  if (options.imported.empty() && !std::filesystem::exists(path, none))
    return fail("E0201", "there is no such profile store", path,
                "name the one with --profile-store, or measure first: pantoum profile model.onnx");
  return path;
}

// Warns if the times are kept under a name that no plan asks for, where they are of no use.
void tell_of_unknown_machine(const std::string& machine) {
  if (machine.empty()) return;
  const std::vector<std::string> devices = cost::device_names();
  const bool is_host = machine.starts_with(host::processor_name() + "|");
  const bool is_device = machine != "host" && std::find(devices.begin(), devices.end(), machine) != devices.end();
  if (is_host || is_device) return;
  print_warning(fmt::format(
      "no device that is known here goes by the name '{}': the times serve plans for a device profile of that name "
      "alone (pantoum devices list has those that are known{})",
      machine, machine == "host" ? "; what is kept of this machine goes by its processor, as --export shows" : ""));
}

Result<int> exchange(const ProfileOptions& options) {
  PANTOUM_ASSIGN(const std::string path, store_to_exchange(options));
  std::vector<cost::ProfileRow> rows;
  if (!options.imported.empty()) {
    PANTOUM_ASSIGN(rows, cost::read_profile(options.imported, options.machine));
    PANTOUM_TRY(cost::check_engines(rows, options.imported));
    std::error_code none;  // the store says so
    if (!options.step.plan.profile_store)
      std::filesystem::create_directories(std::filesystem::path(path).parent_path(), none);
  }
  PANTOUM_ASSIGN(const std::unique_ptr<cost::ProfileStore> store, cost::ProfileStore::open(path));
  Json json{{"schema", "pantoum.profile/1"}, {"store", path}};
  if (!options.imported.empty()) {
    PANTOUM_TRY(cost::keep_profile(*store, rows));
    tell_of_unknown_machine(options.machine);
    json["imported"] = rows.size();
    if (!options.common.json()) print_formatted("{} times from {} in {}\n", rows.size(), options.imported, path);
  }
  if (!options.exported.empty()) {
    PANTOUM_ASSIGN(const int64_t written, cost::export_profile(*store, options.exported));
    json["exported"] = written;
    if (!options.common.json()) print_formatted("{} times of {} in {}\n", written, path, options.exported);
  }
  if (options.common.json()) print_json(json);
  return 0;
}

// ---- a model ----

// What became of the kernels whose joules were asked for.
struct Metered {
  int64_t asked = 0, faint = 0, failed = 0;
  int failed_in_a_row = 0;
  std::string why;  // the last failed
};

// Measures the joules of one kernel; none: the kernel keeps its modelled joules.
std::optional<cost::MeteredEnergy> joules_of(cost::EnergyMeter& meter, const cost::IdleBaseline& idle,
                                             const std::function<bool()>& run, Metered& metered) {
  constexpr problem::Seconds kMost = 5;
  constexpr int kMostFailures = 3;  // a meter that has failed so often is not waited for
  ++metered.asked;
  if (metered.failed_in_a_row >= kMostFailures) return ++metered.failed, std::nullopt;
  const auto once = [&]() -> Result<void> {
    if (run()) return {};
    return fail("E0410", "a kernel failed", {});
  };
  const auto measured = cost::measure_energy(meter, once, {.idle = idle, .most_s = kMost, .stop = interrupted()});
  if (!measured && measured.error().code == "E0999") return std::nullopt;
  if (!measured) {
    ++metered.failed, ++metered.failed_in_a_row;
    metered.why = measured.error().message + (measured.error().help.empty() ? "" : ": " + measured.error().help);
    return std::nullopt;
  }
  metered.failed_in_a_row = 0;
  if (!measured->stands_out()) return ++metered.faint, std::nullopt;
  return cost::MeteredEnergy{measured->joules, measured->meter};
}

void tell(const Metered& metered) {
  if (metered.faint > 0)
    print_note(
        fmt::format("{} of {} kernels draw no more than idle as far as the meter tells: their joules are modelled",
                    metered.faint, metered.asked));
  if (metered.failed > 0)
    print_warning(fmt::format("{} of {} kernels were not metered, and their joules are modelled: {}", metered.failed,
                              metered.asked, metered.why));
}

// The meter that --meter names; null: none, and energy is modelled. It and `metered` outlive the request.
Result<std::unique_ptr<cost::EnergyMeter>> meter_of(const ProfileOptions& options, pipeline::PlanRequest& request,
                                                    Metered& metered) {
  if (options.meter.empty()) return std::unique_ptr<cost::EnergyMeter>();
  Result<std::unique_ptr<cost::EnergyMeter>> opened = cost::open_meter(options.meter);
  if (!opened && (options.meter != "auto" || opened.error().code != "E0272")) return opened;
  if (!opened) {
    print_note("no meter can be read here (pantoum doctor says why): energy is modelled from the profile's watts");
    return std::unique_ptr<cost::EnergyMeter>();
  }
  constexpr problem::Seconds kIdle = 2;
  PANTOUM_ASSIGN(const cost::IdleBaseline idle, cost::measure_idle(**opened, kIdle, interrupted()));
  print_note(fmt::format("{}: {:.3g} W idle, measured for {:.3g} s, is subtracted", (*opened)->label(), idle.watts,
                         idle.seconds));
  request.measuring.energy_of = [meter = opened->get(), idle, &metered](const std::function<bool()>& run) {
    return joules_of(*meter, idle, run, metered);
  };
  return opened;
}

Json sample_json(const cost::OpSample& sample) {
  return {{"seconds", sample.seconds},
          {"low_s", sample.low_s},
          {"high_s", sample.high_s},
          {"warm_s", sample.warm_s ? Json(*sample.warm_s) : Json()},
          {"runs", sample.runs},
          {"workspace_bytes", sample.workspace_bytes},
          {"joules", sample.joules ? Json(*sample.joules) : Json()},
          {"meter", sample.meter},
          {"settled", cost::is_settled(sample)}};
}

Json to_json(const cost::FoundKernel& found) {
  Json json{{"op", found.key.op},
            {"algorithm", found.key.algorithm},
            {"operands", found.key.operands},
            {"attributes", found.key.attributes},
            {"threads", found.key.threads},
            {"times", found.times}};
  if (found.in_step_s) json["in_step_s"] = *found.in_step_s;
  if (!found.sample) {
    json["modelled_s"] = found.modelled_s;
    return json;
  }
  json.update(sample_json(*found.sample));
  return json;
}

Json to_json(const pipeline::DeviceAnswer& device) {
  Json json{{"engine", device.engine},
            {"name", device.name},
            {"launch_s", device.launch_s ? Json(*device.launch_s) : Json()},
            {"kernels", device.times.kernels},
            {"known", device.times.known},
            {"measured_now", device.times.now}};
  json["ops"] = Json::array();
  for (const cost::DeviceKernel& found : device.times.found) {
    Json op{{"op", found.key.op},
            {"operands", found.key.operands},
            {"attributes", found.key.attributes},
            {"ops", found.ops},
            {"processors_s", found.beside_s}};
    if (found.sample) op.update(sample_json(*found.sample));
    json["ops"].push_back(std::move(op));
  }
  return json;
}

Json to_json(const pipeline::Profiled& profiled) {
  Json json{{"schema", "pantoum.profile/1"},
            {"kernels", profiled.costs.kernels},
            {"known", profiled.costs.known},
            {"measured_now", profiled.costs.now},
            {"too_large", profiled.costs.too_large},
            {"unsettled", profiled.costs.unsettled},
            {"time_source", profiled.time_source},
            {"unplanned",
             {{"time_s", profiled.unplanned.time_s},
              {"energy_j", profiled.unplanned.energy_j},
              {"peak_bytes", profiled.unplanned.peak_bytes}}}};
  json["ops"] = Json::array();
  for (const cost::FoundKernel& found : profiled.costs.found) json["ops"].push_back(to_json(found));
  json["storage"] = Json::array();
  for (const pipeline::StorageSpeed& speed : profiled.storage)
    json["storage"].push_back(
        {{"bytes", speed.bytes}, {"depth", speed.depth}, {"in_s", speed.in_s}, {"out_s", speed.out_s}});
  if (profiled.hand_off_s) json["hand_off_s"] = *profiled.hand_off_s;
  if (profiled.device) json["device"] = to_json(*profiled.device);
  for (const pipeline::ClusterAnswer& cluster : profiled.clusters)
    json["clusters"].push_back({{"engine", cluster.engine},
                                {"slower", cluster.slower},
                                {"kernels", cluster.times.kernels},
                                {"known", cluster.times.known},
                                {"measured_now", cluster.times.now}});
  if (!profiled.steps) return json;
  json["steps"] = {{"predicted_s", profiled.predicted_s},
                   {"predicted_j", profiled.plan->predicted.energy_j},
                   {"arena_bytes", profiled.plan->predicted.arena_bytes},
                   {"median_s", profiled.steps->median_s},
                   {"least_s", profiled.steps->least_s},
                   {"resident_bytes", profiled.steps->resident_bytes},
                   {"count", profiled.steps->seconds.size()}};
  return json;
}

void tell_step(int64_t step, problem::Seconds seconds, bool json) {
  if (json) return print_json(Json{{"step", step}, {"seconds", seconds}});
  print_formatted("step     {}: {}\n", step, base::show_seconds(seconds));
}

double seconds_of(const cost::FoundKernel& found) {
  return found.times * cost::usual_seconds(found);
}

std::string row_of(const cost::FoundKernel& found, double all) {
  const double share = all > 0 ? 100 * seconds_of(found) / all : 0;
  std::string text = fmt::format("{:>5.1f}% {:>4.0f} x {:>9} ", share, found.times,
                                 found.in_step_s ? base::show_seconds(*found.in_step_s) : "-");
  if (!found.sample) {
    text += fmt::format("{:>9} modelled                  ", base::show_seconds(found.modelled_s));
  } else {
    const cost::OpSample& sample = *found.sample;
    const double width = 100 * std::max(sample.high_s - sample.seconds, sample.seconds - sample.low_s) / sample.seconds;
    text += fmt::format("{:>9} +-{:>4.1f}% warm {:>9} {:>5} ", base::show_seconds(sample.seconds), width,
                        sample.warm_s ? base::show_seconds(*sample.warm_s) : "-", sample.runs);
    if (sample.joules) text += fmt::format("{:>9} ", base::show_joules(*sample.joules));
    text += fmt::format("{:>10} ", base::show_bytes(sample.workspace_bytes));
  }
  return text + fmt::format("{} {}  {}\n", found.key.op, found.key.algorithm, base::one_line(found.key.operands));
}

std::string row_of(const cost::DeviceKernel& found) {
  const double many = static_cast<double>(found.ops);
  std::string text = fmt::format("{:>4.0f} x {:>12} ", many, base::show_seconds(found.beside_s));
  if (!found.sample) return text + fmt::format("{:>9} {:>6} {:>6}", "-", "", "");
  const cost::OpSample& sample = *found.sample;
  const double width = 100 * std::max(sample.high_s - sample.seconds, sample.seconds - sample.low_s) / sample.seconds;
  return text + fmt::format("{:>9} +-{:>4.1f}% {:>5}", base::show_seconds(sample.seconds), width, sample.runs);
}

std::string clusters_text(const pipeline::Profiled& profiled) {
  std::string text;
  for (const pipeline::ClusterAnswer& cluster : profiled.clusters)
    text += fmt::format(
        "{:<8} slower than the first cluster by {:.2f} as the system tells; {} kernels: {} known, {} measured now\n",
        cluster.engine, cluster.slower, cluster.times.kernels, cluster.times.known, cluster.times.now);
  return text;
}

// What the engines beside the first take.
std::string engines_text(const pipeline::Profiled& profiled, int64_t top) {
  if (!profiled.hand_off_s) return "";
  std::string text = fmt::format("engines  hand-off {}", base::show_seconds(*profiled.hand_off_s));
  if (!profiled.device) return text + "\n" + clusters_text(profiled);
  const pipeline::DeviceAnswer& device = *profiled.device;
  if (device.launch_s)
    text += fmt::format("; a launch on {} takes {}, in each of its times", device.engine,
                        base::show_seconds(*device.launch_s));
  text += fmt::format("\n{:<8} {}: {} kernels: {} known, {} measured now\n", device.engine, base::one_line(device.name),
                      device.times.kernels, device.times.known, device.times.now);
  text += clusters_text(profiled);
  if (device.times.found.empty()) return text;
  text += " ops   on processors    median  95%    runs kernel\n";
  for (size_t at = 0; at < std::min(device.times.found.size(), static_cast<size_t>(top)); ++at) {
    const cost::DeviceKernel& found = device.times.found[at];
    text += fmt::format("{} {} {}  {}\n", row_of(found), found.key.op, found.key.algorithm,
                        base::one_line(found.key.operands));
  }
  return text;
}

std::string to_text(const pipeline::Profiled& profiled, int64_t top) {
  const cost::MeasuredCosts& costs = profiled.costs;
  double all = 0;
  for (const cost::FoundKernel& found : costs.found) all += seconds_of(found);
  std::string text =
      fmt::format("profile  {} kernels: {} known, {} measured now, {} with an interval wider than {:.0f}%\n",
                  costs.kernels, costs.known, costs.now, costs.unsettled, 100 * cost::kSettled);
  text += fmt::format("         step {} ({}), unplanned peak {}\n", base::show_seconds(profiled.unplanned.time_s),
                      profiled.time_source, base::show_bytes(profiled.unplanned.peak_bytes));
  text += "share  times    in step    median  95%         warm  runs  workspace kernel\n";
  int64_t shown = 0;
  for (const cost::FoundKernel& found : costs.found)
    if (found.times > 0 && shown++ < top) text += row_of(found, all);
  text += engines_text(profiled, top);
  for (const pipeline::StorageSpeed& speed : profiled.storage)
    text += fmt::format("storage  {:>9} in queues of {}: in {:>9} ({:.3g} MB/s), out {:>9} ({:.3g} MB/s)\n",
                        base::show_bytes(speed.bytes), speed.depth, base::show_seconds(speed.in_s),
                        static_cast<double>(speed.bytes) / speed.in_s / 1e6, base::show_seconds(speed.out_s),
                        static_cast<double>(speed.bytes) / speed.out_s / 1e6);
  if (profiled.steps)
    text += fmt::format("steps    {} run: median {}, quickest {}, predicted {} ({:.3f} of the median)\n",
                        profiled.steps->seconds.size(), base::show_seconds(profiled.steps->median_s),
                        base::show_seconds(profiled.steps->least_s), base::show_seconds(profiled.predicted_s),
                        profiled.predicted_s / profiled.steps->median_s);
  return text;
}

Result<int> profile(const ProfileOptions& options) {
  if (!options.exported.empty() || !options.imported.empty()) {
    if (!options.step.model.empty())
      return fail("E0119", "give either a model or a table to read or write", "profile",
                  "profile the model first, then run pantoum profile --export FILE");
    return exchange(options);
  }
  if (options.step.model.empty())
    return fail("E0119", "give a model, or a table to read or write", "profile",
                "pantoum profile model.onnx, or pantoum profile --export times.csv");
  PANTOUM_TRY(check_beside_plan(options.step));
  pipeline::ProfileRequest request{.steps = static_cast<int>(options.steps), .storage = options.storage};
  PANTOUM_ASSIGN(request.plan, plan_of(options.step));
  Measure& measure = request.plan.settings.measure;
  if (measure == Measure::automatic && request.plan.device == "host") measure = Measure::missing;
  request.plan.measuring.settle = true;
  if (options.step.planned) {
    request.reuse = &options.step.planned->plan;
    if (request.steps == 0) request.steps = 20;
  }
  std::optional<StepRequests> requests;
  if (options.on_request) {
    if (request.steps == 0)
      return fail("E0119", "--on-request runs steps", "--on-request",
                  "say how many at most with --steps, or give a --plan");
    requests.emplace(STDIN_FILENO, interrupted());
    request.next_step = [&requests] { return requests->next(); };
    request.step_done = [&options, step = int64_t{0}](problem::Seconds seconds) mutable {
      tell_step(++step, seconds, options.common.json());
    };
  }
  Metered metered;
  PANTOUM_ASSIGN(const std::unique_ptr<cost::EnergyMeter> meter, meter_of(options, request.plan, metered));
  ProgressLine line(options.common.json());
  line.phase("preparing " + options.step.model);
  attach(request.plan.options, line);
  attach_measuring(request.plan.measuring, line);
  plan::Infeasible infeasible;
  const Result<pipeline::Profiled> profiled = pipeline::profile_model(model_of(options.step), request, &infeasible);
  if (!profiled) return Failure(unless_interrupted(profiled.error()));
  std::for_each(profiled->warnings.begin(), profiled->warnings.end(), print_warning);
  tell(metered);
  options.common.json() ? print_json(to_json(*profiled)) : print_result(to_text(*profiled, options.top));
  if (was_interrupted())
    return fail("E0999", "interrupted; what was measured is kept", options.step.model, "the same command goes on");
  return 0;
}

}  // namespace

void add_profile(CommandLine& line) {
  auto options = std::make_shared<ProfileOptions>();
  Verb verb = line.add_verb("profile", "what each op of a model takes on this machine, measured once");
  verb.add_option("MODEL", options->step.model,
                  "an ONNX model, one of TensorFlow Lite (.tflite) or of NNTrainer (.ini)");
  add_plugins(verb);
  add_ini_settings(verb, {.model = &options->step.options, .trains = false});
  verb.add_option("--export", options->exported, "write the measured times as a table, a .csv file");
  verb.add_option("--import", options->imported,
                  "take the times of such a table, made here or elsewhere; all its rows, or none");
  verb.add_option("--machine", options->machine,
                  "whose times those of --import are, in place of what the table says: a device's name");
  verb.add_option("--steps", options->steps, "also plan for --ram, run so many steps on made-up numbers and time them")
      .within(1, 1'000'000);
  add_plan_input(verb, options->step, "run the steps of this plan in place of planning: twenty, or --steps");
  verb.add_flag(
      "--on-request", options->on_request,
      "run each step when a line comes on standard input, and tell its seconds: steps of several plans, in turns");
  verb.add_option("--meter", options->meter,
                  "also the joules of every kernel, by an energy meter: auto, or one of `pantoum doctor`")
      .known(cost::meter_words());
  verb.add_option("--top", options->top, "how many kernels are shown, the heaviest first").within(0, 1'000'000);
  verb.add_flag("--storage", options->storage, "also the storage of --page-file, at several sizes and queue depths");
  add_step_settings(
      verb, options->step,
      {"steps", "epochs", "samples", "warm_start", "planner", "feature_cache", "update_within", "contributions"});
  add_common(verb, options->common);
  verb.does([options] { return profile(*options); });
}

}  // namespace pantoum::cli
