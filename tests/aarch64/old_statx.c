/* Preloaded: statx as a kernel has it that does not know STATX_DIOALIGN (before 6.1). QEMU 7.2 passes the kernel's answer on without its alignments, which
 * would read as a file system without direct I/O; so what needs direct I/O asks by trying, as on such a kernel. */
#include <errno.h>
#include <stddef.h>

int statx(int folder, const char *path, int flags, unsigned mask, void *found) {
  (void)folder, (void)path, (void)flags, (void)mask, (void)found;
  errno = ENOSYS;
  return -1;
}
