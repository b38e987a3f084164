#include "cost/meters/meter.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/foreign_text.h"
#include "base/owned_file.h"

namespace pantoum::cost {
namespace {

namespace fs = std::filesystem;

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

// Runs of digits compare as numbers.
bool natural_less(const std::string& one, const std::string& other) {
  size_t a = 0, b = 0;
  while (a < one.size() && b < other.size()) {
    if (!is_digit(one[a]) || !is_digit(other[b])) {
      if (one[a] != other[b]) return one[a] < other[b];
      ++a, ++b;
      continue;
    }
    const size_t from_a = a, from_b = b;
    while (a < one.size() && is_digit(one[a])) ++a;
    while (b < other.size() && is_digit(other[b])) ++b;
    if (a - from_a != b - from_b) return a - from_a < b - from_b;
    if (const int order = one.compare(from_a, a - from_a, other, from_b, b - from_b); order != 0) return order < 0;
  }
  return one.size() - a < other.size() - b;
}

template <class Number>
Result<Number> number_in(const Sysfs& sysfs, const std::string& path) {
  const Sysfs::Text read = sysfs.read(path);
  if (read.error != 0)
    return fail("E0909", fmt::format("{} cannot be read: {}", sysfs.path(path), std::strerror(read.error)), {},
                read.error == EACCES || read.error == EPERM ? "run as root, or let this user read it"
                                                            : "the device may be gone: look at pantoum doctor");
  Number value = 0;
  const char* end = read.text.data() + read.text.size();
  const auto [rest, problem] = std::from_chars(read.text.data(), end, value);
  if (problem != std::errc() || rest != end)
    return fail(
        "E0909",
        fmt::format("{} holds '{}', no whole number", sysfs.path(path), base::one_line(read.text.substr(0, 40))), {},
        "its driver is at fault");
  return value;
}

}  // namespace

Sysfs::Text Sysfs::read(const std::string& path) const {
  const base::OwnedFile file(::open((root_ + path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK), "", 0);
  if (file.descriptor() < 0) return {.text = {}, .error = errno};
  std::array<char, 4096> bytes{};
  const ssize_t got = ::read(file.descriptor(), bytes.data(), bytes.size());
  if (got < 0) return {.text = {}, .error = errno};
  std::string text(bytes.data(), static_cast<size_t>(got));
  text.erase(std::find_if(text.begin(), text.end(), [](char letter) { return letter == '\n' || letter == '\0'; }),
             text.end());
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.pop_back();
  return {.text = std::move(text)};
}

Result<uint64_t> Sysfs::count(const std::string& path) const {
  return number_in<uint64_t>(*this, path);
}

Result<int64_t> Sysfs::whole(const std::string& path) const {
  return number_in<int64_t>(*this, path);
}

bool Sysfs::exists(const std::string& path) const {
  std::error_code none;
  return fs::exists(root_ + path, none);
}

std::vector<std::string> Sysfs::names(const std::string& folder) const {
  std::error_code none;
  std::vector<std::string> names;
  for (fs::directory_iterator at(root_ + folder, none), end; !none && at != end; at.increment(none))
    names.push_back(at->path().filename().string());
  std::sort(names.begin(), names.end(), natural_less);
  return names;
}

}  // namespace pantoum::cost
