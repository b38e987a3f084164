// Ten steps of SGD on networks as PyTorch exports them, against PyTorch's own: the loss of every step, of every tensor
// that changed its norm and the norm of its change, and of every other one its bits, in the file with trained weights.
// README.md tells how the expected values were made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "autodiff/autodiff.h"
#include "base/files.h"
#include "emit/export_onnx.h"
#include "import/external_data.h"
#include "import/onnx.h"
#include "import/onnx_messages.h"
#include "import/tensor.h"
#include "testing/evaluate.h"
#include "testing/temporary_folder.h"
#include "values/generator.h"
#include "weights/safetensors.h"

namespace pantoum {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr double kBound = 1e-3;

fs::path folder_of_networks() {
  return fs::path(PANTOUM_SOURCE_DIR) / "tests" / "networks";
}

size_t count_of(const Json& shape) {
  size_t count = 1;
  for (const Json& extent : shape) count *= extent.get<size_t>();
  return count;
}

// 1 up to a length of half the row or more, then 0.
std::vector<int64_t> lengths_mask(const Json& shape, uint32_t stream) {
  const auto rows = shape[0].get<size_t>(), length = shape[1].get<size_t>();
  std::vector<int64_t> mask;
  for (const int64_t less : values::below(stream, rows, static_cast<uint32_t>(length / 2)))
    for (size_t at = 0; at < length; ++at) mask.push_back(at < length - static_cast<size_t>(less) ? 1 : 0);
  return mask;
}

// The batch's tensor that `spec` describes, as make_expected.py makes it.
std::vector<std::byte> contents(const Json& spec, uint32_t usual_stream) {
  const size_t count = count_of(spec["shape"]);
  const uint32_t stream = spec.value("stream", usual_stream);
  if (spec["kind"] == "uniform") return values::bytes_of(values::uniform(stream, count, 1, 0));
  if (spec["kind"] == "ids") return values::bytes_of(values::below(stream, count, spec["below"]));
  if (spec["kind"] == "zeros") return values::bytes_of(std::vector<float>(count, 0));
  if (spec["kind"] == "lengths") return values::bytes_of(lengths_mask(spec["shape"], stream));
  const std::vector<int64_t> flags = values::below(stream, count, 2);
  return values::bytes_of(std::vector<float>(flags.begin(), flags.end()));
}

// Of a network with several outputs one for each, y, y1, ..; else one of the first.
std::vector<autodiff::LossTerm> terms_of(const Json& expected) {
  if (!expected.contains("terms")) return {{.name = expected["loss"]}};
  std::vector<autodiff::LossTerm> terms;
  for (const Json& term : expected["terms"]) {
    const std::string output = terms.empty() ? "y" : "y" + std::to_string(terms.size());
    terms.push_back({.name = term["loss"], .output = output, .weight = term["weight"]});
  }
  return terms;
}

// The model file beside the weights that the generator makes, in a folder of their own.
class Network {
 public:
  Network(const std::string& name, const std::string& file) {
    const fs::path source = folder_of_networks();
    expected_ = Json::parse(std::ifstream(source / (name + ".json")));
    fs::copy_file(source / file, folder_.path() / "model.onnx", fs::copy_options::overwrite_existing);
    std::ofstream weights(folder_.path() / "weights.bin", std::ios::binary);
    for (const Json& tensor : expected_["weights"]) {  // name, stream, offset, count, scale, shift
      const std::vector<float> made = values::uniform(tensor[1], tensor[3], tensor[4], tensor[5]);
      weights.seekp(tensor[2].get<std::streamoff>());
      weights.write(reinterpret_cast<const char*>(made.data()), static_cast<std::streamsize>(made.size() * 4));
    }
  }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  [[nodiscard]] const Json& expected() const { return expected_; }

  // A tied parameter has several names, and an exporter chooses any of them.
  [[nodiscard]] std::string alias_of(const std::string& name) const {
    return expected_.contains("aliases") ? expected_["aliases"].value(name, name) : name;
  }
  [[nodiscard]] std::string model() const { return (folder_.path() / "model.onnx").string(); }
  [[nodiscard]] std::string path(const char* name) const { return (folder_.path() / name).string(); }

  [[nodiscard]] Result<import::Imported> load() const {
    import::OnnxOptions options;
    options.freeze = fixed_that_train();
    return import::load_onnx(model(), options);
  }

