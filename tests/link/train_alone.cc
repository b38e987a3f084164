// The trainer without the compiler: weights that are not there are refused with its code.
#include <cstdio>

#include "train/trainer.h"

int main() {
  const auto trainer = pantoum::train::Trainer::create({}, "no-such-weights.safetensors", {});
  if (trainer || trainer.error().code != "E0201") {
    std::printf("missing weights: %s\n", trainer ? "accepted" : trainer.error().code.c_str());
    return 1;
  }
  return 0;
}
