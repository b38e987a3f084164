/* What a run tells, as lines of words that programs read too; losses as decimals and as the bits that they have. */
#pragma once

#include "trainer.h"

void print_text(const char* text);
void print_number(uint32_t number);
/* "step 20 loss 1.087284 bits 0x3f8b2c1d" */
void print_step(const pt_trainer* trainer, float loss);
/* "resumed 20" */
void print_resumed(const pt_trainer* trainer);
/* "features 100 made 100": samples whose features are kept, and of how many they were computed in this run; nothing
 * where the model has none. */
void print_features(const pt_trainer* trainer);
/* "test right 91 of 100 loss 1.087284 bits 0x3f8b2c1d" */
void print_evaluation(float loss, uint32_t right, uint32_t counted);
/* "predicted 91 of 100 right" */
void print_classified(uint32_t right, uint32_t count);
/* "state 0x1234abcd": the CRC-32 of all parameters and of the optimizer's state, in the plan's order. What reading it from
 * storage says. */
pt_status print_state(pt_trainer* trainer);
/* "stack 1200 of 2048", "paged in 4096 out 8192", "written 10240" (to storage, whole blocks),
 * "worn 9728" (of them by steps and commits) */
void print_usage(const pt_trainer* trainer);