  [[nodiscard]] ir::Graph training() const {
    auto imported = load();
    EXPECT_TRUE(imported) << to_text(imported.error());
    if (!imported) return {};
    const autodiff::Sgd sgd{.momentum = expected_["momentum"]};
    auto frozen = autodiff::freeze(imported->graph, fixed_that_train());
    EXPECT_TRUE(frozen) << to_text(frozen.error());
    auto graph = autodiff::make_training(imported->graph, {.loss = terms_of(expected_), .optimizer = sgd});
    EXPECT_TRUE(graph) << to_text(graph.error());
    return graph ? std::move(*graph) : ir::Graph{};
  }

  [[nodiscard]] ir::Feeds feeds(const ir::Graph& graph) const {
    ir::Feeds feeds;
    for (size_t input = 0; input < graph.inputs.size(); ++input)
      feeds[graph.inputs[input]] = contents(expected_["inputs"][input], static_cast<uint32_t>(1000 + input));
    for (size_t label = 0; label < graph.labels.size(); ++label) {
      const Json& spec = expected_.contains("terms") ? expected_["terms"][label]["label"] : expected_["label"];
      feeds[graph.labels[label]] = contents(spec, static_cast<uint32_t>(2000 + label));
    }
    return feeds;
  }

  // The tensors of which inspect says that.
  [[nodiscard]] std::set<std::string> tensors_that(const std::string& train) const {
    const auto told = import::inspect_onnx(model());
    EXPECT_TRUE(told) << to_text(told.error());
    std::set<std::string> names;
    if (told)
      for (const import::TensorInfo& tensor : told->tensors)
        if (tensor.trains == train) names.insert(tensor.name);
    return names;
  }
  // What a user names with --freeze: PyTorch's buffers that the file does not tell from parameters.
  [[nodiscard]] std::vector<std::string> fixed_that_train() const {
    const std::set<std::string> sure = tensors_that("yes"), unsure = tensors_that("ambiguous");
    std::vector<std::string> names;
    for (const Json& buffer : expected_.value("fixed", Json::array()))
      if (sure.contains(buffer) || unsure.contains(buffer)) names.push_back(buffer);
    return names;
  }

