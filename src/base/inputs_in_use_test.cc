#include "base/inputs_in_use.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file_lock.h"
#include "base/files.h"
#include "base/output_folder.h"
#include "base/owned_file.h"
#include "testing/temporary_folder.h"

namespace pantoum::base {
namespace {

namespace fs = std::filesystem;

class InputsInUseTest : public ::testing::Test {
 protected:
  InputsInUseTest() {
    fs::create_directories(folder_.file("real"));
    std::ofstream(input_) << "contents";
    fs::create_hard_link(input_, names_[1]);
    fs::create_symlink(input_, names_[2]);
    fs::create_directory_symlink(folder_.file("real"), folder_.file("linked"));
  }
  TemporaryFolder folder_;
  std::string input_ = folder_.file("real/input");
  std::vector<std::string> names_{input_, folder_.file("hard"), folder_.file("soft"), folder_.file("linked/input"),
                                  folder_.file("real/../real/input")};
};

std::string code_of(const Result<void>& result) {
  return result ? "" : result.error().code;
}

Result<void> commit(const std::string& path, const std::string& kept = "") {
  PANTOUM_ASSIGN(AtomicFile file, AtomicFile::create(path, 0644));
  return file.commit(kept);
}

TEST_F(InputsInUseTest, NoWriterReplacesAnInputByAnyName) {
  InputsInUse inputs;
  inputs.add(input_);
  const auto folder = OutputFolder::open(folder_.file("real"));
  ASSERT_TRUE(folder);
  EXPECT_EQ(code_of(folder->write("input", "x")), "E0125");
  for (const std::string& name : names_) {
    EXPECT_EQ(code_of(write_file_atomically(name, "x")), "E0125") << name;
    EXPECT_EQ(code_of(commit(name)), "E0125") << name;
    EXPECT_EQ(code_of(commit(folder_.file("new"), name)), "E0125") << name;
  }
  EXPECT_EQ(read_file(input_).value_or(""), "contents");
  EXPECT_EQ(fs::hard_link_count(input_), 2U);
  EXPECT_TRUE(fs::is_symlink(names_[2]));
  EXPECT_FALSE(fs::exists(folder_.file("new")));
}

TEST_F(InputsInUseTest, NamesOfFilesBesideAnOutputAreChecked) {
  InputsInUse inputs;
  for (const char* end : {".part", ".lock"}) {
    std::ofstream(folder_.file("w") + end) << "kept";
    inputs.add(folder_.file("w") + end);
  }
  EXPECT_EQ(code_of(commit(folder_.file("w"))), "E0125");
  const auto lock = FileLock::acquire(folder_.file("w"));
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code, "E0125");
  EXPECT_EQ(read_file(folder_.file("w.part")).value_or(""), "kept");
  EXPECT_EQ(read_file(folder_.file("w.lock")).value_or(""), "kept");
}

TEST_F(InputsInUseTest, AnInputIsFreeWhenNothingReadsItAnyMore) {
  { InputsInUse().add(input_); }
  EXPECT_TRUE(write_file_atomically(input_, "new"));
}

TEST_F(InputsInUseTest, ReadsAreRecordedOnThisThread) {
  InputsInUse inputs;
  {
    const RecordInputs recorded(&inputs);
    EXPECT_TRUE(read_file(names_[1]));
    const RecordInputs unrecorded(nullptr);
    EXPECT_TRUE(read_file(folder_.file("soft")));
  }
  EXPECT_TRUE(read_file(folder_.file("soft")));
  EXPECT_EQ(inputs.paths(), std::vector<std::string>{names_[1]});
  EXPECT_EQ(code_of(write_file_atomically(input_, "x")), "E0125");
}

TEST_F(InputsInUseTest, DataOfAFolderAreKeptAndOutputsThereAreNot) {
  InputsInUse inputs;
  inputs.add(folder_.file("real"));
  const std::string old = folder_.file("real/old.jsonl");
  std::ofstream(old) << "{\"event\": \"step\"}\n";
  EXPECT_TRUE(write_file_atomically(old, "{\"event\": \"end\"}\n"));
  EXPECT_TRUE(write_file_atomically(folder_.file("real/new"), "x"));
  for (const std::string& name : names_) EXPECT_EQ(code_of(write_file_atomically(name, "x")), "E0125") << name;
}

TEST_F(InputsInUseTest, APathWithAZeroIsRefused) {
  const std::string path = input_ + std::string("\0x", 2);
  EXPECT_EQ(code_of(write_file_atomically(path, "x")), "E0116");
  EXPECT_EQ(code_of(commit(path)), "E0116");
  EXPECT_EQ(read_file(path).value_or("refused"), "refused");
  EXPECT_EQ(read_file(input_).value_or(""), "contents");
}

TEST_F(InputsInUseTest, AFileThatIsNotThereIsKnownByItsFolder) {
  EXPECT_EQ(identity_of_file(folder_.file("real/new")), identity_of_file(folder_.file("linked/new")));
  EXPECT_NE(identity_of_file(folder_.file("real/new")), identity_of_file(folder_.file("real/other")));
  EXPECT_EQ(identity_of_file(input_), identity_of_file(names_[2]));
}

}  // namespace
}  // namespace pantoum::base
