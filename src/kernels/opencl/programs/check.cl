// Does the device compute as IEEE 754 says? A row of results for each pair of numbers (bit_check.cc computes the same on the host).
kernel void op_check(ARGS) {
  ITEM;
  const float x = IN(0)[e], y = IN(1)[e];
  global float* made = OUT(0) + e * 8;
  made[0] = x + y;
  made[1] = x * y;
  made[2] = x / y;
  made[3] = sqrt(x);
  made[4] = x * y + x;
  made[5] = pt_real_exp(x);
#ifndef PT_NO_DOUBLE
  made[6] = (float)((double)x * (double)y / ((double)x + 1.5));
  made[7] = (float)pt_log((double)x);
#else
  made[6] = made[7] = 0;
#endif
}
