#include "pipeline/measure_storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "base/out_of_memory.h"
#include "host/file_pager.h"
#include "host/prefaulted_thread.h"
#include "host/status_error.h"

namespace pantoum::pipeline {
namespace {

using problem::Link;

constexpr size_t kSmall = 4096, kLarge = 1 << 20, kPlaces = 8;
constexpr size_t kFileBytes = kPlaces * (kLarge + kSmall);  // large transfers first, then small ones
constexpr int kSamples = 15, kLargeTransfers = 4, kSmallTransfers = 8;

// The share of a step's time that hidden transfers may take from its threads, if these have every core.
constexpr double kMostLost = 0.15;

// The place of a transfer of that size. A tensor of a plan has encrypted blocks of its own, and so have small transfers here:
// a part of a block would have to be read, opened and sealed with the rest of it.
uint64_t place_of(size_t bytes, int each) {
  const uint64_t at = static_cast<uint64_t>(each) % kPlaces * bytes;
  return bytes == kSmall ? kPlaces * kLarge + at : at;
}

std::vector<uint64_t> small_places() {
  std::vector<uint64_t> places;
  for (size_t each = 0; each < kPlaces; ++each) places.push_back(place_of(kSmall, static_cast<int>(each)));
  return places;
}

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> of) {
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::nth_element(of.begin(), middle, of.end());
  return *middle;
}

// What the threads of training do beside a transfer: rounds of arithmetic, together.
class Team {
 public:
  explicit Team(const pt_pool* pool) : pool_(pool), numbers_(threads() * kNumbers, 1.0F) {
    for (int round = 0; round < 3; ++round) this->round();
  }

  void round() {
    if (pool_ != nullptr && pool_->threads > 1)
      pool_->run(pool_->context, threads(), &Team::work, this);
    else
      work(this, 0, 1);
  }

  // Seconds of a round with nothing beside it.
  double seconds_alone() {
    std::vector<double> each;
    for (int round = 0; round < kRounds; ++round) {
      const auto begin = Clock::now();
      this->round();
      each.push_back(since(begin));
    }
    return median(std::move(each));
  }

 private:
  static constexpr size_t kNumbers = 1 << 14;
  static constexpr int kTurns = 4, kRounds = 30;

  [[nodiscard]] size_t threads() const { return pool_ != nullptr ? std::max(1U, pool_->threads) : 1; }

  static void work(void* self, size_t first, size_t last) {
    auto& numbers = static_cast<Team*>(self)->numbers_;
    for (int turn = 0; turn < kTurns; ++turn)
      for (size_t at = first * kNumbers; at < last * kNumbers; ++at) numbers[at] = numbers[at] * 0.999F + 0.001F;
  }

  const pt_pool* pool_;
  std::vector<float> numbers_;
};

// A page file and memory to move.
class Probe {
 public:
  static Result<Probe> open(const StorageQuestion& question) {
    Probe probe;
    probe.seconds_ = question.seconds;
    const std::vector<uint64_t> cuts = small_places();
    PANTOUM_ASSIGN(probe.pager_, host::FilePager::open({.path = question.folder,
                                                        .bytes = kFileBytes,
                                                        .align_bytes = kSmall,
                                                        .encrypt = question.encrypt,
                                                        .cuts = cuts}));
    probe.buffer_.reset(static_cast<std::byte*>(std::aligned_alloc(kSmall, kFileBytes)));
    if (!probe.buffer_) return base::out_of_memory("storage probe");
    std::memset(probe.buffer_.get(), 1, kFileBytes);
    return probe;
  }

  // Every block is there before one is read or timed.
  Result<void> fill() {
    for (const size_t bytes : {kLarge, kSmall}) {
      const uint32_t first = ticket_ + 1;
      PANTOUM_TRY(begin_many(true, bytes, kPlaces));
      if (const pt_status status = end_many(first, ticket_); status != PT_OK)
        return host::status_failure(status, "measuring the storage");
    }
    return {};
  }

  // Both directions. Each sample has all that is measured: a storage can be slow for a moment, which is then one sample of
  // each, and a median does not see it.
  Result<MeasuredStorage> measure(Team& team) {
    Samples out, in;
    PANTOUM_TRY(take_links(out, in));  // warms up
    out = in = {};
    const auto begin = Clock::now();
    for (int sample = 0; sample < kSamples && (sample == 0 || since(begin) < seconds_); ++sample) {
      PANTOUM_TRY(take_links(out, in));
      PANTOUM_TRY(take_lost(team, true, out));
      PANTOUM_TRY(take_lost(team, false, in));
    }
    return MeasuredStorage{.in = sample_of(std::move(in)), .out = sample_of(std::move(out))};
  }

