// The substitutions, one file each (substitute_*.cc, which says why it holds and what it leaves alone); rules.cc puts them
// in order.
#pragma once

#include "rewrite/rule.h"

namespace pantoum::rewrite {

// The same bits.
extern const Rule kDropDeadCode, kMergeEqualOps, kDropIdentities, kDropRepeats, kMergeTransposes, kTransposeAsReshape,
    kMergeReshapes, kCancelConcat, kSliceOfConcat, kCancelSplit, kMergeSlices, kMergeConcats, kMergeSplits,
    kSinkTranspose, kRaiseTranspose, kSinkReshape, kRaiseReshape, kSinkConcat, kRaiseConcat, kSinkSplit, kRaiseSplit,
    kSelectFirst, kSelectLast, kOverwriteLast, kFoldConstants;

// The same values.
extern const Rule kDropZeroTerms, kMergeScales, kMeanAsSum, kSumOfExpand, kReduceFirst, kReduceThroughTranspose,
    kSumOfOuter, kTransposeIntoProduct, kTransposeOfProduct, kReassociateProduct, kMergeProducts, kMergeProductRows,
    kMergeConvolutions, kMergeConvolutionBatches, kMergeInputGradients, kMergeWeightGradients, kAccumulateProducts,
    kAccumulateConvolutions, kFactorSum, kScaleIntoProduct, kScaleOutOfProduct, kFoldBias, kReassociateSum, kFoldPads, kMergeBatchNorms,
    kSumOfPieces;

// Of inference alone.
extern const Rule kDropDropout, kFoldParameters, kFoldBatchNorm, kFoldScaleShift, kEnlargeKernel;

}  // namespace pantoum::rewrite
