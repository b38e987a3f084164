// Many time steps of an LSTM or a GRU as one op: cases of gradient_cases.h, which includes this.
#pragma once

#include <string>
#include <vector>

#include "testing/case_builder.h"

namespace pantoum::autodiff {

inline void append_lstm_series_cases(std::vector<GradientCase>& cases) {
  using ir::Kind;
  // Two ops in a row; which of their outputs the loss depends on: all states, the last ones, or the first op's.
  const auto lstm_series = [&](const char* name, int which, std::vector<int64_t> attrs, int64_t steps) {
    cases.push_back(
        {name, [=](CaseBuilder& c) {
           const ir::ValueId r = c.parameter({12, 3}), h = c.parameter({2, 3}), inner = c.parameter({2, 3});
           const auto first = c.ops(Kind::k_lstm_sequence, {c.parameter({steps, 2, 12}), r, h, inner}, {attrs, {}});
           if (which == 0) return first[0];
           const auto second =
               c.ops(Kind::k_lstm_sequence, {c.parameter({steps, 2, 12}), r, first[3], first[4]}, {attrs, {}});
           if (which == 1) return c.op(Kind::k_mul, {second[3], second[4]});
           return c.op(Kind::k_mul, {first[0], second[0]});
         }});
  };
  lstm_series("lstm_sequence", 0, {0, 1, 2, 3, 0}, 3);
  lstm_series("lstm_sequence, backward in time", 0, {0, 3, 1, 2, 1}, 3);
  lstm_series("lstm_sequence of one step", 0, {0, 1, 2, 3, 1}, 1);
  lstm_series("lstm_sequence after lstm_sequence, the last states alone", 1, {0, 3, 1, 2, 0}, 2);
  lstm_series("lstm_sequence after lstm_sequence, all states", 2, {0, 3, 1, 2, 1}, 3);
}

inline void append_gru_series_cases(std::vector<GradientCase>& cases) {
  using ir::Kind;
  const auto gru_series = [&](const char* name, int which, std::vector<int64_t> attrs, bool has_bias, int64_t steps) {
    cases.push_back({name, [=](CaseBuilder& c) {
                       const ir::ValueId r = c.parameter({9, 3}), bias = has_bias ? c.parameter({9}) : ir::kNone;
                       const auto run = [&](ir::ValueId before) {
                         std::vector<ir::ValueId> inputs{c.parameter({steps, 2, 9}), r, before};
                         if (has_bias) inputs.push_back(bias);
                         return c.ops(Kind::k_gru_sequence, inputs, {attrs, {}});
                       };
                       const auto first = run(c.parameter({2, 3}));
                       if (which == 0) return first[0];
                       const auto second = run(first[3]);
                       return which == 1 ? second[3] : c.op(Kind::k_mul, {first[0], second[0]});
                     }});
  };
  gru_series("gru_sequence", 0, {0, 1, 2, 0}, false, 3);
  gru_series("gru_sequence with a bias, backward in time", 0, {1, 0, 2, 1}, true, 3);
  gru_series("gru_sequence of one step", 0, {0, 1, 2, 0}, true, 1);
  gru_series("gru_sequence after gru_sequence, the last state alone", 1, {1, 0, 2, 1}, true, 2);
  gru_series("gru_sequence after gru_sequence, all states", 2, {1, 0, 2, 0}, false, 3);
}

}  // namespace pantoum::autodiff
