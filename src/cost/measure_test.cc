// Measuring, and the store that keeps each op and shape once.
#include "cost/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cost/profile_store.h"
#include "ir/builder.h"
#include "testing/evaluate.h"
#include "testing/temporary_folder.h"

namespace pantoum::cost {

namespace {

namespace fs = std::filesystem;

class Measure : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.file(name); }

  TemporaryFolder folder_;
};

ir::Graph product(int64_t rows) {
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::ValueId x = builder.input("x", {ir::DType::kF32, {rows, 8}});
  const ir::ValueId w = builder.input("w", {ir::DType::kF32, {8, 4}});
  builder.op(ir::Kind::k_matmul, "y", {x, w}, {{0, 0}, {}});
  return graph;
}

TEST_F(Measure, KeepsWhatWasMeasuredAcrossRuns) {
  {
    const auto store = ProfileStore::open(path("profiles"));
    ASSERT_TRUE(store) << to_text(store.error());
    EXPECT_EQ((*store)->find_op("matmul").value(), std::nullopt);
    ASSERT_TRUE((*store)->put_op("matmul", 0.25, 3));
    ASSERT_TRUE((*store)->put_link("disk in", Link{.latency_s = 1e-4, .bytes_per_s = 2e8}, 5));
  }
  const auto store = ProfileStore::open(path("profiles"));
  ASSERT_TRUE(store);
  EXPECT_EQ((*store)->find_op("matmul").value(), 0.25);
  EXPECT_EQ((*store)->find_link("disk in").value()->bytes_per_s, 2e8);
}

TEST_F(Measure, RefusesWhatIsNoStore) {
  std::ofstream(path("text")) << std::string(4096, 'x');
  const auto store = ProfileStore::open(path("text"));
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, "E0275");
  EXPECT_EQ(ProfileStore::open(path("no/such/folder/store")).error().code, "E0275");
  EXPECT_EQ(fs::file_size(path("text")), 4096u);
}

TEST_F(Measure, MeasuresAnOpOnceForEachShape) {
  const auto store = ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  const auto timer = measuring_timer(**store, nullptr);
  const ir::Graph small = product(2), large = product(512);
  const auto kernel = ir::kernel_of(small, small.ops[0], *pt_portable_kernels(), 0);
  ASSERT_NE(kernel, nullptr);
  const auto first = timer->seconds(small, small.ops[0], *kernel);
  ASSERT_TRUE(first) << to_text(first.error());
  EXPECT_GT(*first, 0);
  EXPECT_EQ(timer->seconds(small, small.ops[0], *kernel).value(), *first);
  const std::string key = op_key(small, small.ops[0], *kernel, 1);
  EXPECT_EQ((*store)->find_op(key).value(), *first);
  ASSERT_TRUE((*store)->put_op(key, 42, 1));
  EXPECT_EQ(timer->seconds(small, small.ops[0], *kernel).value(), 42);
  EXPECT_NE(op_key(large, large.ops[0], *kernel, 1), key);
  EXPECT_NE(op_key(small, small.ops[0], *kernel, 2), key);
}

}  // namespace
}  // namespace pantoum::cost
