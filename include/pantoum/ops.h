/* The operators of Pantoum: one list for the compiler's graph, the kernel table and the binary plan.
 *
 * C99 and C++. An operator is written  PT_OPERATOR(name, id): ids are stable, they stand in binary plans.
 * Below every entry: inputs -> outputs; [int attributes]; {real attributes}. "?" marks an optional input (absent = the
 * op has fewer inputs). Shapes are row-major; images are NCHW, volumes
 * NCDHW. Attributes are positional, in the order of the enums
 * below. Example:
 *
 *   const char* op_name(int op) {
 *     switch (op) {
 *   #define NAME(name, id) \
 *     case id:             \
 *       return #name;
 *       PT_OPERATORS(NAME)
 *   #undef NAME
 *     }
 *     return "?";
 *   }
 */
#ifndef PANTOUM_OPS_H
#define PANTOUM_OPS_H

#define PT_OPERATORS(PT_OPERATOR)                                                                                        \
  /* products */                                                                                                         \
  PT_OPERATOR(matmul, 1)     /* A[..,M,K] B[..,K,N] bias[N]? -> Y[..,M,N]; [trans_a, trans_b]; batch dims broadcast */   \
  PT_OPERATOR(conv2d, 2)     /* X[N,C,H,W] W[O,C/g,R,S] bias[O]? -> Y[N,O,P,Q]; [PT_CONV_*] */                           \
  PT_OPERATOR(conv2d_dx, 3)  /* dY W -> dX; [PT_CONV_*] */                                                               \
  PT_OPERATOR(conv2d_dw, 4)  /* X dY -> dW; [PT_CONV_*] */                                                               \
  PT_OPERATOR(conv2d_dz, 5)  /* dY W R -> dZ = gradient(conv2d_dx(dY, W), R); [PT_CONV_*, PT_CONV_DZ_*]; */              \
                             /* {three reals: the gradient's, then zeros} */                                             \
  PT_OPERATOR(conv3d, 6)     /* X[N,C,D,H,W] W[O,C/g,K,R,S] bias[O]? -> Y[N,O,V,P,Q]; [PT_CONV3D_*] */                   \
  PT_OPERATOR(conv3d_dx, 7)  /* dY W -> dX; [PT_CONV3D_*] */                                                             \
  PT_OPERATOR(conv3d_dw, 8)  /* X dY -> dW; [PT_CONV3D_*] */                                                             \
  PT_OPERATOR(conv2d_act, 9) /* X W bias[O]? R? -> Y = activation(conv2d(X, W, bias) + R); [PT_CONV_*, */                \
                             /* PT_EPILOGUE_*]; {two reals: the activation's, then zeros} */                             \
  PT_OPERATOR(matmul_act, 146) /* A B bias[N]? R? -> Y = activation(matmul(A, B, bias) + R); [trans_a, */                \
                               /* trans_b, PT_EPILOGUE_*]; {the same} */                                                 \
  PT_OPERATOR(attention, 138) /* Q[..,M,D] K[..,N,D] V[..,N,E] masks.. -> Y[..,M,E] = softmax(steps(Q K')) V, a */       \
                              /* block of rows at a time; 3 dims or more; [PT_ATTENTION_*]; {a real per step} */         \
  PT_OPERATOR(attention_grad, 139) /* dY Q K V masks.. -> dQ dK dV; [the same]; {the same} */                            \
  /* element by element, two inputs, broadcast as in numpy; add to minimum: floating point, or one type of integer, */   \
  /* which wraps; x / 0 is 0 there, and division goes towards zero */                                                    \
  PT_OPERATOR(add, 10)                                                                                                   \
  PT_OPERATOR(sub, 11)                                                                                                   \
  PT_OPERATOR(mul, 12)                                                                                                   \
  PT_OPERATOR(div, 13)                                                                                                   \
  PT_OPERATOR(pow, 14)                                                                                                   \
  PT_OPERATOR(pow_grad, 15) /* dY A B -> dA = dY * B * A^(B-1), in the broadcast shape of dY */                          \
  PT_OPERATOR(maximum, 16)                                                                                               \
  PT_OPERATOR(minimum, 17)                                                                                               \
  PT_OPERATOR(compare, 18)       /* A B -> bool; [PT_COMPARE_*]; any one dtype, broadcast */                             \
  PT_OPERATOR(where, 19)         /* C(bool) A B -> C ? A : B, broadcast; A and B of any one dtype */                     \
  PT_OPERATOR(mod, 144)          /* A B -> rest of A / B, integers alone; [1: with the sign of A, 0: of B] */            \
  PT_OPERATOR(bitwise, 145)      /* A B -> Y, integers or bools; [PT_BITWISE_*] */                                       \
  PT_OPERATOR(maximum_grad, 133) /* dY A B -> dA = A > B ? dY : A == B ? dY / 2 : 0, in dY's shape */                    \
  /* element by element, one input */                                                                                    \
  PT_OPERATOR(relu, 20)                                                                                                  \
  PT_OPERATOR(leaky_relu, 21) /* {alpha} */                                                                              \
  PT_OPERATOR(sigmoid, 22)                                                                                               \
  PT_OPERATOR(tanh, 23)                                                                                                  \
  PT_OPERATOR(gelu, 24) /* [approximate: 0 erf, 1 tanh] */                                                               \
  PT_OPERATOR(erf, 25)                                                                                                   \
  PT_OPERATOR(sqrt, 26)                                                                                                  \
  PT_OPERATOR(exp, 27)                                                                                                   \
  PT_OPERATOR(log, 28)                                                                                                   \
  PT_OPERATOR(neg, 29)                                                                                                   \
  PT_OPERATOR(scale, 30) /* X -> a X + b; {a, b} */                                                                      \
  PT_OPERATOR(cast, 31)  /* to the output's dtype; float to integer truncates, and saturates; integers wrap */           \
  PT_OPERATOR(abs, 32)                                                                                                   \
  PT_OPERATOR(sign, 33)  /* -1, 0 or 1; no gradient flows */                                                             \
  PT_OPERATOR(round, 34) /* [0 down, 1 up, 2 to the nearest, halves to even]; no gradient flows */                       \
  PT_OPERATOR(sin, 35)                                                                                                   \
  PT_OPERATOR(cos, 36)                                                                                                   \
  PT_OPERATOR(elu, 37)           /* X -> X > 0 ? a X : b (e^(c X) - 1); {a, b, c} */                                     \
  PT_OPERATOR(softplus, 38)      /* X -> log(1 + e^X) */                                                                 \
  PT_OPERATOR(clip, 39)          /* X -> min(max(X, low), high); {low, high} */                                          \
  PT_OPERATOR(hard_sigmoid, 140) /* X -> min(max(alpha X + beta, 0), 1); {alpha, beta} */                                \
  PT_OPERATOR(hard_swish, 141)   /* X -> X min(max(X + 3, 0), 6) / 6 */                                                  \
  PT_OPERATOR(arc, 135)          /* X -> the inverse function of X; [PT_ARC_*] */                                        \
  PT_OPERATOR(round_to, 137)     /* X -> X as a narrower type holds it, halves to even; [PT_ROUND_TO_*] */               \
  /* their gradients */                                                                                                  \
  PT_OPERATOR(relu_grad, 40)          /* dY R -> dX = R > 0 ? dY : 0; R is X or Y */                                     \
  PT_OPERATOR(leaky_relu_grad, 41)    /* dY X -> dX = X > 0 ? dY : alpha dY; {alpha} */                                  \
  PT_OPERATOR(sigmoid_grad, 42)       /* dY Y -> dX */                                                                   \
  PT_OPERATOR(tanh_grad, 43)          /* dY Y -> dX */                                                                   \
  PT_OPERATOR(gelu_grad, 44)          /* dY X -> dX; [approximate] */                                                    \
  PT_OPERATOR(erf_grad, 45)           /* dY X -> dX */                                                                   \
  PT_OPERATOR(sqrt_grad, 46)          /* dY Y -> dX = dY / (2 Y) */                                                      \
  PT_OPERATOR(elu_grad, 47)           /* dY X -> dX; {a, b, c} */                                                        \
  PT_OPERATOR(softplus_grad, 48)      /* dY X -> dX */                                                                   \
  PT_OPERATOR(clip_grad, 49)          /* dY Y -> dX = low < Y && Y < high ? dY : 0; {low, high} */                       \
  PT_OPERATOR(hard_sigmoid_grad, 142) /* dY X -> dX = low < X && X < high ? alpha dY : 0; {alpha, low, high} */          \
  PT_OPERATOR(hard_swish_grad, 143)   /* dY X -> dX = X <= -3 ? 0 : X < 3 ? dY (X / 3 + 1 / 2) : dY */                   \
  PT_OPERATOR(arc_grad, 136)          /* dY X -> dX; [PT_ARC_*] */                                                       \
  /* rows */                                                                                                             \
  PT_OPERATOR(softmax, 50)          /* X -> Y; [axis >= 0] */                                                            \
  PT_OPERATOR(softmax_grad, 51)     /* dY Y -> dX; [axis] */                                                             \
  PT_OPERATOR(log_softmax, 52)      /* X -> Y; [axis] */                                                                 \
  PT_OPERATOR(log_softmax_grad, 53) /* dY Y -> dX; [axis] */                                                             \
  /* normalizations; var is the biased variance */                                                                       \
  PT_OPERATOR(batch_norm, 60)       /* X[N,C,..] scale[C] bias[C] -> Y mean[C] var[C]; {eps} */                          \
  PT_OPERATOR(batch_norm_grad, 61)  /* dY X scale mean var -> dX dscale dbias; {eps} */                                  \
  PT_OPERATOR(batch_norm_stats, 62) /* rmean rvar mean var -> rmean' rvar'; [n per channel]; {weight of the OLD} */      \
  PT_OPERATOR(batch_norm_eval, 63)  /* X scale bias rmean rvar -> Y; {eps} */                                            \
  /* and the activation behind it, one of PT_NORM_ACTIVATIONS; [its op]; {eps, two reals: the */                         \
  /* activation's, then zeros} */                                                                                        \
  PT_OPERATOR(batch_norm_act, 66)      /* X scale bias -> Y = activation(batch_norm(X)) mean var */                      \
  PT_OPERATOR(batch_norm_act_grad, 67) /* dY X scale bias mean var -> dX dscale dbias; its slope is told from X */       \
  PT_OPERATOR(batch_norm_act_eval, 68) /* X scale bias mean var -> Y, the bits of batch_norm_act */                      \
  PT_OPERATOR(layer_norm, 64)          /* X scale bias -> Y mean invstd (one per row); [axis >= 0]; {eps} */             \
  PT_OPERATOR(layer_norm_grad, 65)     /* dY X scale mean invstd -> dX dscale dbias; [axis] */                           \
  /* pooling */                                                                                                          \
  PT_OPERATOR(max_pool, 70)      /* X[N,C,H,W] -> Y; [PT_POOL_*] */                                                      \
  PT_OPERATOR(max_pool_grad, 71) /* dY X -> dX: to the first maximum of each window; [PT_POOL_*] */                      \
  PT_OPERATOR(avg_pool, 72)      /* X -> Y; [PT_POOL_*] */                                                               \
  PT_OPERATOR(avg_pool_grad, 73) /* dY -> dX; [PT_POOL_*] */                                                             \
  /* resizing of images; source coordinates are computed in double */                                                    \
  PT_OPERATOR(resize, 76)      /* X[N,C,H,W] -> Y[N,C,P,Q]; [PT_RESIZE_*]; {scale of H, scale of W} */                   \
  PT_OPERATOR(resize_grad, 77) /* dY -> dX; [PT_RESIZE_*]; {scale of H, scale of W} */                                   \
  /* reductions: the output holds the kept dimensions, in order */                                                       \
  PT_OPERATOR(reduce_sum, 80)      /* X -> Y; [mask: bit d set = dimension d is summed] */                               \
  PT_OPERATOR(reduce_mean, 81)     /* X -> Y; [mask] */                                                                  \
  PT_OPERATOR(expand, 82)          /* X -> Y = a * broadcast(X) as in numpy, X padded with 1s on the left; {a} */        \
  PT_OPERATOR(reduce_max, 84)      /* X -> Y; [mask] */                                                                  \
  PT_OPERATOR(reduce_max_grad, 85) /* dY X Y -> dX: shared evenly by what equals the maximum; [mask] */                  \
  PT_OPERATOR(arg_max, 86)         /* X -> i64: where the first maximum along the axis is; [axis] */                     \
  PT_OPERATOR(cumsum, 87)          /* X -> Y: sums along the axis; [axis, without the element itself, from the end] */   \
  PT_OPERATOR(top_k, 88)           /* X -> i64: where the k most along the axis are, in order, of equals the first */    \
                                   /* first; NaN is the largest; [axis, k, largest] */                                   \
  /* data movement; any dtype */                                                                                         \
  PT_OPERATOR(transpose, 90)   /* X -> Y; [perm: output dimension d is input dimension perm[d]] */                       \
  PT_OPERATOR(concat, 91)      /* X.. -> Y; [axis] */                                                                    \
  PT_OPERATOR(split, 92)       /* X -> Y..; [axis]; the extents are the outputs' */                                      \
  PT_OPERATOR(slice, 93)       /* X -> Y; [start, step of every dimension]; steps may be negative */                     \
  PT_OPERATOR(slice_grad, 94)  /* dY -> dX, zero elsewhere; [start, step of every dimension] */                          \
  PT_OPERATOR(gather, 95)      /* X I -> Y; [axis]; negative indices count from the end; out of range: PT_E_DATA */      \
  PT_OPERATOR(gather_grad, 96) /* dY I -> dX (sums in ascending position of I); [axis] */                                \
  PT_OPERATOR(gather_elements, 97)      /* X I -> Y of I's shape: X's elements at I along the axis; [axis] */            \
  PT_OPERATOR(gather_elements_grad, 98) /* dY I -> dX (sums in ascending position of I); [axis] */                       \
  /* U goes to X's elements at I along the axis, in ascending position of I. I has U's shape, or is a vector along */    \
  /* the axis: then whole slices go */                                                                                   \
  PT_OPERATOR(scatter_elements, 99)       /* X I U -> Y; [axis, PT_SCATTER_*] */                                         \
  PT_OPERATOR(scatter_elements_grad, 155) /* dY I -> dX dU of PT_SCATTER_LAST: to what is left of X, to the last */      \
                                          /* update of each element; [axis] */                                           \
  PT_OPERATOR(scatter_reduce_grad, 156) /* dY I X U Y -> dX dU of PT_SCATTER_MUL, _MAX and _MIN, which what equals */    \
                                        /* Y shares evenly; [axis, PT_SCATTER_*] */                                      \
  /* randomness: Philox4x32-10, key = seed, counter = (element / 4, op key, step): recomputed alike */                   \
  PT_OPERATOR(dropout, 100) /* X -> X * mask / (1 - p); [op key]; {p}; its own gradient, applied to dY */                \
  PT_OPERATOR(random, 101)  /* -> Y; [op key, PT_RANDOM_*]; uniform in [a, b), or of mean a and deviation b; {a, b} */   \
  /* losses by element, as torch.nn has them: the mean over all elements */                                              \
  PT_OPERATOR(l1, 102)                   /* pred target -> loss[] */                                                     \
  PT_OPERATOR(l1_grad, 103)              /* pred target -> dpred */                                                      \
  PT_OPERATOR(smooth_l1, 104)            /* pred target -> loss[]; {beta} */                                             \
  PT_OPERATOR(smooth_l1_grad, 105)       /* pred target -> dpred; {beta} */                                              \
  PT_OPERATOR(bce_with_logits, 106)      /* logits target -> loss[]; no gradient of the target */                        \
  PT_OPERATOR(bce_with_logits_grad, 107) /* logits target -> dlogits */                                                  \
  PT_OPERATOR(kl_div, 115)               /* log-probabilities target -> loss[]; {divisor, 0: all elements} */            \
  PT_OPERATOR(kl_div_grad, 116)          /* log-probabilities target -> dlog-probabilities; {divisor} */                 \
  PT_OPERATOR(mse, 112)                  /* pred target -> loss[] */                                                     \
  PT_OPERATOR(mse_grad, 113)             /* pred target -> dpred */                                                      \
  /* losses by class, axis 1; labels below 0 and those equal to `ignore` are ignored: means are over the others */       \
  PT_OPERATOR(nll, 108)                     /* log-probabilities[N,C,..] labels[N,..] -> loss[]; [ignore] */             \
  PT_OPERATOR(nll_grad, 109)                /* log-probabilities labels -> dlog-probabilities; [ignore] */               \
  PT_OPERATOR(cross_entropy, 110)           /* logits[N,C,..] labels[N,..] -> loss[]; [ignore]; {smoothing} */           \
  PT_OPERATOR(cross_entropy_grad, 111)      /* logits labels -> dlogits; [ignore]; {smoothing} */                        \
  PT_OPERATOR(soft_cross_entropy, 117)      /* logits[N,C,..] probabilities[N,C,..] -> loss[]; {smoothing} */            \
  PT_OPERATOR(soft_cross_entropy_grad, 118) /* logits probabilities -> dlogits; {smoothing} */                           \
  PT_OPERATOR(count_correct, 114)           /* logits[N,C,..] labels -> [2] f32: labels among the k highest, labels */   \
                                            /* counted; [ignore, k]; of equal ones the first class is higher */          \
  /* updates; lr and step are runtime scalars. Behind its integers one may have one more: the parameter's group, */      \
  /* whose learning rate and weight decay are runtime scalars (pt_scalars) */                                            \
  PT_OPERATOR(sgd, 120) /* w g v? -> w' v'?; [nesterov]; {momentum, weight_decay} (as torch.optim.SGD, dampening 0) */   \
  PT_OPERATOR(adam, 121)          /* w g m v max? -> w' m' v' max'?; {beta1, beta2, eps, weight_decay} (as */            \
                                  /* torch.optim.Adam; with max, as its amsgrad) */                                      \
  PT_OPERATOR(sgd_rows, 130)      /* w I dY -> w': plain sgd by gather_grad(dY, I) along axis 0, never made */           \
  PT_OPERATOR(adagrad_rows, 158)  /* w I dY s -> w' s': adagrad by the same; {lr_decay, eps, what s lacks?} */           \
  PT_OPERATOR(adam_rows, 159)     /* w I dY m v -> w' m' v' in the rows that I names alone; {beta1, beta2, eps} (as */   \
                                  /* torch.optim.SparseAdam) */                                                          \
  PT_OPERATOR(matmul_update, 131) /* A B w states.. -> w' states'..: the update by the gradient A B, which is */         \
                                  /* never made; [trans_a, trans_b, update's op, its int] {its reals, then zeros} */     \
  PT_OPERATOR(conv2d_dw_update, 132) /* X dY w states.. -> w' states'..: by conv2d_dw(X, dY); [PT_CONV_*, the same] */   \
  PT_OPERATOR(adamw, 122)            /* as adam, the weight decay decoupled (as torch.optim.AdamW) */                    \
  PT_OPERATOR(rmsprop, 123)          /* w g s avg? v? -> w' s' avg'? v'?; [centered: avg is there]; */                   \
                                     /* {alpha, eps, momentum, weight_decay} (as torch.optim.RMSprop) */                 \
  PT_OPERATOR(adagrad, 124)          /* w g s -> w' s'; {lr_decay, eps, weight_decay, what s lacks?} (as Adagrad) */     \
  /* gradients on their way to the update (125 was clip_value, which is clip) */                                         \
  PT_OPERATOR(norm, 126)        /* X.. -> [] the 2-norm of all elements of all X */                                      \
  PT_OPERATOR(clip_norm, 127)   /* G norm[] -> G * min(1, limit / (norm + 1e-6)); {limit} */                             \
  PT_OPERATOR(accumulate, 128)  /* sum G -> sum' = sum + G */                                                            \
  PT_OPERATOR(assign, 157)      /* X U -> Y = U, any dtype: what becomes of a value that outlives the step */            \
  PT_OPERATOR(assign_slice, 147) /* X U -> Y = X but for a slice, which is U; any dtype; [as slice] */                   \
  PT_OPERATOR(accumulated, 129) /* sum G -> mean = (sum + G) * part, sum' = 0; {part} */                                 \
  /* one time step of a recurrent network, row by row of the batch: Z = X W' + b, P = H R' + b; the ints say which */    \
  /* block of H columns each gate has, in Z, P, G and the gradients of Z and P */                                        \
  PT_OPERATOR(lstm_cell, 160)      /* Z[N,4H] P[N,4H] C[N,H] -> H C' G[N,4H]: the gates, activated; [i, o, f, c] */      \
  PT_OPERATOR(lstm_cell_grad, 161) /* dH G C C' dC'? -> d(Z + P) dC; [i, o, f, c] */                                     \
  PT_OPERATOR(gru_cell, 162)       /* Z[N,3H] P[N,3H] H[N,H] -> H' G[N,3H] V[N,H] (P of gate h); [z, r, h] */            \
  PT_OPERATOR(gru_cell_grad, 163)  /* dH' G V H -> dZ dP dH (without what flows through P); [z, r, h] */                 \
  /* the time steps of a recurrent network as one op, from the first to the last, or backward with [.., reverse]: Z, G */ \
  /* and V as the cells have them, P = H R' + b; H0, C0 are before the first step taken, HT, CT after the last one */     \
  PT_OPERATOR(lstm_sequence, 169)      /* Z[T,N,4H] R[4H,H] H0[N,H] C0[N,H] -> H[T,N,H] C[T,N,H] G[T,N,4H] HT CT; */    \
                                       /* [i, o, f, c, reverse] */                                                      \
  PT_OPERATOR(lstm_sequence_grad, 170) /* G C C0 R dHT dCT dH? -> dZ dH0 dC0; [i, o, f, c, reverse] */                  \
  PT_OPERATOR(gru_sequence, 171)       /* Z[T,N,3H] R[3H,H] H0[N,H] b[3H]? -> H[T,N,H] G[T,N,3H] V[T,N,H] HT; */        \
                                       /* [z, r, h, reverse] */                                                         \
  PT_OPERATOR(gru_sequence_grad, 172)  /* G V H H0 R dHT dH? -> dZ dP[T,N,3H] dH0; [z, r, h, reverse] */                \
  /* what backward needs of an activation, in less; bit e % 8 of byte e / 8 is element e's */                            \
  PT_OPERATOR(sign_bits, 164)            /* X -> B u8[n / 8, rounded up]: X > 0 */                                       \
  PT_OPERATOR(relu_grad_bits, 165)       /* dY B -> dX, as relu_grad */                                                  \
  PT_OPERATOR(leaky_relu_grad_bits, 166) /* dY B -> dX, as leaky_relu_grad; {alpha} */                                   \
  PT_OPERATOR(max_pool_taps, 167)      /* X[N,C,H,W] or [N,C,H,W,c] -> T u8: tap of each window's first maximum;     \
                                            [PT_POOL_*], fewer than 256 taps */   \
  PT_OPERATOR(max_pool_grad_taps, 168) /* dY T -> dX, as max_pool_grad; [PT_POOL_*] */                                   \
  /* operands in blocks of channels (pt_layout, src/kernels/portable/layout.h); otherwise as the op without the suffix \
   */ \
  PT_OPERATOR(reorder, 180)               /* X -> Y in another layout; [from, to] (pt_layout); padding is zero */        \
  PT_OPERATOR(conv2d_nchwc, 181)          /* X (blocked or plain) W bias? -> Y; [PT_CONV_*, PT_CONV_NCHWC_*] */          \
  PT_OPERATOR(conv2d_dx_nchwc, 182)       /* dY W -> dX; [the same] */                                                   \
  PT_OPERATOR(conv2d_dw_nchwc, 183)       /* X (blocked or plain) dY -> dW; [the same] */                                \
  PT_OPERATOR(batch_norm_nchwc, 184)      /* X scale bias -> Y mean var; {eps} */                                        \
  PT_OPERATOR(batch_norm_grad_nchwc, 185) /* dY X scale mean var -> dX dscale dbias; {eps} */                            \
  PT_OPERATOR(batch_norm_eval_nchwc, 186) /* X scale bias rmean rvar -> Y; {eps} */                                      \
  PT_OPERATOR(max_pool_nchwc, 187)        /* X -> Y; [PT_POOL_*] */                                                      \
  PT_OPERATOR(max_pool_grad_nchwc, 188)   /* dY X -> dX; [PT_POOL_*] */                                                  \
  PT_OPERATOR(avg_pool_nchwc, 189)        /* X -> Y; [PT_POOL_*] */                                                      \
  PT_OPERATOR(avg_pool_grad_nchwc, 190)   /* dY -> dX; [PT_POOL_*] */                                                    \
  PT_OPERATOR(batch_norm_act_nchwc, 191)                                                                                 \
  PT_OPERATOR(batch_norm_act_grad_nchwc, 192)                                                                            \
  PT_OPERATOR(batch_norm_act_eval_nchwc, 193)                                                                            \
  PT_OPERATOR(conv2d_act_nchwc, 194) /* X (blocked or plain) W bias? R (as Y)? -> Y; */                                  \
                                     /* [PT_CONV_*, PT_CONV_NCHWC_*, PT_EPILOGUE_*]; the same reals */                   \
  /* a view: the same bytes under another shape; vanishes before the cost graph, has no kernel; [1: no gradient */       \
  /* flows]? */                                                                                                          \
  PT_OPERATOR(alias, 200)                                                                                                \
  /* rules and kernels from outside the project (pantoum/custom_operator.hpp); operands of any dtype; the host alone */  \
  PT_OPERATOR(custom, 250)        /* X.. -> Y..; [key of the operator, its own..]; {its own..} */                        \
  PT_OPERATOR(custom_update, 251) /* w g states.. -> w' states'..; the same attributes */

