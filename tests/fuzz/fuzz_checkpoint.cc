// Any bytes as a checkpoint: refused, or one whose progress a run can have. (Its sums are not asked: they would end
// nearly every trial.)
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "train/checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace train = pantoum::train;
  const auto file = pantoum::weights::parse_safetensors_header(data, size, size, "fuzz");
  if (!file) return 0;
  const auto progress = train::read_progress(*file);
  if (!progress) {
    if (progress.error().message.empty()) std::abort();
    return 0;
  }
  if (progress->step > train::kMostSteps || progress->batch < 1 || progress->micro_batches < 1 || progress->samples < 0)
    std::abort();
  if (!std::isfinite(progress->lr) || progress->lr < 0) std::abort();
  const train::EpochPlace place = train::place_of(*progress);
  if (place.epoch > progress->step || place.position > progress->step) std::abort();
  return 0;
}
