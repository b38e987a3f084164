#include "plan/bound/dual_bound.h"

#include <algorithm>
#include <cmath>

namespace pantoum::plan {
namespace {

// Sums in 64 bits of mantissa; `error` bounds what the additions and multiplications may have lost.
class SafeSum {
 public:
  void add(double a, double b) {
    const long double product = static_cast<long double>(a) * static_cast<long double>(b);
    sum_ += product;
    size_ += std::abs(product);
    ++count_;
  }
  long double low() const { return sum_ - error(); }

 private:
  long double error() const { return size_ * static_cast<long double>(count_ + 2) * 0x1p-62L; }
  long double sum_ = 0, size_ = 0;
  int64_t count_ = 0;
};

// Of the right sides, which may be far larger than their sum: whoever adds them up anew in 64 bits, a side of thousands
// of terms among them, comes no further below.
constexpr long double kOneByOne = 0x1p-46L;

}  // namespace

double dual_bound(const Columns& columns, const std::vector<Row>& rows, const std::vector<double>& multipliers) {
  Indexed<ColumnIndex, SafeSum> reduced(columns.size());
  SafeSum total;
  long double sides = 0;
  for (const ColumnIndex column : columns.indices()) reduced[column].add(columns[column].cost, 1);
  for (size_t row = 0; row < rows.size(); ++row) {
    const double y = multipliers[row];
    if (y == 0) continue;
    total.add(rows[row].lower, y);
    sides += std::abs(static_cast<long double>(rows[row].lower) * static_cast<long double>(y));
    for (const Term& term : rows[row].terms) reduced[term.column].add(-term.factor, y);
  }
  long double bound = total.low() - sides * kOneByOne;
  for (const ColumnIndex column : columns.indices()) {
    const Column& entry = columns[column];
    const long double low = reduced[column].low();
    const long double least =
        std::min(low * static_cast<long double>(entry.lower), low * static_cast<long double>(entry.upper));
    bound += least - std::abs(least) * 0x1p-62L;
  }
  return std::nextafter(static_cast<double>(bound - std::abs(bound) * 0x1p-50L), -HUGE_VAL);
}

}  // namespace pantoum::plan
