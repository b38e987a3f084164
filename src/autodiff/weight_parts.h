// Weights of which only the first channels along a dimension are trained.
//
// The gradient of such a part is made as a part: of a convolution or a product, by the same op on fewer channels of its factors. A factor that the
// forward pass makes is cut there, so that backward retains those channels alone. The update reads and writes the part; the rest of the weight keeps
// its bits.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "autodiff/autodiff.h"

namespace pantoum::autodiff {

struct WeightPart {
  int64_t axis = 0;   // of the weight
  int64_t count = 0;  // elements along it that are trained: the first; fewer than all
};

// Start and step of every dimension for the first elements along one: the integers of k_slice and k_assign_slice.
[[nodiscard]] Attrs first_elements(size_t rank);
[[nodiscard]] TensorType part_type(TensorType whole, const WeightPart& part);

// A share of one weight of a forward graph, as "[in:|out:]SHARE". Errors: as WeightParts::of.
struct ShareOfWeight {
  WeightPart part;
  double ratio = 1;         // of the weight's elements
  bool cuts_input = false;  // backward retains as much less of what the weight is multiplied with
};
[[nodiscard]] Result<ShareOfWeight> share_of_weight(const Graph& forward, const std::string& name, const std::string& share);

class WeightParts {
 public:
  // Reads train_channels: "GLOB=[in:|out:]SHARE", where a share is 25%, 1/4 or a number of channels. Of several entries that match a weight the last
  // applies; tensors of one dimension train whole. Errors: E0113 an entry that is none, or a weight whose channels are not known; E0104 an entry that
  // matches no trained weight.
  [[nodiscard]] static Result<WeightParts> of(const Graph& forward, const std::vector<std::string>& entries);

  // Returns the gradient of the part that trains: of the whole gradient, whose ops are unused afterwards, or `gradient` itself.
  [[nodiscard]] ValueId gradient_of(Builder& builder, ValueId parameter, ValueId gradient);

  // Moves the cuts of what the forward pass makes directly behind the ops that make it.
  void cut_early(Graph& graph) const;

 private:
  std::map<ValueId, WeightPart> parts_;
  std::vector<ValueId> cuts_;  // made by gradient_of, with views that they read
  size_t forward_values_ = 0;

  [[nodiscard]] ValueId cut(Builder& builder, ValueId value, const WeightPart& part);
  [[nodiscard]] ValueId part_of(Builder& builder, ValueId gradient, const WeightPart& part);
  [[nodiscard]] ValueId convolution_part(Builder& builder, const Op& op, TensorType type, const WeightPart& part);
};

}  // namespace pantoum::autodiff
