// Measured times of operators and storage, kept in SQLite so that each op and shape is measured once per machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cost/op_sample.h"

namespace pantoum::cost {

using problem::Link;

// One direction of a storage, measured while the threads of training computed, and the seconds that a transfer took from them.
struct LinkSample {
  Link link = {};  // its watts are not kept
  Seconds engine_s = 0, engine_s_per_byte = 0;
};

class ProfileStore {
 public:
  // Opens or creates the data base; ":memory:" keeps nothing. E0275 the file cannot be written, or is no profile store: another
  // program's data base, or one whose tables have other columns or triggers; nothing is written into it.
  // Several processes may have it open. One that waits for another for more than a quarter of a second gives up (E0275).
  // A value that is no time (negative, infinite, a text) counts as not known.
  [[nodiscard]] static Result<std::unique_ptr<ProfileStore>> open(const std::string& path);
  virtual ~ProfileStore() = default;

  [[nodiscard]] virtual Result<std::optional<OpSample>> find_op(const OpKey& key) = 0;
  [[nodiscard]] virtual Result<void> put_op(const OpKey& key, const OpSample& sample) = 0;
  // `key`: the folder of the page file, how it is used, and the direction.
  [[nodiscard]] virtual Result<std::optional<LinkSample>> find_link(const std::string& key) = 0;
  [[nodiscard]] virtual Result<void> put_link(const std::string& key, const LinkSample& sample, int samples) = 0;
  // The number of samples in it, of operators and of storage.
  [[nodiscard]] virtual Result<int64_t> rows() { return int64_t{0}; }
  // Calls `act` with every sample of an operator, ordered by key. Rows that are no key or no measurement are left out.
  [[nodiscard]] virtual Result<void> each_op(const std::function<Result<void>(const OpKey&, const OpSample&)>& act) = 0;
  // commit() keeps all changes since begin(), or none; roll_back() drops them.
  [[nodiscard]] virtual Result<void> begin() = 0;
  [[nodiscard]] virtual Result<void> commit() = 0;
  [[nodiscard]] virtual Result<void> roll_back() = 0;
};

inline constexpr size_t kMostField = 1 << 16;  // bytes of a text in a table of times

// Can it be a key: named parts without a NUL byte, none longer than kMostField, and at least one thread?
[[nodiscard]] bool is_key(const OpKey& key);

// Can it be a measurement at all: times and bytes that are finite, not negative, and in order?
[[nodiscard]] bool is_sample(const OpSample& sample);

}  // namespace pantoum::cost
