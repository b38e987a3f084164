// Code of others (CLP, CBC) that no exception may pass through: its destructors free what its constructors had not made yet.
#pragma once

namespace pantoum::base {

// While an object of this class exists, this thread runs such code: std::bad_alloc would be worse than the end of the process. A program
// may ask stands() in its std::new_handler and end there; the libraries themselves never end the process.
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
