// NPZ: NPY arrays in a ZIP file. Stored members (numpy.savez) are read in place, compressed ones unpacked once.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "data/array.h"
#include "data/cache.h"
#include "data/source.h"
#include "data/zip.h"

namespace pantoum::data {
namespace {

// The NPY array that fills [at, at + bytes) of the file.
Result<std::unique_ptr<SampleFile>> open_part(const std::shared_ptr<base::OwnedFile>& file, uint64_t at, uint64_t bytes,
                                              const std::string& where) {
  std::vector<std::byte> start(static_cast<size_t>(std::min<uint64_t>(bytes, kArrayHeaderLimit)));
  PANTOUM_TRY(file->read_at(at, start, "E0261"));
  PANTOUM_ASSIGN(ArrayLayout layout, read_npy_header(start, bytes, where));
  layout.data_at += at;
  return array_samples(file, std::move(layout));
}

Result<std::unique_ptr<SampleFile>> open_member(const std::shared_ptr<base::OwnedFile>& file, const ZipMember& member,
                                                const std::string& cache_folder) {
  const std::string where = file->path() + ":" + member.name;
  PANTOUM_ASSIGN(const uint64_t at, zip_data_at(*file, member));
  const PackedMember packed{member.name, at, member.packed_bytes, member.bytes, member.crc};
  if (member.method == 0) {
    PANTOUM_TRY(check_stored(*file, packed));
    return open_part(file, at, member.packed_bytes, where);
  }
  if (member.method != 8)
    return fail("E0261", fmt::format("the ZIP method {} is not supported", member.method), where,
                "save it with numpy.savez or numpy.savez_compressed");
  PANTOUM_ASSIGN(const std::string path, unpack_member(*file, packed, cache_folder));
  PANTOUM_ASSIGN(base::OwnedFile unpacked, base::OwnedFile::open_to_read(path));
  const uint64_t bytes = unpacked.size();
  auto samples = open_part(std::make_shared<base::OwnedFile>(std::move(unpacked)), 0, bytes, where);
  if (!samples) ::unlink(path.c_str());  // a file that is no array is not kept
  return samples;
}

}  // namespace

FoundSamples find_npz(const Place& place) {
  const std::string split = place.split_name();
  std::string path = place.path, suffix;
  if (place.is_folder) {
    path += "/" + split + ".npz";
    place.tried->push_back(fmt::format("looked for {}.npz with the arrays x (or INPUT) and y, label or labels", split));
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) return std::optional<Dataset>();
  } else if (place.is_file(".npz")) {
    suffix = "_" + split;
    place.tried->push_back(fmt::format("looked for the arrays x_{0} (or INPUT_{0}) and y_{0}", split));
  } else {
    return std::optional<Dataset>();
  }
  PANTOUM_ASSIGN(base::OwnedFile opened, base::OwnedFile::open_to_read(path));
  const auto file = std::make_shared<base::OwnedFile>(std::move(opened));
  PANTOUM_ASSIGN(const std::vector<ZipMember> members, read_zip_directory(*file));
  PANTOUM_ASSIGN(std::optional<Dataset> data,
                 find_named(place, {"y", "label", "labels"}, "*" + suffix,
                            [&](const std::string& name) -> Result<std::unique_ptr<SampleFile>> {
                              for (const ZipMember& member : members)
                                if (member.name == name + suffix + ".npy")
                                  return open_member(file, member, place.cache_folder());
                              return std::unique_ptr<SampleFile>();
                            }));
  if (data) data->format = "NPZ";
  return data;
}

}  // namespace pantoum::data
