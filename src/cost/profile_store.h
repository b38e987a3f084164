// Measured times of operators and storage, kept in SQLite so that each op and shape is measured once per machine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "problem/cost_graph.h"

namespace pantoum::cost {

using problem::Link;
using problem::Seconds;

class ProfileStore {
 public:
  // Opens or creates the data base; ":memory:" keeps nothing. E0275 when it is no profile store or cannot be written.
  // Several processes may have it open; one that waits for another longer than a quarter of a second gives up (E0275). What is no
  // time (negative, infinite, a text) reads as not known.
  [[nodiscard]] static Result<std::unique_ptr<ProfileStore>> open(const std::string& path);
  virtual ~ProfileStore() = default;

  // `key`: operator, shapes, attributes, algorithm, threads, machine.
  [[nodiscard]] virtual Result<std::optional<Seconds>> find_op(const std::string& key) = 0;
  [[nodiscard]] virtual Result<void> put_op(const std::string& key, Seconds seconds, int samples) = 0;
  // `key`: the folder of the page file and the direction.
  [[nodiscard]] virtual Result<std::optional<Link>> find_link(const std::string& key) = 0;
  [[nodiscard]] virtual Result<void> put_link(const std::string& key, const Link& link, int samples) = 0;
  // How many times it keeps, of operators and of storage.
  [[nodiscard]] virtual Result<int64_t> rows() { return int64_t{0}; }
};

}  // namespace pantoum::cost
