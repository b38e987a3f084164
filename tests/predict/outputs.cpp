// The outputs of a plan in C++, as outputs.c has them in C: outputs PLAN WEIGHTS SAMPLES FOLDER INPUT...
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <numeric>
#include <pantoum/pantoum.hpp>
#include <span>
#include <string>
#include <vector>

#include "allocations.h"

namespace {

std::vector<char> read_whole(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int count, char** words) try {
  if (count < 6) return 2;
  const auto plan = pantoum::Plan::load(words[1]).value();
  auto trainer = pantoum::Trainer::create(plan, {.weights = words[2]}).value();
  const auto samples = std::strtoull(words[3], nullptr, 10);
  std::vector<std::vector<char>> held;
  for (int at = 5; at < count; ++at) held.push_back(read_whole(words[at]));
  pantoum::Batch inputs;
  for (const auto& tensor : trainer.prediction_inputs())
    inputs.push_back(pantoum::Array(tensor.dtype, std::as_bytes(std::span(held.at(inputs.size())))));
  std::vector<std::vector<std::byte>> outputs;
  for (const auto& tensor : trainer.outputs()) {
    const auto elements = std::accumulate(tensor.shape.begin() + 1, tensor.shape.end(), int64_t{1}, std::multiplies<>());
    outputs.emplace_back(static_cast<size_t>(elements) * samples * pantoum::element_size(tensor.dtype));
  }
  const std::vector<std::span<std::byte>> rooms(outputs.begin(), outputs.end());
  counting = 1;
  const auto done = trainer.predict(inputs, rooms);
  counting = 0;
  done.value();
  for (size_t at = 0; at < outputs.size(); ++at)
    std::ofstream(std::string(words[4]) + "/" + std::to_string(at) + ".bin", std::ios::binary)
        .write(reinterpret_cast<const char*>(outputs[at].data()), static_cast<std::streamsize>(outputs[at].size()));
  std::cout << outputs.size() << " " << trainer.usage().arena_bytes << " " << counted << "\n";
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what();
  return 1;
}
