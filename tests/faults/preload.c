// Preloaded into the program under test: counts its system calls, allocations and thread starts, makes the asked ones fail,
// and records what it does to files. Linux on x86-64.
//
// System calls are caught by a seccomp filter that traps them (SIGSYS), so that those which libc and liburing make inside
// count as well. The handler lets a call through by making it again at one address, which the filter knows.
// Allocations and threads are caught as symbols. Counting begins with main().
//
//   FAULT_CALLS   RULE;RULE...  RULE: NUMBER:K:HOW[:N]  the K-th call (from 1) of that number, and N-1 more (0: all that follow);
//                 HOW: an errno: it fails; s: it moves half; 0: nothing. NUMBER u: completions of io_uring.
//   FAULT_ALLOC   K[:N]         the K-th allocation gives NULL, and N-1 more (0: all that follow)
//   FAULT_THREAD  K[:N]         the K-th pthread_create gives EAGAIN
//   FAULT_LOG     FILE          what was counted: uint64 (calls, allocations, threads), then 2^20 call numbers (uint32), then
//                               the places of up to 2^21 allocations (uint64: a hash of some frames' addresses)
//   FAULT_FRAMES  N             frames of a place
//   FAULT_SERVER  1             begins nothing: forks a child for each line of its input, which is as a new process (fork_server)
//   FAULT_RECORD  FILE          each operation on a file under FAULT_FOLDER: "OP PATH PATH2 OFFSET LENGTH\n", then its bytes
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#if !defined(__x86_64__)
#error "the handler reads the registers of x86-64"
#endif

enum {
  kMostRules = 8,
  kMostCalls = 1 << 20,
  kMostAllocations = 1 << 21,
  kMostModules = 64,
  kCompletions = 511,
  kNumbers = 512
};

typedef struct Rule {
  long number, first, how, count;  // how: an errno; -1: short
} Rule;

typedef struct Log {
  _Atomic uint64_t calls, allocations, threads;
  uint32_t call[kMostCalls];
  uint64_t place[kMostAllocations];
} Log;

static Rule rules[kMostRules];
static int rule_count, frame_count = 6, record = -1, counting;
static Rule allocation_rule, thread_rule;
static _Atomic long seen[kNumbers], allocations, threads;
static Log* log_;
static const char* folder;
static struct { uintptr_t begin, end; } modules[kMostModules];
static int module_count;
static _Thread_local int inside __attribute__((tls_model("initial-exec")));

// ---- system calls ----

long fault_raw(long number, long a, long b, long c, long d, long e, long f);
extern char fault_raw_end[];
__asm__(
    ".text\n.globl fault_raw\n.hidden fault_raw\n.globl fault_raw_end\n.hidden fault_raw_end\nfault_raw:\n"
    "mov %rdi, %rax\nmov %rsi, %rdi\nmov %rdx, %rsi\nmov %rcx, %rdx\nmov %r8, %r10\nmov %r9, %r8\nmov 8(%rsp), %r9\n"
    "syscall\nfault_raw_end:\nret\n");

// Not among them: what glibc calls with every signal blocked (madvise, clone3, rt_sigprocmask), clocks and waits.
static const int kTrapped[] = {SYS_read,
                               SYS_pread64,
                               SYS_readv,
                               SYS_preadv,
                               SYS_write,
                               SYS_pwrite64,
                               SYS_writev,
                               SYS_pwritev,
                               SYS_open,
                               SYS_openat,
                               SYS_creat,
                               SYS_close,
                               SYS_stat,
                               SYS_fstat,
                               SYS_lstat,
                               SYS_newfstatat,
                               SYS_statx,
                               SYS_fstatfs,
                               SYS_statfs,
                               SYS_lseek,
                               SYS_ftruncate,
                               SYS_truncate,
                               SYS_fallocate,
                               SYS_fsync,
                               SYS_fdatasync,
                               SYS_sync_file_range,
                               SYS_rename,
                               SYS_renameat,
                               SYS_renameat2,
                               SYS_link,
                               SYS_linkat,
                               SYS_unlink,
                               SYS_unlinkat,
                               SYS_mkdir,
                               SYS_mkdirat,
                               SYS_rmdir,
                               SYS_fcntl,
                               SYS_flock,
                               SYS_getrandom,
                               SYS_io_uring_setup,
                               SYS_io_uring_enter,
                               SYS_io_uring_register,
                               SYS_mmap,
                               SYS_mremap,
                               SYS_brk,
                               SYS_mprotect,
                               SYS_fchmod,
                               SYS_getdents64,
                               SYS_access,
                               SYS_readlink,
                               SYS_getcwd,
                               SYS_prlimit64,
                               SYS_sched_getaffinity};

