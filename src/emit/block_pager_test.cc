#include <gtest/gtest.h>

#include <array>
#include <vector>

extern "C" {
#include "emit/project/block_pager.h"
#include "emit/project/ram_disk.h"
}

namespace pantoum::emit {
namespace {

// A firmware's transfers are done when they return: what a page_out reads may be overwritten at once.
TEST(BlockPager, HasWrittenWhatItWasGivenWhenItReturns) {
  constexpr uint32_t kBlocks = 8;
  std::vector<uint8_t> disk_bytes(size_t{kBlocks} * PT_BLOCK_BYTES);
  alignas(4) std::array<uint8_t, PT_BLOCK_BYTES> staging{};
  pt_ram_disk disk;
  pt_blocks blocks;
  pt_ram_disk_open(&disk, disk_bytes.data(), kBlocks, &blocks);
  pt_block_pager pager{
      .blocks = &blocks, .staging = staging.data(), .first = 0, .count = kBlocks, .sums = nullptr, .bytes_written = 0};
  const pt_pager made = pt_block_pager_interface(&pager);
  for (const size_t bytes : {size_t{PT_BLOCK_BYTES}, size_t{100}, size_t{3 * PT_BLOCK_BYTES + 40}}) {
    std::vector<uint8_t> data(bytes), back(bytes);
    for (size_t at = 0; at < bytes; ++at) data[at] = static_cast<uint8_t>(3 * at + bytes);
    const std::vector<uint8_t> given = data;
    ASSERT_EQ(made.write(made.context, PT_BLOCK_BYTES, data.data(), bytes, 1, 0), PT_OK);
    data.assign(bytes, 0xEE);  // nobody has waited for ticket 1
    ASSERT_EQ(made.read(made.context, PT_BLOCK_BYTES, back.data(), bytes, 2, 0), PT_OK);
    EXPECT_EQ(back, given) << bytes;
    EXPECT_EQ(made.wait(made.context, 1), PT_OK);
  }
}

}  // namespace
}  // namespace pantoum::emit
