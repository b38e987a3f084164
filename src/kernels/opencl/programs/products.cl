// Products and convolutions: an element of the result is one chain of additions in ascending k, as the portable kernels have it, then what
// finishes it.

// What conv2d_act and matmul_act put behind a product, without the bias; `at` is where their two integers stand.
static float epilogue(const Parameters* c, float made, global const float* residual, size_t e, uint at) {
  const float p = c->reals[0], q = c->reals[1], x = residual != 0 ? made + residual[e] : made;
  switch (c->ints[at]) {
    case PT_OP_relu:
      return f_relu(x, p, q, 0);
    case PT_OP_leaky_relu:
      return f_leaky_relu(x, p, q, 0);
    case PT_OP_clip:
      return f_clip(x, p, q, 0);
    case PT_OP_sigmoid:
      return f_sigmoid(x, p, q, 0);
    case PT_OP_tanh:
      return f_tanh(x, p, q, 0);
    case PT_OP_gelu:
      return f_gelu_of_erf(x, p, q, 0);
    case PT_OP_hard_sigmoid:
      return f_hard_sigmoid(x, p, q, 0);
    case PT_OP_hard_swish:
      return f_hard_swish(x, p, q, 0);
#ifndef PT_NO_DOUBLE
    case PT_OP_softplus:
      return f_softplus(x, p, q, 0);
#endif
    default:
      return x;
  }
}
// extra[0]: whether there is a bias (input 2); extra[1]: the input that is added behind it, 0: none.
static float finished(const Parameters* c, float sum, global const float* bias, size_t channel, global const float* two,
                      global const float* three, size_t e, uint at) {
  const float made = c->extra[0] != 0 ? sum + bias[channel] : sum;
  return epilogue(c, made, c->extra[1] == 2 ? two : c->extra[1] == 3 ? three : 0, e, at);
}

// ---- matmul ----

static size_t matrix_of(const Parameters* c, uint slot, size_t batch) {
  size_t index = 0, step = 1;
  for (uint back = 3; back <= c->rank[kInputs]; ++back) {
    const size_t whole = c->dims[kInputs][c->rank[kInputs] - back];
    const size_t own = back <= c->rank[slot] ? c->dims[slot][c->rank[slot] - back] : 1;
    if (own != 1) index += batch % whole * step;
    batch /= whole;
    step *= own;
  }
  return index;
}
static size_t from_end(const Parameters* c, uint slot, uint back) {
  return back <= c->rank[slot] ? c->dims[slot][c->rank[slot] - back] : 1;
}

static float matmul_at(const Parameters* c, global const float* a, global const float* b, size_t e) {
  const bool trans_a = c->ints[PT_MATMUL_TRANS_A] != 0, trans_b = c->ints[PT_MATMUL_TRANS_B] != 0;
  const size_t m = from_end(c, kInputs, 2), n = from_end(c, kInputs, 1), depth = from_end(c, 0, trans_a ? 2 : 1);
  const size_t column = e % n, row = e / n % m, batch = e / n / m;
  const size_t a_step = trans_a ? m : 1, b_step = trans_b ? 1 : n;
  a += matrix_of(c, 0, batch) * m * depth + row * (trans_a ? 1 : depth);
  b += matrix_of(c, 1, batch) * depth * n + column * (trans_b ? depth : 1);
  float sum = 0;
  for (size_t k = 0; k < depth; ++k) sum += a[k * a_step] * b[k * b_step];
  return sum;
}
kernel void op_matmul(ARGS) {
  ITEM;
  const float sum = matmul_at(&c, IN(0), IN(1), e);
  OUT(0)[e] = c.extra[0] != 0 ? sum + IN(2)[e % from_end(&c, kInputs, 1)] : sum;
}
kernel void op_matmul_act(ARGS) {
  ITEM;
  const float sum = matmul_at(&c, IN(0), IN(1), e);
  OUT(0)[e] = finished(&c, sum, IN(2), e % from_end(&c, kInputs, 1), IN(2), IN(3), e, PT_MATMUL_ATTRS);
}

// ---- convolutions of images and of volumes: images are volumes of depth 1 ----

typedef struct {
  size_t groups, channels, outputs, samples, in_size, out_size, taps;
  long in[3], out[3], taps_of[3], stride[3], before[3], dilation[3];
} Conv;
static Conv conv_of(const Parameters* c, uint x, uint w, uint y) {
  const uint spatial = c->rank[x] - 2;
  Conv s;
  s.samples = c->dims[x][0];
  s.groups = (size_t)c->ints[4 * spatial];
  s.channels = c->dims[x][1] / s.groups;
  s.outputs = c->dims[y][1] / s.groups;
  s.in_size = s.out_size = s.taps = 1;
  for (uint d = 0; d < 3; ++d) {
    const bool has = d + spatial >= 3;
    const uint own = has ? d + spatial - 3 : 0;
    s.in[d] = has ? c->dims[x][2 + own] : 1;
    s.out[d] = has ? c->dims[y][2 + own] : 1;
    s.taps_of[d] = has ? c->dims[w][2 + own] : 1;
    s.stride[d] = has ? c->ints[own] : 1;
    s.before[d] = has ? c->ints[spatial + own] : 0;
    s.dilation[d] = has ? c->ints[3 * spatial + own] : 1;
    s.in_size *= s.in[d];
    s.out_size *= s.out[d];
    s.taps *= s.taps_of[d];
  }
  return s;
}
// Splits a number into three, the last of which changes fastest.
static void split3(size_t number, const long* extents, long* at) {
  at[2] = (long)(number % extents[2]);
  at[1] = (long)(number / extents[2] % extents[1]);
  at[0] = (long)(number / extents[2] / extents[1]);
}
// Where the input position lies that an output position reads through a tap; -1: in the padding.
static long input_at(const Conv* s, const long* out, const long* tap) {
  long at = 0;
  for (uint d = 0; d < 3; ++d) {
    const long here = out[d] * s->stride[d] - s->before[d] + tap[d] * s->dilation[d];
    if (here < 0 || here >= s->in[d]) return -1;
    at = at * s->in[d] + here;
  }
  return at;
}
// Where the output position lies that reads an input position through a tap; -1: none.
static long output_at(const Conv* s, const long* in, const long* tap) {
  long at = 0;
  for (uint d = 0; d < 3; ++d) {
    const long reach = in[d] + s->before[d] - tap[d] * s->dilation[d];
    if (reach < 0 || reach % s->stride[d] != 0 || reach / s->stride[d] >= s->out[d]) return -1;
    at = at * s->out[d] + reach / s->stride[d];
  }
  return at;
}

