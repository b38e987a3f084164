// Any bytes as a picture, a ZIP directory, a line of CSV, an IDX or NPY header: refused, or understood within bounds.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "data/csv.h"
#include "data/format.h"
#include "data/picture.h"
#include "data/zip.h"

namespace data = pantoum::data;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto picture = data::decode_picture(bytes, "fuzz");
  if (picture && picture->pixels.size() != size_t{picture->width} * picture->height * picture->channels) std::abort();
  if (picture && picture->pixels.size() < 1U << 20) (void)data::resized(data::with_channels(*picture, 3), 7, 5);
  (void)data::parse_zip_directory(bytes, "fuzz");
  std::vector<std::string_view> fields;
  data::split_csv_line({reinterpret_cast<const char*>(data), size}, ',', fields);
  std::vector<std::byte> record;
  for (const std::string_view field : fields) (void)data::append_number(field, pantoum::base::DType::kI64, record);
  const auto start = bytes.first(std::min(size, data::kArrayHeaderLimit));
  for (const auto& layout : {data::read_idx_header(start, size, "fuzz"), data::read_npy_header(start, size, "fuzz")})
    if (layout && layout->data_at + static_cast<uint64_t>(layout->count) * layout->stride != size) std::abort();
  return 0;
}
