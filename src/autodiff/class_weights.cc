// Losses over classes that weigh differently, from operators whose gradients are known: their kernels know no weights.
//
//   labels          -sum_n w[y_n] log p_n[y_n] / sum_n w[y_n]
//   smoothed by s   (1 - s) of that, and s / C of -sum_n sum_c w[c] log p_n[c] / sum_n w[y_n]
//   probabilities   -sum_n sum_c w[c] t_n[c] log p_n[c] / N
//
// Labels that do not count weigh nothing. Where no label weighs, the loss is 0, as without weights.
#include <fmt/format.h>

#include "autodiff/step.h"
#include "ir/op_registry.h"
#include "pantoum/ops.h"

namespace pantoum::autodiff {
namespace {

class Weighted {
 public:
  Weighted(Builder& builder, const LossSite& site, std::string name)
      : builder_(builder), site_(site), name_(std::move(name)), classes_(builder.type(site.prediction).shape[1]) {
    const std::vector<double>& weights = site.term.class_weights;
    weights_ = builder.constant_f32("class_weights" + site.suffix, {classes_}, {weights.begin(), weights.end()});
    log_ = kind_of(site.term) == Loss::kNll ? site.prediction : op(Kind::k_log_softmax, {site.prediction}, {{1}, {}});
  }

  // `total`: the sum of the labels' weights.
  ValueId of_labels(ValueId& total) {
    const ValueId none = builder_.constant_f32(next("zero"), {}, {0});
    const std::vector<ValueId> ignored = ignored_labels();
    const ValueId first = builder_.constant_i64(next("class"), {}, {0});
    ValueId read = site_.target;
    for (const ValueId is : ignored) read = op(Kind::k_where, {is, first, read});
    const auto counted = [&](ValueId x) {
      for (const ValueId is : ignored) x = op(Kind::k_where, {is, none, x});
      return x;
    };
    const ValueId weight = counted(op(Kind::k_gather, {weights_, read}, {{0}, {}}));
    const Shape shape = builder_.type(read).shape;
    Shape apart = shape;
    apart.insert(apart.begin() + 1, 1);
    const ValueId picked = builder_.reshape(
        op(Kind::k_gather_elements, {log_, builder_.reshape(read, apart)}, {{1}, {}}), shape);
    ValueId sum = sum_of(counted(op(Kind::k_mul, {picked, weight})));
    if (const double s = site_.term.smoothing; s > 0) {
      const ValueId even = sum_of(counted(op(Kind::k_reduce_sum, {weighted(log_)}, {{1 << 1}, {}})));
      sum = op(Kind::k_add, {scaled(sum, 1 - s), scaled(even, s / static_cast<double>(classes_))});
    }
    const ValueId one = builder_.constant_f32(next("one"), {}, {1});
    total = sum_of(weight);
    const ValueId nothing = op(Kind::k_compare, {total, none}, {{PT_COMPARE_EQUAL}, {}});
    return op(Kind::k_div, {scaled(sum, -1), op(Kind::k_where, {nothing, one, total})});
  }

  ValueId of_probabilities() {
    const double s = site_.term.smoothing, classes = static_cast<double>(classes_);
    const ValueId target = s > 0 ? scaled(site_.target, 1 - s, s / classes) : site_.target;
    const double positions = static_cast<double>(builder_.type(log_).elements()) / classes;
    return scaled(sum_of(op(Kind::k_mul, {weighted(log_), target})), -1 / positions);
  }

 private:
  std::string next(const char* what) { return fmt::format("{}.{}{}", name_, what, made_++); }
  ValueId op(Kind kind, std::vector<ValueId> inputs, Attrs attrs = {}) {
    return builder_.op(kind, next(ir::name_of(kind)), std::move(inputs), std::move(attrs));
  }
  ValueId scaled(ValueId x, double factor, double offset = 0) { return op(Kind::k_scale, {x}, {{}, {factor, offset}}); }
  ValueId sum_of(ValueId x) {
    const size_t rank = builder_.type(x).shape.size();
    return op(Kind::k_reduce_sum, {x}, {{(int64_t{1} << rank) - 1}, {}});
  }
  ValueId weighted(ValueId x) {
    Shape shape(builder_.type(x).shape.size() - 1, 1);
    shape[0] = classes_;
    return op(Kind::k_mul, {x, builder_.reshape(weights_, shape)});
  }
  // Truth of the labels that do not count.
  std::vector<ValueId> ignored_labels() {
    const auto is = [&](int64_t relation, int64_t number) {
      return op(Kind::k_compare, {site_.target, builder_.constant_i64(next("label"), {}, {number})}, {{relation}, {}});
    };
    std::vector<ValueId> found{is(PT_COMPARE_LESS, 0)};
    if (site_.term.ignore_index >= 0) found.push_back(is(PT_COMPARE_EQUAL, site_.term.ignore_index));
    return found;
  }

  Builder& builder_;
  const LossSite& site_;
  std::string name_;
  int64_t classes_;
  ValueId weights_ = kNone, log_ = kNone;
  int made_ = 0;
};

}  // namespace

void add_weighted_loss(Builder& builder, LossSite& site, const std::string& name) {
  Weighted weighted(builder, site, name);
  site.loss = has_labels(site.term) ? weighted.of_labels(site.label_weight) : weighted.of_probabilities();
  builder.rename(site.loss, name);
}

}  // namespace pantoum::autodiff
