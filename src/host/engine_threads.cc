#include "host/engine_threads.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "host/wait_for_change.h"

namespace pantoum::host {

EngineThreads::EngineThreads(uint32_t engines) : workers_(engines + 1) {
  for (Worker& worker : workers_)
    for (std::atomic<uint64_t>& awaited : worker.awaited) awaited = kNothing;
}

EngineThreads::~EngineThreads() {
  stopping_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (Worker& worker : workers_) worker.thread.join();
}

Result<std::unique_ptr<EngineThreads>> EngineThreads::create(uint32_t engines, const std::vector<Place>& places) {
  std::unique_ptr<EngineThreads> team(new EngineThreads(engines));
  uint32_t part = 0;
  for (Worker& worker : team->workers_) {
    worker.team = team.get();
    if (part < std::min<size_t>(engines, places.size())) worker.processors = places[part].processors;
    worker.part = part++;
    if (!worker.thread.start(
            [](void* self) { static_cast<Worker*>(self)->team->work(static_cast<Worker*>(self)->part); }, &worker))
      return fail("E0905", "the system gives no " + std::to_string(engines + 1) + " threads for engines", "",
                  "use fewer engines");
  }
  return team;
}

pt_engines EngineThreads::interface(const std::vector<pt_crew>& crews) {
  pt_engines made{};
  made.context = this;
  made.crews = crews.data();
  made.crew_count = static_cast<uint32_t>(crews.size());
  made.run = [](void* self, uint32_t parts, void (*body)(void*, uint32_t), void* arg) {
    static_cast<EngineThreads*>(self)->run(parts, body, arg);
  };
  made.set = [](void* self, unsigned counter, uint32_t value) {
    static_cast<EngineThreads*>(self)->set(counter, value);
  };
  made.get = [](void* self, unsigned counter) {
    return static_cast<EngineThreads*>(self)->counters_[counter].load(std::memory_order_acquire);
  };
  made.wait = [](void* self, uint32_t part, const pt_wait* any, uint32_t count) {
    static_cast<EngineThreads*>(self)->wait(part, {any, count});
  };
  return made;
}

// A counter is stored before the awaited values are read, and an awaited value before the counters are read, both sequentially consistent: a thread that
// falls asleep is seen, or sees the counter.
void EngineThreads::set(unsigned counter, uint32_t value) {
  counters_[counter].store(value);
  for (Worker& worker : workers_)
    for (const std::atomic<uint64_t>& each : worker.awaited) {
      const uint64_t awaited = each.load();
      if (awaited == kNothing) continue;
      const bool over = counter == PT_STOP || (awaited >> 32 == counter && static_cast<uint32_t>(awaited) <= value);
      if (!over) continue;
      worker.wakes.fetch_add(1);
      worker.wakes.notify_one();
      break;
    }
}

bool EngineThreads::is_over(std::span<const pt_wait> any) const {
  return counters_[PT_STOP].load() != 0 ||
         std::ranges::any_of(any, [&](const pt_wait& each) { return counters_[each.counter].load() >= each.value; });
}

void EngineThreads::wait(uint32_t part, std::span<const pt_wait> any) {
  constexpr int kSpins = 500;
  for (int spin = 0; spin < kSpins; ++spin) {
    if (is_over(any)) return;
    pause();
  }
  Worker& worker = workers_[part];
  for (size_t at = 0; at < any.size(); ++at) worker.awaited[at].store(uint64_t{any[at].counter} << 32 | any[at].value);
  for (uint32_t wakes = worker.wakes.load(); !is_over(any); wakes = worker.wakes.load()) worker.wakes.wait(wakes);
  for (std::atomic<uint64_t>& awaited : worker.awaited) awaited.store(kNothing);
}

void EngineThreads::run(uint32_t parts, void (*body)(void*, uint32_t), void* arg) {
  parts_ = parts;
  body_ = body;
  arg_ = arg;
  busy_.store(static_cast<uint32_t>(workers_.size()), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (uint32_t busy = busy_.load(std::memory_order_acquire); busy != 0;) busy = wait_for_change(busy_, busy);
}

void EngineThreads::work(uint32_t part) {
  stay_on(workers_[part].processors);
  uint32_t seen = 0;
  for (;;) {
    seen = wait_for_change(round_, seen);
    if (stopping_) return;
    if (part < parts_) body_(arg_, part);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

double measure_hand_off(EngineThreads& threads, const pt_pool& pool) {
  using Clock = std::chrono::steady_clock;
  static constexpr uint32_t kTries = 65;
  static constexpr std::chrono::microseconds kOp(200);  // long enough for others to fall asleep
  struct Exchange {
    pt_engines engines{};
    const pt_pool* pool = nullptr;
    Clock::time_point ended;
    std::array<double, kTries> waited{};

    void wait(uint32_t part, unsigned counter, uint32_t value) const {
      const pt_wait one{counter, value};
      engines.wait(engines.context, part, &one, 1);
    }
    // Computes for a while on one engine.
    void compute(uint32_t number) {
      wait(0, 1, number);
      const Clock::time_point begin = Clock::now();
      while (Clock::now() - begin < kOp) continue;
      ended = Clock::now();
      engines.set(engines.context, 0, number + 1);
    }
    // Computes on all threads of the pool when that has ended.
    void follow(uint32_t number) {
      wait(1, 0, number + 1);
      std::atomic<Clock::rep> last = 0;
      pool->run(
          pool->context, pool->threads,
          [](void* arg, size_t, size_t) {
            auto& latest = *static_cast<std::atomic<Clock::rep>*>(arg);
            const Clock::rep now = Clock::now().time_since_epoch().count();
            for (Clock::rep seen = latest; seen < now && !latest.compare_exchange_weak(seen, now);) continue;
          },
          &last);
      waited[number] = std::chrono::duration<double>(Clock::duration(last) - ended.time_since_epoch()).count();
      engines.set(engines.context, 1, number + 1);
    }
  } exchange;
  const std::vector<pt_crew> none;
  exchange.engines = threads.interface(none);
  exchange.pool = &pool;
  const pt_engines& engines = exchange.engines;
  for (const unsigned counter : {0U, 1U, unsigned{PT_STOP}}) engines.set(engines.context, counter, 0);
  engines.run(
      engines.context, 2,
      [](void* arg, uint32_t part) {
        auto& of = *static_cast<Exchange*>(arg);
        for (uint32_t number = 0; number < kTries; ++number) part == 0 ? of.compute(number) : of.follow(number);
      },
      &exchange);
  std::ranges::nth_element(exchange.waited, exchange.waited.begin() + kTries / 4);
  return exchange.waited[kTries / 4];
}

}  // namespace pantoum::host
