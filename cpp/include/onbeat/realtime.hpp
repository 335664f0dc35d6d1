// Ask Linux for real time, and remember exactly what was refused. Nothing here decides what to do about a refusal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>

namespace onbeat {

// CLOCK_MONOTONIC in nanoseconds: the one clock that the core knows. A vDSO read, not a system call, where the clock source allows.
inline std::int64_t monotonic_ns() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// Sleep until an absolute instant of CLOCK_MONOTONIC; goes on after a signal; returns at once when it has passed.
void sleep_until_ns(std::int64_t t_ns) noexcept;

// Page-aligned memory whose every page is touched when it is made, so that the loop's first write does not fault.
class LockedMemory {
 public:
  explicit LockedMemory(std::size_t bytes);
  ~LockedMemory();
  LockedMemory(const LockedMemory&) = delete;
  LockedMemory& operator=(const LockedMemory&) = delete;

  std::byte* data() noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  // Keep the pages in memory: 0, or the errno of mlock (ENOMEM or EPERM: RLIMIT_MEMLOCK is too small).
  int lock() noexcept;

 private:
  std::byte* data_;
  std::size_t size_;
};

struct RealtimeRequest {
  int priority = 80;  // SCHED_FIFO priority, 1..98
  int cpu = -1;       // CPU by its id; -1: wherever the scheduler likes
};

// 0 = granted, -1 = not asked for, else the errno of the refusal.
struct RealtimeReport {
  int fifo = -1;
  int affinity = -1;
  int stack_lock = -1;
  int record_lock = -1;
  std::uint64_t locked_bytes = 0;
};

// In the thread itself: name it, minimal timer slack, affinity, SCHED_FIFO | SCHED_RESET_ON_FORK, stack touched and locked.
// Only what the loop uses is locked, never the process: mlockall in a Python process costs 170 MiB and 64 ms an allocation.
RealtimeReport enter_realtime(const char* name, const RealtimeRequest& request) noexcept;

}  // namespace onbeat
