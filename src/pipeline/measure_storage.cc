#include "pipeline/measure_storage.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

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
  static Result<Probe> open(const StorageQuestion& question) {
    Probe probe;
    probe.seconds_ = question.seconds;
    PANTOUM_ASSIGN(
        probe.pager_,
        host::FilePager::open(
            {.path = question.folder, .bytes = kFileBytes, .align_bytes = kSmall, .encrypt = question.encrypt}));
    probe.buffer_.reset(static_cast<std::byte*>(std::aligned_alloc(kSmall, kFileBytes)));
    if (!probe.buffer_) return base::out_of_memory("storage probe");
    std::memset(probe.buffer_.get(), 1, kFileBytes);
    return probe;
  }

  // Median seconds of one transfer of `bytes`.
  Result<double> seconds(bool write, size_t bytes) {
    std::vector<double> seconds;
    for (int sample = 0; sample < kSamples && (sample == 0 || total_ < seconds_); ++sample) {
      const auto begin = std::chrono::steady_clock::now();
      const pt_status status = move(write, static_cast<uint64_t>(sample) * kLarge % kFileBytes, bytes);
      if (status != PT_OK) return host::status_failure(status, "measuring the storage");
      const auto end = std::chrono::steady_clock::now();
      seconds.push_back(std::chrono::duration<double>(end - begin).count());
      total_ += seconds.back();
    }
    const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
    std::nth_element(seconds.begin(), middle, seconds.end());
    return *middle;
  }

  // Median seconds of one of `depth` transfers that are queued together.
  Result<double> seconds_at(bool write, size_t bytes, int depth) {
    std::vector<double> seconds;
    const pt_pager* io = pager_->interface();
    for (int sample = 0; sample < kSamples; ++sample) {
      const auto begin = std::chrono::steady_clock::now();
      const uint32_t first = ticket_ + 1;
      for (int each = 0; each < depth; ++each) {
        const uint64_t at = static_cast<uint64_t>(each) * bytes;
        std::byte* data = buffer_.get() + at;
        ++ticket_;
        const pt_status taken = write ? io->write(io->context, at, data, bytes, ticket_, 0)
                                      : io->read(io->context, at, data, bytes, ticket_, 0);
        if (taken != PT_OK) return host::status_failure(taken, "measuring the storage");
      }
      for (uint32_t ticket = first; ticket <= ticket_; ++ticket)
        if (const pt_status status = io->wait(io->context, ticket); status != PT_OK)
          return host::status_failure(status, "measuring the storage");
      const auto end = std::chrono::steady_clock::now();
      seconds.push_back(std::chrono::duration<double>(end - begin).count() / depth);
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
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
  double seconds_ = 0, total_ = 0;  // given, and taken
};

// The same folder under whatever name.
std::string key_of(const StorageQuestion& question) {
  std::error_code none;
  const std::filesystem::path folder = std::filesystem::weakly_canonical(question.folder, none);
  return (question.folder.empty() ? "default"
          : none                  ? question.folder
                                  : folder.string()) +
         (question.encrypt ? "|encrypted" : "|as it is");
}

void set_speed(Link& link, const Link& measured) {
  link.latency_s = measured.latency_s;
  link.bytes_per_s = measured.bytes_per_s;
}

}  // namespace

Link fit_link(double small_s, double large_s, problem::Watts w) {
  constexpr double kMoved = kLarge - kSmall;
  const double rate = kMoved / std::max({large_s - small_s, large_s / 16, 1e-7});
  return {.latency_s = std::max(0.0, std::min(small_s, large_s) - kSmall / rate), .bytes_per_s = rate, .w = w};
}

Result<bool> known_storage(const StorageQuestion& question, cost::ProfileStore& store, problem::Pager& pager) {
  const std::string key = key_of(question);
  PANTOUM_ASSIGN(const std::optional<Link> in, store.find_link(key + "|in"));
  PANTOUM_ASSIGN(const std::optional<Link> out, store.find_link(key + "|out"));
  if (!in || !out) return false;
  set_speed(pager.in, *in);
  set_speed(pager.out, *out);
  return true;
}

Result<void> measure_storage(const StorageQuestion& question, cost::ProfileStore& store, problem::Pager& pager) {
  if (!question.anew) {
    PANTOUM_ASSIGN(const bool known, known_storage(question, store, pager));
    if (known) return {};
  }
  PANTOUM_ASSIGN(Probe probe, Probe::open(question));
  PANTOUM_ASSIGN(const double large_out, probe.seconds(true, kLarge));
  PANTOUM_ASSIGN(const double small_out, probe.seconds(true, kSmall));
  PANTOUM_ASSIGN(const double large_in, probe.seconds(false, kLarge));
  PANTOUM_ASSIGN(const double small_in, probe.seconds(false, kSmall));
  pager.in = fit_link(small_in, large_in, pager.in.w);
  pager.out = fit_link(small_out, large_out, pager.out.w);
  const std::string key = key_of(question);
  PANTOUM_TRY(store.put_link(key + "|in", pager.in, kSamples));
  return store.put_link(key + "|out", pager.out, kSamples);
}

Result<std::vector<StorageSpeed>> storage_table(const StorageQuestion& question) {
  PANTOUM_ASSIGN(Probe probe, Probe::open(question));
  PANTOUM_TRY(probe.seconds_at(true, kFileBytes, 1));  // every block is there before one is read
  std::vector<StorageSpeed> table;
  for (const size_t bytes : {kSmall, size_t{65536}, size_t{262144}, kLarge}) {
    for (const int depth : {1, 2, 4, 8}) {
      StorageSpeed speed{.bytes = static_cast<problem::Bytes>(bytes), .depth = depth};
      PANTOUM_ASSIGN(speed.out_s, probe.seconds_at(true, bytes, depth));
      PANTOUM_ASSIGN(speed.in_s, probe.seconds_at(false, bytes, depth));
      table.push_back(speed);
    }
  }
  return table;
}

}  // namespace pantoum::pipeline
