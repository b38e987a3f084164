/* A QEMU plugin that counts the instructions that each function executes, exactly.
 *
 *   gcc -shared -fPIC -fvisibility=hidden count.c -o count.so
 *   arm-none-eabi-nm -nS firmware.elf > symbols
 *   qemu-system-arm ... -plugin ./count.so,symbols=symbols,out=counts
 *
 * `out` gets lines "function count", the highest first, then "total count"; functions of one name keep a line each, and
 * code outside every symbol is "(elsewhere)". An instruction that faults is counted, and so is one whose condition does
 * not hold. It is written however the run ends, semihosting's exit included.
 *
 *   ...,kernels=FILE,caller=FUNCTION,slices=FUNCTION,turn=FUNCTION
 *
 * FILE names the kernels, one a line. From the entry of one of them until an instruction of `caller`, or of `slices`,
 * which calls them too and may not be there, everything counts
 * as the kernel's: what it calls, the soft-float of the compiler's library, a kernel that it calls. `turn` is what a
 * loop calls once a turn; counted is from its first entry to its last, that is whole turns and nothing before or after:
 * "#turns number count", "#kernel function count calls" of those that ran, in front of the functions. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qemu_plugin.h"

int qemu_plugin_version = 1;

enum { MAX_NAME = 200 };

typedef struct function {
  uint64_t begin, end, count;
  char name[MAX_NAME];
} function;

/* Addresses ascend, as nm -n has sorted them; the last is the one for everything else. Never moves once QEMU runs:
 * translated code adds to the counters in place. */
static function* functions;
static size_t function_count;
static const char* out_path;

typedef struct kernel {
  const function* entry;
  uint64_t count, calls;             /* since the first turn began */
  uint64_t whole_count, whole_calls; /* when the last began */
} kernel;

static kernel* kernels;
static size_t kernel_count;
static const function *caller, *slices, *turn;
static kernel* running;
static uint64_t running_since, turns_began, turned, turns_entered;

static int add_function(uint64_t begin, uint64_t end, const char* name) {
  function* grown = realloc(functions, (function_count + 1) * sizeof *grown);
  if (grown == NULL) return 0;
  functions = grown;
  functions[function_count] = (function){.begin = begin, .end = end};
  snprintf(functions[function_count].name, MAX_NAME, "%s", name);
  ++function_count;
  return 1;
}

/* "address size type name"; symbols without a size are labels inside of functions. */
static int add_line(const char* line) {
  uint64_t begin, size;
  char type, name[MAX_NAME];
  if (sscanf(line, "%" SCNx64 " %" SCNx64 " %c %199s", &begin, &size, &type, name) != 4) return 1;
  if (strchr("TtWw", type) == NULL) return 1;
  return add_function(begin, begin + size, name);
}

static int read_symbols(const char* path) {
  char line[1024];
  int good = 1;
  FILE* file = fopen(path, "r");
  if (file == NULL) return 0;
  while (good && fgets(line, sizeof line, file) != NULL) good = add_line(line);
  fclose(file);
  return good && add_function(0, 0, "(elsewhere)");
}

static function* find(uint64_t address) {
  size_t low = 0, high = function_count - 1;
  while (low < high) { /* the first that begins beyond the address */
    const size_t middle = (low + high) / 2;
    if (functions[middle].begin <= address)
      low = middle + 1;
    else
      high = middle;
  }
  if (low > 0 && address < functions[low - 1].end) return &functions[low - 1];
  return &functions[function_count - 1];
}

/* ---- kernels and turns ---- */

static const function* function_named(const char* name) {
  size_t index;
  for (index = 0; index < function_count; ++index)
    if (strcmp(functions[index].name, name) == 0) return &functions[index];
  return NULL;
}

static int read_kernels(const char* path) {
  char name[MAX_NAME];
  FILE* file = fopen(path, "r");
  if (file == NULL) return 0;
  while (fscanf(file, "%199s", name) == 1) {
    kernel* grown = realloc(kernels, (kernel_count + 1) * sizeof *grown);
    if (grown == NULL) break;
    kernels = grown;
    kernels[kernel_count++] = (kernel){.entry = function_named(name)};
    if (kernels[kernel_count - 1].entry == NULL) break;
  }
  fclose(file);
  return kernel_count > 0 && kernels[kernel_count - 1].entry != NULL;
}

/* Counting is in line and of functions alone, so that this, which is called rarely, costs the rest nothing. */
static uint64_t executed(void) {
  uint64_t sum = 0;
  size_t index;
  for (index = 0; index < function_count; ++index) sum += functions[index].count;
  return sum;
}

static void enter_kernel(unsigned processor, void* data) {
  (void)processor;
  if (running != NULL) return;
  running = data;
  running_since = executed();
  ++running->calls;
}

