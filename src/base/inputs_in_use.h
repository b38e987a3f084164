// The files that this process reads from, and the rule that no output takes the place of one, by whatever name: files are
// compared by device and inode, so that hard links, symbolic links and linked folders are seen through.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace pantoum::base {

// What stands at a path: device and inode; where nothing is, those of the folder and the name in it; where no folder is, the path.
struct FileIdentity {
  uint64_t device = 0, inode = 0;
  std::string name;  // of a file that is not yet there
  [[nodiscard]] auto operator<=>(const FileIdentity& other) const = default;
};

// Links are followed.
[[nodiscard]] FileIdentity identity_of_file(const std::string& path);

// Is the file at `output` the one at `input`, or one of a folder at `input` (Pantoum's own outputs in that folder and
// hidden folders are none of its data)? False where either is absent, or is no regular file.
[[nodiscard]] bool is_read_from(const std::string& output, const std::string& input);

// Guards files and folders of data while it lives. Paths are kept, not inodes: a file that was replaced or removed since
// guards what stands there now.
class InputsInUse {
 public:
  InputsInUse();
  ~InputsInUse();
  InputsInUse(const InputsInUse&) = delete;
  InputsInUse& operator=(const InputsInUse&) = delete;
  void add(const std::string& path);  // "" is none
  [[nodiscard]] std::vector<std::string> paths() const;
  void add_all(const InputsInUse* other);  // null: none
};

// While it lives, every file that read_file() or OwnedFile::open_to_read() opens on this thread is added to `into`.
class RecordInputs {
 public:
  explicit RecordInputs(InputsInUse* into);  // null: reads are not recorded
  ~RecordInputs();
  RecordInputs(const RecordInputs&) = delete;
  RecordInputs& operator=(const RecordInputs&) = delete;

 private:
  InputsInUse* before_;
};

void record_input(const std::string& path);  // for code that opens files in another way

// E0125: a file is written over one that is read; nothing was changed.
[[nodiscard]] Failure input_failure(const std::string& output, const std::string& input, const std::string& where);
// E0125: `path` is an input in use. Every function that replaces a file asks.
[[nodiscard]] Result<void> check_no_input(const std::string& path);
[[nodiscard]] Result<void> check_no_input_in(int folder, const std::string& name, const std::string& shown);

}  // namespace pantoum::base
