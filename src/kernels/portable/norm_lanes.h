/* One instance of the loops over a plane of an image in blocks of channels, included by norm_blocks.c for every
 * instruction set.
 *   PT_LANE(name)    a function's name
 *   PT_LANE_TARGET   its target attribute, or nothing
 *   PT_LANE_BYTES    bytes of a vector, whose elements are neighbouring channels
 * A channel's sums go to the eight lanes of lanes.h, element by element as in a plain image: the same bits. */
typedef pt_real PT_LANE(vector) __attribute__((vector_size(PT_LANE_BYTES), aligned(sizeof(pt_real)), may_alias));
typedef pt_bits PT_LANE(mask) __attribute__((vector_size(PT_LANE_BYTES), aligned(sizeof(pt_real)), may_alias));
enum { PT_LANE(width) = PT_LANE_BYTES / sizeof(pt_real) };

#define PT_VECTOR PT_LANE(vector)
#define PT_MASK PT_LANE(mask)
#define PT_LANE_INLINE PT_LANE_TARGET PT_INLINE
#define PT_SELECT(mask, a, b) ((PT_VECTOR)(((mask) & (PT_MASK)(a)) | (~(mask) & (PT_MASK)(b))))

PT_LANE_INLINE PT_VECTOR PT_LANE(every)(pt_real x) {
  return x - (PT_VECTOR){0};
}

/* The vector forms of pt_activate and pt_activation_grad (norm_activation.h). */
PT_LANE_INLINE PT_VECTOR PT_LANE(activate)(int64_t op, const pt_activation* act, PT_VECTOR n) {
  const PT_VECTOR p = PT_LANE(every)(act->p), q = PT_LANE(every)(act->q);
  switch (op) {
    case PT_OP_relu:
      return (PT_VECTOR)((PT_MASK)n & ((n > 0) | (n != n)));
    case PT_OP_leaky_relu:
      return PT_SELECT(n > 0, n, p * n);
    case PT_OP_clip:
      return PT_SELECT(n < p, p, PT_SELECT(n > q, q, n));
    default:
      return n;
  }
}

PT_LANE_INLINE PT_VECTOR PT_LANE(slope)(int64_t op, const pt_activation* act, PT_VECTOR dy, PT_VECTOR n) {
  const PT_VECTOR p = PT_LANE(every)(act->p), q = PT_LANE(every)(act->q);
  switch (op) {
    case PT_OP_relu:
      return (PT_VECTOR)((PT_MASK)dy & (n > 0));
    case PT_OP_leaky_relu:
      return PT_SELECT(n > 0, dy, p * dy);
    case PT_OP_clip:
      return (PT_VECTOR)((PT_MASK)dy & ((n > p) & (n < q)));
    default:
      return dy;
  }
}

PT_LANE_INLINE PT_VECTOR PT_LANE(term)(int what, PT_VECTOR x, PT_VECTOR mean) {
  if (what == PT_SUM_OF_X) return x;
  return (x - mean) * (x - mean);
}

/* Positions [at, at + 8 count) of one vector of channels, the first of which belongs to lane 0. */
PT_LANE_INLINE void PT_LANE(eights)(int what, const pt_block* g, const pt_real* x, size_t count, size_t c,
                                    pt_real* lanes) {
  const PT_VECTOR mean = *(const PT_VECTOR*)(g->mean + c);
  PT_VECTOR sum[PT_LANES];
  for (size_t lane = 0; lane < PT_LANES; ++lane) sum[lane] = *(const PT_VECTOR*)(lanes + lane * g->width);
  for (size_t eight = 0; eight < count; ++eight, x += PT_LANES * g->width)
    for (size_t lane = 0; lane < PT_LANES; ++lane) {
      sum[lane] += PT_LANE(term)(what, *(const PT_VECTOR*)(x + lane * g->width), mean);
    }
  for (size_t lane = 0; lane < PT_LANES; ++lane) *(PT_VECTOR*)(lanes + lane * g->width) = sum[lane];
}

