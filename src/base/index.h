// Integers that number one kind of thing each, and vectors that only such an integer may index.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace pantoum::base {

// The number of a thing of the kind that `Tag` names, or none. It never converts to or from the number of another kind.
template <class Tag>
class Index {
 public:
  constexpr Index() = default;  // none
  template <std::integral Number>
  constexpr explicit Index(Number value) : value_(static_cast<int32_t>(value)) {}

  // Negative: none.
  [[nodiscard]] constexpr int32_t value() const { return value_; }
  [[nodiscard]] constexpr bool exists() const { return value_ >= 0; }

  friend constexpr bool operator==(Index, Index) = default;
  friend constexpr auto operator<=>(Index, Index) = default;
  constexpr Index& operator++() {
    ++value_;
    return *this;
  }
  constexpr Index& operator--() {
    --value_;
    return *this;
  }

 private:
  int32_t value_ = -1;
};

// The position in an array of what an index, or a plain number, stands for.
template <class Tag>
[[nodiscard]] constexpr size_t position_of(Index<Tag> index) {
  return static_cast<size_t>(index.value());
}
[[nodiscard]] constexpr size_t position_of(std::integral auto number) {
  return static_cast<size_t>(number);
}

template <class I, int32_t Step>
class IndexIterator {
 public:
  using value_type = I;
  using difference_type = std::ptrdiff_t;
  constexpr IndexIterator() = default;
  constexpr explicit IndexIterator(int32_t at) : at_(at) {}
  constexpr I operator*() const { return I(at_); }
  constexpr IndexIterator& operator++() {
    at_ += Step;
    return *this;
  }
  constexpr IndexIterator operator++(int) {
    const IndexIterator before = *this;
    at_ += Step;
    return before;
  }
  friend constexpr bool operator==(IndexIterator, IndexIterator) = default;

 private:
  int32_t at_ = 0;
};

// Consecutive indices.
template <class I>
class IndexRange {
 public:
  struct Descending {
    IndexIterator<I, -1> first, last;
    [[nodiscard]] constexpr auto begin() const { return first; }
    [[nodiscard]] constexpr auto end() const { return last; }
  };

  constexpr IndexRange() = default;
  template <std::integral Count>
  constexpr IndexRange(I first, Count count)
      : first_(position(first)), end_(position(first) + static_cast<int32_t>(count)) {}

  [[nodiscard]] constexpr auto begin() const { return IndexIterator<I, 1>(first_); }
  [[nodiscard]] constexpr auto end() const { return IndexIterator<I, 1>(end_); }
  // Iterates from the last to the first.
  [[nodiscard]] constexpr Descending descending() const {
    return {IndexIterator<I, -1>(end_ - 1), IndexIterator<I, -1>(first_ - 1)};
  }
  [[nodiscard]] constexpr int32_t size() const { return end_ - first_; }
  [[nodiscard]] constexpr bool empty() const { return end_ == first_; }
  // The index `offset` after the first; offset < size().
  [[nodiscard]] constexpr I operator[](int32_t offset) const { return I(first_ + offset); }
  [[nodiscard]] constexpr I front() const { return I(first_); }
  [[nodiscard]] constexpr I back() const { return I(end_ - 1); }
  friend constexpr bool operator==(IndexRange, IndexRange) = default;

 private:
  static constexpr int32_t position(I index) { return static_cast<int32_t>(position_of(index)); }

  int32_t first_ = 0, end_ = 0;
};

// A vector with an element for every index of one kind, from 0. `I` is an Index or, where one counts with it, an integer.
// As with a vector, an index out of range is the caller's mistake.
template <class I, class T>
class Indexed {
 public:
  using value_type = T;
  using Items = std::vector<T>;

  Indexed() = default;
  explicit Indexed(size_t size, const T& value = T()) : items_(size, value) {}
  Indexed(std::initializer_list<T> items) : items_(items) {}
  explicit Indexed(Items items) : items_(std::move(items)) {}

  [[nodiscard]] decltype(auto) operator[](I index) { return items_[position_of(index)]; }
  [[nodiscard]] decltype(auto) operator[](I index) const { return items_[position_of(index)]; }

  [[nodiscard]] size_t size() const { return items_.size(); }
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] bool contains(I index) const { return position_of(index) < items_.size(); }
  // All indices, ascending. What is added later is not among them.
  [[nodiscard]] IndexRange<I> indices() const { return {I(0), items_.size()}; }
  // The index that the next element added will have.
  [[nodiscard]] I next_index() const { return I(items_.size()); }

  void clear() { items_.clear(); }
  void reserve(size_t size) { items_.reserve(size); }
  void resize(size_t size) { items_.resize(size); }
  void resize(size_t size, const T& value) { items_.resize(size, value); }
  void assign(size_t size, const T& value) { items_.assign(size, value); }
  // Adds an element; returns its index.
  I push_back(T item) {
    items_.push_back(std::move(item));
    return I(items_.size() - 1);
  }

  [[nodiscard]] auto begin() { return items_.begin(); }
  [[nodiscard]] auto begin() const { return items_.begin(); }
  [[nodiscard]] auto end() { return items_.end(); }
  [[nodiscard]] auto end() const { return items_.end(); }
  [[nodiscard]] decltype(auto) front() const { return items_.front(); }
  [[nodiscard]] decltype(auto) back() const { return items_.back(); }
  friend bool operator==(const Indexed&, const Indexed&) = default;

 private:
  Items items_;
};

}  // namespace pantoum::base
