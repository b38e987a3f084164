/* Pantoum's runtime: executes a binary plan inside one arena. C99, libc and libm only, no allocation, no printing.
 *
 * The caller owns all memory: the plan's bytes, the arena, the session's memory. Functions return the sizes that it needs. Example:
 *
 *   // One step of a plan that pages nothing and keeps nothing in ROM. `allocate` is aligned_alloc of C11, or alike.
 *   pt_status train_once(const void* bytes, size_t size, void* (*allocate)(size_t align, size_t bytes)) {
 *     pt_plan plan;
 *     pt_status status = pt_plan_open(&plan, bytes, size);  // checks every field; the bytes stay the caller's
 *     if (status != PT_OK) return status;
 *     void* arena = allocate(plan.align_bytes < 8 ? 8 : plan.align_bytes, (size_t)plan.arena_bytes);
 *     void* memory = allocate(16, pt_session_bytes(&plan));
 *     if (arena == NULL || memory == NULL) return PT_E_ARGUMENT;
 *     pt_session* session;
 *     status = pt_session_open(&session, &plan, memory, arena, NULL, pt_portable_kernels(), NULL, NULL);
 *     if (status != PT_OK) return status;
 *     const pt_scalars scalars = {.step = 1, .seed = 0, .lr = 0.01};
 *     return pt_run(session, 0, &scalars);  // program 0; any number of times
 *   }
 *
 * Functions that can fail return a pt_status; they do not change out parameters on failure. Only one thread at a time may use a session.
 */
#ifndef PANTOUM_PANTOUM_H
#define PANTOUM_PANTOUM_H

#include <stddef.h>
#include <stdint.h>

#include "pantoum/export.h"
#include "pantoum/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pt_status {
  PT_OK = 0,
  PT_E_ARGUMENT = 1, /* the call breaks a contract of this header; correct the call */
  PT_E_PLAN = 2,     /* the binary plan is damaged or inconsistent; make it again */
  PT_E_VERSION = 3,  /* the binary plan is of another version; make it again with this release */
  PT_E_KERNEL = 4,   /* no kernel for an operator of the plan in the given table */
  PT_E_IO = 5,       /* the storage failed to read or write; the session's tensors are no longer valid */
  PT_E_FULL = 6,     /* the storage is full; as PT_E_IO */
  PT_E_DATA = 7,     /* an index in the data is out of range (a label, a gather index) */
  PT_E_STATE = 8,    /* the session failed earlier, is in a run, or the tensor is not where the call needs it */
  PT_E_DAMAGED = 9,  /* the storage gave back other bytes than were written; as PT_E_IO */
  PT_E_NUMBER = 10   /* a loss, weight or state is not finite; what was stored before stays */
} pt_status;

/* Returns a constant text for a status, for messages; "" if built with PT_NO_TEXT. */
PT_API const char* pt_status_text(pt_status status);

/* ---- Kernels ---------------------------------------------------------------------------------------------------- */

/* Limits of a plan. A firmware is built with the limits of its own plan, and needs less stack. */
#ifndef PT_MAX_RANK
#define PT_MAX_RANK 6
#endif
#ifndef PT_MAX_OPERANDS
#define PT_MAX_OPERANDS 32
#endif
#ifndef PT_MAX_ATTRS
#define PT_MAX_ATTRS 16
#endif
/* Engines that compute at the same time. With 1, the runtime knows plans of one engine alone. */
#ifndef PT_MAX_ENGINES
#define PT_MAX_ENGINES 8
#endif
/* Groups of parameters of a plan. */
#define PT_MAX_GROUPS 65536

/* A dense row-major tensor. A scalar has rank 0. */
typedef struct pt_tensor {
  void* data;
  uint32_t dims[PT_MAX_RANK];
  uint8_t rank;
  uint8_t dtype; /* pt_dtype */
} pt_tensor;

