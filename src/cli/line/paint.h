// Colours, where someone looks: a terminal, unless NO_COLOR is set or TERM is "dumb"; CLICOLOR_FORCE asks for them
// anywhere.
#pragma once

#include <string>
#include <string_view>

namespace pantoum::cli {

enum class Ink : uint8_t { kError, kWarning, kNote, kHelp, kHeading };

// Returns whether output to this descriptor is coloured; tests this at every call.
[[nodiscard]] bool is_painted(int descriptor);

// The text between the codes of `ink`, which `painted` says to use; as it is otherwise.
[[nodiscard]] std::string in(Ink ink, std::string_view text, bool painted);

// Our messages (error[E..]:, warning:, note:, help:) with their first words painted. The text holds no controls.
[[nodiscard]] std::string painted_message(std::string_view text);

}  // namespace pantoum::cli
