#include <math.h>
#include <string.h>

#include "kernels/portable/kernels.h"
#include "kernels/portable/lanes.h"
#include "kernels/portable/layout.h"
#include "kernels/portable/norm_activation.h"
#include "kernels/portable/parallel.h"

/* Batch normalization of images in blocks of channels, where they lie: vectors go along the channels of a block. The
 * bits are those of the plain kernels (batch_norm.c). Only where compilers know vectors and blocks are whole ones. */
#if defined(__GNUC__)

enum { PT_MOST_BLOCK = 64, PT_PIECE = 64 /* positions */ };
enum { PT_SUM_OF_X, PT_SUM_OF_SQUARES };
#ifdef PT_REAL_DOUBLE
typedef int64_t pt_bits;
#else
typedef int32_t pt_bits;
#endif

/* The numbers that a block's channels are normalized with; zeros for channels of the padding. */
typedef struct pt_block {
  size_t width; /* channels, those of the padding too */
  pt_activation activation;
  pt_real mean[PT_MOST_BLOCK], a[PT_MOST_BLOCK], b[PT_MOST_BLOCK];
  pt_real da[PT_MOST_BLOCK], db[PT_MOST_BLOCK], dc[PT_MOST_BLOCK]; /* dX = da (dN - db - (X - mean) dc) */
} pt_block;

#define PT_LANE(name) plain_##name
#define PT_LANE_TARGET
#define PT_LANE_BYTES 16
#include "kernels/portable/norm_lanes.h"

#ifdef PT_HAS_AVX
#define PT_LANE(name) avx2_##name
#define PT_LANE_TARGET PT_AVX2
#define PT_LANE_BYTES 32
#include "kernels/portable/norm_lanes.h"

#define PT_LANE(name) avx512_##name
#define PT_LANE_TARGET PT_AVX512
#define PT_LANE_BYTES 64
#include "kernels/portable/norm_lanes.h"
#endif

typedef struct loops {
  size_t width; /* of a vector; 0: none fits the block */
  void (*sums)(const pt_block* g, const pt_real* x, size_t positions, size_t next, pt_real* lanes);
  void (*squares)(const pt_block* g, const pt_real* x, size_t positions, size_t next, pt_real* lanes);
  void (*normalize)(const pt_block* g, const pt_real* x, pt_real* y, size_t positions);
  void (*slopes)(const pt_block* g, const pt_real* dy, const pt_real* x, size_t positions, size_t next, pt_real* sums,
                 pt_real* products);
  void (*gradient)(const pt_block* g, const pt_real* dy, const pt_real* x, pt_real* dx, size_t positions);
} loops;

