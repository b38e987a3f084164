#include "tflite/network.h"

#include <fmt/format.h>

#include "base/foreign_text.h"

namespace pantoum::tflite {
namespace {

// The elements with dimensions in another order.
std::vector<float> permuted(const Constant& from, const Shape& order) {
  const size_t rank = from.shape.size();
  std::vector<size_t> steps(rank, 1), at(rank, 0);
  for (size_t d = rank; d-- > 1;) steps[d - 1] = steps[d] * static_cast<size_t>(from.shape[d]);
  std::vector<float> to(from.elements.size());
  size_t position = 0;
  for (float& element : to) {
    element = from.elements[position];
    for (size_t d = rank; d-- > 0;) {
      const auto dimension = static_cast<size_t>(order[d]);
      const auto extent = static_cast<size_t>(from.shape[dimension]);
      position += steps[dimension];
      if (++at[d] < extent) break;
      position -= extent * steps[dimension];
      at[d] = 0;
    }
  }
  return to;
}

}  // namespace

int Network::source_of(int tensor) const {
  const auto found = aliases_.find(tensor);
  return found == aliases_.end() ? tensor : found->second;
}

bool Network::is_constant(int tensor) const {
  return tensor != kNoTensor && !is_computed(tensor) && !file.contents_of(source_of(tensor)).empty();
}

Shape Network::shape_of(int tensor) const {
  const Value& value = values_.at(tensor);
  if (value.as_filed.valid()) return value.as_filed.shape();
  const Shape shape = value.channels_first.shape();
  return {shape[0], shape[2], shape[3], shape[1]};
}

bool Network::is_channels_first(int tensor) const {
  const auto found = values_.find(tensor);
  return found != values_.end() && found->second.channels_first.valid();
}

// Where each picture is one pixel, both layouts are the same elements in the same order.
Tensor Network::turned(const Tensor& x, const Shape& order) {
  const Shape from = x.shape();
  Shape to;
  for (const int64_t d : order) to.push_back(from[static_cast<size_t>(d)]);
  const Shape& picture = order == kToFile ? to : from;
  if (picture[1] != 1 || picture[2] != 1) return net.permute(x, order);
  to[0] = 0;
  return net.reshape(x, to);
}

Tensor Network::value(int tensor, Layout layout) {
  Value& value = values_.at(tensor);
  Tensor& wanted = layout == Layout::kOfFile ? value.as_filed : value.channels_first;
  if (!wanted.valid()) {
    const bool to_file = layout == Layout::kOfFile;
    wanted = turned(to_file ? value.channels_first : value.as_filed, to_file ? kToFile : kToChannelsFirst);
  }
  return wanted;
}

void Network::put(int tensor, const Tensor& value, Layout layout) {
  (layout == Layout::kOfFile ? values_[tensor].as_filed : values_[tensor].channels_first) = value;
}

std::string Network::free_name(std::set<std::string>& taken, int tensor) const {
  std::string wanted = file.name_of(tensor);
  if (wanted.empty()) wanted = fmt::format("tensor{}", tensor);
  if (!base::is_utf8(wanted) || wanted.find('\0') != std::string::npos) wanted = fmt::format("tensor{}", tensor);
  std::string name = wanted;
  for (int number = 2; !taken.insert(name).second; ++number) name = fmt::format("{}_{}", wanted, number);
  return name;
}

Result<Tensor> Network::table(int tensor, const Shape& order, const Shape& shape) {
  const int source = source_of(tensor);
  const auto [known, is_new] = tables_.try_emplace({source, {order, shape}});
  if (!is_new) return known->second;
  PANTOUM_ASSIGN(Constant constant, constants.reals(source));
  Shape made = constant.shape;
  if (!order.empty()) {
    if (constant.shape.size() < order.size())
      constant.shape.insert(constant.shape.begin(), order.size() - constant.shape.size(), 1);
    made.resize(order.size());
    constant.elements = permuted(constant, order);
    for (size_t d = 0; d < order.size(); ++d) made[d] = constant.shape[static_cast<size_t>(order[d])];
  }
  if (!shape.empty()) made = shape;
  const std::string name = name_of_node(source);
  known->second = net.constant(TensorView{
      .name = name, .dtype = DType::f32, .shape = made, .data = std::as_writable_bytes(std::span(constant.elements))});
  return known->second;
}

}  // namespace pantoum::tflite