static void return_to_caller(unsigned processor, void* data) {
  (void)processor;
  (void)data;
  if (running != NULL) running->count += executed() - running_since;
  running = NULL;
}

static void enter_turn(unsigned processor, void* data) {
  size_t index;
  (void)processor;
  (void)data;
  if (turns_entered++ == 0) turns_began = executed();
  turned = executed() - turns_began;
  for (index = 0; index < kernel_count; ++index) {
    kernel* each = &kernels[index];
    if (turns_entered == 1) each->count = each->calls = 0;
    each->whole_count = each->count;
    each->whole_calls = each->calls;
  }
}

static void call_back(struct qemu_plugin_insn* insn, const function* owner) {
  const int is_entry = qemu_plugin_insn_vaddr(insn) == owner->begin;
  size_t index;
  if (owner == caller || (owner == slices && owner != NULL))
    qemu_plugin_register_vcpu_insn_exec_cb(insn, return_to_caller, QEMU_PLUGIN_CB_NO_REGS, NULL);
  if (owner == turn && is_entry) qemu_plugin_register_vcpu_insn_exec_cb(insn, enter_turn, QEMU_PLUGIN_CB_NO_REGS, NULL);
  for (index = 0; index < kernel_count && is_entry; ++index)
    if (kernels[index].entry == owner)
      qemu_plugin_register_vcpu_insn_exec_cb(insn, enter_kernel, QEMU_PLUGIN_CB_NO_REGS, &kernels[index]);
}

/* ---- counting ---- */

/* One addition in front of each instruction, not one sum per block: a block can be left in its middle. */
static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb* tb) {
  const size_t count = qemu_plugin_tb_n_insns(tb);
  size_t index;
  (void)id;
  for (index = 0; index < count; ++index) {
    struct qemu_plugin_insn* insn = qemu_plugin_tb_get_insn(tb, index);
    function* owner = find(qemu_plugin_insn_vaddr(insn));
    qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &owner->count, 1);
    call_back(insn, owner);
  }
}

static int by_count(const void* left, const void* right) {
  const function *a = left, *b = right;
  return a->count != b->count ? (a->count < b->count ? 1 : -1) : strcmp(a->name, b->name);
}

static void write_turns(FILE* file) {
  size_t index;
  if (turn == NULL) return;
  fprintf(file, "#turns %" PRIu64 " %" PRIu64 "\n", turns_entered == 0 ? 0 : turns_entered - 1, turned);
  for (index = 0; index < kernel_count; ++index)
    if (kernels[index].whole_calls > 0)
      fprintf(file, "#kernel %s %" PRIu64 " %" PRIu64 "\n", kernels[index].entry->name, kernels[index].whole_count,
              kernels[index].whole_calls);
}

static void write_counts(qemu_plugin_id_t id, void* data) {
  FILE* file = fopen(out_path, "w");
  uint64_t total = 0;
  size_t index;
  (void)id;
  (void)data;
  if (file == NULL) return;
  write_turns(file); /* before the sorting moves what it points at */
  qsort(functions, function_count, sizeof *functions, by_count);
  for (index = 0; index < function_count && functions[index].count > 0; ++index) {
    fprintf(file, "%s %" PRIu64 "\n", functions[index].name, functions[index].count);
    total += functions[index].count;
  }
  fprintf(file, "total %" PRIu64 "\n", total);
  fclose(file);
}

/* What follows "name=" in an argument, or `otherwise`. */
static const char* value_of(const char* argument, const char* name, const char* otherwise) {
  const size_t length = strlen(name);
  return strncmp(argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1 : otherwise;
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t* info, int argc, char** argv) {
  const char *symbols = NULL, *names = NULL, *calls = NULL, *sliced = NULL, *turns = NULL;
  int index, good;
  (void)info;
  for (index = 0; index < argc; ++index) {
    symbols = value_of(argv[index], "symbols", symbols);
    out_path = value_of(argv[index], "out", out_path);
    names = value_of(argv[index], "kernels", names);
    calls = value_of(argv[index], "caller", calls);
    sliced = value_of(argv[index], "slices", sliced);
    turns = value_of(argv[index], "turn", turns);
  }
  good = symbols != NULL && out_path != NULL && read_symbols(symbols);
  if (good && names != NULL) {
    caller = calls == NULL ? NULL : function_named(calls);
    slices = sliced == NULL ? NULL : function_named(sliced);
    turn = turns == NULL ? NULL : function_named(turns);
    good = caller != NULL && turn != NULL && read_kernels(names);
  }
  if (!good) {
    fprintf(stderr, "count: give symbols=FILE (of nm -nS) and out=FILE; kernels=FILE with caller= and turn=\n");
    return 1;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
  qemu_plugin_register_atexit_cb(id, write_counts, NULL);
  return 0;
}
