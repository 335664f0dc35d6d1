// A bounded queue of equal slots from one writing thread to one reading thread: wait-free on both sides, overflow counted.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "onbeat/realtime.hpp"

namespace onbeat {

// Who owns what: the writer owns `head_` and the slots in [tail_, tail_ + capacity) that are not published yet; the reader owns
// `tail_` and the published slots. Neither side ever waits for the other: a full ring refuses the newest slot and counts it.
class Ring {
 public:
  // Set-up: allocates, touches every page, may throw std::bad_alloc. `slot_bytes` must be a multiple of 8.
  Ring(std::size_t capacity, std::size_t slot_bytes)
    : capacity_(capacity), mask_(std::bit_ceil(capacity) - 1), slot_bytes_(slot_bytes), memory_(std::bit_ceil(capacity) * slot_bytes) {}

  // Writer: the slot to fill, or null when the reader is `capacity` slots behind (counted).
  std::byte* claim() noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);  // only this thread writes it
    if (head - seen_tail_ >= capacity_) {
      // Acquire pairs with the reader's release: its copies out of the slots end before we write into them again.
      seen_tail_ = tail_.load(std::memory_order_acquire);
      if (head - seen_tail_ >= capacity_) {
        overflow_.store(overflow_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // one writer: no read-modify-write
        return nullptr;
      }
    }
    return slot(head);
  }

  // Writer: hand the claimed slot over. Release: what was written into the slot is seen before the new head.
  void publish() noexcept { head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

  // Reader: slots that can be read now. Acquire pairs with `publish`.
  std::size_t readable() const noexcept {
    return static_cast<std::size_t>(head_.load(std::memory_order_acquire) - tail_.load(std::memory_order_relaxed));
  }

  // Reader: copy out at most `count` slots in order; returns how many.
  std::size_t drain(std::byte* out, std::size_t count) noexcept {
    const std::size_t ready = readable();
    const std::size_t taken = ready < count ? ready : count;
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < taken; ++i) std::memcpy(out + i * slot_bytes_, slot(tail + i), slot_bytes_);
    tail_.store(tail + taken, std::memory_order_release);
    return taken;
  }

  // Anyone: slots that were refused so far.
  std::uint64_t overflow() const noexcept { return overflow_.load(std::memory_order_relaxed); }

  std::size_t capacity() const noexcept { return capacity_; }
  std::size_t slot_bytes() const noexcept { return slot_bytes_; }

  // Set-up: keep the slots in memory; returns 0 or an errno.
  int lock() noexcept { return memory_.lock(); }
  std::size_t bytes() const noexcept { return memory_.size(); }

 private:
  std::byte* slot(std::uint64_t index) noexcept { return memory_.data() + (index & mask_) * slot_bytes_; }

  const std::uint64_t capacity_;
  const std::uint64_t mask_;
  const std::size_t slot_bytes_;
  LockedMemory memory_;
  // The two sides write on cache lines of their own.
  alignas(64) std::atomic<std::uint64_t> head_{0};
  std::uint64_t seen_tail_ = 0;  // the writer's last look at tail_; saves a shared read in nearly every claim
  std::atomic<std::uint64_t> overflow_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
};

}  // namespace onbeat