typedef enum pt_op {
#define PT_OPERATOR(name, id) PT_OP_##name = (id),
  PT_OPERATORS(PT_OPERATOR)
#undef PT_OPERATOR
} pt_op;

/* dY R -> dX, element by element, with at most one integer and three reals: what conv2d_dz takes its dX through. */
#define PT_CONV_GRADIENTS(PT_GRADIENT) \
  PT_GRADIENT(relu_grad)               \
  PT_GRADIENT(leaky_relu_grad)         \
  PT_GRADIENT(sigmoid_grad)            \
  PT_GRADIENT(tanh_grad)               \
  PT_GRADIENT(gelu_grad)               \
  PT_GRADIENT(erf_grad)                \
  PT_GRADIENT(sqrt_grad)               \
  PT_GRADIENT(elu_grad)                \
  PT_GRADIENT(softplus_grad)           \
  PT_GRADIENT(clip_grad)               \
  PT_GRADIENT(hard_sigmoid_grad)       \
  PT_GRADIENT(hard_swish_grad)

/* What batch_norm_act finishes its result with: cheap, and told again from what was normalized. */
#define PT_NORM_ACTIVATIONS(PT_ACTIVATION) \
  PT_ACTIVATION(relu)                      \
  PT_ACTIVATION(leaky_relu)                \
  PT_ACTIVATION(clip)

