#include "base/foreign_names.h"

#include <gtest/gtest.h>

#include "base/nearest_name.h"

namespace pantoum::base {
namespace {

const std::vector<std::string> kLosses{"cross_entropy", "soft_cross_entropy", "mse", "l1", "bce_with_logits"};
const std::vector<std::string> kOptimizers{"sgd", "adam", "adamw"};
const std::vector<std::string> kDevices{"host", "m4", "m7", "pi4"}, kTargets{"cortex-m4f", "posix"};

TEST(ForeignNames, AreToldByWhatTheyAreHere) {
  const auto says = [](const char* word, const std::vector<std::string>& names, const char* words) {
    EXPECT_NE(foreign_name(word, names).find(words), std::string::npos) << word << ": " << foreign_name(word, names);
  };
  for (const char* word : {"mae", "MAE", "mean_absolute_error", "MeanAbsoluteError"}) says(word, kLosses, "is l1");
  for (const char* word : {"sparse_categorical_crossentropy", "SparseCategoricalCrossentropy"})
    says(word, kLosses, "cross_entropy takes logits");
  for (const char* word : {"bce", "BCELoss", "BCEWithLogitsLoss", "binary_crossentropy"}) says(word, kLosses, "bce_with_logits");
  for (const char* word : {"lion", "LAMB", "nadam", "L-BFGS"}) says(word, kOptimizers, "adamw is the nearest");
  for (const char* word : {"esp32", "ESP32-S3"}) says(word, kDevices, "m7"), says(word, kTargets, "posix");
  for (const char* word : {"raspberrypi", "Raspberry-Pi-5", "RPi4"}) says(word, kDevices, "pi5");
  for (const char* word : {"cuda", "gpu", "mps", "TPU"}) says(word, kDevices, "only processors");
}

TEST(ForeignNames, AreOfOneListAlone) {
  EXPECT_EQ(foreign_name("mae", kOptimizers), "");
  EXPECT_EQ(foreign_name("lion", kLosses), "");
  EXPECT_EQ(foreign_name("esp32", {"on", "off"}), "");
  for (const char* word : {"", "-", "loss", "frobnicate"}) EXPECT_EQ(foreign_name(word, kLosses), "") << word;
}

TEST(ForeignNames, StandBehindTheNamesThatAreHere) {
  EXPECT_EQ(hint_at("MSE", kLosses), "did you mean mse? ");
  EXPECT_EQ(hint_at("adma", kOptimizers), "did you mean adam? ");
  EXPECT_EQ(hint_at("mae", kLosses), "the mean absolute error is l1; ");
  EXPECT_EQ(hint_at("quux", kLosses), "");
}

}  // namespace
}  // namespace pantoum::base
