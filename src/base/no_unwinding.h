// Code of others (CLP, CBC) that no exception may pass through: its destructors free what its constructors had not made yet.
#pragma once

namespace pantoum::base {

// While one stands, memory that is refused to this thread is better answered by the end of the process than by
// std::bad_alloc. A program that does so asks stands() in its std::new_handler; the libraries themselves end nothing.
class NoUnwinding {
 public:
  NoUnwinding() { ++depth_; }
  ~NoUnwinding() { --depth_; }
  NoUnwinding(const NoUnwinding&) = delete;
  NoUnwinding& operator=(const NoUnwinding&) = delete;
  [[nodiscard]] static bool stands() { return depth_ > 0; }

 private:
  inline static thread_local int depth_ = 0;
};

}  // namespace pantoum::base
