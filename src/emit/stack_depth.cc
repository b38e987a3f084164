#include "emit/stack_depth.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "base/foreign_text.h"

namespace pantoum::emit {
namespace {

constexpr const char* kKernelTable = "kernels";  // of model/kernels.c
constexpr const char* kRuleAsker = "pt_check_op";
constexpr const char* kRuleTable = "rules";  // of each runtime/op_shapes_*.c

// The kind of code that calls through a pointer. It decides which functions the pointer can name.
enum Place { kOutside, kKernel, kCallback, kCallbackInCallback, kRule, kPager, kBlocks, kBlocksInBlocks, kPlaces };

// The uses of a function's address, told by the tables that hold it and by the function's name.
struct Meaning {
  int function = 0;
  bool is_kernel = false, is_rule = false, is_pager = false, is_blocks = false;
  bool is_callback = false;  // its address is also held elsewhere
};

struct Depth {
  uint64_t bytes = 0;
  int deepest = -1;  // the function called there
  Place place = kOutside;
};

class Depths {
 public:
  explicit Depths(const ThumbListing& listing) : functions_(listing.functions) {
    known_.resize(functions_.size() * kPlaces);
    open_.assign(functions_.size() * kPlaces, false);
    find_indirect();
    for (const ThumbPointer& pointer : listing.pointers) {
      if (meanings_.empty() || meanings_.back().function != pointer.function)
        meanings_.push_back({.function = pointer.function});
      add_meaning(meanings_.back(), name_of(pointer.function), name_of(pointer.holder));
    }
    has_rule_asker_ = std::ranges::find(functions_, kRuleAsker, &ThumbFunction::name) != functions_.end();
    has_nested_blocks_ = std::ranges::count_if(meanings_, [this](const Meaning& each) {
                           return name_of(each.function).starts_with("write_blocks");
                         }) > 1;
  }

  Result<StackDepth> from(int entry) {
    const std::optional<Depth> found = of(entry, kOutside);
    if (!found) return fail("E0299", "the stack has no bound: " + problem_, name_of(where_));
    StackDepth depth{.bytes = (found->bytes + 7) / 8 * 8, .calls = {}};
    Place place = kOutside;
    for (int function = entry; function >= 0;) {
      depth.calls.push_back(name_of(function));
      const Depth& next = *known_[slot(function, place)];
      function = next.deepest, place = next.place;
    }
    return depth;
  }

 private:
  const std::vector<ThumbFunction>& functions_;
  std::vector<std::optional<Depth>> known_;  // of a function in a place
  std::vector<bool> open_;                   // being computed now
  std::vector<bool> reaches_pointer_;        // by direct calls
  std::vector<Meaning> meanings_;
  bool has_nested_blocks_ = false;
  bool has_rule_asker_ = false;  // it may be a part of another function
  std::string problem_;
  int where_ = 0;

  const std::string& name_of(int function) const { return functions_[static_cast<size_t>(function)].name; }
  static size_t slot(int function, Place place) { return static_cast<size_t>(function) * kPlaces + place; }

  void find_indirect() {
    for (const ThumbFunction& function : functions_) reaches_pointer_.push_back(function.calls_pointer);
    for (bool more = true; more;) {
      more = false;
      for (size_t at = 0; at < functions_.size(); ++at) {
        const auto& calls = functions_[at].calls;
        if (reaches_pointer_[at] ||
            std::ranges::none_of(calls, [&](int callee) { return reaches_pointer_[static_cast<size_t>(callee)]; }))
          continue;
        reaches_pointer_[at] = more = true;
      }
    }
  }

  static void add_meaning(Meaning& meaning, const std::string& name, const std::string& holder) {
    if (name == "page_in" || name == "page_out" || name == "done")
      meaning.is_pager = true;
    else if (name.starts_with("read_blocks") || name.starts_with("write_blocks") || name.starts_with("sync_blocks"))
      meaning.is_blocks = true;
    else if (holder == kKernelTable)
      meaning.is_kernel = true;
    else if (holder == kRuleTable)
      meaning.is_rule = true;
    else
      meaning.is_callback = true;
  }

  bool asks_rules(int caller) const { return !has_rule_asker_ || name_of(caller) == kRuleAsker; }

  // The place of a function that is called through a pointer; none if the pointer cannot name that function.
  std::optional<Place> place_after(int caller, Place place, const Meaning& to) const {
    if (to.is_callback && !reaches_pointer_[static_cast<size_t>(to.function)]) return place;
    if (to.is_pager && place == kOutside) return kPager;
    if (to.is_blocks && (place == kOutside || place == kPager)) return kBlocks;
    if (to.is_blocks && place == kBlocks && has_nested_blocks_) return kBlocksInBlocks;
    if (to.is_kernel && place == kOutside) return kKernel;
    if (to.is_rule && place == kOutside && asks_rules(caller)) return kRule;
    if (to.is_rule && place == kRule && !reaches_pointer_[static_cast<size_t>(to.function)]) return kRule;
    if (to.is_callback && (place == kOutside || place == kKernel)) return kCallback;
    if (to.is_callback && place == kCallback) return kCallbackInCallback;
    return std::nullopt;
  }

  std::nullopt_t none(const char* problem, int function) {
    problem_ = problem, where_ = function;
    return std::nullopt;
  }

  bool take(int callee, Place place, Depth& deepest) {
    const std::optional<Depth> found = of(callee, place);
    if (!found) return false;
    if (deepest.deepest < 0 || found->bytes > deepest.bytes) deepest = {found->bytes, callee, place};
    return true;
  }

  std::optional<Depth> of(int function, Place place) {
    const size_t at = slot(function, place);
    if (known_[at]) return known_[at];
    if (open_[at]) return none("a function calls itself", function);
    if (!functions_[static_cast<size_t>(function)].is_constant) return none("a frame's size is not constant", function);
    open_[at] = true;
    const ThumbFunction& called = functions_[static_cast<size_t>(function)];
    Depth deepest;
    for (const int callee : called.calls)
      if (!take(callee, place, deepest)) return std::nullopt;
    for (size_t one = 0; called.calls_pointer && one < meanings_.size(); ++one) {
      const std::optional<Place> there = place_after(function, place, meanings_[one]);
      if (there && !take(meanings_[one].function, *there, deepest)) return std::nullopt;
    }
    deepest.bytes += called.frame;
    known_[at] = deepest;
    return deepest;
  }
};

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
  const std::string& path() const { return path_; }

  bool put(const ProjectFile& file) const {
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

// Runs a command and appends its output to `said`. False if it fails.
bool run(const std::string& command, std::string& said) {
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return false;
  char piece[1 << 14];
  for (size_t got = 0; (got = std::fread(piece, 1, sizeof piece, pipe)) > 0;) said.append(piece, got);
  const int status = ::pclose(pipe);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

Result<StackDepth> stack_depth(std::string_view disassembly, std::string_view entry) {
  const ThumbListing listing = read_thumb_listing(disassembly);
  for (size_t at = 0; at < listing.functions.size(); ++at)
    if (listing.functions[at].name == entry) return Depths(listing).from(static_cast<int>(at));
  return fail("E0299", "the program has no such function", std::string(entry));
}

Result<StackDepth> measure_stack(const std::vector<ProjectFile>& files, const Board& board) {
  const BuildFolder folder;
  if (folder.path().empty()) return not_built("no temporary folder can be made");
  for (const ProjectFile& file : files)
    if (!folder.put(file)) return not_built("the temporary folder cannot be written");
  const std::string place = base::shell_word(folder.path());
  std::string said, listing;
  // The build gets all of the board's RAM. Whether the program fits is checked once its stack is known.
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
