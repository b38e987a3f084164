// The command line that asks a plan's question again.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace pantoum::report {

enum class Followed { kByNothing, kByTraining, kByBoard };  // a plan, as its logs tell

// "pantoum train cnn.onnx --batch 128 ...", from the options that the plan keeps (`model`, `request`; null: a bare cost
// graph's, of which `asked` tells what can be told). What is as it is by default is left out; the data's place is not kept.
[[nodiscard]] std::string command_of(const nlohmann::ordered_json& model, const nlohmann::ordered_json& request,
                                     const nlohmann::ordered_json& asked, Followed followed);

}  // namespace pantoum::report
