/* Slices of an op's operands. An op that is computed in slices is a loop of calls of its own kernel, each on parts of its operands; the results have
 * the bits of one call on the whole (docs/design/semantics.md, "Ops that stream").
 *
 * The planner's costs and the interpreter use these functions alike: what a plan says that a loop holds and moves is what it holds and moves. */
#pragma once

#include "runtime/plan_bytes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- axes (slice_axes.c) ---- */

/* How the part of a windowed operand follows from a slice of the axis. It may be empty where parts are joined or spread. */
typedef enum pt_window {
  PT_WINDOW_CONV,      /* rows that the windows of a convolution's results read; windows may overlap */
  PT_WINDOW_CONV_BACK, /* rows of results whose windows meet those of an input gradient */
  PT_WINDOW_PICKED,    /* what a slice picks its elements from */
  PT_WINDOW_SPREAD,    /* the elements that the gradient of a slice puts at their places */
  PT_WINDOW_JOINED     /* parts that lie end to end in the operand that is not windowed */
} pt_window;

/* A dimension of the op's computation that can be cut. A slice of it is a slice of every operand that lies along it. */
typedef struct pt_axis {
  uint32_t extent;
  uint8_t reduces; /* sums run along it: its slices come in ascending order, while the sums are held */
  uint8_t grouped; /* it counts the groups of a convolution */
  uint8_t placed; /* the kernel is told where the slice begins (pt_call.slice_begin). An op has at most one such axis */
  uint8_t once;   /* results that do not lie along it are made with its first slice alone */
  uint8_t looks_up; /* each index along it names a row of operand 0 by an element of operand 1; see pt_looks_up */
  int8_t
      within; /* sums run along it inside of each index of that axis, of which a slice then has one alone; -1: there is none */
  uint8_t window; /* one of pt_window */
  uint32_t
      windowed; /* the operands, a bit each, whose parts follow from it; other operands are cut where the axis is */
} pt_axis;

enum {
  PT_PASSES = PT_MAX_LOOPS, /* the number of the axis of passes, which no operand lies along */
  PT_REST                   /* of the axis of what is updated behind the terms: elements, in order */
};

typedef struct pt_axes {
  pt_axis axis[PT_MAX_LOOPS + 2];
  int8_t dim[PT_MAX_LOOPS + 2][PT_MAX_OPERANDS]; /* which dimension of the operand lies along the axis; -1: none */
  uint8_t count;                                 /* without PT_PASSES; 0: the op is not cut */
  uint8_t passes; /* over all terms, where their axes are cut; results along these are made in the last one */
  uint8_t flat;   /* operands are vectors of their elements, in order; those of one element are scalars */
  uint8_t
      merged; /* so many dimensions in front count as one, of operands with the rank of the first output; 0: none do */
} pt_axes;

/* Tells the axes of an op whose use is sound (pt_check_op). Their numbers are part of the plan's format. */
void pt_axes_of(const pt_op_view* view, pt_axes* axes);

/* ---- slices (slices.c, slice_loops.c, slice_traffic.c) ---- */

enum {              /* how the loop gets at an operand's slice */
       PT_IN_PLACE, /* it lies in the tensor, in RAM, without gaps */
       PT_PACKED,   /* it is copied between the tensor, in RAM, and a buffer */
       PT_DENSE,    /* streamed, its runs are whole units of storage */
       PT_SPAN,     /* streamed, one run: the buffer holds all units that it touches */
       PT_CARRIED, /* streamed out, one run behind that of the slice before: a unit that it fills in part stays in the buffer for the next */
       PT_STAGED   /* streamed in, a run at a time through a buffer of its own, because runs are parts of units */
};

enum { PT_LEAST_UNIT = 8 }; /* what kernels keep in the workspace between two calls is aligned to it */

