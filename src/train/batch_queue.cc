#include "train/batch_queue.h"

#include <cstring>
#include <new>
#include <utility>

#include "base/out_of_memory.h"
#include "base/round_up.h"

namespace pantoum::train {
namespace {

constexpr uint64_t kAlign = 64, kPage = 4096;

class Lock {
 public:
  explicit Lock(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~Lock() { pthread_mutex_unlock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

// Nothing may be thrown out of a thread.
Result<void> filled_by(const data::BatchProducer& producer, uint64_t step, std::span<const data::BatchView> batch) {
  try {
    return producer(step, batch);
  } catch (const std::bad_alloc&) {
    return base::out_of_memory();
  }
}

std::vector<uint64_t> bytes_of(std::span<const data::BatchView> tensors) {
  std::vector<uint64_t> bytes;
  for (const data::BatchView& tensor : tensors) bytes.push_back(tensor.data.size());
  return bytes;
}

}  // namespace

uint64_t queue_bytes(std::span<const uint64_t> tensor_bytes, int64_t depth) {
  uint64_t batch = 0;
  for (const uint64_t bytes : tensor_bytes) batch += base::round_up(bytes, kAlign);
  return base::round_up(batch * static_cast<uint64_t>(depth), kPage);
}

BatchQueue::BatchQueue(std::vector<data::BatchView> tensors, int64_t depth)
    : tensors_(std::move(tensors)),
      depth_(static_cast<uint64_t>(depth)),
      bytes_(queue_bytes(bytes_of(tensors_), depth)) {}

Result<std::unique_ptr<BatchQueue>> BatchQueue::create(std::vector<data::BatchView> tensors, int64_t depth) {
  std::unique_ptr<BatchQueue> queue(new BatchQueue(std::move(tensors), depth));
  queue->slots_.reserve(queue->tensors_.size() * queue->depth_);
  if (!queue->thread_.start(&BatchQueue::run, queue.get()))
    return fail("E0905", "the system gives no thread for the queue of batches", "--prefetch", "leave it out");
  return queue;
}

BatchQueue::~BatchQueue() {
  end();
  {
    const Lock lock(mutex_);
    quit_ = true;
    pthread_cond_broadcast(&changed_);
  }
  thread_.join();
}

Result<void> BatchQueue::map() {
  PANTOUM_ASSIGN(memory_, host::Arena::map(bytes_, kPage));
  auto* next = static_cast<std::byte*>(memory_.data());
  for (uint64_t batch = 0; batch < depth_; ++batch) {
    for (data::BatchView tensor : tensors_) {
      tensor.data = std::span(next, tensor.data.size());
      next += base::round_up(tensor.data.size(), kAlign);
      slots_.push_back(tensor);
    }
  }
  return {};
}

std::span<const data::BatchView> BatchQueue::slot(uint64_t step) const {
  return std::span(slots_).subspan(step % depth_ * tensors_.size(), tensors_.size());
}

void BatchQueue::begin(const data::BatchProducer& producer, uint64_t first, uint64_t last) {
  end();
  const Lock lock(mutex_);
  producer_ = &producer;
  next_to_fill_ = next_to_take_ = first;
  last_ = last;
  error_.reset();
  pthread_cond_broadcast(&changed_);
}

void BatchQueue::end() {
  const Lock lock(mutex_);
  producer_ = nullptr;
  while (is_filling_) pthread_cond_wait(&changed_, &mutex_);
}

bool BatchQueue::may_fill() const {
  return producer_ != nullptr && !error_ && next_to_fill_ <= last_ && next_to_fill_ < next_to_take_ + depth_;
}

void BatchQueue::run(void* self) {
  static_cast<BatchQueue*>(self)->fill_until_quit();
}

void BatchQueue::fill_until_quit() {
  pthread_mutex_lock(&mutex_);
  while (!quit_) {
    if (!may_fill()) {
      pthread_cond_wait(&changed_, &mutex_);
      continue;
    }
    is_filling_ = true;
    const data::BatchProducer& producer = *producer_;
    const uint64_t step = next_to_fill_;
    pthread_mutex_unlock(&mutex_);
    Result<void> filled = filled_by(producer, step, slot(step));
    pthread_mutex_lock(&mutex_);
    is_filling_ = false;
    if (filled) {
      ++next_to_fill_;
    } else {
      error_ = std::move(filled).error();
    }
    pthread_cond_broadcast(&changed_);
  }
  pthread_mutex_unlock(&mutex_);
}

Result<void> BatchQueue::take(std::span<const data::BatchView> into) {
  uint64_t step = 0;
  {
    const Lock lock(mutex_);
    step = next_to_take_;
    if (producer_ == nullptr || step > last_) return fail("E0001", "internal: no batch is being made for this step");
    while (next_to_fill_ == step && !error_) pthread_cond_wait(&changed_, &mutex_);
    if (next_to_fill_ == step) return Failure(*error_);
  }
  const std::span<const data::BatchView> from = slot(step);
  for (size_t tensor = 0; tensor < from.size(); ++tensor)
    std::memcpy(into[tensor].data.data(), from[tensor].data.data(), from[tensor].data.size());
  const Lock lock(mutex_);
  ++next_to_take_;
  pthread_cond_broadcast(&changed_);
  return {};
}

}  // namespace pantoum::train
