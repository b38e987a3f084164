#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/out_of_memory.h"
#include "cost/measure.h"

namespace pantoum::cost {
namespace {

constexpr size_t kSmall = 4096, kLarge = 1 << 20, kFileBytes = 8 << 20;
constexpr int kSamples = 7;

struct FileCloser {
  int file = -1;
  ~FileCloser() {
    if (file >= 0) ::close(file);
  }
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Median seconds of one transfer of `bytes`; negative on an I/O error.
double time_transfer(int file, bool write, std::byte* buffer, size_t bytes) {
  std::array<double, kSamples> seconds{};
  for (int sample = 0; sample < kSamples; ++sample) {
    const off_t at = static_cast<off_t>((static_cast<size_t>(sample) * kLarge) % kFileBytes);
    const auto begin = std::chrono::steady_clock::now();
    const ssize_t moved = write ? ::pwrite(file, buffer, bytes, at) : ::pread(file, buffer, bytes, at);
    if (moved != static_cast<ssize_t>(bytes)) return -1;
    seconds[static_cast<size_t>(sample)] = seconds_since(begin);
  }
  std::nth_element(seconds.begin(), seconds.begin() + kSamples / 2, seconds.end());
  return seconds[kSamples / 2];
}

// latency + bytes / rate through the two measured points.
Link fit(double small_s, double large_s, Watts w) {
  const double rate = static_cast<double>(kLarge - kSmall) / std::max(large_s - small_s, 1e-9);
  return {.latency_s = std::max(0.0, small_s - static_cast<double>(kSmall) / rate), .bytes_per_s = rate, .w = w};
}

Result<int> open_private(const std::string& folder) {
  std::string path = folder + "/pantoum-probe-XXXXXX";
  const int file = ::mkostemp(path.data(), O_CLOEXEC);
  if (file < 0)
    return fail("E0902", std::string("cannot make a page file: ") + std::strerror(errno), folder,
                "choose another folder with --page-file");
  ::unlink(path.c_str());
#ifdef O_DIRECT
  const int flags = ::fcntl(file, F_GETFL);
  if (flags >= 0) (void)::fcntl(file, F_SETFL, flags | O_DIRECT);  // where it is refused the page cache is measured
#endif
  return file;
}

}  // namespace

Result<void> measure_storage(const std::string& folder, ProfileStore& store, Pager& pager) {
  PANTOUM_ASSIGN(const std::optional<Link> in, store.find_link(folder + "|in"));
  PANTOUM_ASSIGN(const std::optional<Link> out, store.find_link(folder + "|out"));
  if (in && out) {
    const Watts w_in = pager.in.w, w_out = pager.out.w;
    pager.in = *in;
    pager.out = *out;
    pager.in.w = w_in;
    pager.out.w = w_out;
    return {};
  }
  PANTOUM_ASSIGN(const int file, open_private(folder));
  const FileCloser closer{file};
  std::unique_ptr<std::byte, decltype(&std::free)> buffer(static_cast<std::byte*>(std::aligned_alloc(kSmall, kLarge)),
                                                          &std::free);
  if (!buffer) return base::out_of_memory("storage probe");
  std::memset(buffer.get(), 1, kLarge);
  const double large_out = time_transfer(file, true, buffer.get(), kLarge),
               small_out = time_transfer(file, true, buffer.get(), kSmall);
  const double large_in = time_transfer(file, false, buffer.get(), kLarge),
               small_in = time_transfer(file, false, buffer.get(), kSmall);
  if (std::min({large_out, small_out, large_in, small_in}) < 0)
    return fail("E0902", std::string("the page file cannot be read or written: ") + std::strerror(errno), folder,
                "choose another folder with --page-file");
  pager.in = fit(small_in, large_in, pager.in.w);
  pager.out = fit(small_out, large_out, pager.out.w);
  PANTOUM_TRY(store.put_link(folder + "|in", pager.in, kSamples));
  return store.put_link(folder + "|out", pager.out, kSamples);
}

}  // namespace pantoum::cost
