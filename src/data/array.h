// Samples of one size at equal distances in a file: every format is read as that in the end.
#pragma once

#include <memory>
#include <vector>

#include "base/owned_file.h"
#include "data/dataset.h"
#include "data/format.h"

namespace pantoum::data {

// Samples in a file that others may read too. The layout has been checked against the file's size.
[[nodiscard]] std::unique_ptr<SampleFile> array_samples(std::shared_ptr<const base::OwnedFile> file,
                                                        ArrayLayout layout);

// The samples of all parts, one part after the other. There is at least one part, and all have one shape and type.
[[nodiscard]] std::unique_ptr<SampleFile> joined_samples(std::vector<std::unique_ptr<SampleFile>> parts);

// The layout of field [at, at + elements) of records of `stride` bytes that fill the file from `begin` on.
[[nodiscard]] ArrayLayout record_field(uint64_t file_size, uint64_t begin, uint64_t stride, uint64_t at,
                                       base::DType dtype, const base::Shape& shape);

}  // namespace pantoum::data