/* Rates of a group of parameters. A negative learning rate stands for that of the step, a negative weight decay for the one that the update has as
 * an attribute. */
typedef struct pt_group {
  double lr, weight_decay;
} pt_group;

/* The values of a step that are not fixed in the plan. */
typedef struct pt_scalars {
  uint64_t step; /* 1 for the first step: Adam's bias correction and dropout's counter use it */
  uint64_t seed; /* dropout's Philox key */
  double lr;     /* learning rate */
  /* The groups, by the index that updates of their parameters have as the last integer. With NULL, or an index that is not below group_count, the
   * rate is `lr` and the weight decay is the update's own. */
  const pt_group* groups;
  uint32_t group_count;
} pt_scalars;

/* Threads. `run` calls body(arg, begin, end) over a partition of [0, count) and returns when all pieces are done; pieces are disjoint and may run at
 * the same time. With a NULL pool, or threads == 1, the calling thread computes everything. Kernels split only their outputs, so that results do not
 * depend on the number of threads. */
typedef struct pt_pool {
  void* context;
  uint32_t threads;
  void (*run)(void* context, size_t count, void (*body)(void* arg, size_t begin, size_t end), void* arg);
} pt_pool;

typedef struct pt_call {
  const pt_tensor* inputs;
  const pt_tensor* outputs;
  const int64_t* ints; /* positional, see ops.h */
  const double* reals;
  uint16_t input_count, output_count, int_count, real_count;
  void* workspace; /* the bytes that `workspace_bytes` of the kernel returned; aligned as the arena */
  const pt_scalars* scalars;
  const pt_pool* pool;
  uint8_t terms; /* PT_ALL_TERMS; or bits of pt_terms, for a kernel that makes parts of a sum */
  /* Where some operands are a slice of the whole op's and others are not: the index at which the slice begins, and the extent of the whole along its
   * axis. 0 and 0: the operands are whole, or all of them are cut alike. src/kernels/portable/parts.h says which kernels read them. */
  uint32_t slice_begin, whole_extent;
} pt_call;

/* Some kernels make a sum in parts, of which each call adds the next terms: the first call is PT_UNFINISHED, those between are both, the last one
 * PT_GOES_ON. Kernels that go over their terms more than once have such calls for pass 1, then for pass 2 and so on. They give the bits of one call
 * with all terms. src/kernels/portable/parts.h says which kernels, and which terms. */
typedef enum pt_terms {
  PT_ALL_TERMS = 0,
  PT_GOES_ON = 1,    /* sums begin with what an earlier call left; without it with +0 */
  PT_UNFINISHED = 2, /* more terms follow: what comes behind a sum (bias, activation, update) is not done yet */
  PT_PASS = 4        /* times the number of the pass that is made, from 1 on; 0: all in one call */
} pt_terms;

/* A kernel's key is (op, dtype, algorithm, engine). `dtype` is that of the first output, except for count_correct,
 * where it is that of the first input. Data movement kernels (transpose, concat, split, slice, gather) are registered
 * once per element size under PT_F32 (4 bytes), PT_I64 (8 bytes), PT_U8 (1 byte); the table's look-up maps the other
 * dtypes of that size to them. */
typedef struct pt_kernel {
  uint16_t op;        /* pt_op */
  uint8_t dtype;      /* pt_dtype */
  uint8_t engine;     /* 0 = cpu */
  uint16_t algorithm; /* 0: the reference, a plain kernel that is the specification; algorithm_name has the name */
  const char* algorithm_name; /* "reference", "direct", ... */
  const char* numerics;       /* kernels of one op with equal numerics give the same bits: "ascending", ... */
  pt_status (*submit)(const pt_call* call);
  pt_status (*wait)(const pt_call* call); /* NULL: the work is done when submit returns */
  /* Returns the bytes of workspace for these shapes (data pointers are NULL) and pool->threads; they do not depend on values. Returns PT_NO_KERNEL if
   * the kernel does not compute these shapes. NULL: the kernel needs no workspace. */
  size_t (*workspace_bytes)(const pt_call* call);
} pt_kernel;

