#include <gmock/gmock.h>

#include "emit/project_sources.h"
#include "kernels/portable/kernel_rows.h"

namespace pantoum::emit {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

std::vector<std::set<std::string>> functions_of_all_kernels() {
  std::vector<std::set<std::string>> all;
#define PT_KERNEL_ROW(op, dtype, algorithm, name, numerics, function, workspace) \
  all.push_back({#function "_f32", #workspace "_f32"});
  PT_KERNEL_ROWS
#undef PT_KERNEL_ROW
  return all;
}

TEST(KernelFiles, EveryKernelHasItsFiles) {
  std::set<std::string> known;
  for (const SourceFile& file : project_sources())
    if (file.path.starts_with("src/kernels/portable/"))
      known.insert(std::string(file.path.substr(file.path.rfind('/') + 1)));
  for (const std::set<std::string>& functions : functions_of_all_kernels()) {
    const std::set<std::string> files = kernel_files(kernel_symbols(), functions);
    EXPECT_THAT(files, Not(IsEmpty())) << *functions.begin();
    for (const std::string& file : files) EXPECT_THAT(known, Contains(file));
  }
}

TEST(KernelFiles, AreThoseOfTheKernelsAndOfWhatTheyCall) {
  constexpr const char* kSymbols =
      "lib.a:a.c.o:0000000000000000 T first\n"
      "lib.a:a.c.o:0000000000000010 t helper\n"
      "lib.a:a.c.o:                 U shared\n"
      "lib.a:b.c.o:0000000000000000 T shared\n"
      "lib.a:b.c.o:                 U memcpy\n"
      "lib.a:c.c.o:0000000000000000 T other\n"
      "lib.a:c.c.o:0000000000000000 t shared_not\n";
  EXPECT_EQ(kernel_files(kSymbols, {"first"}), (std::set<std::string>{"a.c", "b.c"}));
  EXPECT_EQ(kernel_files(kSymbols, {"other"}), (std::set<std::string>{"c.c"}));
  EXPECT_THAT(kernel_files(kSymbols, {"first", "nowhere"}), IsEmpty());
  EXPECT_THAT(kernel_files(kSymbols, {"helper"}), IsEmpty());
}

}  // namespace
}  // namespace pantoum::emit
