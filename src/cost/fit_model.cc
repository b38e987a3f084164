#include "cost/fit_model.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace pantoum::cost {
namespace {

constexpr size_t kRates = 3;  // flops, bytes, overhead
using Vector = std::array<double, kRates>;
using Matrix = std::array<Vector, kRates>;

constexpr double kRatePrior = 1 / (1.0 * 1.0), kFactorPrior = 1 / (0.5 * 0.5);  // weights of the two last sums
constexpr double kLeastScatter = 0.02;                                          // 2%: no clock is more exact
constexpr double kCauchy = 2.385;  // 95% as good as least squares without outliers
constexpr int kMostRounds = 50;
constexpr double kMostStep = 1, kDone = 1e-9;  // of a logarithm

Compute scaled(const Compute& profile, const Vector& logs) {
  Compute compute = profile;
  compute.flops_per_s *= std::exp(logs[0]);
  compute.bytes_per_s *= std::exp(logs[1]);
  for (CacheLevel& cache : compute.caches) cache.bytes_per_s *= std::exp(logs[1]);
  compute.op_overhead_s *= std::exp(-logs[2]);
  return compute;
}

double middle_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Solves a symmetric positive definite system of three equations by elimination. Its diagonal is at least the prior's weight.
Vector solved(Matrix matrix, Vector right) {
  for (size_t row = 0; row < kRates; ++row)
    for (size_t below = row + 1; below < kRates; ++below) {
      const double times = matrix[below][row] / matrix[row][row];
      for (size_t column = row; column < kRates; ++column) matrix[below][column] -= times * matrix[row][column];
      right[below] -= times * right[row];
    }
  Vector found{};
  for (size_t row = kRates; row-- > 0;) {
    double rest = right[row];
    for (size_t column = row + 1; column < kRates; ++column) rest -= matrix[row][column] * found[column];
    found[row] = rest / matrix[row][row];
  }
  return found;
}

class Fit {
 public:
  Fit(const std::vector<MeasuredRow>& rows, const Compute& profile) : profile_(profile) {
    model_.compute = profile;
    for (const MeasuredRow& row : rows) is_usable(row) ? add(row) : void(++model_.left_out);
    model_.rows = rows_.size();
  }

  FittedModel run() {
    if (rows_.empty()) return std::move(model_);
    start_at_the_median();
    for (int round = 0; round < kMostRounds; ++round)
      if (improve() < kDone) break;
    model_.compute = scaled(profile_, rates_);
    for (const auto& [name, family] : family_of_)
      model_.families[name] = {.factor = std::exp(factors_[family]), .rows = rows_in_[family]};
    if (rows_.size() > 1) model_.scatter = scatter();
    return std::move(model_);
  }

 private:
  struct Row {
    Work work;
    size_t family = 0;
    double log_seconds = 0;
  };

  [[nodiscard]] bool is_usable(const MeasuredRow& row) const {
    const auto is_amount = [](double value) { return std::isfinite(value) && value >= 0; };
    if (!is_amount(row.work.flops) || !is_amount(row.work.bytes) || !is_amount(row.work.footprint) ||
        !is_amount(row.work.elements) || !std::isnormal(row.seconds) || row.seconds < 0)
      return false;
    return std::isnormal(modelled_seconds(profile_, row.work));
  }

  void add(const MeasuredRow& row) {
    const auto [entry, is_new] = family_of_.try_emplace(row.family, factors_.size());
    if (is_new) factors_.push_back(0), rows_in_.push_back(0);
    ++rows_in_[entry->second];
    rows_.push_back({row.work, entry->second, std::log(row.seconds)});
  }

  [[nodiscard]] double log_model(const Work& work, const Vector& rates) const {
    return std::log(modelled_seconds(scaled(profile_, rates), work));
  }

  // The rows alone decide the scale; the profile gives proportions. The two last sums pull towards this start.
  void start_at_the_median() {
    std::vector<double> errors;
    for (const Row& row : rows_) errors.push_back(row.log_seconds - log_model(row.work, rates_));
    start_.fill(-middle_of(std::move(errors)));
    rates_ = start_;
    measure_errors();
  }

  void measure_errors() {
    errors_.clear();
    for (const Row& row : rows_)
      errors_.push_back(row.log_seconds - log_model(row.work, rates_) - factors_[row.family]);
  }

