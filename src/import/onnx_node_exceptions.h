// Node tests of onnx whose operator runs, but which are refused or do not agree, and why. Tests only.
#pragma once

#include <array>
#include <map>
#include <string>

namespace pantoum::import {

// A form of an operator that is refused: every case whose refusal names the operator and has this text. One that no
// case is refused by is out of date.
struct RefusedForm {
  const char* op_type;
  const char* refusal;
  const char* reason;
};

inline constexpr std::array kRefusedForms = {
    RefusedForm{"AveragePool", "spatial dimensions", "pooling knows one or two dimensions of space"},
    RefusedForm{"MaxPool", "spatial dimensions", "pooling knows one or two dimensions of space"},
    RefusedForm{"LpPool", "spatial dimensions", "pooling knows one or two dimensions of space"},
    RefusedForm{"ConvTranspose", "spatial dimensions", "convolution knows one or two dimensions of space"},
    RefusedForm{"MaxPool", "its indices are used", "the kernel does not tell where a maximum was"},
    RefusedForm{"ConvTranspose", "output_shape is larger", "the output has columns that no window reaches"},
    RefusedForm{"Resize", "its mode is 'cubic'", "the kernel interpolates between two elements, not four"},
    RefusedForm{"Resize", "it smooths (antialias)", "the kernel reads two elements, however far it shrinks"},
    RefusedForm{"Resize", "its coordinates are", "coordinates that no exporter of PyTorch writes"},
    RefusedForm{"Resize", "it keeps the aspect ratio", "no exporter of PyTorch writes it"},
    RefusedForm{"ScatterElements", "it reduces", "only the last of several updates is kept"},
    RefusedForm{"ScatterND", "it reduces", "only the last of several updates is kept"},
    RefusedForm{"OneHot", "its depth are not constant", "a depth in floating point is no size"},
};

inline const std::map<std::string, std::string> kOnnxNodeExceptions = {
    {"test_batchnorm_epsilon_training_mode",
     "the running variance moves towards the unbiased variance, as PyTorch has it; ONNX takes the biased one"},
    {"test_batchnorm_example_training_mode", "the same"},
    {"test_training_dropout", "what it drops is drawn by Philox, not by numpy's generator"},
    {"test_training_dropout_default", "the same"},
    {"test_training_dropout_default_mask", "the same"},
    {"test_training_dropout_mask", "the same"},
    {"test_resize_downsample_scales_linear_align_corners",
     "ONNX aligns the corners of an image of 1.2 x 2.4 elements; here, as in PyTorch, they are those of 1 x 2"},
};

}  // namespace pantoum::import
