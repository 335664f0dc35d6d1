#include "onbeat/send_loop.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "onbeat/errors.hpp"

namespace onbeat {

namespace {

constexpr Ns kLongestSleep = 50'000'000;  // so that stop() ends a slow loop within 50 ms, without a signal
constexpr Ns kFirstTick = 1'000'000;      // after set-up
constexpr Ns kFarthest = Ns{1} << 61;     // by hand: so that sums and differences fit

void check_width(const Cycle& cycle, const Sink& sink) {
  if (cycle.width() != sink.width())
    throw BadInput(text("the plan has width %zu and the sink has width %zu", cycle.width(), sink.width()));
}

}  // namespace

SendLoop::SendLoop(std::shared_ptr<Cycle> cycle, std::shared_ptr<Sink> sink, RealtimeRequest request, Ns spin_ns)
    : cycle_(std::move(cycle)), sink_(std::move(sink)), request_(request), spin_ns_(spin_ns) {
  check_width(*cycle_, *sink_);
  if (request.priority < 1 || request.priority > 98)
    throw BadInput(text("priority must lie in 1..98, not %d: 99 belongs to the kernel's own threads", request.priority));
  if (spin_ns < 0 || spin_ns > cycle_->grid().half_period())
    throw BadInput(text("spin must lie between 0 and half a period (%.0f us), not %.0f us: a loop that always spins is throttled",
                        static_cast<double>(cycle_->grid().half_period()) * 1e-3, static_cast<double>(spin_ns) * 1e-3));
}

SendLoop::~SendLoop() {
  stop();
  unclaim();
}

void SendLoop::claim() {
  if (claimed_) return;
  if (!sink_->claim()) throw BadInput("this sink belongs to another loop; stop that loop first, or give each its own sink");
  claimed_ = true;
}

void SendLoop::unclaim() noexcept {
  if (claimed_) sink_->release();
  claimed_ = false;
}

void SendLoop::start() {
  const std::lock_guard lock(control_);
  if (forked()) throw BadInput("this loop was started in the parent process; make a new one after a fork");
  if (running_.load(std::memory_order_acquire)) throw BadInput("the loop runs already; stop it first");
  if (started_) {  // it stopped on its own and nobody has called stop() yet
    pthread_join(thread_, nullptr);
    started_ = false;
  }
  claim();
  by_hand_ = false;
  stop_ = {};
  report_ = {};
  report_.record_lock = cycle_->lock_records();
  stop_asked_.store(false, std::memory_order_relaxed);
  running_.store(true, std::memory_order_relaxed);
  // The thread must not run Python's signal handlers: it is born with every signal blocked.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&thread_, nullptr, &SendLoop::enter, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) {
    running_.store(false, std::memory_order_relaxed);
    unclaim();
    throw BadInput(text("the loop's thread cannot be made: %s", std::strerror(error)));
  }
  started_ = true;
  process_.store(getpid(), std::memory_order_relaxed);
  ready_.acquire();
  if (report_.record_lock == 0) report_.locked_bytes += cycle_->record_bytes();
}

void SendLoop::place(const std::vector<double>& at) {
  const std::lock_guard lock(control_);
  if (running_.load(std::memory_order_acquire)) throw BadInput("the loop runs, and knows what it sent last; stop it before place()");
  cycle_->place(at);
  by_hand_ = false;
}

void SendLoop::stop() noexcept {
  const std::lock_guard lock(control_);
  if (started_ && !forked()) {
    stop_asked_.store(true, std::memory_order_relaxed);
    pthread_join(thread_, nullptr);
  }
  started_ = false;
  process_.store(0, std::memory_order_relaxed);
  running_.store(false, std::memory_order_relaxed);
  unclaim();
}

bool SendLoop::forked() const noexcept {
  const pid_t process = process_.load(std::memory_order_relaxed);
  return process != 0 && process != getpid();
}

bool SendLoop::running() const noexcept { return running_.load(std::memory_order_acquire) && !forked(); }

RealtimeReport SendLoop::realtime() const {
  const std::lock_guard lock(control_);
  return report_;
}

Stop SendLoop::stopped() const {
  const std::lock_guard lock(control_);
  return running_.load(std::memory_order_acquire) ? Stop{} : stop_;
}

void* SendLoop::enter(void* self) noexcept {
  static_cast<SendLoop*>(self)->run();
  return nullptr;
}

void SendLoop::run() noexcept {
  RealtimeReport report = enter_realtime("onbeat-loop", request_);
  report.record_lock = report_.record_lock;
  report_ = report;
  cycle_->set_fifo(report.fifo == 0);
  cycle_->restart(monotonic_ns() + kFirstTick);
  ready_.release();  // report_ is seen by start() before it goes on; the thread does not touch it again
  while (wait(cycle_->deadline_ns())) {
    const Ns wake_ns = monotonic_ns();
    if (!send(wake_ns, monotonic_ns(), false)) break;
  }
  running_.store(false, std::memory_order_release);
}

bool SendLoop::wait(Ns deadline_ns) noexcept {
  const Ns sleep_to_ns = deadline_ns - spin_ns_;
  Ns now_ns = monotonic_ns();
  do {
    if (stop_asked_.load(std::memory_order_relaxed)) return false;
    sleep_until_ns(std::min(sleep_to_ns, now_ns + kLongestSleep));
    now_ns = monotonic_ns();
  } while (now_ns < sleep_to_ns);
  while (monotonic_ns() < deadline_ns) {
  }
  return !stop_asked_.load(std::memory_order_relaxed);
}

bool SendLoop::send(Ns wake_ns, Ns sent_ns, bool by_hand) noexcept {
  if (!cycle_->begin(wake_ns, sent_ns)) {
    stop_ = {StopReason::late, 0, cycle_->lateness_ns(), cycle_->deadline_ns()};
    return false;
  }
  const Ns deadline_ns = cycle_->deadline_ns();
  const SendResult result = sink_->send(cycle_->sequence(), sent_ns, cycle_->t_eff_ns(), cycle_->target());
  cycle_->end(by_hand ? sent_ns : monotonic_ns(), result);
  if (result != SendResult::failed) return true;
  stop_ = {StopReason::sink_failed, sink_->error(), cycle_->lateness_ns(), deadline_ns};
  return false;
}

Ns SendLoop::cycle(Ns deadline_ns, Ns wake_ns) {
  const std::lock_guard lock(control_);
  if (started_) throw BadInput("the loop's thread has the cycles; stop it before you call cycle()");
  for (const Ns t : {deadline_ns, wake_ns})
    if (t < -kFarthest || t > kFarthest) throw BadInput(text("an instant of %lld ns is beyond 73 years from zero; check its unit", static_cast<long long>(t)));
  if (wake_ns < deadline_ns)
    throw BadInput(text("woke %.3f ms before the deadline; a cycle begins at its deadline or later", milliseconds(wake_ns, deadline_ns)));
  if (stop_.reason != StopReason::none) throw BadInput("the loop has stopped; status().error says why");
  claim();
  if (!by_hand_) {
    by_hand_ = true;
    cycle_->set_fifo(true);  // there is no thread that could lack it
    cycle_->restart(deadline_ns);
  }
  cycle_->seek(deadline_ns);
  send(wake_ns, wake_ns, true);
  return cycle_->deadline_ns();
}

}  // namespace onbeat
