#include "base/contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "base/files.h"

namespace pantoum::base {
namespace {

using enum Contents;
using namespace std::string_view_literals;

constexpr size_t kPart = 65536;

struct Ends {
  std::string head, tail;
  uint64_t bytes = 0;
  [[nodiscard]] bool has(std::string_view text) const {
    return head.find(text) != std::string::npos || tail.find(text) != std::string::npos;
  }
};

Ends ends_of(const std::string& path) {
  std::error_code ignored;
  Ends ends{.head = read_part(path, 0, kPart), .tail = {}, .bytes = std::filesystem::file_size(path, ignored)};
  if (ends.bytes > kPart) ends.tail = read_part(path, ends.bytes - kPart, kPart);
  return ends;
}

Contents zip_contents(const Ends& ends) {
  if (ends.has("constants.pkl") || ends.has("/code/__torch__")) return kTorchScript;
  if (ends.has("archive_format") || ends.has("serialized_exported_program.json") || ends.has("models/model.json"))
    return kTorchExport;
  if (ends.has("data.pkl")) return kTorchZip;
  if (ends.has("model.weights.h5")) return kKerasZip;
  return ends.has(".npy") ? kNpz : kZip;
}

bool is_safetensors(const Ends& ends) {
  if (ends.bytes < 10 || ends.head.size() < 10) return false;
  uint64_t header = 0;
  for (size_t at = 8; at-- > 0;) header = header << 8 | static_cast<unsigned char>(ends.head[at]);
  return header >= 2 && header <= ends.bytes - 8 && ends.head[8] == '{';
}

std::string_view trimmed(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF"sv)) text.remove_prefix(3);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  return text;
}

Contents json_contents(const Ends& ends) {
  struct Mark {
    const char* schema;
    Contents contents;
  };
  constexpr std::array kMarks{Mark{"pantoum.plan/", kPlan}, Mark{"pantoum.refusal/", kRefusal},
                              Mark{"pantoum.costgraph/", kCostGraph}, Mark{"pantoum.sweep/", kSweep}};
  size_t first = std::string::npos;
  Contents found = ends.has("\"event\":") ? kRunLog : kJson;
  for (const Mark& mark : kMarks) {
    const size_t at = ends.head.find(mark.schema);
    if (at >= first) continue;
    first = at, found = mark.contents;
  }
  return found;
}

// `text` from its first line on that is neither blank nor a comment of an INI file.
std::string_view behind_comments(std::string_view text) {
  while (text.starts_with('#') || text.starts_with(';')) {
    text.remove_prefix(std::min(text.find('\n'), text.size()));
    text = trimmed(text);
  }
  return text;
}

// NNTrainer's: sections in brackets, keys with "=".
bool is_ini(std::string_view text) {
  const auto lower = [](std::string word) {
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char letter) { return std::tolower(letter); });
    return word;
  };
  const std::string head = lower(std::string(text.substr(0, 4096)));
  if (head.find("[model]") != std::string::npos) return true;
  const std::string_view first = behind_comments(text).substr(0, 4096);
  return first.starts_with('[') && first.find(']') < std::min<size_t>(first.find('\n'), 80) &&
         first.find('=') != std::string_view::npos;
}

Contents text_contents(const Ends& ends) {
  const std::string_view text = trimmed(ends.head);
  if (text.starts_with('{')) return json_contents(ends);
  if (text.starts_with("version https://git-lfs")) return kLfsPointer;
  if (text.starts_with("ir_version:") || text.find("\nopset_import") != std::string_view::npos) return kOnnxText;
  if (text.starts_with('<') && text.substr(0, 400).find("ir_version") != std::string_view::npos) return kOnnxText;
  if (text.starts_with('<')) return kMarkup;
  return is_ini(text) ? kIni : kUnknown;
}

struct Magic {
  size_t at;
  std::string_view bytes;
  Contents contents;
};
constexpr std::array kMagics{Magic{4, "TFL3"sv, kTflite},
                             Magic{4, "ORTM"sv, kOrt},
                             Magic{0, "\x89HDF\r\n\x1a\n"sv, kHdf5},
                             Magic{0, "GGUF"sv, kGguf},
                             Magic{0, "\x1f\x8b"sv, kGzip},
                             Magic{257, "ustar"sv, kTar},
                             Magic{0, "\x93NUMPY"sv, kNpy},
                             Magic{0, "\x89PNG\r\n"sv, kImage},
                             Magic{0, "\xff\xd8\xff"sv, kImage},
                             Magic{0,
                                   "\x7f"
                                   "ELF"sv,
                                   kProgram},
                             Magic{0, "PTPL"sv, kBinaryPlan}};

Contents binary_contents(const Ends& ends) {
  const std::string_view head = ends.head;
  if (head.starts_with("PK\3\4") || head.starts_with("PK\5\6")) return zip_contents(ends);
  for (const Magic& magic : kMagics)
    if (head.size() >= magic.at + magic.bytes.size() && head.substr(magic.at, magic.bytes.size()) == magic.bytes)
      return magic.contents;
  if (is_safetensors(ends)) return ends.has("pantoum.torch_graph/") ? kTorchGraph : kSafetensors;
  return head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5 ? kPickle : kUnknown;
}

