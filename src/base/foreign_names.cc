#include "base/foreign_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace pantoum::base {
namespace {

struct ForeignNames {
  std::string_view list;   // a name of the list that is asked for
  std::string_view words;  // each with a space on both sides, in small letters and digits alone
  std::string_view answer;
};

constexpr std::string_view kLosses = "cross_entropy", kOptimizers = "adamw", kDevices = "m4", kTargets = "cortex-m4f";

constexpr std::array kForeign{
    ForeignNames{kLosses, " sparsecategoricalcrossentropy sparsecategorical sparsece ce ",
                 "cross_entropy takes logits, and labels as numbers of classes"},
    ForeignNames{kLosses, " categoricalcrossentropy softmaxcrossentropy softmaxcrossentropywithlogits ",
                 "soft_cross_entropy takes one-hot labels; cross_entropy takes numbers of classes"},
    ForeignNames{kLosses, " binarycrossentropy bce bcewithlogits logistic sigmoidcrossentropy logloss ",
                 "bce_with_logits takes the output before the sigmoid: leave the sigmoid out"},
    ForeignNames{kLosses, " mae meanabsoluteerror absoluteerror ", "the mean absolute error is l1"},
    ForeignNames{kLosses, " meansquarederror l2 squarederror ", "the mean squared error is mse"},
    ForeignNames{kLosses, " huber smoothl1 ", "smooth_l1 with beta=1 is Huber's loss with delta 1"},
    ForeignNames{kLosses, " negativeloglikelihood loglikelihood ", "nll takes logarithms of probabilities"},
    ForeignNames{kLosses, " kldivergence kullbackleiblerdivergence kl kld ", "the divergence is kl_div"},
    ForeignNames{kLosses, " hinge squaredhinge triplet tripletmargin ctc cosinesimilarity cosineembedding cosine poisson "
                          "poissonnll focal dice contrastive logcosh arcface ",
                 "there is no loss of this name: a torch module may compute its own, which pantoum.compile captures"},
    ForeignNames{kOptimizers, " momentum nesterov sgdm ", "sgd has it as a setting: sgd,momentum=0.9"},
    ForeignNames{kOptimizers, " amsgrad ", "adam has it as a setting: adam,amsgrad=true"},
    ForeignNames{kOptimizers, " adam8bit pagedadam adamw8bit pagedadamw ",
                 "moments are 32 bits wide, and paged where that saves RAM: adamw"},
    ForeignNames{kOptimizers,
                 " lion lamb lars adafactor adamax nadam radam adadelta sophia shampoo muon adabelief adan ftrl rprop asgd "
                 "sparseadam lbfgs yogi ",
                 "there is no optimizer of this name, and adamw is the nearest; add_optimizer adds one of your own"},
    ForeignNames{kDevices, " esp32 esp32s3 esp32s2 esp32c3 esp32c6 esp8266 k210 riscv ",
                 "there is no profile of this chip: copy the one of m7, and give its RAM, clock and storage in a .toml"},
    ForeignNames{kDevices, " stm32 stm32f4 stm32l4 stm32g4 nrf52 nrf52840 nucleo arduino nano33 cortexm4 cortexm4f cortexm33 m33 m3 "
                           "cortexm3 apollo3 ",
                 "m4 is a Cortex-M4; give the board's RAM with --ram"},
    ForeignNames{kDevices, " stm32f7 stm32h7 teensy teensy40 teensy41 portenta imxrt cortexm7 cortexm55 m55 m85 ",
                 "m7 is a Cortex-M7; give the board's RAM with --ram"},
    ForeignNames{kDevices, " rp2040 rp2350 pico raspberrypipico microbit samd21 cortexm0 cortexm0plus ",
                 "m0 is a Cortex-M0; give the board's RAM with --ram"},
    ForeignNames{kDevices, " raspberrypi raspberrypi3 raspberrypi4 raspberrypi5 raspi rpi rpi3 rpi4 rpi5 pi pi3 cortexa53 "
                           "cortexa72 cortexa76 arm64 aarch64 ",
                 "a53, pi4 and pi5 are the Raspberry Pis 3, 4 and 5; on a board itself, host is it"},
    ForeignNames{kDevices, " jetson nano jetsonnano orin jetsontx2 xavier ", "jetson-orin and tx2 are the processors of Jetsons, without their GPUs"},
    ForeignNames{kDevices, " iphone ios ipad android phone pixel ", "iphone-13 and iphone-15 are phones"},
    ForeignNames{kDevices, " gpu cuda cuda0 rocm hip mps metal tpu npu xpu vulkan opencl ",
                 "only processors compute here: host is this machine's"},
    ForeignNames{kDevices, " cpu pc laptop desktop server x86 x8664 amd64 linux local this ", "host is this machine"},
    ForeignNames{kTargets, " esp32 esp32s3 esp32c3 esp8266 riscv k210 avr uno ",
                 "there is no start-up code of this chip: posix writes plain C99, whose board/ your SDK replaces"},
    ForeignNames{kTargets, " stm32 stm32f4 stm32l4 stm32g4 nrf52 nrf52840 arduino nano33 m4 m4f cortexm4 cortexm33 nucleo ",
                 "that is a Cortex-M4 with floating point in most boards: cortex-m4f"},
    ForeignNames{kTargets, " stm32f7 stm32h7 teensy teensy40 teensy41 imxrt portenta m7 ", "that is a Cortex-M7: cortex-m7"},
    ForeignNames{kTargets, " rp2040 pico raspberrypipico samd21 microbit m0 m0plus ", "that is a Cortex-M0: cortex-m0"},
    ForeignNames{kTargets, " linux pc host x86 cpu raspberrypi rpi arm64 a72 ", "posix runs on Linux"},
};

std::string letters_of(const std::string& word) {
  std::string letters;
  for (const char each : word)
    if (const auto letter = static_cast<unsigned char>(each); std::isalnum(letter) != 0)
      letters += static_cast<char>(std::tolower(letter));
  return letters;
}

}  // namespace

std::string foreign_name(const std::string& word, const std::vector<std::string>& names) {
  std::string letters = letters_of(word);
  const auto answer = [&]() -> std::string {
    for (const ForeignNames& each : kForeign)
      if (each.words.find(" " + letters + " ") != std::string_view::npos &&
          std::find(names.begin(), names.end(), each.list) != names.end())
        return std::string(each.answer);
    return "";
  };
  if (letters.empty()) return "";
  std::string found = answer();
  constexpr std::string_view kLoss = "loss";
  if (!found.empty() || !letters.ends_with(kLoss)) return found;
  letters.resize(letters.size() - kLoss.size());
  return answer();
}

}  // namespace pantoum::base
