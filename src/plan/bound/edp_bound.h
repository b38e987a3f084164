// A lower bound on energy times makespan, from lines that no plan lies below.
//
//   energy |  .  plans            The relaxation proves   energy + price * makespan >= least   for any price of a
//          |\  .   .              second. Price 0 bounds the energy alone, the objective `time` the makespan alone.
//          | \. .    .            What a few such lines leave is a convex region, and the product is least at one of
//          |  \__.______          its corners. The next line is laid through the corner that is least, along the
//          +------------ time     product's own slope there: it cuts the corner off, or is the end.
//
// After Benson's outer approximation (J. Global Optimization, 1998).
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "plan/bound/bounds.h"
#include "plan/bound/lp_bound.h"
#include "plan/simulate/plan_options.h"

namespace pantoum::plan {

struct Line {
  double price = 0, least = 0;  // energy + price * makespan >= least
};

// The corner of least product of what the lines and a least makespan leave; lines without a price bound the energy.
struct Corner {
  Joules energy = 0;
  Seconds time = 0;
  [[nodiscard]] double product() const { return energy * time; }
};
[[nodiscard]] Corner least_corner(const std::vector<Line>& lines, Seconds least_time);

class EdpBound {
 public:
  // `least`: bounds that are known already.
  EdpBound(const Model& model, const PlanOptions& options, const Bounds& least);

  struct Limits {
    std::function<double()> seconds_left;  // <= 0: stop
    std::function<double()> value;         // of the best plan so far; infinity before the first
    int64_t effort = 0;                    // > 0: a fixed amount of work in place of the clock
  };
  // Until the bound is within options.gap of the value, or nothing helps, or the limits. One thread.
  void run(const Limits& limits);

  [[nodiscard]] double bound() const { return bound_.load(); }  // from any thread
  [[nodiscard]] Bounds least() const { return least_; }         // after run()
  // That prove the bound; empty where they prove less. After run().
  [[nodiscard]] std::vector<Certificate> lines() const;

 private:
  bool lay_lines(const std::vector<int32_t>& boundaries, const Limits& limits);
  void lay(RelaxationOptions asked, const std::vector<int32_t>& boundaries, const Limits& limits);
  void lay_through(const Corner& corner, const std::vector<int32_t>& boundaries, const Limits& limits);
  [[nodiscard]] RelaxationOptions question(const Limits& limits) const;
  [[nodiscard]] Corner corner() const;
  [[nodiscard]] bool finished(const Limits& limits) const;

  const Model& model_;
  const PlanOptions& options_;
  Bounds least_;
  std::vector<Line> lines_;             // with a price
  std::vector<Certificate> certified_;  // of energy, makespan and lines_
  std::atomic<double> bound_{0};
  int64_t iterations_ = 0;  // of the simplex
};

}  // namespace pantoum::plan
