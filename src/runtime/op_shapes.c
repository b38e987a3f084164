#include "runtime/op_shapes.h"

#include "runtime/op_rules.h"

static const pt_op_family* const families[] = {
    &pt_product_rules, &pt_pointwise_rules, &pt_image_rules,     &pt_norm_rules,   &pt_reduce_rules,
    &pt_move_rules,    &pt_loss_rules,      &pt_recurrent_rules, &pt_update_rules, &pt_block_rules,
};

const pt_op_rule* pt_find_rule(uint16_t op) {
  unsigned family, rule;
  for (family = 0; family < sizeof families / sizeof families[0]; ++family)
    for (rule = 0; rule < families[family]->count; ++rule)
      if (families[family]->rules[rule].op == op) return &families[family]->rules[rule];
  return NULL;
}

static int is_index(uint8_t dtype, unsigned rule) {
  return dtype == PT_I64 || dtype == PT_I32 || (dtype == PT_U8 && rule == REAL_LABEL);
}

/* The rules whose operands are not all of one dtype but for an index. */
static int mixed_dtypes_fit(const pt_op_view* view, unsigned rule) {
  const uint8_t a = in(view, 0)->dtype;
  if (rule == COMPARED) return in(view, 1)->dtype == a && out(view, 0)->dtype == PT_BOOL;
  if (rule == POSITIONS) return a != PT_BOOL && a != PT_F64 && out(view, 0)->dtype == PT_I64;
  return a == PT_BOOL && in(view, 1)->dtype == in(view, 2)->dtype && in(view, 1)->dtype == out(view, 0)->dtype;
}

static int dtypes_fit(const pt_op_view* view, unsigned rule) {
  const uint8_t first = in(view, 0)->dtype;
  const int indexed = rule == REAL_LABEL || rule == SAME_INDEX;
  unsigned operand;
  if (rule == ANY) return 1;
  if (rule == COMPARED || rule == CHOSEN || rule == POSITIONS) return mixed_dtypes_fit(view, rule);
  if (rule != SAME && rule != SAME_INDEX && first != PT_F32 && first != PT_F64) return 0;
  if (rule == BYTES_MADE) return out(view, 0)->dtype == PT_U8;
  if (rule == REAL_BYTES) return in(view, 1)->dtype == PT_U8 && out(view, 0)->dtype == first;
  for (operand = 1; operand < (unsigned)view->input_count + view->output_count; ++operand) {
    const uint8_t dtype = in(view, operand)->dtype;
    if (indexed && operand == 1 ? !is_index(dtype, rule) : dtype != first) return 0;
  }
  return 1;
}

uint8_t pt_key_dtype(const pt_op_view* view) {
  return view->op == PT_OP_count_correct ? in(view, 0)->dtype : out(view, 0)->dtype;
}

int pt_index_input(uint16_t op) {
  const pt_op_rule* rule = pt_find_rule(op);
  return rule != NULL && (rule->dtypes == REAL_LABEL || rule->dtypes == SAME_INDEX) ? 1 : -1;
}

pt_status pt_check_op(const pt_op_view* view) {
  const pt_op_rule* rule = pt_find_rule(view->op);
  if (rule == NULL) return PT_E_PLAN;
  if (view->input_count < rule->min_inputs || view->input_count > rule->max_inputs) return PT_E_PLAN;
  if (view->output_count < rule->min_outputs || view->output_count > rule->max_outputs) return PT_E_PLAN;
  if (rule->ints >= 0 && view->int_count != rule->ints) return PT_E_PLAN;
  if (rule->reals >= 0 && view->real_count != rule->reals) return PT_E_PLAN;
  if (view->dtype != pt_key_dtype(view)) return PT_E_PLAN;
  return dtypes_fit(view, rule->dtypes) && rule->shape(view) ? PT_OK : PT_E_PLAN;
}
