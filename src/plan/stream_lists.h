// Lists of graphs whose choices stream, in the graph's order, with updates behind the readers of what they update where the
// question leaves the order free.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "plan/realize/engine_run.h"
#include "plan/simulate/plan_options.h"

namespace pantoum::plan {

// Which choice an op takes follows from what stays in RAM from one use to the next: the cheapest that fits beside it. So a
// list is searched for by what stays, and its costs are sums over ops, without waits and offsets.
class StreamLists {
 public:
  // Keeps the model by reference; it is a model with streams.
  explicit StreamLists(const EngineModel& model);
  ~StreamLists();

  // Searches for a list whose bytes sum up to at most `capacity` at each op. A move lets a tensor stay, or no longer.
  //   objective  kEnergy, kTime, or kEdp: a joule and a second by what the first list takes
  //   done       which share of the search is done after so many moves; asked now and then; at 1 the search ends
  //   returns    an empty list where the search finds none
  List find(Objective objective, Bytes capacity, uint64_t seed, const std::function<double(int64_t)>& done);

  // The list in which nothing stays and each op takes the choice of the least working set: near the least RAM. Empty where tensors have to stay.
  List leanest();

 private:
  class Search;
  std::unique_ptr<Search> search_;
};

}  // namespace pantoum::plan
