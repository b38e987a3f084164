// If, Loop and Scan whose course the model alone decides: the branch taken, the iterations one after the other.

#include <algorithm>

#include "import/onnx_messages.h"
#include "import/operators.h"

namespace pantoum::import {
namespace {

using Operands = std::vector<std::shared_ptr<Operand>>;

constexpr int64_t kMostTrips = 4096;

std::shared_ptr<Operand> known_operand(Tensor tensor) {
  auto operand = std::make_shared<Operand>();
  operand->known = std::make_shared<const Tensor>(std::move(tensor));
  return operand;
}

// A condition that training cannot change: one bool.
std::optional<bool> condition(const Operand& operand) {
  if (operand.weight || !operand.known || operand.known->type.elements() != 1) return std::nullopt;
  const auto told = to_ints(*operand.known);
  if (!told) return std::nullopt;
  return told->front() != 0;
}

Result<Operands> outputs_of(Node& node, const onnx::GraphProto& body) {
  Operands outputs;
  for (const auto& output : body.output()) {
    std::shared_ptr<Operand> operand = node.find(output.name());
    if (operand == nullptr) return misfit("'{}' of its subgraph is not there", output.name());
    outputs.push_back(std::move(operand));
  }
  return outputs;
}

Result<const onnx::GraphProto*> body_of(Node& node, const char* name, size_t inputs, size_t outputs) {
  const onnx::GraphProto* body = node.attributes().graph(name);
  if (static_cast<size_t>(body->input_size()) == inputs && static_cast<size_t>(body->output_size()) == outputs)
    return body;
  return misfit("its {} has {} inputs and {} outputs instead of {} and {}", name, body->input_size(),
                body->output_size(), inputs, outputs);
}

Result<void> lower_if(Node& node) {
  const std::optional<bool> taken = condition(*node.operand(0));
  if (!taken && node.type(0).elements() != 1) return misfit("its condition is not one bool");
  if (!taken)
    return unsupported("its condition is computed from the data, and a plan has one course",
                       "choose between both results with torch.where, or export the model with the branch that trains");
  const char* name = *taken ? "then_branch" : "else_branch";
  PANTOUM_ASSIGN(const onnx::GraphProto* branch, body_of(node, name, 0, node.output_count()));
  PANTOUM_TRY(node.lower_body(*branch, name));
  PANTOUM_ASSIGN(const Operands outputs, outputs_of(node, *branch));
  for (size_t output = 0; output < outputs.size(); ++output) PANTOUM_TRY(node.set(output, outputs[output]));
  return {};
}

// Known tensors of one type, one behind the other along a new first dimension.
std::shared_ptr<Operand> stack_known(const Operands& parts) {
  const Tensor& first = *parts[0]->known;
  auto data = std::make_shared<std::vector<std::byte>>();
  for (const auto& part : parts) data->insert(data->end(), part->known->data->begin(), part->known->data->end());
  Shape shape = first.type.shape;
  shape.insert(shape.begin(), static_cast<int64_t>(parts.size()));
  return known_operand({{first.type.dtype, std::move(shape)}, std::move(data)});
}

// The values of all iterations along a new dimension.
Result<std::shared_ptr<Operand>> stack(Node& node, const Operands& parts, int64_t axis) {
  if (parts.empty()) return unsupported("it makes no iteration, and what it collects has no elements");
  const auto is_known = [&](const std::shared_ptr<Operand>& part) {
    return part->known && !part->weight && part->known->type == parts[0]->known->type;
  };
  if (axis == 0 && parts[0]->known && std::ranges::all_of(parts, is_known)) {
    if (node.spend(parts[0]->known->type.elements() * static_cast<int64_t>(parts.size()))) return stack_known(parts);
  }
  Values values;
  for (const auto& part : parts) {
    const Value value = node.value_of(*part);
    Shape shape = value.shape();
    PANTOUM_ASSIGN(const int64_t at, normalize_axis(axis, shape.size() + 1));
    shape.insert(shape.begin() + at, 1);
    values.push_back(reshape(value, std::move(shape)));
    if (values.back().type() != values[0].type())
      return misfit("what it collects changes its type or shape from iteration to iteration");
  }
  PANTOUM_ASSIGN(const int64_t along, normalize_axis(axis, values[0].rank()));
  auto joined = std::make_shared<Operand>();
  joined->id = concat(values, static_cast<size_t>(along));
  PANTOUM_TRY(node.refusal());
  return joined;
}

Failure too_many_trips() {
  return unsupported(fmt::format("it makes more than {} iterations, each of which becomes ops of its own", kMostTrips),
                     "train on shorter sequences, or compute with whole tensors instead of a loop");
}

// How often a Loop goes on where its condition stays true.
Result<int64_t> most_trips(Node& node) {
  if (!node.has(0)) return INT64_MAX;
  const Tensor* told = node.setting(0);
  const auto count = told != nullptr && told->type.elements() == 1 ? to_ints(*told) : std::nullopt;
  if (!count)
    return unsupported("how often it iterates is computed from the data, and a plan has one course",
                       "export the model with a fixed number of iterations");
  return count->front();
}

Result<bool> goes_on(const Operand& operand) {
  const std::optional<bool> told = condition(operand);
  if (told) return *told;
  return unsupported("whether it goes on is computed from the data, and a plan has one course",
                     "iterate a fixed number of times, and choose between results with torch.where");
}

// The iterations of a body, one after the other: what it carries from one to the next, and what it collects.
struct Course {
  const onnx::GraphProto& body;
  Operands states;
  std::vector<Operands> collected;  // per scan output
};

Result<Course> begin_course(Node& node, const onnx::GraphProto& body, size_t first_input, size_t states) {
  Course course{body, {}, std::vector<Operands>(node.output_count() - states)};
  for (size_t input = first_input; input < first_input + states; ++input) course.states.push_back(node.operand(input));
  return course;
}

// One iteration, given what the body has as inputs before the states and behind them. The outputs of the body.
Result<Operands> iterate(Node& node, Course& course, size_t trip, Operands inputs, const Operands& behind) {
  inputs.insert(inputs.end(), course.states.begin(), course.states.end());
  inputs.insert(inputs.end(), behind.begin(), behind.end());
  for (size_t input = 0; input < inputs.size(); ++input)
    node.bind(course.body.input(static_cast<int>(input)).name(), inputs[input]);
  PANTOUM_TRY(node.lower_body(course.body, fmt::format("body, iteration {}", trip)));
  PANTOUM_ASSIGN(const Operands outputs, outputs_of(node, course.body));
  auto output = outputs.end() - static_cast<std::ptrdiff_t>(course.states.size() + course.collected.size());
  for (auto& state : course.states) state = *output++;
  for (Operands& collected : course.collected) collected.push_back(*output++);
  return outputs;
}

// `axes` and `backwards` are of what is collected.
Result<void> set_results(Node& node, const Course& course, const Integers& axes, const Integers& backwards) {
  const size_t states = course.states.size();
  for (size_t state = 0; state < states; ++state) PANTOUM_TRY(node.set(state, course.states[state]));
  for (size_t scan = 0; scan < course.collected.size(); ++scan) {
    if (!node.wants(states + scan)) continue;
    Operands parts = course.collected[scan];
    if (backwards[scan] != 0) std::ranges::reverse(parts);
    PANTOUM_ASSIGN(std::shared_ptr<Operand> whole, stack(node, parts, axes[scan]));
    PANTOUM_TRY(node.set(states + scan, std::move(whole)));
  }
  return {};
}

Result<void> lower_loop(Node& node) {
  const size_t states = std::max<size_t>(node.input_count(), 2) - 2;
  if (node.output_count() < states) return misfit("it has fewer outputs than states");
  PANTOUM_ASSIGN(const onnx::GraphProto* body, body_of(node, "body", 2 + states, 1 + node.output_count()));
  PANTOUM_ASSIGN(Course course, begin_course(node, *body, 2, states));
  PANTOUM_ASSIGN(const int64_t most, most_trips(node));
  bool running = true;
  if (node.has(1)) {
    PANTOUM_ASSIGN(running, goes_on(*node.operand(1)));
  }
  for (int64_t trip = 0; trip < most && running; ++trip) {
    if (trip == kMostTrips) return too_many_trips();
    const Operands before = {known_operand(make_tensor(DType::kI64, {}, std::vector{trip})),
                             known_operand(make_tensor(DType::kBool, {}, Integers{1}))};
    PANTOUM_ASSIGN(const Operands outputs, iterate(node, course, static_cast<size_t>(trip), before, {}));
    PANTOUM_ASSIGN(running, goes_on(*outputs[0]));
  }
  const Integers zeros(course.collected.size(), 0);
  return set_results(node, course, zeros, zeros);
}

// A list of an attribute with an entry for each of `count`; zeros where there is none.
Result<Integers> entries(Node& node, const char* name, size_t count) {
  const auto told = node.attributes().integers(name);
  if (!told) return Integers(count, 0);
  if (told->size() != count) return misfit("its {} has {} entries instead of {}", name, told->size(), count);
  return *told;
}

// What one input of a Scan is in each iteration: its pieces along the axis, without it.
Result<Operands> pieces_of(Node& node, size_t input, int64_t axis, bool backwards) {
  const Value x = node.value(input);
  Shape shape = x.shape();
  PANTOUM_ASSIGN(const int64_t along, normalize_axis(axis, shape.size()));
  const int64_t count = shape[static_cast<size_t>(along)];
  if (count > kMostTrips) return too_many_trips();
  const Values parts = split(x, static_cast<size_t>(along), Integers(static_cast<size_t>(count), 1));
  shape.erase(shape.begin() + along);
  Operands pieces;
  for (const Value& part : parts) {
    pieces.push_back(std::make_shared<Operand>());
    pieces.back()->id = reshape(part, shape);
  }
  PANTOUM_TRY(node.refusal());
  if (backwards) std::ranges::reverse(pieces);
  return pieces;
}

struct ScanForm {
  size_t states, scans, collects;
  Integers input_axes, backwards, output_axes, collects_backwards;
};

Result<ScanForm> scan_form(Node& node) {
  const int64_t scans = node.attributes().integer("num_scan_inputs", 0);
  if (scans < 1 || static_cast<size_t>(scans) > node.input_count()) return misfit("its num_scan_inputs is wrong");
  ScanForm form{};
  form.scans = static_cast<size_t>(scans);
  form.states = node.input_count() - form.scans;
  if (node.output_count() < form.states) return misfit("it has fewer outputs than states");
  form.collects = node.output_count() - form.states;
  PANTOUM_ASSIGN(form.input_axes, entries(node, "scan_input_axes", form.scans));
  PANTOUM_ASSIGN(form.backwards, entries(node, "scan_input_directions", form.scans));
  PANTOUM_ASSIGN(form.output_axes, entries(node, "scan_output_axes", form.collects));
  PANTOUM_ASSIGN(form.collects_backwards, entries(node, "scan_output_directions", form.collects));
  return form;
}

Result<std::vector<Operands>> scanned_inputs(Node& node, const ScanForm& form) {
  std::vector<Operands> scanned;
  for (size_t scan = 0; scan < form.scans; ++scan) {
    const size_t input = form.states + scan;
    PANTOUM_ASSIGN(Operands pieces, pieces_of(node, input, form.input_axes[scan], form.backwards[scan] != 0));
    scanned.push_back(std::move(pieces));
    if (scanned[scan].size() != scanned[0].size()) return misfit("its scanned inputs differ in length");
  }
  return scanned;
}

Result<void> lower_scan(Node& node) {
  PANTOUM_ASSIGN(const ScanForm form, scan_form(node));
  PANTOUM_ASSIGN(const onnx::GraphProto* body,
                 body_of(node, "body", form.states + form.scans, form.states + form.collects));
  PANTOUM_ASSIGN(const std::vector<Operands> scanned, scanned_inputs(node, form));
  PANTOUM_ASSIGN(Course course, begin_course(node, *body, 0, form.states));
  for (size_t trip = 0; trip < scanned[0].size(); ++trip) {
    Operands pieces;
    for (const Operands& each : scanned) pieces.push_back(each[trip]);
    PANTOUM_TRY(iterate(node, course, trip, {}, pieces));
  }
  return set_results(node, course, form.output_axes, form.collects_backwards);
}

constexpr const char* kUnrolled = "unrolled: up to 4096 iterations, their number known from the model and the batch";
constexpr OperatorEntry kControlOperators[] = {
    {"If", lower_if, "", "becomes its branch; its condition known from the model and the batch"},
    {"Loop", lower_loop, "concat", kUnrolled},
    {"Scan", lower_scan, "split concat", kUnrolled}};

}  // namespace

constinit const Family control_operators = kControlOperators;

}  // namespace pantoum::import
