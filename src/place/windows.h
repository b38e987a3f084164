// Proofs from a few moments: what does not fit there on its own does not fit at all.
//
//   address |#########       The search goes through all of time at once, and may shuffle boxes far from
//           |   +--+   ##    the conflict for ever. At one moment next to fixed boxes (#), or in a few
//           |###+--+#####    moments, it soon has tried all.
//           +---|--|--> time
#pragma once

#include "place/canonical_search.h"

namespace pantoum::place {

// True when the boxes that live in some window of 2 * reach + 1 moments do not fit in the budget. Looks at the
// windows of most live bytes first, until the limit. The boxes must be searchable.
bool some_window_overfull(const Boxes& boxes, Bytes budget, int32_t reach, SearchLimit& limit);

}  // namespace pantoum::place
