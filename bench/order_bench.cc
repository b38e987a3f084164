// What the order of least memory saves, by cost graph: order_bench SHARE STEPS FOLDER FILE...
//   SHARE   the budget, of the unplanned peak of updates_last's order; the bytes over it are compared too
//   STEPS   0: as many as suit the graph
//   FOLDER  the graph is written there in the orders that are worth planning in, as NAME.0.json and so on; -: nowhere
//   a row   ops, the unplanned peak before and now, the bound, bytes over the budget (now / before), seconds
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>

#include "plan/order/least_memory_order.h"
#include "plan/simulate/plan_options.h"
#include "plan/simulate/simulate.h"
#include "problem/cost_graph_json.h"

namespace {

using namespace pantoum;
using namespace pantoum::plan;

struct Memory {
  Bytes peak = 0;
  double over = 0;
};

// Of the graph's order, or what updates_last makes of it.
Memory memory_of(const CostGraph& graph, const Question& question) {
  const Model model = make_model(graph, {.question = question});
  Simulator simulator(model, {.question = question});
  simulator.reset(keep_all(model, first_choices(model, question.objective)));
  Memory memory;
  for (Stage stage = 0; stage <= model.end(); ++stage) {
    memory.peak = std::max(memory.peak, simulator.peak(stage));
    memory.over += static_cast<double>(std::max<Bytes>(0, simulator.peak(stage) - question.budget_bytes()));
  }
  return memory;
}

void write_candidates(CostGraph graph, const Question& question, std::string path) {
  const auto orders = candidate_orders(graph, {.question = question});
  path.resize(path.rfind('.'));
  for (size_t order = 0; order < orders.size(); ++order) {
    graph.order = orders[order];
    const Memory memory = memory_of(graph, question);
    fmt::print("    order {}  peak {}  over {:.4g}\n", order, memory.peak, memory.over);
    if (!problem::write_cost_graph(graph, fmt::format("{}.{}.json", path, order)))
      fmt::print("not written: {}\n", path);
  }
}

void measure(const std::string& path, double share, int64_t steps, const std::string& folder) {
  auto graph = problem::read_cost_graph(path);
  if (!graph) {
    fmt::print("{}: {}\n", path, graph.error().message);
    return;
  }
  Question question;
  question.budget = std::max<Bytes>(1, static_cast<Bytes>(share * static_cast<double>(memory_of(*graph, {}).peak)));
  const Memory before = memory_of(*graph, question);
  const auto began = std::chrono::steady_clock::now();
  const MemoryOrder found = least_memory_order(*graph, question, {.stop = {}, .steps = steps});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  CostGraph reordered = *graph;
  reordered.order = found.order;
  const Memory now = memory_of(reordered, question);
  const auto part = [](double of, double whole) { return whole > 0 ? of / whole : 1.0; };
  fmt::print("{:30} {:6} ops  peak {:13} -> {:13} ({:.4f})  bound {:13} ({:.4f} of it)  over {:.4f}  {:7.3f} s\n",
             path.substr(path.rfind('/') + 1), graph->ops.size(), before.peak, now.peak,
             part(static_cast<double>(now.peak), static_cast<double>(before.peak)), found.bound_bytes,
             part(static_cast<double>(found.bound_bytes), static_cast<double>(now.peak)), part(now.over, before.over),
             took.count());
  if (folder != "-") write_candidates(*graph, question, folder + path.substr(path.rfind('/')));
}

}  // namespace

int main(int count, char** arguments) {
  for (int file = 4; file < count; ++file)
    measure(arguments[file], std::atof(arguments[1]), std::atoll(arguments[2]), arguments[3]);
}