static long rule_of(long number) {
  const long at = atomic_fetch_add(&seen[number], 1) + 1;
  for (int rule = 0; rule < rule_count; ++rule)
    if (rules[rule].number == number && at >= rules[rule].first &&
        (rules[rule].count == 0 || at < rules[rule].first + rules[rule].count))
      return rules[rule].how;
  return 0;
}

// Where the ring's completions are, of the one ring that a run opens.
static struct io_uring_params ring;
static char* ring_memory;

static void change_completions(void) {
  static uint32_t looked_at;
  if (ring_memory == NULL) return;
  const uint32_t tail = __atomic_load_n((uint32_t*)(ring_memory + ring.cq_off.tail), __ATOMIC_ACQUIRE);
  const uint32_t mask = *(uint32_t*)(ring_memory + ring.cq_off.ring_mask);
  struct io_uring_cqe* entries = (struct io_uring_cqe*)(ring_memory + ring.cq_off.cqes);
  for (; looked_at != tail; ++looked_at) {
    struct io_uring_cqe* entry = &entries[looked_at & mask];
    const long how = rule_of(kCompletions);
    if (how > 0) entry->res = (int)-how;
    if (how < 0 && entry->res > 1) entry->res /= 2;
  }
}

// ---- the record of what happens to files ----

static char* path_of_fd(long fd, char* path, size_t size) {
  char name[64];
  snprintf(name, sizeof name, "/proc/self/fd/%ld", fd);
  const long got = fault_raw(SYS_readlink, (long)name, (long)path, (long)size - 1, 0, 0, 0);
  path[got > 0 ? got : 0] = 0;
  return path;
}

static const char* whole_path(long at, const char* name, char* path, size_t size) {
  if (name[0] == '/') return name;
  if ((int)at == AT_FDCWD) {
    fault_raw(SYS_getcwd, (long)path, (long)size, 0, 0, 0, 0);
  } else {
    path_of_fd(at, path, size);
  }
  snprintf(path + strlen(path), size - strlen(path), "/%s", name);
  return path;
}

static void note(const char* op, const char* path, const char* other, long offset, const void* bytes, long length) {
  char line[2300];
  if (strncmp(path, folder, strlen(folder)) != 0) return;
  const int size = snprintf(line, sizeof line, "%s %s %s %ld %ld\n", op, path, other, offset, length);
  fault_raw(SYS_write, record, (long)line, size, 0, 0, 0);
  if (bytes != NULL) fault_raw(SYS_write, record, (long)bytes, length, 0, 0, 0);
}

static void note_write(long fd, const char* path, long offset, const void* bytes, long length) {
  if (offset < 0) offset = fault_raw(SYS_lseek, fd, 0, SEEK_CUR, 0, 0, 0) - length;
  note("write", path, "-", offset, bytes, length);
}

