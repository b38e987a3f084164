#include "emit/stack_depth.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>

namespace pantoum::emit {
namespace {

std::optional<uint32_t> hex(std::string_view text) {
  uint32_t value = 0;
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin);
  if (text.starts_with("0x")) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

// The number behind the first '#' behind `mark`.
std::optional<int64_t> number_after(std::string_view text, std::string_view mark) {
  const size_t from = text.find(mark);
  const size_t at = from == std::string_view::npos ? from : text.find('#', from);
  if (at == std::string_view::npos) return std::nullopt;
  int64_t value = 0;
  const std::string_view digits = text.substr(at + 1);
  if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc{}) return std::nullopt;
  return value;
}

int number_of(std::string_view name) {
  int value = 0;
  (void)std::from_chars(name.data() + 1, name.data() + name.size(), value);
  return value;
}

// Bytes of "{r4, r5, lr}", "{s16-s19}", "{d8-d9}".
uint64_t bytes_of_list(std::string_view operands) {
  const size_t begin = operands.find('{'), end = operands.find('}');
  if (begin == std::string_view::npos || end == std::string_view::npos) return 0;
  std::string_view list = operands.substr(begin + 1, end - begin - 1);
  uint64_t bytes = 0;
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), one.size() + 1));
    const size_t first = one.find_first_not_of(' '), dash = one.find('-');
    if (first == std::string_view::npos) continue;
    const int count = dash == std::string_view::npos
                          ? 1
                          : number_of(one.substr(dash + 1)) - number_of(one.substr(first, dash - first)) + 1;
    bytes += static_cast<uint64_t>(std::max(1, count)) * (one[first] == 'd' ? 8 : 4);
  }
  return bytes;
}

// One line of code or data: "  1a2:\t4b0d      \tldr\tr3, [pc, #52]\t@ (1d8 <f+0x36>)".
struct Line {
  uint32_t address = 0;
  std::string_view word, operands;  // "ldr"; the rest, comments too
};

std::optional<Line> line_of(std::string_view text) {
  std::array<std::string_view, 4> columns;
  for (size_t column = 0; column < columns.size(); ++column) {
    const size_t end = column + 1 == columns.size() ? std::string_view::npos : text.find('\t');
    columns[column] = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), columns[column].size() + 1));
  }
  const size_t colon = columns[0].find(':');
  if (colon == std::string_view::npos || columns[2].empty()) return std::nullopt;
  const auto address = hex(columns[0].substr(0, colon));
  if (!address) return std::nullopt;
  return Line{*address, columns[2], columns[3]};
}

// The addresses and words in a line of data, "  e7dc:\t00000001 00003b29     ....)..". Lines of code give none: their digits stand
// in groups of four.
std::vector<std::pair<uint32_t, uint32_t>> words_of(std::string_view text) {
  std::vector<std::pair<uint32_t, uint32_t>> words;
  const size_t colon = text.find(":\t");
  const auto address = colon == std::string_view::npos ? std::nullopt : hex(text.substr(0, colon));
  if (!address) return words;
  text.remove_prefix(colon + 2);
  while (text.size() >= 8 && (text.size() == 8 || text[8] == ' ' || text[8] == '\t')) {
    if (text.substr(0, 8).find_first_not_of("0123456789abcdef") != std::string_view::npos) break;
    words.emplace_back(*address + static_cast<uint32_t>(4 * words.size()), hex(text.substr(0, 8)).value_or(0));
    text.remove_prefix(std::min<size_t>(text.size(), 9));
  }
  return words;
}

std::optional<std::string_view> name_in(std::string_view line) {
  const size_t begin = line.find(" <");
  if (!line.ends_with(">:") || begin == std::string_view::npos) return std::nullopt;
  return line.substr(begin + 2, line.size() - begin - 4);
}

bool is_jump(std::string_view word) {
  return word.starts_with("b") && !word.starts_with("bic") && !word.starts_with("bf") && !word.starts_with("bkpt");
}

class Reader {
 public:
  ThumbListing read(std::string_view text) {
    find_functions(text);
    each_line(text, [this](std::string_view line) { read_line(line); });
    for (const auto& [function, callee] : by_name_) add_call(function, callee);
    return std::move(listing_);
  }

 private:
  ThumbListing listing_;
  std::map<uint32_t, uint32_t> words_;  // contents by address
  std::map<std::string, int, std::less<>> names_;
  std::vector<std::pair<int, std::string>> by_name_;
  std::map<std::string, uint32_t, std::less<>> literals_;  // registers of the function so far
  std::string_view popped_;                                // operands of a pop in the line before
  int function_ = -1;

