#include "base/printable.h"

#include <gtest/gtest.h>

#include "pantoum/result.h"

namespace pantoum::base {
namespace {

TEST(Printable, ShowsWhatWouldMoveTheCursorOrEndTheText) {
  EXPECT_EQ(printable(std::string("a\x1b[31m\r\x7f\0b", 10)), "a\\x1b[31m\\x0d\\x7f\\x00b");
  EXPECT_EQ(printable(std::string("conv1.weight \xc3\xa9\n\t")), "conv1.weight \xc3\xa9\n\t");
}

TEST(Printable, ErrorsShowNamesThatWay) {
  const Error error{"E0207", "nothing makes '\x1b[2J'", "\x1b", {"\x07"}, "rename '\x1b'"};
  EXPECT_EQ(to_text(error),
            "error[E0207]: nothing makes '\\x1b[2J'\n  --> \\x1b\n   = \\x07\n  help: rename '\\x1b'\n");
}

}  // namespace
}  // namespace pantoum::base
