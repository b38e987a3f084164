#include "kernels/portable/kernels.h"
#include "kernels/portable/parallel.h"
#include "kernels/portable/update_group.h"

/* SGD as torch.optim.SGD has it, dampening 0; every output may be written over its input. */
typedef struct update {
  const pt_real *w, *g, *v;
  pt_real *w_out, *v_out;
  pt_real lr, momentum, decay;
  int nesterov;
} update;

static void sgd_elements(void* arg, size_t begin, size_t end) {
  const update* u = arg;
  if (u->v == NULL) {
    PT_IVDEP for (size_t at = begin; at < end; ++at) {
      const pt_real w = u->w[at], g = u->g[at] + u->decay * w;
      u->w_out[at] = w - u->lr * g;
    }
    return;
  }
  PT_IVDEP for (size_t at = begin; at < end; ++at) {
    const pt_real w = u->w[at], g = u->g[at] + u->decay * w;
    const pt_real v = u->momentum * u->v[at] + g;
    u->v_out[at] = v;
    u->w_out[at] = w - u->lr * (u->nesterov ? g + u->momentum * v : v);
  }
}

pt_status PT_NAME(pt_sgd)(const pt_call* call) {
  const pt_group group = pt_group_of(call, 1, call->reals[1]);
  update u = {.w = call->inputs[0].data, .g = call->inputs[1].data, .w_out = call->outputs[0].data};
  u.lr = (pt_real)group.lr;
  u.momentum = (pt_real)call->reals[0];
  u.decay = (pt_real)group.weight_decay;
  u.nesterov = call->ints[0] != 0;
  if (call->input_count > 2) {
    u.v = call->inputs[2].data;
    u.v_out = call->outputs[1].data;
  }
  return pt_by_element(call, 1, sgd_elements, &u);
}
