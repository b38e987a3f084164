#include "emit/program_memory.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/files.h"
#include "base/foreign_text.h"

namespace pantoum::emit {
namespace {

namespace fs = std::filesystem;

// The figure that a section of board/firmware.ld is counted in.
uint64_t* counted_as(const std::string& section, ProgramMemory& memory) {
  if (section == ".stack") return &memory.stack;
  if (section == ".arena") return &memory.arena;
  if (section == ".data" || section == ".bss") return &memory.other;
  return nullptr;
}

void read_sections(const std::string& folder, const std::string& make_words, ProgramMemory& memory) {
  const std::string command =
      fmt::format("make -s -C {} {} build/sizes 2>/dev/null", base::shell_word(folder), make_words);
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return;
  while (std::fgetc(pipe) != EOF) {
  }
  if (::pclose(pipe) != 0) return;  // a project for this machine has no such target
  const auto text = base::read_file((fs::path(folder) / "build" / "sizes").string());
  if (!text) return;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) read_section_line(line, memory);
}

std::string text_of(const nlohmann::json& run, const char* key) {
  const auto found = run.find(key);
  return found != run.end() && found->is_string() ? found->get<std::string>() : "";
}

uint64_t number_of(const nlohmann::json& run, const char* key) {
  const auto found = run.find(key);
  return found != run.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

}  // namespace

void read_section_line(const std::string& line, ProgramMemory& memory) {
  std::istringstream words(line);
  std::string section;
  uint64_t bytes = 0;
  if (!(words >> section >> bytes)) return;
  if (uint64_t* const count = counted_as(section, memory)) *count += bytes;
  if (section == ".text" || section == ".ARM.exidx" || section == ".data") memory.flash += bytes;
}

ProgramMemory program_memory(const std::string& folder, const std::string& make_words) {
  ProgramMemory memory;
  const auto text = base::read_file((fs::path(folder) / "model" / "run.json").string());
  const nlohmann::json run = text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json();
  if (!run.is_object()) return memory;
  memory.target = text_of(run, "target"), memory.board = text_of(run, "board"), memory.plan = text_of(run, "plan");
  memory.steps = number_of(run, "steps");
  memory.ram = number_of(run, "ram_bytes"), memory.rom = number_of(run, "rom_bytes");
  read_sections(folder, make_words, memory);
  if (memory.arena == 0) memory.arena = number_of(run, "arena_bytes");
  return memory;
}

}  // namespace pantoum::emit