/* X -> Y, element by element, with at most two reals: what conv2d_act and matmul_act finish their results with. */
#define PT_EPILOGUES(PT_ACTIVATION) \
  PT_ACTIVATION(relu)               \
  PT_ACTIVATION(leaky_relu)         \
  PT_ACTIVATION(clip)               \
  PT_ACTIVATION(sigmoid)            \
  PT_ACTIVATION(tanh)               \
  PT_ACTIVATION(gelu)               \
  PT_ACTIVATION(softplus)           \
  PT_ACTIVATION(hard_sigmoid)       \
  PT_ACTIVATION(hard_swish)

/* w g states.. -> w' states'..: the updates that matmul_update and conv2d_dw_update follow a product by. */
#define PT_PRODUCT_UPDATES(PT_UPDATE) \
  PT_UPDATE(sgd)                      \
  PT_UPDATE(adam)                     \
  PT_UPDATE(adamw)                    \
  PT_UPDATE(rmsprop)                  \
  PT_UPDATE(adagrad)

/* clang-format off */
enum { PT_MATMUL_TRANS_A, PT_MATMUL_TRANS_B, PT_MATMUL_ATTRS };

enum { /* conv2d, conv2d_dx, conv2d_dw */
  PT_CONV_STRIDE_H, PT_CONV_STRIDE_W,
  PT_CONV_PAD_TOP, PT_CONV_PAD_LEFT, PT_CONV_PAD_BOTTOM, PT_CONV_PAD_RIGHT,
  PT_CONV_DILATION_H, PT_CONV_DILATION_W,
  PT_CONV_GROUPS,
  PT_CONV_ATTRS,
  /* the _nchwc forms have these too, because padding hides them in the operands' extents */
  PT_CONV_NCHWC_CHANNELS = PT_CONV_ATTRS, /* of X, in all groups */
  PT_CONV_NCHWC_OUTPUTS,                  /* of Y, in all groups */
  PT_CONV_NCHWC_WEIGHT,                   /* pt_layout of W */
  PT_CONV_NCHWC_ATTRS,
  /* conv2d_dz has these too */
  PT_CONV_DZ_GRADIENT = PT_CONV_ATTRS, /* the op of PT_CONV_GRADIENTS that dX goes through */
  PT_CONV_DZ_FLAG,                     /* its integer, 0 where it has none */
  PT_CONV_DZ_ATTRS
};

