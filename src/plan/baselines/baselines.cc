#include <array>

#include "plan/baseline.h"
#include "plan/baselines/capuchin.h"
#include "plan/baselines/chen.h"
#include "plan/baselines/dtr.h"
#include "plan/baselines/griewank.h"
#include "plan/baselines/keep.h"

namespace pantoum::plan {

std::span<const Baseline> baselines() {
  static constexpr std::array kAll{
      Baseline{"keep", "every framework's default", baseline::keep_everything},
      Baseline{"griewank", "Griewank, Walther: Algorithm 799, revolve. ACM TOMS 26(1), 2000", baseline::griewank},
      Baseline{"chen-sqrt", "Chen et al.: Training Deep Nets with Sublinear Memory Cost. arXiv 1604.06174, 2016",
               baseline::chen_sqrt},
      Baseline{"chen-greedy", "Chen et al.: the same, Algorithm 3", baseline::chen_greedy},
      Baseline{"capuchin", "Peng et al.: Capuchin. ASPLOS 2020", baseline::capuchin},
      Baseline{"dtr", "Kirisame et al.: Dynamic Tensor Rematerialization. ICLR 2021", baseline::dtr},
  };
  return kAll;
}

}  // namespace pantoum::plan
