// For tests: a linear classifier's training step, planned by hand, and data for it.
//
//   x [batch, 2, 3]   w [6, 3]   b [3]   logits = x w + b   loss = cross-entropy (or mean squared error with targets
//   [batch, 3]) SGD with momentum: w' and b' take over w's and b's bytes. With `in_storage`, w and its momentum live in
//   storage.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "artifact/binary_plan.h"
#include "data/dataset.h"
#include "pantoum/pantoum.h"
#include "testing/array_samples.h"
#include "train/trainer.h"
#include "weights/safetensors.h"

namespace pantoum::train {

struct TinyOptions {
  int64_t batch = 4;
  bool in_storage = false;
  bool targets = false;  // mean squared error
  bool with_eval = true;
  int64_t micro_batches = 1;  // more than one: with sums of gradients and a program that adds to them
  uint64_t ballast = 0;       // more bytes for the arena
  bool groups = false;        // w is in group 0, b in group 1
  bool with_outputs = false;  // a program that gives the logits
};

class TinyPlan {
 public:
  explicit TinyPlan(const TinyOptions& options) : options_(options) {
    plan_.align_bytes = options.in_storage ? 4096 : 64;
    add_tensors();
    add_train();
    if (options.micro_batches > 1) add_accumulate();
    if (options.with_eval) add_eval();
    if (options.with_outputs) add_predict();
    plan_.arena_bytes = next_ + round(options.ballast);
  }
  std::vector<std::byte> encoded() const {
    auto bytes = artifact::encode(plan_);
    EXPECT_TRUE(bytes) << to_text(bytes.error());
    return bytes ? *bytes : std::vector<std::byte>{};
  }
  artifact::BinaryPlan& plan() { return plan_; }

 private:
  using Kind = ir::Kind;
  using DType = base::DType;
  using Instruction = artifact::BinaryInstruction;
  static constexpr int64_t kFeatures = 6, kClasses = 3;

  TinyOptions options_;
  artifact::BinaryPlan plan_;
  uint64_t next_ = 0;
  uint32_t x_ = 0, label_ = 0, w_ = 0, b_ = 0, vw_ = 0, vb_ = 0, logits_ = 0, dlogits_ = 0, dw_ = 0, db_ = 0;
  uint32_t sum_w_ = 0, sum_b_ = 0;

  uint64_t round(uint64_t bytes) const {
    return (bytes + plan_.align_bytes - 1) / plan_.align_bytes * plan_.align_bytes;
  }

  // A tensor with an offset of its own; it lives in RAM when it has a name.
  uint32_t tensor(const std::string& name, DType dtype, base::Shape shape) {
    artifact::BinaryTensor entry{.name = name, .type = {dtype, std::move(shape)}};
    entry.bytes = round(static_cast<uint64_t>(entry.type.bytes()));
    entry.home = name.empty() ? problem::Home::kNone : problem::Home::kRam;
    entry.ram_at = static_cast<int64_t>(next_);
    next_ += entry.bytes;
    plan_.tensors.push_back(entry);
    return static_cast<uint32_t>(plan_.tensors.size() - 1);
  }

  // A persistent tensor and its successor on the same bytes.
  uint32_t updated(const std::string& name, base::Shape shape, bool in_storage) {
    const uint32_t old = tensor(name, DType::kF32, std::move(shape));
    artifact::BinaryTensor heir = plan_.tensors[old];
    heir.name.clear();
    if (in_storage) {
      for (artifact::BinaryTensor* half : {&plan_.tensors[old], &heir}) {
        half->home = problem::Home::kAux;
        half->storage_at = static_cast<int64_t>(plan_.storage_bytes);
        plan_.storage_bytes += half->bytes;
      }
    }
    plan_.tensors[old].next = static_cast<int32_t>(plan_.tensors.size());
    plan_.tensors.push_back(heir);
    return old;
  }

