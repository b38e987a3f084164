// Chooses what is trained where a whole step costs too much: --update-within and --contributions.
//
// The answer is a model with more frozen parameters, and a plan request with the limit as its own: from there on nothing knows of the choice. The
// tensors that are left contribute the most, by a model of the step whose costs add up (plan/update_selection.h): the ops of a step that trains all of
// them, each by its cheapest choice; an op of backward runs if an update needs it;
// of a share of a weight's channels, the update and the gradient cost that share. For RAM the bytes are those that backward retains. The planner then
// plans the step with the limit. If there is no plan, or for RAM, the model's limit is changed by bisection, and planned again, a few times.
#pragma once

#include "pipeline/pipeline.h"

namespace pantoum::pipeline {

// Changes the options of the model (freeze and train_channels grow; update_within and contributions are empty afterwards) and the limits of the request, and
// fills ModelRequest::updates. Without update_within it changes nothing. Cost: about half of the time limit; the rest of it is left to the request.
//   errors  E0113, E0119: an option that does not fit; E0126: the limit or the table; E0307: no tensor of the table can be trained within the limit,
//   with the least; those of compile_model and plan_model
[[nodiscard]] Result<void> choose_updates(ModelRequest& model, PlanRequest& request);

}  // namespace pantoum::pipeline