/* Loops over axes along which results are cut are outside of those over terms, or inside. Where they are inside, the sums of all slices of a result that
 * the inner loops make are held until their terms are complete: in the result, if it is in RAM and its slices have no gaps, in its buffer, or, those of an
 * update, in the workspace. An axis may have a loop of either kind; each slice of the outer one is then cut into equal ones.
 * A slice may lie with gaps in what is held, as columns of rows do: the loop is `apart` then. Its calls work on a copy of the slice without gaps. Inputs
 * that are not along the terms, such as a bias or a tensor that is added, are held and copied in the same way.
 * An update may have a loop behind its terms: parameter and states move, and are updated, some elements at a time. */
typedef struct pt_loop {
  const pt_op_view* whole; /* as the plan has it */
  pt_axes axes;
  uint8_t loops; /* those of the plan, and one over passes in front of the first that is over terms */
  uint8_t inner; /* loops, a bit each, that are inside of those over terms */
  uint8_t rests; /* whether the last loop is the one behind the terms */
  uint8_t apart; /* whether an inner loop's slices of a result have gaps in what is held */
  uint8_t axis[PT_MAX_LOOPS + 1];
  uint32_t tile[PT_MAX_LOOPS + 1], index[PT_MAX_LOOPS + 1];
  uint32_t
      counts[PT_MAX_LOOPS +
             1]; /* of the last loop of an update: those of the first slice of its results; others may have fewer */
  uint32_t unit; /* bytes of a unit of RAM and storage */
  uint8_t how[PT_MAX_OPERANDS];
  uint8_t run_dim[PT_MAX_OPERANDS]; /* the innermost dimension that is cut; 0: none is */
  uint32_t buffer[PT_MAX_OPERANDS]; /* units from the workspace's begin */
  uint32_t units[PT_MAX_OPERANDS];  /* of the buffer */
  uint32_t part[PT_MAX_OPERANDS]; /* where the copy of a slice with gaps stands, in units; PT_NOWHERE: there is none */
  uint32_t stage, stage_units;
  uint32_t kernel; /* where the kernel's workspace begins, in units */
  uint32_t row;    /* where pt_looks_up: the table's row at this step, which the caller sets */
  uint64_t workspace_bytes;
} pt_loop;

/* A part of an operand. */
typedef struct pt_box {
  uint32_t begin[PT_MAX_RANK], extent[PT_MAX_RANK], whole[PT_MAX_RANK];
  uint8_t rank, element; /* bytes of an element */
} pt_box;

/* The bytes of a box lie in runs, `bytes` each: one for every index of the dimensions in front of the innermost one that is cut. */
typedef struct pt_runs {
  uint64_t bytes, count;
  uint64_t begin, at; /* of this run: in the tensor, and in the box without gaps */
  uint32_t index[PT_MAX_RANK];
  uint8_t dims; /* in front of the innermost one that is cut */
} pt_runs;

/* Opens the loop of an op at its first step and places its buffers. `unit`: align_bytes of the plan. `kernel`: of the op. `pool`: that it is computed
 * on. PT_E_PLAN: the op has no such slices, or a result would not have the whole op's bits; PT_E_KERNEL: the kernel does not compute a slice. `view`
 * outlives the loop. */
pt_status pt_loop_open(pt_loop* loop, const pt_op_view* view, uint32_t unit, const pt_kernel* kernel,
                       const pt_pool* pool);
/* The loops whose index the next step changes, a bit each; 0: this is the last step. */
unsigned pt_loop_changes(const pt_loop* loop);
/* Goes on to the next step; from the last to the first. */
void pt_loop_next(pt_loop* loop);
/* The loops along which the operand is cut, a bit each. */
unsigned pt_loops_of(const pt_loop* loop, unsigned operand);
/* Goes on to the operand's next slice, past steps that leave it as it is. 0: there is none, and the operand is at its first slice again. */
int pt_next_slice(pt_loop* loop, unsigned operand);
/* How many times a slice of the operand is moved, each of its slices counted. */
uint64_t pt_moves_of(const pt_loop* loop, unsigned operand);
/* Does the operand's part follow from the axis through windows? */
int pt_is_windowed(const pt_axis* axis, unsigned operand);
/* Does each step look up one row of operand 0, the table, that an element of operand 1 names? The caller then sets `row` before it asks for the table's
 * slice, and calls the kernel with 0 as the element. Every row that is read from storage moves equally many units. */
