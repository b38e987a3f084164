#include "host/engine_threads.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "host/wait_for_change.h"

namespace pantoum::host {

EngineThreads::EngineThreads(uint32_t engines) : workers_(engines + 1) {}

EngineThreads::~EngineThreads() {
  stopping_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (Worker& worker : workers_) worker.thread.join();
}

Result<std::unique_ptr<EngineThreads>> EngineThreads::create(uint32_t engines) {
  std::unique_ptr<EngineThreads> team(new EngineThreads(engines));
  uint32_t part = 0;
  for (Worker& worker : team->workers_) {
    worker.team = team.get();
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
  made.changes = [](void* self) { return static_cast<EngineThreads*>(self)->changes_.load(std::memory_order_acquire); };
  made.sleep = [](void* self, uint32_t seen) { wait_for_change(static_cast<EngineThreads*>(self)->changes_, seen); };
  return made;
}

void EngineThreads::set(unsigned counter, uint32_t value) {
  counters_[counter].store(value, std::memory_order_release);
  changes_.fetch_add(1, std::memory_order_acq_rel);
  changes_.notify_all();
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
  uint32_t seen = 0;
  for (;;) {
    seen = wait_for_change(round_, seen);
    if (stopping_) return;
    if (part < parts_) body_(arg_, part);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

double measure_hand_off(EngineThreads& threads) {
  using Clock = std::chrono::steady_clock;
  static constexpr int kTries = 65;
  static constexpr std::chrono::microseconds kOp(100);  // long enough for the other engine to fall asleep
  struct Exchange {
    pt_engines engines{};
    Clock::time_point ended;
    std::array<double, kTries> waited{};
  } exchange;
  const std::vector<pt_crew> none;
  exchange.engines = threads.interface(none);
  const pt_engines& engines = exchange.engines;
  for (unsigned counter = 0; counter < 2; ++counter) engines.set(engines.context, counter, 0);
  engines.run(
      engines.context, 2,
      [](void* arg, uint32_t part) {
        auto& of = *static_cast<Exchange*>(arg);
        const auto wait = [&](unsigned counter, uint32_t value) {
          for (;;) {
            const uint32_t before = of.engines.changes(of.engines.context);
            if (of.engines.get(of.engines.context, counter) >= value) return;
            of.engines.sleep(of.engines.context, before);
          }
        };
        for (uint32_t at = 0; at < kTries; ++at) {
          if (part == 0) {
            wait(1, at);
            const Clock::time_point begin = Clock::now();
            while (Clock::now() - begin < kOp) continue;
            of.ended = Clock::now();
            of.engines.set(of.engines.context, 0, at + 1);
          } else {
            wait(0, at + 1);
            of.waited[at] = std::chrono::duration<double>(Clock::now() - of.ended).count();
            of.engines.set(of.engines.context, 1, at + 1);
          }
        }
      },
      &exchange);
  std::ranges::nth_element(exchange.waited, exchange.waited.begin() + kTries / 4);
  return exchange.waited[kTries / 4];
}

}  // namespace pantoum::host