Contents folder_contents(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path / "saved_model.pb", ignored) ? kSavedModel : kFolder;
}

// Python of the export, with the model's own file name.
std::vector<std::string> torch_export(const std::string& path, const char* load) {
  const std::string out = std::filesystem::path(path).stem().string() + ".onnx";
  return {load, "example = torch.zeros(1, 3, 224, 224)  # one input of the model",
          fmt::format("torch.onnx.export(model.train(), (example,), '{}', opset_version=17, "
                      "training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, dynamo=False)",
                      out)};
}

}  // namespace

Contents contents_of(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return folder_contents(path);
  if (!std::filesystem::is_regular_file(path, ignored)) return kStream;
  const Ends ends = ends_of(path);
  if (ends.bytes == 0) return kEmpty;
  if (const Contents found = binary_contents(ends); found != kUnknown) return found;
  return text_contents(ends);
}

std::string name_of(Contents contents) {
  constexpr std::array kNames{"",
                              "",
                              "an empty file",
                              "a folder",
                              "a TensorFlow SavedModel",
                              "a PyTorch checkpoint",
                              "a TorchScript program",
                              "a program of torch.export",
                              "a Python pickle, as older PyTorch writes",
                              "a safetensors file: weights",
                              "a torch graph: a module, captured",
                              "a TensorFlow Lite model",
                              "an HDF5 file, as Keras writes",
                              "a Keras model",
                              "an NPZ file: arrays",
                              "a ZIP archive",
                              "a TAR archive",
                              "a gzip file",
                              "an INI file, as NNTrainer has them",
                              "ONNX written as text",
                              "a model of ONNX Runtime's own format",
                              "a GGUF file",
                              "a plan",
                              "a binary plan",
                              "a refusal",
                              "a cost graph",
                              "a sweep",
                              "a run log",
                              "JSON",
                              "an NPY file: an array",
                              "a picture",
                              "a compiled program",
                              "HTML or XML",
                              "a Git LFS pointer"};
  static_assert(kNames.size() == static_cast<size_t>(kLfsPointer) + 1);
  return kNames[static_cast<size_t>(contents)];
}

// why: a table of cases.
Advice advice_on_model(Contents contents, const std::string& path) {
  const std::string onnx = std::filesystem::path(path).stem().string() + ".onnx";
  switch (contents) {
    case kTorchZip:
    case kPickle:
      return {torch_export(path, "model = YourModel(); model.load_state_dict(torch.load(...))  # in Python"),
              "export the model from PyTorch as ONNX, or give the module to pantoum.compile in Python; a checkpoint "
              "has weights "
              "and no network"};
    case kTorchScript:
      return {torch_export(path, "model = YourModel()  # in Python, the module before torch.jit"),
              "export the module from PyTorch as ONNX, or give it to pantoum.compile in Python"};
    case kTorchExport:
      return {torch_export(path, "model = YourModel()  # in Python, the module before torch.export"),
              "export the module from PyTorch as ONNX, or give it to pantoum.compile in Python"};
    case kSafetensors:
      return {{}, "weights alone are no network: give the ONNX model as MODEL, and this file with --weights"};
    case kHdf5:
    case kKerasZip:
      return {{fmt::format("tf2onnx.convert.from_keras(keras.models.load_model('{}'), opset=17, output_path='{}')",
                           path, onnx)},
              "convert the model to ONNX, in Python"};
    case kSavedModel:
      return {{fmt::format("python -m tf2onnx.convert --saved-model {} --output model.onnx --opset 17", path)},
              "convert the model to ONNX"};
    case kOnnxText:
      return {{fmt::format("onnx.save(onnx.parser.parse_model(open('{}').read()), '{}')  # in Python", path, onnx)},
              "save it in ONNX's binary form"};
    case kOrt:
      return {{}, "give the ONNX file that it was made from"};
    case kPlan:
    case kBinaryPlan:
      return {{}, "give the ONNX model; to train with this plan: pantoum train MODEL --plan " + path};
    case kCostGraph:
      return {{}, "give it with --costgraph: pantoum plan --costgraph " + path};
    case kZip:
    case kTar:
    case kGzip:
      return {{}, "unpack it, and give the .onnx file that is inside"};
    case kFolder:
      return {{}, "give the .onnx file that is in it"};
    case kEmpty:
      return {{}, "the export or the download was broken off: make it again"};
    case kLfsPointer:
      return {{"git lfs pull"}, "fetch the file itself"};
    case kNpz:
    case kNpy:
    case kImage:
      return {{}, "data go with --data; MODEL is an ONNX file"};
    default:
      return {{}, "give an ONNX file; PyTorch writes it with torch.onnx.export"};
  }
}

std::optional<Error> why_no_model(const std::string& path) {
  const Contents contents = contents_of(path);
  if (contents == kUnknown || contents == kStream || contents == kTorchGraph || contents == kIni || contents == kTflite)
    return std::nullopt;
  Advice advice = advice_on_model(contents, path);
  return Error{"E0202", fmt::format("'{}' is {}, not an ONNX model", path, name_of(contents)), path,
               std::move(advice.notes), std::move(advice.help)};
}

}  // namespace pantoum::base
