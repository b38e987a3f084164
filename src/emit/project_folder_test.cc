#include "emit/project_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "testing/temporary_folder.h"

namespace pantoum::emit {
namespace {

namespace fs = std::filesystem;

const std::vector<ProjectFile> kFiles{{"Makefile", "all:\n"}, {"model/plan.bin", "plan"}, {"model/run.json", "{}"}};

Result<void> emit_into(const std::string& path, const std::vector<ProjectFile>& files = kFiles) {
  PANTOUM_ASSIGN(ProjectFolder folder, ProjectFolder::open(path));
  return folder.replace(files);
}

TEST(ProjectFolder, IsReplacedByTheNextProject) {
  const TemporaryFolder scratch;
  ASSERT_TRUE(emit_into(scratch.file("fw")));
  ASSERT_TRUE(base::write_file_atomically(scratch.file("fw/main.c"), "mine"));
  ASSERT_TRUE(emit_into(scratch.file("fw"), {{"Makefile", "new:\n"}, {"model/model.c", "c"}}));
  EXPECT_EQ(*base::read_file(scratch.file("fw/Makefile")), "new:\n");
  EXPECT_EQ(*base::read_file(scratch.file("fw/main.c")), "mine");
  EXPECT_EQ(*base::read_file(scratch.file("fw/model/files.txt")),
            "Makefile\nmodel/files.txt\nmodel/model.c\nmodel/plan.bin\nmodel/run.json\n");
}

TEST(ProjectFolder, OthersFoldersAreRefused) {
  const TemporaryFolder scratch;
  ASSERT_TRUE(base::write_file_atomically(scratch.file("Makefile"), "theirs"));
  const auto written = emit_into(scratch.path().string());
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, "E0294");
  EXPECT_EQ(*base::read_file(scratch.file("Makefile")), "theirs");
  EXPECT_FALSE(fs::exists(scratch.file("model")));
}

TEST(ProjectFolder, OthersFilesInAProjectAreRefusedBeforeAnyIsReplaced) {
  const TemporaryFolder scratch;
  ASSERT_TRUE(emit_into(scratch.file("fw")));
  ASSERT_TRUE(base::write_file_atomically(scratch.file("fw/added.c"), "theirs"));
  const auto written = emit_into(scratch.file("fw"), {{"Makefile", "new:\n"}, {"added.c", "ours"}});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, "E0294");
  EXPECT_EQ(*base::read_file(scratch.file("fw/added.c")), "theirs");
  EXPECT_EQ(*base::read_file(scratch.file("fw/Makefile")), "all:\n");
}

TEST(ProjectFolder, WhatWasWrittenInPartIsGoneOnWith) {
  const TemporaryFolder scratch;
  {
    auto folder = ProjectFolder::open(scratch.file("fw"));
    ASSERT_TRUE(folder);
    ASSERT_TRUE(folder->claim({"model/contents.safetensors", "Makefile"}));
    ASSERT_TRUE(base::write_file_atomically(scratch.file("fw/Makefile"), "half"));
  }
  ASSERT_TRUE(emit_into(scratch.file("fw")));
  EXPECT_EQ(*base::read_file(scratch.file("fw/Makefile")), "all:\n");
}

TEST(ProjectFolder, LinksAreNotFollowed) {
  const TemporaryFolder scratch;
  fs::create_directories(scratch.file("elsewhere"));
  ASSERT_TRUE(emit_into(scratch.file("fw")));
  fs::rename(scratch.file("fw/model"), scratch.file("elsewhere/model"));
  fs::create_directory_symlink(scratch.file("elsewhere/model"), scratch.file("fw/model"));
  const auto written = emit_into(scratch.file("fw"), {{"model/plan.bin", "new"}});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, "E0901");
  EXPECT_EQ(*base::read_file(scratch.file("elsewhere/model/plan.bin")), "plan");
}

}  // namespace
}  // namespace pantoum::emit
