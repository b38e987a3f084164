// Bytes as cases and rows of a certificate of a small step: refused, or a bound that is proved within bounded work.
#include <cstdint>
#include <cstdlib>

#include "check/certificate.h"
#include "check/certificate_fixture.h"

namespace {

using pantoum::problem::Certificate;

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  [[nodiscard]] bool empty() const { return left_ == 0; }
  int next() { return left_ == 0 ? 0 : (--left_, *data_++); }
  int small() { return next() % 10 - 1; }

 private:
  const uint8_t* data_;
  size_t left_;
};

Certificate::Row row_of(Bytes& bytes) {
  Certificate::Row row{.rule = static_cast<pantoum::problem::Rule>(bytes.next() % 16)};
  row.multiplier = bytes.next() / 16.0;
  for (int numbers = bytes.next() % 8; numbers > 0; --numbers) row.of.push_back(bytes.small());
  return row;
}

Certificate::Case case_of(Bytes& bytes) {
  Certificate::Case made;
  if (bytes.next() % 2 == 0) {
    made.decision = {static_cast<pantoum::problem::Variable>(bytes.next() % 4), bytes.small(), bytes.small()};
    return made;
  }
  for (int parts = bytes.next() % 4; parts > 0; --parts) made.parts.push_back({bytes.small(), bytes.next() / 16.0});
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes bytes(data, size);
  Certificate certificate = pantoum::check::asked({});
  certificate.question.objective = static_cast<pantoum::problem::Objective>(bytes.next() % 3);
  certificate.bound = bytes.next() / 16.0;
  for (int rows = bytes.next() % 32; rows > 0; --rows) certificate.rows.push_back(row_of(bytes));
  while (!bytes.empty()) certificate.cases.push_back(case_of(bytes));
  const auto proved = pantoum::check::check_certificate(pantoum::check::step_graph(), certificate);
  if (proved ? !(*proved >= 0) : proved.error().message.empty()) std::abort();
  return 0;
}
