// Lists of several queues: what one takes, and the offsets that make its ops wait least.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "plan/realize/engine_model.h"

namespace pantoum::plan {

// A list without offsets and frees: a tensor leaves RAM after its last use before it is made or read again.
struct Entry {
  Do what = Do::kCompute;  // never kFree
  int32_t subject = 0;     // op or tensor
  int32_t way = 0;         // of a compute
  // Which of the free offsets it takes. The first two: of those that are free first.
  enum class Offset : uint8_t { kTightest, kLowest, kTightestOfAll, kLowestOfAll, kHighestOfAll };
  static constexpr size_t kOffsets = 5;
  Offset offset = Offset::kTightest;
  // Offsets of the first two outputs, or of what is paged in, and of the workspace: taken where they are free; -1: none.
  std::array<Bytes, 3> wanted = {-1, -1, -1};

  bool operator==(const Entry&) const = default;
};
using List = std::vector<Entry>;

struct ListFigures {
  bool valid = false;  // every input is there when it is read, and all is where it must be at the end
  Bytes peak_bytes = 0, arena_bytes = 0, storage_bytes = 0;
  size_t peak_at = 0;  // the entry during which peak_bytes are there; of least()
  Seconds seconds = 0;
  Joules joules = 0;
};

// Runs lists of one model. Keeps its memory between runs.
class EngineRun {
 public:
  explicit EngineRun(const EngineModel& model);
  ~EngineRun();

  // Gives every allocation the offset at which it waits least, of those within the budget, and runs the list.
  //   plan    receives the instructions, offsets and places in storage, if it is not null
  //   begins, ends  receive the seconds at which each entry begins and ends, if they are not null
  //   cost  near (entries) x (allocations that are live, or whose last use has not ended)
  ListFigures run(const List& list, Plan* plan = nullptr, std::vector<Seconds>* begins = nullptr,
                  std::vector<Seconds>* ends = nullptr);
  // As run(list), in less time where the list begins as the one that was kept last.
  ListFigures run_near(const List& list);
  // Keeps what run_near(list), the last call of this object, went through.
  void keep(const List& list);
  // A lower bound of what run() finds, without offsets: bytes are there when they are wanted. A list that is valid here may be invalid there.
  //   begins, ends  as those of run()
  //   cost  near the number of entries and of what they read and write
  ListFigures least(const List& list, std::vector<Seconds>* begins = nullptr, std::vector<Seconds>* ends = nullptr);
  // Looks for offsets of all that the list holds in RAM, whatever waits they make, and lets the entries want them.
  //   seconds, steps  of the placement, as place::PlaceOptions has them
  //   returns         0, or by how many bytes at least the arena exceeds the budget with the best offsets found; nothing: the list is
  //                   not valid
  std::optional<Bytes> place(List& list, double seconds, int64_t steps);
  // Runs a plan with the offsets that it has. Overlaps are the placement's business.
  std::optional<Predicted> predict(const Plan& plan, Freedoms* used);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace pantoum::plan
