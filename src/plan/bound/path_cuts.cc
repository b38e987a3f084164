#include "plan/bound/path_cuts.h"

#include <algorithm>

#include "plan/bound/relaxation.h"

namespace pantoum::plan {
namespace {

size_t z(int32_t index) {
  return static_cast<size_t>(index);
}

constexpr double kStep = 0.02;  // a wider window must violate by so much more

class PathSeparator {
 public:
  PathSeparator(const Relaxation& relaxation, const std::vector<double>& point, double tolerance)
      : relaxation_(relaxation),
        model_(relaxation.model()),
        point_(point),
        tolerance_(tolerance),
        step_(relaxation.model().uses(Switch::kPathStep) ? kStep : 0) {
    value_.assign(model_.tensors.size(), 1);
    via_.assign(model_.tensors.size(), -1);
    ins_.assign(model_.tensors.size(), 0);
    computes_.assign(model_.ops.size(), 0);
    for (size_t tensor = 0; tensor < model_.tensors.size(); ++tensor) by_stage_.push_back(static_cast<int32_t>(tensor));
    std::stable_sort(by_stage_.begin(), by_stage_.end(), [&](int32_t a, int32_t b) {
      return model_.tensors[z(a)].producer < model_.tensors[z(b)].producer;
    });
  }

  std::vector<Row> run(const std::function<bool()>& stop) {
    std::vector<Row> cuts;
    for (int32_t last = 1; last < relaxation_.segments() && !stop(); ++last) {
      const std::vector<int32_t>& needs = relaxation_.needs(last);
      if (needs.empty()) continue;
      std::vector<double> worst(needs.size(), 1 - tolerance_);
      std::fill(ins_.begin(), ins_.end(), 0.0), std::fill(computes_.begin(), computes_.end(), 0.0);
      add_segment(last);
      for (int32_t first = last - 1; first >= 0; --first) {
        add_segment(first);
        evaluate(first, last);
        for (size_t need = 0; need < needs.size(); ++need) {
          if (value_[z(needs[need])] >= worst[need] - step_) continue;
          worst[need] = value_[z(needs[need])];
          cuts.push_back(cut(needs[need], first, last));
        }
      }
    }
    return cuts;
  }

 private:
  // Not below 0, as a solver's zeros may be: a path would go on through an op that cannot be recomputed, to tensors that
  // have no columns.
  [[nodiscard]] double at(int32_t column) const { return column < 0 ? 0 : std::max(0.0, point_[z(column)]); }

  void add_segment(int32_t segment) {
    for (size_t tensor = 0; tensor < ins_.size(); ++tensor)
      ins_[tensor] += at(relaxation_.paged_in(segment, static_cast<int32_t>(tensor)));
    for (size_t op = 0; op < computes_.size(); ++op)
      computes_[op] += at(relaxation_.recomputed(segment, static_cast<int32_t>(op)));
  }

  // Does a path cut count what was written rather than what was read?
  [[nodiscard]] bool by_writing(int32_t tensor) const {
    return model_.tensors[z(tensor)].start != problem::Home::kAux && model_.uses(Switch::kStoredOnce);
  }
  [[nodiscard]] bool flows(int32_t first) const { return first > 0 && relaxation_.flows(first - 1); }
  [[nodiscard]] double copied(int32_t tensor, int32_t first) const {
    if (!flows(first)) return at(relaxation_.paged_out(tensor));
    return at(relaxation_.written(first - 1, tensor)) + at(relaxation_.in_flight(first - 1, tensor));
  }
  [[nodiscard]] double own(int32_t tensor, int32_t first) const {
    const double paged = !by_writing(tensor) ? ins_[z(tensor)] : std::min(ins_[z(tensor)], copied(tensor, first));
    return at(relaxation_.in_ram(first, tensor)) + paged;
  }

  void evaluate(int32_t first, int32_t last) {
    for (const int32_t tensor : by_stage_) {
      const TensorModel& entry = model_.tensors[z(tensor)];
      via_[z(tensor)] = -1;
      value_[z(tensor)] = 1;
      const bool free =
          relaxation_.definition_segment(tensor) >= first || (first == 0 && relaxation_.definition_segment(tensor) < 0);
      if (entry.pinned || relaxation_.definition_segment(tensor) > last || (relaxation_.defined(tensor) && free))
        continue;
      double made = 0;
      if (entry.producer >= 0) {
        made = computes_[z(entry.producer)];
        for (const int32_t input : relaxation_.reads(entry.producer))
          if (value_[z(input)] < made) made = value_[z(input)], via_[z(tensor)] = input;
      }
      value_[z(tensor)] = std::min(1.0, own(tensor, first) + made);
    }
  }

  [[nodiscard]] Row cut(int32_t tensor, int32_t first, int32_t last) const {
    Row row{.lower = 1, .rule = Rule::kPath, .of = {first, last}};
    const auto add = [&](int32_t column) {
      if (column >= 0) row.terms.push_back({column, 1});
    };
    for (;; tensor = via_[z(tensor)]) {
      add(relaxation_.in_ram(first, tensor));
      const int32_t out = relaxation_.paged_out(tensor);
      const bool once = by_writing(tensor) && out >= 0 && copied(tensor, first) < ins_[z(tensor)];
      row.of.insert(row.of.end(), {tensor, !once ? 0 : flows(first) ? 2 : 1});
      if (once && flows(first))
        add(relaxation_.written(first - 1, tensor)), add(relaxation_.in_flight(first - 1, tensor));
      else if (once)
        add(out);
      else
        for (int32_t segment = first; segment <= last; ++segment) add(relaxation_.paged_in(segment, tensor));
      if (via_[z(tensor)] < 0) break;
    }
    const int32_t producer = model_.tensors[z(tensor)].producer;
    for (int32_t segment = first; producer >= 0 && segment <= last; ++segment)
      add(relaxation_.recomputed(segment, producer));
    return row;
  }

  const Relaxation& relaxation_;
  const Model& model_;
  const std::vector<double>& point_;
  const double tolerance_, step_;
  std::vector<int32_t> by_stage_, via_;
  std::vector<double> value_, ins_, computes_;
};

}  // namespace

std::vector<Row> path_cuts(const Relaxation& relaxation, const std::vector<double>& point, double tolerance,
                           const std::function<bool()>& stop) {
  return PathSeparator(relaxation, point, tolerance).run(stop);
}

}  // namespace pantoum::plan
