#include "train/resume_point.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "weights/safetensors.h"

namespace pantoum::train {
namespace {

Result<ResumePoint> open_point(const std::string& path) {
  ResumePoint point{.path = path};
  PANTOUM_ASSIGN(const weights::SafetensorFile file, weights::open_safetensors(path));
  PANTOUM_ASSIGN(point.progress, read_progress(file));
  return point;
}

// Not what was written, in contrast to what is whole and of no use.
bool is_damage(const Error& error) {
  constexpr std::array<std::string_view, 4> kDamage{"E0201", "E0240", "E0241", "E0244"};
  return std::find(kDamage.begin(), kDamage.end(), error.code) != kDamage.end();
}

}  // namespace

std::string previous_checkpoint(const std::string& path) {
  return path + ".previous";
}

Result<ResumePoint> find_resume_point(const std::string& path) {
  Result<ResumePoint> newest = open_point(path);
  if (newest || !is_damage(newest.error())) return newest;
  Result<ResumePoint> before = open_point(previous_checkpoint(path));
  if (before) {
    before->damaged = newest.error();
    return before;
  }
  Error error = newest.error();
  error.notes.push_back("nor can the one before be resumed from: " + previous_checkpoint(path) + ": " +
                        before.error().message);
  return Failure(std::move(error));
}

}  // namespace pantoum::train
