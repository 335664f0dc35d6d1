#include "onbeat/realtime.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

namespace onbeat {

namespace {

constexpr std::size_t kStackBytes = 64 * 1024;  // the loop uses under 4 KiB; the rest covers the C library's calls

std::size_t page_bytes() noexcept { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

// Touch and lock the stretch of stack that the frames called after this one will lie on.
[[gnu::noinline]] int lock_stack() noexcept {
  std::byte stretch[kStackBytes];
  std::memset(stretch, 0, sizeof stretch);
  asm volatile("" : : "r"(stretch) : "memory");  // the touch is the point; it must not be optimised away
  const std::size_t page = page_bytes();
  const auto begin = reinterpret_cast<std::uintptr_t>(stretch) & ~(page - 1);
  const auto end = reinterpret_cast<std::uintptr_t>(stretch) + sizeof stretch;
  return mlock(reinterpret_cast<void*>(begin), end - begin) == 0 ? 0 : errno;
}

}  // namespace

void sleep_until_ns(std::int64_t t_ns) noexcept {
  const timespec until{static_cast<std::time_t>(t_ns / 1'000'000'000), static_cast<long>(t_ns % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

LockedMemory::LockedMemory(std::size_t bytes) {
  const std::size_t page = page_bytes();
  size_ = (bytes + page - 1) / page * page;
  void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(memory);
}

LockedMemory::~LockedMemory() { munmap(data_, size_); }

int LockedMemory::lock() noexcept { return mlock(data_, size_) == 0 ? 0 : errno; }

RealtimeReport enter_realtime(const char* name, const RealtimeRequest& request) noexcept {
  RealtimeReport report;
  prctl(PR_SET_NAME, name);
  prctl(PR_SET_TIMERSLACK, 1UL);  // without SCHED_FIFO the default of 50 us is most of a sleep's overshoot
  if (request.cpu >= 0) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    if (request.cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(request.cpu), &cpus);
    report.affinity = sched_setaffinity(0, sizeof cpus, &cpus) == 0 ? 0 : errno;
  }
  sched_param parameters{};
  parameters.sched_priority = request.priority;
  // RESET_ON_FORK: a process started from this thread must not inherit real-time priority.
  report.fifo = sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) == 0 ? 0 : errno;
  report.stack_lock = lock_stack();
  if (report.stack_lock == 0) report.locked_bytes += kStackBytes;
  return report;
}

}  // namespace onbeat
