/* A plan in an arena of its own, through pantoum/pantoum.h alone: use_rt PLAN prints how much RAM it takes. */
#include <stdio.h>
#include <stdlib.h>

#include <pantoum/pantoum.h>

int main(int count, char** words) {
  static unsigned char bytes[1 << 20];
  FILE* const file = count == 2 ? fopen(words[1], "rb") : NULL;
  if (file == NULL) return 2;
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  pt_plan plan;
  const pt_status status = pt_plan_open(&plan, bytes, size);
  if (status != PT_OK) {
    fprintf(stderr, "%s\n", pt_status_text(status));
    return 1;
  }
  pt_session* session = NULL;
  char* const room = malloc((size_t)plan.arena_bytes + plan.align_bytes);
  char* const arena = room + (plan.align_bytes - (uintptr_t)room % plan.align_bytes) % plan.align_bytes;
  void* const memory = malloc(pt_session_bytes(&plan));
  const pt_status opened = pt_session_open(&session, &plan, memory, arena, NULL, pt_portable_kernels(), NULL, NULL);
  printf("%d %llu\n", (int)opened, (unsigned long long)plan.arena_bytes);
  free(memory);
  free(room);
  return opened == PT_OK ? 0 : 1;
}