static void note_call(long number, const long* a, long result) {
  char one[1100], two[1100];
  const char *p = (const char*)a[0], *q = (const char*)a[1], *r = (const char*)a[3];
  if (result < 0) return;
  switch (number) {
    case SYS_openat:
      return note((a[2] & O_TRUNC) != 0   ? "empty"
                  : (a[2] & O_CREAT) != 0 ? "create"
                                          : "open",
                  path_of_fd(result, one, sizeof one), "-", 0, NULL, 0);
    case SYS_write:
      return note_write(a[0], path_of_fd(a[0], one, sizeof one), -1, (void*)a[1], result);
    case SYS_pwrite64:
      return note_write(a[0], path_of_fd(a[0], one, sizeof one), a[3], (void*)a[1], result);
    case SYS_ftruncate:
      return note("truncate", path_of_fd(a[0], one, sizeof one), "-", a[1], NULL, 0);
    case SYS_fsync:
    case SYS_fdatasync:
      return note("sync", path_of_fd(a[0], one, sizeof one), "-", 0, NULL, 0);
    case SYS_rename:
      return note("rename", whole_path(AT_FDCWD, p, one, sizeof one), whole_path(AT_FDCWD, q, two, sizeof two), 0, NULL,
                  0);
    case SYS_renameat:
    case SYS_renameat2:
      return note("rename", whole_path(a[0], q, one, sizeof one), whole_path(a[2], r, two, sizeof two), 0, NULL, 0);
    case SYS_link:
      return note("link", whole_path(AT_FDCWD, p, one, sizeof one), whole_path(AT_FDCWD, q, two, sizeof two), 0, NULL,
                  0);
    case SYS_unlink:
      return note("unlink", whole_path(AT_FDCWD, p, one, sizeof one), "-", 0, NULL, 0);
    case SYS_unlinkat:
      return note("unlink", whole_path(a[0], q, one, sizeof one), "-", 0, NULL, 0);
    case SYS_mkdir:
      return note("mkdir", whole_path(AT_FDCWD, p, one, sizeof one), "-", 0, NULL, 0);
    // What would leave a hole in the record.
    case SYS_writev:
    case SYS_pwritev:
    case SYS_fallocate:
    case SYS_creat:
    case SYS_open:
    case SYS_linkat:
      return note("unknown",
                  number == SYS_creat || number == SYS_open || number == SYS_linkat ? folder
                                                                                    : path_of_fd(a[0], one, sizeof one),
                  "-", number, NULL, 0);
    default:
      return;
  }
}

// ---- the handler ----

static int moves_bytes(long number) {
  return number == SYS_read || number == SYS_pread64 || number == SYS_write || number == SYS_pwrite64;
}

