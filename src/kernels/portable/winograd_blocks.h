/* How Winograd's convolutions are cut: what their workspace and their work depend on. */
#pragma once

#include <stddef.h>

typedef struct pt_winograd_cut {
  int has_vectors; /* for processors with vectors and caches */
  int is_whole;    /* transformed weights are kept, blocks are larger: more workspace, fewer transforms */
} pt_winograd_cut;

/* Elements of the transformed source that a strip without vectors may take; it has 4 tiles at the least. */
enum { PT_WINOGRAD_SOURCE = 4096 };

static inline size_t pt_winograd_up(size_t count, size_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

/* Tiles of a strip, of `tiles` with `positions` multiplications each, of images of `planes`. Per strip the weights are
 * transformed anew, where they are not kept. */
static inline size_t pt_winograd_strip(const pt_winograd_cut* cut, size_t positions, size_t planes, size_t tiles) {
  const size_t most = PT_WINOGRAD_SOURCE / (positions * planes) / 4 * 4;
  if (cut->has_vectors) return tiles <= 8 ? 8 : tiles <= 16 ? 16 : 32;
  if (most < 4) return 4;
  if (tiles < most) return pt_winograd_up(tiles, 4);
  return most < 32 ? most : 32;
}

/* Of conv2d_dw: outputs and channels of a job, each of which transforms its part of all images. */
static inline size_t pt_winograd_dw_block(const pt_winograd_cut* cut, size_t count) {
  const size_t most = cut->is_whole ? 16 : 8;
  return count < most ? pt_winograd_up(count, 4) : most;
}
static inline size_t pt_winograd_dw_outputs(const pt_winograd_cut* cut, size_t outputs) {
  return cut->has_vectors ? 32 : pt_winograd_dw_block(cut, outputs);
}
static inline size_t pt_winograd_dw_channels(const pt_winograd_cut* cut, size_t channels) {
  if (!cut->has_vectors) return pt_winograd_dw_block(cut, channels);
  return channels <= 8 ? 8 : channels <= 16 ? 16 : 32;
}
static inline size_t pt_winograd_dw_strip(const pt_winograd_cut* cut) {
  return cut->has_vectors ? 32 : 8;
}
