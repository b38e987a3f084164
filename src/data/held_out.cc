#include "data/held_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace pantoum::data {
namespace {

// Which samples of `count` are held out: `held` of them.
struct Spread {
  int64_t count = 0, held = 0;

  [[nodiscard]] int64_t held_at(int64_t number) const {
    return static_cast<int64_t>(static_cast<__int128>(number + 1) * count / held) - 1;
  }
  // Samples before the held one are those that are kept, and held ones: `number` of these.
  [[nodiscard]] int64_t kept_at(int64_t number) const {
    int64_t low = 0, high = held;  // held samples before the wanted one
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      held_at(middle) - middle <= number ? low = middle + 1 : high = middle;
    }
    return number + low;
  }
};

class PartOfSamples final : public SampleFile {
 public:
  PartOfSamples(std::shared_ptr<const SampleFile> all, Spread spread, bool held)
      : all_(std::move(all)), spread_(spread), held_(held) {}
  int64_t count() const override { return held_ ? spread_.held : spread_.count - spread_.held; }
  const base::Shape& sample_shape() const override { return all_->sample_shape(); }
  base::DType dtype() const override { return all_->dtype(); }
  Result<void> read(int64_t index, std::span<std::byte> out) const override {
    if (index < 0 || index >= count()) return fail("E0260", fmt::format("there is no sample {}", index), source(0));
    return all_->read(place_of(index), out);
  }
  std::string source(int64_t index) const override { return all_->source(place_of(index)); }

 private:
  [[nodiscard]] int64_t place_of(int64_t index) const {
    return held_ ? spread_.held_at(index) : spread_.kept_at(index);
  }
  std::shared_ptr<const SampleFile> all_;
  Spread spread_;
  bool held_;
};

}  // namespace

Result<TrainTest> hold_out(Dataset data, double share, const std::string& where) {
  if (!(share > 0 && share < 1))
    return fail("E0117", fmt::format("a share of {} of the samples", share), where, "give one between 0 and 1, as 0.1");
  const int64_t count = data.count();
  if (count < 2)
    return fail("E0262", fmt::format("{} sample cannot be shared between training and test", count), where,
                "leave the share out, or give more data");
  const auto wanted = static_cast<int64_t>(std::llround(share * static_cast<double>(count)));
  const Spread spread{count, std::clamp<int64_t>(wanted, 1, count - 1)};
  TrainTest made;
  for (Dataset* part : {&made.train, &made.test}) part->format = data.format, part->classes = data.classes;
  made.train.warnings = data.warnings;
  using Samples = std::unique_ptr<SampleFile>;
  const auto share_out = [&](Samples& from, Samples& train, Samples& test) {
    if (from == nullptr) return;
    const std::shared_ptr<const SampleFile> all = std::move(from);
    train = std::make_unique<PartOfSamples>(all, spread, false);
    test = std::make_unique<PartOfSamples>(all, spread, true);
  };
  for (Samples& input : data.inputs)
    share_out(input, made.train.inputs.emplace_back(), made.test.inputs.emplace_back());
  share_out(data.labels, made.train.labels, made.test.labels);
  for (Samples& labels : data.more_labels)
    share_out(labels, made.train.more_labels.emplace_back(), made.test.more_labels.emplace_back());
  return made;
}

}  // namespace pantoum::data
