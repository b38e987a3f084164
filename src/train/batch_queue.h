// A bounded queue of batches that a thread of its own fills ahead of the steps.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data/batch.h"
#include "host/engine.h"
#include "host/prefaulted_thread.h"

namespace pantoum::train {

// Returns the bytes of a queue of `depth` batches whose tensors have these sizes, in whole pages.
[[nodiscard]] uint64_t queue_bytes(std::span<const uint64_t> tensor_bytes, int64_t depth);

class BatchQueue {
 public:
  // Creates the thread, which sleeps; does not map batches yet. `tensors`: the tensors of a batch, whose names and shapes must outlive the queue.
  // E0905: the system gives no thread.
  [[nodiscard]] static Result<std::unique_ptr<BatchQueue>> create(std::vector<data::BatchView> tensors, int64_t depth);
  ~BatchQueue();
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;

  // Maps the batches. E0906.
  [[nodiscard]] Result<void> map();
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

  // Begins to fill the batches of steps [first, last]; an earlier filling must have ended. The producer must outlive the filling.
  void begin(const data::BatchProducer& producer, uint64_t first, uint64_t last);
  // Copies the next batch into `into` (that of step `first`, then of the step after it, and so on), and waits for it where it is not ready.
  // Returns the producer's error at the step where it occurred. Allocates nothing on success.
  [[nodiscard]] Result<void> take(std::span<const data::BatchView> into);
  // Returns when the thread no longer calls the producer.
  void end();

 private:
  BatchQueue(std::vector<data::BatchView> tensors, int64_t depth);
  static void run(void* self);
  void fill_until_quit();
  [[nodiscard]] bool may_fill() const;
  [[nodiscard]] std::span<const data::BatchView> slot(uint64_t step) const;

  std::vector<data::BatchView> tensors_, slots_;  // slots_: depth times the tensors
  uint64_t depth_, bytes_;
  host::Arena memory_;
  host::PrefaultedThread thread_;

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
  // Guarded by mutex_.
  const data::BatchProducer* producer_ = nullptr;  // null: nothing is being filled
  uint64_t next_to_fill_ = 1, next_to_take_ = 1, last_ = 0;
  bool is_filling_ = false, quit_ = false;
  std::optional<Error> error_;  // of step next_to_fill_
};

}  // namespace pantoum::train
