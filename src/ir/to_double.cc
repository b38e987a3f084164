#include <cstring>

#include "ir/graph.h"

namespace pantoum::ir {
namespace {

Data widened(const Data& data) {
  if (!data) return data;
  const size_t count = data->size() / sizeof(float);
  auto wide = std::make_shared<std::vector<std::byte>>(count * sizeof(double));
  for (size_t element = 0; element < count; ++element) {
    float narrow = 0;
    std::memcpy(&narrow, data->data() + element * sizeof narrow, sizeof narrow);
    const double value = static_cast<double>(narrow);
    std::memcpy(wide->data() + element * sizeof value, &value, sizeof value);
  }
  return wide;
}

}  // namespace

Graph to_double(const Graph& graph) {
  Graph wide = graph;
  for (Value& value : wide.values) {
    if (value.type.dtype != DType::kF32) continue;
    value.type.dtype = DType::kF64;
    value.data = widened(value.data);
  }
  return wide;
}

}  // namespace pantoum::ir
