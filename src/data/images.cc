// An image folder: a folder for each class, with the pictures in it. Decoded and resized once into records of a label
// and the pixels.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "data/array.h"
#include "data/cache.h"
#include "data/picture.h"
#include "data/source.h"

namespace pantoum::data {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLabelBytes = sizeof(int32_t), kMostPictureBytes = uint64_t{1} << 30;
constexpr std::array kRead{".png", ".jpg", ".jpeg", ".ppm", ".pgm", ".pnm"};
constexpr std::array kForeign{".bmp", ".gif", ".webp", ".tif", ".tiff", ".avif", ".heic"};

template <class Endings>
bool has_ending(const fs::path& path, const Endings& endings) {
  std::string ending = path.extension().string();
  for (char& letter : ending) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return std::find(endings.begin(), endings.end(), ending) != endings.end();
}

struct Pictures {
  std::vector<std::string> classes;                      // sorted
  std::vector<std::pair<std::string, size_t>> pictures;  // path, class; sorted by class and path
};

// The pictures below `folder`, sorted.
Result<std::vector<std::string>> pictures_below(const fs::path& folder) {
  std::vector<std::string> paths;
  std::error_code failed;
  for (fs::recursive_directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    const fs::path& path = entry->path();
    if (path.filename().string().starts_with('.')) continue;
    if (has_ending(path, kForeign))
      return fail("E0261", "pictures of this format are not read", path.string(), "save them as PNG, JPEG or PPM");
    if (has_ending(path, kRead) && entry->is_regular_file(failed)) paths.push_back(path.string());
  }
  if (failed) return fail("E0201", "cannot read the folder: " + failed.message(), folder.string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed))
    if (entry.is_directory(failed) && !entry.path().filename().string().starts_with('.'))
      names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// `known`: the training set's classes, when this is the test set.
Result<Pictures> list_pictures(const std::string& folder, const std::vector<std::string>* known, bool labels) {
  Pictures found;
  for (const std::string& name : folders_in(folder)) {
    PANTOUM_ASSIGN(const std::vector<std::string> paths, pictures_below(fs::path(folder) / name));
    if (paths.empty()) continue;
    size_t label = found.classes.size();
    if (known != nullptr) {
      label = static_cast<size_t>(std::find(known->begin(), known->end(), name) - known->begin());
      if (label == known->size())
        return fail("E0262", fmt::format("the class '{}' is not among those of the training set", name), folder,
                    "give both sets folders of the same names", {fmt::format("they are {}", fmt::join(*known, ", "))});
    }
    found.classes.push_back(name);
    for (const std::string& path : paths) found.pictures.emplace_back(path, label);
  }
  if (known != nullptr) found.classes = *known;
  if (!found.pictures.empty() || labels) return found;
  PANTOUM_ASSIGN(const std::vector<std::string> paths, pictures_below(folder));  // pictures without classes
  for (const std::string& path : paths) found.pictures.emplace_back(path, 0);
  return found;
}

// The size of a sample of [C,H,W], [H,W,C] or [H,W].
struct ImageShape {
  uint32_t channels = 1, height = 0, width = 0;
  bool planes = true;  // [C,H,W]
};

Result<ImageShape> image_shape(const Wanted& wanted, const std::string& where) {
  const Failure misfit =
      fail("E0262", "the model's input is no image: it must be [N,1,H,W], [N,3,H,W], [N,H,W,1], [N,H,W,3] or [N,H,W]",
           where, "export the model for images, or give its data as NPY",
           {fmt::format("the model has {} input{}, the first is {}", wanted.inputs.size(),
                        wanted.inputs.size() == 1 ? "" : "s", base::to_text(wanted.inputs.front().shape))});
  const base::Shape& shape = wanted.inputs.front().shape;
  const auto is_channels = [](int64_t extent) { return extent == 1 || extent == 3; };
  if (wanted.inputs.size() != 1 || shape.size() < 2 || shape.size() > 3) return misfit;
  for (const int64_t extent : shape)
    if (extent > 1 << 15) return misfit;
  const auto size = [&](size_t dim) { return static_cast<uint32_t>(shape[dim]); };
  if (shape.size() == 2) return ImageShape{1, size(0), size(1), true};
  if (is_channels(shape[0])) return ImageShape{size(0), size(1), size(2), true};
  if (is_channels(shape[2])) return ImageShape{size(2), size(0), size(1), false};
  return misfit;
}

Result<std::vector<std::byte>> read_whole(const std::string& path) {
  PANTOUM_ASSIGN(const base::OwnedFile file, base::OwnedFile::open_to_read(path));
  if (file.size() > kMostPictureBytes) return fail("E0261", "the picture's file is larger than 1 GiB", path);
  std::vector<std::byte> bytes(static_cast<size_t>(file.size()));
  PANTOUM_TRY(file.read_at(0, bytes, "E0260"));
  return bytes;
}

// Label and pixels, in the model's order.
Result<std::vector<std::byte>> record_of(const std::string& path, size_t label, const ImageShape& shape) {
  PANTOUM_ASSIGN(const std::vector<std::byte> file, read_whole(path));
  PANTOUM_ASSIGN(Picture picture, decode_picture(file, path));
  picture = resized(with_channels(std::move(picture), shape.channels), shape.width, shape.height);
  std::vector<std::byte> record(kLabelBytes + picture.pixels.size());
  const auto stored = static_cast<int32_t>(label);
  std::memcpy(record.data(), &stored, sizeof stored);
  const size_t area = size_t{shape.width} * shape.height, channels = shape.channels;
  for (size_t pixel = 0; pixel < area; ++pixel)
    for (size_t channel = 0; channel < channels; ++channel)
      record[kLabelBytes + (shape.planes ? channel * area + pixel : pixel * channels + channel)] =
          std::byte{picture.pixels[pixel * channels + channel]};
  return record;
}

Result<std::string> key_of(const Pictures& all, const ImageShape& shape) {
  std::string key = fmt::format("{} {} {} {}", shape.channels, shape.height, shape.width, shape.planes);
  for (const auto& [path, label] : all.pictures) {
    PANTOUM_ASSIGN(const std::string identity, identity_of(path));
    key += fmt::format("\n{} {}", identity, label);
  }
  return key;
}

std::string split_folder(const Place& place) {
  std::error_code ignored;
  if (place.split == Split::kTrain) {
    const std::string inside = place.path + "/train";
    return fs::is_directory(inside, ignored) ? inside : place.path;
  }
  for (const char* name : {"/test", "/val"})
    if (fs::is_directory(place.path + name, ignored)) return place.path + name;
  return {};
}

}  // namespace

