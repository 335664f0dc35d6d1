#include <memory>
#include <vector>

#include "check.hpp"
#include "onbeat/cycle.hpp"

using namespace onbeat;

namespace {

constexpr Ns kMs = 1'000'000;

std::shared_ptr<const Trajectory> ramp() {
  return std::make_shared<const Trajectory>(std::vector<Ns>{0, 1000 * kMs}, std::vector<double>{0.0, 1.0}, 1);
}

Cycle cycle_of(Period period) { return Cycle(period, ramp(), {}, 0, OnLate::skip, 1024); }

template <class Error, class Function>
bool throws(Function&& function) {
  try {
    function();
  } catch (const Error&) {
    return true;
  }
  return false;
}

void ticks_never_drift() {
  const Grid third(Period{3'333'333, 1, 3}, 17);  // 300 Hz
  CHECK(third.tick(3) == 17 + 10 * kMs);
  CHECK(third.tick(300LL * 3600 * 24 * 365) == 17 + 3600LL * 24 * 365 * 1'000'000'000);
  CHECK(third.tick(-1) == 17 - 3'333'334);  // rounded down on both sides of the start
  CHECK(third.ceil_period() == 3'333'334 && third.half_period() == 1'666'666 && third.three_quarters_period() == 2'500'000);
  for (Ns k = -1000; k < 1000; ++k) {
    CHECK(third.index(third.tick(k)) == k);
    CHECK(third.index(third.tick(k) - 1) == k - 1);
  }
}

void extreme_periods_do_not_overflow() {
  const Ns most = (Ns{1} << 62) - 1;
  const Grid grid(Period{most, most - 1, most});
  CHECK(grid.index(INT64_MAX) == 1 || grid.index(INT64_MAX) == 2);
  CHECK(grid.three_quarters_period() > grid.half_period());
  for (const Period wrong : {Period{999, 0, 1}, Period{2000, 1, 1}, Period{2000, -1, 2}, Period{most + 1, 0, 1}})
    CHECK(throws<BadInput>([&] { Grid{wrong}; }));
}

// A send that always takes 60 % of the period is slow, not stalled: it keeps its rate.
void slow_device_keeps_its_rate() {
  Cycle cycle = cycle_of(Period{10 * kMs, 0, 1});
  cycle.restart(0);
  for (Ns k = 0; k < 500; ++k) {
    const Ns at = cycle.deadline_ns();
    CHECK(at == k * 10 * kMs);
    CHECK(cycle.begin(at, at));
    cycle.end(at + 6 * kMs, SendResult::sent);
  }
  CHECK(cycle.counts().missed == 0);
}

// A stall inside a send may have delayed that send to its very end: the next keeps 3/4 of a period from there.
void stall_inside_a_send_keeps_the_distance() {
  Cycle cycle = cycle_of(Period{10 * kMs, 0, 1});
  cycle.restart(0);
  for (const Ns took : {1 * kMs, 1 * kMs, 38 * kMs}) {
    const Ns at = cycle.deadline_ns();
    CHECK(cycle.begin(at, at));
    cycle.end(at + took, SendResult::sent);
  }
  // The third began at 20 and went out by 20 + 38 - 1 = 57 at the latest; 57 + 7.5 = 64.5, so 70 is next and 30..60 are missed.
  CHECK(cycle.deadline_ns() == 70 * kMs);
  CHECK(cycle.counts().missed == 4);
}

// The first send opens the connection and takes 35 ms: nothing is known yet about how long a send takes.
void stall_in_the_first_send_keeps_the_distance() {
  Cycle cycle = cycle_of(Period{10 * kMs, 0, 1});
  cycle.restart(0);
  CHECK(cycle.begin(0, 0));
  cycle.end(35 * kMs, SendResult::sent);
  CHECK(cycle.deadline_ns() == 50 * kMs);
}

void device_that_became_slower_is_believed_in_the_end() {
  Cycle cycle = cycle_of(Period{10 * kMs, 0, 1});
  cycle.restart(0);
  for (int i = 0; i < 300; ++i) {
    const Ns at = cycle.deadline_ns();
    CHECK(cycle.begin(at, at));
    cycle.end(at + (i == 0 ? 0 : 6 * kMs), SendResult::sent);
  }
  const std::uint64_t missed = cycle.counts().missed;
  CHECK(missed > 0 && missed <= 128);
}

void everything_is_counted() {
  Cycle cycle(Period{10 * kMs, 0, 1}, ramp(), SendLimits{{0.1}, {}, {0.5}}, 0, OnLate::skip, 4);
  cycle.restart(0);
  for (int i = 0; i < 6; ++i) {
    const Ns at = cycle.deadline_ns();
    CHECK(cycle.begin(at, at));
    cycle.end(at, i == 2 ? SendResult::would_block : SendResult::sent);
  }
  const CycleCounts counts = cycle.counts();
  CHECK(counts.cycles == 6 && counts.would_block == 1 && counts.limited == 5 && counts.dropped_records == 2);
  const std::vector<CycleRecord> records = cycle.drain();
  CHECK(records.size() == 4 && records[2].flags == (kLimited | kWouldBlock));
}

void settings_are_checked() {
  CHECK(throws<BadInput>([] { Cycle(Period{kMs, 0, 1}, nullptr, {}, 0, OnLate::skip, 4); }));
  CHECK(throws<BadInput>([] { Cycle(Period{kMs, 0, 1}, ramp(), {{1.0, 2.0}, {}, {}}, 0, OnLate::skip, 4); }));
  CHECK(throws<BadInput>([] { Cycle(Period{kMs, 0, 1}, ramp(), {{-1.0}, {}, {}}, 0, OnLate::skip, 4); }));
  CHECK(throws<BadInput>([] { Cycle(Period{kMs, 0, 1}, ramp(), {{}, {2.0}, {1.0}}, 0, OnLate::skip, 4); }));
  CHECK(throws<BadInput>([] { Cycle(Period{kMs, 0, 1}, ramp(), {{}, {}, {}, 0.0}, 0, OnLate::skip, 4); }));
  CHECK(throws<BadInput>([] { Cycle(Period{kMs, 0, 1}, ramp(), {}, -1, OnLate::skip, 4); }));
}

}  // namespace

int main() {
  ticks_never_drift();
  extreme_periods_do_not_overflow();
  slow_device_keeps_its_rate();
  stall_inside_a_send_keeps_the_distance();
  stall_in_the_first_send_keeps_the_distance();
  device_that_became_slower_is_believed_in_the_end();
  everything_is_counted();
  settings_are_checked();
}