  [[nodiscard]] double scatter() const {
    std::vector<double> sizes;
    for (const double error : errors_) sizes.push_back(std::abs(error));
    return std::max(kLeastScatter, 1.4826 * middle_of(std::move(sizes)));
  }

  // Computes the slopes by central differences. (`max` has a kink, where the slope of either side will do.)
  [[nodiscard]] Vector slopes(const Work& work) const {
    constexpr double kStep = 1e-4;
    Vector slope{};
    for (size_t rate = 0; rate < kRates; ++rate) {
      Vector more = rates_, less = rates_;
      more[rate] += kStep, less[rate] -= kStep;
      slope[rate] = (log_model(work, more) - log_model(work, less)) / (2 * kStep);
    }
    return slope;
  }

  // Sums over one family's rows.
  struct Sums {
    double weight = 0, error = 0;
    Vector slope{};
  };

  // Makes one Gauss-Newton step of all rates and factors at once. Factors are eliminated, because each meets only its own rows. A row's
  // weight follows from how far off it is. Returns the largest change.
  double improve() {
    const double wide = kCauchy * scatter(), least = scatter() * scatter();
    std::vector<Sums> sums(factors_.size());
    Matrix normal{};
    Vector right{};
    for (size_t at = 0; at < rows_.size(); ++at) {
      const double far = errors_[at] / wide, weight = 1 / (1 + far * far) / least;
      const Vector slope = slopes(rows_[at].work);
      Sums& family = sums[rows_[at].family];
      family.weight += weight, family.error += weight * errors_[at];
      for (size_t i = 0; i < kRates; ++i) {
        family.slope[i] += weight * slope[i];
        right[i] += weight * slope[i] * errors_[at];
        for (size_t j = 0; j < kRates; ++j) normal[i][j] += weight * slope[i] * slope[j];
      }
    }
    for (size_t family = 0; family < sums.size(); ++family) eliminate(sums[family], factors_[family], normal, right);
    for (size_t i = 0; i < kRates; ++i) {
      normal[i][i] += kRatePrior;
      right[i] -= kRatePrior * (rates_[i] - start_[i]);
    }
    return move_by(solved(normal, right), sums);
  }

  static void eliminate(const Sums& family, double factor, Matrix& normal, Vector& right) {
    const double all = family.weight + kFactorPrior, own = family.error - kFactorPrior * factor;
    for (size_t i = 0; i < kRates; ++i) {
      right[i] -= family.slope[i] * own / all;
      for (size_t j = 0; j < kRates; ++j) normal[i][j] -= family.slope[i] * family.slope[j] / all;
    }
  }

  double move_by(Vector step, const std::vector<Sums>& sums) {
    double largest = 0;
    for (double& part : step)
      part = std::clamp(part, -kMostStep, kMostStep), largest = std::max(largest, std::abs(part));
    for (size_t i = 0; i < kRates; ++i) rates_[i] += step[i];
    for (size_t family = 0; family < sums.size(); ++family) {
      double left = sums[family].error - kFactorPrior * factors_[family];
      for (size_t i = 0; i < kRates; ++i) left -= sums[family].slope[i] * step[i];
      const double change = std::clamp(left / (sums[family].weight + kFactorPrior), -kMostStep, kMostStep);
      factors_[family] += change;
      largest = std::max(largest, std::abs(change));
    }
    measure_errors();
    return largest;
  }

  const Compute& profile_;
  FittedModel model_;
  std::vector<Row> rows_;
  std::map<std::string, size_t> family_of_;
  std::vector<size_t> rows_in_;  // by family
  Vector start_{}, rates_{};     // logarithms of rates over the profile's; for overhead, of the profile's over the rate
  std::vector<double> factors_;  // logarithms, by family
  std::vector<double> errors_;   // by row: log measured - log model
};

}  // namespace

Seconds FittedModel::seconds(const std::string& family, const Work& work) const {
  const auto found = families.find(family);
  return modelled_seconds(compute, work) * (found == families.end() ? 1 : found->second.factor);
}

FittedModel fit_model(const std::vector<MeasuredRow>& rows, const Compute& profile) {
  return Fit(rows, profile).run();
}

}  // namespace pantoum::cost
