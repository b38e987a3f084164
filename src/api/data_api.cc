#include <fmt/format.h>

#include <algorithm>

#include "api/access.h"
#include "data/held_out.h"
#include "data/memory_samples.h"

namespace pantoum {
namespace {

int64_t sample_bytes_of(const BatchTensor& tensor) {
  int64_t bytes = static_cast<int64_t>(element_size(tensor.dtype));
  for (size_t d = 1; d < tensor.shape.size(); ++d) bytes *= tensor.shape[d];
  return bytes;
}

// Counts the whole samples in one array.
Result<int64_t> samples_in(const Array& array, const BatchTensor& tensor) {
  if (array.dtype() != tensor.dtype)
    return fail("E0262", fmt::format("'{}' is {}, not {}", tensor.name, name_of(tensor.dtype), name_of(array.dtype())),
                tensor.name, "convert the elements");
  const int64_t each = sample_bytes_of(tensor), bytes = static_cast<int64_t>(array.bytes().size());
  if (bytes % each != 0)
    return fail("E0262",
                fmt::format("{} bytes of '{}' are no whole number of samples of {} bytes", bytes, tensor.name, each),
                tensor.name, "see Plan::batch() for the shape of a sample");
  return bytes / each;
}

}  // namespace

std::vector<std::unique_ptr<data::SampleFile>> api::samples_of(const std::vector<BatchTensor>& wanted,
                                                               const Batch& arrays, int64_t count) {
  std::vector<std::unique_ptr<data::SampleFile>> samples;
  for (size_t at = 0; at < wanted.size(); ++at)
    samples.push_back(data::memory_samples(static_cast<base::DType>(wanted[at].dtype),
                                           {wanted[at].shape.begin() + 1, wanted[at].shape.end()}, count,
                                           arrays[at].bytes()));
  return samples;
}

Result<int64_t> api::check_arrays(const std::vector<BatchTensor>& wanted, const Batch& arrays) {
  if (arrays.size() != wanted.size())
    return fail("E0262", fmt::format("{} arrays for a batch of {} tensors", arrays.size(), wanted.size()), {},
                "give the model's inputs, then the targets: see Plan::batch()");
  int64_t count = -1;
  for (size_t at = 0; at < arrays.size(); ++at) {
    PANTOUM_ASSIGN(const int64_t samples, samples_in(arrays[at], wanted[at]));
    if (count >= 0 && samples != count)
      return fail(
          "E0262",
          fmt::format("{} samples of '{}', and {} of '{}'", samples, wanted[at].name, count, wanted[at - 1].name),
          wanted[at].name, "give as many of each");
    count = samples;
  }
  return count;
}

Result<Dataset> Dataset::from_arrays(const Plan& plan, const Batch& arrays) {
  const std::vector<BatchTensor>& wanted = plan.batch();
  PANTOUM_ASSIGN(const int64_t count, api::check_arrays(wanted, arrays));
  if (count == 0) return fail("E0262", "the arrays hold no sample", {}, "give one sample or more");
  auto impl = std::make_shared<Impl>();
  impl->data.format = "memory";
  std::vector<std::unique_ptr<data::SampleFile>> all = api::samples_of(wanted, arrays, count);
  for (size_t at = 0; at < arrays.size(); ++at) {
    std::unique_ptr<data::SampleFile>& samples = all[at];
    if (!wanted[at].is_target) {
      impl->data.inputs.push_back(std::move(samples));
    } else if (impl->data.labels == nullptr) {
      impl->data.labels = std::move(samples);
    } else {
      impl->data.more_labels.push_back(std::move(samples));
    }
  }
  return Dataset(std::move(impl));
}

Result<DatasetPair> Dataset::open(const std::string& path, const Plan& plan, const DataOptions& options) {
  std::shared_ptr<const base::TemporaryPath> cache;
  pipeline::DataRequest request{path, options, {}};
  if (!options.cache_folder) {
    PANTOUM_ASSIGN(cache, base::TemporaryPath::create("cache"));
    request.options.cache_folder = cache->path();
  }
  const auto inputs = std::make_shared<base::InputsInUse>();
  inputs->add(path);
  inputs->add(options.test_path.value_or(""));
  const base::RecordInputs recorded(inputs.get());
  PANTOUM_ASSIGN(data::TrainTest found, pipeline::open_training_data(request, Access::impl(plan).step.wanted));
  const auto handle = [&](data::Dataset data) {
    return Dataset(std::make_shared<const Impl>(Impl{.data = std::move(data), .cache = cache, .inputs = inputs}));
  };
  return DatasetPair{handle(std::move(found.train)), handle(std::move(found.test))};
}

int64_t Dataset::count() const {
  return impl_ ? impl_->data.count() : 0;
}

std::string Dataset::format() const {
  return impl_ ? impl_->data.format : "";
}

std::vector<std::string> Dataset::classes() const {
  return impl_ ? impl_->data.classes : std::vector<std::string>();
}

std::vector<std::string> Dataset::warnings() const {
  return impl_ ? impl_->data.warnings : std::vector<std::string>();
}

Result<DatasetPair> Dataset::hold_out(double share) const {
  PANTOUM_ASSIGN(data::TrainTest parts, data::hold_out(api::shared(*this), share, "hold_out"));
  const auto handle = [](data::Dataset data) { return Dataset(std::make_shared<const Impl>(Impl{.data = std::move(data)})); };
  return DatasetPair{handle(std::move(parts.train)), handle(std::move(parts.test))};
}

namespace api {
namespace {

// A handle's samples in a data set of the trainer's.
class SharedSamples final : public data::SampleFile {
 public:
  SharedSamples(std::shared_ptr<const Dataset> owner, const data::SampleFile& samples)
      : owner_(std::move(owner)), samples_(samples) {}
  int64_t count() const override { return samples_.count(); }
  const base::Shape& sample_shape() const override { return samples_.sample_shape(); }
  base::DType dtype() const override { return samples_.dtype(); }
  Result<void> read(int64_t index, std::span<std::byte> out) const override { return samples_.read(index, out); }

 private:
  std::shared_ptr<const Dataset> owner_;
  const data::SampleFile& samples_;
};

}  // namespace

data::Dataset shared(const Dataset& handle) {
  data::Dataset made;
  const Access::DatasetImpl* impl = Access::impl(handle);
  if (impl == nullptr) return made;
  const auto owner = std::make_shared<const Dataset>(handle);
  const auto share = [&](const std::unique_ptr<data::SampleFile>& samples) {
    return std::make_unique<SharedSamples>(owner, *samples);
  };
  for (const auto& input : impl->data.inputs) made.inputs.push_back(share(input));
  if (impl->data.labels != nullptr) made.labels = share(impl->data.labels);
  for (const auto& labels : impl->data.more_labels) made.more_labels.push_back(share(labels));
  made.format = impl->data.format;
  made.classes = impl->data.classes;
  return made;
}

}  // namespace api
}  // namespace pantoum
