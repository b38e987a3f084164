// Attention in blocks of rows (portable/attention.h): oneDNN makes the products.
#include "kernels/portable/attention.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "kernels/onednn/kernels.h"

namespace pantoum::onednn {
namespace {

constexpr size_t kElementsOfBlock = 1 << 16;  // with what the products read, a second-level cache's
constexpr size_t kLeastRows = 16, kScratchUnit = 64;

// Extents, strides, and whether the product is added: all that its primitive depends on.
using BlockKey = std::array<size_t, 9>;

BlockKey key_of(const pt_factor& a, const pt_factor& b, size_t m, size_t n, size_t k, int goes_on, size_t c_row) {
  return {m, n, k, a.row_step, a.column_step, b.row_step, b.column_step, c_row, static_cast<size_t>(goes_on)};
}

struct BlockProduct {
  Desc a, b, c;
  PrimitiveHandle made;
};

Desc matrix(size_t rows, size_t columns, size_t row_step, size_t column_step) {
  return strided({static_cast<int64_t>(rows), static_cast<int64_t>(columns)},
                 {static_cast<int64_t>(row_step), static_cast<int64_t>(column_step)});
}

BlockProduct make_block(const BlockKey& key) {
  const auto [m, n, k, a_row, a_column, b_row, b_column, c_row, goes_on] = key;
  BlockProduct product{matrix(m, k, a_row, a_column), matrix(k, n, b_row, b_column), matrix(m, n, c_row, 1), {}};
  product.made = goes_on != 0 ? matmul_added(product.a, product.b, product.c)
                              : matmul({product.a, product.b, none(), product.c}, 0);
  return product;
}

// Made once, at its first sight; throws dnnl::error.
const BlockProduct& block_product(const BlockKey& key) {
  static std::mutex guard;
  static std::map<BlockKey, std::unique_ptr<BlockProduct>> known;
  const std::lock_guard lock(guard);
  std::unique_ptr<BlockProduct>& found = known[key];
  if (!found) found = std::make_unique<BlockProduct>(make_block(key));
  return *found;
}

// A thread's own memory objects around a primitive.
class BoundBlock {
 public:
  explicit BoundBlock(const BlockProduct& product)
      : primitive_(product.made.primitive),
        memories_{dnnl::memory(product.a, engine(), DNNL_MEMORY_NONE),
                  dnnl::memory(product.b, engine(), DNNL_MEMORY_NONE),
                  dnnl::memory(product.c, engine(), DNNL_MEMORY_NONE),
                  dnnl::memory(product.made.scratch, engine(), DNNL_MEMORY_NONE)},
        bound_{dnnl_exec_arg_t{DNNL_ARG_SRC, memories_[0].get()},
               {DNNL_ARG_WEIGHTS, memories_[1].get()},
               {DNNL_ARG_DST, memories_[2].get()},
               {DNNL_ARG_SCRATCHPAD, memories_[3].get()}} {}

  void run(const std::array<void*, 4>& data) {
    thread_local const dnnl::stream stream(engine());
    for (size_t at = 0; at < data.size(); ++at) bind(memories_[at], data[at], stream);
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(primitive_.get(), stream.get(), static_cast<int>(bound_.size()), bound_.data()),
        "a primitive failed");
  }

 private:
  dnnl::primitive primitive_;
  std::array<dnnl::memory, 4> memories_;
  std::array<dnnl_exec_arg_t, 4> bound_;
};

// An exception must not leave the threads of the rows: how many did not.
std::atomic<uint64_t> failures{0};

void product_of_block(const pt_factor* a, const pt_factor* b, size_t m, size_t n, size_t k, int goes_on, float* c,
                      size_t c_row, void* scratch) {
  thread_local std::map<BlockKey, BoundBlock> known;
  const BlockKey key = key_of(*a, *b, m, n, k, goes_on, c_row);
  try {
    const auto found = known.find(key);
    BoundBlock& block = found != known.end() ? found->second : known.emplace(key, block_product(key)).first->second;
    block.run({const_cast<float*>(a->at), const_cast<float*>(b->at), c, scratch});
  } catch (const dnnl::error&) {
    ++failures;
  }
}

// What the products of a call need: scratch memory, and whether one of them has no fast implementation.
struct Asked {
  size_t scratch = 0;
  bool fails = false;
};
thread_local Asked asked;

void ask_of_block(const pt_factor* a, const pt_factor* b, size_t m, size_t n, size_t k, int goes_on, float*,
                  size_t c_row, void*) {
  try {
    const BlockProduct& product = block_product(key_of(*a, *b, m, n, k, goes_on, c_row));
    asked.scratch = std::max(asked.scratch, product.made.scratch.get_size());
    asked.fails = asked.fails || product.made.is_reference;
  } catch (const dnnl::error&) {
    asked.fails = true;
  }
}

// The form of a call, its primitives made; none where oneDNN has only plain loops for one of them.
std::optional<pt_attention_form> form_of(const pt_call* call, bool backward) {
  keep_threads(1);
  const pt_attention_form asks = {ask_of_block, kLeastRows, kElementsOfBlock, 0};
  asked = {};
  pt_attention_show_f32(call, backward ? 1 : 0, &asks);
  if (asked.fails) return std::nullopt;
  const size_t scratch = (asked.scratch + kScratchUnit - 1) / kScratchUnit * kScratchUnit;
  return pt_attention_form{product_of_block, kLeastRows, kElementsOfBlock, scratch};
}

}  // namespace

size_t attention_workspace(const pt_call* call) {
  const auto form = form_of(call, false);
  return form ? pt_attention_bytes_f32(call, &*form) : PT_NO_KERNEL;
}

pt_status run_attention(const pt_call* call) {
  const auto form = form_of(call, false);
  const uint64_t before = failures;
  if (!form) return PT_E_KERNEL;
  pt_attention_run_f32(call, &*form);
  return failures == before ? PT_OK : PT_E_KERNEL;
}

size_t attention_grad_workspace(const pt_call* call) {
  const auto form = form_of(call, true);
  return form ? pt_attention_grad_bytes_f32(call, &*form) : PT_NO_KERNEL;
}

pt_status run_attention_grad(const pt_call* call) {
  const auto form = form_of(call, true);
  const uint64_t before = failures;
  if (!form) return PT_E_KERNEL;
  pt_attention_grad_run_f32(call, &*form);
  return failures == before ? PT_OK : PT_E_KERNEL;
}

}  // namespace pantoum::onednn
