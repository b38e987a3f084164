// The rows of a short-time Fourier or cosine transform, as a model holds them: filters of a convolution, or a matrix.
#pragma once

#include "import/tensor.h"

namespace pantoum::import {

// Is every filter of this convolution (dimension 0), or every row or column of this matrix, one wave times a window that
// all share, with frequencies in equal steps? Any window, any scale; cosines and sines one behind the other, in turn, or
// one kind alone. At least 6 frequencies on 8 places.
//
//   With w_n the window, a row of frequency k is r_k[n] = w_n cos(k t_n + p) for a phase p, so that at every place n
//     r_{k-1}[n] + r_{k+1}[n] = 2 cos(t_n) r_k[n]    for all k,
//   with one factor a place that lies in [-2, 2]. That is what is asked, to 1e-5 of each place's energy. The outermost rows
//   are left out: a transform of real numbers may have another scale there. Factors have to differ from place to place,
//   because rows that are equal satisfy the recurrence, too.
[[nodiscard]] bool is_fourier_basis(const Tensor& tensor);

}  // namespace pantoum::import
