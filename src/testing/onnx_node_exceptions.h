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
    RefusedForm{"LpPool", "spatial dimensions", "written for one or two dimensions of space"},
    RefusedForm{"ConvTranspose", "output_shape is larger", "the output has columns that no window reaches"},
};

inline const std::map<std::string, std::string> kOnnxNodeExceptions = {
    {"test_batchnorm_epsilon_training_mode",
     "the running variance moves towards the unbiased variance, as PyTorch has it; ONNX takes the biased one"},
    {"test_batchnorm_example_training_mode", "the same"},
    {"test_training_dropout", "what it drops is drawn by Philox, not by numpy's generator"},
    {"test_training_dropout_default", "the same"},
    {"test_training_dropout_default_mask", "the same"},
    {"test_training_dropout_mask", "the same"},
    {"test_bernoulli", "what it draws is drawn by Philox, not by numpy's generator"},
    {"test_bernoulli_expanded", "the same"},
    {"test_bernoulli_double", "the same"},
    {"test_bernoulli_double_expanded", "the same"},
    {"test_bernoulli_seed", "the same"},
    {"test_bernoulli_seed_expanded", "the same"},
    {"test_scan_sum", "Scan of opset 8, which had lengths as its first input"},
    {"test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True",
     "ONNX counts what ceil_mode adds as padding; here, as in PyTorch, it is not counted"},
    {"test_resize_downsample_scales_cubic_align_corners", "as for linear, below"},
    {"test_resize_downsample_scales_linear_align_corners",
     "ONNX aligns the corners of an image of 1.2 x 2.4 elements; here, as in PyTorch, they are those of 1 x 2"},
};

}  // namespace pantoum::import
