// Substitutions of convolutions of two and three dimensions and of their gradients, which are linear in each of their two
// inputs: two that share an input are one with the other inputs side by side, and the sum of two is one whose inputs stand
// side by side where it adds up.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "rewrite/edit.h"
#include "rewrite/rule.h"

namespace pantoum::rewrite {
namespace {

enum class ConvolutionForm { kOther, kForward, kInput, kWeight };  // X W -> Y, dY W -> dX, X dY -> dW

ConvolutionForm convolution_form(const Op& op) {
  switch (op.kind) {
    case Kind::k_conv2d:
    case Kind::k_conv3d:
      return ConvolutionForm::kForward;
    case Kind::k_conv2d_dx:
    case Kind::k_conv3d_dx:
      return ConvolutionForm::kInput;
    case Kind::k_conv2d_dw:
    case Kind::k_conv3d_dw:
      return ConvolutionForm::kWeight;
    default:
      return ConvolutionForm::kOther;
  }
}

// The form of a convolution in one group that may be merged.
ConvolutionForm form_to_merge(const Op& op) {
  const ConvolutionForm form = convolution_form(op);
  return form != ConvolutionForm::kOther && op.attrs.ints.back() == 1 && is_ordinary(op) ? form
                                                                                         : ConvolutionForm::kOther;
}

// Biases of two that are to be one: along what the output is joined by they are joined too, else they are the same.
bool biases_fit(const Op& a, const Op& b, size_t shared) {
  return a.inputs.size() == b.inputs.size() && (a.inputs.size() == 2 || shared == 0 || a.inputs[2] == b.inputs[2]);
}

// The first op behind `at` of its kind and attributes that has its input `shared` in common, whose other input differs from
// the op's along `axis` alone, and that does not wait for it.
const Op* partner_of(const Graph& graph, OpId at, size_t shared, size_t axis) {
  const Op& op = graph.op(at);
  const auto fits = [&](const Op& other) {
    return other.kind == op.kind && op.inputs[shared] == other.inputs[shared] &&
           op.inputs[1 - shared] != other.inputs[1 - shared] && op.attrs == other.attrs && is_ordinary(other) &&
           biases_fit(op, other, shared) &&
           differ_along(graph.value(op.inputs[1 - shared]).type, graph.value(other.inputs[1 - shared]).type, axis);
  };
  const auto behind = graph.ops.begin() + at + 1;
  const auto first = std::find_if(behind, graph.ops.end(), fits);
  if (first == graph.ops.end()) return nullptr;
  std::unordered_set<ValueId> waiting(op.outputs.begin(), op.outputs.end());
  for (auto other = behind; other != graph.ops.end(); ++other) {
    const bool waits = std::ranges::any_of(other->inputs, [&](ValueId input) { return waiting.count(input) != 0; });
    if (waits) {
      waiting.insert(other->outputs.begin(), other->outputs.end());
    } else if (other >= first && fits(*other)) {
      return &*other;
    }
  }
  return nullptr;
}

// The op at `at` and its partner as one op, and a split of what that makes. The inputs but `shared` are joined along `from`,
// and the output falls apart along `to`.
std::optional<Graph> merge_sharing(const Graph& graph, OpId at, size_t shared, size_t from, size_t to) {
  const Op& op = graph.op(at);
  const Op* other = partner_of(graph, at, shared, from);
  if (other == nullptr) return std::nullopt;
  const std::string name = op.name + "+" + other->name;
  Edit edit(graph, at);
  std::vector<ValueId> inputs = op.inputs;
  inputs[1 - shared] = edit.concat(name + ".joined", {op.inputs[1 - shared], other->inputs[1 - shared]}, from);
  if (inputs.size() == 3 && shared == 0) inputs[2] = edit.concat(name + ".bias", {op.inputs[2], other->inputs[2]}, 0);
  TensorType type = edit.type(op.outputs[0]);
  type.shape[to] += edit.type(other->outputs[0]).shape[to];
  const ValueId both = edit.op(op.kind, name, std::move(inputs), op.attrs, {type});
  const std::vector<ValueId> pieces = edit.add(Kind::k_split, name + ".split", {both}, {{static_cast<int64_t>(to)}, {}},
                                               {edit.type(op.outputs[0]), edit.type(other->outputs[0])});
  edit.replace(op.outputs[0], pieces[0]);
  edit.replace(other->outputs[0], pieces[1]);
  return edit.done();
}

}  // namespace

// conv(X, W) and conv(X, V) are the channels of conv(X, [W; V]), biases side by side too. Of two and three dimensions.
//   tolerance  each element is the same sum; kernels may add it up in another order at other extents
//   where      strides, padding, dilation and kernel's extents are the same, one group
//   not        groups (the outputs would have to be mixed); other extents
std::optional<Graph> merge_convolutions(const Graph& graph, OpId at) {
  if (form_to_merge(graph.op(at)) != ConvolutionForm::kForward) return std::nullopt;
  return merge_sharing(graph, at, 0, 0, 1);
}

// conv(X, W) and conv(Z, W) are the samples of conv([X; Z], W), and so are the gradients of their images.
//   tolerance  each element is the same sum; kernels may add it up in another order at other extents
//   where      conv2d, conv3d, and their dx, of one weight, one group, whose images differ in their number alone
//   not        groups; another bias
std::optional<Graph> merge_convolution_batches(const Graph& graph, OpId at) {
  const ConvolutionForm form = form_to_merge(graph.op(at));
  if (form != ConvolutionForm::kForward && form != ConvolutionForm::kInput) return std::nullopt;
  return merge_sharing(graph, at, 1, 0, 0);
}

// conv(X, W) + conv(Z, V) = conv([X Z], [W V]) over the channels of both; sums of gradients of images over the outputs of
// both (what two convolutions of one image send back), sums of gradients of weights over the samples of both (one weight
// used twice).
//   tolerance  the same terms in another order
//   where      the addition alone reads both; strides, padding, dilation and extents are the same, one group, one bias at
//              most
//   not        groups; kernels of other extents
std::optional<Graph> accumulate_convolutions(const Graph& graph, OpId at) {
  const Op& op = graph.op(at);
  if (op.kind != Kind::k_add || !is_ordinary(op)) return std::nullopt;
  const Op *a = maker_of(graph, op.inputs[0]), *b = maker_of(graph, op.inputs[1]);
  if (a == nullptr || b == nullptr || a == b || a->kind != b->kind || form_to_merge(*a) == ConvolutionForm::kOther ||
      form_to_merge(*b) == ConvolutionForm::kOther || a->attrs != b->attrs || a->inputs.size() + b->inputs.size() > 5)
    return std::nullopt;
  const ConvolutionForm form = convolution_form(*a);  // along which dimension both inputs are joined
  const size_t first = form == ConvolutionForm::kWeight ? 0 : 1, second = form == ConvolutionForm::kForward ? 1 : 0;
  const auto fit = [&](size_t input, size_t axis) {
    return differ_along(graph.value(a->inputs[input]).type, graph.value(b->inputs[input]).type, axis);
  };
  const TensorType& type = graph.value(op.outputs[0]).type;
  for (const ValueId term : op.inputs)
    if (graph.value(term).type != type || !is_read_by_one(graph, term)) return std::nullopt;
  if (!fit(0, first) || !fit(1, second)) return std::nullopt;
  if (b->inputs.size() == 3) std::swap(a, b);
  const std::string name = a->name + "+" + b->name;
  Edit edit(graph, at);
  std::vector<ValueId> inputs = a->inputs;
  inputs[0] = edit.concat(name + ".first", {a->inputs[0], b->inputs[0]}, first);
  inputs[1] = edit.concat(name + ".second", {a->inputs[1], b->inputs[1]}, second);
  edit.replace(op.outputs[0], edit.op(a->kind, name, std::move(inputs), a->attrs, {edit.type(op.outputs[0])}));
  return edit.done();
}

}  // namespace pantoum::rewrite
