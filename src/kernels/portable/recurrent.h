/* Time steps of an LSTM or a GRU: one step, or many steps as one op. */
#pragma once

#include "kernels/portable/parallel.h"

/* The operands of one step's op, in its order. */
typedef struct pt_cell {
  size_t width;    /* of the state */
  size_t begin[4]; /* the first column of each gate */
  const pt_real* in[5];
  pt_real* out[3];
} pt_cell;

/* Each takes a pt_cell and the rows to compute. */
typedef struct pt_cell_rows {
  pt_body lstm, lstm_grad, gru, gru_grad;
} pt_cell_rows;

/* The fastest ones for this processor; all give the same bits. */
const pt_cell_rows* PT_NAME(pt_cell_rows_here)(void);

/* The matrix that the states of a step are multiplied with: B = R' (forward, [H, gates H]) or R (backward, [gates H,
 * H]). */
typedef struct pt_step_weight {
  const pt_call* call;
  const pt_tensor* r;
  int transposed;
  size_t k, n;    /* B has k rows and n columns */
  size_t batch;   /* rows of the whole batch */
  void* prepared; /* the end of the workspace */
} pt_step_weight;

/* The product: c[rows, n] = a[rows, k] B, each element one sum in ascending k from +0. */
typedef struct pt_step_product {
  void (*prepare)(const pt_step_weight* weight); /* once, before all steps; may use the threads */
  void (*multiply)(const pt_step_weight* weight, const pt_real* a, pt_real* c, size_t rows);
} pt_step_product;

typedef enum pt_sequence_kind { PT_LSTM_FORWARD, PT_LSTM_BACKWARD, PT_GRU_FORWARD, PT_GRU_BACKWARD } pt_sequence_kind;

/* Runs an op over all its time steps; threads take rows of the batch, each through all steps alone. */
pt_status PT_NAME(pt_sequence_run)(const pt_call* call, pt_sequence_kind kind, const pt_step_product* product);
pt_step_weight PT_NAME(pt_sequence_weight)(const pt_call* call, pt_sequence_kind kind);
/* Number of elements of the workspace that the steps themselves use; the prepared matrix lies behind them. */
size_t PT_NAME(pt_sequence_scratch)(const pt_call* call, pt_sequence_kind kind);