#define PT_NO_KERNEL ((size_t)-1)
/* The first number of an algorithm of a fast back end. */
enum { PT_FIRST_BACK_END_ALGORITHM = 64 };

typedef struct pt_kernel_table {
  const pt_kernel* kernels;
  size_t count;
} pt_kernel_table;

/* Returns the kernel for a key, or NULL. Cost: linear in the table. */
PT_API const pt_kernel* pt_kernel_find(const pt_kernel_table* table, uint16_t op, uint8_t dtype, uint16_t algorithm,
                                       uint8_t engine);

/* Returns the portable kernels, in float32 (and, in the library pantoum_kernels_f64, the same sources in double under PT_F64).
 */
PT_API const pt_kernel_table* pt_portable_kernels(void);
const pt_kernel_table* pt_portable_kernels_f64(void);

/* ---- Paging ----------------------------------------------------------------------------------------------------- */

/* The largest number of transfers for which the interpreter has not yet waited. A microcontroller may be built with fewer. */
#ifndef PT_MAX_IN_FLIGHT
#define PT_MAX_IN_FLIGHT 64
#endif

/* A pager moves blocks between the arena and auxiliary storage. Tickets are positive, ascending, given by the
 * interpreter (they start again at 1 after 2^31, when no transfer is open). `read` and `write` queue a transfer, or do
 * it at once (a synchronous pager); one channel serves them first come, first served. The transfer may begin only when
 * the transfer `after`, and every open one with a smaller ticket than that, has ended (0: none). Transfers without such an order have no bytes in
 * common, in RAM or storage, unless both only read these bytes, so a pager may run several transfers at the same time. `wait` returns the status of a
 * transfer when it has ended; the interpreter calls `wait` at least once per transfer before the next step begins. `wait` on a ticket already waited
 * for returns PT_OK. At most PT_MAX_IN_FLIGHT are open. Bytes are a
 * multiple of the plan's alignment, rounded up by the planner. */
typedef struct pt_pager {
  void* context;
  pt_status (*read)(void* context, uint64_t storage_at, void* data, size_t bytes, uint32_t ticket, uint32_t after);
  pt_status (*write)(void* context, uint64_t storage_at, const void* data, size_t bytes, uint32_t ticket,
                     uint32_t after);
  pt_status (*wait)(void* context, uint32_t ticket);
} pt_pager;

/* ---- Plans ------------------------------------------------------------------------------------------------------ */

/* A parsed binary plan: views into the caller's bytes. The layout is documented in docs/plan-format.md. */
typedef struct pt_plan {
  const uint8_t* bytes;
  size_t size;
  uint64_t arena_bytes, storage_bytes;
  uint64_t rom_bytes; /* the least size of `rom` of pt_session_open */
  uint32_t align_bytes;
  uint32_t
      staging_bytes; /* of the buffer for parts of storage blocks; 0: no storage block is larger than align_bytes */
  uint32_t tensor_count, program_count, op_count;
  /* offsets of the sections inside `bytes`; private to the interpreter */
  uint32_t tensors_at, layouts_at, layout_count, index_at, ops_at;
} pt_plan;

/* Where a persistent tensor lives between steps. */
typedef enum pt_home { PT_HOME_NONE = 0, PT_HOME_RAM = 1, PT_HOME_AUX = 2, PT_HOME_ROM = 3 } pt_home;

typedef struct pt_tensor_info {
  const char* name; /* zero-terminated; "": the plan gives none */
  uint64_t bytes;   /* in the plan: the payload, rounded up to the alignment */
  uint64_t payload; /* bytes of the elements */
  uint64_t ram_at;  /* valid for PT_HOME_RAM */
  uint8_t home, dtype, rank;
  uint32_t dims[PT_MAX_RANK];
} pt_tensor_info;

