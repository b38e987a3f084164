#include "emit/measure_stack.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/foreign_text.h"

namespace pantoum::emit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEntry = "board_reset";

class BuildFolder {
 public:
  BuildFolder() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "pantoum-stack-XXXXXX").string();
    if (!error && ::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  BuildFolder(const BuildFolder&) = delete;
  BuildFolder& operator=(const BuildFolder&) = delete;
  ~BuildFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

  [[nodiscard]] bool put(const ProjectFile& file) const {
    const fs::path place = fs::path(path_) / file.name;
    std::error_code ignored;
    fs::create_directories(place.parent_path(), ignored);
    std::ofstream out(place, std::ios::binary);
    out.write(file.text.data(), static_cast<std::streamsize>(file.text.size()));
    return out.flush().good();
  }

 private:
  std::string path_;
};

Failure not_built(const std::string& why) {
  return fail("E0299", "the stack is not computed: " + why, "--stack",
              "install make and arm-none-eabi-gcc, or give --stack");
}

// What the command says; its success.
bool run(const std::string& command, std::string& said) {
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return false;
  char piece[1 << 14];
  for (size_t got = 0; (got = std::fread(piece, 1, sizeof piece, pipe)) > 0;) said.append(piece, got);
  const int status = ::pclose(pipe);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

Result<StackDepth> measure_stack(const std::vector<ProjectFile>& files, const Board& board) {
  const BuildFolder folder;
  if (folder.path().empty()) return not_built("no temporary folder can be made");
  for (const ProjectFile& file : files)
    if (!folder.put(file)) return not_built("the temporary folder cannot be written");
  const std::string place = base::shell_word(folder.path());
  std::string said, listing;
  // With all of the board's RAM: whether it fits is asked when the stack is known.
  if (!run(fmt::format("make -s -j {} -C {} RAM_SIZE={} firmware.elf 2>&1",
                       std::max(1U, std::thread::hardware_concurrency()), place, board.ram_bytes),
           said))
    return not_built("the project cannot be built here");
  if (!run(fmt::format(
               "cd {} && arm-none-eabi-objdump -d -z -j .text firmware.elf 2>/dev/null && {{ arm-none-eabi-objdump "
               "-D -z -j .data firmware.elf 2>/dev/null || true; }}",
               place),
           listing))
    return not_built("there is no arm-none-eabi-objdump");
  return stack_depth(listing, kEntry);
}

}  // namespace pantoum::emit
