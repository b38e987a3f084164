#include "process.h"

#include <atomic>

namespace pantoum::python {

Result<void> enter_process() {
  static std::atomic<::pid_t> computes = 0;
  const ::pid_t self = ::getpid();
  ::pid_t none = 0;
  if (computes.compare_exchange_strong(none, self) || none == self) return {};
  return fail("E0108", "this process was forked from one that has planned or trained, and lacks its threads", {},
              "start it with multiprocessing's \"spawn\", or fork before anything is planned");
}

}  // namespace pantoum::python
