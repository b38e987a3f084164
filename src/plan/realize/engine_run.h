// Lists of several engines: what one takes, and the offsets that make its ops wait least.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/simulate/indices.h"

namespace pantoum::plan {

// A set of engines, a bit each in the order of the device. The pager is none of them.
using Engines = uint64_t;

// The cost graph with tensors, ops and engines by index.
struct EngineModel {
  struct Way {                                            // a choice
    std::vector<int32_t> reads;                           // without what is in rom
    std::vector<int32_t> writes;                          // in the order of the choice's "writes"
    std::vector<std::pair<int32_t, int32_t>> overwrites;  // tensors: output, input
    Bytes workspace = 0;
    Seconds seconds = 0, launch = 0;
    Joules joules = 0;
    Engines engines = 0;
    size_t user = 0;        // which of `users` these engines are
    bool permitted = true;  // of the numerics that the question allows
  };
  struct Op {
    std::vector<Way> ways;
    bool again = true;  // may be recomputed
    bool optional = false;
  };
  struct Tensor {
    Bytes bytes = 0, slot = 0;  // slot: whole blocks of the storage
    Home start = Home::kNone;
    bool pinned = false;
    bool ends_in_ram = false, ends_in_storage = false;
    int32_t home = -1;  // it has to end where this tensor started; -1: anywhere
    int32_t next = -1;
    int32_t maker = -1;  // the op that writes it
  };

  // `starts`: a plan that says where tensors start and where the staging buffer is; null: one behind the other.
  EngineModel(const CostGraph& graph, const Question& question, const Plan* starts = nullptr);

  const CostGraph* graph;
  Question question;
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  std::vector<int32_t> order;  // ops
  std::vector<Engines> users;  // who uses bytes: the pager (no engine), and each set of engines that a choice names
  std::vector<Seconds> hand_overs;  // from user a to user b: at a * users.size() + b
  std::vector<Seconds> hand_offs;   // by engine
  Seconds longest_hand_off = 0;
  Bytes align = 1, staging = 0;
  const Plan* starts;
};

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
  // Runs a plan with the offsets that it has. Overlaps are the placement's business.
  std::optional<Predicted> predict(const Plan& plan, Freedoms* used);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace pantoum::plan
