// A small random graph for tests of gradients and of running in place, and how one is made.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "autodiff/autodiff.h"
#include "ir/builder.h"

namespace pantoum::autodiff {

// Makes parameters with random contents, away from the kinks of relu and the poles of log and division.
class CaseBuilder {
 public:
  CaseBuilder(ir::Graph& graph, uint32_t seed) : builder(graph), random_(seed) {}

  ir::Builder builder;

  ir::ValueId parameter(ir::Shape shape) { return make(std::move(shape), true, true); }
  ir::ValueId positive(ir::Shape shape) { return make(std::move(shape), false, true); }
  ir::ValueId frozen(ir::Shape shape) { return make(std::move(shape), true, false); }
  ir::ValueId op(ir::Kind kind, std::vector<ir::ValueId> inputs, ir::Attrs attrs = {},
                 std::vector<ir::TensorType> given = {}) {
    return builder.op(kind, "op" + std::to_string(++count_), std::move(inputs), std::move(attrs), std::move(given));
  }
  std::vector<ir::ValueId> ops(ir::Kind kind, std::vector<ir::ValueId> inputs, ir::Attrs attrs = {},
                               std::vector<ir::TensorType> given = {}) {
    return builder.add(kind, "op" + std::to_string(++count_), std::move(inputs), std::move(attrs), std::move(given));
  }

 private:
  std::mt19937 random_;
  int count_ = 0;

  ir::ValueId make(ir::Shape shape, bool both_signs, bool trainable) {
    const ir::TensorType type{ir::DType::kF32, std::move(shape)};
    auto data = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(type.bytes()));
    for (int64_t element = 0; element < type.elements(); ++element) {
      float value = std::uniform_real_distribution<float>(0.3f, 1.3f)(random_);
      if (both_signs && (random_() & 1) != 0) value = -value;
      std::memcpy(data->data() + static_cast<size_t>(element) * sizeof value, &value, sizeof value);
    }
    return builder.parameter("p" + std::to_string(++count_), type, data, trainable);
  }
};

struct GradientCase {
  std::string name;
  std::function<ir::ValueId(CaseBuilder&)> build;  // the model's output
  LossTerm loss = {"mse"};
};

}  // namespace pantoum::autodiff
