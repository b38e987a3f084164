#include "stoppable.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace nb = nanobind;

namespace pantoum::python {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(50);
constexpr auto kPatience = std::chrono::seconds(1);  // for work that was asked to stop

// What the two threads share.
class Job {
 public:
  void tell(const PlanProgress& news) {
    const std::lock_guard lock(guard_);
    news_ = news;
  }
  void end() {
    const std::lock_guard lock(guard_);
    ended_ = true;
    changed_.notify_all();
  }
  bool ends_within(std::chrono::milliseconds time) {
    std::unique_lock lock(guard_);
    return changed_.wait_for(lock, time, [&] { return ended_; });
  }
  std::optional<PlanProgress> news() {
    const std::lock_guard lock(guard_);
    return std::exchange(news_, std::nullopt);
  }
  std::stop_source stop;

 private:
  std::mutex guard_;
  std::condition_variable changed_;
  std::optional<PlanProgress> news_;
  bool ended_ = false;
};

// Threads whose work did not stop in time. Used with the GIL held.
std::vector<std::thread>& abandoned() {
  static auto* const threads = new std::vector<std::thread>;
  return *threads;
}

bool ends_soon(Job& job, std::chrono::milliseconds time) {
  nb::gil_scoped_release released;
  return job.ends_within(time);
}

void look_after_python(Job& job, nb::handle progress) {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  const std::optional<PlanProgress> news = job.news();
  if (news && !progress.is_none()) progress(news->elapsed.count(), news->best, news->bound);
}

}  // namespace

void run_stoppable(Work work, nb::handle progress) {
  auto job = std::make_shared<Job>();
  std::thread thread([job, work = std::move(work)] {
    work(job->stop.get_token(), [job](const PlanProgress& news) { job->tell(news); });
    job->end();
  });
  try {
    while (!ends_soon(*job, kBetweenLooks)) look_after_python(*job, progress);
  } catch (...) {
    job->stop.request_stop();
    if (ends_soon(*job, kPatience))
      thread.join();
    else
      abandoned().push_back(std::move(thread));
    throw;
  }
  thread.join();
  look_after_python(*job, progress);
}

void join_abandoned() {
  std::vector<std::thread> threads = std::exchange(abandoned(), {});
  nb::gil_scoped_release released;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace pantoum::python
