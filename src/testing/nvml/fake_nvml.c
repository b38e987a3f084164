// NVML as a test wants it: the file that FAKE_NVML names holds, a line each, a key and a number.
//   init, count, energy_status, power_status: what calls return;  gpus;  energyN, powerN: of GPU N, in mJ and mW
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long long value_of(const char* wanted) {
  const char* path = getenv("FAKE_NVML");
  FILE* file = path ? fopen(path, "r") : NULL;
  char key[64];
  unsigned long long value = 0, found = 0;
  while (file && fscanf(file, "%63s %llu", key, &value) == 2)
    if (strcmp(key, wanted) == 0) found = value;
  if (file) fclose(file);
  return found;
}

static unsigned long long value_of_gpu(const char* what, const void* device) {
  char key[64];
  snprintf(key, sizeof key, "%s%d", what, (int)(uintptr_t)device - 1);
  return value_of(key);
}

int nvmlInit_v2(void) {
  return (int)value_of("init");
}
int nvmlShutdown(void) {
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = (unsigned)value_of("gpus");
  return (int)value_of("count");
}
int nvmlDeviceGetHandleByIndex_v2(unsigned at, void** device) {
  *device = (void*)((uintptr_t)at + 1);
  return 0;
}
int nvmlDeviceGetName(void* device, char* name, unsigned bytes) {
  snprintf(name, bytes, "Fake %d", (int)(uintptr_t)device - 1);
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* energy) {
  *energy = value_of_gpu("energy", device);
  return (int)value_of("energy_status");
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* power) {
  *power = (unsigned)value_of_gpu("power", device);
  return (int)value_of("power_status");
}
const char* nvmlErrorString(int status) {
  return status == 3 ? "Not Supported" : status == 15 ? "GPU is lost" : "Driver Not Loaded";
}