  void add_tensors() {
    x_ = tensor("x", DType::kF32, {options_.batch, 2, 3});
    label_ = options_.targets ? tensor("label", DType::kF32, {options_.batch, kClasses})
                              : tensor("label", DType::kI64, {options_.batch});
    w_ = updated("w", {kFeatures, kClasses}, options_.in_storage);
    b_ = updated("b", {kClasses}, false);
    vw_ = updated("optim.momentum.w", {kFeatures, kClasses}, options_.in_storage);
    vb_ = updated("optim.momentum.b", {kClasses}, false);
    logits_ = tensor("", DType::kF32, {options_.batch, kClasses});
    dlogits_ = tensor("", DType::kF32, {options_.batch, kClasses});
    dw_ = tensor("", DType::kF32, {kFeatures, kClasses});
    db_ = tensor("", DType::kF32, {kClasses});
    if (options_.micro_batches == 1) return;
    sum_w_ = updated("accumulated.w", {kFeatures, kClasses}, options_.in_storage);
    sum_b_ = updated("accumulated.b", {kClasses}, false);
  }

  uint32_t heir(uint32_t old) const { return static_cast<uint32_t>(plan_.tensors[old].next); }
  artifact::BinaryOperand operand(uint32_t index) const { return {index, plan_.tensors[index].type}; }
  artifact::BinaryOperand flat_x() const { return {x_, {DType::kF32, {options_.batch, kFeatures}}}; }

  void compute(std::vector<Instruction>& code, Kind kind, std::vector<artifact::BinaryOperand> inputs,
               std::vector<artifact::BinaryOperand> outputs, ir::Attrs attrs = {}) {
    artifact::BinaryOp op{
        .kind = kind, .inputs = std::move(inputs), .outputs = std::move(outputs), .attrs = std::move(attrs)};
    op.workspace_bytes = round(workspace_of(op));
    Instruction instruction{.subject = static_cast<uint32_t>(plan_.ops.size()), .workspace_at = next_};
    for (const artifact::BinaryOperand& output : op.outputs)
      instruction.at.push_back(static_cast<uint64_t>(plan_.tensors[output.tensor].ram_at));
    next_ += op.workspace_bytes;
    plan_.ops.push_back(std::move(op));
    code.push_back(std::move(instruction));
  }

  static pt_tensor described(const artifact::BinaryOperand& operand) {
    pt_tensor tensor{};
    tensor.rank = static_cast<uint8_t>(operand.type.shape.size());
    tensor.dtype = static_cast<uint8_t>(operand.type.dtype);
    for (size_t dim = 0; dim < operand.type.shape.size(); ++dim)
      tensor.dims[dim] = static_cast<uint32_t>(operand.type.shape[dim]);
    return tensor;
  }

  static uint64_t workspace_of(const artifact::BinaryOp& op) {
    std::vector<pt_tensor> inputs, outputs;
    for (const auto& input : op.inputs) inputs.push_back(described(input));
    for (const auto& output : op.outputs) outputs.push_back(described(output));
    const uint8_t key = op.kind == Kind::k_count_correct ? inputs[0].dtype : outputs[0].dtype;
    const pt_kernel* kernel = pt_kernel_find(pt_portable_kernels(), static_cast<uint16_t>(op.kind), key, 0, 0);
    EXPECT_NE(kernel, nullptr) << "operator " << static_cast<int>(op.kind);
    if (kernel == nullptr || kernel->workspace_bytes == nullptr) return 0;
    const pt_pool pool{nullptr, 4, nullptr};
    const pt_call call{inputs.data(),
                       outputs.data(),
                       op.attrs.ints.data(),
                       op.attrs.reals.data(),
                       static_cast<uint16_t>(inputs.size()),
                       static_cast<uint16_t>(outputs.size()),
                       static_cast<uint16_t>(op.attrs.ints.size()),
                       static_cast<uint16_t>(op.attrs.reals.size()),
                       nullptr,
                       nullptr,
                       &pool};
    return kernel->workspace_bytes(&call);
  }