enum { /* attention, attention_grad */
  PT_ATTENTION_TRANS_Q, /* 1: Q lies as [..,D,M] */
  PT_ATTENTION_TRANS_K, /* 1: K lies as [..,D,N] */
  PT_ATTENTION_TRANS_V, /* 1: V lies as [..,E,N] */
  PT_ATTENTION_STEP,    /* PT_STEP_*: what scores go through before the softmax, in order */
  PT_ATTENTION_STEPS = 3,
  PT_ATTENTION_ATTRS = PT_ATTENTION_STEP + PT_ATTENTION_STEPS,
  PT_ATTENTION_REALS = PT_ATTENTION_STEPS,
  PT_ATTENTION_OPERANDS = 3 /* Q K V; masks stand behind them, and take no gradient */
};
/* x is a score, p the step's real, m the next mask, which broadcasts to the scores [..,M,N]. */
enum {
  PT_STEP_NONE,  /* x; no other step comes behind it */
  PT_STEP_SCALE, /* p x */
  PT_STEP_ADD,   /* x + m */
  PT_STEP_KEEP,  /* m ? x : p; m is bool */
  PT_STEP_FILL,  /* m ? p : x; m is bool */
  PT_STEP_COUNT
};

enum { /* conv3d, conv3d_dx, conv3d_dw */
  PT_CONV3D_STRIDE_D, PT_CONV3D_STRIDE_H, PT_CONV3D_STRIDE_W,
  PT_CONV3D_PAD_FRONT, PT_CONV3D_PAD_TOP, PT_CONV3D_PAD_LEFT,
  PT_CONV3D_PAD_BACK, PT_CONV3D_PAD_BOTTOM, PT_CONV3D_PAD_RIGHT,
  PT_CONV3D_DILATION_D, PT_CONV3D_DILATION_H, PT_CONV3D_DILATION_W,
  PT_CONV3D_GROUPS,
  PT_CONV3D_ATTRS
};