#define PT_LOOPS(set) \
  { set##_width, set##_sums, set##_squares, set##_normalize, set##_slopes, set##_gradient }

/* The widest vectors that blocks are a multiple of. */
static loops loops_for(size_t block) {
  static const loops plain = PT_LOOPS(plain), none = {0};
#ifdef PT_HAS_AVX
  static const loops avx2 = PT_LOOPS(avx2), avx512 = PT_LOOPS(avx512);
  if (block % avx512_width == 0 && __builtin_cpu_supports("avx512f")) return avx512;
  if (block % avx2_width == 0 && __builtin_cpu_supports("avx2")) return avx2;
#endif
  return block % plain_width == 0 && block <= PT_MOST_BLOCK ? plain : none;
}

typedef struct norm {
  size_t samples, channels, positions, block, blocks;
  const pt_real *x, *dy, *scale, *bias, *mean, *var;
  pt_real *y, *mean_out, *var_out, *dscale, *dbias; /* y: of the gradient dX */
  pt_real eps;
  pt_activation activation;
  loops with;
  int in_one; /* a block is normalized right behind its sums, by one thread, the last sample first: the caches have it */
} norm;

static const pt_activation kNone = {0, 0, 0};

/* With fewer blocks than this, threads share the planes of all blocks once the sums are known. */
enum { kFewBlocks = 4 };

/* X in blocks, with what follows it. 0: not for these loops. */
static int describe(const pt_call* call, const pt_tensor* x, const pt_tensor* channels, pt_activation activation,
                    norm* n) {
  memset(n, 0, sizeof *n);
  if (x->rank != 5) return 0;
  n->block = x->dims[4];
  n->with = loops_for(n->block);
  if (n->with.width == 0) return 0;
  n->samples = x->dims[0], n->blocks = x->dims[1];
  n->positions = (size_t)x->dims[2] * x->dims[3];
  n->channels = channels->dims[0];
  n->x = x->data;
  n->eps = (pt_real)call->reals[0];
  n->activation = activation;
  n->in_one = n->blocks >= kFewBlocks;
  return 1;
}

static size_t work_of(const norm* n) {
  return n->samples * n->blocks * n->positions * n->block;
}

static size_t plane_of(const norm* n, size_t sample, size_t block) {
  return (sample * n->blocks + block) * n->positions * n->block;
}

/* Channels of the block that are no padding. */
static size_t true_channels(const norm* n, size_t block) {
  const size_t first = block * n->block;
  return first >= n->channels ? 0 : n->channels - first < n->block ? n->channels - first : n->block;
}

static void begin_block(const norm* n, pt_block* g) {
  memset(g, 0, sizeof *g);
  g->width = n->block;
  g->activation = n->activation;
}

/* The factors of channel c of a block, as batch_norm.c has them. */
static void set_line(const norm* n, pt_block* g, size_t block, size_t c, pt_real mean, pt_real var) {
  const size_t channel = block * n->block + c;
  g->mean[c] = mean;
  g->a[c] = n->scale[channel] / (pt_real)sqrt((double)(var + n->eps));
  g->b[c] = n->bias[channel];
}

/* Activations f with f(0) != 0 must not change the zeros of the padding. */
static void clear_padding(const norm* n, size_t block, pt_real* y) {
  const size_t channels = true_channels(n, block);
  if (channels == n->block) return;
  for (size_t at = 0; at < n->positions; ++at)
    memset(y + at * n->block + channels, 0, (n->block - channels) * sizeof(pt_real));
}

static void normalize_plane(const norm* n, const pt_block* g, size_t sample, size_t block) {
  const size_t at = plane_of(n, sample, block);
  n->with.normalize(g, n->x + at, n->y + at, n->positions);
  clear_padding(n, block, n->y + at);
}

static void forward_blocks(void* arg, size_t begin, size_t end) {
  const norm* n = arg;
  const pt_real count = (pt_real)(n->samples * n->positions);
  for (size_t block = begin; block < end; ++block) {
    pt_real lanes[PT_LANES * PT_MOST_BLOCK] = {0};
    const size_t channels = true_channels(n, block);
    pt_block g;
    begin_block(n, &g);
    for (size_t sample = 0; sample < n->samples; ++sample)
      n->with.sums(&g, n->x + plane_of(n, sample, block), n->positions, sample * n->positions % PT_LANES, lanes);
    for (size_t c = 0; c < channels; ++c) g.mean[c] = pt_lanes_tree(lanes + c, n->block) / count;
    memset(lanes, 0, sizeof lanes);
    for (size_t sample = 0; sample < n->samples; ++sample)
      n->with.squares(&g, n->x + plane_of(n, sample, block), n->positions, sample * n->positions % PT_LANES, lanes);
    for (size_t c = 0; c < channels; ++c) {
      const pt_real var = pt_lanes_tree(lanes + c, n->block) / count;
      n->mean_out[block * n->block + c] = g.mean[c];
      n->var_out[block * n->block + c] = var;
      set_line(n, &g, block, c, g.mean[c], var);
    }
    for (size_t sample = n->in_one ? n->samples : 0; sample-- > 0;) normalize_plane(n, &g, sample, block);
  }
}

static void given_planes(void* arg, size_t begin, size_t end) {
  const norm* n = arg;
  for (size_t plane = begin; plane < end; ++plane) {
    const size_t block = plane % n->blocks, first = block * n->block, channels = true_channels(n, block);
    pt_block g;
    begin_block(n, &g);
    for (size_t c = 0; c < channels; ++c) set_line(n, &g, block, c, n->mean[first + c], n->var[first + c]);
    normalize_plane(n, &g, plane / n->blocks, block);
  }
}

static pt_status forward(const pt_call* call, pt_activation activation) {
  norm n;
  if (!describe(call, &call->inputs[0], &call->inputs[1], activation, &n)) return PT_E_ARGUMENT;
  n.scale = call->inputs[1].data, n.bias = call->inputs[2].data;
  n.y = call->outputs[0].data, n.mean_out = call->outputs[1].data, n.var_out = call->outputs[2].data;
  n.mean = n.mean_out, n.var = n.var_out;
  if (work_of(&n) == 0) return PT_OK;
  PT_NAME(pt_parallel)(call, n.blocks, work_of(&n), forward_blocks, &n);
  if (!n.in_one) PT_NAME(pt_parallel)(call, n.samples * n.blocks, work_of(&n), given_planes, &n);
  return PT_OK;
}

static pt_status evaluate(const pt_call* call, pt_activation activation) {
  norm n;
  if (!describe(call, &call->inputs[0], &call->inputs[1], activation, &n)) return PT_E_ARGUMENT;
  n.scale = call->inputs[1].data, n.bias = call->inputs[2].data;
  n.mean = call->inputs[3].data, n.var = call->inputs[4].data;
  n.y = call->outputs[0].data;
  return PT_NAME(pt_parallel)(call, n.samples * n.blocks, work_of(&n), given_planes, &n);
}

static void begin_gradient(const norm* n, pt_block* g, size_t block) {
  const size_t first = block * n->block, channels = true_channels(n, block);
  begin_block(n, g);
  for (size_t c = 0; c < channels; ++c) {
    g->mean[c] = n->mean[first + c];
    if (n->activation.op != 0) set_line(n, g, block, c, n->mean[first + c], n->var[first + c]);
  }
}

static void set_gradient(const norm* n, pt_block* g, size_t block) {
  const size_t first = block * n->block, channels = true_channels(n, block);
  const pt_real count = (pt_real)(n->samples * n->positions);
  for (size_t c = 0; c < channels; ++c) {
    const size_t channel = first + c;
    const pt_real inverse = 1 / (pt_real)sqrt((double)(n->var[channel] + n->eps));
    g->da[c] = n->scale[channel] * inverse;
    g->db[c] = n->dbias[channel] / count;
    g->dc[c] = n->dscale[channel] * inverse / count;
  }
}

static void gradient_plane(const norm* n, const pt_block* g, size_t sample, size_t block) {
  const size_t at = plane_of(n, sample, block);
  n->with.gradient(g, n->dy + at, n->x + at, n->y + at, n->positions);
  clear_padding(n, block, n->y + at);
}

static void backward_blocks(void* arg, size_t begin, size_t end) {
  const norm* n = arg;
  for (size_t block = begin; block < end; ++block) {
    pt_real sums[PT_LANES * PT_MOST_BLOCK] = {0}, products[PT_LANES * PT_MOST_BLOCK] = {0};
    const size_t first = block * n->block, channels = true_channels(n, block);
    pt_block g;
    begin_gradient(n, &g, block);
    for (size_t sample = 0; sample < n->samples; ++sample) {
      const size_t at = plane_of(n, sample, block);
      n->with.slopes(&g, n->dy + at, n->x + at, n->positions, sample * n->positions % PT_LANES, sums, products);
    }
    for (size_t c = 0; c < channels; ++c) {
      const pt_real inverse = 1 / (pt_real)sqrt((double)(n->var[first + c] + n->eps));
      n->dbias[first + c] = pt_lanes_tree(sums + c, n->block);
      n->dscale[first + c] = pt_lanes_tree(products + c, n->block) * inverse;
    }
    set_gradient(n, &g, block);
    for (size_t sample = n->in_one ? n->samples : 0; sample-- > 0;) gradient_plane(n, &g, sample, block);
  }
}

static void gradient_planes(void* arg, size_t begin, size_t end) {
  const norm* n = arg;
  for (size_t plane = begin; plane < end; ++plane) {
    const size_t block = plane % n->blocks;
    pt_block g;
    begin_gradient(n, &g, block);
    set_gradient(n, &g, block);
    gradient_plane(n, &g, plane / n->blocks, block);
  }
}

static pt_status backward(const pt_call* call, pt_activation activation) {
  const pt_tensor* statistics = call->inputs + (activation.op != 0 ? 4 : 3);
  norm n;
  if (!describe(call, &call->inputs[1], &call->inputs[2], activation, &n)) return PT_E_ARGUMENT;
  n.dy = call->inputs[0].data, n.scale = call->inputs[2].data, n.bias = call->inputs[3].data;
  n.mean = statistics[0].data, n.var = statistics[1].data;
  n.y = call->outputs[0].data, n.dscale = call->outputs[1].data, n.dbias = call->outputs[2].data;
  if (work_of(&n) == 0) return PT_OK;
  PT_NAME(pt_parallel)(call, n.blocks, work_of(&n), backward_blocks, &n);
  if (!n.in_one) PT_NAME(pt_parallel)(call, n.samples * n.blocks, work_of(&n), gradient_planes, &n);
  return PT_OK;
}

#define PT_NORM_BLOCKS(name, function, activation)              \
  pt_status PT_NAME(pt_##name##_blocked)(const pt_call* call) { \
    return function(call, activation);                          \
  }

/* None, where the block is no multiple of a vector. */
size_t PT_NAME(pt_norm_blocks_workspace)(const pt_call* call) {
  const pt_tensor* image = &call->outputs[0];
  return image->rank == 5 && loops_for(image->dims[4]).width != 0 ? 0 : PT_NO_KERNEL;
}

#else

#define PT_NORM_BLOCKS(name, function, activation)              \
  pt_status PT_NAME(pt_##name##_blocked)(const pt_call* call) { \
    (void)call;                                                 \
    return PT_E_ARGUMENT;                                       \
  }

size_t PT_NAME(pt_norm_blocks_workspace)(const pt_call* call) {
  (void)call;
  return PT_NO_KERNEL;
}

#endif

PT_NORM_BLOCKS(batch_norm_nchwc, forward, kNone)
PT_NORM_BLOCKS(batch_norm_eval_nchwc, evaluate, kNone)
PT_NORM_BLOCKS(batch_norm_grad_nchwc, backward, kNone)
PT_NORM_BLOCKS(batch_norm_act_nchwc, forward, pt_activation_of(call))
PT_NORM_BLOCKS(batch_norm_act_eval_nchwc, evaluate, pt_activation_of(call))
PT_NORM_BLOCKS(batch_norm_act_grad_nchwc, backward, pt_activation_of(call))
