#include <array>

#include "plan/baselines/baseline.h"
#include "plan/baselines/capuchin.h"
#include "plan/baselines/checkmate.h"
#include "plan/baselines/chen.h"
#include "plan/baselines/dtr.h"
#include "plan/baselines/griewank.h"
#include "plan/baselines/keep.h"
#include "plan/baselines/poet.h"
#include "plan/baselines/pofo.h"
#include "plan/baselines/port.h"

namespace pantoum::plan {

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
