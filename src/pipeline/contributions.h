// The table of --contributions: what training each tensor is worth, as its user measured it.
//
//   tensor,contribution
//   layer4.1.conv2.weight,0.021
//   fc.bias,0.4
//   layer4.1.conv1.weight=25%,0.012
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pantoum::pipeline {

// Reads the rows of `text`: a name and a number of 0 or more, by tensor. The first line may be the names of the columns; empty lines and lines that
// begin with # are left out. A name may be in quotes, with "" for a quote. NAME=SHARE is a row
// of a share of NAME's channels, as in --train-channels, which is not read here. `trainable`: the tensors that can be trained; `others`: the model's other
// tensors. E0126, with the line: a row that is none; a name that stands twice, that is no tensor or one that does not train; a number that is none,
// negative or not finite; or nothing above 0.
[[nodiscard]] Result<std::map<std::string, double>> parse_contributions(std::string_view text, const std::string& where,
                                                                        const std::vector<std::string>& trainable,
                                                                        const std::vector<std::string>& others);

}  // namespace pantoum::pipeline
