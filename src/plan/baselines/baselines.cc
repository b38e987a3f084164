#include <array>

#include "plan/baselines/methods.h"
#include "plan/baselines/task.h"

namespace pantoum::plan {

// Every tensor stays until its last use, in the given order, in place where the choices allow it; nothing is computed twice or
// paged: what frameworks do. Fits only where the unplanned peak does.
Result<Plan> baseline::keep_everything(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Task task, ask(graph, options, "keep"));
  return plan_policy(task, keep_all(task.model, task.choices));
}

std::span<const Baseline> baselines() {
  static constexpr std::array kAll{
      Baseline{"keep", "every framework's default", baseline::keep_everything},
      Baseline{"griewank", "Griewank, Walther: Algorithm 799, revolve. ACM TOMS 26(1), 2000", baseline::griewank},
      Baseline{"chen-sqrt", "Chen et al.: Training Deep Nets with Sublinear Memory Cost. arXiv 1604.06174, 2016",
               baseline::chen_sqrt},
      Baseline{"chen-greedy", "Chen et al.: the same, Algorithm 3", baseline::chen_greedy},
      Baseline{"capuchin", "Peng et al.: Capuchin. ASPLOS 2020", baseline::capuchin},
      Baseline{"checkmate", "Jain et al.: Checkmate. MLSys 2020", baseline::checkmate},
      Baseline{"checkmate-lp", "Jain et al.: the same, two-phase rounding", baseline::checkmate_lp},
      Baseline{"dtr", "Kirisame et al.: Dynamic Tensor Rematerialization. ICLR 2021", baseline::dtr},
      Baseline{
          "pofo",
          "Beaumont, Eyraud-Dubois, Shilova: Efficient Combination of Rematerialization and Offloading. NeurIPS 2021",
          baseline::pofo},
      Baseline{"poet", "Patil et al.: POET. ICML 2022", baseline::poet},
      Baseline{"port", "Singhvi et al.: Training on Edge Devices with Unified Memory, PORT. 2024", baseline::port},
  };
  return kAll;
}

}  // namespace pantoum::plan