  void page(std::vector<Instruction>& code, problem::Do what, uint32_t index) {
    if (plan_.tensors[index].home != problem::Home::kAux) return;
    Instruction instruction{.what = what, .subject = index};
    if (what == problem::Do::kPageIn) instruction.at = {static_cast<uint64_t>(plan_.tensors[index].ram_at)};
    code.push_back(std::move(instruction));
  }

  ir::Attrs loss_attrs() const { return options_.targets ? ir::Attrs{} : ir::Attrs{{-1}, {0}}; }

  // w, dw_ and db_ are in RAM then.
  void add_gradients(std::vector<Instruction>& code, const std::string& result) {
    const uint32_t loss = tensor(result, DType::kF32, {});
    page(code, problem::Do::kPageIn, w_);
    compute(code, Kind::k_matmul, {flat_x(), operand(w_), operand(b_)}, {operand(logits_)}, {{0, 0}, {}});
    compute(code, options_.targets ? Kind::k_mse : Kind::k_cross_entropy, {operand(logits_), operand(label_)},
            {operand(loss)}, loss_attrs());
    compute(code, options_.targets ? Kind::k_mse_grad : Kind::k_cross_entropy_grad, {operand(logits_), operand(label_)},
            {operand(dlogits_)}, loss_attrs());
    compute(code, Kind::k_matmul, {flat_x(), operand(dlogits_)}, {operand(dw_)}, {{1, 0}, {}});
    compute(code, Kind::k_reduce_sum, {operand(dlogits_)}, {operand(db_)}, {{1}, {}});
  }

  void add_train() {
    std::vector<Instruction> code;
    const auto momentum = [&](int64_t group) {
      return options_.groups ? ir::Attrs{{0, group}, {0.9, 1e-4}} : ir::Attrs{{0}, {0.9, 1e-4}};
    };
    add_gradients(code, "loss");
    const uint32_t dw = mean(code, dw_, sum_w_), db = mean(code, db_, sum_b_);
    page(code, problem::Do::kPageIn, vw_);
    compute(code, Kind::k_sgd, {operand(w_), operand(dw), operand(vw_)}, {operand(heir(w_)), operand(heir(vw_))},
            momentum(0));
    compute(code, Kind::k_sgd, {operand(b_), operand(db), operand(vb_)}, {operand(heir(b_)), operand(heir(vb_))},
            momentum(1));
    page(code, problem::Do::kPageOut, heir(w_));
    page(code, problem::Do::kPageOut, heir(vw_));
    plan_.programs.push_back({"train", std::move(code)});
  }

  // The gradient that the update sees.
  uint32_t mean(std::vector<Instruction>& code, uint32_t gradient, uint32_t sum) {
    if (options_.micro_batches == 1) return gradient;
    const uint32_t made = tensor("", DType::kF32, plan_.tensors[gradient].type.shape);
    page(code, problem::Do::kPageIn, sum);
    compute(code, Kind::k_accumulated, {operand(sum), operand(gradient)}, {operand(made), operand(heir(sum))},
            {{}, {1 / static_cast<double>(options_.micro_batches)}});
    page(code, problem::Do::kPageOut, heir(sum));
    return made;
  }

  void add_accumulate() {
    std::vector<Instruction> code;
    add_gradients(code, "accumulate.loss");
    for (const auto& [sum, gradient] : {std::pair{sum_w_, dw_}, std::pair{sum_b_, db_}}) {
      page(code, problem::Do::kPageIn, sum);
      compute(code, Kind::k_accumulate, {operand(sum), operand(gradient)}, {operand(heir(sum))});
      page(code, problem::Do::kPageOut, heir(sum));
    }
    plan_.programs.push_back({"accumulate", std::move(code)});
  }