int pt_looks_up(const pt_loop* loop);
/* Is the result's slice made at this step? Not before the last pass, if it lies along the terms. */
int pt_is_made(const pt_loop* loop, unsigned operand);
/* Is it complete behind this step, so that it moves? `changing`: pt_loop_changes of the step. */
int pt_is_complete(const pt_loop* loop, unsigned operand, unsigned changing);
/* The units of the slot, [first, end), that move with a run of the operand; none where first is not below end. */
typedef struct pt_units {
  uint64_t first, end;
} pt_units;
pt_units pt_units_of(const pt_loop* loop, unsigned operand, const pt_runs* run);
/* What the whole loop moves of an operand that has a buffer: bytes in whole units, and runs of units (transfers). */
typedef struct pt_traffic {
  uint64_t bytes, transfers;
} pt_traffic;
pt_traffic pt_traffic_of(const pt_loop* loop, unsigned operand);
/* The same of one pass over the operand's slices. It follows from how the operand is held, and from its axes' tiles. */
pt_traffic pt_traffic_of_pass(const pt_loop* loop, unsigned operand);
/* How many steps the loop has. */
uint64_t pt_steps_of(const pt_loop* loop);
/* How many such passes the loop makes. */
uint64_t pt_passes_over(const pt_loop* loop, unsigned operand);
/* The operand's part that is held at this step. */
pt_box pt_slice_of(const pt_loop* loop, unsigned operand);
/* What of it the step's call is on: all, but for a result some slices of which are held together. */
pt_box pt_part_of(const pt_loop* loop, unsigned operand);
/* Where the part begins in what is held without gaps, in bytes. */
uint64_t pt_part_begins(const pt_loop* loop, unsigned operand);
/* Copies the step's part, whose elements have gaps in the tensor or buffer that begins at `held`, from or to `part` without gaps. */
void pt_copy_part(const pt_loop* loop, unsigned operand, uint8_t* held, uint8_t* part, int to_held);
int pt_is_empty(const pt_box* box);
/* The first run of the operand's box, which is not empty. 0 from pt_next_run: there are no more. */
pt_runs pt_runs_of(const pt_loop* loop, unsigned operand, const pt_box* box);
int pt_next_run(const pt_box* box, pt_runs* runs);
/* May an op have loops inside of those over terms, and an update one behind them? */
int pt_holds_sums(const pt_op_view* view);
int pt_has_rest(const pt_op_view* view);
/* Does an update have a loop behind its terms? Its parameter and states, all operands from number 2 on, then move in that loop alone. */
int pt_is_rest(const pt_loop* loop, unsigned operand);
/* Is this a step of that loop? The first of them adds the last terms before. */
int pt_is_at_rest(const pt_loop* loop);
/* Elements of an update whose sums lie together: `count` from `at` on of the slices that the step updates have the sums from `sum` on, in elements of all that
 * the workspace holds. */
typedef struct pt_sums {
  uint64_t at, count, sum;
} pt_sums;
/* Those that begin with element `at` of the step's slices; count 0: there are none. */
pt_sums pt_sums_at(const pt_loop* loop, uint64_t at);
/* Where the sums of the step's call begin in the workspace of the kernel, in elements. */
uint64_t pt_sums_begin(const pt_loop* loop);
/* Fills the extents of the operands and the attributes of this step; `view` is a copy of the whole one. */
void pt_slice_view(const pt_loop* loop, pt_op_view* view);
/* Fills what the step's call says of the slice: its terms, and where it begins. */
void pt_slice_call(const pt_loop* loop, pt_call* call);
/* Whether an output in RAM may take the bytes of an input in RAM: each slice of the input is read before the same slice of the output is written. */
int pt_slices_take_over(const pt_op_view* view, unsigned input, unsigned output);

#ifdef __cplusplus
}
#endif
