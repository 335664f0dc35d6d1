// The thread, its sinks and the threads around it, for the sanitizers; order and counts only, nothing about how late anything was.
#include "onbeat/send_loop.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "check.hpp"

using namespace onbeat;

namespace {

thread_local bool in_loop = false;  // set by the first send: what follows on this thread must not touch the heap
std::atomic<long> heap_calls{0};

void note_heap_call() noexcept {
  if (in_loop) heap_calls.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

void* operator new(std::size_t bytes) {
  note_heap_call();
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  note_heap_call();
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace {

constexpr Ns kMs = 1'000'000;
constexpr Period kTwoKilohertz{kMs / 2, 0, 1};

std::shared_ptr<const Trajectory> at_rest(double value) {
  return std::make_shared<const Trajectory>(std::vector<Ns>{0}, std::vector<double>{value, value}, 2);
}

std::shared_ptr<Cycle> cycle_of(OnLate on_late = OnLate::skip, std::size_t capacity = 1 << 14) {
  return std::make_shared<Cycle>(kTwoKilohertz, at_rest(0.0), SendLimits{}, 0, on_late, capacity);
}

// Watches the heap from inside the thread and may fail on purpose.
class WatchedSink final : public Sink {
 public:
  explicit WatchedSink(std::uint64_t fail_at) : Sink(2), fail_at_(fail_at) {}
  SendResult send(std::uint64_t sequence, Ns, Ns, const double* values) noexcept override {
    in_loop = true;
    torn_ = torn_ || values[0] != values[1];
    sends.fetch_add(1, std::memory_order_relaxed);
    return sequence == fail_at_ ? failed(EIO) : SendResult::sent;
  }
  std::atomic<std::uint64_t> sends{0};
  [[nodiscard]] bool torn() const noexcept { return torn_; }

 private:
  const std::uint64_t fail_at_;
  bool torn_ = false;  // read after the join
};

template <class Condition>
void wait_until(Condition&& condition) {
  while (!condition()) std::this_thread::yield();
}

void writers_readers_and_the_thread_together() {
  const auto cycle = cycle_of();
  const auto sink = std::make_shared<WatchedSink>(UINT64_MAX);
  SendLoop loop(cycle, sink, RealtimeRequest{}, 0);
  loop.start();
  std::atomic<bool> done{false};
  std::vector<std::thread> around;
  for (int w = 0; w < 2; ++w)
    around.emplace_back([&cycle] {
      for (int i = 0; i < 2000; ++i) {
        cycle->replace(at_rest(i));
        if (i % 10 == 0) cycle->set_lead(i);
      }
    });
  std::vector<CycleRecord> records;
  around.emplace_back([&] {
    while (!done.load()) {
      const std::vector<CycleRecord> part = cycle->drain();
      records.insert(records.end(), part.begin(), part.end());
      CHECK(loop.running());
      CHECK(loop.stopped().reason == StopReason::none);
      CHECK(cycle->counts().cycles >= records.size());
      std::this_thread::yield();
    }
  });
  wait_until([&] { return sink->sends.load() >= 200; });
  around[0].join();
  around[1].join();
  done.store(true);
  around[2].join();
  loop.stop();
  loop.stop();
  const std::vector<CycleRecord> rest = cycle->drain();
  records.insert(records.end(), rest.begin(), rest.end());
  CHECK(records.size() == cycle->counts().cycles && records.size() == sink->sends.load());
  CHECK(!sink->torn());
  CHECK(heap_calls.load() == 0);
  for (std::size_t i = 1; i < records.size(); ++i) {
    CHECK(records[i].plan >= records[i - 1].plan);
    CHECK(records[i].sent_ns - records[i - 1].sent_ns >= 3 * kMs / 8);
    CHECK(records[i].deadline_ns == records[i - 1].deadline_ns + (records[i - 1].skipped + 1) * kMs / 2);
  }
}

// One thread streams, one replaces plans and leads, one feeds samples and centres: the loop goes from one to the other within the limits, and never to the heap.
void streams_and_plans_in_turn() {
  const double endless = std::numeric_limits<double>::infinity();
  const SendLimits limits{{3.0, 3.0}, {}, {}, endless, {20.0, 20.0}, {400.0, 400.0}};
  CycleOptions options;
  options.stale_ns = 5 * kMs;
  options.feedback = true;
  const auto cycle = std::make_shared<Cycle>(kTwoKilohertz, at_rest(0.0), limits, 0, OnLate::skip, 1 << 14, options);
  const auto sink = std::make_shared<WatchedSink>(UINT64_MAX);
  SendLoop loop(cycle, sink, RealtimeRequest{}, 0);
  loop.start();
  std::thread plans([&] {
    for (int i = 0; i < 500; ++i) {
      cycle->replace(at_rest(0.001 * i));
      cycle->set_lead(i);
      std::this_thread::yield();
    }
  });
  std::thread samples([&] {
    for (int i = 0; i < 500; ++i) {
      const Ns now = monotonic_ns();
      const std::vector<double> wanted = cycle->reference(now - kMs);
      CHECK(wanted.empty() || (wanted.size() == 2 && wanted[0] == wanted[1]));
      cycle->correct({now - kMs, 10 * kMs, {0.01, 0.01}});
      cycle->centre({now, i % 100 == 99 ? 0.0 : 500'000.0});
      CHECK(cycle->feedback_ages().quantile(0.5) >= 0);
      std::this_thread::yield();
    }
  });
  Ns last = 0;
  for (int i = 0; i < 5000 || sink->sends.load() < 200; ++i) {
    const Ns now = std::max(monotonic_ns(), last + 1);
    last = now;
    const double at = 0.0001 * (i % 1000);
    cycle->aim({now, {at, at}, i % 2 == 0 ? std::vector<double>{} : std::vector<double>{0.1, 0.1}});
  }
  plans.join();
  samples.join();
  loop.stop();
  CHECK(!sink->torn());
  CHECK(heap_calls.load() == 0);
}

void failing_sink_stops_the_loop_within_one_cycle() {
  const auto cycle = cycle_of();
  const auto sink = std::make_shared<WatchedSink>(7);
  SendLoop loop(cycle, sink, RealtimeRequest{}, 50'000);
  loop.start();
  wait_until([&] { return !loop.running(); });
  CHECK(sink->sends.load() == 8);
  CHECK(loop.stopped().reason == StopReason::sink_failed && loop.stopped().error == EIO);
  CHECK(cycle->drain().back().flags & kDeviceError);
  loop.start();  // joins the thread that is over
  loop.stop();
}

void many_starts_and_stops() {
  const auto cycle = cycle_of();
  const auto sink = std::make_shared<WatchedSink>(UINT64_MAX);
  SendLoop loop(cycle, sink, RealtimeRequest{}, 0);
  for (int i = 0; i < 20; ++i) {
    loop.start();
    std::thread other([&loop] { loop.stop(); });
    loop.stop();
    other.join();
    CHECK(!loop.running());
  }
}

void letting_go_of_a_running_loop_stops_it() {
  const auto sink = std::make_shared<MemorySink>(2, 16);
  {
    SendLoop loop(cycle_of(), sink, RealtimeRequest{}, 0);
    loop.start();
  }
  CHECK(sink->claim());
}

void memory_is_drained_while_it_fills() {
  const auto sink = std::make_shared<MemorySink>(2, 8);
  const auto cycle = cycle_of();
  SendLoop loop(cycle, sink, RealtimeRequest{}, 0);
  loop.start();
  std::uint64_t frames = 0, last = 0;
  while (frames < 100) {
    const std::vector<std::byte> bytes = sink->drain();
    for (std::size_t at = 0; at < bytes.size(); at += sink->frame_bytes(), ++frames) {
      std::uint64_t sequence = 0;
      std::memcpy(&sequence, bytes.data() + at, 8);
      CHECK(frames == 0 || sequence > last);
      last = sequence;
    }
    std::this_thread::yield();
  }
  loop.stop();
  CHECK(sink->dropped() == cycle->counts().would_block);
}

struct Listener {
  Listener() {
    socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    CHECK(bind(socket, reinterpret_cast<sockaddr*>(&address), bytes) == 0 && listen(socket, 1) == 0);
    getsockname(socket, reinterpret_cast<sockaddr*>(&address), &bytes);
    port = ntohs(address.sin_port);
  }
  ~Listener() { close(socket); }
  int socket;
  int port;
};

void reader_that_stops_and_goes_on_gets_whole_frames() {
  const Listener listener;
  const auto sink = std::make_shared<TcpSink>("127.0.0.1", listener.port, 2, 5.0);
  const int connection = accept(listener.socket, nullptr, nullptr);
  const auto cycle = cycle_of();
  SendLoop loop(cycle, sink, RealtimeRequest{}, 0);
  Ns deadline = 0;
  while (cycle->counts().would_block < 3) deadline = loop.cycle(deadline, deadline);  // nobody reads
  struct Frame {
    std::uint64_t sequence;
    Ns t_eff_ns;
    double values[2];
  } frame;
  const std::uint64_t fresh = cycle->counts().cycles;
  std::uint64_t last = 0;
  for (std::uint64_t n = 0; last < fresh; ++n) {
    for (std::size_t got = 0; got < sizeof frame;) {
      const ssize_t part = recv(connection, reinterpret_cast<char*>(&frame) + got, sizeof frame - got, 0);
      CHECK(part > 0);
      got += static_cast<std::size_t>(part);
    }
    CHECK(n == 0 ? frame.sequence == 0 : frame.sequence > last);
    CHECK(frame.t_eff_ns == static_cast<Ns>(frame.sequence) * kMs / 2);
    last = frame.sequence;
    deadline = loop.cycle(deadline, deadline);
  }
  close(connection);
  while (loop.stopped().reason == StopReason::none) deadline = loop.cycle(deadline, deadline);
  CHECK(sink->error() == EPIPE || sink->error() == ECONNRESET);
}

}  // namespace

int main() {
  writers_readers_and_the_thread_together();
  streams_and_plans_in_turn();
  failing_sink_stops_the_loop_within_one_cycle();
  many_starts_and_stops();
  letting_go_of_a_running_loop_stops_it();
  memory_is_drained_while_it_fills();
  reader_that_stops_and_goes_on_gets_whole_frames();
}
