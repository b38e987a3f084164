#include "host/prefaulted_thread.h"

#include <signal.h>
#include <unistd.h>

#include <cstddef>

namespace pantoum::host {
namespace {

constexpr size_t kStackBytes = size_t{1} << 20;   // of address space
constexpr size_t kWarmBytes = size_t{128} << 10;  // of it touched: deeper than any kernel goes

void touch_own_stack() {
  char pages[kWarmBytes];
  for (size_t byte = 0; byte < kWarmBytes; byte += 1024) static_cast<volatile char*>(pages)[byte] = 0;
}

bool create(pthread_t* thread, void* (*run)(void*), void* arg) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool made =
      pthread_attr_setstacksize(&attributes, kStackBytes) == 0 && pthread_create(thread, &attributes, run, arg) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return made;
}

}  // namespace

void* PrefaultedThread::run(void* self) {
  auto* thread = static_cast<PrefaultedThread*>(self);
  touch_own_stack();
  thread->is_warm_.store(1);
  thread->is_warm_.notify_one();
  thread->body_(thread->arg_);
  return nullptr;
}

bool PrefaultedThread::start(Body body, void* arg) {
  body_ = body;
  arg_ = arg;
  process_ = ::getpid();
  started_ = create(&thread_, run, this);
  if (started_) is_warm_.wait(0);
  return started_;
}

void PrefaultedThread::join() {
  if (started_ && process_ == ::getpid()) pthread_join(thread_, nullptr);
  started_ = false;
}

}  // namespace pantoum::host