PT_LANE_INLINE void PT_LANE(single)(int what, const pt_block* g, const pt_real* x, size_t c, pt_real* lane) {
  *(PT_VECTOR*)lane += PT_LANE(term)(what, *(const PT_VECTOR*)x, *(const PT_VECTOR*)(g->mean + c));
}

/* A plane of x, its first position of lane `next`, in pieces that stay in the cache for every vector of channels. */
PT_LANE_INLINE void PT_LANE(sum)(int what, const pt_block* g, const pt_real* x, size_t positions, size_t next,
                                 pt_real* lanes) {
  size_t at = 0;
  while (at < positions) {
    const size_t left = positions - at, lane = (next + at) % PT_LANES,
                 eights = lane == 0 ? (left < PT_PIECE ? left : PT_PIECE) / PT_LANES : 0,
                 count = eights > 0 ? eights * PT_LANES : 1;
    const pt_real* from = x + at * g->width;
    for (size_t c = 0; c < g->width; c += PT_LANE(width)) {
      if (eights > 0)
        PT_LANE(eights)(what, g, from + c, eights, c, lanes + c);
      else
        PT_LANE(single)(what, g, from + c, c, lanes + lane * g->width + c);
    }
    at += count;
  }
}

PT_LANE_TARGET static void PT_LANE(sums)(const pt_block* g, const pt_real* x, size_t positions, size_t next,
                                         pt_real* lanes) {
  PT_LANE(sum)(PT_SUM_OF_X, g, x, positions, next, lanes);
}
PT_LANE_TARGET static void PT_LANE(squares)(const pt_block* g, const pt_real* x, size_t positions, size_t next,
                                            pt_real* lanes) {
  PT_LANE(sum)(PT_SUM_OF_SQUARES, g, x, positions, next, lanes);
}

PT_LANE_INLINE void PT_LANE(normalize_by)(int64_t op, const pt_block* g, const pt_real* x, pt_real* y,
                                          size_t positions) {
  for (size_t c = 0; c < g->width; c += PT_LANE(width)) {
    const PT_VECTOR mean = *(const PT_VECTOR*)(g->mean + c), a = *(const PT_VECTOR*)(g->a + c),
                    b = *(const PT_VECTOR*)(g->b + c);
    for (size_t at = c; at < positions * g->width; at += g->width) {
      const PT_VECTOR n = (*(const PT_VECTOR*)(x + at) - mean) * a + b;
      *(PT_VECTOR*)(y + at) = PT_LANE(activate)(op, &g->activation, n);
    }
  }
}

PT_LANE_TARGET static void PT_LANE(normalize)(const pt_block* g, const pt_real* x, pt_real* y, size_t positions) {
#define PT_LOOP(op) PT_LANE(normalize_by)(op, g, x, y, positions)
  PT_BY_ACTIVATION(g->activation, PT_LOOP);
#undef PT_LOOP
}

/* The gradient of the normalized value. */
PT_LANE_INLINE PT_VECTOR PT_LANE(back)(int64_t op, const pt_block* g, PT_VECTOR dy, PT_VECTOR off, PT_VECTOR a,
                                       PT_VECTOR b) {
  return PT_LANE(slope)(op, &g->activation, dy, off * a + b);
}

/* Sums of dN and of dN (X - mean), four lanes at a time: with two sums each they fill the registers of AVX2. */
PT_LANE_INLINE void PT_LANE(slopes_of)(int64_t op, const pt_block* g, const pt_real* dy, const pt_real* x, size_t count,
                                       size_t step, size_t rows, size_t c, pt_real* sums, pt_real* products) {
  const PT_VECTOR mean = *(const PT_VECTOR*)(g->mean + c), a = *(const PT_VECTOR*)(g->a + c),
                  b = *(const PT_VECTOR*)(g->b + c);
  PT_VECTOR sum[PT_LANES / 2], product[PT_LANES / 2];
  for (size_t row = 0; row < rows; ++row) {
    sum[row] = *(const PT_VECTOR*)(sums + row * g->width);
    product[row] = *(const PT_VECTOR*)(products + row * g->width);
  }
  for (size_t turn = 0; turn < count; ++turn, dy += step, x += step)
    for (size_t row = 0; row < rows; ++row) {
      const PT_VECTOR off = *(const PT_VECTOR*)(x + row * g->width) - mean;
      const PT_VECTOR dn = PT_LANE(back)(op, g, *(const PT_VECTOR*)(dy + row * g->width), off, a, b);
      sum[row] += dn;
      product[row] += dn * off;
    }
  for (size_t row = 0; row < rows; ++row) {
    *(PT_VECTOR*)(sums + row * g->width) = sum[row];
    *(PT_VECTOR*)(products + row * g->width) = product[row];
  }
}

