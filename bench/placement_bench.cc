// Seconds to find offsets, by instance: placement_bench SECONDS FILE...
//   *.csv   MiniMalloc's: id,lower,upper,size with a budget of 1,048,576 bytes
//   others  first line `budget align`, then `begin end size group fixed` per allocation (group, fixed: -1 for none)
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "place/place.h"
#include "testing/placement_judge.h"

namespace {

using pantoum::place::Allocation;

struct Instance {
  std::vector<Allocation> allocations;
  pantoum::place::PlaceOptions options;
};

Instance read_csv(std::ifstream& file) {
  Instance instance;
  instance.options.budget = 1048576;
  std::string line;
  std::getline(file, line);  // the header
  while (std::getline(file, line)) {
    std::stringstream fields(line.substr(line.find(',') + 1));
    char comma = 0;
    Allocation allocation;
    fields >> allocation.begin >> comma >> allocation.end >> comma >> allocation.size;
    instance.allocations.push_back(allocation);
  }
  return instance;
}

Instance read_stays(std::ifstream& file) {
  Instance instance;
  file >> instance.options.budget.emplace() >> instance.options.align;
  Allocation allocation;
  for (int64_t fixed = -1;
       file >> allocation.begin >> allocation.end >> allocation.size >> allocation.group >> fixed;) {
    allocation.fixed.reset();
    if (fixed >= 0) allocation.fixed = fixed;
    instance.allocations.push_back(allocation);
  }
  return instance;
}

void measure(const std::string& path, double seconds) {
  std::ifstream file(path);
  Instance instance = path.ends_with(".csv") ? read_csv(file) : read_stays(file);
  instance.options.seconds = seconds;
  pantoum::place::Shortfall shortfall;
  const auto began = std::chrono::steady_clock::now();
  const auto placement = pantoum::place::place(instance.allocations, instance.options, &shortfall);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::string outcome = placement ? fmt::format("placed, {}", placement->arena_bytes) : "";
  if (!placement) outcome = shortfall.proved ? "none" : fmt::format("not found, {}", shortfall.arena_bytes);
  if (placement && !validate(instance.allocations, *placement, instance.options)) outcome = "wrong";
  fmt::print("{:7.3f} s  {}  {} allocations  {}\n", took.count(), path.substr(path.rfind('/') + 1),
             instance.allocations.size(), outcome);
}

}  // namespace

int main(int count, char** arguments) {
  for (int file = 2; file < count; ++file) measure(arguments[file], std::atof(arguments[1]));
}
