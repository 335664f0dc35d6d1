// The thread that sleeps and sends, and nothing else.
#pragma once

#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <semaphore>
#include <vector>

#include "onbeat/cycle.hpp"
#include "onbeat/realtime.hpp"
#include "onbeat/sink.hpp"

namespace onbeat {

// A mutex that a forked child finds open: of its parent's threads, which may have held it, it has none but the one that forked.
class ProcessMutex {
 public:
  void lock() {
    pid_t owner = process_.load(std::memory_order_acquire);
    const pid_t here = getpid();
    if (owner != here && process_.compare_exchange_strong(owner, here, std::memory_order_acq_rel)) ::new (&mutex_) std::mutex;
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
  std::atomic<pid_t> process_{getpid()};
};

enum class StopReason : std::uint8_t { none, late, sink_failed };

// Why the loop stopped on its own.
struct Stop {
  StopReason reason = StopReason::none;
  int error = 0;         // errno of a failed send
  Ns lateness_ns = 0;    // of the cycle that was its last
  Ns deadline_ns = 0;
};

// One native thread on an absolute CLOCK_MONOTONIC grid. After set-up it calls clock_nanosleep and the sink, reads the clock
// through the vDSO, and touches no lock, no heap and no Python. `control_` orders start, stop and cycle among their callers; the
// thread itself never takes it.
class SendLoop {
 public:
  SendLoop(std::shared_ptr<Cycle> cycle, std::shared_ptr<Sink> sink, RealtimeRequest request, Ns spin_ns);
  ~SendLoop();
  SendLoop(const SendLoop&) = delete;
  SendLoop& operator=(const SendLoop&) = delete;

  // Returns once the thread is set up; throws BadInput when it runs already or when the sink belongs to another loop.
  void start();
  // Where the device stands; the first target of the next start, or of the next cycle by hand, is limited against it.
  void place(const std::vector<double>& at);
  // Ends after the cycle in progress and joins; may be called again. In a forked child there is no thread: it is forgotten.
  void stop() noexcept;
  // One cycle by hand, for a manual clock: sent and done at wake_ns. Returns the next deadline.
  Ns cycle(Ns deadline_ns, Ns wake_ns);

  [[nodiscard]] bool running() const noexcept;
  [[nodiscard]] bool forked() const noexcept;
  [[nodiscard]] RealtimeReport realtime() const;
  [[nodiscard]] Stop stopped() const;

 private:
  static void* enter(void* self) noexcept;
  void run() noexcept;
  bool wait(Ns deadline_ns) noexcept;  // false: asked to stop
  bool send(Ns wake_ns, Ns sent_ns, bool by_hand) noexcept;  // false: stopped on its own, `stop_` says why
  void claim();
  void unclaim() noexcept;

  const std::shared_ptr<Cycle> cycle_;
  const std::shared_ptr<Sink> sink_;
  const RealtimeRequest request_;
  const Ns spin_ns_;

  mutable ProcessMutex control_;
  bool started_ = false;  // a thread exists that has not been joined
  bool claimed_ = false;
  bool by_hand_ = false;
  pthread_t thread_{};
  std::atomic<pid_t> process_{0};  // that has the thread; 0: none
  RealtimeReport report_;

  std::binary_semaphore ready_{0};
  std::atomic<bool> stop_asked_{false};
  std::atomic<bool> running_{false};
  Stop stop_;  // the thread's until it clears running_ (release); after that (acquire) it belongs to control_
};

}  // namespace onbeat
