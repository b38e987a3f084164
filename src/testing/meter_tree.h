// A tree of small files for one test, as a machine's /sys would be, and a clock that a test moves.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "cost/meters/meter.h"
#include "testing/temporary_folder.h"

namespace pantoum::cost {

class MeterTree {
 public:
  // Writes a file below the root, with its folders.
  void put(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  void put(const std::string& path, uint64_t number) const { put(path, std::to_string(number) + "\n"); }
  void remove(const std::string& path) const { std::filesystem::remove_all(root() + path); }
  [[nodiscard]] std::string root() const { return folder_.path().string(); }

 private:
  TemporaryFolder folder_;
};

class HandClock {
 public:
  [[nodiscard]] MeterClock clock() const {
    return {.now = [now = now_] { return *now; }, .sleep = [now = now_](Seconds seconds) { *now += seconds; }};
  }
  void pass(Seconds seconds) const { *now_ += seconds; }

 private:
  std::shared_ptr<Seconds> now_ = std::make_shared<Seconds>(1000);
};

inline MeterPlace place_of(const MeterTree& tree, const HandClock& clock) {
  return {.root = tree.root(),
          .nvml = "libnone-of-this-name.so",
          .perf = {.open = [](uint32_t, uint64_t, int) { return -13; },
                   .read = [](int, uint64_t&) { return -5; },
                   .close = [](int) {}},
          .clock = clock.clock(),
          .sampling_thread = false};
}

}  // namespace pantoum::cost
