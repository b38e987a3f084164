#include "print.h"

#include <string.h>

#include "board.h"

void print_text(const char* text) {
  board_print(text);
}

/* The last `places` digits of the number stand behind the point. */
static void print_decimal(uint64_t number, unsigned places) {
  /* decimal digits without a division of 64 bits: repeated subtraction of powers of ten */
  static const uint64_t powers[] = {10000000000000000000u,
                                    1000000000000000000u,
                                    100000000000000000u,
                                    10000000000000000u,
                                    1000000000000000u,
                                    100000000000000u,
                                    10000000000000u,
                                    1000000000000u,
                                    100000000000u,
                                    10000000000u,
                                    1000000000u,
                                    100000000u,
                                    10000000u,
                                    1000000u,
                                    100000u,
                                    10000u,
                                    1000u,
                                    100u,
                                    10u,
                                    1u};
  char text[24];
  unsigned left, length = 0; /* left: digits behind this one */
  for (left = sizeof powers / sizeof powers[0]; left-- > 0;) {
    const uint64_t power = powers[sizeof powers / sizeof powers[0] - 1 - left];
    char digit = '0';
    for (; number >= power; number -= power) ++digit;
    if (digit != '0' || length > 0 || left <= places) text[length++] = digit;
    if (left == places && left > 0) text[length++] = '.';
  }
  text[length] = 0;
  print_text(text);
}

static void print_wide(uint64_t number) {
  print_decimal(number, 0);
}

void print_number(uint32_t number) {
  print_wide(number);
}

static void print_hex(uint32_t bits) {
  char text[11] = "0x";
  unsigned at;
  for (at = 0; at < 8; ++at) text[2 + at] = "0123456789abcdef"[bits >> (28 - 4 * at) & 15];
  text[10] = 0;
  print_text(text);
}

/* The loss rounded to millionths, then its bits. Integers alone: a printf of floats would take 20 KiB of flash. */
static void print_loss(float loss) {
  uint32_t bits, fraction;
  int shift; /* the loss is fraction * 2^shift */
  memcpy(&bits, &loss, sizeof bits);
  fraction = bits & 0x7fffffu;
  shift = (int)(bits >> 23 & 255);
  if (shift > 0) fraction |= 0x800000u;
  shift -= shift > 0 ? 150 : 149;
  print_text(bits >> 31 ? "loss -" : "loss ");
  if (shift == 105)
    print_text(bits & 0x7fffffu ? "nan" : "inf");
  else if (shift > 40)
    print_text("above 18446744073709551615");
  else if (shift >= 0)
    print_decimal((uint64_t)fraction << shift, 0);
  else if (shift > -64)
    print_decimal((((uint64_t)fraction * 1000000u >> (-shift - 1)) + 1) >> 1, 6);
  else
    print_decimal(0, 6);
  print_text(" bits ");
  print_hex(bits);
}

void print_step(const pt_trainer* trainer, float loss) {
  print_text("step ");
  print_wide(trainer->step);
  print_text(" ");
  print_loss(loss);
  print_text("\n");
}

void print_resumed(const pt_trainer* trainer) {
  print_text("resumed ");
  print_wide(trainer->step);
  print_text("\n");
}

void print_features(const pt_trainer* trainer) {
  if (trainer->model->feature_count == 0) return;
  print_text("features ");
  print_number(trainer->features.key.count);
  print_text(" made ");
  print_number(trainer->features.made);
  print_text("\n");
}

void print_evaluation(float loss, uint32_t right, uint32_t counted) {
  print_text("test right ");
  print_number(right);
  print_text(" of ");
  print_number(counted);
  print_text(" ");
  print_loss(loss);
  print_text("\n");
}

void print_classified(uint32_t right, uint32_t count) {
  print_text("predicted ");
  print_number(right);
  print_text(" of ");
  print_number(count);
  print_text(" right\n");
}

pt_status print_state(pt_trainer* trainer) {
  uint32_t crc = 0;
  const pt_status status = pt_trainer_state(trainer, &crc);
  if (status != PT_OK) return status;
  print_text("state ");
  print_hex(crc);
  print_text("\n");
  return PT_OK;
}

void print_usage(const pt_trainer* trainer) {
  pt_counters counters;
  pt_session_counters(trainer->session, &counters);
  print_text("stack ");
  print_number(board_stack_used());
  print_text(" of ");
  print_number(board_stack_bytes());
  print_text("\npaged in ");
  print_wide(counters.bytes_paged_in);
  print_text(" out ");
  print_wide(counters.bytes_paged_out);
  print_text("\nwritten ");
  print_wide(trainer->pager.bytes_written + trainer->journal.bytes_written + trainer->features.pager.bytes_written +
             trainer->features.record_bytes);
  print_text("\nworn ");
  print_wide(trainer->training_written);
  print_text("\n");
}
