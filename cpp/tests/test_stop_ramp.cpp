#include "onbeat/stop_ramp.hpp"

#include <cmath>
#include <random>

#include "check.hpp"

using onbeat::JointState;
using onbeat::StopRamp;

namespace {

void textbook_stop() {
  // From 1 /s with 2 /s^2 and 10 /s^3: 0.2 s to build up, 0.3 s held, 0.2 s to release; v^2 / 2a + v a / 2j on the way.
  const StopRamp stop({0.0, 1.0, 0.0}, 2.0, 10.0);
  CHECK(std::abs(stop.duration_s() - 0.7) < 1e-12);
  CHECK(std::abs(stop.at(1.0).position - 0.35) < 1e-12);
  CHECK(stop.reach()[0] == 0.0 && std::abs(stop.reach()[1] - 0.35) < 1e-12);
}

void rest_takes_no_time() {
  const StopRamp stop({3.0, 0.0, 0.0}, 2.0, 10.0);
  CHECK(stop.duration_s() == 0.0 && stop.at(0.0).position == 3.0);
  CHECK(stop.reach()[0] == 3.0 && stop.reach()[1] == 3.0);
}

void any_state_ends_at_rest_within_limits_and_reach() {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> each(-1, 1);
  for (int k = 0; k < 20'000; ++k) {
    const double most = 2.0, jerk = 30.0;
    const JointState from{each(random), 3 * each(random), (k % 2 == 0 ? 2.0 : 6.0) * each(random)};
    const StopRamp stop(from, most, jerk);
    const auto reach = stop.reach();
    const double duration = stop.duration_s(), step = duration / 200;
    JointState before = from;
    for (int i = 1; i <= 200; ++i) {
      const JointState now = stop.at(i * step * (1 - 1e-12));
      CHECK(std::abs(now.acceleration - before.acceleration) <= jerk * step * (1 + 1e-9) + 1e-12);
      CHECK(std::abs(now.acceleration) <= std::max(most, std::abs(from.acceleration)) + 1e-9);
      CHECK(now.position >= reach[0] - 1e-12 && now.position <= reach[1] + 1e-12);
      before = now;
    }
    CHECK(std::abs(before.velocity) < 1e-9 && std::abs(before.acceleration) < 1e-9);
  }
}

}  // namespace

int main() {
  textbook_stop();
  rest_takes_no_time();
  any_state_ends_at_rest_within_limits_and_reach();
}
