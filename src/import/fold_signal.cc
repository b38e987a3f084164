// Folding of what prepares a signal: window functions, and the weights from frequencies to mels.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "import/fold.h"

namespace pantoum::import {
namespace {

using ir::DType;

// An element type by its number in ONNX; float32 where the attribute is absent.
Result<DType> told_type(const FoldCall& call) {
  const int64_t told = Attributes(call.node).integer("output_datatype", 1);
  const auto dtype = told > 0 && told < 64 ? dtype_of(static_cast<int32_t>(told)) : std::nullopt;
  if (!dtype) return fail("E0401", "its element type is not supported");
  return *dtype;
}

Numbers as_told(DType dtype, ir::Shape shape, const std::vector<double>& values) {
  return to_numbers(make_tensor(dtype, std::move(shape), values));
}

// a - b cos(2 pi t / n) + c cos(4 pi t / n); a periodic window is one of n + 1 elements without the last.
Result<Numbers> window(const FoldCall& call, double a, double b, double c) {
  PANTOUM_ASSIGN(const std::vector<int64_t> size, want_ints(*call.inputs[0]));
  if (size.size() != 1 || size[0] < 1) return fail("E0211", "its size is not one positive number");
  PANTOUM_TRY(check_folded_size(call, {size[0]}));
  PANTOUM_ASSIGN(const DType dtype, told_type(call));
  const bool periodic = Attributes(call.node).integer("periodic", 1) != 0;
  const auto span = static_cast<double>(std::max<int64_t>(periodic ? size[0] : size[0] - 1, 1));
  std::vector<double> values(static_cast<size_t>(size[0]));
  for (size_t t = 0; t < values.size(); ++t) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(t) / span;
    values[t] = size[0] == 1 ? 1 : a - b * std::cos(turn) + c * std::cos(2 * turn);
  }
  return as_told(dtype, {size[0]}, values);
}

Result<Numbers> fold_hann(const FoldCall& call) {
  return window(call, 0.5, 0.5, 0);
}
Result<Numbers> fold_hamming(const FoldCall& call) {
  return window(call, 25.0 / 46, 1 - 25.0 / 46, 0);
}
Result<Numbers> fold_blackman(const FoldCall& call) {
  return window(call, 0.42, 0.5, 0.08);
}

struct Mels {
  int64_t count, length, rate;  // of mels; of the transform; samples a second
  double lowest, highest;       // hertz
};

Result<Mels> read_mels(const FoldCall& call) {
  for (const Numbers* input : call.inputs.first(5))
    if (input->size() != 1) return fail("E0211", "an operand of MelWeightMatrix is not one number");
  for (const Numbers* input : call.inputs.first(3))
    if (input->is_real() || input->ints[0] < 1 || input->ints[0] > INT32_MAX)
      return fail("E0211", "a size of MelWeightMatrix is out of range");
  const Mels mels{call.inputs[0]->ints[0], call.inputs[1]->ints[0], call.inputs[2]->ints[0], call.inputs[3]->real(0),
                  call.inputs[4]->real(0)};
  if (!(mels.lowest >= 0 && mels.lowest < mels.highest && mels.highest <= static_cast<double>(mels.rate)))
    return fail("E0211", "its frequencies are out of order");
  return mels;
}

// The bins of the transform where the mels begin: mel m spans [m, m + 2], with its top at m + 1.
std::vector<int64_t> mel_edges(const Mels& mels) {
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mel(mels.highest) - mel(mels.lowest)) / static_cast<double>(mels.count + 2);
  std::vector<int64_t> edges;
  for (int64_t at = 0; at < mels.count + 2; ++at) {
    const double hertz = 700 * (std::pow(10.0, (static_cast<double>(at) * step + mel(mels.lowest)) / 2595) - 1);
    edges.push_back(static_cast<int64_t>(
        std::floor(static_cast<double>(mels.length + 1) * hertz / static_cast<double>(mels.rate))));
  }
  return edges;
}

Result<Numbers> fold_mel_weights(const FoldCall& call) {
  PANTOUM_ASSIGN(const Mels mels, read_mels(call));
  PANTOUM_ASSIGN(const DType dtype, told_type(call));
  const int64_t bins = mels.length / 2 + 1;
  PANTOUM_ASSIGN(const int64_t count, check_folded_size(call, {bins, mels.count}));
  const std::vector<int64_t> edges = mel_edges(mels);
  if (edges.back() > bins) return fail("E0211", "its highest frequency is beyond half the sample rate");
  std::vector<double> weights(static_cast<size_t>(count), 0);
  const auto set = [&](int64_t bin, int64_t at, int64_t part, int64_t whole) {
    if (bin < bins)
      weights[static_cast<size_t>(bin * mels.count + at)] = static_cast<double>(part) / static_cast<double>(whole);
  };
  for (int64_t at = 0; at < mels.count; ++at) {
    const auto entry = static_cast<size_t>(at);
    const int64_t low = edges[entry], top = edges[entry + 1], high = edges[entry + 2];
    for (int64_t bin = low; bin < top; ++bin) set(bin, at, bin - low, top - low);
    set(top, at, 1, 1);
    for (int64_t bin = top; bin < high; ++bin) set(bin, at, high - bin, high - top);
  }
  return as_told(dtype, {bins, mels.count}, weights);
}

constexpr std::array kSignalFolders = {
    FolderEntry{"HannWindow", 1, fold_hann}, FolderEntry{"HammingWindow", 1, fold_hamming},
    FolderEntry{"BlackmanWindow", 1, fold_blackman}, FolderEntry{"MelWeightMatrix", 5, fold_mel_weights}};

}  // namespace

std::span<const FolderEntry> signal_folders() {
  return kSignalFolders;
}

}  // namespace pantoum::import