FoundSamples find_images(const Place& place) {
  if (!place.is_folder || place.wanted.inputs.empty()) return std::optional<Dataset>();
  place.tried->push_back("looked for a folder of each class with PNG, JPEG or PPM files (in train/ and test/ or val/)");
  const std::string folder = split_folder(place);
  if (folder.empty()) return std::optional<Dataset>();
  PANTOUM_ASSIGN(const Pictures all,
                 list_pictures(folder, place.train != nullptr ? &place.train->classes : nullptr, place.wanted.labels));
  if (all.pictures.empty()) return std::optional<Dataset>();
  PANTOUM_ASSIGN(const ImageShape shape, image_shape(place.wanted, folder));
  PANTOUM_ASSIGN(const std::string key, key_of(all, shape));
  PANTOUM_ASSIGN(const std::string path,
                 cached_file(place.cache_folder(), "images", key, [&](base::AtomicFile& out) -> Result<void> {
                   PieceWriter writer(out);
                   for (const auto& [picture, label] : all.pictures) {
                     PANTOUM_ASSIGN(const std::vector<std::byte> record, record_of(picture, label, shape));
                     PANTOUM_TRY(writer.put(record));
                   }
                   return writer.flush();
                 }));
  PANTOUM_ASSIGN(base::OwnedFile opened, base::OwnedFile::open_to_read(path));
  const auto file = std::make_shared<base::OwnedFile>(std::move(opened));
  const base::Shape& wanted = place.wanted.inputs.front().shape;
  const uint64_t stride = kLabelBytes + uint64_t{shape.channels} * shape.height * shape.width;
  Dataset data{.format = "image folder", .classes = all.classes};
  data.inputs.push_back(
      array_samples(file, record_field(file->size(), 0, stride, kLabelBytes, base::DType::kU8, wanted)));
  if (!all.classes.empty())
    data.labels = array_samples(file, record_field(file->size(), 0, stride, 0, base::DType::kI32, {}));
  return std::optional(std::move(data));
}

}  // namespace pantoum::data
