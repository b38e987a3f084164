// Bytes that the search leaves to the offsets: the part of the budget, by stage, that live bytes may not use.
//
//   budget |.................   in reserve: as many bytes as the smallest arena lacked
//          |  __..._________    live bytes
//          |_/   \_/
//          +---------------> stage
#pragma once

#include <memory>

#include "plan/realize/realize.h"
#include "plan/search/search.h"

namespace pantoum::plan {

class Reserve {
 public:
  // Of a question with so many bytes. Nothing is in reserve. Keeps `model` by reference.
  Reserve(const Model& model, Bytes budget);

  // As Limit::reserve; nothing: none.
  std::shared_ptr<const Indexed<Stage, Bytes>> by_stage() const { return by_stage_; }

  // For a policy that missed the budget: as many bytes more as it lacked, at the stages where the offsets that came nearest
  // clash, or at all of them where that is at many. False: nothing is known of what it lacked, or no more can be kept.
  bool grow(const Realized& missed);
  // After a policy that has offsets: halfway to what was too little. False: that is no matter.
  bool shrink();
  // Where the search found no policy: less at the stages at which the best has too many bytes.
  void give_way(const Policy& best);

 private:
  bool clashes_at_few(const Realized& missed) const;
  void set_all(Bytes bytes);
  void publish();

  const Model& model_;
  const Bytes budget_;
  Indexed<Stage, Bytes> most_, now_;
  Bytes bytes_ = 0;                    // where it is the same at all stages
  Bytes too_little_ = 0, enough_ = 0;  // of these; 0: not known
  std::shared_ptr<const Indexed<Stage, Bytes>> by_stage_;
};

}  // namespace pantoum::plan
