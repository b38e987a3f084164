// A part of a network that repeats in time over its own result: a backbone's section with `unroll_for`. Example:
//
//   [decoder]
//   backbone = decoder.ini
//   input_layers = first_frame, encoded
//   unroll_for = 20
//   recurrent_input = prenet, cell(1), cell(2)
//   recurrent_output = frame, cell, cell(1)
//   as_sequence = frame
//
// The file's layers stand in the network once for each time step t, as "decoder/prenet/t", with the weights of "decoder/prenet". From the second
// step on a connection of `recurrent_input` reads that of `recurrent_output` at step t - 1. "decoder/frame" is what the part gives: the last
// step's result, or with `as_sequence` those of all steps in a concat layer.
//
// With `teacher_input = prenet` and `teacher_layers = frames` that connection reads in training what `frames` has for step t - 1, the recorded
// target, with the probability `teacher_forcing` (1 if it is absent), for each sample and step by itself; else its own result.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "ini/keys.h"
#include "ini/network.h"

namespace pantoum::ini {

// A name of `input_layers`: "split(1)".
struct Reference {
  std::string name;
  int64_t output = 0;
};

[[nodiscard]] std::optional<Reference> reference_in(const std::string& text);

// What an unrolled layer reads outside of its part. With a step: layer "name/step" if there is one, else output `step` of layer `name`.
struct OuterSource {
  size_t layer = 0, input = 0;  // of Unrolled::layers, of its sources
  Reference reference;
  std::optional<int64_t> step = {};
  const Entry* entry = nullptr;       // that names it; null: `input_layers` is absent, and it is the layer before the section
};

struct Unrolled {
  std::vector<NetworkLayer> layers;  // sources inside of the part are positions here
  std::vector<OuterSource> outer;
  std::vector<std::string> names;  // of the file's layers, with the section's in front
  size_t last = 0;                 // the layer that the section's name stands for
};

// The layers of one network, all steps of unrolled parts counted.
inline constexpr size_t kMostLayers = 20000;

// Is the section one of a part that is unrolled?
[[nodiscard]] bool is_unrolled(const Section& section);

// Unrolls the layers of `file`, whose section with `unroll_for` is that of `keys`. `made` gets the sections of layers that no file has.
// E0214: a key or a layer of the file is wrong; the part has more layers than `most`.
[[nodiscard]] Result<Unrolled> unroll(Keys& keys, const Text& file, bool frozen, size_t most, std::deque<Section>& made);

}  // namespace pantoum::ini