// The element e of Y; `output` becomes its channel.
static float conv_at(const Parameters* c, global const float* x, global const float* weight, size_t e, size_t* output) {
  const Conv s = conv_of(c, 0, 1, kInputs);
  const size_t channels = s.groups * s.outputs, batch = e / s.out_size / channels;
  long out[3], tap[3];
  *output = e / s.out_size % channels;
  split3(e % s.out_size, s.out, out);
  x += (batch * s.groups + *output / s.outputs) * s.channels * s.in_size;
  weight += *output * s.channels * s.taps;
  float sum = 0;
  for (size_t channel = 0; channel < s.channels; ++channel)
    for (size_t k = 0; k < s.taps; ++k) {
      split3(k, s.taps_of, tap);
      const long at = input_at(&s, out, tap);
      if (at >= 0) sum += weight[channel * s.taps + k] * x[channel * s.in_size + at];
    }
  return sum;
}
kernel void op_conv(ARGS) {
  ITEM;
  size_t output;
  const float sum = conv_at(&c, IN(0), IN(1), e, &output);
  OUT(0)[e] = c.extra[0] != 0 ? sum + IN(2)[output] : sum;
}
kernel void op_conv_act(ARGS) {
  ITEM;
  size_t output;
  const float sum = conv_at(&c, IN(0), IN(1), e, &output);
  OUT(0)[e] = finished(&c, sum, IN(2), output, IN(2), IN(3), e, PT_CONV_ATTRS);
}

static float conv_dx_at(const Parameters* c, global const float* dy, global const float* weight, size_t e) {
  const Conv s = conv_of(c, kInputs, 1, 0);
  const size_t channels = s.groups * s.channels, channel = e / s.in_size % channels, batch = e / s.in_size / channels;
  const size_t group = channel / s.channels;
  long in[3], tap[3];
  split3(e % s.in_size, s.in, in);
  dy += (batch * s.groups + group) * s.outputs * s.out_size;
  weight += (group * s.outputs * s.channels + channel % s.channels) * s.taps;
  float sum = 0;
  for (size_t output = 0; output < s.outputs; ++output)
    for (size_t k = 0; k < s.taps; ++k) {
      split3(k, s.taps_of, tap);
      const long at = output_at(&s, in, tap);
      if (at >= 0) sum += weight[output * s.channels * s.taps + k] * dy[output * s.out_size + at];
    }
  return sum;
}
kernel void op_conv_dx(ARGS) {
  ITEM;
  OUT(0)[e] = conv_dx_at(&c, IN(0), IN(1), e);
}
#define THROUGH(name)    \
  case PT_OP_##name:     \
    made = f_##name(dy, r, c.reals[0], c.reals[1], c.reals[2]); \
    break;
kernel void op_conv_dz(ARGS) {
  ITEM;
  const float dy = conv_dx_at(&c, IN(0), IN(1), e), r = IN(2)[e];
  float made = dy;
  switch (c.ints[PT_CONV_DZ_GRADIENT]) {
    THROUGH(relu_grad)
    THROUGH(leaky_relu_grad)
    THROUGH(sigmoid_grad)
    THROUGH(tanh_grad)
    THROUGH(erf_grad)
    THROUGH(sqrt_grad)
    THROUGH(softplus_grad)
    THROUGH(clip_grad)
    THROUGH(hard_sigmoid_grad)
    THROUGH(hard_swish_grad)
#ifndef PT_NO_DOUBLE
    THROUGH(elu_grad)
#endif
    case PT_OP_gelu_grad:
      made = c.ints[PT_CONV_DZ_FLAG] != 0 ? f_gelu_of_tanh_grad(dy, r, 0, 0, 0) : f_gelu_of_erf_grad(dy, r, 0, 0, 0);
  }
  OUT(0)[e] = made;
}

kernel void op_conv_dw(ARGS) {
  ITEM;
  const Conv s = conv_of(&c, 0, kInputs, 1);
  const size_t output = e / s.taps / s.channels, channel = e / s.taps % s.channels, group = output / s.outputs;
  long out[3], tap[3];
  split3(e % s.taps, s.taps_of, tap);
  float sum = 0;
  for (size_t sample = 0; sample < s.samples; ++sample) {
    global const float* x = IN(0) + ((sample * s.groups + group) * s.channels + channel) * s.in_size;
    global const float* dy = IN(1) + (sample * s.groups * s.outputs + output) * s.out_size;
    for (size_t position = 0; position < s.out_size; ++position) {
      split3(position, s.out, out);
      const long at = input_at(&s, out, tap);
      if (at >= 0) sum += dy[position] * x[at];
    }
  }
  OUT(0)[e] = sum;
}
