// The newest value from a writing thread to a reading thread: a triple buffer that neither side ever waits on.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace onbeat {

// Three cells, and each belongs to exactly one party at any time: one to the writer (back), one to the reader (front), one lies
// between (middle). Publishing swaps back with middle, taking swaps front with middle: one atomic exchange each, no loop.
// The reader never constructs, assigns or destroys a T; it reads through its cell. Every old value therefore dies on the writer's
// side, in the `publish` that gets its cell back, or with the buffer. That is what lets a real-time thread read
// shared_ptr<const Trajectory> cells: the last reference, and so the call of free(), is never its own.
// One writer at a time (callers hold a mutex of their own), one reader.
template <class T>
class Latest {
 public:
  explicit Latest(T first) { cells_[0] = std::move(first); }

  // Writer: make `value` the newest. Values that the reader never took are replaced.
  void publish(T value) {
    cells_[back_] = std::move(value);
    // Release: the cell's content is seen before its index. Acquire: the reader is done with the cell that we get back.
    back_ = middle_.exchange(static_cast<std::uint8_t>(back_ | kFresh), std::memory_order_acq_rel) & kIndex;
    cells_[back_] = T{};  // nobody can read this cell any more: what it held dies here, now
  }

  // Reader: step to the newest value if there is one; true when there was.
  bool take() noexcept {
    // Relaxed: only a hint whether to exchange; the exchange itself orders the content.
    if ((middle_.load(std::memory_order_relaxed) & kFresh) == 0) return false;
    front_ = middle_.exchange(front_, std::memory_order_acq_rel) & kIndex;
    return true;
  }

  // Reader: the value last taken (the first one before any take).
  const T& value() const noexcept { return cells_[front_]; }

 private:
  static constexpr std::uint8_t kIndex = 3;
  static constexpr std::uint8_t kFresh = 4;

  T cells_[3]{};
  alignas(64) std::uint8_t back_ = 2;   // the writer's
  alignas(64) std::atomic<std::uint8_t> middle_{1};
  alignas(64) std::uint8_t front_ = 0;  // the reader's
};

}  // namespace onbeat