/* Opens a binary plan. Checks magic, version, checksum and every index and size, so that no later access is out of bounds. PT_E_PLAN, PT_E_VERSION.
 * */
PT_API pt_status pt_plan_open(pt_plan* plan, const void* bytes, size_t size);
/* Returns the index of a program ("train", "eval") or of a tensor by name; -1 if there is none, as in a plan whose names were left out. Cost: linear. */
PT_API int32_t pt_plan_program(const pt_plan* plan, const char* name);
PT_API int32_t pt_plan_tensor(const pt_plan* plan, const char* name);
/* Returns the offset of a program's staging buffer in the arena, in bytes; SIZE_MAX if the program needs none. */
PT_API size_t pt_plan_staging(const pt_plan* plan, uint32_t program);
PT_API pt_status pt_plan_tensor_info(const pt_plan* plan, uint32_t tensor, pt_tensor_info* info);

/* ---- Sessions --------------------------------------------------------------------------------------------------- */

typedef struct pt_session pt_session;

/* An observer is called after every instruction (progress, tracing); it must not allocate. Where engines run at the same time, it is called on the
 * thread of each, so at the same time as well; frees are then reported by the first engine when it comes to them. */
typedef struct pt_event {
  uint32_t instruction; /* index in the program */
  uint8_t kind;         /* as in docs/plan-format.md: 0 compute, 1 page_out, 2 page_in, 3 free */
  uint8_t engines;      /* that a compute ran on, a bit each; 1 in a plan of one engine, 0 for transfers */
  uint32_t subject;     /* op or tensor */
} pt_event;

typedef struct pt_counters { /* since the session was opened */
  uint64_t bytes_paged_in, bytes_paged_out, computes, steps;
} pt_counters;

/* Returns the bytes of memory that a session needs beside the arena: a fixed part, 5 bytes per tensor, 2 per op. On several engines: 5 bytes per
 * tensor for each of them and each way of the pager, and about 100 bytes for every output and workspace of the longest program. */
PT_API size_t pt_session_bytes(const pt_plan* plan);
/* Opens a session. Replays every program without computing, to check that every instruction of a run will find its tensors in place. PT_E_PLAN: a
 * program fails this check, or a planned workspace is smaller than its kernel needs with this pool; PT_E_KERNEL; PT_E_ARGUMENT: wrong alignment, or
 * the plan needs a pager or a rom that is NULL. The session copies `plan`, `pager` and `kernels`; the caller keeps the plan's bytes, the kernel array
 * and `pool` valid. `rom` is the base address of tensors whose home is ROM (NULL when the plan
 * has none); `pager` and `pool` may be NULL. */
PT_API pt_status pt_session_open(pt_session** session, const pt_plan* plan, void* memory, void* arena, const void* rom,
                                 const pt_kernel_table* kernels, const pt_pager* pager, const pt_pool* pool);
/* ---- Several engines ----------------------------------------------------------------------------------------------- */

/* Returns how many engines the plan computes on: 1 for a plan that pt_session_open opens. */
PT_API uint32_t pt_plan_engines(const pt_plan* plan);

/* Computes the ops of one set of engines: one engine, or a gang. An op computes on the thread of its first engine. */
typedef struct pt_crew {
  uint8_t engines; /* a bit each */
  const pt_kernel_table* kernels;
  const pt_pool* pool; /* NULL: the engine's thread alone */
} pt_crew;

typedef struct pt_wait {
  uint32_t counter, value;
} pt_wait;

/* The threads of a session's engines, and how they tell each other what has ended. Counters are 32-bit words: PT_COUNTERS of
 * them, 0 before a run. All functions may be called by several threads at the same time. */