  template <class Visit>
  static void each_line(std::string_view text, const Visit& visit) {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      visit(text.substr(0, end));
      text.remove_prefix(std::min(text.size(), end + 1));
    }
  }

  void find_functions(std::string_view text) {
    each_line(text, [this](std::string_view line) {
      if (const auto name = name_in(line)) {
        const auto address = hex(line);
        if (address) listing_.functions.push_back({.address = *address, .name = std::string(*name), .calls = {}});
      } else {
        for (const auto& [address, word] : words_of(line)) words_[address] = word;
      }
    });
    std::ranges::stable_sort(listing_.functions, {}, &ThumbFunction::address);
    std::set<uint32_t> starts;
    for (size_t at = 0; at < listing_.functions.size(); ++at) {
      names_.emplace(listing_.functions[at].name, static_cast<int>(at));
      starts.insert(listing_.functions[at].address);
    }
    for (const auto& [address, word] : words_)
      if (word % 2 == 1 && starts.contains(word - 1))
        listing_.pointers.push_back({.function = listing_.index_of(word - 1), .holder = listing_.index_of(address)});
    std::ranges::sort(listing_.pointers, {}, &ThumbPointer::function);
  }

  ThumbFunction& function() { return listing_.functions[static_cast<size_t>(function_)]; }

  void add_call(int from, const std::string& name) {
    const auto found = names_.find(name);
    if (found != names_.end()) listing_.functions[static_cast<size_t>(from)].calls.push_back(found->second);
  }

  void read_line(std::string_view text) {
    if (name_in(text)) {
      function_ = listing_.index_of(hex(text).value_or(0));
      literals_.clear();
      popped_ = {};
      return;
    }
    const auto line = line_of(text);
    if (!line || function_ < 0 || line->word.starts_with(".")) return;
    read_frame(*line);
    read_call(*line);
    popped_ = line->word.starts_with("pop") ? line->operands : std::string_view();
  }

  void read_frame(const Line& line) {
    const std::string_view word = line.word, operands = line.operands;
    if (word.starts_with("push") || word.starts_with("vpush") ||
        ((word.starts_with("stmdb") || word.starts_with("vstmdb")) && operands.starts_with("sp!")))
      function().frame += bytes_of_list(operands);
    else if (word.starts_with("sub") && operands.starts_with("sp"))
      take_constant(number_after(operands, "sp"));
    else if (word.starts_with("add") && operands.starts_with("sp, r"))
      take_literal(operands.substr(4));
    else if (operands.find("[sp, #-") != std::string_view::npos && operands.find("]!") != std::string_view::npos)
      take_constant(-number_after(operands, "[sp").value_or(0));
    else if (operands.starts_with("r") && !word.starts_with("st") && !word.starts_with("c") && !word.starts_with("b"))
      read_register(word, operands);
  }

  // Follows the contents of a register, because Cortex-M0 reserves large frames by adding a register to sp.
  void read_register(std::string_view word, std::string_view operands) {
    const std::string name(operands.substr(0, operands.find(',')));
    const auto found = literals_.find(name);
    const auto number = number_after(operands, ",");
    if (word.starts_with("ldr") && operands.find("[pc") != std::string_view::npos) return remember(operands);
    if (word == "movs" && number)
      literals_[name] = static_cast<uint32_t>(*number);
    else if (word == "lsls" && number && found != literals_.end() && operands.starts_with(name + ", " + name + ","))
      found->second <<= static_cast<uint32_t>(*number) % 32;
    else if (word == "negs" && found != literals_.end() && operands.starts_with(name + ", " + name))
      found->second = 0 - found->second;
    else
      literals_.erase(name);
  }

  void take_constant(std::optional<int64_t> bytes) {
    if (bytes && *bytes >= 0)
      function().frame += static_cast<uint64_t>(*bytes);
    else
      function().is_constant = false;
  }

  // "ldr r4, [pc, #20]  @ (1d8 <f+0x36>)": notes the word at that address as the register's contents.
  void remember(std::string_view operands) {
    literals_.erase(std::string(operands.substr(0, operands.find(','))));
    const size_t at = operands.find("(");
    const auto address = at == std::string_view::npos ? std::nullopt : hex(operands.substr(at + 1));
    const auto found = address ? words_.find(*address) : words_.end();
    if (found != words_.end()) literals_[std::string(operands.substr(0, operands.find(',')))] = found->second;
  }

  // "add sp, r4": a negative literal reserves stack, a positive one gives it back.
  void take_literal(std::string_view name) {
    const auto found = literals_.find(name.substr(0, name.find_first_of("\t ,")));
    if (found == literals_.end())
      function().is_constant = false;
    else if (const auto bytes = static_cast<int32_t>(found->second); bytes < 0)
      function().frame += static_cast<uint64_t>(-static_cast<int64_t>(bytes));
  }

  void read_call(const Line& line) {
    if (!is_jump(line.word)) return;
    if (line.operands.starts_with("r") || line.operands.starts_with("ip") || line.operands.starts_with("sl")) {
      const std::string name(line.operands.substr(0, line.operands.find_first_of("\t ")));
      const bool returns = line.word == "bx" && popped_.find(name) != std::string_view::npos;
      if (line.word.starts_with("bl") || (line.word == "bx" && !returns)) function().calls_pointer = true;
      return;
    }
    const size_t opened = line.operands.find('<');
    const auto target = hex(line.operands);
    if (!target || opened == std::string_view::npos) return;
    const std::string_view name = line.operands.substr(opened + 1, line.operands.find('>') - opened - 1);
    if (name.starts_with("__") && name.ends_with("_veneer"))
      by_name_.emplace_back(function_, name.substr(2, name.size() - 9));
    const int callee = listing_.index_of(*target);
    const bool is_call = line.word.starts_with("bl") && line.word != "ble" && line.word != "ble.n" &&
                         line.word != "ble.w" && !line.word.starts_with("blt") && !line.word.starts_with("bls");
    const bool is_own = callee == function_;  // a jump inside, or a subroutine of one whose frame is counted already
    if (callee >= 0 && (!is_own || (is_call && *target == function().address))) function().calls.push_back(callee);
  }
};

}  // namespace

int ThumbListing::index_of(uint32_t address) const {
  const auto after = std::ranges::upper_bound(functions, address, {}, &ThumbFunction::address);
  return static_cast<int>(after - functions.begin()) - 1;
}

ThumbListing read_thumb_listing(std::string_view text) {
  return Reader().read(text);
}

}  // namespace pantoum::emit