enum { /* conv2d_act, matmul_act: behind the integers of their product */
  PT_EPILOGUE_ACTIVATION, /* the op of PT_EPILOGUES, 0: none; gelu is erf's */
  PT_EPILOGUE_RESIDUAL,   /* PT_RESIDUAL_* */
  PT_EPILOGUE_ATTRS
};
enum { PT_EPILOGUE_REALS = 2 };
enum { /* what is added before the activation */
  PT_RESIDUAL_NONE,
  PT_RESIDUAL_READ, /* R, the last input */
  PT_RESIDUAL_OVER, /* the same, and Y may be written over it */
  PT_RESIDUAL_COUNT
};

enum { PT_NORM_ACTIVATION, PT_NORM_ACT_ATTRS }; /* batch_norm_act and its kind */
enum { PT_NORM_ACT_REALS = 3 };                 /* eps, and the activation's two */

enum { PT_UPDATE_OP, PT_UPDATE_FLAG, PT_UPDATE_ATTRS, PT_UPDATE_REALS = 4 }; /* behind the product's own integers */

enum { /* max_pool, avg_pool and their gradients */
  PT_POOL_KERNEL_H, PT_POOL_KERNEL_W,
  PT_POOL_STRIDE_H, PT_POOL_STRIDE_W,
  PT_POOL_PAD_TOP, PT_POOL_PAD_LEFT, PT_POOL_PAD_BOTTOM, PT_POOL_PAD_RIGHT,
  PT_POOL_DILATION_H, PT_POOL_DILATION_W,
  PT_POOL_COUNT_INCLUDE_PAD, /* avg_pool alone */
  PT_POOL_ATTRS
};