typedef struct pt_engines {
  void* context;
  const pt_crew* crews; /* one for every set of engines that an op of the plan has */
  uint32_t crew_count;
  /* Calls body(arg, part) for every part below `parts`, all at the same time, each on a thread of its own, and returns when all have returned. Parts
   * are the engines; the last one is the pager's. */
  void (*run)(void* context, uint32_t parts, void (*body)(void* arg, uint32_t part), void* arg);
  /* Sets a counter, so that whoever loads it sees all that the calling thread wrote before (release), and wakes the parts that wait for this. */
  void (*set)(void* context, unsigned counter, uint32_t value);
  uint32_t (*get)(void* context, unsigned counter); /* acquire */
  /* Returns once one of `count` counters is at least its value, or the counter PT_STOP is not 0. `part`: the caller's. */
  void (*wait)(void* context, uint32_t part, const pt_wait* any, uint32_t count);
} pt_engines;
enum { PT_STOP = PT_MAX_ENGINES + 2, PT_COUNTERS, PT_MOST_WAITS = 2 };

/* Opens a session of a plan of several engines, as pt_session_open, whose errors it has. The session copies `engines`; the caller keeps the crews, their
 * kernels and pools valid. PT_E_KERNEL: no crew for a set of engines, too. PT_E_PLAN, too: two instructions that share bytes, one of which writes
 * them, may run at the same time by what the plan lets them wait for. pt_run then runs all engines, and returns the error of the first that failed
 * when all have stopped and no transfer is open. */
PT_API pt_status pt_session_open_engines(pt_session** session, const pt_plan* plan, void* memory, void* arena,
                                         const void* rom, const pt_engines* engines, const pt_pager* pager);

/* Runs a program once. After a failure every later call returns PT_E_STATE; only PT_E_ARGUMENT leaves the session usable. A kernel, pager, pool or
 * observer that calls pt_run or a function for between runs gets PT_E_STATE, and the run goes on; one that leaves the run in another way than by
 * returning (longjmp, an exception) leaves the session in that state. In a program whose
 * persistent tensors have successors (train), each such pair in auxiliary storage exchanges the roles of its two storage slots. */
PT_API pt_status pt_run(pt_session* session, uint32_t program, const pt_scalars* scalars);
/* Between runs: returns the bytes of a tensor whose home is RAM, valid until the next run; NULL for other tensors. */
PT_API void* pt_session_data(pt_session* session, uint32_t tensor);
/* Between runs: copies bytes [at, at + bytes) of a persistent tensor's payload in or out, whether its home is RAM, ROM or storage. Transfers to and
 * from storage use the caller's `buffer`, whose address and size are multiples of align_bytes; its size is at least align_bytes. PT_E_STATE: the
 * tensor has no home, the write is to ROM, or the session failed earlier. After a storage error the session has failed. */
PT_API pt_status pt_session_read(pt_session* session, uint32_t tensor, uint64_t at, void* data, size_t bytes,
                                 void* buffer, size_t buffer_bytes);
PT_API pt_status pt_session_write(pt_session* session, uint32_t tensor, uint64_t at, const void* data, size_t bytes,
                                  void* buffer, size_t buffer_bytes);
/* Between runs: gets or sets, for each tensor, whether it is of a pair in auxiliary storage and lives in the slot of the other tensor (bit tensor % 8
 * of byte tensor / 8). A program that keeps these bits with the storage, and passes them to a new session before its first run, continues where the
 * earlier session stopped. PT_E_ARGUMENT: too few bytes, or a bit for a tensor that is of no such pair.
 */
PT_API pt_status pt_session_get_roles(const pt_session* session, uint8_t* bits, size_t bytes);
PT_API pt_status pt_session_set_roles(pt_session* session, const uint8_t* bits, size_t bytes);
PT_API void pt_session_counters(const pt_session* session, pt_counters* counters);
PT_API void pt_session_observe(pt_session* session, void (*observer)(void* context, const pt_event* event),
                               void* context);

#ifdef __cplusplus
}
#endif

#endif
