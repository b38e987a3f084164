#include "host/status_error.h"

#include "base/custom_operators.h"

namespace pantoum::host {

Failure status_failure(pt_status status, const std::string& what) {
  constexpr const char* kResume =
      "mend the storage or name another with --page-file, then go on from the last checkpoint with --resume";
  // What a kernel or a device says of itself is more than a status.
  if (status == PT_E_DATA || status == PT_E_STATE || status == PT_E_KERNEL)
    if (std::optional<Error> told = base::take_custom_error()) return Failure(*std::move(told));
  switch (status) {
    case PT_E_IO:
      return fail("E0903", "paging failed: the page file could not be read or written", what, kResume);
    case PT_E_DAMAGED:
      return fail(
          "E0903", "paging failed: the page file gave back other bytes than were written", what,
          "something changed or damaged the page file: name another place with --page-file, then go on from the "
          "last checkpoint with --resume");
    case PT_E_FULL:
      return fail("E0903", "paging failed: the storage of the page file is full", what,
                  "free some space there or name another place with --page-file, then go on from the last checkpoint "
                  "with --resume");
    case PT_E_STATE:
      return fail(
          "E0903", "an earlier step failed, and its tensors are no longer valid", what,
          "mend what the first error named; then begin anew from the last checkpoint (--resume, or a new trainer "
          "that resumes)");
    case PT_E_DATA:
      return fail("E0262", "a label or an index in the data is out of range", what,
                  "labels count from 0 and stay below the model's number of classes");
    case PT_E_PLAN:
      return fail("E0251", "the binary plan is damaged or inconsistent", what, "plan the model again");
    case PT_E_VERSION:
      return fail("E0251", "the binary plan was made by another version", what,
                  "plan the model again with this release");
    case PT_E_KERNEL:
      return fail("E0410", "no kernel for an operator of the plan", what,
                  "load the operators of your own first (--plugin FILE.so, add_operator); else plan the model again "
                  "with this release");
    case PT_E_NUMBER:
      return fail("E0701", "a loss, weight or state is not finite", what,
                  "a smaller learning rate; go back to a checkpoint");
    case PT_OK:
    case PT_E_ARGUMENT:
      break;
  }
  return fail("E0001", std::string("internal: the runtime refused a call: ") + pt_status_text(status), what);
}

}  // namespace pantoum::host
