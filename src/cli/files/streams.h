// "-": standard output in place of one file that is written, standard input in place of one that is read.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/output_folder.h"
#include "base/result.h"
#include "cli/line/facts.h"

namespace pantoum::cli {

// Files of a private folder stand for the streams while a verb works: it reads and writes them as any other.
class Streams {
 public:
  // Puts names of files in the place of each "-". E0117: two outputs, or an output beside --format json, would share
  // standard output; an option that makes more than one file, or a folder. E0201, E0901.
  [[nodiscard]] Result<void> replace(std::vector<Given>& given);
  // What was written for standard output; "" where it is not in use.
  [[nodiscard]] const std::string& output() const { return output_; }
  // Names of ours become the streams' in what a user reads.
  [[nodiscard]] std::string with_names(std::string text) const;

 private:
  std::shared_ptr<const base::TemporaryPath> folder_;
  std::string input_, output_;
  std::vector<std::pair<std::string, std::string>> pipes_;  // what stands for it, and its name

  [[nodiscard]] Result<std::string> path_of(const std::string& name);
  [[nodiscard]] Result<void> take_input(Given& given);
  [[nodiscard]] Result<void> take_pipe(Given& given);
  [[nodiscard]] Result<void> take_output(Given& given, bool json);
};

}  // namespace pantoum::cli
