/* The bytes of a binary plan, as docs/plan-format.md has them: shared by the interpreter (C) and the encoder (C++). */
#pragma once

#include "pantoum/pantoum.h"

#define PT_PLAN_MAGIC "PTMP"
#define PT_PLAN_VERSION 3

enum { /* the header */
       PT_AT_MAGIC = 0,
       PT_AT_VERSION = 4, /* u16 */
       PT_AT_FLAGS = 6,   /* u16, of PT_PLAN_FLAGS */
       PT_AT_SIZE = 8,    /* u32, the whole plan */
       PT_AT_CRC = 12,    /* u32, CRC-32 of everything behind it */
       PT_AT_ARENA = 16,  /* u64 */
       PT_AT_STORAGE = 24,
       PT_AT_ROM = 32,
       PT_AT_ALIGN = 40,   /* u32 from here */
       PT_AT_STAGING = 44, /* bytes of the staging buffer; 0: none */
       PT_AT_TENSOR_COUNT = 48,
       PT_AT_OP_COUNT = 52,
       PT_AT_PROGRAM_COUNT = 56,
       PT_AT_LAYOUT_COUNT = 60,
       PT_AT_TENSORS = 64, /* offsets of sections */
       PT_AT_LAYOUTS = 68,
       PT_AT_INDEX = 72,
       PT_AT_OPS = 76,
       PT_AT_PROGRAMS = 80,
       PT_AT_NAMES = 84,       /* 0: the plan has no names */
       PT_AT_TENSOR_ENDS = 88, /* u8 from here: where each field of a tensor ends in its record (PT_TENSOR_FIELDS) */
       PT_AT_UNITS_END = 92,   /* where the units of a layout end in its record */
       PT_AT_DIM_SIZE = 93,    /* bytes of each dimension behind them */
       PT_AT_LAYOUT_SIZE = 94,
       PT_AT_INDEX_SIZE = 95, /* bytes of an op's offset */
       PT_HEADER_SIZE = 96
};

enum { /* flags of the header */
       PT_FLAG_THREADS = 1,
       PT_FLAG_ENGINES = 2, /* ops say their engines, instructions what they wait for */
       PT_FLAG_SLICES = 4,  /* ops say how they are sliced */
#ifdef PT_NO_SLICES
       PT_KNOWN_SLICES = 0,
#else
       PT_KNOWN_SLICES = PT_FLAG_SLICES,
#endif
       PT_PLAN_FLAGS = PT_FLAG_THREADS | PT_KNOWN_SLICES | (PT_MAX_ENGINES > 1 ? PT_FLAG_ENGINES : 0)
};

/* Loops of an op that is computed in slices, at most. */
enum { PT_MAX_LOOPS = 4 };

enum { /* a tensor: the fields of its record, each of 0 to 4 bytes; 0 bytes: it is 0 in every tensor */
       PT_TENSOR_WHAT = 0,  /* its layout, its pt_home and whether it is a successor */
       PT_TENSOR_SLOT = 1,  /* in storage; PT_TENSOR_SLOT and PT_TENSOR_PLACE: units + 1; 0: none */
       PT_TENSOR_PLACE = 2, /* where it is at home in RAM or ROM */
       PT_TENSOR_PAIR = 3,  /* the successor, or of a successor, whose it is: its number + 1; 0: none */
       PT_TENSOR_FIELDS = 4
};
enum { PT_WHAT_SUCCESSOR = 1, PT_WHAT_HOME_SHIFT = 1, PT_WHAT_HOME_MASK = 3, PT_WHAT_LAYOUT_SHIFT = 3 };
enum { PT_MOST_FIELD = 4 };   /* bytes of a field */
enum { PT_LAYOUT_RANK = 8 };  /* a layout's first byte: rank * 8 + dtype */
enum { PT_LAYOUT_UNITS = 1 }; /* where its units begin */
#define PT_MOST_LAYOUT 0x1FFFFFFFu
#define PT_NOWHERE 0xFFFFFFFFu

enum {                        /* a form, which ops share: these, then varints, then its reals */
       PT_FORM_KIND = 0,      /* u16, pt_op */
       PT_FORM_ALGORITHM = 2, /* u16 */
       PT_FORM_ENGINE = 4,    /* u8 from here */
       PT_FORM_DTYPE = 5,     /* the kernel key's */
       PT_FORM_INPUTS = 6,
       PT_FORM_OUTPUTS = 7,
       PT_FORM_INTS = 8,
       PT_FORM_REALS = 9,
       PT_FORM_THREADS = 10, /* u16: at most; 0: all; others where the header has PT_FLAG_THREADS */
       PT_FORM_FIXED_SIZE = 12
};

enum { /* a program: u32 fields */
       PT_PROGRAM_CODE = 0,
       PT_PROGRAM_CODE_SIZE = 4,
       PT_PROGRAM_INSTRUCTIONS = 8,
       PT_PROGRAM_STAGING = 12, /* units in the arena; PT_NOWHERE: none */
       PT_PROGRAM_SIZE = 16
};

enum { PT_NAME_SIZE = 4 }; /* of the offset of a name in the section of names; offset 0: the empty name */

/* Queues of instructions that run at the same time: one for each engine, and the pager's two. */
enum { PT_QUEUE_OUT = PT_MAX_ENGINES, PT_QUEUE_IN, PT_QUEUES };

enum { PT_DO_COMPUTE = 0, PT_DO_PAGE_OUT = 1, PT_DO_PAGE_IN = 2, PT_DO_FREE = 3, PT_DO_BITS = 2 };
