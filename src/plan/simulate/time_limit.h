// One time limit, and what each attempt gets of it.
//
// Planning is a list of attempts (time_limit.cc): each asks the planner, or does a part of what the planner does, and takes
// a share of the one limit that the user gave. Every share stands in that table, with its reason. A fixed effort
// (PlanOptions::effort) takes the place of the clock; then shares of rounds count, and no share of seconds.
#pragma once

#include <chrono>
#include <cstdint>

#include "plan/simulate/indices.h"

namespace pantoum::plan {

enum class Attempt : uint8_t {  // in the order of the table
  // Before the first question.
  kMeasureMachine,
  kMeasureOverLongLimit,
  kMeasureStorage,
  kFindGraphs,
  // Questions about the whole step (plan/attempts).
  kSumWithEngine,
  kHeldBackTransfers,
  kChooseGraph,
  kTryGraph,
  kFirstChoices,
  kFirstGraph,
  kOtherProgramsFirst,
  kTraining,
  kOtherProgram,
  // Orders and refusals (planner.cc, infeasibility.cc).
  kTryOrder,
  kTryOrders,
  kLeastOfLimit,
  // Within one question (plan_search.cc).
  kStartByEnergy,
  kUntilAnyPlan,
  kSearchWithTransfers,
  kSearchByEnergy,
  kSearchInRam,
  kSearchInRamAgain,
  kSearchesInRam,
  kSearchAgain,
  kAnnealingRound,
  kSettleTies,
  // Offsets (realize.cc, plan_search.cc).
  kPlacing,
  kPlacingPatiently,
  kPlacingAgain,
  kPlacingFirst,
  // The bound (prover.h, bound_search.h, lp_bound.cc).
  kProveAnyOrder,
  kBranchOnOneSet,
  kFullestChain,
  kAttemptCount
};

// Returns the attempt's share. The table says what it is a share of.
double share_of(Attempt attempt);

// The clock of one limit, from the moment that it is made.
class TimeLimit {
 public:
  using Clock = std::chrono::steady_clock;
  explicit TimeLimit(Seconds limit, Clock::time_point begin = Clock::now()) : limit_(limit), begin_(begin) {}

  Seconds limit() const { return limit_; }
  Seconds elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  Seconds left() const { return limit_ - elapsed(); }
  Clock::time_point end() const {
    return begin_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit_));
  }
  bool over() const { return left() <= kLeast; }
  // All that is left, or the little that an attempt gets in any case.
  Seconds rest() const { return left() > kLeast ? left() : kLeast; }
  // The attempt's share of the limit, or of the rest.
  Seconds for_attempt(Attempt attempt) const;

 private:
  static constexpr Seconds kLeast = 0.05;  // is enough where no tensor has to be given up
  Seconds limit_;
  Clock::time_point begin_;
};

}  // namespace pantoum::plan
