// Any bytes as a recording of an instrument (CSV), and as the word that names one: refused with a place, or windows with a
// beginning before their end and finite joules.
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cost/meters/recording.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const size_t end = bytes.find('\n');
  if (end == std::string::npos) return 0;
  // The first line holds the keys, the others the file.
  const int file = ::memfd_create("recording", 0);
  if (file < 0 || ::write(file, data + end + 1, size - end - 1) != static_cast<ssize_t>(size - end - 1)) std::abort();
  const auto word =
      pantoum::cost::read_recording_word("csv:/proc/self/fd/" + std::to_string(file) + "," + bytes.substr(0, end));
  if (!word && (word.error().message.empty() || word.error().code != "E0124")) std::abort();
  if (word) {
    const auto recording = pantoum::cost::read_recording(*word);
    if (!recording && (recording.error().message.empty() || recording.error().help.empty())) std::abort();
    if (recording) {
      if (!std::isfinite(recording->joules()) || recording->windows.empty()) std::abort();
      for (const auto& window : recording->windows)
        if (!(window.begin_s <= window.end_s)) std::abort();
    }
  }
  ::close(file);
  return 0;
}
