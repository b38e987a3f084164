#include "runtime/op_shapes.h"

#include <string.h>

#include "runtime/op_rules.h"

static const pt_op_family* const families[] = {
    &pt_product_records, &pt_pointwise_records, &pt_image_records,     &pt_norm_records,   &pt_reduce_records,
    &pt_move_records,    &pt_loss_records,      &pt_recurrent_records, &pt_update_records, &pt_block_records,
};

const pt_op_record* pt_find_record(uint16_t op) {
  unsigned family, rule;
  for (family = 0; family < sizeof families / sizeof families[0]; ++family)
    for (rule = 0; rule < families[family]->count; ++rule)
      if (families[family]->records[rule].op == op) return &families[family]->records[rule];
  return NULL;
}

static int is_integer(uint8_t dtype) {
  return dtype == PT_I64 || dtype == PT_I32 || dtype == PT_U8;
}

/* The element type that the rule asks of all operands but the odd one. */
static int dtype_fits(pt_op_use* use, unsigned rule, uint8_t dtype) {
  const int is_real = dtype == PT_F32 || dtype == PT_F64;
  switch (rule) {
    case SAME:
    case SAME_INDEX:
    case COMPARED:
    case CHOSEN:
      return 1;
    case INTEGER:
    case BITS:
      return is_integer(dtype) || (rule == BITS && dtype == PT_BOOL) ||
             pt_refuse(use, PT_TEXT("it does not compute on {dtype}"), dtype, 0);
    case NUMBER:
    case POSITIONS:
      return is_real || is_integer(dtype) ||
             pt_refuse(use, PT_TEXT("its operands must be floating point or integers, not {dtype}"), dtype, 0);
    default:
      return is_real || pt_refuse(use, PT_TEXT("its operands must be floating point, not {dtype}"), dtype, 0);
  }
}

/* The input whose type differs from the others; -1: there is none. */
static int odd_input(unsigned rule) {
  if (rule == CHOSEN) return 0;
  return rule == REAL_LABEL || rule == REAL_INDEX || rule == SAME_INDEX || rule == REAL_BYTES ? 1 : -1;
}

static int odd_dtype_fits(pt_op_use* use, unsigned rule, uint8_t dtype) {
  if (rule == CHOSEN) return dtype == PT_BOOL || PT_REFUSE(use, "the condition must be bool");
  if (rule == REAL_BYTES) return dtype == PT_U8 || PT_REFUSE(use, "what stands for the activation must be u8");
  if (rule == REAL_LABEL) return is_integer(dtype) || PT_REFUSE(use, "the labels must be i64, i32 or u8");
  return dtype == PT_I64 || dtype == PT_I32 || PT_REFUSE(use, "the indices must be i64 or i32");
}

static int dtypes_fit(pt_op_use* use, unsigned rule) {
  const int odd = odd_input(rule);
  const uint8_t first = (use->input_count == 0 ? given(use, 0) : in(use, odd == 0 ? 1 : 0))->dtype;
  unsigned input;
  use->dtype = rule == COMPARED ? PT_BOOL : rule == POSITIONS ? PT_I64 : rule == BYTES_MADE ? PT_U8 : first;
  if (rule == ANY) return 1;
  if (!dtype_fits(use, rule, first)) return 0;
  for (input = 0; input < use->input_count; ++input) {
    const uint8_t dtype = in(use, input)->dtype;
    if ((int)input == odd) {
      if (!odd_dtype_fits(use, rule, dtype)) return 0;
    } else if (!dtype_fits(use, rule, dtype) ||
               (dtype != first && !PT_REFUSE(use, "its inputs must have one element type"))) {
      return 0;
    }
  }
  return 1;
}

static int is_between(unsigned count, int least, int most) {
  return (int)count >= least && (most == PT_ANY || (int)count <= most);
}

static int counts_fit(pt_op_use* use, const pt_op_record* record) {
  if (!is_between(use->input_count, record->min_inputs, record->max_inputs))
    return pt_refuse(use, PT_TEXT("it does not take {} inputs"), use->input_count, 0);
  if (use->output_count == 0 ? record->min_inputs == 0
                             : !is_between(use->output_count, record->min_outputs, record->max_outputs))
    return use->output_count == 0 ? pt_want_given(use)
                                  : pt_refuse(use, PT_TEXT("it does not make {} outputs"), use->output_count, 0);
  if ((record->ints != PT_ANY && use->int_count != record->ints) ||
      (record->reals != PT_ANY && use->real_count != record->reals))
    return pt_refuse(use, PT_TEXT("it does not have {} integer and {} real attributes"), use->int_count,
                     use->real_count);
  return 1;
}

int pt_infer_op(pt_op_use* use) {
  const pt_op_record* record = pt_find_record(use->op);
  use->made_count = 0;
  return record != NULL && counts_fit(use, record) && dtypes_fit(use, record->dtypes) && record->shape(use);
}

uint8_t pt_key_dtype(const pt_op_view* view) {
  return view->operands[view->op == PT_OP_count_correct ? 0 : view->input_count].dtype;
}

int pt_index_input(uint16_t op) {
  const pt_op_record* record = pt_find_record(op);
  const unsigned rule = record == NULL ? SAME : record->dtypes;
  return rule == REAL_LABEL || rule == REAL_INDEX || rule == SAME_INDEX ? 1 : -1;
}

/* The outputs equal those that the rule makes, or have the dtype that the rule asks for. */
static int outputs_fit(const pt_op_use* use, unsigned rule) {
  unsigned output;
  if (use->made_count != 0 && use->made_count != use->output_count) return 0;
  for (output = 0; output < use->output_count; ++output) {
    if (use->made_count != 0 && !pt_same_dims(&use->made[output], given(use, output))) return 0;
    if ((rule != ANY || use->made_count != 0) && given(use, output)->dtype != use->dtype) return 0;
  }
  return 1;
}

pt_status pt_check_op(const pt_op_view* view) {
  const pt_op_record* record = pt_find_record(view->op);
  pt_op_use use;
  if (record == NULL || view->op == PT_OP_alias || view->output_count == 0) return PT_E_PLAN;
  memset(&use, 0, sizeof use);
  use.op = view->op;
  use.input_count = view->input_count, use.output_count = view->output_count;
  use.int_count = view->int_count, use.real_count = view->real_count;
  use.operands = view->operands;
  use.ints = view->ints, use.reals = view->reals;
  if (view->dtype != pt_key_dtype(view)) return PT_E_PLAN;
  /* The kernels in single precision, which alone run plans, do not find positions in f64. */
  if (record->dtypes == POSITIONS && view->input_count > 0 && view->operands[0].dtype == PT_F64) return PT_E_PLAN;
  return pt_infer_op(&use) && outputs_fit(&use, record->dtypes) ? PT_OK : PT_E_PLAN;
}
