#include "onbeat/centring.hpp"

#include <memory>
#include <vector>

#include "check.hpp"
#include "onbeat/cycle.hpp"

using namespace onbeat;

namespace {

constexpr Ns kMs = 1'000'000;

void a_step_goes_to_the_nearest_and_no_further_than_it_may() {
  const Beat beat{1'000, 4e6};
  CHECK(beat.step(1'000, 50) == 0);
  CHECK(beat.step(4 * kMs + 1'010, 50) == -10);
  CHECK(beat.step(-4 * kMs + 900, 50) == 50);
  CHECK(beat.step(3 * kMs, 50) == 50 && beat.step(5 * kMs, 50) == -50);
  CHECK((Beat{}.step(12'345, 50)) == 0);
}

void a_period_of_part_of_a_nanosecond_is_not_lost() {
  const Beat beat{0, 4'000'000.25};
  CHECK(beat.tick(4e9) == 16'000'001'000'000'000);
  CHECK(beat.step(16'000'001'000'000'000, 1'000) == 0);
}

void the_grid_moves_and_no_deadline_is_lost() {
  const auto plan = std::make_shared<const Trajectory>(std::vector<Ns>{0}, std::vector<double>{0.0}, 1);
  Cycle cycle(Period{4 * kMs, 0, 1}, plan, {}, 0, OnLate::skip, 4096);
  cycle.restart(0);
  cycle.centre({-kMs, 4e6});
  for (int k = 0; k < 1000; ++k) {
    const Ns at = cycle.deadline_ns() + kMs;  // a quarter of a period late
    CHECK(cycle.begin(at, at));
    cycle.end(at, SendResult::sent);
  }
  CHECK(cycle.counts().missed == 0);
  cycle.centre({});
  for (int k = 0; k < 3; ++k) {
    const Ns at = cycle.deadline_ns();
    CHECK(cycle.begin(at, at));
    CHECK(cycle.end(at, SendResult::sent) == at + 4 * kMs);
  }
}

}  // namespace

int main() {
  a_step_goes_to_the_nearest_and_no_further_than_it_may();
  a_period_of_part_of_a_nanosecond_is_not_lost();
  the_grid_moves_and_no_deadline_is_lost();
}
