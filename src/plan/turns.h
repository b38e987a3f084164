// Search and proof in turns, where both may have one thread between them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace pantoum::plan {

// Threads that take turns: one works, the others wait, in the order in which they came. Without `in_use` all work at once.
class Turns {
 public:
  explicit Turns(bool in_use) : in_use_(in_use) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Waits for the turn.
  void take() {
    if (!in_use_) return;
    std::unique_lock lock(mutex_);
    const uint64_t own = next_++;
    moved_.wait(lock, [&] { return serving_ == own; });
    began_ = std::chrono::steady_clock::now();
  }
  // Ends the turn.
  void give() {
    if (!in_use_) return;
    const std::lock_guard lock(mutex_);
    ++serving_;
    moved_.notify_all();
  }
  // From within a turn, often: lets another one work where one waits and the turn was long enough.
  void pass() {
    if (!in_use_ || std::chrono::steady_clock::now() - began_ < kShortest || !wanted()) return;
    give();
    take();
  }

  // A turn as long as the object lives.
  class Own {
   public:
    explicit Own(Turns& turns) : turns_(turns) { turns_.take(); }
    ~Own() { turns_.give(); }
    Own(const Own&) = delete;
    Own& operator=(const Own&) = delete;

   private:
    Turns& turns_;
  };

 private:
  static constexpr std::chrono::milliseconds kShortest{5};
  [[nodiscard]] bool wanted() {
    const std::lock_guard lock(mutex_);
    return next_ > serving_ + 1;
  }

  const bool in_use_;
  std::mutex mutex_;
  std::condition_variable moved_;
  uint64_t next_ = 0, serving_ = 0;
  std::chrono::steady_clock::time_point began_;  // of the turn: read by who has it
};

}  // namespace pantoum::plan