  void add_eval() {
    std::vector<Instruction> code;
    const uint32_t loss = tensor("eval.loss", DType::kF32, {});
    page(code, problem::Do::kPageIn, w_);
    compute(code, Kind::k_matmul, {flat_x(), operand(w_), operand(b_)}, {operand(logits_)}, {{0, 0}, {}});
    compute(code, options_.targets ? Kind::k_mse : Kind::k_cross_entropy, {operand(logits_), operand(label_)},
            {operand(loss)}, loss_attrs());
    if (!options_.targets) {
      const uint32_t correct = tensor("eval.count_correct", DType::kF32, {2});
      compute(code, Kind::k_count_correct, {operand(logits_), operand(label_)}, {operand(correct)}, {{-1, 1}, {}});
    }
    plan_.programs.push_back({"eval", std::move(code)});
  }

  void add_predict() {
    std::vector<Instruction> code;
    const uint32_t logits = tensor("predict.0:logits", DType::kF32, {options_.batch, kClasses});
    page(code, problem::Do::kPageIn, w_);
    compute(code, Kind::k_matmul, {flat_x(), operand(w_), operand(b_)}, {operand(logits)}, {{0, 0}, {}});
    plan_.programs.push_back({"predict", std::move(code)});
  }
};

using data::samples;

// `count` pseudo-random images of bytes, and labels that follow from their brightest column.
inline data::Dataset tiny_data(size_t count, uint32_t seed = 1) {
  std::vector<uint8_t> images, labels;
  for (size_t sample = 0; sample < count; ++sample) {
    uint8_t row[6];
    for (uint8_t& pixel : row) pixel = static_cast<uint8_t>((seed = seed * 1664525U + 1013904223U) >> 24);
    images.insert(images.end(), row, row + 6);
    const int sums[3] = {row[0] + row[3], row[1] + row[4], row[2] + row[5]};
    labels.push_back(static_cast<uint8_t>(std::max_element(sums, sums + 3) - sums));
  }
  data::Dataset data;
  data.inputs.push_back(samples(base::DType::kU8, {2, 3}, images));
  data.labels = samples(base::DType::kU8, {}, labels);
  return data;
}

// A folder of its own with first weights in it.
class TrainFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "pantoum-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::vector<float> w(18), b{0.5F, -0.25F, 0.125F};
    for (size_t at = 0; at < w.size(); ++at) w[at] = static_cast<float>(at % 5) * 0.125F - 0.25F;
    ASSERT_TRUE(weights::write_safetensors(path("weights"),
                                           {source("w", {6, 3}, w), source("b", {3}, b)}, {}));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  static weights::SafetensorSource source(std::string name, std::vector<int64_t> shape, std::vector<float> values) {
    return {std::move(name), base::DType::kF32, std::move(shape),
            [values](uint64_t at, std::span<std::byte> piece) -> Result<void> {
              std::memcpy(piece.data(), reinterpret_cast<const char*>(values.data()) + at, piece.size());
              return {};
            }};
  }

  std::unique_ptr<Trainer> trainer(const TinyOptions& tiny = {}, uint64_t seed = 7,
                                   const data::Preparation& preparation = {}, int64_t prefetch = 0) const {
    auto made = Trainer::create(TinyPlan(tiny).encoded(), path("weights"),
                                {.page_file = folder_,
                                 .threads = 2,
                                 .seed = seed,
                                 .lr = 0.05,
                                 .micro_batches = tiny.micro_batches,
                                 .plan_hash = "tiny",
                                 .prefetch = prefetch,
                                 .preparation = preparation});
    EXPECT_TRUE(made) << to_text(made.error());
    return made ? std::move(*made) : nullptr;
  }

  // A tensor of a file, as it is.
  std::string tensor(const std::string& file, const std::string& name) const {
    const auto opened = weights::open_safetensors(path(file));
    if (!opened || opened->find(name) == nullptr) return "none";
    std::string bytes(opened->find(name)->bytes, '\0');
    const auto read = weights::read_tensor(*opened, *opened->find(name), 0, std::as_writable_bytes(std::span(bytes)));
    return read ? bytes : "none";
  }

  std::string folder_;
};

}  // namespace pantoum::train