  // Median seconds of one of `depth` transfers that are queued together.
  Result<double> seconds_at(bool write, size_t bytes, int depth) {
    std::vector<double> seconds;
    for (int sample = 0; sample <= kSamples; ++sample) {
      PANTOUM_ASSIGN(const double each, once(write, bytes, depth));
      if (sample > 0) seconds.push_back(each);  // the first warms up
    }
    return median(std::move(seconds));
  }

 private:
  // The samples of one direction: seconds of a transfer that a step waits for, and of thread time that a hidden one takes.
  struct Samples {
    std::vector<double> large, small, lost_large, lost_small;
  };

  static cost::LinkSample sample_of(Samples samples) {
    const double large = std::max(0.0, median(std::move(samples.lost_large)));
    const double small = std::max(0.0, median(std::move(samples.lost_small)));
    cost::LinkSample sample{.link = fit_link(median(std::move(samples.small)), median(std::move(samples.large)))};
    sample.engine_s_per_byte = std::max(0.0, large - small) / (kLarge - kSmall);
    sample.engine_s = std::max(0.0, std::min(small, large) - sample.engine_s_per_byte * kSmall);
    return sample;
  }

  Result<void> take_links(Samples& out, Samples& in) {
    for (const bool write : {true, false}) {
      PANTOUM_ASSIGN(const double large, once(write, kLarge, kLargeTransfers));
      PANTOUM_ASSIGN(const double small, once(write, kSmall, kSmallTransfers));
      Samples& of = write ? out : in;
      of.large.push_back(large);
      of.small.push_back(small);
    }
    return {};
  }

  Result<void> take_lost(Team& team, bool write, Samples& of) {
    PANTOUM_ASSIGN(const double large, lost_beside(team, write, kLarge, kLargeTransfers));
    PANTOUM_ASSIGN(const double small, lost_beside(team, write, kSmall, kSmallTransfers));
    of.lost_large.push_back(large);
    of.lost_small.push_back(small);
    return {};
  }

  // Seconds of one of `depth` transfers that are queued together.
  Result<double> once(bool write, size_t bytes, int depth) {
    const auto begin = Clock::now();
    const uint32_t first = ticket_ + 1;
    PANTOUM_TRY(begin_many(write, bytes, depth));
    if (const pt_status status = end_many(first, ticket_); status != PT_OK)
      return host::status_failure(status, "measuring the storage");
    return since(begin) / depth;
  }

  // Seconds that the team loses by one transfer of many.
  Result<double> lost_beside(Team& team, bool write, size_t bytes, int count) {
    const double alone = team.seconds_alone();
    const auto begin = Clock::now();
    const uint32_t first = ticket_ + 1;
    PANTOUM_TRY(begin_many(write, bytes, count));
    Ending ending{.probe = this, .first = first, .last = ticket_};
    host::PrefaultedThread waiter;
    if (!waiter.start(&Ending::wait, &ending)) return no_thread(first);
    double rounds = 0;
    for (; !ending.ended; ++rounds) team.round();
    const double all = since(begin);
    waiter.join();
    if (ending.status != PT_OK) return host::status_failure(ending.status, "measuring the storage");
    return (all - rounds * alone) / count;
  }

  // Waits for many transfers, asleep, on a thread of its own.
  struct Ending {
    Probe* probe;
    uint32_t first, last;  // tickets
    pt_status status = PT_OK;
    std::atomic<bool> ended{false};

    static void wait(void* self) {
      auto* ending = static_cast<Ending*>(self);
      ending->status = ending->probe->end_many(ending->first, ending->last);
      ending->ended = true;
    }
  };

  Result<double> no_thread(uint32_t first) {
    (void)end_many(first, ticket_);
    return fail("E0905", "the system gives no thread to measure the storage beside", "", "use fewer threads");
  }

  // Queues them together, as a step does.
  Result<void> begin_many(bool write, size_t bytes, int count) {
    const pt_pager* io = pager_->interface();
    const uint32_t first = ticket_ + 1;
    for (int each = 0; each < count; ++each) {
      const uint64_t at = place_of(bytes, each);
      std::byte* data = buffer_.get() + at;
      ++ticket_;
      const pt_status status = write ? io->write(io->context, at, data, bytes, ticket_, 0)
                                     : io->read(io->context, at, data, bytes, ticket_, 0);
      if (status == PT_OK) continue;
      (void)end_many(first, ticket_ - 1);
      return host::status_failure(status, "measuring the storage");
    }
    return {};
  }