 private:
  TemporaryFolder folder_;
  Json expected_;
};

ir::EvaluateOptions options_for(const ir::Graph& graph, uint64_t step, double lr) {
  ir::EvaluateOptions options;
  options.scalars = {step, 0, lr};
  for (const ir::Op& op : graph.ops) {
    const bool product = op.kind == ir::Kind::k_matmul || op.kind == ir::Kind::k_conv2d ||
                         op.kind == ir::Kind::k_conv2d_dx || op.kind == ir::Kind::k_conv2d_dw;
    options.algorithms.push_back(product ? 1 : 0);
  }
  return options;
}

// The losses of the steps; `feeds` are what the next step would begin with.
std::vector<double> train(const ir::Graph& graph, ir::Feeds& feeds, size_t steps, double lr) {
  std::vector<double> losses;
  for (uint64_t step = 1; step <= steps; ++step) {
    auto run = ir::evaluate(graph, *pt_portable_kernels(), feeds, options_for(graph, step, lr));
    if (!run) {
      ADD_FAILURE() << to_text(run.error());
      break;
    }
    losses.push_back(static_cast<double>(run->as<float>(graph.results.at(0)).at(0)));
    for (size_t id = 0; id < graph.values.size(); ++id) {
      const ir::ValueId next = graph.values[id].next;
      if (next != ir::kNone) feeds[static_cast<ir::ValueId>(id)] = std::move(run->bytes[static_cast<size_t>(next)]);
    }
  }
  return losses;
}

void compare_losses(const std::vector<double>& losses, const Json& expected) {
  const double bound = expected.value("bound", kBound);
  for (size_t step = 0; step < losses.size(); ++step) {
    const double loss = expected["losses"][step];
    EXPECT_NEAR(losses[step], loss, bound * std::abs(loss)) << "step " << step + 1;
  }
}

struct Norms {
  double norm = 0, change = 0;
};

Norms norms_of(const std::vector<std::byte>& now, const ir::Data& start) {
  Norms norms;
  for (size_t at = 0; at < now.size(); at += sizeof(float)) {
    float after = 0, before = 0;
    std::memcpy(&after, &now[at], sizeof after);
    if (start) std::memcpy(&before, &(*start)[at], sizeof before);
    const double moved = static_cast<double>(after) - static_cast<double>(before);
    norms.norm += static_cast<double>(after) * static_cast<double>(after);
    norms.change += moved * moved;
  }
  return {std::sqrt(norms.norm), std::sqrt(norms.change)};
}

// Tensors that hardly move, such as a bias before a normalization, move by rounding alone: their change is held to a
// hundredth of the largest one, and to the rounding of the weights themselves. `packed`: tensors under an exporter's name
// are let pass; the newer one's default call joins the weights of a recurrent layer into one. Returns how many were compared.
size_t compare_tensors(const Network& network, const ir::Graph& graph, const ir::Feeds& feeds, bool packed = false) {
  const Json& expected = network.expected()["after"];
  double largest = 0;  // of the parameters: running statistics move by more
  for (const auto& [name, pair] : expected.items())
    if (name.find("running") == std::string::npos) largest = std::max(largest, pair[1].get<double>());
  size_t compared = 0;
  for (size_t id = 0; id < graph.values.size(); ++id) {
    const ir::Value& value = graph.values[id];
    const bool kept = value.role == ir::Role::kParameter || value.role == ir::Role::kBuffer;
    if (!kept || value.next == ir::kNone) continue;
    const std::string name = network.alias_of(value.name);
    if (!expected.contains(name)) {
      if (packed && name.starts_with("val_")) continue;
      ADD_FAILURE() << "PyTorch has no tensor " << value.name;
      continue;
    }
    const Norms ours = norms_of(feeds.at(static_cast<ir::ValueId>(id)), value.data);
    const double norm = expected[name][0], change = expected[name][1];
    EXPECT_NEAR(ours.norm, norm, kBound * norm) << value.name;
    const double allowed = 10 * kBound * std::max(change, 1e-2 * largest) + 1e-6 * norm;
    EXPECT_NEAR(ours.change, change, allowed) << value.name << ", its change";
    ++compared;
  }
  return compared;
}

onnx::ModelProto message_of(const std::string& path) {
  onnx::ModelProto model;
  const auto bytes = base::read_file(path);
  EXPECT_TRUE(bytes && model.ParseFromString(*bytes)) << path;
  return model;
}

// The file with trained weights, as `pantoum export` writes it.
onnx::ModelProto exported(const Network& network, const ir::Graph& graph, const ir::Feeds& feeds) {
  std::vector<weights::SafetensorSource> tensors;
  for (size_t id = 0; id < graph.values.size(); ++id) {
    const ir::Value& value = graph.values[id];
    if (value.producer != ir::kNone || (value.role != ir::Role::kParameter && value.role != ir::Role::kBuffer))
      continue;
    const auto fed = feeds.find(static_cast<ir::ValueId>(id));
    const std::span<const std::byte> bytes = fed != feeds.end() ? std::span<const std::byte>(fed->second) : *value.data;
    tensors.push_back(
        {value.name, value.type.dtype, value.type.shape, [bytes](uint64_t at, std::span<std::byte> piece) {
           std::memcpy(piece.data(), &bytes[at], piece.size());
           return Result<void>{};
         }});
  }
  const auto written = weights::write_safetensors(network.path("trained"), tensors, {});
  EXPECT_TRUE(written) << to_text(written.error());
  const auto done = emit::export_onnx({network.model(), network.path("trained"), network.path("trained.onnx")});
  EXPECT_TRUE(done) << to_text(done.error());
  return done ? message_of(network.path("trained.onnx")) : onnx::ModelProto{};
}

std::map<std::string, std::vector<std::byte>> initializers_of(onnx::ModelProto model, const Network& network) {
  import::ExternalData beside(network.path(""));
  std::map<std::string, std::vector<std::byte>> found;
  for (onnx::TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
    const std::string name = tensor.name();
    const auto read = import::read_tensor(tensor, beside, name);
    EXPECT_TRUE(read) << to_text(read.error());
    if (read) found[name] = read->data.copy();
  }
  return found;
}

std::set<std::string> trained_names(const ir::Graph& graph) {
  std::set<std::string> names;
  for (const ir::Value& value : graph.values)
    if (value.next != ir::kNone) names.insert(value.name);
  return names;
}

// What the step does not train has its bits after training in the file with trained weights, and no buffer is trained.
void compare_the_rest(const Network& network, const ir::Graph& graph, const ir::Feeds& feeds) {
  const std::set<std::string> trained = trained_names(graph);
  const auto before = initializers_of(message_of(network.model()), network);
  const auto after = initializers_of(exported(network, graph, feeds), network);
  for (const Json& fixed : network.expected().value("fixed", Json::array())) {
    EXPECT_FALSE(trained.contains(fixed)) << fixed;
    EXPECT_GE(after.count(fixed), before.count(fixed)) << fixed;  // one that the exporter merged is there again
  }
  for (const auto& [name, bytes] : after)
    if (const auto start = before.find(name); start != before.end() && !trained.contains(name)) {
      EXPECT_TRUE(bytes == start->second) << name << " is not trained, and has changed";
    }
}

class TrainingOf : public testing::TestWithParam<std::string> {};

TEST_P(TrainingOf, TheExportByTracingIsPyTorchs) {
  const Network network(GetParam(), GetParam() + ".onnx");
  const Json& expected = network.expected();
  const ir::Graph graph = network.training();
  ASSERT_FALSE(graph.results.empty());
  ir::Feeds feeds = network.feeds(graph);
  const std::vector<double> losses = train(graph, feeds, expected["losses"].size(), expected["lr"]);
  ASSERT_EQ(losses.size(), expected["losses"].size());
  compare_losses(losses, expected);
  EXPECT_EQ(compare_tensors(network, graph, feeds), expected["after"].size());
  compare_the_rest(network, graph, feeds);
}

// Trains the newer exporter's file. It marks buffers: none needs --freeze. Of the large networks the loss after one step
// shows the gradients. Returns how many tensors have PyTorch's values.
size_t compare_marked(const Network& network, bool packed = false) {
  const Json& expected = network.expected();
  EXPECT_THAT(network.fixed_that_train(), testing::IsEmpty());
  if (expected.contains("fixed") && !packed) {
    EXPECT_THAT(network.tensors_that("ambiguous"), testing::IsEmpty());
  }
  const ir::Graph graph = network.training();
  if (graph.results.empty()) return 0;
  ir::Feeds feeds = network.feeds(graph);
  const bool small = expected.value("bound", kBound) < kBound;
  const size_t steps = small ? expected["losses"].size() : 2;
  const std::vector<double> losses = train(graph, feeds, steps, expected["lr"]);
  EXPECT_EQ(losses.size(), steps);
  compare_losses(losses, expected);
  compare_the_rest(network, graph, feeds);
  return small ? compare_tensors(network, graph, feeds, packed) : expected["after"].size();
}

// The other exporter writes other operators for the same network.
TEST_P(TrainingOf, TheExportOfTheProgramIsPyTorchs) {
  const Network network(GetParam(), GetParam() + ".dynamo.onnx");
  EXPECT_EQ(compare_marked(network), network.expected()["after"].size());
}

class DefaultExportOf : public testing::TestWithParam<std::string> {};

// The default call folds for inference: that is undone, or the model is refused.
TEST_P(DefaultExportOf, IsUndoneOrRefused) {
  const Network network(GetParam(), GetParam() + ".default.onnx");
  if (network.expected()["default"] == "trains") {
    EXPECT_GT(compare_marked(network, true), 0U);
    return;
  }
  const auto refused = network.load();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "E0406") << to_text(refused.error());
  EXPECT_THAT(refused.error().notes, testing::Not(testing::IsEmpty()));
}

// NAME of every file NAME.default.onnx or NAME.json.
std::vector<std::string> names_before(const std::string& ending) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_of_networks()))
    if (const std::string file = entry.path().filename().string(); file.ends_with(ending))
      names.push_back(file.substr(0, file.size() - ending.size()));
  std::sort(names.begin(), names.end());
  return names;
}

const auto name_of = [](const auto& network) { return network.param; };
INSTANTIATE_TEST_SUITE_P(Networks, TrainingOf, testing::ValuesIn(names_before(".json")), name_of);
INSTANTIATE_TEST_SUITE_P(Networks, DefaultExportOf, testing::ValuesIn(names_before(".default.onnx")), name_of);

}  // namespace
}  // namespace pantoum
