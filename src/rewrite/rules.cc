// The table of substitutions. First what only takes work away, then what brings ops together that others then merge, then
// what trades one form for another.
#include <cstring>
#include <vector>

#include "rewrite/substitutions.h"

namespace pantoum::rewrite {

std::span<const Rule> rules() {
  static const std::vector<Rule> all = {// clang-format off
      kDropDeadCode, kDropIdentities, kDropRepeats, kDropDropout, kMergeEqualOps, kMergeTransposes,
      kTransposeAsReshape, kMergeReshapes, kCancelConcat, kCancelSplit, kSliceOfConcat, kMergeSlices,
      kMergeConcats, kMergeSplits, kFoldConstants, kFoldParameters, kSelectFirst, kSelectLast, kSinkTranspose,
      kRaiseTranspose, kSinkReshape, kRaiseReshape, kSinkConcat, kRaiseConcat, kSinkSplit, kRaiseSplit,
      kOverwriteLast, kDropZeroTerms, kMergeScales, kFoldBias, kFoldBatchNorm, kFoldScaleShift, kFoldPads,
      kEnlargeKernel, kTransposeIntoProduct, kTransposeOfProduct, kReduceThroughTranspose, kReduceFirst,
      kSumOfExpand, kSumOfOuter, kMeanAsSum, kScaleIntoProduct, kScaleOutOfProduct, kReassociateProduct,
      kFactorSum, kMergeProducts, kMergeProductRows, kMergeConvolutions, kMergeConvolutionBatches,
      kMergeInputGradients, kMergeWeightGradients, kAccumulateProducts, kAccumulateConvolutions,
      kMergeBatchNorms, kSumOfPieces, kReassociateSum};  // clang-format on
  return all;
}

const Rule* find_rule(const char* name) {
  for (const Rule& rule : rules())
    if (name != nullptr && std::strcmp(rule.name, name) == 0) return &rule;
  return nullptr;
}

}  // namespace pantoum::rewrite
