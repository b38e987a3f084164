// LSTM, GRU and RNN layers with PyTorch's parameters, whose gates are put into ONNX's order node by node: the import takes that back.
#include <fmt/format.h>

#include <cmath>

#include "layers/apply.h"
#include "layers/initial_values.h"

namespace pantoum::layers {
namespace {

// The settings that LSTM, GRU and RNN share.
struct Cell {
  const char* op_type;
  std::vector<size_t> gates;  // ONNX's order, as positions in PyTorch's
  Attributes attributes;
  int64_t hidden, layers;
  bool bidirectional, bias;
  double dropout;
};

Cell cell_of(const Lstm& layer) {
  return {"LSTM", {0, 3, 1, 2}, {}, layer.hidden, layer.layers, layer.bidirectional, layer.bias, layer.dropout};
}
Cell cell_of(const Gru& layer) {
  return {"GRU",      {1, 0, 2},    {{"linear_before_reset", 1}}, layer.hidden, layer.layers, layer.bidirectional,
          layer.bias, layer.dropout};
}
Cell cell_of(const Rnn& layer) {
  const std::vector<std::string> activations(layer.bidirectional ? 2 : 1, layer.relu ? "Relu" : "Tanh");
  return {"RNN",      {0},          {{"activations", activations}}, layer.hidden, layer.layers, layer.bidirectional,
          layer.bias, layer.dropout};
}

class Recurrence {
 public:
  Recurrence(Site& site, Cell cell) : site_(site), cell_(std::move(cell)) {}

  Recurrent of(const Tensor& x) {
    if (!site_.takes(x, 3, "[N, T, features]") || !has_sane_options())
      return {site_.none(), site_.none(), site_.none()};
    Tensor sequence = site_.node("Transpose", {x}, {{"perm", kSwapped}});
    std::vector<Tensor> made;
    for (int64_t layer = 0; layer < cell_.layers; ++layer) {
      if (layer > 0) sequence = apply(site_, Dropout{.ratio = cell_.dropout}, sequence);
      made = add_layer(sequence, layer);
      if (!site_.takes(made)) return {site_.none(), site_.none(), site_.none()};
      sequence = joined_steps(made[0]);
    }
    return {site_.node("Transpose", {sequence}, {{"perm", kSwapped}}), joined_state(made[1]),
            made.size() > 2 ? joined_state(made[2]) : site_.none()};
  }

 private:
  inline static const std::vector<int64_t> kSwapped{1, 0, 2};

  Site& site_;
  Cell cell_;

  size_t directions() const { return cell_.bidirectional ? 2 : 1; }

  bool has_sane_options() {
    constexpr int64_t kMostLayers = 256;
    if (!(cell_.dropout >= 0 && cell_.dropout < 1)) {
      site_.fail(fmt::format("its dropout is {}, and must be 0 or more, below 1", cell_.dropout));
      return false;
    }
    return site_.within("hidden", cell_.hidden, 1, kMostExtent / 8) &&
           site_.within("layers", cell_.layers, 1, kMostLayers);
  }

  // PyTorch's parameter of one direction, in ONNX's order of gates, with a dimension for the directions.
  Tensor ordered(const std::string& name, const Shape& shape) {
    const Initial usual = uniform_within(1 / std::sqrt(static_cast<double>(cell_.hidden)));
    Tensor given = site_.parameter(name.c_str(), shape, usual);
    if (!site_.takes(given)) return given;
    if (cell_.gates.size() > 1) {
      const std::vector<int64_t> rows(cell_.gates.size(), cell_.hidden);
      const std::vector<Tensor> gates =
          site_.nodes("Split", {given, site_.integers(rows)},
                      {.attributes = {{"axis", 0}}, .outputs = static_cast<int>(rows.size())});
      std::vector<Tensor> order;
      for (const size_t gate : cell_.gates) order.push_back(gates[gate]);
      given = site_.node("Concat", order, {{"axis", 0}});
    }
    return given;
  }

  Tensor stacked(const std::vector<Tensor>& parts) {
    std::vector<Tensor> wide;
    wide.reserve(parts.size());
    for (const Tensor& part : parts) wide.push_back(site_.node("Unsqueeze", {part, site_.integers({0})}));
    return wide.size() == 1 ? wide[0] : site_.node("Concat", wide, {{"axis", 0}});
  }

  std::vector<Tensor> add_layer(const Tensor& x, int64_t layer) {
    const auto in = site_.extent(x, 2);
    const int64_t rows = static_cast<int64_t>(cell_.gates.size()) * cell_.hidden;
    if (!in) return {site_.none()};
    std::vector<Tensor> w, r, b;
    for (size_t direction = 0; direction < directions(); ++direction) {
      const std::string suffix = fmt::format("_l{}{}", layer, direction == 1 ? "_reverse" : "");
      w.push_back(ordered("weight_ih" + suffix, {rows, *in}));
      r.push_back(ordered("weight_hh" + suffix, {rows, cell_.hidden}));
      if (!cell_.bias) continue;
      const Tensor of_input = ordered("bias_ih" + suffix, {rows}), of_state = ordered("bias_hh" + suffix, {rows});
      b.push_back(site_.node("Concat", {of_input, of_state}, {{"axis", 0}}));
    }
    Attributes attributes = cell_.attributes;
    attributes.insert(
        {{"hidden_size", cell_.hidden}, {"direction", cell_.bidirectional ? "bidirectional" : "forward"}});
    const bool has_cell_state = std::string_view(cell_.op_type) == "LSTM";
    return site_.nodes(cell_.op_type, {x, stacked(w), stacked(r), cell_.bias ? stacked(b) : Tensor()},
                       {.attributes = std::move(attributes), .outputs = has_cell_state ? 3 : 2});
  }

  // [T, D, N, H] -> [T, N, D H]
  Tensor joined_steps(const Tensor& y) {
    if (directions() == 1) return site_.node("Squeeze", {y, site_.integers({1})});
    const Tensor side_by_side = site_.node("Transpose", {y}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    return site_.node("Reshape", {side_by_side, site_.integers({0, 0, -1})});
  }

  // [D, N, H] -> [N, D H]
  Tensor joined_state(const Tensor& h) {
    if (directions() == 1) return site_.node("Squeeze", {h, site_.integers({0})});
    const Tensor side_by_side = site_.node("Transpose", {h}, {{"perm", kSwapped}});
    return site_.node("Reshape", {side_by_side, site_.integers({0, -1})});
  }
};

template <class Layer>
Tensor part_of(Site& site, const Layer& layer, const Tensor& x) {
  const Recurrent made = recur(site, layer, x);
  return layer.final_state ? made.final_state : made.output;
}

}  // namespace

Recurrent recur(Site& site, const Lstm& layer, const Tensor& x) {
  return Recurrence(site, cell_of(layer)).of(x);
}
Recurrent recur(Site& site, const Gru& layer, const Tensor& x) {
  return Recurrence(site, cell_of(layer)).of(x);
}
Recurrent recur(Site& site, const Rnn& layer, const Tensor& x) {
  return Recurrence(site, cell_of(layer)).of(x);
}

Tensor apply(Site& site, const Lstm& layer, const Tensor& x) {
  return part_of(site, layer, x);
}
Tensor apply(Site& site, const Gru& layer, const Tensor& x) {
  return part_of(site, layer, x);
}
Tensor apply(Site& site, const Rnn& layer, const Tensor& x) {
  return part_of(site, layer, x);
}

}  // namespace pantoum::layers