PT_LANE_INLINE void PT_LANE(slopes_by)(int64_t op, const pt_block* g, const pt_real* dy, const pt_real* x,
                                       size_t positions, size_t next, pt_real* sums, pt_real* products) {
  const size_t half = PT_LANES / 2 * g->width;
  size_t at = 0;
  while (at < positions) {
    const size_t left = positions - at, lane = (next + at) % PT_LANES,
                 eights = lane == 0 ? (left < PT_PIECE ? left : PT_PIECE) / PT_LANES : 0,
                 count = eights > 0 ? eights * PT_LANES : 1, from = at * g->width;
    for (size_t c = 0; c < g->width; c += PT_LANE(width)) {
      const pt_real *d = dy + from + c, *v = x + from + c;
      if (eights > 0) {
        PT_LANE(slopes_of)(op, g, d, v, eights, 2 * half, PT_LANES / 2, c, sums + c, products + c);
        PT_LANE(slopes_of)
        (op, g, d + half, v + half, eights, 2 * half, PT_LANES / 2, c, sums + half + c, products + half + c);
      } else {
        const size_t to = lane * g->width + c;
        PT_LANE(slopes_of)(op, g, d, v, 1, 0, 1, c, sums + to, products + to);
      }
    }
    at += count;
  }
}

PT_LANE_TARGET static void PT_LANE(slopes)(const pt_block* g, const pt_real* dy, const pt_real* x, size_t positions,
                                           size_t next, pt_real* sums, pt_real* products) {
#define PT_LOOP(op) PT_LANE(slopes_by)(op, g, dy, x, positions, next, sums, products)
  PT_BY_ACTIVATION(g->activation, PT_LOOP);
#undef PT_LOOP
}

PT_LANE_INLINE void PT_LANE(gradient_by)(int64_t op, const pt_block* g, const pt_real* dy, const pt_real* x,
                                         pt_real* dx, size_t positions) {
  for (size_t c = 0; c < g->width; c += PT_LANE(width)) {
    const PT_VECTOR mean = *(const PT_VECTOR*)(g->mean + c), a = *(const PT_VECTOR*)(g->a + c),
                    b = *(const PT_VECTOR*)(g->b + c), da = *(const PT_VECTOR*)(g->da + c),
                    db = *(const PT_VECTOR*)(g->db + c), dc = *(const PT_VECTOR*)(g->dc + c);
    for (size_t at = c; at < positions * g->width; at += g->width) {
      const PT_VECTOR off = *(const PT_VECTOR*)(x + at) - mean;
      const PT_VECTOR dn = PT_LANE(back)(op, g, *(const PT_VECTOR*)(dy + at), off, a, b);
      *(PT_VECTOR*)(dx + at) = da * (dn - db - off * dc);
    }
  }
}

PT_LANE_TARGET static void PT_LANE(gradient)(const pt_block* g, const pt_real* dy, const pt_real* x, pt_real* dx,
                                             size_t positions) {
#define PT_LOOP(op) PT_LANE(gradient_by)(op, g, dy, x, dx, positions)
  PT_BY_ACTIVATION(g->activation, PT_LOOP);
#undef PT_LOOP
}

#undef PT_VECTOR
#undef PT_MASK
#undef PT_LANE_INLINE
#undef PT_SELECT
#undef PT_LANE
#undef PT_LANE_TARGET
#undef PT_LANE_BYTES
