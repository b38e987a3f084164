/* One sentence per status; empty strings where PT_NO_TEXT leaves the texts out of the program. */
#include "pantoum/pantoum.h"

const char* pt_status_text(pt_status status) {
#ifdef PT_NO_TEXT
  (void)status;
  return "";
#else
  switch (status) {
    case PT_OK:
      return "done";
    case PT_E_ARGUMENT:
      return "the call breaks a contract of pantoum.h";
    case PT_E_PLAN:
      return "the binary plan is damaged or inconsistent";
    case PT_E_VERSION:
      return "the binary plan is of another version";
    case PT_E_KERNEL:
      return "the kernel table lacks a kernel that the plan names";
    case PT_E_IO:
      return "the storage failed to read or write";
    case PT_E_FULL:
      return "the storage is full";
    case PT_E_DATA:
      return "an index in the data is out of range";
    case PT_E_STATE:
      return "the session failed earlier, or the tensor is not where the call needs it";
    case PT_E_DAMAGED:
      return "the storage gave back other bytes than were written";
    case PT_E_NUMBER:
      return "a loss, weight or state is not finite";
  }
  return "unknown status";
#endif
}
