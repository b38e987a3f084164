#include "base/result.h"
#include "base/units.h"
#include "pantoum/units.hpp"
#include "pipeline/sweep.h"
#include "settings/fields.h"

namespace pantoum {

Result<Bytes> parse_bytes(const std::string& text, const std::string& what) {
  PANTOUM_ASSIGN(const int64_t bytes, base::parse_bytes(text, what));
  return Bytes(bytes);
}

Result<std::vector<Bytes>> parse_budgets(const std::string& text, const std::string& what) {
  PANTOUM_ASSIGN(const std::vector<int64_t> budgets, pipeline::parse_budgets(text, what));
  return std::vector<Bytes>(budgets.begin(), budgets.end());
}

Result<Seconds> parse_seconds(const std::string& text, const std::string& what) {
  PANTOUM_ASSIGN(const double seconds, base::parse_seconds(text, what));
  return Seconds(seconds);
}

Result<Deadline> parse_deadline(const std::string& text, const std::string& what) {
  PlanOptions options;
  for (const settings::Field& field : settings::fields_of(options))
    if (field.type == settings::Type::deadline) PANTOUM_TRY(field.set(text, what));
  return options.deadline;
}

Result<double> parse_joules(const std::string& text, const std::string& what) {
  return base::parse_joules(text, what);
}

Result<double> parse_fraction(const std::string& text, const std::string& what) {
  return base::parse_fraction(text, what);
}

std::string show(Bytes bytes) {
  return base::show_bytes(bytes.count());
}

std::string show(Seconds seconds) {
  return base::show_seconds(seconds.count());
}

}  // namespace pantoum