enum { /* compare; the last three take anything but 0 as true */
  PT_COMPARE_EQUAL, PT_COMPARE_LESS, PT_COMPARE_LESS_EQUAL, PT_COMPARE_GREATER, PT_COMPARE_GREATER_EQUAL,
  PT_COMPARE_AND, PT_COMPARE_OR, PT_COMPARE_XOR,
  PT_COMPARE_COUNT
};

enum { /* arc, arc_grad */
  PT_ARC_SIN, PT_ARC_COS, PT_ARC_TAN,
  PT_ARC_SINH, PT_ARC_COSH, PT_ARC_TANH,
  PT_ARC_COUNT
};

enum { /* round_to */
  PT_ROUND_TO_FLOAT16, PT_ROUND_TO_BFLOAT16,
  PT_ROUND_TO_COUNT
};

enum { /* bitwise; shifts of unsigned numbers, which lose what is shifted out */
  PT_BITWISE_AND, PT_BITWISE_OR, PT_BITWISE_XOR, PT_BITWISE_SHIFT_LEFT, PT_BITWISE_SHIFT_RIGHT,
  PT_BITWISE_COUNT
};

enum { /* scatter_elements, scatter_reduce_grad: what an update does to the element that is there */
  PT_SCATTER_LAST, /* replaces it: the last holds */
  PT_SCATTER_ADD, PT_SCATTER_MUL, PT_SCATTER_MAX, PT_SCATTER_MIN,
  PT_SCATTER_COUNT
};

