// The names of a plan's tensors and ops.
#pragma once

#include <fmt/format.h>

#include <string>
#include <unordered_map>

#include "problem/plan.h"
#include "report/timeline.h"

namespace pantoum::report {

[[nodiscard]] inline const char* name_of(Resident::Role role) {
  constexpr const char* kNames[]{"held", "read", "written", "arriving", "leaving", "workspace", "staging"};
  return kNames[static_cast<size_t>(role)];
}

class Names {
 public:
  explicit Names(const problem::CostGraph& graph) {
    for (const problem::Tensor& tensor : graph.tensors) tensors_[tensor.id] = tensor.name;
    for (const problem::Op& op : graph.ops) ops_[op.id] = op.name;
  }
  [[nodiscard]] std::string tensor(int64_t id) const { return named(tensors_, id, "tensor"); }
  [[nodiscard]] std::string op(int64_t id) const { return named(ops_, id, "op"); }
  // Returns what an instruction does, such as "page_in x".
  [[nodiscard]] std::string of(const problem::Instruction& step) const {
    switch (step.what) {
      case problem::Do::kCompute:
        return "compute " + op(step.subject);
      case problem::Do::kPageOut:
        return "page_out " + tensor(step.subject);
      case problem::Do::kPageIn:
        return "page_in " + tensor(step.subject);
      default:
        return "free " + tensor(step.subject);
    }
  }
  // Returns the tensor's name, or the purpose of the bytes.
  [[nodiscard]] std::string of(const Resident& resident) const {
    return resident.tensor >= 0 ? tensor(resident.tensor) : name_of(resident.role);
  }

 private:
  using Table = std::unordered_map<int64_t, std::string>;
  static std::string named(const Table& table, int64_t id, const char* kind) {
    const auto found = table.find(id);
    return found == table.end() || found->second.empty() ? fmt::format("{} {}", kind, id) : found->second;
  }
  Table tensors_, ops_;
};

}  // namespace pantoum::report
