#include "pipeline/measure_storage.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/out_of_memory.h"
#include "host/file_pager.h"
#include "host/status_error.h"

namespace pantoum::pipeline {
namespace {

using problem::Link;

constexpr size_t kSmall = 4096, kLarge = 1 << 20, kFileBytes = 8 << 20;
constexpr int kSamples = 7;

// A page file and memory to move.
class Probe {
 public:
  static Result<Probe> open(const std::string& folder, bool encrypt) {
    Probe probe;
    PANTOUM_ASSIGN(probe.pager_, host::FilePager::open(
                                     {.path = folder, .bytes = kFileBytes, .align_bytes = kSmall, .encrypt = encrypt}));
    probe.buffer_.reset(static_cast<std::byte*>(std::aligned_alloc(kSmall, kLarge)));
    if (!probe.buffer_) return base::out_of_memory("storage probe");
    std::memset(probe.buffer_.get(), 1, kLarge);
    return probe;
  }

  // Median seconds of one transfer of `bytes`.
  Result<double> seconds(bool write, size_t bytes) {
    std::array<double, kSamples> seconds{};
    for (int sample = 0; sample < kSamples; ++sample) {
      const auto begin = std::chrono::steady_clock::now();
      const pt_status status = move(write, static_cast<uint64_t>(sample) * kLarge % kFileBytes, bytes);
      if (status != PT_OK) return host::status_failure(status, "measuring the storage");
      const auto end = std::chrono::steady_clock::now();
      seconds[static_cast<size_t>(sample)] = std::chrono::duration<double>(end - begin).count();
    }
    std::nth_element(seconds.begin(), seconds.begin() + kSamples / 2, seconds.end());
    return seconds[kSamples / 2];
  }

 private:
  pt_status move(bool write, uint64_t at, size_t bytes) {
    const pt_pager* io = pager_->interface();
    ++ticket_;
    const pt_status taken = write ? io->write(io->context, at, buffer_.get(), bytes, ticket_, 0)
                                  : io->read(io->context, at, buffer_.get(), bytes, ticket_, 0);
    return taken == PT_OK ? io->wait(io->context, ticket_) : taken;
  }

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte[], Free> buffer_;  // outlives the pager
  std::unique_ptr<host::FilePager> pager_;
  uint32_t ticket_ = 0;
};

// latency + bytes / rate through the two measured points.
Link fit(double small_s, double large_s, problem::Watts w) {
  const double rate = static_cast<double>(kLarge - kSmall) / std::max(large_s - small_s, 1e-9);
  return {.latency_s = std::max(0.0, small_s - static_cast<double>(kSmall) / rate), .bytes_per_s = rate, .w = w};
}

}  // namespace

Result<void> measure_storage(const std::string& folder, bool encrypt, cost::ProfileStore& store,
                             problem::Pager& pager) {
  const std::string key = folder + (encrypt ? "|encrypted" : "|as it is");
  PANTOUM_ASSIGN(const std::optional<Link> in, store.find_link(key + "|in"));
  PANTOUM_ASSIGN(const std::optional<Link> out, store.find_link(key + "|out"));
  if (in && out) {
    const problem::Watts w_in = pager.in.w, w_out = pager.out.w;
    pager.in = *in;
    pager.out = *out;
    pager.in.w = w_in;
    pager.out.w = w_out;
    return {};
  }
  PANTOUM_ASSIGN(Probe probe, Probe::open(folder, encrypt));
  PANTOUM_ASSIGN(const double large_out, probe.seconds(true, kLarge));
  PANTOUM_ASSIGN(const double small_out, probe.seconds(true, kSmall));
  PANTOUM_ASSIGN(const double large_in, probe.seconds(false, kLarge));
  PANTOUM_ASSIGN(const double small_in, probe.seconds(false, kSmall));
  pager.in = fit(small_in, large_in, pager.in.w);
  pager.out = fit(small_out, large_out, pager.out.w);
  PANTOUM_TRY(store.put_link(key + "|in", pager.in, kSamples));
  return store.put_link(key + "|out", pager.out, kSamples);
}

}  // namespace pantoum::pipeline
