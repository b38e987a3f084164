#include "import/external_data.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/inputs_in_use.h"
#include "base/mapped_file.h"
#include "import/message_parts.h"
#include "import/onnx.h"
#include "import/onnx_messages.h"

namespace pantoum::import {
namespace {

namespace fs = std::filesystem;

struct Place {
  std::string location;
  int64_t offset = 0;
  int64_t length = -1;  // -1: not told
};

bool parse_count(const std::string& text, int64_t& count) {
  const char* end = text.data() + text.size();
  const auto [stopped, problem] = std::from_chars(text.data(), end, count);
  return problem == std::errc() && stopped == end && count >= 0;
}

Result<Place> place_of(const onnx::TensorProto& message, const std::string& where) {
  Place place;
  for (const auto& entry : message.external_data()) {
    bool sane = true;
    if (entry.key() == "location") place.location = entry.value();
    if (entry.key() == "offset") sane = parse_count(entry.value(), place.offset);
    if (entry.key() == "length") sane = parse_count(entry.value(), place.length);
    if (!sane) return fail("E0206", fmt::format("the {} of external data is not a count", entry.key()), where);
  }
  if (place.location.empty()) return fail("E0206", "external data without a location", where);
  return place;
}

bool is_inside(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

using Files = std::set<std::string>;

void add_files(const onnx::TensorProto& tensor, Files& files) {
  for (const auto& entry : tensor.external_data())
    if (entry.key() == "location") files.insert(entry.value());
}

void add_files(const onnx::GraphProto& graph, Files& files) {
  for (const auto& tensor : graph.initializer()) add_files(tensor, files);
  for (const auto& tensor : graph.sparse_initializer()) {
    add_files(tensor.values(), files);
    add_files(tensor.indices(), files);
  }
  for (const auto& node : graph.node())
    for (const auto& attribute : node.attribute()) {
      add_files(attribute.t(), files);
      for (const auto& tensor : attribute.tensors()) add_files(tensor, files);
      if (attribute.has_g()) add_files(attribute.g(), files);
      for (const auto& body : attribute.graphs()) add_files(body, files);
    }
}

}  // namespace

std::vector<std::string> external_data_files(const std::string& path) {
  const auto mapped = base::MappedFile::open(path, kMostModelBytes);
  if (!mapped) return {};
  const std::span<const std::byte> bytes = (*mapped)->bytes();
  const std::optional<MessageParts> parts = part_message(bytes);
  onnx::ModelProto model;
  if (parts ? !model.ParseFromString(parts->message)
            : !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return {};
  Files files;
  add_files(model.graph(), files);
  const fs::path folder = fs::path(path).parent_path();
  std::vector<std::string> paths;
  for (const std::string& file : files) paths.push_back((folder / file).string());
  return paths;
}

Result<ExternalData::File*> ExternalData::open(const std::string& location, const std::string& where) {
  if (const auto known = files_.find(location); known != files_.end()) return &known->second;
  const fs::path relative(location);
  const bool escapes = relative.is_absolute() || location.find('\0') != std::string::npos ||
                       std::ranges::find(relative, "..") != relative.end();
  std::error_code problem;
  const fs::path folder = fs::weakly_canonical(folder_.empty() ? "." : folder_, problem);
  const fs::path path = problem || escapes ? fs::path() : fs::weakly_canonical(folder / relative, problem);
  if (problem || escapes || !is_inside(path, folder)) {
    return fail("E0206", "external data must lie in the model's own folder", where,
                "save the weights beside the model and name them by a relative path");
  }
  const bool regular = fs::is_regular_file(path, problem);
  const auto size = regular ? fs::file_size(path, problem) : 0;
  if (!regular || problem) {
    return fail("E0206", fmt::format("the external data file '{}' cannot be read", location), where,
                "keep the weight files beside the .onnx file");
  }
  return &files_.emplace(location, File{path.string(), static_cast<int64_t>(size), 0}).first->second;
}

Result<ir::Data> ExternalData::read(const onnx::TensorProto& message, int64_t bytes, const std::string& where) {
  if (!allowed_) return fail("E0206", "external data is not allowed here", where);
  PANTOUM_ASSIGN(const Place place, place_of(message, where));
  if (place.length >= 0 && place.length != bytes) {
    return fail("E0206", fmt::format("{} bytes of external data for a tensor of {}", place.length, bytes), where);
  }
  const auto key = std::make_tuple(place.location, place.offset, bytes);
  if (const auto piece = pieces_.find(key); piece != pieces_.end()) return piece->second;
  PANTOUM_ASSIGN(File* const file, open(place.location, where));
  if (place.offset > file->size || bytes > file->size - place.offset) {
    return fail(
        "E0206",
        fmt::format("'{}' ends before the {} bytes at {} that a tensor names", place.location, bytes, place.offset),
        where, "the file is truncated, or belongs to another model");
  }
  if (bytes > 2 * file->size - file->read) {
    return fail("E0206", fmt::format("the tensors name overlapping pieces of '{}'", place.location), where);
  }
  file->read += bytes;
  if (bytes >= static_cast<int64_t>(kLargeContents)) {
    if (!file->mapped) {
      PANTOUM_ASSIGN(file->mapped, base::MappedFile::open(file->path, INT64_MAX));
    }
    if (file->mapped->bytes().size() < static_cast<uint64_t>(place.offset + bytes))
      return fail("E0206", fmt::format("the external data file '{}' became shorter", place.location), where);
    return pieces_.emplace(key, ir::Data(file->mapped, static_cast<uint64_t>(place.offset), static_cast<size_t>(bytes)))
        .first->second;
  }
  auto data = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(bytes));
  base::record_input(file->path);
  std::ifstream stream(file->path, std::ios::binary);
  stream.seekg(place.offset);
  stream.read(reinterpret_cast<char*>(data->data()), bytes);
  if (!stream || stream.gcount() != bytes) {
    return fail("E0206", fmt::format("the external data file '{}' cannot be read", place.location), where);
  }
  return pieces_.emplace(key, std::move(data)).first->second;
}

}  // namespace pantoum::import
