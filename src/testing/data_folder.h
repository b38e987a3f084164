// For tests: a folder for data sets and their cache.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "data/dataset.h"

namespace pantoum::data {

class DataFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "pantoum-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string cache() const { return folder_ + "/cache/inner"; }
  std::string put(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string folder_;
};

inline std::string sample(const SampleFile& samples, int64_t index) {
  std::string bytes(static_cast<size_t>(sample_bytes(samples)), '?');
  const auto read = samples.read(index, std::as_writable_bytes(std::span(bytes)));
  return read ? bytes : read.error().code;
}

}  // namespace pantoum::data