  // The first that is not PT_OK, when all have ended.
  pt_status end_many(uint32_t first, uint32_t last) {
    const pt_pager* io = pager_->interface();
    pt_status worst = PT_OK;
    for (uint32_t ticket = first; ticket <= last; ++ticket) {
      const pt_status status = io->wait(io->context, ticket);
      if (worst == PT_OK) worst = status;
    }
    return worst;
  }

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte[], Free> buffer_;  // outlives the pager
  std::unique_ptr<host::FilePager> pager_;
  uint32_t ticket_ = 0;
  double seconds_ = 0;  // given
};

bool have_every_core(const pt_pool* pool) {
  const uint32_t threads = pool != nullptr ? pool->threads : 1;
  return threads >= std::max(1U, std::thread::hardware_concurrency());
}

void hold_back(cost::LinkSample& sample) {
  sample.link.latency_s = std::max(sample.link.latency_s, sample.engine_s / kMostLost);
  if (sample.engine_s_per_byte > 0)
    sample.link.bytes_per_s = std::min(sample.link.bytes_per_s, kMostLost / sample.engine_s_per_byte);
}

// The store's key of the question; one folder has one key, whatever path names it.
std::string key_of(const StorageQuestion& question) {
  std::error_code none;
  const std::filesystem::path folder = std::filesystem::weakly_canonical(question.folder, none);
  return (question.folder.empty() ? "default"
          : none                  ? question.folder
                                  : folder.string()) +
         fmt::format("{}|{} threads of {}", question.encrypt ? "|encrypted blocks" : "",
                     question.pool != nullptr ? question.pool->threads : 1, std::thread::hardware_concurrency());
}

}  // namespace

Link fit_link(double small_s, double large_s) {
  constexpr double kMoved = kLarge - kSmall;
  const double rate = kMoved / std::max({large_s - small_s, large_s / 16, 1e-7});
  return {.latency_s = std::max(0.0, std::min(small_s, large_s) - kSmall / rate), .bytes_per_s = rate};
}

MeasuredStorage MeasuredStorage::held_back() const {
  MeasuredStorage slower = *this;
  if (beside_every_core) hold_back(slower.in), hold_back(slower.out);
  return slower;
}

problem::Seconds MeasuredStorage::taken(bool written, problem::Bytes bytes) const {
  const cost::LinkSample& by = written ? out : in;
  return by.engine_s + by.engine_s_per_byte * static_cast<double>(bytes);
}

void MeasuredStorage::delay(problem::Pager& pager) const {
  if (!beside_every_core) return;
  const double more = 1.0 / std::max(1U, std::thread::hardware_concurrency());
  const auto delay = [&](const cost::LinkSample& by, Link& link) {
    link.latency_s += more * by.engine_s;
    link.bytes_per_s = 1 / (1 / link.bytes_per_s + more * by.engine_s_per_byte);
  };
  delay(in, pager.in);
  delay(out, pager.out);
}

void MeasuredStorage::put_into(problem::Pager& pager, problem::Watts active_w) const {
  const auto put = [&](const cost::LinkSample& sample, Link& link) {
    const double whole = sample.link.latency_s + kLarge / sample.link.bytes_per_s;
    const double share = std::min(1.0, (sample.engine_s + sample.engine_s_per_byte * kLarge) / whole);
    link = {sample.link.latency_s, sample.link.bytes_per_s, link.w + active_w * share};
  };
  put(in, pager.in);
  put(out, pager.out);
}

Result<std::optional<MeasuredStorage>> known_storage(const StorageQuestion& question, cost::ProfileStore& store) {
  const std::string key = key_of(question);
  PANTOUM_ASSIGN(const std::optional<cost::LinkSample> in, store.find_link(key + "|in"));
  PANTOUM_ASSIGN(const std::optional<cost::LinkSample> out, store.find_link(key + "|out"));
  return in && out ? std::optional<MeasuredStorage>({*in, *out, have_every_core(question.pool)}) : std::nullopt;
}

Result<MeasuredStorage> measure_storage(const StorageQuestion& question, cost::ProfileStore& store) {
  if (!question.anew) {
    PANTOUM_ASSIGN(const std::optional<MeasuredStorage> known, known_storage(question, store));
    if (known) return *known;
  }
  PANTOUM_ASSIGN(Probe probe, Probe::open(question));
  PANTOUM_TRY(probe.fill());
  Team team(question.pool);
  PANTOUM_ASSIGN(MeasuredStorage found, probe.measure(team));
  found.beside_every_core = have_every_core(question.pool);
  const std::string key = key_of(question);
  PANTOUM_TRY(store.put_link(key + "|in", found.in, kSamples));
  PANTOUM_TRY(store.put_link(key + "|out", found.out, kSamples));
  return found;
}

Result<std::vector<StorageSpeed>> storage_table(const StorageQuestion& question) {
  PANTOUM_ASSIGN(Probe probe, Probe::open(question));
  PANTOUM_TRY(probe.fill());
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