// Half of it, in whole sectors where all of it is: that is how direct I/O is short.
static long made_short(long number, long* a) {
  if (moves_bytes(number) && a[2] % 512 == 0) {
    a[2] = a[2] > 512 ? a[2] / 2 / 512 * 512 : a[2];
  } else if (moves_bytes(number) && a[2] > 1) {
    a[2] /= 2;
  }
  if (number == SYS_getrandom && a[1] > 1) a[1] = 1;
  return fault_raw(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static long call(long number, long* a) {
  if (counting && log_ != NULL && !(number == SYS_write && a[0] == STDERR_FILENO)) {
    const uint64_t at = atomic_fetch_add(&log_->calls, 1);
    if (at < kMostCalls) log_->call[at] = (uint32_t)number;
  }
  const int spared = number == SYS_write && a[0] == STDERR_FILENO;  // where the error is told
  const long how = counting && !spared ? rule_of(number) : 0;
  if (how > 0 && number == SYS_brk)
    return fault_raw(SYS_brk, 0, 0, 0, 0, 0, 0);  // where it ends, unmoved, is how it fails
  if (how > 0) return -how;
  if (how < 0) return made_short(number, a);
  const long result = fault_raw(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  if (number == SYS_io_uring_setup && result >= 0) ring = *(struct io_uring_params*)a[1], ring_memory = NULL;
  if (number == SYS_mmap && ring.cq_entries != 0 && ring_memory == NULL && a[5] == IORING_OFF_SQ_RING && a[4] >= 0 &&
      result > 0)
    ring_memory = (char*)result;  // one mapping holds both rings
  if (number == SYS_io_uring_enter) change_completions();
  return result;
}

static void on_trap(int signal, siginfo_t* info, void* context) {
  (void)signal;
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  long a[6] = {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
               registers[REG_R10], registers[REG_R8],  registers[REG_R9]};
  const long number = info->si_syscall;
  const long result = call(number, a);
  if (record >= 0) note_call(number, a, result);
  registers[REG_RAX] = result;
}

static void install_filter(void) {
  enum { kCount = sizeof kTrapped / sizeof kTrapped[0] };
  const uint64_t own = (uint64_t)(uintptr_t)fault_raw_end;
  struct sock_filter program[kCount + 8];
  int at = 0;
  program[at++] =
      (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer));
  program[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)own, 0, 3);
  program[at++] =
      (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4);
  program[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(own >> 32), 0, 1);
  program[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  program[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int each = 0; each < kCount; ++each)
    program[at++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)kTrapped[each], (uint8_t)(kCount - each), 0);
  program[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  program[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  const struct sock_fprog filter = {.len = (unsigned short)at, .filter = program};
  struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};
  if (sigaction(SIGSYS, &action, NULL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    fprintf(stderr, "preload: the system gives no seccomp filter\n");
    _exit(99);
  }
}

// SIGSYS must get through, whatever the program blocks.
int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) {
  static int (*real)(int, const sigset_t*, sigset_t*);
  if (real == NULL) real = (int (*)(int, const sigset_t*, sigset_t*))dlsym(RTLD_NEXT, "pthread_sigmask");
  sigset_t without;
  if (set == NULL || how == SIG_UNBLOCK) return real(how, set, before);
  without = *set;
  sigdelset(&without, SIGSYS);
  return real(how, &without, before);
}

// ---- threads ----

static int falls(const Rule* rule, long at) {
  return rule->first != 0 && at >= rule->first && (rule->count == 0 || at < rule->first + rule->count);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* arg) {
  static int (*real)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "pthread_create");
  if (counting && log_ != NULL) atomic_fetch_add(&log_->threads, 1);
  if (counting && falls(&thread_rule, atomic_fetch_add(&threads, 1) + 1)) return EAGAIN;
  return real(thread, attributes, body, arg);
}

// ---- allocations ----

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

typedef struct Walk {
  uint64_t hash;
  int left;
} Walk;

static _Unwind_Reason_Code step(struct _Unwind_Context* context, void* arg) {
  Walk* walk = arg;
  const uintptr_t address = _Unwind_GetIP(context);
  int module = 0;
  while (module < module_count && (address < modules[module].begin || address >= modules[module].end)) ++module;
  if (module == 0) return _URC_NO_REASON;  // this library
  const uint64_t offset = module < module_count ? address - modules[module].begin : 0;
  walk->hash = (walk->hash ^ (offset * 64 + (uint64_t)module)) * 0x9E3779B97F4A7C15U;
  walk->hash ^= walk->hash >> 29;
  return --walk->left > 0 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static int refuses_memory(void) {
  if (!counting || inside) return 0;
  inside = 1;
  if (log_ != NULL) {
    Walk walk = {1, frame_count};
    const uint64_t at = atomic_fetch_add(&log_->allocations, 1);
    if (at < kMostAllocations) {
      _Unwind_Backtrace(step, &walk);
      log_->place[at] = walk.hash;
    }
  }
  inside = 0;
  if (!falls(&allocation_rule, atomic_fetch_add(&allocations, 1) + 1)) return 0;
  errno = ENOMEM;
  return 1;
}

void* malloc(size_t size) {
  return refuses_memory() ? NULL : __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  return refuses_memory() ? NULL : __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  return refuses_memory() ? NULL : __libc_realloc(memory, size);
}
void* memalign(size_t align, size_t size) {
  return refuses_memory() ? NULL : __libc_memalign(align, size);
}
void* aligned_alloc(size_t align, size_t size) {
  return memalign(align, size);
}
int posix_memalign(void** memory, size_t align, size_t size) {
  *memory = memalign(align, size);
  return *memory == NULL ? ENOMEM : 0;
}

// ---- the beginning ----

static int add_module(struct dl_phdr_info* info, size_t size, void* arg) {
  (void)size;
  (void)arg;
  uintptr_t end = info->dlpi_addr;
  for (int each = 0; each < info->dlpi_phnum; ++each)
    if (info->dlpi_phdr[each].p_type == PT_LOAD &&
        info->dlpi_addr + info->dlpi_phdr[each].p_vaddr + info->dlpi_phdr[each].p_memsz > end)
      end = info->dlpi_addr + info->dlpi_phdr[each].p_vaddr + info->dlpi_phdr[each].p_memsz;
  const int own = (uintptr_t)&add_module >= info->dlpi_addr && (uintptr_t)&add_module < end;
  const int at = own ? 0 : module_count;
  if (!own && module_count < kMostModules) ++module_count;
  if (at < kMostModules) modules[at].begin = info->dlpi_addr, modules[at].end = end;
  return 0;
}

static void read_rules(const char* text) {
  for (; text != NULL && *text != 0 && rule_count < kMostRules;
       text = strchr(text, ';') == NULL ? NULL : strchr(text, ';') + 1) {
    char number[16] = "", how[16] = "";
    Rule rule = {0, 0, 0, 1};
    sscanf(text, "%15[^:]:%ld:%15[^:;]:%ld", number, &rule.first, how, &rule.count);
    rule.number = number[0] == 'u' ? kCompletions : atol(number);
    rule.how = how[0] == 's' ? -1 : atol(how);
    rules[rule_count++] = rule;
  }
}

static Rule read_count(const char* name) {
  Rule rule = {0, 0, 0, 1};
  if (getenv(name) != NULL) sscanf(getenv(name), "%ld:%ld", &rule.first, &rule.count);
  return rule;
}

static void begin(void) {
  module_count = 1;
  dl_iterate_phdr(add_module, NULL);
  read_rules(getenv("FAULT_CALLS"));
  allocation_rule = read_count("FAULT_ALLOC");
  thread_rule = read_count("FAULT_THREAD");
  folder = getenv("FAULT_FOLDER") != NULL ? getenv("FAULT_FOLDER") : "/";
  if (getenv("FAULT_FRAMES") != NULL) frame_count = atoi(getenv("FAULT_FRAMES"));
  if (getenv("FAULT_RECORD") != NULL)
    record = open(getenv("FAULT_RECORD"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (getenv("FAULT_LOG") != NULL) {
    const int file = open(getenv("FAULT_LOG"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(Log)) != 0) _exit(99);
    log_ = mmap(NULL, sizeof(Log), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
  }
  if (rule_count > 0 || record >= 0 || log_ != NULL) install_filter();
  counting = 1;
}

static int (*program_main)(int, char**, char**);

// Spares the loading of the program, which takes as long as what is asked of it. A line has fields, 0x1f between them: the file for
// stdout, that for stderr, a variable as NAME=VALUE (or nothing), then the words. Answers are lines: the child's number, its status.
static int child(char** fields, int count, char** environment) {
  const int out = open(fields[0], O_WRONLY | O_CREAT | O_TRUNC, 0600),
            error = open(fields[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int none = open("/dev/null", O_RDONLY);
  if (out < 0 || error < 0 || dup2(none, 0) < 0 || dup2(out, 1) < 0 || dup2(error, 2) < 0) _exit(99);
  close(out), close(error), close(none);
  unsetenv("FAULT_SERVER");
  if (fields[2][0] != 0) putenv(fields[2]);
  begin();
  return program_main(count - 3, fields + 3, environment);
}

static int fork_server(char** environment) {
  static char line[1 << 16];
  static char* fields[256];
  FILE* answers = fdopen(dup(1), "w");
  while (fgets(line, sizeof line, stdin) != NULL) {
    int count = 0, status = 0;
    line[strcspn(line, "\n")] = 0;
    for (char* rest = line; rest != NULL && count < 255;) fields[count++] = strsep(&rest, "\x1f");
    fields[count] = NULL;
    const pid_t pid = fork();
    if (pid == 0) {
      fclose(answers);
      exit(child(fields, count, environment));
    }
    fprintf(answers, "%d\n", pid), fflush(answers);
    waitpid(pid, &status, 0);
    fprintf(answers, "%d\n", status), fflush(answers);
  }
  return 0;
}

static int counted_main(int argc, char** argv, char** environment) {
  if (getenv("FAULT_SERVER") != NULL) return fork_server(environment);
  begin();
  return program_main(argc, argv, environment);
}

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(void), void (*fini)(void),
                      void (*unload)(void), void* stack) {
  int (*real)(int (*)(int, char**, char**), int, char**, void (*)(void), void (*)(void), void (*)(void), void*);
  *(void**)&real = dlsym(RTLD_NEXT, "__libc_start_main");
  program_main = main;
  return real(counted_main, argc, argv, init, fini, unload, stack);
}
