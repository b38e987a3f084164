// Attention with several heads, and the block of a transformer.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "layers/apply.h"

namespace pantoum::layers {
namespace {

class Attention {
 public:
  Attention(Site& site, const MultiHeadAttention& options) : site_(site), options_(options) {}

  Tensor of(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask) {
    if (!fits(query, key, value)) return site_.none();
    const std::array<Tensor, 3> projected = project(query, key, value);
    if (!site_.takes({projected[0], projected[1], projected[2]})) return site_.none();
    const int64_t head_width = width_ / options_.heads;
    const auto factor = static_cast<float>(1 / std::sqrt(static_cast<double>(head_width)));
    const Tensor q = site_.node("Mul", {heads(projected[0], {0, 2, 1, 3}), site_.number(factor)});
    Tensor scores = site_.node("MatMul", {q, heads(projected[1], {0, 2, 3, 1})});
    if (options_.causal) scores = site_.node("Add", {scores, causal_mask(query, key)});
    if (State::of(mask) != nullptr) scores = site_.node("Add", {scores, mask});
    const Tensor weights =
        apply(site_, Dropout{.ratio = options_.dropout}, site_.node("Softmax", {scores}, {{"axis", -1}}));
    Tensor seen = site_.node("MatMul", {weights, heads(projected[2], {0, 2, 1, 3})});
    seen = site_.node("Transpose", {seen}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    seen = site_.node("Reshape", {seen, site_.integers({0, 0, width_})});
    return project_out(seen);
  }

 private:
  Site& site_;
  const MultiHeadAttention& options_;
  int64_t width_ = 0;

  bool fits(const Tensor& query, const Tensor& key, const Tensor& value) {
    for (const Tensor& each : {query, key, value})
      if (!site_.takes(each, 3, "[N, T, features]")) return false;
    const auto width = site_.extent(query, 2);
    if (!width || !site_.extent(key, 2) || !site_.extent(value, 2) || !site_.within("heads", options_.heads, 1))
      return false;
    width_ = *width;
    if (width_ % options_.heads == 0) return true;
    site_.fail(fmt::format("{} features cannot be parted into {} heads", width_, options_.heads));
    return false;
  }

  // Bias of all three as one vector, as PyTorch has it; in three parts.
  std::vector<Tensor> parts(const Tensor& whole) {
    const Tensor sizes = site_.integers({width_, width_, width_});
    return site_.nodes("Split", {whole, sizes}, {.attributes = {{"axis", 0}}, .outputs = 3});
  }

  std::array<Tensor, 3> project(const Tensor& query, const Tensor& key, const Tensor& value) {
    const bool one = State::id_of(query) == State::id_of(key) && State::id_of(key) == State::id_of(value);
    const Tensor bias = options_.bias ? site_.parameter("in_proj_bias", {3 * width_}, Initial::zeros()) : Tensor();
    const std::array<const Tensor*, 3> from{&query, &key, &value};
    std::array<Tensor, 3> weights, made;
    if (site_.shape(key)[2] == width_ && site_.shape(value)[2] == width_) {
      const Tensor packed = site_.parameter("in_proj_weight", {3 * width_, width_}, Initial::xavier_uniform());
      if (one) return split_projection(affine(site_, query, packed, bias));
      const std::vector<Tensor> rows = parts(packed);
      for (size_t which = 0; which < 3; ++which) weights[which] = rows[which];
    } else {
      constexpr std::array kNames = {"q_proj_weight", "k_proj_weight", "v_proj_weight"};
      for (size_t which = 0; which < 3; ++which)
        weights[which] =
            site_.parameter(kNames[which], {width_, site_.shape(*from[which])[2]}, Initial::xavier_uniform());
    }
    const std::vector<Tensor> biases = options_.bias ? parts(bias) : std::vector<Tensor>(3);
    for (size_t which = 0; which < 3; ++which) made[which] = affine(site_, *from[which], weights[which], biases[which]);
    return made;
  }

  std::array<Tensor, 3> split_projection(const Tensor& all) {
    const Tensor sizes = site_.integers({width_, width_, width_});
    const std::vector<Tensor> three = site_.nodes("Split", {all, sizes}, {.attributes = {{"axis", -1}}, .outputs = 3});
    return {three[0], three[1], three[2]};
  }

  // [N, T, E] -> [N, T, heads, E / heads], its dimensions in another order.
  Tensor heads(const Tensor& x, const std::vector<int64_t>& order) {
    const Tensor shape = site_.integers({0, 0, options_.heads, width_ / options_.heads});
    return site_.node("Transpose", {site_.node("Reshape", {x, shape})}, {{"perm", order}});
  }

  Tensor causal_mask(const Tensor& query, const Tensor& key) {
    const auto rows = site_.extent(query, 1), columns = site_.extent(key, 1);
    if (!rows || !columns) return site_.none();
    const auto count = count_of({*rows, *columns}, kMostParameterBytes / 4);
    if (!count || !site_.state().has_bytes(*count * 4)) return site_.fail("its causal mask takes more than 2 GiB");
    std::vector<float> mask(static_cast<size_t>(*count), 0.0F);
    for (int64_t row = 0; row < *rows; ++row)
      for (int64_t column = row + 1; column < *columns; ++column)
        mask[static_cast<size_t>(row * *columns + column)] = -std::numeric_limits<float>::infinity();
    return site_.reals({*rows, *columns}, mask);
  }

  Tensor project_out(const Tensor& x) {
    const Initial usual =
        Initial::uniform(-1 / std::sqrt(static_cast<double>(width_)), 1 / std::sqrt(static_cast<double>(width_)));
    const Tensor weight = site_.parameter("out_proj.weight", {width_, width_}, usual);
    return affine(site_, x, weight,
                  options_.bias ? site_.parameter("out_proj.bias", {width_}, Initial::zeros()) : Tensor());
  }
};

// Layers below a block have the block's name before their own.
template <class L>
Tensor below(Site& site, const char* local, const L& layer, const Tensor& x) {
  Site inner = Site::of_name(site.state(), kind(layer), fmt::format("{}.{}", site.name(), local), site.place());
  return apply(inner, layer, x);
}

}  // namespace

Tensor attend(Site& site, const MultiHeadAttention& layer, const Tensor& query, const Tensor& key, const Tensor& value,
              const Tensor& mask) {
  return Attention(site, layer).of(query, key, value, mask);
}

Tensor apply(Site& site, const MultiHeadAttention& layer, const Tensor& x) {
  return attend(site, layer, x, x, x, {});
}

Tensor apply(Site& site, const TransformerLayer& layer, const Tensor& x) {
  if (!site.takes(x, 3, "[N, T, features]")) return site.none();
  const auto width = site.extent(x, 2);
  if (!width || !site.within("feedforward", layer.feedforward, 1)) return site.none();
  const auto dropped = [&](const char* name, const Tensor& y) { return below(site, name, Dropout{layer.dropout}, y); };
  const auto attended = [&](const Tensor& y) {
    const MultiHeadAttention attention{.heads = layer.heads, .causal = layer.causal, .dropout = layer.dropout};
    return dropped("dropout1", below(site, "self_attn", attention, y));
  };
  const auto fed = [&](const Tensor& y) {
    const Tensor wide = below(site, "linear1", Linear{layer.feedforward}, y);
    const Tensor active =
        layer.gelu ? below(site, "activation", Gelu{}, wide) : below(site, "activation", Relu{}, wide);
    return dropped("dropout2", below(site, "linear2", Linear{*width}, dropped("dropout", active)));
  };
  const auto add = [&](const Tensor& a, const Tensor& b) { return site.node("Add", {a, b}); };
  const auto normed = [&](const char* name, const Tensor& y) { return below(site, name, LayerNorm{}, y); };
  if (!layer.norm_first) {
    const Tensor y = normed("norm1", add(x, attended(x)));
    return normed("norm2", add(y, fed(y)));
  }
  const Tensor y = add(x, attended(normed("norm1", x)));
  return add(y, fed(normed("norm2", y)));
}

}  // namespace pantoum::layers
