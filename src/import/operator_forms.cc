#include "import/operator_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "import/catalog.h"
#include "import/onnx_messages.h"
#include "import/tensor.h"

namespace pantoum::import {
namespace {

constexpr OperatorFormText kOperatorForms[] = {
#include "import/operator_forms.inc"
};

constexpr const char* kHelp = "the file breaks ONNX's rules: export it again (onnx.checker.check_model checks a file)";
constexpr int64_t kLastType = 29;                     // of elements, with room for newer ones
constexpr uint32_t kSequenceBit = uint32_t{1} << 30;  // of a set of types; below it one for each element type

// One input or output: its name, '!' needed, '?' optional, '*' any number of one type, '+' any number; and its type.
struct Formal {
  std::string name;
  char option = '!';
  std::string type;
};

struct Form {
  int since = 0, least_inputs = 0, least_outputs = 0;
  std::vector<Formal> inputs, outputs;
  std::map<std::string, uint32_t> types;                   // sets of types, by the name of the type
  std::map<std::string, std::pair<bool, int>> attributes;  // needed? of what type?
};

std::vector<Formal> read_formals(const char* text) {
  std::vector<Formal> formals;
  for (const std::string& word : words_of(text)) {
    const size_t at = word.find_first_of("!?*+");
    formals.push_back({word.substr(0, at), word[at], word.substr(at + 1)});
  }
  return formals;
}

Form read_form(const OperatorFormText& text) {
  Form form{text.since, text.least_inputs, text.least_outputs, read_formals(text.inputs), read_formals(text.outputs)};
  for (const std::string& word : words_of(text.types)) {
    const size_t at = word.find('=');
    form.types[word.substr(0, at)] = static_cast<uint32_t>(std::stoul(word.substr(at + 1), nullptr, 16));
  }
  for (const std::string& word : words_of(text.attributes)) {
    const size_t at = word.find_first_of("!:");
    form.attributes[word.substr(0, at)] = {word[at] == '!', std::stoi(word.substr(at + 1))};
  }
  return form;
}

using Forms = std::map<std::string, std::vector<Form>, std::less<>>;  // of an operator, by rising opset

const Forms& all_forms() {
  static const Forms forms = [] {
    Forms read;
    for (const OperatorFormText& text : kOperatorForms) read[text.op_type].push_back(read_form(text));
    return read;
  }();
  return forms;
}

const std::vector<Form>* forms_of(const onnx::NodeProto& node) {
  if (!node.domain().empty() && node.domain() != "ai.onnx") return nullptr;
  const auto found = all_forms().find(node.op_type());
  return found == all_forms().end() ? nullptr : &found->second;
}

const Form* form_at(const std::vector<Form>& forms, int64_t opset) {
  const Form* at = nullptr;
  for (const Form& form : forms)
    if (form.since <= opset) at = &form;
  return at;
}

Failure wrong(std::string what) {
  return fail("E0211", std::move(what), {}, kHelp);
}

// The formal operand that stands for position `at`; null: too many.
const Formal* formal_of(const std::vector<Formal>& formals, size_t at) {
  if (at < formals.size()) return &formals[at];
  const bool any = !formals.empty() && (formals.back().option == '*' || formals.back().option == '+');
  return any ? &formals.back() : nullptr;
}

template <class Names>
Result<void> check_operands(const std::vector<Formal>& formals, int least, const Names& names, const char* kind) {
  if (names.size() < least) return wrong(fmt::format("it has {} {}s and needs {}", names.size(), kind, least));
  for (int at = 0; at < names.size(); ++at) {
    const Formal* formal = formal_of(formals, static_cast<size_t>(at));
    if (formal == nullptr) return wrong(fmt::format("it has {} {}s, more than {}", names.size(), kind, formals.size()));
    const bool needed = formal->option == '!' || (formal->option != '?' && *kind == 'i');
    if (names[at].empty() && needed) return wrong(fmt::format("its {} {} ('{}') is missing", kind, at, formal->name));
  }
  return {};
}

// Attributes that name a type of elements.
bool names_type(const std::string& attribute) {
  return attribute == "to" || attribute == "dtype" || attribute == "output_datatype" || attribute == "stash_type";
}

// Attributes that the C++ builder adds to operators of ONNX.
constexpr const char* kOwnAttributes = "pantoum_";

Result<void> check_attributes(const Form& form, const onnx::NodeProto& node) {
  std::set<std::string> given;
  for (const auto& attribute : node.attribute()) {
    if (attribute.name().starts_with(kOwnAttributes)) continue;
    const auto known = form.attributes.find(attribute.name());
    if (known == form.attributes.end())
      return wrong(fmt::format("it has an attribute '{}', which the operator does not have", attribute.name()));
    if (!given.insert(attribute.name()).second)
      return wrong(fmt::format("its attribute '{}' is given twice", attribute.name()));
    if (attribute.type() != known->second.second)
      return wrong(fmt::format("its attribute '{}' has the wrong type", attribute.name()));
    if (names_type(attribute.name()) && (attribute.i() <= 0 || attribute.i() > kLastType))
      return wrong(fmt::format("its attribute '{}' is {}, which is no type", attribute.name(), attribute.i()));
  }
  for (const auto& [name, form_of] : form.attributes)
    if (form_of.first && !given.contains(name)) return wrong(fmt::format("its attribute '{}' is missing", name));
  return {};
}

uint32_t bits_of(const GivenType& given) {
  if (given.sequence) return kSequenceBit;
  uint32_t bits = 0;
  for (int type = 1; type < 30; ++type) {
    const auto dtype = onnx::TensorProto::DataType_IsValid(type) ? dtype_of(type) : std::nullopt;
    if (dtype && runtime_dtype(*dtype) == runtime_dtype(given.dtype)) bits |= uint32_t{1} << type;
  }
  return bits;
}

std::string name_of(const GivenType& given) {
  return given.sequence ? "a sequence of tensors" : std::string(ir::name_of(runtime_dtype(given.dtype)));
}

bool same(const GivenType& a, const GivenType& b) {
  return a.sequence == b.sequence && (a.sequence || runtime_dtype(a.dtype) == runtime_dtype(b.dtype));
}

}  // namespace

std::span<const OperatorFormText> operator_forms() {
  return kOperatorForms;
}

Result<void> check_form(const onnx::NodeProto& node, int64_t opset) {
  const std::vector<Form>* forms = forms_of(node);
  if (forms == nullptr) return {};
  const Form* form = form_at(*forms, opset);
  if (form == nullptr)
    return wrong(
        fmt::format("the model is of opset {}, and the operator came with opset {}", opset, forms->front().since));
  PANTOUM_TRY(check_operands(form->inputs, form->least_inputs, node.input(), "input"));
  PANTOUM_TRY(check_operands(form->outputs, form->least_outputs, node.output(), "output"));
  return check_attributes(*form, node);
}

namespace {

// Integers compute alike here: uint8 where the operator takes wider ones, and what a later opset takes.
uint32_t taken_types(const std::vector<Form>& forms, const Form& form, size_t input) {
  constexpr uint32_t kWhole = (uint32_t{1} << onnx::TensorProto::INT32) | (uint32_t{1} << onnx::TensorProto::INT64);
  uint32_t taken = 0;
  for (const Form& each : forms) {
    const Formal* formal = each.since >= form.since ? formal_of(each.inputs, input) : nullptr;
    if (formal != nullptr) taken |= each.types.at(formal->type);
  }
  return (taken & kWhole) != 0 ? taken | (uint32_t{1} << onnx::TensorProto::UINT8) : taken;
}

}  // namespace

Result<void> check_types(const onnx::NodeProto& node, int64_t opset,
                         const std::vector<std::optional<GivenType>>& given) {
  const std::vector<Form>* forms = forms_of(node);
  const Form* form = forms != nullptr ? form_at(*forms, opset) : nullptr;
  if (form == nullptr) return {};
  std::map<std::string, size_t> first;  // input of each type
  for (size_t at = 0; at < given.size(); ++at) {
    const Formal* formal = formal_of(form->inputs, at);
    if (!given[at] || formal == nullptr) continue;
    if ((taken_types(*forms, *form, at) & bits_of(*given[at])) == 0)
      return wrong(fmt::format("its input {} ('{}') is {}, which the operator does not take in opset {}", at,
                               formal->name, name_of(*given[at]), opset));
    if (formal->option == '+') continue;
    const size_t other = first.try_emplace(formal->type, at).first->second;
    if (!same(*given[other], *given[at]))
      return wrong(fmt::format("its input {} is {}, its input {} is {}, and the operator wants one type", other,
                               name_of(*given[other]), at, name_of(*given[at])));
  }
  return {};
}

}  // namespace pantoum::import
