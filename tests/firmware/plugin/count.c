/* A QEMU plugin that counts the instructions that each function executes, exactly.
 *
 *   gcc -shared -fPIC -fvisibility=hidden count.c -o count.so
 *   arm-none-eabi-nm -nS firmware.elf > symbols
 *   qemu-system-arm ... -plugin ./count.so,symbols=symbols,out=counts
 *
 * `out` gets lines "function count", the highest first, then "total count"; functions of one name keep a line each, and
 * code outside every symbol is "(elsewhere)". An instruction that faults is counted, and so is one whose condition does
 * not hold. It is written however the run ends, semihosting's exit included. */
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

/* One addition in front of each instruction, not one sum per block: a block can be left in its middle. */
static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb* tb) {
  const size_t count = qemu_plugin_tb_n_insns(tb);
  size_t index;
  (void)id;
  for (index = 0; index < count; ++index) {
    struct qemu_plugin_insn* insn = qemu_plugin_tb_get_insn(tb, index);
    function* owner = find(qemu_plugin_insn_vaddr(insn));
    qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &owner->count, 1);
  }
}

static int by_count(const void* left, const void* right) {
  const function *a = left, *b = right;
  return a->count != b->count ? (a->count < b->count ? 1 : -1) : strcmp(a->name, b->name);
}

static void write_counts(qemu_plugin_id_t id, void* data) {
  FILE* file = fopen(out_path, "w");
  uint64_t total = 0;
  size_t index;
  (void)id;
  (void)data;
  if (file == NULL) return;
  qsort(functions, function_count, sizeof *functions, by_count);
  for (index = 0; index < function_count && functions[index].count > 0; ++index) {
    fprintf(file, "%s %" PRIu64 "\n", functions[index].name, functions[index].count);
    total += functions[index].count;
  }
  fprintf(file, "total %" PRIu64 "\n", total);
  fclose(file);
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t* info, int argc, char** argv) {
  const char* symbols = NULL;
  int index;
  (void)info;
  for (index = 0; index < argc; ++index) {
    if (strncmp(argv[index], "symbols=", 8) == 0) symbols = argv[index] + 8;
    if (strncmp(argv[index], "out=", 4) == 0) out_path = argv[index] + 4;
  }
  if (symbols == NULL || out_path == NULL || !read_symbols(symbols)) {
    fprintf(stderr, "count: give symbols=FILE (of nm -nS) and out=FILE\n");
    return 1;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
  qemu_plugin_register_atexit_cb(id, write_counts, NULL);
  return 0;
}
