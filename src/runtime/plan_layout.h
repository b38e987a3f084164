/* The bytes of a binary plan, as docs/plan-format.md has them: shared by the interpreter (C) and the encoder (C++). */
#pragma once

#include "pantoum/pantoum.h"

#define PT_PLAN_MAGIC "PTMP"
#define PT_PLAN_VERSION 2

enum { /* the header */
       PT_AT_MAGIC = 0,
       PT_AT_VERSION = 4, /* u16 */
       PT_AT_FLAGS = 6,   /* u16, of PT_PLAN_FLAGS */
       PT_AT_SIZE = 8,    /* u32, the whole plan */
       PT_AT_CRC = 12,    /* u32, CRC-32 of everything behind it */
       PT_AT_ARENA = 16,  /* u64 */
       PT_AT_STORAGE = 24,
       PT_AT_ROM = 32,
       PT_AT_ALIGN = 40, /* u32 from here */
       PT_AT_TENSOR_COUNT = 44,
       PT_AT_OP_COUNT = 48,
       PT_AT_PROGRAM_COUNT = 52,
       PT_AT_TENSORS = 56,
       PT_AT_OPS = 60,
       PT_AT_PROGRAMS = 64,
       PT_AT_SHAPES = 68,
       PT_AT_SHAPE_COUNT = 72,
       PT_AT_NAMES = 76,
       PT_AT_NAMES_SIZE = 80,
       PT_AT_STAGING = 84, /* bytes of the staging buffer; 0: none */
       PT_HEADER_SIZE = 88
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

enum { /* a tensor: u32 fields; places are in units of align_bytes, PT_NOWHERE: none */
       PT_TENSOR_UNITS = 0,
       PT_TENSOR_NAME = 4,
       PT_TENSOR_RAM = 8,
       PT_TENSOR_STORAGE = 12,
       PT_TENSOR_ROM = 16,
       PT_TENSOR_PAIR = 20, /* the successor; of a successor, whose it is */
       PT_TENSOR_TYPE = 24,
       PT_TENSOR_HOME = 28,     /* u8, pt_home */
       PT_TENSOR_FLAGS = 29,    /* u8 */
       PT_TENSOR_RESERVED = 30, /* u16, 0 */
       PT_TENSOR_SIZE = 32
};
enum { PT_FLAG_SUCCESSOR = 1 };
#define PT_NOWHERE 0xFFFFFFFFu

enum {                      /* an op: these, then varints, then its reals */
       PT_OP_KIND = 0,      /* u16, pt_op */
       PT_OP_ALGORITHM = 2, /* u16 */
       PT_OP_ENGINE = 4,    /* u8 from here */
       PT_OP_DTYPE = 5,     /* the kernel key's */
       PT_OP_INPUTS = 6,
       PT_OP_OUTPUTS = 7,
       PT_OP_INTS = 8,
       PT_OP_REALS = 9,
       PT_OP_THREADS = 10, /* u16: at most; 0: all; others where the header has PT_FLAG_THREADS */
       PT_OP_FIXED_SIZE = 12
};

enum { /* a program: u32 fields */
       PT_PROGRAM_NAME = 0,
       PT_PROGRAM_CODE = 4,
       PT_PROGRAM_CODE_SIZE = 8,
       PT_PROGRAM_INSTRUCTIONS = 12,
       PT_PROGRAM_STAGING = 16, /* units in the arena; PT_NOWHERE: none */
       PT_PROGRAM_SIZE = 20
};

/* Queues of instructions that run at the same time: one for each engine, and the pager's two. */
enum { PT_QUEUE_OUT = PT_MAX_ENGINES, PT_QUEUE_IN, PT_QUEUES };

enum { PT_DO_COMPUTE = 0, PT_DO_PAGE_OUT = 1, PT_DO_PAGE_IN = 2, PT_DO_FREE = 3, PT_DO_BITS = 2 };

/* A type in one number: where its dims start among the shape words, its rank, its dtype. */
#define PT_TYPE_REF(dims_at, rank, dtype) ((((dims_at) << 3 | (rank)) << 3) | (dtype))
#define PT_TYPE_MAX_DIMS_AT 0x3FFFFFFu
