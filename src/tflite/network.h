// The values of a file's graph while they are built: each in the file's layout, channels last, and with channels first, as operators of ONNX have them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pantoum/model_builder.hpp"
#include "tflite/constants.h"
#include "tflite/file.h"

namespace pantoum::tflite {

using Shape = std::vector<int64_t>;

// Dimensions of pictures: [N,H,W,C] in the file; [N,C,H,W] are dimensions 0, 3, 1 and 2 of it.
inline constexpr size_t kPictureRank = 4;
enum class Layout : uint8_t { kOfFile, kChannelsFirst };
inline const Shape kToChannelsFirst = {0, 3, 1, 2}, kToFile = {0, 2, 3, 1};

class Network {
 public:
  Network(const File& from, const std::string& name) : net(name), file(from), constants(from) {}

  ModelBuilder net;
  const File& file;
  Constants constants;
  int64_t batch = 1;            // as the file has it; the model's is open
  std::set<std::string> notes;  // what the reader took otherwise than the file has it

  [[nodiscard]] bool is_computed(int tensor) const { return values_.contains(tensor); }
  // Constants that DEQUANTIZE makes of others are these others.
  [[nodiscard]] int source_of(int tensor) const;
  [[nodiscard]] bool is_constant(int tensor) const;
  void make_alias(int tensor, int of) { aliases_[tensor] = of; }

  // Of a computed value: extents in the file's order, -1 where the batch decides.
  [[nodiscard]] Shape shape_of(int tensor) const;
  [[nodiscard]] bool is_channels_first(int tensor) const;
  // A computed value in this layout; of kChannelsFirst it has to be a picture.
  Tensor value(int tensor, Layout layout);
  // The value, the same in both layouts unless it is a picture. Both may be given.
  void put(int tensor, const Tensor& value, Layout layout);

  // A constant as a named table whose dimensions are those of the file in this order, in this shape where one is given. One with fewer dimensions than
  // the order has gets dimensions of extent 1 before its own. The same table for the same order and shape.
  Result<Tensor> table(int tensor, const Shape& order = {}, const Shape& shape = {});

  // The tensor's name, or that with a number where it is taken: of nodes and tables, of which each takes one, and of inputs and outputs.
  std::string name_of_node(int tensor) { return free_name(nodes_named_, tensor); }
  std::string name_of_end(int tensor) { return free_name(ends_named_, tensor); }

 private:
  struct Value {
    Tensor as_filed, channels_first;  // at least one is valid
  };
  std::map<int, Value> values_;
  std::map<int, int> aliases_;
  std::map<std::pair<int, std::pair<Shape, Shape>>, Tensor> tables_;
  std::set<std::string> nodes_named_, ends_named_;

  [[nodiscard]] std::string free_name(std::set<std::string>& taken, int tensor) const;
  Tensor turned(const Tensor& x, const Shape& order);
};

}  // namespace pantoum::tflite