enum { PT_RANDOM_UNIFORM, PT_RANDOM_NORMAL, PT_RANDOM_COUNT }; /* random */

enum { /* resize, resize_grad */
  PT_RESIZE_LINEAR,      /* 0: nearest */
  PT_RESIZE_COORDINATES, /* where the source of an output position lies: */
  PT_RESIZE_ROUNDING,    /* how nearest rounds it */
  PT_RESIZE_ATTRS
};
enum {
  PT_RESIZE_HALF_PIXEL, PT_RESIZE_ASYMMETRIC, PT_RESIZE_ALIGN_CORNERS, PT_RESIZE_PYTORCH_HALF_PIXEL,
  PT_RESIZE_COORDINATE_COUNT
};
enum { PT_RESIZE_FLOOR, PT_RESIZE_CEIL, PT_RESIZE_PREFER_FLOOR, PT_RESIZE_PREFER_CEIL, PT_RESIZE_ROUNDING_COUNT };

/* clang-format on */

enum { PT_DTYPE_COUNT = 6 };
typedef enum pt_dtype {
  PT_F32 = 0,
  PT_I64 = 1,
  PT_I32 = 2,
  PT_U8 = 3,
  PT_BOOL = 4,
  PT_F64 = 5 /* reference runs in double precision alone; no plan for a device holds it */
} pt_dtype;

#endif
